"""Sums over all pairs of words, against writing out all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symveil.errors import TooLargeError
from symveil.languages.distance_sums import distance_counts, log_sums
from symveil.languages.limits import LIMITS


@st.composite
def two_sets(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Two sets of distinct words of one length, in any order."""
    length, symbols = draw(st.integers(0, 4)), draw(st.integers(1, 4))
    word = st.tuples(*[st.integers(0, symbols - 1)] * length)
    words = st.lists(word, unique=True, min_size=1, max_size=30)
    return tuple(np.array(each, dtype=np.int32).reshape(len(each), length) for each in (draw(words), draw(words)))


def pairwise_distances(words: np.ndarray, others: np.ndarray) -> np.ndarray:
    return (others[:, None, :] != words[None, :, :]).sum(axis=2)


few_pairs = st.sampled_from([0, LIMITS.now.listed_pairs])
"""Up to so many pairs are listed: with 0 none."""


@given(two_sets(), few_pairs)
def test_counts(sets, few):
    words, others = sets
    expected = [np.bincount(row, minlength=words.shape[1] + 1) for row in pairwise_distances(words, others)]
    with LIMITS.changed(listed_pairs=few):
        assert distance_counts(words, others).tolist() == np.array(expected).tolist()


@given(two_sets(), st.sampled_from([1e-9, 0.3, 1.0, 20.0]), st.integers(0, 99), few_pairs)
def test_sums_of_weights(sets, rate, seed, few):
    words, others = sets
    values = np.random.default_rng(seed).random((len(words), 2))
    values[0, 1] = 0
    with np.errstate(divide="ignore"), LIMITS.changed(listed_pairs=few):
        logs = log_sums(words, np.log(values), others, rate=rate)
    expected = np.exp(-rate * pairwise_distances(words, others)) @ values
    assert np.exp(logs) == pytest.approx(expected, rel=1e-12, abs=0)


@pytest.mark.parametrize("few", [0, 1])
def test_weights_far_below_the_smallest_float(set_limits, few):
    """e^−6400 is 0 as a float; its logarithm is not."""
    set_limits(LIMITS, listed_pairs=few)
    one, other = np.zeros((1, 100), dtype=np.int32), np.ones((1, 100), dtype=np.int32)
    assert log_sums(one, np.zeros((1, 1)), other, rate=64.0)[0, 0] == pytest.approx(-6400, rel=1e-12)


def test_too_large_a_table_is_refused_before_it_is_made(set_limits):
    words = np.array([[a, b] for a in range(4) for b in range(4)], dtype=np.int32)
    assert distance_counts(words, words)[0].tolist() == [1, 6, 9]
    set_limits(LIMITS, table_numbers=20, listed_pairs=0)
    with pytest.raises(TooLargeError, match="distances: expected at most 20 numbers in a table, found 32; use a short"):
        distance_counts(words, words)
