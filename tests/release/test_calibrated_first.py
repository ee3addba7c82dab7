"""Calibration is the only step that searches, and it is over before an output is begun."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import symveil as sv
from symveil.errors import FileError, InternalError
from symveil.mechanisms.by_length import ByLength, calibrated
from symveil.mechanisms.calibrate import calibrate, draw, log_probabilities, loss_at, mechanism_of
from symveil.mechanisms.law import law_from_row, law_row
from symveil.mechanisms.mechanism import proved_again
from symveil.numbers.once import counted_searches
from symveil.randomness import NotPrivateSeededBits
from symveil.tasks.check import check_manifest
from symveil.tasks.privatize_file import privatize_file

ROADS = [("a", "a", "1/2"), ("a", "b", "1/4"), ("a", "c", "1/4"), ("b", "a", "1/2"), ("b", "c", "1/2"), ("c", "a", 1)]
LONG = [
    (f"{side}{place}", f"{other}{(place + 1) % 30}", "1/2") for place in range(30) for side in "lr" for other in "lr"
]
"""A ring of thirty places with two states each: too many words to write out."""


def written(at: Path, rows: list[tuple[str, str, object]], words: list[str]) -> dict[str, object]:
    sv.save_model(sv.MarkovChain.from_transitions(rows), at / "model.json")
    (at / "true.csv").write_text("id,s\n" + "".join(f"{number},{word}\n" for number, word in enumerate(words)))
    return {"model": at / "model.json", "epsilon": 4, "adjacency": 1, "thin": True}


def in_a_new_process(script: str, *arguments: object) -> list[object]:
    """What a script prints as JSON: a process of its own remembers no rate, and without a cache folder finds none."""
    environment = {"SYMVEIL_CACHE": "", "PYTHONPATH": str(Path(sv.__file__).parents[1]), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    return json.loads(done.stdout)


COUNTED = """
import json, sys
from pathlib import Path
import symveil as sv
from symveil.numbers.once import counted_searches
from symveil.tasks.check import check_manifest
private, job, options = Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
with counted_searches() as searches:
    if job == "release":
        sv.privatize_file(private.with_name("true.csv"), private, **options)
    elif job == "estimate":
        sv.estimate(private, "visits", model=options["model"])
    else:
        assert check_manifest(private.with_name(private.name + ".manifest.json")).holds
