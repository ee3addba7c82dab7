"""Numbers as they were written, exact rationals in and decimals out; and numbers as people read them.

Each kind has one text. Losses and factors are rounded against the claim.
"""

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


_LONGEST_FRACTION = 60
"""Digits of a fraction that people still read."""


def epsilon_text(epsilon: float) -> str:
    """ε as text.

    >>> epsilon_text(1.2345678), epsilon_text(math.inf)
    ('1.23457', 'infinite')
    """
    return "infinite" if math.isinf(epsilon) else shown_at_least(epsilon)


def factor(epsilon: float) -> str:
    """e^ε in plain words, rounded against the claim: an attacker becomes no surer than that.

    >>> factor(2.0), factor(0.1), factor(3.0), factor(50.0), factor(0.0)
    ('7.4', '1.11', '20.1', '5.2e+21', '1')
    """
    if math.isinf(epsilon):
        return "∞"
    if epsilon > 600:
        return f"10^{math.ceil(epsilon / math.log(10)) + 1}"
    # exp of a float is right but for its last bits
    value = math.exp(epsilon) * (1 + 1e-15) if epsilon else 1.0
    if 100 <= value <= 1e6:
        return f"{math.ceil(value):,}"
    return shown_at_least(value, 3 if value < 1.5 or 10 <= value < 100 else 2)


def fraction_text(value: Fraction) -> str:
    """A probability as a fraction and the decimal it is; where the fraction is long, the decimal alone.

    >>> fraction_text(Fraction(1, 4)), fraction_text(Fraction(0)), fraction_text(Fraction(1, 10**60 + 1))
    ('1/4 = 0.25', '0', '1e-60')
    """
    decimal, bits = f"{float(value):.6g}", value.numerator.bit_length() + value.denominator.bit_length()
    if bits > _LONGEST_FRACTION * math.log2(10):
        return decimal
    return str(value) if value.denominator == 1 else f"{value} = {decimal}"


def percent(share: float | Fraction, digits: int = 2) -> str:
    """A chance or a share as people read it; 100 % is certainty.

    A ratio may be larger than 1. `digits` are shown.

    >>> percent(0.3333), percent(0.9995), percent(1.0), percent(1e-9), percent(0.0), percent(0.005), percent(1 / 3, 3)
    ('33 %', '99.9 %', '100 %', 'below 0.001 %', '0 %', '0.5 %', '33.3 %')
    """
    value = float(share)
    if 0 < value < 1e-5:
        return "below 0.001 %"
    if 0.99 < value < 1:
        return f"{math.floor(1000 * value) / 10:g} %"
    return f"{100 * value:.{digits}g} %" if value < 1 else f"{100 * value:,.0f} %"


def share_of_symbols(errors: float, length: int) -> str:
    """An expected number of errors as people say it.

    >>> share_of_symbols(2.0, 8), share_of_symbols(0.004, 10), share_of_symbols(9.9, 10)
    ('1 symbol in 4', '1 symbol in 2,500', '99 % of the symbols')
    """
    if length == 0 or errors <= 0:
        return "nothing"
    share = errors / length
    return f"{percent(share)} of the symbols" if share > 0.3 else f"1 symbol in {1 / share:,.0f}"


def counted(count: float, noun: str) -> str:
    """A number of things.

    >>> counted(1, "symbol"), counted(0.25, "symbol")
    ('1 symbol', '0.25 symbols')
    """
    return f"{count:.3g} {noun}" + ("" if count == 1 else "s")
