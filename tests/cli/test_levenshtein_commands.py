"""`--metric levenshtein` in release, explain and audit."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from .running import symveil

ABC = ("--alphabet", "abc", "--epsilon", "5", "--metric", "levenshtein")
ROADS = (
    "--model",
    "examples/roads.json",
    "--separator",
    "|",
    "--epsilon",
    "5",
    "--adjacency",
    "1",
    "--metric",
    "levenshtein",
)
TRIP = "harbour rd|quay|market st"


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SYMVEIL_CACHE", str(tmp_path / "cache"))


def test_release() -> None:
    done = symveil("release", "abcab", *ABC, "--count", "40", "--json")
    assert done.status == 0
    assert done.document["guarantee"]["how"] == "exact"
    assert done.document["total_epsilon"] == 200
    assert set().union(*done.document["released"]) <= set("abc")
    plain = symveil("release", "abcab", *ABC, "--max-length", "6", "--count", "3")
    assert plain.status == 0
    assert len(plain.out.splitlines()) == 3
    assert "exact" in plain.err


def test_a_release_without_information_says_so() -> None:
    done = symveil("release", "abc", "--alphabet", "abc", "--epsilon", "1", "--metric", "levenshtein")
    assert (done.status, done.out) == (0, "\n")
    assert "carries no information" in done.err


def test_release_on_a_model() -> None:
    done = symveil("release", TRIP, *ROADS, "--max-length", "6", "--json")
    assert done.status == 0, done.err
    assert all(isinstance(symbol, str) for symbol in done.document["released"][0])


@pytest.mark.parametrize("mechanism", ["edit", "truncated-levenshtein"])
def test_explain(mechanism: str) -> None:
    done = symveil("explain", "abcab", *ABC, "--max-length", "8", "--mechanism", mechanism, "--json")
    assert done.status == 0, done.err
    document = done.document
    assert document["mechanism"] == mechanism
    assert (document["length"], document["max_length"], document["language_size"]) == (5, 8, "9841")
    assert document["metric"] == "levenshtein"
    assert document["measured"] == ("edits" if mechanism == "edit" else "distance")
    assert [row["words"] for row in document["distances"]][:3] == ["1", "28", "298"]
    assert math.isclose(sum(row["probability"] for row in document["distances"]), 1, abs_tol=1e-9)
    assert document["guarantee"]["epsilon"] <= 5
    assert document["protection"] is None
    plain = symveil("explain", "abcab", *ABC, "--max-length", "8", "--mechanism", mechanism)
    assert "insertions, deletions or substitutions" in plain.out


def test_explain_on_a_model_reports_protection() -> None:
    document = symveil("explain", TRIP, *ROADS, "--max-length", "8", "--json").document
    assert document["protection"]["neighbours_within_adjacency"] > 1
    assert document["certificate"]["how"] == "certified"


def test_explain_draws_and_plots(tmp_path: Path) -> None:
    files = ("--draw", str(tmp_path / "a.svg"), "--plot", str(tmp_path / "p.svg"), "--at-distance", "1")
    assert symveil("explain", "abc", *ABC, *files).status == 0
    assert "Levenshtein distance at most 1" in (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert (tmp_path / "p.svg").exists()


def test_audit() -> None:
    channel = symveil("audit", *ABC, "--length", "2", "--mechanism", "edit", "--output-length", "5", "--json")
    assert channel.status == 0
    document = channel.document
    assert document["private"] is True
    assert document["outputs_up_to"] == 5
    assert document["longer_outputs_epsilon"] <= 5
    assert document["worst_epsilon"] == pytest.approx(5, abs=1e-6)
    truncated = symveil("audit", *ABC, "--length", "3", "--mechanism", "truncated-levenshtein")
    assert truncated.status == 0
    assert "yes" in truncated.out
    assert symveil("audit", *ABC, "--length", "2", "--mechanism", "edit").status == 0


def test_audit_says_when_everything_is_deleted() -> None:
    options = ("--alphabet", "ab", "--length", "2", "--metric", "levenshtein", "--mechanism", "edit")
    nothing = symveil("audit", *options, "--epsilon", "1")
    assert nothing.status == 0
    assert "always the empty word" in nothing.out
    assert "always the empty word" not in symveil("audit", *options, "--epsilon", "5").out
    assert symveil("audit", *options, "--epsilon", "1", "--json").document["outputs_up_to"] == 0


def test_whether_a_word_is_released_does_not_depend_on_it(tmp_path) -> None:
    names = [f"s{i}" for i in range(40)]
    transitions = [[a, b, "1/40"] for a in names for b in names]
    dense = tmp_path / "dense.json"
    dense.write_text(json.dumps({"format": "symveil/1", "kind": "markov-chain", "transitions": transitions}))
    options = (
        "--model",
        str(dense),
        "--separator",
        ",",
        "--epsilon",
        "8",
        "--adjacency",
        "1",
        "--metric",
        "levenshtein",
    )
    words = [names[:3], names[:1] * 80, names * 2]
    for word in words:
        assert symveil("release", ",".join(word), *options, "--max-length", "100").status == 0
    refused = {
        symveil("release", ",".join(word), *options, "--max-length", "100", "--cutoff", "4").assert_one_error_line()
        for word in words
    }
    assert len(refused) == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("abcab", *ABC, "--max-length", "4"), "at most 4 symbols"),
        (("abcab", *ABC, "--max-length", "-1"), "max-length"),
        (("abcab", *ABC, "--mechanism", "exponential"), "truncated-levenshtein"),
        (("abcab", *ABC, "--mechanism", "truncated-levenshtein"), "public bound"),
        (("abcab", *ABC, "--mechanism", "edit", "--calibration", "classic"), "calibration"),
        (("abcab", *ABC, "--adjacency", "all"), "max_length"),
        (("abcab", *ABC, "--utility", "inverse"), "utility"),
        (("abcab", "--alphabet", "abc", "--epsilon", "1", "--mechanism", "edit"), "metric levenshtein"),
        (("abcab", "--alphabet", "abc", "--epsilon", "1", "--max-length", "9"), "metric levenshtein"),
        (("abcab", "--alphabet", "abc", "--epsilon", "1", "--cutoff", "2"), "cutoff"),
        ((TRIP, *ROADS), "max-length: expected --max-length"),
        ((TRIP, *ROADS, "--mechanism", "edit"), "truncated-levenshtein on a model"),
        ((TRIP, *ROADS, "--max-length", "100000"), "max-length: expected at most"),
        ((TRIP, *ROADS, "--max-length", "5", "--mechanism", "edit"), "model"),
        ((TRIP, *ROADS, "--max-length", "5", "--public-start"), "metric hamming"),
        (("quay|quay", *ROADS, "--max-length", "5"), "position 2"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(arguments: tuple[str, ...], expected: str) -> None:
    assert expected in symveil("release", *arguments).assert_one_error_line()


def test_an_error_does_not_tell_the_length_of_the_word() -> None:
    line = symveil("release", "abcabXabc", *ABC).assert_one_error_line()
    assert "position 6" in line
    assert "9" not in line
    assert "X" not in line


def test_other_commands_refuse_what_they_cannot_do() -> None:
    assert "hamming" in symveil("explain", "abc", *ABC, "--curves", "x.png").assert_one_error_line()
    hamming = ("--alphabet", "abc", "--epsilon", "1", "--length", "2", "--output-length", "4")
    assert "levenshtein" in symveil("audit", *hamming).assert_one_error_line()
