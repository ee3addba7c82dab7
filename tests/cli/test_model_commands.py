"""`--model` in release, explain and audit: only words that could have happened."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

import symveil as sv

from .running import symveil

EXAMPLES = Path(__file__).parents[2] / "examples"
TRIP = "harbour rd|bridge|main st n|market st"
ROADS = ("--model", str(EXAMPLES / "roads.json"), "--separator", "|", "--epsilon", "2", "--adjacency", "1")
MECHANISMS = ["auto", "exponential", "permute-and-flip", "staircase", "online"]


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("SYMVEIL_CACHE", str(tmp_path / "cache"))


def edges() -> set[tuple[str, str]]:
    document = json.loads((EXAMPLES / "roads.json").read_text())
    return {(source, target) for source, target, _ in document["transitions"]}


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("start", [(), ("--public-start",)])
def test_released_trips_are_legal(mechanism: str, start: tuple[str, ...]) -> None:
    done = symveil("release", TRIP, *ROADS, "--mechanism", mechanism, *start, "--count", "20", "--thin", "--json")
    assert done.status == 0, done.err
    document = done.document
    assert document["guarantee"]["epsilon"] <= 2
    assert document["guarantee"]["how"] in ("exact", "certified", "classic")
    legal = edges()
    for trip in document["released"]:
        assert len(trip) == 4
        assert all(pair in legal for pair in itertools.pairwise(trip))
        if start:
            assert trip[0] == "harbour rd"


def test_prior_and_utilities() -> None:
    for options in (("--prior", "chain"), ("--utility", "inverse", "--offset", "1/2"), ("--calibration", "classic")):
        assert symveil("release", TRIP, *ROADS, *options).status == 0


def test_explain_reports_protection_and_certificate() -> None:
    document = symveil("explain", TRIP, *ROADS, "--mechanism", "exponential", "--json").document
    assert document["language_size"] == "150"
    assert sum(int(row["words"]) for row in document["distances"]) == 150
    assert sum(row["probability"] for row in document["distances"]) == pytest.approx(1, abs=1e-12)
    assert document["protection"].keys() == {
        "neighbours_within_adjacency",
        "by_position",
        "positions_with_alternatives",
    }
    assert len(document["protection"]["by_position"]) == 4
    assert document["certificate"].keys() == {"rate", "ratio_bound", "loss", "how"}
    assert document["guarantee"]["epsilon"] <= 2
    assert document["automaton"] == {"states": 73, "edges": 116}


def test_thin_protection_is_said(tmp_path: Path) -> None:
    robot = ("--model", str(EXAMPLES / "robot.json"), "--separator", "|", "--epsilon", "2", "--adjacency", "1")
    word = first_word("robot.json", 3)
    done = symveil("explain", word, *robot)
    assert done.status == 0, done.err
    near = json.loads(symveil("explain", word, *robot, "--json").out)["protection"]
    assert ("protection is thin" in done.err) == (near["positions_with_alternatives"] < 0.5)
    line = sv.MarkovChain.from_transitions([("a", "b", 1), ("b", "a", "1/2"), ("b", "c", "1/2"), ("c", "a", 1)])
    sv.save_model(line, tmp_path / "line.json")
    alone = symveil("explain", "abab", "--model", str(tmp_path / "line.json"), "--epsilon", "1", "--adjacency", "1")
    assert "protection is thin" in alone.err


def first_word(model: str, length: int) -> str:
    import symveil as sv

    language = sv.runs(sv.load_model(EXAMPLES / model), length)
    row = language.enumerate_codes(at_most=10_000)[0]
    return "|".join(str(language.alphabet.symbols[code]) for code in row)


def test_audit_of_every_mechanism() -> None:
    for mechanism in MECHANISMS:
        done = symveil(
            "audit",
            *ROADS[:2],
            "--length",
            "3",
            "--epsilon",
            "1",
            "--adjacency",
            "1",
            "--mechanism",
            mechanism,
            "--json",
        )
        assert done.status == 0, done.err
        assert done.document["private"]
        assert done.document["pairs_checked"] > 0


def test_the_product_is_drawn(tmp_path) -> None:
    drawing = tmp_path / "product.svg"
    assert symveil("explain", TRIP, *ROADS, "--draw", str(drawing), "--at-distance", "2").status == 0
    assert "harbour rd" in drawing.read_text()
    assert "--at-distance" in symveil("explain", TRIP, *ROADS, "--draw", str(drawing)).assert_one_error_line()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("harbour rd|market st", *ROADS), "position 2 of 2"),
        (("harbour rd|nowhere", *ROADS), "position 2 of 2"),
        ((TRIP, *ROADS, "--alphabet", "ab"), "found both"),
        ((TRIP, "--model", "/no/such/model.json", "--separator", "|", "--epsilon", "2"), "/no/such/model.json"),
        ((TRIP, *ROADS[:2], "--epsilon", "2"), "--separator"),
        ((TRIP, *ROADS, "--mechanism", "jones2019-printed", "--not-private"), "reproduction"),
        (("abc", "--alphabet", "abc", "--epsilon", "2", "--public-start"), "--model"),
        (("abc", "--alphabet", "abc", "--epsilon", "2", "--prior", "chain"), "prior"),
        (("abc", "--alphabet", "abc", "--epsilon", "2", "--mechanism", "online"), "online"),
    ],
)
def test_bad_input_is_one_line(arguments: tuple[str, ...], expected: str) -> None:
    line = symveil("release", *arguments).assert_one_error_line()
    assert expected in line
    assert "nowhere" not in line
