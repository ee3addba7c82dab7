"""No law that depends on the distance alone has a smaller expected error than the staircase.

See docs/theory/lower-bounds.md.
The oracle is the linear programme itself: minimise Σ N(ℓ)ℓ r(ℓ) subject to Σ N(ℓ) r(ℓ) = 1 and
r(d) ≤ e^ε r(d') for |d−d'| ≤ b. It is solved in the chances q(ℓ) = N(ℓ) r(ℓ), each row scaled
to largest coefficient 1, and HiGHS is right to about 1e-7.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import symveil as sv


def least_expected_error(length: int, size: int, b: int, epsilon: float) -> float:
    counts = [math.comb(length, d) * (size - 1) ** d for d in range(length + 1)]
    rows = []
    for d in range(length + 1):
        for other in range(max(0, d - b), min(length, d + b) + 1):
            if other != d:
                row = np.zeros(length + 1)
                row[d], row[other] = 1 / counts[d], -math.exp(epsilon) / counts[other]
                rows.append(row / np.abs(row).max())
    solved = linprog(
        np.arange(length + 1),
        A_ub=np.array(rows),
        b_ub=np.zeros(len(rows)),
        A_eq=np.ones((1, length + 1)),
        b_eq=[1],
        method="highs",
    )
    assert solved.success
    return float(solved.fun)


@pytest.mark.parametrize("length", [1, 2, 4, 7])
@pytest.mark.parametrize("size", [2, 3, 5])
def test_the_staircase_solves_the_linear_programme(length, size):
    for b in range(1, length + 2):
        for epsilon in (0.2, 1, 2.5, 6):
            staircase = sv.Staircase(sv.words(range(size), length), epsilon=epsilon, adjacency=b)
            least = least_expected_error(length, size, b, epsilon)
            assert staircase.distances().expected_error == pytest.approx(least, rel=0, abs=1e-6)


@given(
    length=st.integers(1, 9),
    size=st.integers(2, 8),
    b=st.integers(1, 9),
    epsilon=st.fractions(min_value="1/20", max_value=7, max_denominator=40),
)
@settings(max_examples=60)
def test_the_staircase_solves_random_linear_programmes(length, size, b, epsilon):
    staircase = sv.Staircase(sv.words(range(size), length), epsilon=epsilon, adjacency=b)
    least = least_expected_error(length, size, b, float(epsilon))
    assert staircase.distances().expected_error == pytest.approx(least, rel=0, abs=1e-6)


@given(length=st.integers(1, 12), size=st.integers(2, 30), b=st.integers(1, 14), epsilon=st.floats(0.01, 30))
@settings(max_examples=60)
def test_the_first_step_is_the_best_of_all_first_steps(length, size, b, epsilon):
    staircase = sv.Staircase(sv.words(range(size), length), epsilon=epsilon, adjacency=b)
    assert 1 <= staircase.first_step <= b
    errors = []
    for t in range(1, b + 1):
        mass = [
            math.comb(length, d) * (size - 1) ** d * math.exp(-epsilon * math.ceil(max(d - t + 1, 0) / b))
            for d in range(length + 1)
        ]
        errors.append(math.fsum(d * value for d, value in enumerate(mass)) / math.fsum(mass))
    assert staircase.distances().expected_error == pytest.approx(min(errors), rel=1e-11)


@given(length=st.integers(1, 40), size=st.integers(2, 30), epsilon=st.floats(0.01, 30))
@settings(max_examples=40)
def test_for_adjacency_1_the_staircase_is_the_tight_exponential(length, size, epsilon):
    language = sv.words(range(size), length)
    np.testing.assert_allclose(
        sv.Staircase(language, epsilon=epsilon).distances().log_probabilities,
        sv.Exponential(language, epsilon=epsilon).distances().log_probabilities,
        rtol=1e-13,
        atol=1e-13,
    )


def least_worst_error_of_any_mechanism(length: int, size: int, b: int, epsilon: float) -> float:
    """Over all stochastic matrices P(w'|w) that are ε-private, the least of the largest expected distance."""
    words = list(itertools.product(range(size), repeat=length))
    count = len(words)
    distance = np.array([[sum(x != y for x, y in zip(w, v, strict=True)) for v in words] for w in words])
    unknowns = count * count + 1  # P(w'|w) at w·count + w', and the worst error
    private = []
    for w, v in zip(*np.nonzero((distance > 0) & (distance <= b)), strict=True):
        for released in range(count):
            row = np.zeros(unknowns)
            row[w * count + released], row[v * count + released] = math.exp(-epsilon), -1
            private.append(row)
    errors, sums = np.zeros((count, unknowns)), np.zeros((count, unknowns))
    for w in range(count):
        errors[w, w * count : (w + 1) * count], errors[w, -1] = distance[w], -1
        sums[w, w * count : (w + 1) * count] = 1
    goal = np.zeros(unknowns)
    goal[-1] = 1
    rows = np.vstack([*private, errors])
    solved = linprog(goal, A_ub=rows, b_ub=np.zeros(len(rows)), A_eq=sums, b_eq=np.ones(count), method="highs")
    assert solved.success
    return float(solved.fun)


@pytest.mark.parametrize(("length", "size", "b"), [(1, 3, 1), (2, 2, 1), (2, 2, 2), (2, 3, 1), (2, 3, 2), (3, 2, 2)])
def test_no_mechanism_of_any_form_does_better(length, size, b):
    """docs/theory/lower-bounds.md, Theorem 3.1: the programme over all mechanisms, not only over distances."""
    for epsilon in (0.5, 2):
        staircase = sv.Staircase(sv.words(range(size), length), epsilon=epsilon, adjacency=b)
        least = least_worst_error_of_any_mechanism(length, size, b, epsilon)
        assert staircase.distances().expected_error == pytest.approx(least, rel=0, abs=1e-6)
