"""`symveil explain`: the contract's document, from the smallest word to the largest."""

from __future__ import annotations

import math

import pytest

from .running import symveil

KEYS = {
    "mechanism",
    "epsilon",
    "adjacency",
    "calibration",
    "length",
    "language_size",
    "guarantee",
    "distances",
    "expected_error",
    "attacker",
    "bounds",
    "lower_bound",
    "chosen_because",
    "automaton",
    "protection",
    "certificate",
    "given_up",
    "guarantee_in_words",
    "metric",
    "max_length",
    "measured",
    "parameters",
}


def explain(*arguments: str) -> dict:
    done = symveil("explain", *arguments, "--json")
    assert done.status == 0, done.err
    return done.document


def test_document_has_the_keys_of_the_contract() -> None:
    document = explain("abc", "--alphabet", "abc", "--epsilon", "5", "--mechanism", "exponential")
    assert document.keys() == KEYS
    assert document["language_size"] == "27"
    assert [row["words"] for row in document["distances"]] == ["1", "6", "12", "8"]
    assert document["automaton"] == {"states": 10, "edges": 12}
    losses = [{"distance": apart, "epsilon": 5.0 * apart} for apart in range(1, 4)]
    assert document["guarantee"] == {"epsilon": 5.0, "how": "exact", "loss_at": losses}
    assert document["protection"] is None
    assert document["bounds"] is None
    assert math.isclose(sum(row["probability"] for row in document["distances"]), 1, abs_tol=1e-12)


@pytest.mark.parametrize(
    ("word", "alphabet", "mechanism", "calibration", "expected"),
    [
        ("ababa", "ab", "exponential", "classic", 0.379291),
        ("ababa", "ab", "permute-and-flip", "classic", 0.245088),
        ("ababa", "ab", "exponential", "tight", 0.033464),
        ("abcdabcdabcdab", "abcd", "exponential", "classic", 2.766344),
        ("abcdabcdabcdab", "abcd", "permute-and-flip", "classic", 2.758858),
        ("abcdabcdabcdab", "abcd", "exponential", "tight", 0.277387),
    ],
)
def test_known_expected_errors(word: str, alphabet: str, mechanism: str, calibration: str, expected: float) -> None:
    options = ("--alphabet", alphabet, "--epsilon", "5", "--mechanism", mechanism, "--calibration", calibration)
    assert explain(word, *options)["expected_error"] == pytest.approx(expected, abs=5e-7)


def test_jones2019_automaton() -> None:
    word = "american control conference 2019"
    document = explain(word, "--alphabet-from-word", "--epsilon", "1")
    assert document["automaton"] == {"states": 561, "edges": 1056}


def test_bounds_of_permute_and_flip() -> None:
    options = ("--alphabet", "ab", "--epsilon", "5", "--mechanism", "permute-and-flip", "--calibration", "classic")
    document = explain("ababa", *options)
    assert document["bounds"]["lower"] <= document["expected_error"] <= document["bounds"]["upper"]
    assert document["bounds"]["upper"] == pytest.approx(0.379291, abs=1e-6)


def test_auto_is_the_staircase_for_wide_adjacency_where_nothing_is_kept_beyond_it() -> None:
    options = ("abcabc", "--alphabet", "abc", "--epsilon", "2", "--adjacency", "3")
    document = explain(*options, "--beyond", "nothing")
    assert document["mechanism"] == "staircase"
    assert document["expected_error"] == pytest.approx(3.0063, abs=5e-5)
    assert document["guarantee"]["loss_at"][0]["epsilon"] == pytest.approx(2)
    graceful = explain(*options)
    assert graceful["mechanism"] == "exponential"
    assert graceful["expected_error"] == pytest.approx(3.0397, abs=5e-5)
    assert graceful["guarantee"]["loss_at"][0]["epsilon"] == pytest.approx(2 / 3)


def test_adjacency_all_is_the_length() -> None:
    assert explain("abcabc", "--alphabet", "abc", "--epsilon", "2", "--adjacency", "all")["adjacency"] == 6


def test_a_fraction_is_kept_exact() -> None:
    document = explain("abc", "--alphabet", "abc", "--epsilon", "3/10")
    assert document["epsilon"] == 0.3
    assert document["guarantee"]["epsilon"] == 0.3


def test_empty_word_and_one_symbol() -> None:
    empty = explain("", "--alphabet", "abc", "--epsilon", "2")
    assert (empty["length"], empty["language_size"], empty["expected_error"]) == (0, "1", 0.0)
    assert empty["automaton"] == {"states": 1, "edges": 0}
    assert empty["guarantee"]["epsilon"] == 0.0
    single = explain("aaaa", "--alphabet", "a", "--epsilon", "2", "--mechanism", "permute-and-flip")
    assert single["distances"] == [{"distance": 0, "words": "1", "probability": 1.0, "log_probability": 0.0}]
    assert single["automaton"] == {"states": 5, "edges": 4}


def test_numbers_beyond_ten_thousand_digits(tmp_path) -> None:
    file = tmp_path / "alphabet.txt"
    file.write_text("\n".join(f"s{number}" for number in range(1000)) + "\n")
    word = " ".join(["s0"] * 4000)
    document = explain(word, "--alphabet", f"@{file}", "--separator", " ", "--epsilon", "5")
    assert document["language_size"] == "1.000e+12000"
    assert document["distances"][1]["words"] == str(4000 * 999)
    assert document["distances"][-1]["words"].endswith("e+11998")
    assert all(math.isfinite(row["log_probability"]) for row in document["distances"])


def test_the_page_for_people() -> None:
    done = symveil("explain", "abcab", "--alphabet", "abc", "--epsilon", "2")
    assert done.status == 0
    for text in ("exponential, tight calibration", "epsilon = 2 (exact)", "21 states", "symbols changed"):
        assert text in done.out


def test_pictures(tmp_path) -> None:
    plot, drawing, dot = tmp_path / "law.png", tmp_path / "automaton.svg", tmp_path / "automaton.dot"
    arguments = ("abc", "--alphabet", "abc", "--epsilon", "2")
    assert symveil("explain", *arguments, "--plot", str(plot), "--draw", str(drawing)).status == 0
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert "<svg" in drawing.read_text()
    assert symveil("explain", *arguments, "--draw", str(dot), "--at-distance", "2").status == 0
    assert "digraph" in dot.read_text()
    assert "12" in dot.read_text()
    bad = tmp_path / "automaton.gif"
    symveil("explain", *arguments, "--draw", str(bad)).assert_one_error_line()
    symveil("explain", *arguments, "--plot", str(bad)).assert_one_error_line()
    assert not bad.exists()
