"""Discrete Laplace noise has exactly its law: whole numbers, rational scales, both signs alike."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import symveil as sv
from symveil.randomness import NotPrivateSeededBits, discrete_laplace

DRAWS = 40_000
FALSE_ALARM = 1e-6
"""The seeds are fixed: this is the chance that an honest sampler would have failed when the test was written."""


def chi_square(drawn: list[int], scale: float) -> float:
    """The p-value of Pearson's test against the law of this scale, in cells that expect at least 20 each."""
    ratio = math.exp(-1 / scale)
    edge = max(z for z in range(1, 1000) if len(drawn) * _chance(z, ratio) >= 20)
    observed = [sum(value == z for value in drawn) for z in range(-edge, edge + 1)]
    expected = [len(drawn) * _chance(z, ratio) for z in range(-edge, edge + 1)]
    beyond = len(drawn) * ratio ** (edge + 1) / (1 + ratio)
    observed += [sum(value < -edge for value in drawn), sum(value > edge for value in drawn)]
    expected += [beyond, beyond]
    return float(stats.chisquare(observed, expected, sum_check=False).pvalue)


def _chance(value: int, ratio: float) -> float:
    return (1 - ratio) / (1 + ratio) * ratio ** abs(value)


@pytest.mark.parametrize("scale", [Fraction(10, 3), Fraction(1, 2), Fraction(20)])
def test_the_law_and_no_other(scale: Fraction) -> None:
    source = NotPrivateSeededBits(11)
    drawn = [discrete_laplace(scale, source) for _ in range(DRAWS)]
    assert chi_square(drawn, float(scale)) > FALSE_ALARM
    for wrong in (0.9, 1.1):  # on both sides
        assert chi_square(drawn, wrong * float(scale)) < FALSE_ALARM


def test_a_scale_of_five_percent_off_is_seen() -> None:
    """The mean of |z| tells scales apart sooner than cells do: 40,000 draws, ten standard errors."""
    scale, source = Fraction(1 << 34, 3), NotPrivateSeededBits(3)
    sizes = [abs(discrete_laplace(scale, source)) / float(scale) for _ in range(DRAWS)]
    mean = math.fsum(sizes) / DRAWS
    assert abs(mean - 1) < 5 / math.sqrt(DRAWS)  # |z|/scale has mean and deviation 1; false alarm below 1e-6
    for wrong in (0.95, 1.05):
        assert abs(mean / wrong - 1) > 5 / math.sqrt(DRAWS)


@given(st.fractions(min_value=Fraction(1, 50), max_value=10**12), st.integers(0, 10**6))
@settings(max_examples=60)
def test_whole_numbers_from_any_scale(scale: Fraction, seed: int) -> None:
    assert type(discrete_laplace(scale, NotPrivateSeededBits(seed))) is int


@pytest.mark.parametrize("scale", [0, -1, Fraction(-1, 3)])
def test_a_scale_must_be_above_0(scale: Fraction) -> None:
    with pytest.raises(sv.SymveilError, match="expected a number above 0"):
        discrete_laplace(scale, NotPrivateSeededBits(1))
