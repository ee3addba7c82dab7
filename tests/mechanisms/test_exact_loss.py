"""The claimed loss against the worst pair of adjacent words, found by trying all of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from symveil.languages.free import words
from symveil.mechanisms.distance_weighted import Jones2019Printed

# Beyond this many words the true word runs over a few words only, its neighbours over all.
EVERY_PAIR_UP_TO = 81


def worst_loss(written, mechanism, b: int) -> float:
    """max ln P(w'|w)/P(w'|v) over adjacent w, v and all w', both ways round."""
    every_word = range(len(written.words))
    few = every_word if len(written.words) <= EVERY_PAIR_UP_TO else written.some_words(5)
    near = {word: np.flatnonzero(np.array(written.distances_from(written.words[word])) <= b) for word in few}
    asked = set().union(*near.values())
    logs = {word: mechanism.log_probabilities(written.rows[word], written.rows) for word in asked}
    return max(float(np.abs(logs[word] - np.array([logs[other] for other in near[word]])).max()) for word in few)


@pytest.mark.parametrize(("length", "size"), [(n, m) for n in range(6) for m in range(1, 5)])
def test_the_claimed_loss_is_the_worst_loss(write_out, variant, length, size):
    written = write_out(length, size)
    for epsilon in (0.1, 1, 5):
        for b in (1, 2, 3):
            mechanism = variant.make(written.language, epsilon, b)
            claimed = mechanism.guarantee
            assert claimed.how == "exact"
            assert claimed.epsilon == pytest.approx(worst_loss(written, mechanism, b), rel=0, abs=1e-9)
            if variant.private:
                assert claimed.epsilon <= epsilon
            if variant.tight and length >= 1 and size >= 2:
                assert claimed.epsilon == pytest.approx(epsilon, rel=0, abs=1e-9)


def test_the_whole_word_as_adjacency(write_out, private_variant):
    written = write_out(4, 3)
    mechanism = private_variant.make(written.language, 2, "all")
    assert mechanism.adjacency == 4
    loss = worst_loss(written, mechanism, b=4)
    assert loss <= 2 + 1e-9
    assert mechanism.guarantee.epsilon == pytest.approx(loss, rel=0, abs=1e-9)


def test_a_classic_calibration_keeps_at_least_half_of_the_budget(write_out, private_variant):
    """Between bη and 2bη (docs/theory/losses.md), where b does not exceed the length."""
    claimed = private_variant.make(write_out(5, 3).language, 3, 2).guarantee.epsilon
    assert 1.5 - 1e-12 <= claimed <= 3


@pytest.mark.parametrize(("length", "size"), [(n, m) for n in range(1, 6) for m in range(2, 5)])
def test_the_printed_mechanism_loses_the_log_of_n_times_m_minus_1(write_out, length, size):
    """Mathematics §12 E1: nominally ε = 0, really ln(n(m−1)) for b = 1."""
    written = write_out(length, size)
    mechanism = Jones2019Printed(written.language, epsilon=0)
    expected = math.log(length * (size - 1))
    assert worst_loss(written, mechanism, b=1) == pytest.approx(expected, rel=0, abs=1e-12)
    assert mechanism.guarantee.epsilon == pytest.approx(expected, rel=0, abs=1e-12)


def test_the_printed_mechanism_breaks_its_promise_on_long_words():
    mechanism = Jones2019Printed(words("abcdefghijklmnop", 32), epsilon=1)
    assert mechanism.guarantee.epsilon > 5
