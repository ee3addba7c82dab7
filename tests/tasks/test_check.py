"""An honest release passes the check at every ε; one that loses a hair more than ε does not."""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import symveil as sv
from cli.running import symveil
from symveil.errors import FileError
from symveil.mechanisms import model_selection
from symveil.numbers.rationals import spelled
from symveil.tasks.check import CheckedManifest, check_manifest

CHAIN = sv.MarkovChain.from_transitions(
    [("a", "a", "1/2"), ("a", "b", "1/4"), ("a", "c", "1/4"), ("b", "a", "1/2"), ("b", "c", "1/2"), ("c", "a", 1)]
)
OTHER_CHAIN = sv.MarkovChain.from_transitions([("a", "b", 1), ("b", "c", 1), ("c", "a", 1)])
WORDS = ["aba", "a", "", "acab", "b"]

_HAMMING = [
    {"mechanism": "auto"},
    {"mechanism": "exponential"},
    {"mechanism": "exponential", "utility": "inverse", "offset": "2/3"},
    {"mechanism": "permute-and-flip"},
    {"mechanism": "staircase"},
]
CHOICES = [
    *({"alphabet": "abc", **each} for each in _HAMMING),
    *({"alphabet": "abc", **each, "calibration": "classic"} for each in _HAMMING[1:]),
    *({"model": CHAIN, **each, "calibration": how} for each in _HAMMING for how in ("tight", "classic")),
    {"model": CHAIN, "mechanism": "online"},
    {"model": CHAIN, "prior": "chain"},
    {"model": CHAIN, "prior": "degrees"},
    {"model": CHAIN, "mechanism": "exponential", "prior": "degrees", "cost": "swap", "cap": 3, "adjacency": 2},
    {"model": CHAIN, "public_start": True},
    {"alphabet": "abc", "metric": "levenshtein"},
    {"alphabet": "abc", "metric": "levenshtein", "max_length": 4},
    {"alphabet": "ab", "metric": "levenshtein", "max_length": 5, "mechanism": "edit"},
    {"alphabet": "abc", "metric": "levenshtein", "max_length": 9, "mechanism": "truncated-levenshtein", "cutoff": 2},
    {"model": CHAIN, "metric": "levenshtein", "max_length": 4, "calibration": "classic"},
    {"model": CHAIN, "metric": "levenshtein", "max_length": 4},
]

rationals = st.one_of(
    st.builds(Fraction, st.integers(1, 60), st.integers(1, 60)),
    st.builds(Fraction, st.integers(1, 10**40), st.integers(10**38, 10**40)),
    st.builds(lambda digits, places: Fraction(digits, 10**places), st.integers(1, 10**6), st.integers(4, 12)),
    st.floats(1e-6, 60).map(lambda value: Fraction(repr(value))),
)


def released(folder: Path, **choice: object) -> Path:
    """The manifest of a release of a small file."""
    words = [word for word in WORDS if choice.get("alphabet") != "ab" or "c" not in word]
    if "model" in choice:
        sv.save_model(choice["model"], folder / "roads.json")
        choice |= {"model": folder / "roads.json", "adjacency": choice.get("adjacency", 1)}
    (folder / "t.csv").write_text("id,s\n" + "".join(f"{n},{' '.join(word)}\n" for n, word in enumerate(words)))
    return sv.privatize_file(folder / "t.csv", folder / "p.csv", sequence="s", **choice).manifest_file


def failing(checked: CheckedManifest) -> list[tuple[str, str]]:
    assert not (checked.holds and checked.not_run)
    return [(check.name, check.note) for check in checked.checks if not check.holds]


