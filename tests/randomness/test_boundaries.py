"""Exact choices: the piece taken is the piece in which the whole number lies, however many bits that takes."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from symveil.numbers.conversions import ball
from symveil.randomness import BitSource, Boundaries, NotPrivateSeededBits
from symveil.randomness.limits import LIMITS as BITS


class Fed(BitSource):
    """Gives the 64-bit words it was fed, one at a time, and refuses to give more."""

    def __init__(self, *words: int) -> None:
        self._words = iter(words)
        self.given = 0

    def fill(self, size):
        assert size == 8, "an undecided choice asks for 64 bits at a time"
        self.given += 1
        word = next(self._words, None)
        assert word is not None, "more bits were asked for than the decision needs"
        return np.frombuffer(word.to_bytes(8, "big"), dtype=np.uint8)


def rational_cuts(cuts: list[Fraction]) -> Boundaries:
    return Boundaries(lambda: [ball(cut) for cut in cuts])


def pick(boundaries: Boundaries, word: int, bits: BitSource) -> int:
    return int(boundaries.pick(np.array([word], dtype=np.uint64), bits)[0])


def exact_piece(cuts: list[Fraction], words: list[int]) -> int | None:
    """The piece of the number 0.words… in base 2⁶⁴, or None where these words do not tell."""
    prefix = sum(word << (64 * (len(words) - 1 - place)) for place, word in enumerate(words))
    low, high = (Fraction(prefix + end, 1 << (64 * len(words))) for end in (0, 1))
    return None if any(low < cut < high for cut in cuts) else sum(cut <= low for cut in cuts)


THIRD = 0x5555555555555555


@pytest.mark.parametrize(
    ("words", "piece"),
    [
        ([THIRD - 1], 0),
        ([THIRD + 1], 1),
        ([THIRD, THIRD - 1], 0),
        ([THIRD, 0], 0),
        ([THIRD, THIRD + 1], 1),
        ([THIRD, 2**64 - 1], 1),
        ([THIRD, THIRD, THIRD, THIRD, THIRD - 1], 0),
        ([THIRD, THIRD, THIRD, THIRD, THIRD + 1], 1),
    ],
)
def test_one_third_is_cut_at_one_third(words, piece):
    bits = Fed(*words[1:])
    assert pick(rational_cuts([Fraction(1, 3)]), words[0], bits) == piece
    assert bits.given == len(words) - 1


@given(
    cuts=st.lists(st.fractions(0, 1, max_denominator=10**6), min_size=1, max_size=6),
    data=st.data(),
)
@settings(max_examples=150)
def test_words_at_the_cut_points_are_decided_as_exact_rationals_are(cuts, data):
    """Draw the first word on a cut point, and the words after it on its digits or beside them."""
    cuts = sorted(cuts)
    target = data.draw(st.sampled_from(cuts))
    words: list[int] = []
    while exact_piece(cuts, words or [0]) is None or not words:
        digit = math.floor(target * 2 ** (64 * (len(words) + 1))) % 2**64
        beside = data.draw(st.sampled_from([0, 0, -1, 1])) if len(words) < 5 else 1
        words.append(max(0, min(digit + beside, 2**64 - 1)))
    bits = Fed(*words[1:])
    assert pick(rational_cuts(cuts), words[0], bits) == exact_piece(cuts, words)
    assert bits.given == len(words) - 1


def test_an_irrational_cut_is_followed_through_all_its_digits():
    """1/e in base 2⁶⁴, from Python's own decimals."""
    with localcontext() as context:
        context.prec = 200
        scaled = Decimal(-1).exp() * Decimal(2) ** 320
        digits = [int(scaled) >> (64 * place) & (2**64 - 1) for place in (4, 3, 2, 1, 0)]
    boundaries = Boundaries(lambda: [(-arb(1)).exp()])
    for agreed in range(1, 5):
        for beside, piece in ((-1, 0), (1, 1)):
            bits = Fed(*digits[1:agreed], digits[agreed] + beside)
            assert pick(boundaries, digits[0], bits) == piece
            assert bits.given == agreed


def test_a_cut_at_a_dyadic_point_belongs_to_the_right_piece():
    exact = rational_cuts([Fraction(1, 2)])
    assert pick(exact, 2**63 - 1, Fed()) == 0
    assert pick(exact, 2**63, Fed()) == 1


