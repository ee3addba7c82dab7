"""Numbers as they were written: exact rationals in, decimals rounded against the claim out."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, InvalidOperation, localcontext
from fractions import Fraction

import numpy as np

from symveil.errors import ParameterError

Number = int | float | str | Fraction | Decimal

# "1e999999999" spells an integer that does not fit into memory.
_LARGEST_EXPONENT = 400
_LONGEST_TEXT = 1000
_LONGEST_PRINTED = 14_000  # bits; Python refuses to print integers of more than 4300 digits


def exact(value: Number, *, name: str = "number", expected: str = "a number such as 0.5 or 1/2") -> Fraction:
    """The rational that `value` spells.

    A float is read as the decimal it prints as, so that 0.1 in Python, `0.1` on the command line
    and `0.1` in a JSON file are one number.

    >>> exact(0.1), exact("1/3"), exact("2.50")
    (Fraction(1, 10), Fraction(1, 3), Fraction(5, 2))
    """
    if isinstance(value, bool):
        raise ParameterError(name, expected=expected, found=value)
    if isinstance(value, Fraction | int | np.integer):
        return Fraction(value)
    if isinstance(value, float | np.floating):
        if not math.isfinite(value):
            raise ParameterError(name, expected=f"{expected}, finite", found=value)
        return Fraction(repr(float(value)))
    if isinstance(value, str | Decimal):
        return _from_text(str(value).strip(), name=name, expected=expected)
    raise ParameterError(name, expected=expected, found=f"a {type(value).__name__}")


def _from_text(text: str, *, name: str, expected: str) -> Fraction:
    if len(text) > _LONGEST_TEXT:
        raise ParameterError(name, expected=expected, found=f"{len(text)} characters")
    numerator, slash, denominator = text.partition("/")
    try:
        top = Decimal(numerator)
        bottom = Decimal(denominator) if slash else Decimal(1)
    except InvalidOperation:
        raise ParameterError(name, expected=expected, found=repr(text)) from None
    if not (top.is_finite() and bottom.is_finite()):
        raise ParameterError(name, expected=f"{expected}, finite", found=repr(text))
    if bottom == 0 or any(abs(part.adjusted()) > _LARGEST_EXPONENT for part in (top, bottom) if part != 0):
        raise ParameterError(name, expected=expected, found=repr(text))
    return Fraction(top) / Fraction(bottom)


def at_least(value: Fraction) -> float:
    """The smallest float that, read as the decimal it prints as, is not below `value`.

    A privacy loss is reported through this function: rounding goes against the claim.

    >>> at_least(Fraction(3, 10)), at_least(Fraction(1, 3))
    (0.3, 0.33333333333333337)
    """
    candidate = float(value)
    while exact(candidate) < value:
        candidate = math.nextafter(candidate, math.inf)
    return candidate


def spelled(value: Fraction) -> str:
    """`value` for a reader: a short decimal where one is exact, else a fraction.

    >>> spelled(Fraction(5)), spelled(Fraction(1, 10)), spelled(Fraction(1, 3))
    ('5', '0.1', '1/3')
    """
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _LONGEST_PRINTED:
        return f"about {float(value)!r}"
    if value.denominator == 1:
        return str(value.numerator)
    decimal = repr(float(value))
    return decimal if exact(decimal) == value else f"{value.numerator}/{value.denominator}"


def shown_at_least(value: float | Fraction, digits: int = 6) -> str:
    """A number with few digits for a reader, rounded upwards: a shown loss is never below the real one.

    >>> shown_at_least(1.00000049), shown_at_least(5.0), shown_at_least(0.542407), shown_at_least(Fraction(1, 3), 2)
    ('1.00001', '5', '0.542407', '0.34')
    """
    return _shown(value, digits, ROUND_CEILING)


def shown_at_most(value: float | Fraction, digits: int = 6) -> str:
    """The same, rounded downwards: for the lower end of a bracket.

    >>> shown_at_most(1.00000049), shown_at_most(Fraction(2, 3), 2), shown_at_most(0.0)
    ('1', '0.66', '0')
    """
    return _shown(value, digits, ROUND_FLOOR)


def _shown(value: float | Fraction, digits: int, rounding: str) -> str:
    if value == 0 or (isinstance(value, float) and not math.isfinite(value)):
        return f"{float(value):g}"
    ratio = exact(value)
    with localcontext(Context(prec=digits, rounding=rounding)):
        rounded = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).normalize()
    return f"{rounded:f}" if -5 <= rounded.adjusted() <= 15 else f"{rounded:e}"
