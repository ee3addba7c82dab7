"""Permute-and-flip has two samplers, a race for few words and a table for many: one law.

See docs/theory/losses.md.
Each fit fails a right sampler once in 10⁶ seeds (see conftest).
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2_contingency

import symveil as sv
from symveil.mechanisms.permute_and_flip_race import race
from symveil.numbers.conversions import ball
from symveil.randomness import NotPrivateSeededBits

CASES = [(3, 2, 1, 2), (5, 4, 2, 5), (20, 3, 1, 4)]
RACES = 2000


def by_race(mechanism: sv.PermuteAndFlip, seed: int) -> np.ndarray:
    source = NotPrivateSeededBits(seed)
    language = mechanism.language
    drawn = [race(language.count_balls, lambda: ball(mechanism.rate), source) for _ in range(RACES)]
    return np.bincount(drawn, minlength=language.length + 1)


def by_table(mechanism: sv.PermuteAndFlip, seed: int) -> np.ndarray:
    codes = np.zeros((50_000, mechanism.language.length), dtype=np.int32)
    found = mechanism.release_codes(codes, bits=NotPrivateSeededBits(seed))
    return np.bincount(np.count_nonzero(found, axis=1), minlength=codes.shape[1] + 1)


@pytest.mark.parametrize("calibration", ["tight", "classic"])
@pytest.mark.parametrize(("length", "size", "b", "epsilon"), CASES)
def test_both_samplers_follow_the_exact_law_and_agree(fits, length, size, b, epsilon, calibration):
    language = sv.words(range(size), length)
    mechanism = sv.PermuteAndFlip(language, epsilon=epsilon, adjacency=b, calibration=calibration)
    raced, tabled = by_race(mechanism, seed=1), by_table(mechanism, seed=2)
    law = mechanism.distances().probabilities
    assert fits(raced, law)
    assert fits(tabled, law)
    common = tabled > 1000  # cells large enough for the comparison of two samples
    assert chi2_contingency(np.stack([raced[common], tabled[common]])).pvalue >= 1e-6


@pytest.mark.parametrize("factor", [2, 0.5])
def test_a_race_at_another_rate_is_noticed(fits, factor):
    language = sv.words("abc", 5)
    mechanism = sv.PermuteAndFlip(language, epsilon=4, calibration="classic")
    other = sv.PermuteAndFlip(language, epsilon=4 * factor, calibration="classic")
    assert not fits(by_race(mechanism, seed=3), other.distances().probabilities)


def test_words_released_one_by_one_follow_the_law(fits):
    """`release` of a single word runs the race, then draws a uniform word at the winning distance."""
    language = sv.words("ab", 2)
    mechanism = sv.PermuteAndFlip(language, epsilon=2)
    source = NotPrivateSeededBits(9)
    found = [mechanism.release("ba", bits=source) for _ in range(RACES)]
    everything = ["".join(word) for word in language]
    chances = np.array([mechanism.probability("ba", word) for word in everything])
    assert fits(np.array([found.count(word) for word in everything]), chances)
    wrong = np.array([mechanism.probability("aa", word) for word in everything])
    assert not fits(np.array([found.count(word) for word in everything]), wrong)
