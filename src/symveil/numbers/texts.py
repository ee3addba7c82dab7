"""Numbers as people read them, each kind in one way: losses, factors, shares, and how many there are of something.

Losses and factors are rounded against the claim.
"""

from __future__ import annotations

import math
from fractions import Fraction

from symveil.numbers.rationals import shown_at_least

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

    Parameters
    ----------
    epsilon
        A loss.

    >>> factor(2.0), factor(0.1), factor(3.0), factor(50.0), factor(0.0)
    ('7.4', '1.11', '21', '5.2e+21', '1')
    """
    if math.isinf(epsilon):
        return "∞"
    if epsilon > 600:
        return f"10^{math.ceil(epsilon / math.log(10)) + 1}"
    # exp of a float is right but for its last bits
    value = math.exp(epsilon) * (1 + 1e-15) if epsilon else 1.0
    if 10 <= value <= 1e6:
        return f"{math.ceil(value):,}"
    return shown_at_least(value, 3 if value < 1.5 else 2)


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

    Parameters
    ----------
    share
        Between 0 and 1, or a ratio that may be larger.
    digits
        How many are shown.

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
