"""A release that leaves most positions of a typical word without an alternative is refused unless it is meant."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import symveil as sv
from symveil.errors import ParameterError
from symveil.languages.language import runs_of_any_length
from symveil.laws.adjacency import share_of_positions
from symveil.laws.limits import LIMITS
from symveil.laws.protection import typical_words
from symveil.tasks.release import release_word

sys.path.insert(0, str(Path(__file__).parents[1]))
from cli.running import symveil

# a ring with a fork: only b or c can take the other's place
RING = sv.MarkovChain.from_transitions(
    [("a", "b", "1/2"), ("a", "c", "1/2"), ("b", "d", 1), ("c", "d", 1), ("d", "e", 1), ("e", "a", 1)], initial="e"
)
WORD = "abdeabde"
SAID = "expected a b within which at least half of the positions of a typical word have an alternative, or "


@pytest.fixture
def files(tmp_path: Path) -> Path:
    sv.save_model(RING, tmp_path / "ring.json")
    rows = ["a b d e a b d e", "a c d e a b d e"]
    (tmp_path / "in.csv").write_text("id,s\n" + "".join(f"{n},{row}\n" for n, row in enumerate(rows)))
    return tmp_path


def released(folder: Path, **options: object) -> sv.FileRelease:
    given = {"model": folder / "ring.json", "epsilon": 1, "adjacency": 1, "sequence": "s", "identifier": "id"}
    return sv.privatize_file(folder / "in.csv", folder / "out.csv", **{**given, **options})


def test_the_share_is_that_of_all_words() -> None:
    """Every word of the ring has alternatives at its two forks only, whatever b is."""
    assert share_of_positions(runs_of_any_length(RING), 1, [8]) == 0.25
    assert share_of_positions(runs_of_any_length(RING), "all", [8]) == 0.25
    # two lengths count by their positions: 2 of 8 and 1 of 4
    assert share_of_positions(runs_of_any_length(RING), 1, [4, 8, 8, 0]) == 0.25
    assert share_of_positions(runs_of_any_length(RING), 1, [2]) == 0.5
    assert share_of_positions(runs_of_any_length(RING), 1, [2, 8]) == pytest.approx(3 / 10)
    assert share_of_positions(runs_of_any_length(RING), 1, [2000]) == pytest.approx(0.25, abs=0.01)
    assert share_of_positions(sv.words("ab", 3), 1, [3]) is None
    assert share_of_positions(sv.runs_up_to(RING, 4), 1, [3]) is None


@pytest.mark.parametrize("public_start", [False, True])
def test_the_share_agrees_with_enumeration(public_start: bool) -> None:
    """Over the same public words, each compared with every word of the model."""
    chain = sv.MarkovChain.from_transitions(
        [("a", "b", "1/3"), ("a", "c", "2/3"), ("b", "d", "1/3"), ("b", "a", "2/3"), ("c", "d", 1), ("d", "a", 1)]
    )
    language = sv.runs(chain, 6, public_start=public_start)
    every, sampled = language.enumerate_codes(at_most=1000), typical_words(language, LIMITS.now.sampled_words)
    for b in (1, 2, 3):
        shares = []
        for word in sampled:
            differs = every != word
            near = (differs.sum(axis=1) <= b) & ~(differs[:, 0] & public_start)
            shares.append(differs[near].any(axis=0).mean())
        found = share_of_positions(runs_of_any_length(chain, public_start=public_start), b, [6])
        assert found == pytest.approx(np.mean(shares), abs=1e-12)


def test_a_file_is_refused_before_anything_is_there(files: Path) -> None:
    before = sorted(files.iterdir())
    said = f"^adjacency: {SAID}`thin=True` .in words of 8 symbols.*75 % of them"
    with pytest.raises(ParameterError, match=said) as refused:
        released(files)
    assert "\n" not in str(refused.value)
    assert sorted(files.iterdir()) == before
    release = released(files, thin=True)
    assert release.manifest["thin"] is True and release.manifest["positions_with_alternatives"] == 0.25
    assert sv.check_manifest(release.manifest_file).holds
    document = json.loads(release.manifest_file.read_text())
    for changed in ({"thin": False}, {"positions_with_alternatives": 0.9}, {"positions_with_alternatives": None}):
        release.manifest_file.write_text(json.dumps({**document, **changed}))
        assert not sv.check_manifest(release.manifest_file).holds
    older = {key: value for key, value in document.items() if key not in ("thin", "positions_with_alternatives")}
    del older["protection"]["positions_with_alternatives"]
    release.manifest_file.write_text(json.dumps(older))
    assert sv.check_manifest(release.manifest_file).holds


@pytest.mark.parametrize("on_unknown", ["error", "drop-sequence"])
def test_nobody_is_charged_for_a_refusal(files: Path, on_unknown: str) -> None:
    ledger = files / "budgets.db"
    sv.grant_budget(ledger, 5, everyone=True)
    with pytest.raises(ParameterError, match="^adjacency: "):
        released(files, ledger=ledger, on_unknown=on_unknown)
    assert sv.ledger_status(ledger).persons == 0 and sv.ledger_status(ledger).pending == 0
    released(files, ledger=ledger, on_unknown=on_unknown, thin=True)
    assert sv.ledger_status(ledger).persons == 2


def test_sequences_that_are_left_out_decide_nothing(files: Path) -> None:
    """Their lengths are not public: two symbols are hidden well enough, eight are not."""
    (files / "in.csv").write_text("id,s\n0,a b\n1,a a a a a a a a\n")
    ledger = files / "budgets.db"
    sv.grant_budget(ledger, 5, everyone=True)
    assert released(files, ledger=ledger, on_unknown="drop-sequence").manifest["thin"] is False


def test_words_and_tables_in_memory() -> None:
    parameters = {"model": RING, "epsilon": 1, "adjacency": 1}
    for words in ([WORD], pd.Series([WORD]), pd.DataFrame({"s": [" ".join(WORD)]})):
        with pytest.raises(ParameterError, match="^adjacency: "):
            sv.privatize(words, **parameters)
        assert len(sv.privatize(words, **parameters, thin=True)) == 1
    assert sv.privatize(pd.Series([WORD]), **parameters, thin=True).attrs["symveil"]["thin"] is True
    mechanism = sv.Exponential(sv.runs(RING, 8), epsilon=1, adjacency=1)
    with pytest.raises(ParameterError, match="^adjacency: "):
        release_word(WORD, mechanism)
    assert mechanism.release(WORD)  # a mechanism that was made with b as it is does what it is told


def test_commands(files: Path) -> None:
    model = ("--model", str(files / "ring.json"), "--epsilon", "1", "--adjacency", "1")
    line = symveil("release", WORD, *model).assert_one_error_line()
    assert SAID + "--thin" in line and line.rstrip().endswith("found 1, within which 75 % of them have none")
    assert symveil("release", WORD, *model, "--thin").status == 0
    file = ("privatize", str(files / "in.csv"), "--out", str(files / "o.csv"), *model, "--sequence", "s")
    assert SAID + "--thin" in symveil(*file).assert_one_error_line()
    done = symveil(*file, "--thin")
    said = " ".join(done.out.split())
    assert done.status == 0 and "25 % of the positions of a typical sequence have an alternative within b, 75 %" in said
    assert "protection is thin" in done.err
    assert symveil(*file, "--thin", "--json", "--again").document["thin"] is True


def test_over_an_alphabet_nothing_is_thin(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("id,s\n1,a b a\n")
    release = sv.privatize_file(tmp_path / "in.csv", tmp_path / "out.csv", alphabet="ab", epsilon=1)
    assert release.manifest["thin"] is False and release.manifest["positions_with_alternatives"] is None
    said = " ".join(
        symveil("privatize", str(tmp_path / "in.csv"), "--out", str(tmp_path / "o.csv"), "--alphabet", "ab",
                "--epsilon", "1").out.split()
    )  # fmt: skip
    assert "each symbol by itself; a whole sequence of 3 symbols loses up to 3" in said
    assert "of the symbols stay as they are" in said


def test_long_sequences_are_told_as_much_as_short_ones(tmp_path: Path) -> None:
    """105 letters of DNA, 2,000 letters, 1,200 symbols of a model: what changes, what passes, and what is hidden."""
    chain = sv.MarkovChain.from_transitions([(one, other, "1/3") for one in "abc" for other in "abc"])
    for number, (given, length) in enumerate(
        (({"alphabet": "acgt"}, 105), ({"alphabet": "acgt"}, 2000), ({"model": chain, "adjacency": 1}, 1200))
    ):
        word = " ".join(np.resize(list("aca"), length))
        (tmp_path / f"{number}.csv").write_text(f"id,s\n1,{word}\n")
        release = sv.privatize_file(
            tmp_path / f"{number}.csv", tmp_path / f"{number}.out.csv", epsilon=4, sequence="s",
            mechanism="exponential", calibration="classic" if "model" in given else "tight", **given,
        )  # fmt: skip
        error = release.manifest["expected_error"]
        assert error is not None and error["length"] == (length if length <= 500 else 100)
        if "alphabet" in given:
            assert error["symbols"] / error["length"] == pytest.approx(3 * np.exp(-4) / (1 + 3 * np.exp(-4)), rel=1e-4)
        else:
            assert release.manifest["positions_with_alternatives"] == 1
