"""Bounds of known languages: closed forms on Σⁿ, exact prices counted another way, and figures once proved."""

from __future__ import annotations

import csv
import gzip
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import symveil as sv
from symveil.bounds.lower_bound import decays
from symveil.bounds.prior import Prior
from symveil.bounds.star_price import lower_limit
from symveil.bounds.window_prices import WindowPrices
from symveil.errors import ParameterError
from symveil.examples.paper_systems import town

NEVER_BB = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "shanghai_adjacency.csv.gz"


@pytest.mark.parametrize("epsilon", [0.1, 1, 4, 30])
@pytest.mark.parametrize(("size", "length", "b"), [(2, 5, 1), (3, 4, 2), (6, 5, 3), (4, 6, "all"), (2, 300, 7)])
def test_on_all_words_the_bound_is_the_error_of_the_best_staircase(size, length, b, epsilon):
    words = sv.words(range(size), length)
    bound = sv.lower_bound(words, epsilon=epsilon, adjacency=b)
    error = sv.Staircase(words, epsilon=epsilon, adjacency=b).distances().expected_error
    assert bound.confidence is None
    assert bound.value <= error
    assert bound.value == pytest.approx(error, rel=1e-12)


def test_one_position_of_a_model_has_a_closed_form():
    star = sv.Automaton.from_transitions([("0", symbol, "1") for symbol in "abcd"], initial="0", accepting=["1"])
    for epsilon in (0.5, 2, 9):
        bound = sv.lower_bound(sv.runs(star, 1), epsilon=epsilon, adjacency=1)
        assert bound.value == pytest.approx(3 / (math.exp(epsilon) + 3), rel=1e-6)


@pytest.mark.parametrize("epsilon", [1, 4])
def test_words_that_are_all_adjacent_have_their_constant_price_however_many_they_are(epsilon):
    """625 words, too many for a search, and a price above 1: all words of four symbols, told as an automaton."""
    free = sv.Automaton.from_transitions([("0", symbol, "0") for symbol in "abcde"], initial="0", accepting=["0"])
    prices = WindowPrices(Prior(sv.runs(free, 4), "uniform"), decays(Fraction(epsilon)), 4)
    prices._offer_cliques()  # what is tried first; all searches would take seconds, and find no more
    best = sv.lower_bound(sv.words("abcde", 4), epsilon=epsilon, adjacency=4)
    whole = prices.offers[0, 3]
    assert best.value > 1
    assert whole.value <= best.value
    assert whole.value == pytest.approx(best.value, rel=1e-9)
    assert whole.price == "constant"


@pytest.mark.parametrize("epsilon", [8, 20, 40, 300, 700, 10**6])
def test_a_small_language_has_a_bound_at_every_budget(epsilon):
    """A wrong word is about e^−ε as likely as the right one, far below what a solver takes for 0."""
    words = sv.runs(NEVER_BB, 4)
    bound = sv.lower_bound(words, epsilon=epsilon, adjacency=1)
    error = sv.Optimal(words, epsilon=epsilon, adjacency=1).expected_error
    assert bound.method == "programme"
    assert bound.value <= error
    assert bound.value > 0.999999 * error or epsilon > 600


def test_words_that_nothing_hides_cost_nothing():
    line = sv.MarkovChain.from_transitions([("a", "b", 1), ("b", "a", 1)])
    assert sv.lower_bound(sv.runs(line, 6), epsilon=1, adjacency=1).value == 0
    assert sv.lower_bound(sv.words("a", 6), epsilon=1).value == 0
    assert sv.lower_bound(sv.words("ab", 0), epsilon=1).value == 0


# (b, ε, what an earlier search had proved or, with b = 2, estimated): a bound may only get better
@pytest.mark.parametrize(("b", "epsilon", "least"), [(1, 3, 0.985), (1, 6, 0.0586), (2, 4, 2.2)])
def test_the_demo_town(b, epsilon, least):
    bound = sv.lower_bound(sv.runs(town(), 9), epsilon=epsilon, adjacency=b, quick=True)
    assert least < bound.value < 1.1 * least
    assert bound.confidence == (None if b == 1 else 0.99)


def test_a_bound_without_samples_is_proved_and_no_larger_confidence_helps():
    roads = sv.runs(town(), 6)
    values = [
        sv.lower_bound(roads, epsilon=6, adjacency=2, confidence=each, quick=True).value
        for each in (None, 0.999999, 0.99, 0.5)
    ]
    assert sv.lower_bound(roads, epsilon=6, adjacency=2, confidence=None, quick=True).confidence is None
    assert values == sorted(values)


