"""Drawing near given words: exact distances, uniform subsets, every outcome counted where that is possible."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symveil.languages.free import at_distance, resample_symbols, uniform_subsets
from symveil.languages.limits import LIMITS
from symveil.numbers.conversions import ball
from symveil.randomness import BitSource, Boundaries, NotPrivateSeededBits


class OutOfBitsError(Exception):
    """More bits were asked for than were fed."""


class Fed(BitSource):
    """Gives the 32-bit words it was fed, and refuses to give more."""

    def __init__(self, lanes) -> None:
        self.left = list(lanes)

    def fill(self, size):
        count = size // 4
        if count > len(self.left):
            raise OutOfBitsError
        taken, self.left = self.left[:count], self.left[count:]
        return np.array(taken, dtype=np.uint32).view(np.uint8)


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_all_orders_of_distinct_keys_give_every_subset_equally_often(length):
    for size in range(length + 1):
        found = Counter()
        for keys in itertools.permutations(range(length)):
            mask = uniform_subsets(length, np.array([size]), Fed(keys))
            assert mask.shape == (1, length)
            found[tuple(np.flatnonzero(mask[0]))] += 1
        assert set(found) == set(itertools.combinations(range(length), size))
        assert len(set(found.values())) == 1


@pytest.mark.parametrize("size", [1, 2, 3])
def test_all_keys_ties_included_give_every_subset_equally_often(size):
    """Every key from 0..3 for four positions; a tie at the edge is drawn again, with keys that have none.

    The redrawn keys run over all orders, so that each tie counts once for every order.
    """
    found: Counter[tuple[int, ...]] = Counter()
    orders = list(itertools.permutations(range(4)))
    for keys in itertools.product(range(4), repeat=4):
        in_order = sorted(keys)
        tied = in_order[size - 1] == in_order[size]
        for order in orders:
            bits = Fed([*keys, *order] if tied else keys)
            mask = uniform_subsets(4, np.array([size]), bits)[0]
            assert bits.left == []
            assert mask.sum() == size
            smallest = order if tied else keys
            assert max(np.array(smallest)[mask]) < min(np.array(smallest)[~mask])
            found[tuple(np.flatnonzero(mask))] += 1
    assert len(found) == math.comb(4, size)
    assert len(set(found.values())) == 1


def test_only_the_tied_rows_are_drawn_again():
    keys = [[5, 5, 9], [1, 2, 3], [7, 7, 7]]
    again = [[3, 1, 2], [0, 0, 0]]
    third = [[9, 4, 1]]
    bits = Fed(np.concatenate([keys, again, third]).ravel())
    mask = uniform_subsets(3, np.array([1, 1, 2]), bits)
    assert bits.left == []
    assert mask.tolist() == [[False, True, False], [True, False, False], [False, True, True]]


def test_ties_that_decide_nothing_are_not_drawn_again():
    """No tie matters inside the winners or the losers, nor where all or none are chosen."""
    keys = [[1, 1, 8], [1, 8, 8], [4, 4, 4], [4, 4, 4]]
    mask = uniform_subsets(3, np.array([2, 1, 3, 0]), Fed(np.ravel(keys)))
    assert mask.tolist() == [[True, True, False], [True, False, False], [True] * 3, [False] * 3]


def lane_of(length: int, position: int) -> int:
    """A 32-bit word that `uniform_below(length, …)` turns into `position`."""
    return ((2 * position + 1) << 31) // length


@pytest.mark.parametrize(("length", "size"), [(2, 1), (3, 1), (3, 2), (4, 2), (4, 3), (5, 2)])
def test_all_throws_give_every_subset_equally_often(set_limits, length, size):
    """Long words: throw at positions until enough are hit. Every sequence of throws of up to three rounds."""
    set_limits(LIMITS, sorted_length=0)
    wanted = min(size, length - size)
    found: dict[int, Counter[tuple[int, ...]]] = {}
    for throws in itertools.product(range(length), repeat=wanted + 2):
        bits = Fed(lane_of(length, position) for position in throws)
        try:
            mask = uniform_subsets(length, np.array([size]), bits)[0]
        except OutOfBitsError:
            continue  # these throws hit the same position too often: a fourth round would be needed
        assert mask.sum() == size
        used = wanted + 2 - len(bits.left)
        hit = set(throws[:used])
        assert set(np.flatnonzero(mask)) == (hit if wanted == size else set(range(length)) - hit)
        found.setdefault(used, Counter())[tuple(np.flatnonzero(mask))] += 1
    assert len(found) == (3 if wanted > 1 else 1)
    for subsets in found.values():
        assert len(subsets) == math.comb(length, size)
        assert len(set(subsets.values())) == 1


@pytest.mark.parametrize("length", [512, 513, 2000])
def test_long_words_get_subsets_of_exactly_the_size_asked_for(length):
    sizes = np.array([0, 1, 2, length // 2, length // 2 + 1, length - 1, length])
    mask = uniform_subsets(length, sizes, NotPrivateSeededBits(length))
    assert mask.sum(axis=1).tolist() == sizes.tolist()


@given(
    sizes=st.lists(st.integers(0, 12), min_size=1, max_size=30),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=60)
def test_subsets_have_exactly_the_size_asked_for(sizes, seed):
    mask = uniform_subsets(12, np.array(sizes), NotPrivateSeededBits(seed))
    assert mask.sum(axis=1).tolist() == sizes


@given(
    alphabet_size=st.integers(2, 9),
    length=st.integers(1, 20),
    rows=st.integers(1, 30),
    seed=st.integers(0, 10**6),
    data=st.data(),
)
@settings(max_examples=60)
def test_a_word_at_a_distance_lies_at_that_distance(alphabet_size, length, rows, seed, data):
    distances = np.array(data.draw(st.lists(st.integers(0, length), min_size=rows, max_size=rows)))
    codes = (NotPrivateSeededBits(seed + 1).lanes(rows * length) % alphabet_size).astype(np.int32).reshape(rows, length)
    released = at_distance(codes, distances, alphabet_size, NotPrivateSeededBits(seed))
    assert released.dtype == np.int32
    assert ((released >= 0) & (released < alphabet_size)).all()
    assert np.count_nonzero(released != codes, axis=1).tolist() == distances.tolist()


def test_every_other_symbol_replaces_a_symbol_equally_often():
    """One position, four symbols: the words 1/6, 3/6, 5/6 of the lane range give the three other symbols."""
    for code in range(4):
        found = set()
        for third in range(3):
            lane = (2 * third + 1) * 2**32 // 6
            codes = np.array([[code]], dtype=np.int32)
            found.add(int(at_distance(codes, np.array([1]), 4, Fed([0, lane]))[0, 0]))
        assert found == set(range(4)) - {code}


def test_pieces_of_rows_are_drawn_alike(set_limits):
    """Rows are treated in pieces; the pieces must neither overlap nor leave a row out."""
    set_limits(LIMITS, free_symbols_at_once=10)
    codes = np.zeros((101, 3), dtype=np.int32)
    distances = np.arange(101) % 4
    released = at_distance(codes, distances, 5, NotPrivateSeededBits(3))
    assert np.count_nonzero(released, axis=1).tolist() == distances.tolist()
    always = Boundaries(lambda: [ball(Fraction(1))], width=32)
    drawn = resample_symbols(codes, 5, always, NotPrivateSeededBits(3))
    # 303 uniform symbols out of five: each occurs, and no row is a copy of the one before throughout
    assert set(np.unique(drawn)) == set(range(5))
    assert all((drawn[start : start + 3] != 0).any() for start in range(0, 99, 3))


def test_words_longer_than_a_piece_are_drawn_whole():
    length = LIMITS.now.free_symbols_at_once + 7
    codes = np.zeros((2, length), dtype=np.int32)
    released = at_distance(codes, np.array([length, 5]), 3, NotPrivateSeededBits(1))
    assert np.count_nonzero(released, axis=1).tolist() == [length, 5]


@pytest.mark.parametrize(
    ("lane", "extension", "resampled"),
    [
        (0x55555554, [], True),
        (0x55555556, [], False),
        (0x55555555, [0x55555555, 0x55555554], True),
        (0x55555555, [0x55555555, 0x55555556], False),
        (0x55555555, [0, 0], True),
        (0x55555555, [2**32 - 1, 2**32 - 1], False),
    ],
)
def test_a_symbol_on_the_edge_of_resampling_is_decided_by_more_bits(lane, extension, resampled):
    """Chance 1/3 = 0x0.5555…: the lane 0x55555555 alone does not tell (docs/theory/hidden-lengths.md)."""
    chance = Boundaries(lambda: [ball(Fraction(1, 3))], width=32)
    big_endian = [int.from_bytes(half.to_bytes(4, "big"), "little") for half in extension]
    bits = Fed([lane, 2**32 - 1, *big_endian])
    found = resample_symbols(np.array([[0]], dtype=np.int32), 4, chance, bits)
    assert bits.left == []
    assert found.tolist() == [[3 if resampled else 0]]


@pytest.mark.parametrize(("chance", "expected"), [(Fraction(0), False), (Fraction(1), True)])
def test_chances_0_and_1_are_certain(chance, expected):
    boundaries = Boundaries(lambda: [ball(chance)], width=32)
    codes = np.zeros((1, 4), dtype=np.int32)
    lanes = [half for deciding in (0, 1, 2**31, 2**32 - 1) for half in (deciding, 2**32 - 1)]
    found = resample_symbols(codes, 4, boundaries, Fed(lanes))
    assert found.tolist() == [[3 if expected else 0] * 4]


def test_a_resampled_symbol_may_be_the_old_one():
    always = Boundaries(lambda: [ball(Fraction(1))], width=32)
    codes = np.full((1, 3), 2, dtype=np.int32)
    lanes = [5, 1, 5, 2**31, 5, 2**32 - 1]
    assert resample_symbols(codes, 3, always, Fed(lanes)).tolist() == [[0, 1, 2]]
