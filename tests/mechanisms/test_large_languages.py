"""Languages with more words than there are atoms: no overflow, no underflow, nothing lost.

The underflow trap of the field: at a utility gap of 37 a float64 weight vanishes beside 1, a word
becomes impossible, and the true privacy loss infinite.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import symveil as sv

LARGE = [(37, 2), (14, 43), (100, 26), (1000, 2), (1000, 1000), (10_000, 1000)]


@pytest.mark.parametrize("epsilon", [0.1, 5, 50])
@pytest.mark.parametrize(("length", "size"), LARGE)
def test_every_word_keeps_a_finite_log_probability(variant, length, size, epsilon):
    mechanism = variant.make(sv.words(range(size), length), epsilon)
    law = mechanism.distances()
    assert len(law.distances) == length + 1
    assert np.isfinite(law.log_probabilities).all()
    assert math.fsum(law.probabilities) == pytest.approx(1, abs=1e-9)
    assert 0 <= law.expected_error <= length
    one, other = np.zeros(length, dtype=np.int32), np.ones(length, dtype=np.int32)
    halfway = np.where(np.arange(length) % 2, one, other)
    logs = mechanism.log_probabilities(one, np.stack([one, halfway, other]))
    assert np.isfinite(logs).all()
    if variant.private:
        # weights of a private law do not rise with the distance
        assert logs[0] >= logs[1] >= logs[2]
        assert mechanism.guarantee.epsilon <= epsilon


@pytest.mark.parametrize(("length", "size"), LARGE)
def test_no_distance_step_costs_more_than_the_budget(tight_variant, length, size):
    """Words one symbol apart: ln P changes by at most ε for every released word, also the farthest."""
    mechanism = tight_variant.make(sv.words(range(size), length), 50)
    word = np.zeros(length, dtype=np.int32)
    steps = {min(step, length) for step in (1, 2, 36, 37, length // 2, length)}
    near = sorted({step - back for step in steps for back in (0, 1)})
    released = np.array([[1] * d + [0] * (length - d) for d in near], dtype=np.int32)
    logs = dict(zip(near, mechanism.log_probabilities(word, released), strict=True))
    for step in steps:
        assert abs(logs[step] - logs[step - 1]) <= 50 + 1e-9


@pytest.mark.parametrize("epsilon", [0.1, 5, 50])
@pytest.mark.parametrize(("length", "size"), LARGE)
def test_the_exponential_law_in_closed_form(length, size, epsilon):
    """ln P(w'|w) = −ηℓ − n ln(1+(m−1)e^{−η}) (docs/theory/losses.md)."""
    mechanism = sv.Exponential(sv.words(range(size), length), epsilon=epsilon)
    log_total = length * math.log1p((size - 1) * math.exp(-epsilon))
    for distance in {0, 1, 37 % length, length // 2, length}:
        released = (1,) * distance + (0,) * (length - distance)
        expected = -epsilon * distance - log_total
        found = mechanism.log_probability((0,) * length, released)
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("calibration", ["tight", "classic"])
@pytest.mark.parametrize("epsilon", [0.1, 5, 50])
@pytest.mark.parametrize(("length", "size"), LARGE)
def test_permute_and_flip_keeps_theorem_2_on_large_languages(length, size, epsilon, calibration):
    mechanism = sv.PermuteAndFlip(sv.words(range(size), length), epsilon=epsilon, calibration=calibration)
    law = mechanism.distances()
    changed = (size - 1) * math.exp(-float(mechanism.rate))
    assert law.bounds.upper == pytest.approx(length * changed / (1 + changed), rel=1e-12)
    assert law.bounds.lower <= law.expected_error <= law.bounds.upper


def test_a_word_of_a_thousand_letters_is_released_whole(variant):
    language = sv.words(range(1000), 1000)
    word = tuple(range(1000))
    released = variant.make(language, 50, "all").release(word)
    assert released in language


def test_counts_are_exact_integers_of_any_size():
    language = sv.words(range(1000), 10_000)
    assert language.size == 1000**10_000
    assert language.count(5000) == math.comb(10_000, 5000) * 999**5000
    assert sum(sv.words(range(1000), 500).count(d) for d in range(501)) == 1000**500
