"""`symveil explain` without a word: averages over the public model beside the least error that there can be."""

from __future__ import annotations

import json
import math

import pytest

import symveil as sv

from .running import symveil


@pytest.fixture
def ring(tmp_path):
    rows = [("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)]
    path = tmp_path / "ring.json"
    sv.save_model(sv.MarkovChain.from_transitions(rows), path)
    return path


def test_one_budget(ring) -> None:
    done = symveil("explain", "--model", str(ring), "--length", "4", "--epsilon", "1", "--json")
    assert done.status == 0, done.err
    document = done.document
    language = sv.runs(sv.load_model(ring), 4)
    bound = sv.lower_bound(language, epsilon=1)
    assert document["lower_bound"] == {"value": bound.value, "confidence": None, "prior": "uniform"}
    words = [tuple(word) for word in ("aaaa", "aaab", "aaba", "abaa", "abab", "baaa", "baab", "baba")]
    mechanism = sv.select_mechanism(language, epsilon=1)
    mean = sum(mechanism.distances(word).expected_error for word in words) / len(words)
    assert document["expected_error"] == pytest.approx(mean, rel=1e-9)
    assert document["standard_error"] == 0
    assert document["expected_error"] >= bound.value
    proof = document["certificate"]
    assert proof is None or proof["worst_found"] is None or proof["worst_found"] <= proof["loss"]
    assert "distances" not in document  # nothing about a word: there is none


def test_several_budgets() -> None:
    done = symveil("explain", "--alphabet", "abc", "--length", "4", "--epsilon", "1..3", "--json")
    settings = done.document["settings"]
    assert [each["epsilon"] for each in settings] == [1.0, 2.0, 3.0]
    for each in settings:  # on Σⁿ with b = 1 nothing is left
        assert each["expected_error"] == pytest.approx(each["lower_bound"]["value"], rel=1e-12)
        assert each["expected_error"] >= each["lower_bound"]["value"]


def test_the_chains_prior(ring) -> None:
    arguments = ("--model", str(ring), "--length", "4", "--epsilon", "2", "--json")
    uniform = symveil("explain", *arguments).document
    chain = symveil("explain", *arguments, "--prior", "chain").document
    assert chain["lower_bound"]["prior"] == "chain"
    assert chain["lower_bound"]["value"] != uniform["lower_bound"]["value"]
    assert chain["expected_error"] >= chain["lower_bound"]["value"]


def test_for_people(ring) -> None:
    one = symveil("explain", "--model", str(ring), "--length", "4", "--epsilon", "1")
    assert "no ε-private mechanism can have less than 0.8051" in " ".join(one.out.split())
    several = symveil("explain", "--model", str(ring), "--length", "4", "--epsilon", "1..2")
    assert "least possible" in several.out
    word = symveil("explain", "abaa", "--model", str(ring), "--epsilon", "1")
    assert "no ε-private mechanism can have less than 0.8051" in " ".join(word.out.split())


def test_mechanisms_are_compared_and_plotted(tmp_path) -> None:
    arguments = ("--alphabet", "abc", "--length", "4", "--epsilon", "1..3", "--compare")
    done = symveil("explain", *arguments, "--json", "--curves", str(tmp_path / "c.json"))
    assert done.status == 0 and f"wrote {tmp_path / 'c.json'}" in done.err
    compared = {each["mechanism"]: each["expected_error"] for each in done.document["compared"]}
    settings = done.document["settings"]
    assert compared["exponential, tight"] == pytest.approx([each["expected_error"] for each in settings], rel=1e-9)
    assert all(tight < classic for tight, classic in zip(*list(compared.values())[:2], strict=True))
    curves = {each["mechanism"] for each in json.loads((tmp_path / "c.json").read_text())["curves"]}
    assert curves == set(compared)
    told = symveil("explain", *arguments)
    assert "permute-and-flip, classic" in told.out and "epsilon 3" in told.out
    line = symveil("explain", "abc", "--alphabet", "abc", "--epsilon", "1", "--compare").assert_one_error_line()
    assert "compare: expected --length without a word" in line


def test_a_proof_that_gains_nothing_is_called_so(ring) -> None:
    said = "note: certified, no better than classic here"
    asked = ("explain", "--model", str(ring), "--length", "4", "--epsilon", "1", "--mechanism", "permute-and-flip")
    assert said in symveil(*asked).err
    assert said not in symveil(*asked, "--calibration", "classic").err
    about_a_word = ("abaa", "--model", str(ring), "--epsilon", "1", *asked[-2:])
    assert said in symveil("explain", *about_a_word).err and said in symveil("release", *about_a_word).err
    # and as text in every document
    for typed in (asked, ("explain", *about_a_word)):
        told = symveil(*typed, "--json").document["guarantee_in_words"]
        assert told.startswith(said.removeprefix("note: "))
    (each,) = symveil(*asked[:6], "1..1", *asked[-2:], "--json").document["settings"]
    assert each["guarantee_in_words"] == told
    assert (
        "the bound that the papers give"
        in symveil(*asked, "--calibration", "classic", "--json").document["guarantee_in_words"]
    )


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (("--alphabet", "abc", "--epsilon", "2"), "length: expected a word, or --length N"),
        (("abc", "--alphabet", "abc", "--epsilon", "2", "--length", "3"), "length: expected --length without a word"),
        (("--alphabet", "abc", "--length", "3", "--epsilon", "3..1"), "epsilon: expected"),
        (("--alphabet", "abc", "--length", "3", "--epsilon", "1..1000"), "epsilon: expected"),
        (("--alphabet", "abc", "--length", "3", "--epsilon", "0..2"), "epsilon: expected"),
        (("abc", "--alphabet", "abc", "--epsilon", "1..2"), "epsilon: expected"),
        (("--alphabet", "abc", "--length", "3", "--epsilon", "1", "--plot", "law.png"), "plot: expected a word"),
        (("--alphabet", "abc", "--length", "3", "--epsilon", "1", "--metric", "levenshtein"), "metric: expected"),
        (("--length", "3", "--epsilon", "1", "--alphabet-from-word"), "alphabet-from-word: expected a word"),
    ],
)
def test_refusals(arguments, found) -> None:
    done = symveil("explain", *arguments)
    done.assert_one_error_line()
    assert found in done.err


def test_the_attackers_view(ring) -> None:
    free = symveil("explain", "--alphabet", "abc", "--length", "4", "--epsilon", "2", "--json").document["attacker"]
    assert free["symbol"]["after"] == pytest.approx(1 / (1 + 2 * math.exp(-2)), rel=1e-12)
    word = symveil("explain", "abaa", "--model", str(ring), "--epsilon", "9")
    assert "an attacker who knows the model names" in " ".join(word.out.split())
    assert "an attacker is right nine times in ten: this setting hides little" in word.err
    average = symveil("explain", "--model", str(ring), "--length", "4", "--epsilon", "9")
    assert "an attacker who knows the model names" in " ".join(average.out.split())
    assert "this setting hides little" in average.err
    mild = symveil("explain", "--alphabet", "abc", "--length", "4", "--epsilon", "1")
    assert "hides little" not in mild.err
