"""The test of the tests: the goodness-of-fit test alarms as often as it says and sees what it should see."""

from __future__ import annotations

import numpy as np
import pytest

from symveil.randomness import NotPrivateSeededBits, uniform_below

LAW = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
# tenths and twentieths of 0..19: an exact sampler of LAW that shares nothing with the mechanisms
FROM_TWENTY = np.repeat(np.arange(5), [8, 6, 3, 2, 1])


def draw(seed: int, size: int) -> np.ndarray:
    source = NotPrivateSeededBits(seed)
    return np.bincount(FROM_TWENTY[uniform_below(20, source.lanes(size), source)], minlength=5)


def test_false_alarms_come_at_the_rate_they_are_announced(fit_of):
    """At level 10 %, 400 seeds: 40 alarms, give or take five standard deviations of a binomial count."""
    alarms = sum(fit_of(draw(seed, 1000), LAW) < 0.1 for seed in range(400))
    assert abs(alarms - 40) < 5 * 6


def test_a_right_law_fits(fits):
    assert all(fits(draw(seed, 5000), LAW) for seed in range(20))


@pytest.mark.parametrize("shift", [0.02, -0.02])
def test_a_slightly_wrong_law_does_not(fits, shift):
    wrong = LAW + np.array([shift, -shift, 0, 0, 0])
    assert not fits(draw(1, 100_000), wrong)


def test_a_word_that_should_never_come_is_noticed(fits):
    impossible = np.array([0.4, 0.3, 0.15, 0.15, 0.0])
    assert not fits(draw(1, 5000), impossible)


def test_a_word_that_never_comes_is_noticed(fits):
    observed = draw(1, 5000)
    observed[4] = 0
    assert not fits(observed, LAW)
