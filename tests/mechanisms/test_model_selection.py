""" "auto" on models: the least expected error over public words among what is at hand, and a reason."""

from __future__ import annotations

import numpy as np
import pytest

import symveil as sv
from symveil.mechanisms.cost_weighted import CostWeighted
from symveil.privacy.lower_bounds.prior import Prior
from symveil.privacy.public_words import public_words

SPARSE = sv.MarkovChain.from_transitions(
    [
        *(("a", "b", "1/2"), ("a", "c", "1/2"), ("b", "d", 1), ("c", "d", 1)),
        *(("d", "a", "1/2"), ("d", "e", "1/2"), ("e", "a", 1)),
    ]
)
SMALL = sv.runs(SPARSE, 5)
LARGE = sv.runs(SPARSE, 24, public_start=True)  # more words than are written out


def mean_error(mechanism: CostWeighted, words: np.ndarray) -> float:
    return float(mechanism.expected_errors(words)[0].mean())


@pytest.mark.parametrize(
    ("language", "b", "calibration"), [(SMALL, 1, "tight"), (SMALL, 2, "tight"), (LARGE, 2, "classic")]
)
@pytest.mark.parametrize("epsilon", [1, 4])
def test_auto_has_no_more_error_than_the_candidates(language, b: int, calibration: str, epsilon: int) -> None:
    chosen = sv.select_mechanism(language, epsilon=epsilon, adjacency=b)
    assert chosen.guarantee.epsilon <= epsilon
    assert str(chosen.chosen_because).startswith("expected error ")
    words = public_words(language, 24)
    symbols = language.alphabet.symbols
    laws = [chosen.distances(tuple(symbols[code] for code in word)) for word in words]
    own = np.mean([law.expected_error for law in laws])
    for kind, more in [
        (sv.Exponential, {}),
        (sv.Exponential, {"cost": "swap"}),
        (sv.Exponential, {"cost": "swap", "balanced": True}),
        (sv.Staircase, {"cost": "swap"}),
        (sv.Staircase, {}),
    ]:
        tight = calibration if more or kind is sv.Staircase else "tight"
        other = kind(language, epsilon=epsilon, adjacency=b, calibration=tight, **more)
        # a plainer one is kept unless another is clearly better, at each of a few comparisons
        assert own <= mean_error(other, words) / 0.97**2


def test_what_is_asked_for_is_kept_to() -> None:
    swap = sv.select_mechanism(SMALL, epsilon=2, adjacency=2, cost="swap", cap=3)
    assert isinstance(swap, CostWeighted)
    assert (swap.cost, swap.cap) == ("swap", 3)
    stepped = sv.select_mechanism(SMALL, epsilon=2, adjacency=2, step=2)
    assert (stepped.name, stepped.first_step) == ("staircase", 2)
    balanced = sv.select_mechanism(SMALL, epsilon=2, balanced=True)
    assert balanced.balanced
    costs = sv.CostTable.from_rows([("a", "b", 2), ("b", "c", 1), ("c", "d", 3), ("d", "e", 1)])
    given = sv.select_mechanism(SMALL, epsilon=2, costs=costs)
    assert given.costs == costs
    assert given.distances("abdab").expected_cost > 0


def test_the_choice_reads_public_things_only_and_is_always_the_same() -> None:
    first, again = (sv.select_mechanism(SMALL, epsilon=3, adjacency=2) for _ in range(2))
    assert (first.name, first.chosen_because) == (again.name, again.chosen_because)
    assert first.parameters_document() == again.parameters_document()


def test_uniform_words_are_uniform() -> None:
    words = public_words(sv.runs(SPARSE, 5, public_start=True), 20_000)
    _, counts = np.unique(words, axis=0, return_counts=True)
    size = SMALL.size
    assert len(counts) == size
    # Pearson's statistic, whose mean is size − 1: a false alarm once in a million at six times its deviation or more
    statistic = float(((counts - 20_000 / size) ** 2 / (20_000 / size)).sum())
    assert statistic < size - 1 + 8 * (2 * (size - 1)) ** 0.5
    skewed = counts * np.linspace(0.8, 1.2, size)
    assert float(((skewed - 20_000 / size) ** 2 / (20_000 / size)).sum()) > size - 1 + 8 * (2 * (size - 1)) ** 0.5


def test_words_of_the_chain_are_as_likely_as_the_chain_has_them() -> None:
    language = sv.runs(SPARSE, 5)
    words, counts = np.unique(public_words(language, 20_000, prior="chain"), axis=0, return_counts=True)
    expected = 20_000 * Prior(language, "chain").word_probabilities(words)
    assert expected.sum() > 19_900
    assert float(((counts - expected) ** 2 / expected).sum()) < len(words) - 1 + 8 * (2 * (len(words) - 1)) ** 0.5