def test_what_was_not_checked_is_listed_with_the_reason(tmp_path) -> None:
    manifest = released(tmp_path, model=CHAIN, epsilon=2, thin=True)
    whole = check_manifest(manifest)
    assert whole.holds and whole.not_run == () and whole.document()["not_run"] == []
    names = [check.name for check in whole.checks]
    (tmp_path / "p.csv").write_text("id,s\n")
    without_output = check_manifest(manifest)
    assert without_output.not_run == ("expected error", "attacker", "counts", "form", "legality")
    assert without_output.document()["not_run"][2] == {"check": "counts", "reason": "needs what failed above: output"}
    (table,) = without_output.report().sections[0].parts
    assert ("counts", "not run", "needs what failed above: output") in table.rows
    sv.save_model(OTHER_CHAIN, tmp_path / "roads.json")
    without_model = check_manifest(manifest)
    assert without_model.not_run[:3] == ("alphabet", "guarantee", "parameters")
    for checked in (without_output, without_model):
        assert sorted([*(check.name for check in checked.checks), *checked.not_run]) == sorted(names)


FIRST_MANIFEST = """
{"format": "symveil-manifest/1", "version": "0.2.0", "release_id": "third", "mechanism": "exponential",
 "epsilon": 0.33333333333333337, "epsilon_exact": "1/3", "eta": "1/3", "b": 1, "how": "exact",
 "guarantee": {"epsilon": 0.33333333333333337, "how": "exact"},
 "parameters": {"mechanism": "auto", "calibration": "tight", "prior": "uniform", "utility": "distance", "offset": "1",
  "public_start": false, "metric": "hamming", "max_length": null, "cutoff": null},
 "classes": [{"lengths": [1, 3], "mechanism": "exponential", "eta": "1/3",
  "guarantee": {"epsilon": 0.33333333333333337, "how": "exact"}}],
 "alphabet": ["a", "b", "c"], "model": null,
 "digests": {"model": null, "alphabet": "d33b202c020cbde1c4a7bb26d0b02e66645407dcef42c63543cff899b8f979c8",
  "output": "548547583e62327161b10d62616fbce9667605d472068860d4bcf8e7de1a7295"},
 "output": {"file": "third.csv", "format": "CSV", "form": "wide", "columns": {"sequence": "s", "id": "id"}},
 "counts": {"sequences": 3, "released": 3, "dropped_unknown": 0, "dropped_over_budget": 0, "symbols": 4},
 "protection": null, "charged": null}
"""
"""As 0.2.0 wrote it."""


def test_a_manifest_that_was_written_by_the_version_before(tmp_path) -> None:
    (tmp_path / "third.csv").write_text("id,s\n1,b c a\n2,a\n3,\n")
    manifest = tmp_path / "third.csv.manifest.json"
    manifest.write_text(FIRST_MANIFEST)
    assert failing(check_manifest(manifest)) == []
    for other in ("0.3333333333333333", "0.33333333333333343", '"1/3"'):  # below, above, and not as it is written
        manifest.write_text(FIRST_MANIFEST.replace('{"epsilon": 0.33333333333333337', f'{{"epsilon": {other}'))
        assert failing(check_manifest(manifest)) == [("guarantee", "another guarantee than what is computed again")]


@pytest.mark.parametrize("epsilon", ["1/3", "2/3", "1/7", "22/7"])
def test_an_epsilon_that_is_no_decimal(epsilon, tmp_path) -> None:
    assert failing(check_manifest(released(tmp_path, alphabet="abc", epsilon=epsilon))) == []


def holds_at(epsilon: Fraction, choice: dict[str, object], adjacency: int | str) -> None:
    if choice.get("metric") == "levenshtein" and "max_length" not in choice and adjacency == "all":
        adjacency = 1  # there, all edits need a bound
    with tempfile.TemporaryDirectory() as folder:
        thin = {"thin": True} if "model" in choice else {}
        manifest = released(Path(folder), epsilon=epsilon, adjacency=adjacency, **thin, **choice)
        assert failing(check_manifest(manifest)) == []


whatever = given(
    epsilon=rationals,
    choice=st.sampled_from(CHOICES),
    adjacency=st.one_of(st.just(1), st.integers(2, 7), st.just("all")),
)


