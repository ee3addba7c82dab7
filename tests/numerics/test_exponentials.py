"""e^x between two floats: never on the wrong side, and never far apart."""

from __future__ import annotations

from fractions import Fraction

from flint import arb, ctx, fmpq
from hypothesis import given
from hypothesis import strategies as st

from symveil.numerics.exponentials import exp_enclosure


@given(st.fractions(-100, 100))
def test_the_truth_lies_between(exponent):
    low, high = exp_enclosure(exponent)
    with ctx.workprec(512):
        true = arb(fmpq(exponent.numerator, exponent.denominator)).exp()
        below, above = (arb(fmpq(end.numerator, end.denominator)) for end in (low, high))
        assert below <= true <= above if exponent else low == high == 1
    assert (float(low), float(high)) == (low, high)  # each is a float exactly
    assert high - low <= low * Fraction(1, 2**50)


def test_nothing_to_the_power_of_anything():
    assert exp_enclosure(Fraction(0)) == (1, 1)
