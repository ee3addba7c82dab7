"""e^x between two floats."""

from __future__ import annotations

from fractions import Fraction

from symveil.numerics.balls import STANDARD_PRECISION, ball, float_bounds, precision


def exp_enclosure(exponent: Fraction) -> tuple[Fraction, Fraction]:
    """Rationals a ≤ e^x ≤ b, a few units in the last place of a float apart, each a float exactly; a = b = 1 for x = 0.

    >>> low, high = exp_enclosure(Fraction(1))
    >>> float(low), float(high)
    (2.7182818284590446, 2.7182818284590455)
    """
    if exponent == 0:
        return Fraction(1), Fraction(1)
    with precision(STANDARD_PRECISION):
        low, high = float_bounds(ball(exponent).exp())
    return Fraction(low), Fraction(high)