print(json.dumps(searches.names))
"""


@pytest.mark.parametrize(
    ("rows", "word", "more"),
    [
        (ROADS, "a b a c a", {"mechanism": "exponential"}),
        (ROADS, "a b a c a", {"mechanism": "exponential", "cost": "swap"}),
        (ROADS, "a b a c a", {"mechanism": "exponential", "beyond": "graceful"}),
        (LONG, " ".join(f"l{place % 30}" for place in range(24)), {"mechanism": "exponential"}),
    ],
    ids=["few words", "swap", "graceful", "bounds"],
)
def test_a_release_searches_once_and_nothing_else_does(rows, word, more, tmp_path) -> None:
    options = json.dumps({**written(tmp_path, rows, [word] * 400), **more}, default=str)
    counts = [
        len(in_a_new_process(COUNTED, tmp_path / "p.csv", job, options)) for job in ("release", "estimate", "check")
    ]
    assert counts == [1, 0, 0]


@pytest.mark.parametrize("mechanism", ["auto", "staircase", "optimal"])
def test_a_check_searches_for_nothing_whatever_it_took_to_calibrate(mechanism, tmp_path) -> None:
    options = {**written(tmp_path, ROADS, ["a b a c", "a b", "c a a b a"] * 50), "mechanism": mechanism, "epsilon": 2}
    searched = in_a_new_process(COUNTED, tmp_path / "p.csv", "release", json.dumps(options, default=str))
    assert searched  # else nothing is tested
    assert in_a_new_process(COUNTED, tmp_path / "p.csv", "check", json.dumps(options, default=str)) == []


def test_a_search_after_the_output_was_begun_is_an_error(tmp_path, monkeypatch) -> None:
    """A planted fault: a calibration that calibrates nothing."""
    monkeypatch.setattr(ByLength, "calibrated_for", lambda self, lengths: self)
    options = written(tmp_path, ROADS, ["a b a"])
    with pytest.raises(InternalError, match=r"AssertionError at symveil\.numbers\.once:"):
        privatize_file(tmp_path / "true.csv", tmp_path / "p.csv", **{**options, "epsilon": "3.21"})
    assert not (tmp_path / "p.csv").exists()


def test_laws_are_handed_to_workers(tmp_path) -> None:
    """A mechanism that travels brings its laws: another process searches for nothing."""
    import pickle

    mechanism = sv.choose_mechanism(
        sv.MechanismChoice(epsilon="1.9", adjacency=1),
        sv.MechanismChoice(epsilon=1).language(model=sv.MarkovChain.from_transitions(ROADS)),
    )
    sealed = calibrated(mechanism, np.array([3, 5]))
    travelled = pickle.loads(pickle.dumps(sealed))  # noqa: S301 - our own
    codes, lengths = np.array([0, 1, 0, 0, 1, 0, 2, 0], dtype=np.int32), np.array([3, 5])
    with counted_searches() as searches:
        drawn = [each.release_flat(codes, lengths, bits=NotPrivateSeededBits(5))[0] for each in (sealed, travelled)]
    assert len(searches) == 0 and np.array_equal(*drawn)
    with pytest.raises(sv.SymveilError, match="found a sequence of another length"):
        travelled.release_flat(np.array([0, 0], dtype=np.int32), np.array([2]))


# --- functions over laws -------------------------------------------------------------------------


def kinds() -> list[object]:
    """A mechanism of every kind that has a row in manifests."""
    chain = sv.MarkovChain.from_transitions(ROADS)
    words, trips = sv.words("abc", 4), sv.runs(chain, 4)
    costs = sv.CostTable.from_rows([("a", "b", 1), ("b", "c", 1), ("a", "c", 2)])
    return [
        *(kind(words, epsilon=2, adjacency=2) for kind in (sv.Exponential, sv.PermuteAndFlip, sv.Staircase)),
        sv.Exponential(words, epsilon=2, utility="inverse", offset="1/3"),
        *(kind(trips, epsilon=2, adjacency=1) for kind in (sv.Exponential, sv.PermuteAndFlip, sv.Staircase, sv.Online)),
        sv.Exponential(trips, epsilon=2, adjacency=2, cost="swap"),
        sv.Exponential(trips, epsilon=2, adjacency=1, balanced=True),
        sv.Exponential(trips, epsilon=2, adjacency=1, prior="chain"),
        sv.Exponential(trips, epsilon=2, adjacency=2, beyond="graceful"),
        sv.Staircase(trips, epsilon=2, adjacency=1, costs=costs, cap=2),
        sv.Optimal(trips, epsilon=2, adjacency=1),
        sv.Optimal(trips, epsilon=2, adjacency=2, prior="chain", beyond="graceful"),
    ]


@pytest.mark.parametrize("number", range(15))
def test_a_row_of_a_manifest_is_the_law(number: int) -> None:
    """Written, read, and drawn by: the same words from the same bits, the same probabilities, and nothing searched."""
    made = kinds()[number]
    row = law_row(made.law, reach=made.reach, parameters=made.parameters_document())
    choice = sv.MechanismChoice(epsilon=2, adjacency=made.adjacency, costs=getattr(made, "costs", None))
    read = json.loads(json.dumps(row))
    word = np.array([0, 1, 0, 0], dtype=np.int32)
    with counted_searches() as searches:
        law = law_from_row(type(made), made.language, choice, read, made.law.proved)
        again = mechanism_of(law)
        words = np.tile(word, 30), np.full(30, 4)
        assert np.array_equal(
            draw(law, *words, NotPrivateSeededBits(3))[0], made.release_flat(*words, bits=NotPrivateSeededBits(3))[0]
        )
        released = made.outputs(at_most=100)[-1]
        assert np.array_equal(log_probabilities(law, word, released), made.log_probabilities(word, released))
        assert [loss_at(law, d) for d in (1, 2, 4)] == [made.loss_at(d) for d in (1, 2, 4)]
        proved = proved_again(again)
        assert proved.rate == law.rate and proved.proved == made.law.proved
        assert law_row(again.law, reach=again.reach, parameters=again.parameters_document()) == row
    assert len(searches) == 0


def test_laws_are_frozen_and_compared_by_what_they_are() -> None:
    words = sv.words("abc", 5)
    laws = calibrate(sv.MechanismChoice(epsilon=2, mechanism="exponential"), words)
    (law,) = laws.values()
    assert law == sv.Exponential(sv.words("abc", 5), epsilon=2).law
    assert law != sv.Exponential(sv.words("abd", 5), epsilon=2).law
    assert dict(law.losses)[2] == loss_at(law, 2) == 4.0
    with pytest.raises(AttributeError):
        law.rate = None
    chain = sv.MechanismChoice(epsilon=1).language(model=sv.MarkovChain.from_transitions(ROADS))
    by_length = calibrate(sv.MechanismChoice(epsilon=2, adjacency=1), chain, [2, 4, 4])
    assert list(by_length) == [(2, 2), (4, 4)]


def test_a_length_without_a_law_is_one_line(tmp_path) -> None:
    options = written(tmp_path, ROADS, ["a b a", "a b"] * 200)
    release = privatize_file(tmp_path / "true.csv", tmp_path / "p.csv", **options)
    document = json.loads(release.manifest_file.read_text())
    document["law"] = document["law"][:1]
    release.manifest_file.write_text(json.dumps(document))
    with pytest.raises(FileError, match=r"\$\.law: expected a law for every length in the file, found none for some"):
        sv.estimate(tmp_path / "p.csv", "visits", model=tmp_path / "model.json")


def test_averages_of_long_words_are_about_a_length_that_has_a_law_in_the_manifest(tmp_path) -> None:
    """Words of 130 symbols on a ring of 1,000 states are too long for averages: words of 100 or 50 stand for them."""
    wide = [(f"{s}{p}", f"{o}{(p + 1) % 500}", "1/2") for p in range(500) for s in "lr" for o in "lr"]
    options = written(tmp_path, wide, [" ".join(f"l{place}" for place in range(130))] * 3)
    release = privatize_file(tmp_path / "true.csv", tmp_path / "p.csv", **{**options, "mechanism": "online"})
    document = json.loads(release.manifest_file.read_text())
    averaged = document["expected_error"]["length"]
    assert averaged < 130 and [row["lengths"] for row in document["stand_in"]] == [[averaged, averaged]]
    assert check_manifest(release.manifest_file).holds
    del document["stand_in"]
    release.manifest_file.write_text(json.dumps(document))
    failed = [check.name for check in check_manifest(release.manifest_file).checks if not check.holds]
    assert failed == ["expected error", "attacker"]


# --- manifests of earlier versions ---------------------------------------------------------------

OF_0_3 = Path(__file__).parents[1] / "fixtures" / "manifests_0_3"
NAMES = sorted(path.name.removesuffix(".manifest.json") for path in OF_0_3.glob("*.manifest.json"))


@pytest.mark.parametrize("name", NAMES)
def test_a_manifest_of_0_3_is_checked_and_read_without_a_search(name, tmp_path) -> None:
    for file in OF_0_3.glob("*"):
        shutil.copy(file, tmp_path)
    with counted_searches() as searches:
        checked = check_manifest(tmp_path / f"{name}.manifest.json")
        assert checked.holds, [check for check in checked.checks if not check.holds]
        if name not in ("roads-flip.csv", "roads-hidden.csv", "alphabet-edit.csv"):  # whose noise cannot be undone
            assert sv.estimate(tmp_path / name, "visits").table.num_rows
    assert searches.names == []


def test_a_manifest_of_0_2_is_checked_and_read(tmp_path) -> None:
    """It has no laws: on an alphabet they are made again without a search. Another epsilon in it is not believed."""
    of_0_2 = OF_0_3.with_name("ledger_0_2_0")
    for file in of_0_2.glob("done.csv*"):
        shutil.copy(file, tmp_path)
    manifest = tmp_path / "done.csv.manifest.json"
    with counted_searches() as searches:
        assert all(each.holds for each in check_manifest(manifest).checks)
        assert len(sv.estimate(tmp_path / "done.csv", "visits")) > 0
    assert searches.names == []
    manifest.write_text(manifest.read_text().replace('"epsilon": 1.5', '"epsilon": 1.25'))
    assert "guarantee" in [each.name for each in check_manifest(manifest).checks if not each.holds]


@pytest.mark.parametrize("name", ["roads-swap.csv", "ring-auto.csv", "roads-hidden.csv", "alphabet-flip.csv"])
def test_a_larger_rate_in_a_manifest_of_0_3_is_not_believed(name, tmp_path) -> None:
    for file in OF_0_3.glob("*"):
        shutil.copy(file, tmp_path)
    manifest = tmp_path / f"{name}.manifest.json"
    document = json.loads(manifest.read_text())
    for row in document["law"]:
        row["rate"] = str(Fraction(row["rate"]) * Fraction(101, 100))
    for row in [document, *document["classes"]]:
        row["eta"] = row["eta"] and str(Fraction(row["eta"]) * Fraction(101, 100))
    manifest.write_text(json.dumps(document))
    assert not check_manifest(manifest).holds
