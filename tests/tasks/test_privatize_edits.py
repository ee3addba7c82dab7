"""Files under Levenshtein adjacency: lengths are secret, change, and are not told by anything but the output."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import symveil as sv
from file_mechanism import file_mechanism
from symveil.errors import ParameterError, WordError
from symveil.randomness.bits import RecordKey
from symveil.tasks.budgets import grant_budget, ledger_status
from symveil.tasks.check import check_manifest

WORDS = ["a b a", "b", "", "a a b b a b a", "b b", "a b a b a b"]


def write(path: Path, words: list[str]) -> Path:
    path.write_text("trip_id,links\n" + "".join(f"{number},{word}\n" for number, word in enumerate(words)))
    return path


def read(path: Path) -> list[list[str]]:
    return [row["links"].split() for row in csv.DictReader(path.read_text().splitlines())]


def release(folder: Path, words: list[str], **options):
    options = {"alphabet": "ab", "epsilon": 4, "adjacency": 1, "metric": "levenshtein", **options}
    return sv.privatize_file(write(folder / "in.csv", words), folder / "out.csv", **options)


@pytest.mark.parametrize(
    "options", [{}, {"mechanism": "edit"}, {"mechanism": "truncated-levenshtein", "max_length": 8}]
)
def test_a_file_in_and_a_file_out_that_the_check_confirms(tmp_path, options) -> None:
    done = release(tmp_path, WORDS, **options)
    released = read(tmp_path / "out.csv")
    assert len(released) == len(WORDS)
    assert all(set(word) <= {"a", "b"} for word in released)
    assert done.manifest["parameters"]["metric"] == "levenshtein"
    assert done.manifest["guarantee"]["epsilon"] <= 4
    checked = check_manifest(done.manifest_file)
    assert checked.holds, checked


def test_words_of_other_lengths_come_out() -> None:
    lengths = {len(word) for word in sv.privatize(["abab"] * 200, alphabet="ab", epsilon=3, metric="levenshtein")}
    assert len(lengths) > 1


def test_nothing_in_the_manifest_but_the_output_depends_on_the_lengths(tmp_path) -> None:
    manifests = []
    for name, words in (("short", ["a"] * 4), ("long", ["a b a b a b"] * 4)):
        folder = tmp_path / name
        folder.mkdir()
        told = json.loads(json.dumps(release(folder, words, release_id="r").manifest))
        assert told["digests"].pop("output") and told.pop("date")  # a day may end between two runs
        told["counts"].pop("symbols")  # of the private words
        manifests.append(told)
    assert manifests[0] == manifests[1]


def test_a_model_and_its_words_up_to_a_bound(tmp_path) -> None:
    roads = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    release(tmp_path, ["a b a", "b a", "a"] * 20, alphabet=None, model=roads, max_length=5)
    released = read(tmp_path / "out.csv")
    assert all(len(word) <= 5 and "b b" not in " ".join(word) for word in released)
    with pytest.raises(ParameterError, match="max_length"):
        release(tmp_path, WORDS, alphabet=None, model=roads)


def test_a_record_is_drawn_once_whatever_is_beside_it() -> None:
    family = file_mechanism(alphabet="ab", epsilon=2, metric="levenshtein")
    key = RecordKey(bytes(32), "r")
    words = [np.array(word, dtype=np.int32) for word in ([0, 1, 0], [], [1, 1, 1, 0], [0])]

    def drawn(order: list[int]) -> dict[int, list[int]]:
        bits = key.streams(key.names([str(number).encode() for number in order]))
        lengths = np.array([len(words[number]) for number in order])
        codes, sizes = family.release_flat(
            np.concatenate([words[number] for number in order]), lengths, bits=bits, checked=True
        )
        parts = np.split(codes, np.cumsum(sizes)[:-1])
        return {number: part.tolist() for number, part in zip(order, parts, strict=True)}

    everything = drawn([0, 1, 2, 3])
    assert drawn([3, 1, 2, 0]) == everything
    assert drawn([2])[2] == everything[2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_length": 5}, "line 5: expected at most 5 symbols, the public bound `max_length`, found more"),
        ({"alphabet": "bc"}, "position 1"),
    ],
)
def test_refusals_tell_a_position_and_no_length(tmp_path, options, message) -> None:
    with pytest.raises(WordError, match=message) as refused:
        release(tmp_path, WORDS, **options)
    assert " of 7" not in str(refused.value)
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    "options",
    [
        {"metric": "hamming", "max_length": 5},
        {"metric": "hamming", "cutoff": 2},
        {"metric": "euclid"},
        {"public_start": True},
        {"unsafe_report_true_error": True},
        {"mechanism": "staircase"},
    ],
)
def test_what_does_not_go_together(tmp_path, options) -> None:
    with pytest.raises(ParameterError):
        release(tmp_path, WORDS, **options)


# --- forms that cannot hold words of other lengths ---------------------------------------------

LOG = (
    "<log>"
    + "".join(
        f"<trace><string key='concept:name' value='t{number}'/><string key='town' value='x{number}'/>"
        + "".join(
            f"<event><string key='concept:name' value='{letter}'/><string key='clerk' value='c'/></event>"
            for letter in word
        )
        + "</trace>"
        for number, word in enumerate(["ab", "", "b", "abab"] * 10)
    )
    + "</log>"
)


@pytest.mark.parametrize("keep", [[], ["public"], ["when"]])
def test_a_row_for_each_event_cannot_hide_an_empty_word(tmp_path, keep) -> None:
    source, ledger = tmp_path / "in.csv", tmp_path / "l.db"
    source.write_text("who,when,what,public\n1,1,a,x\n1,2,a,x\n2,1,a,y\n")
    grant_budget(ledger, 9, everyone=True)
    with pytest.raises(ParameterError, match="metric: expected one sequence per row .* found one event per row"):
        sv.privatize_file(
            source, tmp_path / "out.csv", alphabet="ab", epsilon=2, metric="levenshtein",
            case="who", order="when", symbol="what", keep=keep, ledger=ledger,
        )  # fmt: skip
    assert ledger_status(ledger).releases == 0 and not (tmp_path / "out.csv").exists()


def test_traces_may_be_empty_and_keep_what_is_theirs(tmp_path) -> None:
    source = tmp_path / "in.xes"
    source.write_text(LOG)
    options = {"alphabet": "ab", "epsilon": 2, "metric": "levenshtein"}
    for wrong in ({"keep": ["clerk"]}, {"keep": ["case:town", "clerk"]}, {"person": "clerk"}):
        with pytest.raises(ParameterError, match="attributes of traces"):
            sv.privatize_file(source, tmp_path / "out.xes", **options, **wrong)
    done = sv.privatize_file(source, tmp_path / "out.xes", keep=["case:town"], person="case:town", **options)
    assert done.manifest["counts"]["released"] == 40
    text = done.out.read_text()
    traces = [trace.count("<event>") for trace in text.split("<trace>")[1:]]
    assert len(traces) == 40 and 0 in traces and all(f'value="x{number}"' in text for number in range(40))
    assert check_manifest(done.manifest_file).holds


def test_a_release_that_tells_nothing_says_so(tmp_path) -> None:
    done = release(tmp_path, WORDS, epsilon="1/4")
    assert read(tmp_path / "out.csv") == [[]] * len(WORDS)
    assert any("every sequence becomes empty" in note for note in done.notes)
    assert check_manifest(done.manifest_file).holds
    assert not release(tmp_path, WORDS).notes
