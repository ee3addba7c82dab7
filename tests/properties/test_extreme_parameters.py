"""Budgets and offsets at the ends of their range: every answer finite, sound, and found in time."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

import symveil as sv
from symveil.mechanisms.distance_weighted import Jones2019Printed

PATIENCE = 5


def in_time(code: str) -> str:
    """The output of a program, or a failure after PATIENCE seconds: a search that never ends must not hang us."""
    program = f"import symveil as sv\n{code}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("epsilon", ["1e-20", "1e-36", "1e-60", "1e-300"])
def test_a_tiny_budget_is_calibrated_in_time(epsilon):
    said = in_time(f"print(sv.PermuteAndFlip(sv.words('ab', 3), epsilon='{epsilon}').guarantee.epsilon)")
    assert 0 < float(said) <= float(epsilon)


@pytest.mark.parametrize("epsilon", ["1e-9", "1e-20", "1e-30", "1e-40", "1e-300"])
@pytest.mark.parametrize("calibration", ["tight", "classic"])
@pytest.mark.parametrize("kind", [sv.Exponential, sv.Staircase])
def test_a_tiny_budget_is_kept(kind, calibration, epsilon):
    claimed = kind(sv.words("ab", 3), epsilon=epsilon, adjacency=2, calibration=calibration).guarantee.epsilon
    assert 0 < claimed <= float(epsilon)


@pytest.mark.parametrize("epsilon", ["1e-9", "1e-20", "1e-30", "1e-40", "1e-300"])
def test_a_tiny_budget_is_kept_by_classic_permute_and_flip(epsilon):
    """The loss lies between ε/2 and ε, however small ε is (docs/theory/losses.md)."""
    mechanism = sv.PermuteAndFlip(sv.words("ab", 3), epsilon=epsilon, calibration="classic")
    assert float(epsilon) / 2 <= mechanism.guarantee.epsilon <= float(epsilon)


@pytest.mark.parametrize("epsilon", [500, 10**4, 10**6, 10**9])
def test_a_huge_budget_keeps_every_word_possible(variant, epsilon):
    mechanism = variant.make(sv.words("abc", 5), epsilon, 2)
    law = mechanism.distances()
    assert np.isfinite(law.log_probabilities).all()
    assert math.fsum(law.probabilities) == pytest.approx(1, abs=1e-12)
    assert np.isfinite(mechanism.log_probability("aaaaa", "bbbbb"))
    if variant.private:
        assert mechanism.guarantee.epsilon <= epsilon
        assert mechanism.release("abcab") == "abcab"  # another word is less likely than e^{−100}


@pytest.mark.parametrize("offset", ["1e-300", "1e-20", "1e20", "1e40", "1e300"])
def test_extreme_offsets_of_the_inverse_utility(offset):
    for calibration in ("tight", "classic"):
        mechanism = sv.Exponential(
            sv.words("abc", 4), epsilon=2, adjacency=2, calibration=calibration, utility="inverse", offset=offset
        )
        assert np.isfinite(mechanism.distances().log_probabilities).all()
        assert mechanism.guarantee.epsilon <= 2
        assert mechanism.release("abca") in mechanism.language


@pytest.mark.parametrize("offset", ["1e-300", "1e-20", "1e20", "1e40", "1e300"])
def test_extreme_offsets_of_the_printed_mechanism(offset):
    """As a → ∞, ρ(ℓ)/ρ(0) → e^{−εℓ/2b}: nothing overflows that does not cancel."""
    mechanism = Jones2019Printed(sv.words("abc", 4), epsilon=2, adjacency=2, offset=offset)
    law = mechanism.distances()
    assert np.isfinite(law.log_probabilities).all()
    a = Fraction(offset)
    expected = [float(-a * (2 + a) * 2 * d / (4 * a * (d + a))) for d in range(5)]
    np.testing.assert_allclose(law.log_probabilities - law.log_probabilities[0], expected, rtol=1e-9, atol=1e-12)


def test_a_large_offset_turns_the_inverse_utility_into_the_distance():
    """1/(d+a) is nearly 1/a − d/a² for a large a."""
    language = sv.words("abc", 6)
    inverse = sv.Exponential(language, epsilon=3, adjacency=2, utility="inverse", offset=10**12)
    np.testing.assert_allclose(
        inverse.distances().log_probabilities,
        sv.Exponential(language, epsilon=3, adjacency=2).distances().log_probabilities,
        rtol=0,
        atol=1e-9,
    )
