"""Uniform integers: the same number of 32-bit words leads to every answer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symveil.randomness import BitSource, NotPrivateSeededBits, uniform_below


class Fed(BitSource):
    """Gives the 32-bit words it was fed and counts them."""

    def __init__(self, *lanes: int) -> None:
        self.lanes_left = list(lanes)

    def fill(self, size):
        count = size // 4
        assert len(self.lanes_left) >= count, "a word was rejected that should have been accepted"
        taken, self.lanes_left = self.lanes_left[:count], self.lanes_left[count:]
        return np.array(taken, dtype=np.uint32).view(np.uint8)


def answer(bound: int, lane: int) -> int | None:
    """What one word leads to; None if it is rejected (it is then replaced by the word fed here)."""
    replacement = Fed(2**32 - 1)
    found = int(uniform_below(bound, np.array([lane], dtype=np.uint32), replacement)[0])
    if replacement.lanes_left:
        return found
    assert found == bound - 1
    return None


def first_lane(bound: int, value: int) -> int:
    """The smallest word x with ⌊x·bound/2³²⌋ = value."""
    return -(-(value << 32) // bound)


BOUNDS = [3, 5, 6, 7, 10, 26, 43, 999, 1000, 65_537, 10**6 + 3, 3 * 2**29, 2**31 - 1, 2**31 - 19]


@pytest.mark.parametrize("bound", BOUNDS)
def test_every_answer_has_equally_many_words(bound):
    """⌊2³²/bound⌋ words for each answer: the words of one answer follow each other, and lane·bound mod 2³²
    grows by bound from one to the next, so that only the first of them can be rejected."""
    rng = np.random.default_rng(bound)
    values = {0, 1, bound // 2, bound - 2, bound - 1, *rng.integers(0, bound, 20).tolist()}
    for value in values:
        first, beyond = first_lane(bound, value), first_lane(bound, value + 1)
        tried = range(first, beyond) if beyond - first <= 8 else [first, first + 1, first + 2, beyond - 1]
        found = [answer(bound, lane) for lane in tried]
        assert found[1:] == [value] * (len(found) - 1)
        assert found[0] in (value, None)
        accepted = beyond - first - (found[0] is None)
        assert accepted == 2**32 // bound


@pytest.mark.parametrize("bound", [2**31 - 1, 3 * 2**29])
def test_a_bound_near_the_largest_rejects_about_as_often_as_it_must(bound):
    lanes = NotPrivateSeededBits(9).lanes(2000)
    rejected = sum(answer(bound, int(lane)) is None for lane in lanes)
    expected = 2000 * (2**32 % bound) / 2**32
    # six standard deviations of a binomial count: a false alarm once in 10⁹ seeds
    assert abs(rejected - expected) <= 6 * expected**0.5 + 1


@pytest.mark.parametrize("bound", [1, 2, 4, 256, 2**16, 2**30])
def test_a_power_of_two_rejects_nothing(bound):
    lanes = np.array([0, 1, 2**31, 2**32 - 1, 12_345], dtype=np.uint32)
    found = uniform_below(bound, lanes, Fed())
    assert found.tolist() == [int(lane) * bound >> 32 for lane in lanes]


@given(bound=st.integers(1, 2**31 - 1), lanes=st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=50))
@settings(max_examples=200)
def test_accepted_words_follow_the_definition_and_rejected_ones_are_replaced_in_order(bound, lanes):
    incomplete = 2**32 % bound
    rejected = [lane for lane in lanes if lane * bound % 2**32 < incomplete]
    fresh = [first_lane(bound, 0) + 1 if 2**32 // bound > 1 else 2**32 - 1 for _ in rejected]
    bits = Fed(*fresh)
    found = uniform_below(bound, np.array(lanes, dtype=np.uint32), bits).tolist()
    replacements = iter(fresh)
    chosen = [next(replacements) if lane * bound % 2**32 < incomplete else lane for lane in lanes]
    assert found == [lane * bound >> 32 for lane in chosen]
    assert bits.lanes_left == []
    assert all(0 <= value < bound for value in found)


def test_a_replacement_can_be_rejected_again():
    # 2³² mod 3 = 1, so the word 0 (0·3 = 0 < 1) is the only one rejected
    assert uniform_below(3, np.array([0, 7], dtype=np.uint32), Fed(0, 0, 2**32 - 1)).tolist() == [2, 0]


def test_shapes_are_kept_and_answers_are_int32():
    lanes = NotPrivateSeededBits(2).lanes(60).reshape(3, 4, 5)
    found = uniform_below(7, lanes, NotPrivateSeededBits(3))
    assert (found.shape, found.dtype) == ((3, 4, 5), np.int32)
    assert uniform_below(7, lanes[:0], Fed()).shape == (0, 4, 5)
    assert uniform_below(7, lanes[:, :, :0], Fed()).shape == (3, 4, 0)


def test_the_words_that_came_in_are_left_alone():
    lanes = np.array([0, 1, 2], dtype=np.uint32)
    uniform_below(3, lanes, Fed(5))
    assert lanes.tolist() == [0, 1, 2]
