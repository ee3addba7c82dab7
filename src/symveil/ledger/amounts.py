"""Amounts of budget: exact decimals with twelve places, as whole numbers of a smallest unit.

Databases add and compare whole numbers exactly, so 0.1 + 0.2 is 0.3 and ten tenths are one. A number
with more places, such as 1/3, is rounded against the person who spends: charges up, grants down.
"""

from __future__ import annotations

from fractions import Fraction

from symveil.errors import ParameterError
from symveil.numbers.rationals import Number, exact, spelled

PLACES = 12
UNIT = 10**PLACES
WHOLE_PART = 10**6
"""Losses of whole words are written in millionths of ε: so many units each."""
LARGEST = 1_000_000
"""The largest amount: with it sums of amounts stay within 64 bits."""


def charged_units(epsilon: Fraction) -> int:
    """What a release of ε costs, rounded up.

    >>> charged_units(Fraction(3, 10)), charged_units(Fraction(1, 3))
    (300000000000, 333333333334)
    """
    if epsilon > LARGEST:
        raise ParameterError("epsilon", expected=f"at most {LARGEST} with a ledger", found=spelled(epsilon))
    return int(-(-epsilon.numerator * UNIT // epsilon.denominator))


def whole_parts(loss: float) -> int | None:
    """A loss of whole words in millionths, rounded up; None where it is not bounded, or by nothing that means anything.

    >>> whole_parts(2.5), whole_parts(float("inf")), whole_parts(1e-9)
    (2500000, None, 1)
    """
    if not 0 <= loss <= _LARGEST_WHOLE:
        return None
    return int(-(-exact(loss) * UNIT // WHOLE_PART))


_LARGEST_WHOLE = 10_000


def granted_units(amount: Number) -> int:
    """What a grant is worth, rounded down; a negative grant takes budget back, and is rounded down too."""
    value = exact(amount, name="epsilon", expected="an amount such as 0.5 or 2")
    if value == 0 or abs(value) > LARGEST:
        raise ParameterError("epsilon", expected=f"an amount other than 0, at most {LARGEST}", found=amount)
    units = int(value.numerator * UNIT // value.denominator)
    if units == 0:
        raise ParameterError("epsilon", expected=f"an amount of at least {shown_units(1)}", found=amount)
    return units


def shown_units(units: int) -> str:
    """Units as the decimal that they are.

    >>> shown_units(300000000000), shown_units(-1), shown_units(2 * UNIT)
    ('0.3', '-0.000000000001', '2')
    """
    whole, rest = divmod(abs(units), UNIT)
    text = f"{whole}.{rest:0{PLACES}d}".rstrip("0").rstrip(".")
    return f"-{text}" if units < 0 else text
