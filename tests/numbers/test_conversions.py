"""Rationals, floats and balls: bounds that hold, floats on the promised side, and precision that is given back."""

from __future__ import annotations

import math
import threading
from fractions import Fraction

import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from symveil.numbers.conversions import (
    ball,
    dyadic,
    exp_enclosure,
    float_at_least,
    float_at_most,
    float_bounds,
    fraction,
    log_upper_bound,
    nearest_float,
    precision,
    rational,
    scaled_floor,
    upper_bound,
)

rationals = st.fractions(min_value=-(10**9), max_value=10**9, max_denominator=10**40)
precisions = st.sampled_from([20, 53, 64, 128, 400])


def as_fraction(exact_ball: arb) -> Fraction:
    mantissa, exponent = exact_ball.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


@given(rationals, precisions)
def test_a_ball_holds_its_rational(value, bits):
    with precision(bits):
        found = ball(value)
        assert as_fraction(found.lower()) <= value <= as_fraction(found.upper())


@given(rationals, precisions)
def test_the_upper_bound_is_no_smaller_and_hardly_larger(value, bits):
    with precision(bits):
        found = upper_bound(ball(value))
    assert value <= found <= value + abs(value) * Fraction(1, 2 ** (bits - 4))


@given(
    st.one_of(rationals, st.fractions(min_value=0, max_value="1/1000000000000", max_denominator=10**300)), precisions
)
def test_float_bounds_lie_outside_and_close(value, bits):
    with precision(bits):
        low, high = float_bounds(ball(value))
    assert Fraction(low) <= value <= Fraction(high)
    slack = abs(value) * Fraction(1, 2 ** (min(bits, 53) - 5)) + Fraction(1, 2**1070)
    assert Fraction(high) - Fraction(low) <= slack


@pytest.mark.parametrize("power", [1023, 1024, 5000, -1074, -1075, -5000])
def test_float_bounds_beyond_the_range_of_floats(power):
    with precision(64):
        low, high = float_bounds(arb(2) ** power)
    assert low < high
    if power > 0:
        assert Fraction(low) < Fraction(2) ** power
        assert high == math.inf or Fraction(high) > Fraction(2) ** power
    else:
        assert Fraction(low) < Fraction(2) ** power < Fraction(high)


@given(rationals, precisions)
def test_the_nearest_float_is_as_near_as_the_precision_allows(value, bits):
    with precision(bits):
        found = nearest_float(ball(value))
    assert abs(Fraction(found) - value) <= abs(value) * Fraction(1, 2 ** (min(bits, 53) - 1))


@given(
    value=st.one_of(rationals, st.fractions(0, 1, max_denominator=10**6), st.fractions(0, 1, max_denominator=64)),
    bits=st.sampled_from([0, 1, 4, 32, 64]),
    working=precisions,
)
def test_scaled_floor_holds_the_true_floor(value, bits, working):
    with precision(working):
        low, high = scaled_floor(ball(value), bits)
    true = math.floor(value * 2**bits)
    assert low <= true <= high
    if working >= 400:
        # a rational with a short denominator is never closer to a whole number than 2⁻²⁰⁰ unless it is one
        assert high == true
        assert low in (true, true - 1)
        assert low == true or (value * 2**bits).denominator == 1


@pytest.mark.parametrize(
    ("value", "bits", "found"),
    [
        (Fraction(1, 3), 4, (5, 5)),
        (Fraction(1, 2), 1, (1, 1)),
        (Fraction(0), 64, (0, 0)),
        (Fraction(1), 64, (2**64, 2**64)),
        (Fraction(-1, 3), 4, (-6, -6)),
        (Fraction(3), 0, (3, 3)),
    ],
)
def test_scaled_floor_of_plain_numbers(value, bits, found):
    with precision(128):
        assert scaled_floor(ball(value), bits) == found


def test_scaled_floor_admits_what_a_wide_ball_leaves_open():
    with precision(64):
        wide = arb("0.5", "0.3")
        low, high = scaled_floor(wide, 4)
    assert (low, high) == (3, 12)


def test_precision_is_given_back_also_after_an_error():
    before = ctx.prec
    with precision(77):
        assert ctx.prec == 77
        with precision(333):
            assert ctx.prec == 333
        assert ctx.prec == 77
        with pytest.raises(ZeroDivisionError), precision(500):
            raise ZeroDivisionError
        assert ctx.prec == 77
    assert ctx.prec == before


def test_threads_do_not_lower_each_others_precision():
    """The working precision is one number per process: anyone who set it keeps it until it is given back."""
    seen: list[bool] = []

    def work(bits: int) -> None:
        for _ in range(200):
            with precision(bits):
                value = ball(Fraction(1, 3))
                for _ in range(5):
                    value = value * 3 / 3
                seen.append(ctx.prec == bits and value.rel_accuracy_bits() > bits - 20)

    threads = [threading.Thread(target=work, args=(bits,)) for bits in (64, 128, 400, 1000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 800
    assert all(seen)


@given(st.one_of(rationals, st.floats(allow_nan=False, allow_infinity=False).map(Fraction)))
def test_floats_of_a_rational_are_the_nearest_on_their_side(value):
    low, high = float_at_most(value), float_at_least(value)
    assert Fraction(low) <= value <= Fraction(high)
    assert low == high == value or math.nextafter(low, math.inf) == high
    assert (low, high) == (float_at_most(rational(value)), float_at_least(rational(value)))
    assert nearest_float(rational(value)) in (low, high)


@given(rationals)
def test_rationals_of_both_kinds_are_one_number(value):
    assert fraction(rational(value)) == value
    assert fraction(dyadic(float(value))) == Fraction(float(value))


@given(st.fractions(min_value="1/1000000000000", max_value=10**12))
def test_the_logarithm_is_bounded_from_above_and_closely(value):
    found = log_upper_bound(value)
    assert found == log_upper_bound(rational(value))
    with ctx.workprec(512):
        assert arb(rational(value)).log() <= arb(rational(found)) if value != 1 else found == 0
        assert arb(rational(found)) - arb(rational(value)).log() < arb(2) ** -80


@given(st.fractions(-100, 100))
def test_the_truth_lies_between(exponent):
    low, high = exp_enclosure(exponent)
    with ctx.workprec(512):
        true = arb(rational(exponent)).exp()
        below, above = (arb(rational(end)) for end in (low, high))
        assert below <= true <= above if exponent else low == high == 1
    assert (float(low), float(high)) == (low, high)  # each is a float exactly
    assert high - low <= low * Fraction(1, 2**50)


def test_nothing_to_the_power_of_anything():
    assert exp_enclosure(Fraction(0)) == (1, 1)