@settings(max_examples=25)
@whatever
@example(epsilon=Fraction(1, 3), choice={"alphabet": "abc", "mechanism": "staircase"}, adjacency=2)
@example(epsilon=Fraction(1, 3), choice={"model": CHAIN, "mechanism": "online"}, adjacency=2)
@example(epsilon=Fraction(1, 10**38), choice={"model": CHAIN, "mechanism": "permute-and-flip"}, adjacency=1)
@example(epsilon=Fraction(22, 7), choice={"alphabet": "abc", "metric": "levenshtein"}, adjacency=1)
def test_every_honest_release_holds(epsilon, choice, adjacency) -> None:
    holds_at(epsilon, choice, adjacency)


@pytest.mark.soak
@settings(max_examples=1000)
@whatever
def test_a_thousand_honest_releases_hold(epsilon, choice, adjacency) -> None:
    holds_at(epsilon, choice, adjacency)


@settings(max_examples=25)
@given(epsilon=rationals, parts=st.integers(10**12, 10**30))
def test_a_loss_of_a_hair_more_than_epsilon_does_not_hold(epsilon, parts) -> None:
    """Also where the two print as the same decimal: a manifest whose rates are larger by so much, and nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        manifest = released(Path(folder), alphabet="abc", epsilon=epsilon)
        document = json.loads(manifest.read_text())
        larger = spelled(Fraction(document["eta"]) * (1 + Fraction(1, parts)))
        document["eta"] = larger
        for row in document["classes"]:
            row["eta"] = larger
        for row in document["law"]:
            row["rate"] = larger
        manifest.write_text(json.dumps(document))
        assert ("guarantee", f"the loss is above epsilon, {spelled(epsilon)}") in failing(check_manifest(manifest))


@pytest.mark.parametrize(
    "choice",
    [
        {"mechanism": "exponential"},
        {"mechanism": "exponential", "cost": "swap"},
        {"mechanism": "exponential", "beyond": "graceful"},
        {"mechanism": "staircase", "adjacency": 2},
        {"mechanism": "online"},
        {"mechanism": "permute-and-flip"},
        {"metric": "levenshtein", "max_length": 4},
    ],
)
def test_a_rate_of_a_model_that_is_larger_than_proved_does_not_hold(choice, tmp_path) -> None:
    """The certificate claims as much as before, and what is claimed is consistent: only the proof can tell."""
    manifest = released(tmp_path, model=CHAIN, epsilon="2.3", thin=True, **choice)
    assert failing(check_manifest(manifest)) == []
    document = json.loads(manifest.read_text())

    def larger(rate: str) -> str:
        return spelled(Fraction(rate) * Fraction(101, 100))

    for row in document["law"]:
        for name in {"rate", "step_height"} & set(row):
            row[name] = larger(row[name])
    for row in [document, *document["classes"]]:
        row["eta"] = row["eta"] and larger(row["eta"])
    manifest.write_text(json.dumps(document))
    faults = failing(check_manifest(manifest))
    assert [name for name, _ in faults] in (["guarantee"], ["parameters"]) and "epsilon" in faults[0][1]


def changed(manifest: Path, change: Callable[[dict[str, Any]], object]) -> list[str]:
    """The checks that fail once the manifest, of which all checks hold, is changed."""
    assert failing(check_manifest(manifest)) == []
    document = json.loads(manifest.read_text())
    change(document)
    manifest.write_text(json.dumps(document))
    return [name for name, _ in failing(check_manifest(manifest))]


CERTIFICATES = [
    (lambda proof: proof.update(loss=spelled(Fraction(proof["loss"]) * Fraction(999, 1000))), "guarantee"),
    (lambda proof: proof.update(proof="by hand"), "fields"),
    (lambda proof: proof.update(loss=1.5), "fields"),
]


@pytest.mark.parametrize(("change", "check"), CERTIFICATES)
@pytest.mark.parametrize("choice", [{"model": CHAIN, "cost": "swap"}, {"alphabet": "abc", "metric": "levenshtein"}])
def test_a_certificate_that_claims_more_than_is_proved_does_not_hold(choice, change, check, tmp_path) -> None:
    named = {"max_length": 4} if "metric" in choice else {"mechanism": "exponential"}
    manifest = released(tmp_path, epsilon=2, **choice, **named)
    faults = changed(manifest, lambda document: change(document["law"][0]["certificate"]))
    assert (check if check == "fields" or "model" in choice else "parameters") in faults  # one law of all: read first


@pytest.mark.parametrize("mechanism", ["auto", "optimal", "exponential"])
def test_a_promise_beyond_b_that_was_not_made_does_not_hold(mechanism, tmp_path) -> None:
    """The laws keep nothing beyond b: a manifest that says `beyond` by hand promises more than they keep."""
    manifest = released(tmp_path, model=CHAIN, epsilon=2, adjacency=2, mechanism=mechanism, beyond="nothing")
    assert changed(manifest, lambda document: document["parameters"].update(beyond="graceful")) == ["guarantee"]


def test_an_optimal_law_without_its_table_does_not_hold(tmp_path) -> None:
    manifest = released(tmp_path, model=CHAIN, epsilon=2, mechanism="optimal")
    assert "fields" in changed(manifest, lambda document: document["law"][0].pop("peaks"))


def test_a_model_of_another_kind_than_its_file_does_not_hold(tmp_path) -> None:
    manifest = released(tmp_path, model=CHAIN, epsilon=2)
    assert changed(manifest, lambda document: document["model"].update(kind="automaton")) == ["model"]


def test_a_release_at_a_third_is_not_called_too_much() -> None:
    """The same comparison, made before a single word is released."""
    done = symveil("release", "aba", "--alphabet", "ab", "--epsilon", "1/3", "--count", "3", "--json")
    assert done.document["total_epsilon"] == 1
    assert "not private" not in done.err


# --- what a manifest may name ------------------------------------------------------------------------


def renamed(manifest: Path, *, part: str = "output", name: str) -> Path:
    document = json.loads(manifest.read_text())
    document[part]["file"] = name
    manifest.write_text(json.dumps(document))
    return manifest


@pytest.mark.parametrize("part", ["output", "model"])
@pytest.mark.parametrize(
    "name", ["/dev/zero", "/dev/stdin", "../p.csv", "sub/p.csv", "..", ".", "", "./p.csv", "p.csv/"]
)
def test_a_manifest_names_what_lies_beside_it(tmp_path, part, name) -> None:
    """/dev/zero was read for ever."""
    manifest = renamed(released(tmp_path, model=CHAIN, epsilon=1, adjacency=1), part=part, name=name)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "p.csv").write_bytes((tmp_path / "p.csv").read_bytes())
    if part == "output":
        with pytest.raises(FileError, match=r"\$\.output\.file: expected the plain name of something beside the mani"):
            check_manifest(manifest)
        assert failing(check_manifest(manifest, output=tmp_path / "p.csv")) == []
        return
    try:  # the last part of a path is taken for the name: 0.2.0 wrote paths
        assert failing(check_manifest(manifest)) != []
    except FileError as error:
        assert len(str(error).splitlines()) == 1
    assert failing(check_manifest(manifest, model=tmp_path / "roads.json")) == []


@pytest.mark.parametrize("part", ["output", "model"])
@pytest.mark.parametrize("kind", ["pipe", "device", "outside", "loop", "socket"])
def test_what_lies_beside_a_manifest_is_a_regular_file(tmp_path, monkeypatch, part, kind) -> None:
    folder = tmp_path / "given"
    folder.mkdir()
    manifest = released(folder, model=CHAIN, epsilon=1, adjacency=1)
    file = folder / ("p.csv" if part == "output" else "roads.json")
    file.rename(tmp_path / file.name)
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "socket":
        monkeypatch.chdir(folder)  # the name of a socket has to be short
        with closing(socket.socket(socket.AF_UNIX)) as made:
            made.bind(file.name)
    else:
        target = {"device": Path("/dev/zero"), "outside": tmp_path / file.name, "loop": file}[kind]
        file.symlink_to(target)
    try:
        assert [name for name, _ in failing(check_manifest(manifest))] == ["model"]
        assert part == "model"
    except FileError as error:
        assert len(str(error).splitlines()) == 1
    moved = check_manifest(manifest, **{part: tmp_path / file.name})
    assert failing(moved) == []


def test_a_link_to_a_file_beside_it_will_do(tmp_path) -> None:
    manifest = released(tmp_path, alphabet="abc", epsilon=1)
    (tmp_path / "p.csv").rename(tmp_path / "q.csv")
    (tmp_path / "p.csv").symlink_to("q.csv")
    assert failing(check_manifest(manifest)) == []


def test_a_model_is_named_without_its_folders(tmp_path) -> None:
    document = json.loads(released(tmp_path, model=CHAIN, epsilon=1, adjacency=1).read_text())
    assert document["model"] == {"kind": "markov-chain", "file": "roads.json"}


@pytest.mark.parametrize("choice", [{"model": CHAIN}, {"model": CHAIN, "adjacency": "all"}, {"alphabet": "abc"}])
@pytest.mark.parametrize("mechanism", ["exponential", "permute-and-flip"])
@pytest.mark.parametrize("length", [10**6, 10**9, 10**18])
def test_lengths_that_nothing_has_are_not_worked_out(tmp_path, choice, mechanism, length) -> None:
    """A manifest alone kept the check busy for hours, or filled the memory."""
    manifest = released(tmp_path, epsilon=1, mechanism=mechanism, **choice)
    document = json.loads(manifest.read_text())
    document["classes"][0]["lengths"] = [1, length]
    manifest.write_text(json.dumps(document))
    (tmp_path / "p.csv").unlink()
    assert [name for name, _ in failing(check_manifest(manifest))] == ["output", "guarantee"]


@pytest.mark.parametrize("depth", [200, 900, 990, 100_000])
@pytest.mark.parametrize("key", ["alphabet", "parameters", "model", "classes", "epsilon_exact", "extra"])
def test_a_manifest_that_is_nested(tmp_path, depth, key) -> None:
    manifest = released(tmp_path, alphabet="abc", epsilon=1)
    document = json.loads(manifest.read_text()) | {key: "here"}
    manifest.write_text(json.dumps(document).replace('"here"', "[" * depth + "]" * depth))
    try:
        assert check_manifest(manifest).holds == (key == "extra")
    except FileError as error:
        assert len(str(error).splitlines()) == 1


def test_a_cap_that_an_older_version_chose_is_proved_again(tmp_path, monkeypatch) -> None:
    """0.3 took the largest cap for swap costs: its manifests say so, and are checked by what they say."""
    monkeypatch.setattr(model_selection, "_capped", lambda hope: hope)
    more = {"model": "examples/roads.json", "separator": "|", "epsilon": 3, "adjacency": 1, "beyond": "nothing"}
    release = sv.privatize_file("examples/trips.csv", tmp_path / "private.csv", **more)
    monkeypatch.undo()
    caps = [row["cap"] for row in release.manifest["law"]]
    assert min(caps) > 10
    assert check_manifest(release.manifest_file, model="examples/roads.json").holds
    document = json.loads(release.manifest_file.read_text("utf-8"))
    document["law"][0]["cap"] = 2  # another law than the one that its rate belongs to
    release.manifest_file.write_text(json.dumps(document), "utf-8")
    assert not check_manifest(release.manifest_file, model="examples/roads.json").holds
