"""Optimal transport and log similarity: against all matchings, a dense linear programme, and the published mistake."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein
from scipy.optimize import linprog

import symveil as sv
from symveil.comparison.distributions import CodedWords
from symveil.comparison.limits import LIMITS
from symveil.comparison.transport import (
    _assigned,
    _augmented,
    cheapest_transport,
    log_similarity,
)
from symveil.languages.edit_distance import edit_distances_between

from . import plain

words = st.lists(st.integers(0, 2), max_size=4).map(tuple)


def coded(file) -> CodedWords:
    return CodedWords.from_words(file, symbols=3)


@settings(max_examples=30, deadline=None)
@given(st.lists(words, min_size=1, max_size=3), st.lists(words, min_size=1, max_size=3))
def test_log_similarity_is_the_best_of_all_matchings(true, private) -> None:
    expected = 1 - float(plain.earth_movers_distance(true, private))
    assert log_similarity(coded(true), coded(private)).value == pytest.approx(expected, abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.lists(words, min_size=1, max_size=8), st.lists(words, min_size=1, max_size=8))
def test_similarity_is_symmetric_and_1_for_the_same_law(one, other) -> None:
    there, back = log_similarity(coded(one), coded(other)).value, log_similarity(coded(other), coded(one)).value
    assert there == pytest.approx(back, abs=1e-12) and 0 <= there <= 1
    assert log_similarity(coded(one), coded([*one, *one][::-1])).value == 1


def _dense(costs, supply, demand) -> float:
    """The programme as the definition has it, every pair a variable."""
    n, m = costs.shape
    rows, columns = np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))
    margins = np.concatenate([supply / supply.sum(), demand / demand.sum()])
    return linprog(costs.ravel(), A_eq=np.vstack([rows, columns]), b_eq=margins, method="highs").fun


@pytest.mark.parametrize("seed", range(4))
def test_both_solvers_find_the_least_cost(seed: int) -> None:
    generator = np.random.default_rng(seed)
    n, m = generator.integers(1, 30, size=2)
    costs = generator.integers(0, 12, size=(n, m)) / generator.integers(1, 13, size=(n, m))
    supply, demand = generator.integers(1, 5, size=n), generator.integers(1, 5, size=m)
    found = cheapest_transport(costs, supply, demand)
    assert found.cost == pytest.approx(_dense(costs, supply, demand), abs=1e-9)
    total = int(supply.sum() * demand.sum())
    scaled = supply * demand.sum(), demand * supply.sum()
    augmented, assigned = _augmented(costs, *scaled, total), _assigned(costs, *scaled, total)
    assert augmented.cost == pytest.approx(assigned.cost, abs=1e-12)
    assert augmented.gap <= 1e-12


def test_large_counts() -> None:
    """Sums of half a million have a common multiple of 10¹¹ or so."""
    generator = np.random.default_rng(7)
    costs = generator.integers(0, 30, size=(40, 50)) / 30
    supply, demand = generator.integers(1, 30_000, size=40), generator.integers(1, 30_000, size=50)
    found = cheapest_transport(costs, supply, demand)
    assert found.cost == pytest.approx(_dense(costs, supply, demand), abs=1e-9)
    assert found.gap <= 1e-12
    with pytest.raises(sv.SymveilError, match="common multiple below 2"):
        cheapest_transport([[0.0, 1.0], [1.0, 0.0]], [2**40, 1], [2**40 - 7, 2])


def test_what_stays_in_place_need_not_be_cheapest() -> None:
    """The normalised distance is no metric: ab → ba costs 1, by way of aba two thirds."""
    ab, aba, ba = (0, 1), (0, 1, 0), (1, 0)
    assert plain.normalised(ab, ba) > plain.normalised(ab, aba) + plain.normalised(aba, ba)
    assert log_similarity(coded([ab, aba]), coded([aba, ba])).value == pytest.approx(2 / 3, abs=1e-12)


def pyemd_of_unlike_indices(costs, supply, demand) -> float:
    """What pyemd makes of such a matrix: first, row i to column i for nothing; then the rest at least cost."""
    n = max(len(supply), len(demand))
    padded = np.zeros((n, n))
    padded[: len(supply), : len(demand)] = costs
    one, other = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    one[: len(supply)], other[: len(demand)] = supply * demand.sum(), demand * supply.sum()
    kept = np.minimum(one, other)
    rows, columns = np.flatnonzero(one - kept), np.flatnonzero(other - kept)
    if not len(rows):
        return 0.0
    rest = cheapest_transport(padded[np.ix_(rows, columns)], (one - kept)[rows], (other - kept)[columns]).cost
    return rest * (one - kept).sum() / one.sum()


def test_the_published_mistake_flatters() -> None:
    """The example of docs/statistics.md: logs that have nothing in common are called the same."""
    true, private = [(0, 0), (1, 1)], [(2,), (2, 2, 2)]
    (variants, counts), (others, numbers) = coded(true).variants(), coded(private).variants()
    costs = np.array([[float(plain.normalised(tuple(a), tuple(b))) for b in others] for a in variants])
    assert 1 - pyemd_of_unlike_indices(costs, counts, numbers) == 1
    assert log_similarity(coded(true), coded(private)).value == 0


def test_too_many_pairs_are_left_out(set_limits) -> None:
    set_limits(LIMITS, variant_pairs=3)
    found = log_similarity(coded([(0,), (1,)]), coded([(2,), (1,)]))
    assert (found.value, found.variants_true, found.variants_private) == (None, 2, 2)


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_edit_distances_of_all_lengths(data) -> None:
    lengths = st.sampled_from([0, 1, 2, 31, 63, 64, 65, 127, 128, 129, 200])
    seed = data.draw(st.integers(0, 2**32 - 1))
    generator = np.random.default_rng(seed)
    lists = [
        [
            generator.integers(0, 3, size=data.draw(lengths)).astype(np.int32)
            for _ in range(data.draw(st.integers(1, 4)))
        ]
        for _ in range(2)
    ]
    found = edit_distances_between(*lists)
    assert found.tolist() == [[Levenshtein.distance(a.tolist(), b.tolist()) for b in lists[1]] for a in lists[0]]


def test_edit_distances_against_the_textbook() -> None:
    every = [word for n in range(4) for word in np.ndindex(*(2,) * n)]
    found = edit_distances_between(*[[np.array(word, dtype=np.int32) for word in every]] * 2)
    assert found.tolist() == [[plain.edit_distance(a, b) for b in every] for a in every]
    assert math.isqrt(found.size) == len(every) == 15
