"""Uniform integers of any size: every answer has equally many byte strings."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from symveil.errors import ParameterError
from symveil.randomness import BitSource, NotPrivateSeededBits, RecordKey, uniform_integer, uniform_integers


class OutOfBitsError(Exception):
    """More bits were asked for than were fed."""


class Fed(BitSource):
    """Gives the bytes it was fed, and refuses to give more."""

    def __init__(self, *values: int) -> None:
        self.left = bytes(values)

    def fill(self, size):
        if size > len(self.left):
            raise OutOfBitsError
        taken, self.left = self.left[:size], self.left[size:]
        return np.frombuffer(taken, dtype=np.uint8)


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 7, 8, 100, 128, 129, 255, 256])
def test_every_answer_has_equally_many_bytes(bound):
    found = Counter()
    for byte in range(256):
        try:
            found[uniform_integer(bound, Fed(byte))] += 1
        except OutOfBitsError:
            continue  # rejected: another byte is asked for
    assert set(found) == set(range(bound))
    assert len(set(found.values())) == 1


@pytest.mark.parametrize("bound", [257, 300, 1000])
def test_every_answer_has_equally_many_pairs_of_bytes(bound):
    found = Counter()
    for first, second in itertools.product(range(256), repeat=2):
        try:
            found[uniform_integer(bound, Fed(first, second))] += 1
        except OutOfBitsError:
            continue
    assert set(found) == set(range(bound))
    assert len(set(found.values())) == 1


def test_a_rejected_draw_is_made_again():
    # three bits of a byte: 7 and 5 are no answers below 5, 4 is
    assert uniform_integer(5, Fed(7 << 5, 5 << 5, 4 << 5)) == 4


@pytest.mark.parametrize("bound", [0, -1, -(10**30)])
def test_nothing_lies_below_zero(bound):
    with pytest.raises(ParameterError, match="bound: expected a whole number, 1 or more"):
        uniform_integer(bound, Fed())  # and no bit is asked for


@pytest.mark.parametrize("bound", [10**30, 2**521, 2**521 + 1])
def test_large_bounds_are_filled(bound):
    source = NotPrivateSeededBits(4)
    drawn = [uniform_integer(bound, source) for _ in range(300)]
    assert all(0 <= value < bound for value in drawn)
    # all 300 in one half: once in 2^299
    assert min(drawn) < bound // 2 < max(drawn)


BOUNDS = [1, 2, 3, 7, 256, 257, 2**32 - 1, 2**32, 2**32 + 1, 3 * 2**40, 2**53 + 1, 2**63 - 1]


def test_many_at_once_are_those_that_each_record_draws():
    key = RecordKey(bytes(32), "release")
    bounds = np.repeat(np.array(BOUNDS), 40)
    names = key.names_of_rows(np.arange(len(bounds)))
    together, apart = key.streams(names), key.streams(names)
    found = uniform_integers(bounds, together)
    each = [uniform_integer(int(bound), apart.of_row(row)) for row, bound in enumerate(bounds)]
    assert found.tolist() == each
    assert together.words(len(bounds)).tolist() == apart.words(len(bounds)).tolist(), "bits left unused, or used twice"


def test_many_at_once_are_uniform_from_one_stream_too():
    found = uniform_integers(np.full(30_000, 6), NotPrivateSeededBits(5))
    assert np.abs(np.bincount(found, minlength=6) - 5000).max() < 5 * 5000**0.5
    assert len(uniform_integers(np.empty(0, dtype=np.int64), NotPrivateSeededBits(5))) == 0


def test_a_bound_of_nothing_is_refused_among_many():
    with pytest.raises(ParameterError, match="bounds"):
        uniform_integers(np.array([3, 0]), NotPrivateSeededBits(1))