def test_a_cut_known_only_as_a_ball_around_a_dyadic_point():
    """The ball never shrinks to 1/2 itself, so the bits must lead away from it."""
    fuzzy = Boundaries(lambda: [arb(2).sqrt() ** 2 / 4])
    assert pick(fuzzy, 2**63, Fed(0, 0, 1)) == 1
    assert pick(fuzzy, 2**63 - 1, Fed(2**64 - 1, 2**64 - 2)) == 0


def test_equal_cut_points_leave_an_empty_piece_that_is_never_taken():
    cuts = [Fraction(1, 3), Fraction(1, 3), Fraction(2, 3)]
    for words in ([THIRD, THIRD - 1], [THIRD, THIRD + 1], [0], [2**64 - 1]):
        assert pick(rational_cuts(cuts), words[0], Fed(*words[1:])) == exact_piece(cuts, words) != 1


def test_cut_points_at_the_ends_leave_empty_pieces_there():
    both = rational_cuts([Fraction(0), Fraction(1)])
    assert [pick(both, word, Fed()) for word in (0, 1, 2**63, 2**64 - 1)] == [1, 1, 1, 1]


def test_a_piece_thinner_than_any_float_is_still_there():
    """A piece of length 2⁻²⁰⁰ at the left end, and one at the right end."""
    thin = Fraction(1, 2**200)
    boundaries = rational_cuts([thin, 1 - thin])
    assert pick(boundaries, 0, Fed(0, 0, 2**56 - 1)) == 0
    assert pick(boundaries, 0, Fed(0, 0, 2**56)) == 1
    top = 2**64 - 1
    assert pick(boundaries, top, Fed(top, top, top - 2**56 + 1)) == 2
    assert pick(boundaries, top, Fed(top, top, top - 2**56)) == 1


@pytest.mark.parametrize("kept", [1, 4, 63, 64])
def test_a_coarser_filter_changes_no_decision_and_asks_for_no_bits(set_limits, kept):
    cuts = [Fraction(1, 7), Fraction(1, 3), Fraction(1, 2), Fraction(9, 10)]
    words = NotPrivateSeededBits(kept).words(300)
    expected = rational_cuts(cuts).pick(words, Fed()).tolist()
    assert expected == [sum(cut <= Fraction(int(word), 2**64) for cut in cuts) for word in words]
    set_limits(BITS, filter_bits=kept)
    coarse = rational_cuts(cuts)
    assert coarse.pick(words, Fed()).tolist() == expected
    undecided = np.searchsorted(coarse.last, words) != np.searchsorted(coarse.first, words, side="right")
    assert undecided.any() == (kept <= 4), "the filter was not as coarse as this test needs"


def test_the_undecided_words_are_exactly_those_whose_interval_holds_a_cut(set_limits):
    """All 16 leading nibbles against exact rationals, at a filter of four bits."""
    set_limits(BITS, filter_bits=4)
    cuts = [Fraction(1, 5), Fraction(1, 4), Fraction(5, 9)]
    boundaries = rational_cuts(cuts)
    for nibble, rest in itertools.product(range(16), (0, 2**59, 2**60 - 1)):
        word = (nibble << 60) + rest
        decided = not any(int(a) <= word <= int(b) for a, b in zip(boundaries.first, boundaries.last, strict=True))
        inside = any(Fraction(nibble, 16) < cut < Fraction(nibble + 1, 16) for cut in cuts)
        assert not (decided and inside)
        if decided:
            assert exact_piece(cuts, [word]) == sum(Fraction(nibble, 16) >= cut for cut in cuts)


def test_32_bit_words_are_extended_too():
    """Width 32: the word 0x55555555 says nothing about 1/3; the next 64 bits do."""
    chance = Boundaries(lambda: [ball(Fraction(1, 3))], width=32)
    assert (int(chance.first[0]), int(chance.last[0])) == (0x55555555, 0x55555555)
    assert chance.first.dtype == np.uint32
    assert chance.resolve(0x55555554, Fed()) == 0
    assert chance.resolve(0x55555556, Fed()) == 1
    assert chance.resolve(0x55555555, Fed(THIRD - 1)) == 0
    assert chance.resolve(0x55555555, Fed(THIRD + 1)) == 1
    assert chance.resolve(0x55555555, Fed(THIRD, THIRD + 1)) == 1
