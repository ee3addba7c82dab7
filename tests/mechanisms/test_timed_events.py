"""Draws of events with their times: measured against the law, bit by bit the same in any batch, and ties resolved."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from symveil.laws.event_law import EventLaw
from symveil.mechanisms.timed_events import EventDraws, choose_event_law
from symveil.randomness import NotPrivateSeededBits, RecordKey
from symveil.randomness.limits import LIMITS as BITS

FALSE_ALARM = 1e-6
"""Of each chi-square test below, had it other seeds: with these it always passes or always fails."""

LAWS = [
    EventLaw(symbols=3, bins=6, circle=True, shift=2, step=2, rate=Fraction(1)),
    EventLaw(symbols=1, bins=5, circle=True, shift=1, step=1, rate=Fraction(2)),
    EventLaw(symbols=2, bins=5, circle=False, shift=2, step=1, rate=Fraction(3, 2)),
    EventLaw(symbols=1, bins=4, circle=False, shift=1, step=1, rate=Fraction(1)),
    EventLaw.uniform(symbols=2, bins=5, circle=False, rate=Fraction(2)),
    EventLaw.uniform(symbols=3, bins=4, circle=True, rate=Fraction(1, 2)),
]


def expected(law, code, true):
    same, other = law.kernels(math.exp(-float(law.rate)))
    return np.array([(same if out == code else other)[true] for out in range(law.symbols)])


def statistic(counts, chances):
    mean = counts.sum() * chances
    return float(((counts - mean) ** 2 / mean).sum())


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_draws_follow_the_law(law):
    size = 40_000
    for code, true in ((0, 0), (law.symbols - 1, law.bins // 2), (0, law.bins - 1)):
        codes = np.full(size, code, dtype=np.int32)
        bins = np.full(size, true)
        released, there = EventDraws(law).draw(codes, bins, np.full(size // 4, 4), NotPrivateSeededBits(code + true))
        counts = np.bincount(released * law.bins + there, minlength=law.symbols * law.bins)
        chances = expected(law, code, true).ravel()
        limit = chi2.isf(FALSE_ALARM, len(chances) - 1)
        assert statistic(counts, chances) < limit
        wrong = np.roll(chances, 1)  # the test can fail
        assert statistic(counts, wrong) > limit


def test_a_first_event_without_a_wait_is_drawn_by_randomised_response():
    law = EventLaw(symbols=4, bins=5, circle=False, shift=1, step=1, rate=Fraction(1))
    codes, bins = np.tile([2, 1], 20_000).astype(np.int32), np.tile([-1, 3], 20_000)
    released, there = EventDraws(law).draw(codes, bins, np.full(20_000, 2), NotPrivateSeededBits(5))
    assert (there[::2] == -1).all()
    assert (there[1::2] >= 0).all()
    z = math.exp(-1)
    chances = np.array([z, z, 1, z]) / (1 + 3 * z)
    assert statistic(np.bincount(released[::2], minlength=4), chances) < chi2.isf(FALSE_ALARM, 3)


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("filter_bits", [64, 3])
def test_a_record_has_the_same_draw_in_any_batch_and_with_any_filter(law, filter_bits, set_limits):
    """With 3 bits in the fast comparison nearly every draw is a tie that more bits resolve."""
    lengths = np.array([3, 0, 1, 5, 2])
    rng = np.random.default_rng(1)
    codes = rng.integers(law.symbols, size=11).astype(np.int32)
    bins = rng.integers(law.bins, size=11)
    key = RecordKey(bytes(32), "r")
    names = key.names([b"a", b"b", b"c", b"d", b"e"])
    set_limits(BITS, filter_bits=filter_bits)
    whole = EventDraws(law).draw(codes, bins, lengths, key.streams(names))
    ends = np.cumsum(lengths)
    for row in (4, 0, 3):
        own = slice(ends[row] - lengths[row], ends[row])
        again = EventDraws(law).draw(codes[own], bins[own], lengths[row : row + 1], key.streams(names[row : row + 1]))
        assert [each.tolist() for each in again] == [each[own].tolist() for each in whole]
    for each in whole:
        assert (each >= 0).all()


def test_thin_pieces_are_drawn_exactly():
    """At rate 60 a change is rarer than 2^-64: the word does not decide it, more bits do, and nothing is cut off."""
    law = EventLaw(symbols=2, bins=24, circle=True, shift=1, step=1, rate=Fraction(60))
    codes, hours = np.zeros(1000, dtype=np.int32), np.arange(1000) % 24
    released, there = EventDraws(law).draw(codes, hours, np.array([1000]), NotPrivateSeededBits(2))
    assert released.tolist() == codes.tolist()
    assert there.tolist() == hours.tolist()


@pytest.mark.parametrize("symbols", [1, 8])
def test_choice_spends_at_most_the_budget_and_avoids_vanishing_steps(symbols):
    for shift in (1, 2, 3, 5, 8):
        law = choose_event_law(symbols=symbols, bins=24, circle=True, shift=shift, epsilon=Fraction(2))
        assert Fraction(8, 5) <= law.rate <= 2
        assert law.step not in (2, 5, 8, 11)
        assert law.least_factor() > 0
        whole = EventLaw(symbols=symbols, bins=24, circle=True, shift=shift, step=1, rate=Fraction(2))
        assert law.spread() <= whole.spread() * (1 + 1e-12)


def test_choice_spends_less_where_a_frequency_nearly_vanishes():
    """m = 16, τ = 1, ε = 2: 1,776 a cell at the whole budget, 146 at .92 of it (design note)."""
    law = choose_event_law(symbols=16, bins=24, circle=True, shift=1, epsilon=Fraction(2))
    assert law.rate < 2
    whole = EventLaw(symbols=16, bins=24, circle=True, shift=1, step=1, rate=Fraction(2))
    assert whole.spread() > 5 * law.spread()


def test_a_shift_that_reaches_every_bin_is_any():
    assert choose_event_law(symbols=2, bins=24, circle=True, shift=12, epsilon=Fraction(1)).shift is None
    assert choose_event_law(symbols=2, bins=24, circle=True, shift=11, epsilon=Fraction(1)).shift == 11
    assert choose_event_law(symbols=2, bins=17, circle=False, shift=16, epsilon=Fraction(1)).shift is None
    assert choose_event_law(symbols=2, bins=17, circle=False, shift=15, epsilon=Fraction(1)).shift == 15