@pytest.mark.skipif(not DATA.exists(), reason="the Shanghai network is not in ../shared/data")
def test_shanghai_with_a_public_start_pays_for_its_last_symbol_only():
    """b = 1: two words differ in the last street only, so the bound is the mean of (K−1)/(e^ε+K−1), exactly."""
    with gzip.open(DATA, "rt", encoding="utf-8") as file:
        moves = [(int(row["from_link"]), int(row["to_link"])) for row in csv.DictReader(file)]
    degree = Counter(source for source, _ in moves)
    rows = [(str(source), str(target), Fraction(1, degree[source])) for source, target in moves]
    network = sv.MarkovChain.from_transitions(rows, states=[str(number) for number in range(714)])
    ends = np.ones(714)  # how many words of 19 streets end in each street
    for _ in range(18):
        ends = np.bincount(
            [target for _, target in moves], weights=ends[[source for source, _ in moves]], minlength=714
        )
    streets = np.array([degree[number] for number in range(714)], dtype=float)
    shares = ends * streets / (ends * streets).sum()
    for epsilon in (0.5, 1, 8):
        price = np.maximum(streets - 1, 0) / (math.exp(epsilon) + np.maximum(streets - 1, 0))
        bound = sv.lower_bound(sv.runs(network, 20, public_start=True), epsilon=epsilon, adjacency=1, quick=True)
        assert bound.confidence is None
        assert bound.value <= shares @ price
        assert bound.value == pytest.approx(shares @ price, rel=1e-9)


def test_few_words_from_one_state_and_many_from_another():
    """Weights far beyond floats: a component with 2^k words, and one with 4^k that few completions leave."""
    rows = [("0", "a", "A"), ("A", "a", "A"), ("A", "b", "A")]
    rows += [("0", "b", "C"), *(("C", symbol, "C") for symbol in "abcd"), ("C", "e", "L0")]
    rows += [(f"L{number}", "a", f"L{number + 1}") for number in range(1_100)]
    both = sv.Automaton.from_transitions(rows, initial="0", accepting=["A", "L1100"])
    bound = sv.lower_bound(sv.runs(both, 2_600), epsilon=2, adjacency=1, quick=True, confidence=None)
    # nearly all words stay in C for 1,498 symbols, each one of four, and the rest is the same for all of them
    assert bound.value == pytest.approx(1_498 * 3 / (math.exp(2) + 3), rel=1e-6)


def test_the_limit_is_below_the_mean_as_often_as_it_says():
    rng = np.random.default_rng(3)
    above = sum(lower_limit(rng.random(400) ** 6, 1.0, 0.3) > 1 / 7 for _ in range(300))
    assert above <= 0.3 * 300


def test_it_tells_how_far_it_is_and_can_be_interrupted():
    seen = []
    sv.lower_bound(
        sv.runs(town(), 5), epsilon=2, adjacency=1, quick=True, progress=lambda done, of: seen.append((done, of))
    )
    assert seen == sorted(seen)
    assert all(0 <= done <= of for done, of in seen)

    def stop(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sv.lower_bound(sv.runs(town(), 6), epsilon=2, adjacency=1, quick=True, progress=stop)


def test_a_document_and_a_sentence():
    bound = sv.lower_bound(sv.runs(town(), 6), epsilon=3, adjacency=1, quick=True)
    document = bound.document()
    assert document["value"] == bound.value > 0
    assert document["confidence"] is None
    assert sum(tile["value"] for tile in document["tiles"]) == pytest.approx(bound.value)
    assert "proved" in str(bound)
    assert "uniform" in bound._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": 1, "adjacency": 0}, "adjacency"),
        ({"epsilon": 1, "adjacency": 1, "prior": "chain"}, "prior"),
        ({"epsilon": 1, "adjacency": 1, "prior": "other"}, "prior"),
        ({"epsilon": 1, "confidence": 1}, "confidence"),
        ({"epsilon": 1, "confidence": "often"}, "confidence"),
    ],
)
def test_refusals(arguments, message):
    star = sv.Automaton.from_transitions([("0", "a", "0"), ("0", "b", "0")], initial="0", accepting=["0"])
    for language in (sv.words("ab", 3), sv.runs(star, 3)):
        with pytest.raises(ParameterError, match=message):
            sv.lower_bound(language, **arguments)
    with pytest.raises(ParameterError, match="language"):
        sv.lower_bound(sv.words_up_to("ab", 3), epsilon=1)
