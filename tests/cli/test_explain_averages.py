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
    done = symveil("explain", "--model", str(ring), "--length", "4", "--epsilon", "1", "--adjacency", "1", "--json")
    assert done.status == 0, done.err
    document = done.document
    language = sv.runs(sv.load_model(ring), 4)
    bound = sv.lower_bound(language, epsilon=1, adjacency=1, beyond="graceful")
    assert document["lower_bound"] == {
        "value": bound.value, "confidence": None, "prior": "uniform", "beyond": "graceful"
    }  # fmt: skip
    words = [tuple(word) for word in ("aaaa", "aaab", "aaba", "abaa", "abab", "baaa", "baab", "baba")]
    mechanism = sv.select_mechanism(language, epsilon=1, adjacency=1)
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
    arguments = ("--model", str(ring), "--length", "4", "--epsilon", "2", "--adjacency", "1", "--json")
    uniform = symveil("explain", *arguments).document
    chain = symveil("explain", *arguments, "--prior", "chain").document
    assert chain["lower_bound"]["prior"] == "chain"
    assert chain["lower_bound"]["value"] != uniform["lower_bound"]["value"]
    assert chain["expected_error"] >= chain["lower_bound"]["value"]


def test_for_people(ring) -> None:
    one = symveil("explain", "--model", str(ring), "--length", "4", "--epsilon", "1", "--adjacency", "1")
    assert "loses at most (d/b)·ε at every distance d can have less than 0.8051" in " ".join(one.out.split())
    several = symveil("explain", "--model", str(ring), "--length", "4", "--epsilon", "1..2", "--adjacency", "1")
    assert "least possible" in several.out
    word = symveil("explain", "abaa", "--model", str(ring), "--epsilon", "1", "--adjacency", "1")
    assert "loses at most (d/b)·ε at every distance d can have less than 0.8051" in " ".join(word.out.split())


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
    one = ("--model", str(ring), "--epsilon", "1", "--adjacency", "1", "--mechanism", "permute-and-flip")
    asked = ("explain", "--length", "4", *one)
    assert said in symveil(*asked).err
    assert said not in symveil(*asked, "--calibration", "classic").err
    about_a_word = ("abaa", *one)
    assert said in symveil("explain", *about_a_word).err and said in symveil("release", *about_a_word).err
    # and as text in every document
    for typed in (asked, ("explain", *about_a_word)):
        told = symveil(*typed, "--json").document["guarantee_in_words"]
        assert told.startswith(said.removeprefix("note: "))
    (each,) = symveil(
        *["1..1" if each == "1" and asked[place - 1] == "--epsilon" else each for place, each in enumerate(asked)],
        "--json",
    ).document["settings"]
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
    word = symveil("explain", "abaa", "--model", str(ring), "--epsilon", "9", "--adjacency", "1")
    assert " attacker │ names " in " ".join(word.out.split())
    assert "an attacker is right nine times in ten: this setting hides little" in word.err
    average = symveil("explain", "--model", str(ring), "--length", "4", "--epsilon", "9", "--adjacency", "1")
    said = " ".join(average.out.split())
    assert said.count("for scale, ") == 1
    assert "the promise allows at most" in said
    assert "this setting hides little" in average.err
    mild = symveil("explain", "--alphabet", "abc", "--length", "4", "--epsilon", "1")
    assert "hides little" not in mild.err
    several = symveil("explain", "--alphabet", "abc", "--length", "4", "--epsilon", "1..2")
    assert "attacker names" in several.out and "79 %" in several.out


def test_several_private_versions_of_a_word() -> None:
    options = ("--alphabet", "abc", "--epsilon", "1", "--count", "3")
    for given in (("--length", "4"), ("abca",)):
        document = symveil("explain", *given, *options, "--json").document
        several = document["attacker_of_versions"]
        assert several["versions"] == 3 and several["how"] == "exact"
        # of three versions: all alike, two alike, or one of three different ones
        hit = math.e / (math.e + 2)
        miss = (1 - hit) / 2
        right = hit**3 + 3 * hit**2 * (1 - hit) + 6 * hit * miss**2 / 3
        assert several["symbol"]["after"] == pytest.approx(right, rel=1e-12)
        assert several["word"]["after"] == pytest.approx(right**4, rel=1e-12)
        assert document["attacker"]["symbol"]["after"] == pytest.approx(hit, rel=1e-12)
        assert "after 3 private versions" in " ".join(symveil("explain", *given, *options).out.split())
    refused = symveil("explain", "--length", "4", *options[:-1], "1000")
    assert refused.status == 2 and "expected a whole number from 1 to 100" in refused.err


def test_without_epsilon_it_says_what_each_b_hides(ring, tmp_path) -> None:
    asked = ("explain", "--model", str(ring), "--length", "4")
    document = symveil(*asked, "--json").document
    table = sv.adjacency_table(sv.runs(sv.load_model(ring), 4))
    assert document == json.loads(json.dumps(table.document()))
    rows = document["hides"]
    assert [row["adjacency"] for row in rows] == [1, 2, 3, "all"]
    assert all(row.keys() >= {"adjacency", "positions_with_alternatives", "alternatives"} for row in rows)
    picture = tmp_path / "hides.svg"
    done = symveil(*asked, "--plot", str(picture))
    assert "What each adjacency b hides in words of 4 symbols" in done.out and picture.exists()
    (only,) = symveil(*asked, "--adjacency", "2", "--json").document["hides"]
    assert only == rows[1]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--mechanism", "online"), "epsilon: expected --epsilon with --mechanism, found none"),
        (("--compare",), "epsilon: expected --epsilon with --compare, found none"),
        (("--curves", "c.svg"), "epsilon: expected --epsilon with --curves, found none"),
        (("--plot", "c.gif"), "plot: expected"),
    ],
)
def test_what_needs_an_epsilon_says_so(ring, more, said) -> None:
    assert said in symveil("explain", "--model", str(ring), "--length", "4", *more).assert_one_error_line()


def test_epsilon_is_needed_for_a_word_and_over_an_alphabet(ring) -> None:
    said = "epsilon: expected --epsilon E, or --model and --length alone, found none"
    assert said in symveil("explain", "abaa", "--model", str(ring)).assert_one_error_line()
    assert said in symveil("explain", "--alphabet", "abc", "--length", "3").assert_one_error_line()
    assert "length: expected" in symveil("explain", "--model", str(ring)).assert_one_error_line()


@pytest.mark.parametrize(
    "command", [("explain", "abaa"), ("explain", "--length", "4"), ("release", "abaa"), ("audit", "--length", "4")]
)
def test_on_a_model_b_has_no_default(ring, command) -> None:
    line = symveil(*command, "--model", str(ring), "--epsilon", "1").assert_one_error_line()
    assert (
        "adjacency: expected b, 1 or more, or all, because on a model b has no default (in words of 4 symbols" in line
    )
    assert "b = 1" in line and "all: every word of this length" in line


def test_the_price_of_the_promise_is_a_row_where_it_is_high() -> None:
    asked = ("explain", "--model", "examples/roads.json", "--length", "4", "--adjacency", "1", "--epsilon")
    said = " ".join(symveil(*asked, "1").out.replace("│", " ").split())
    assert "price the loss beyond b is kept at a price: expected error 2.32, where beyond nothing has 0.996" in said
    assert " price " not in symveil(*asked, "3").out
    nothing = " ".join(symveil(*asked, "1", "--beyond", "nothing").out.replace("│", " ").split())
    assert "times (d/b)·ε, because nothing is kept beyond b" in nothing and " price " not in nothing
