"""How symbols, counts and probabilities are spelled in a picture: short, and honest about rounding."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from symveil.numerics.integers import decimal

_LONGEST_SYMBOL = 20
_LONGEST_LIST = 24
_MOST_LISTED = 4
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def superscript(number: int) -> str:
    """A number as an exponent.

    >>> "2" + superscript(10)
    '2¹⁰'
    """
    return str(number).translate(_SUPERSCRIPTS)


def symbol_label(symbol: object) -> str:
    """A symbol as it is read; quoted where it would be invisible or mistaken for a list.

    >>> [symbol_label(symbol) for symbol in ("a", " ", "main st", ",", "\\n", "", 7)]
    ['a', '␣', 'main st', "','", "'\\\\n'", "''", '7']
    """
    text = symbol if isinstance(symbol, str) else repr(symbol)
    if text == " ":
        return "␣"
    if isinstance(symbol, str) and (text != text.strip() or not text or "," in text or not text.isprintable()):
        text = repr(text)
    return text if len(text) <= _LONGEST_SYMBOL else text[: _LONGEST_SYMBOL - 1] + "…"


def others_label(symbols: Sequence[object], besides: object) -> str:
    """All symbols of an alphabet but one: listed while the list is short, else told by what is left out.

    >>> others_label("bc", besides="a"), others_label("bcdefgh", besides="a")
    ('b, c', '≠a (7)')
    """
    if len(symbols) <= _MOST_LISTED:
        listed = ", ".join(map(symbol_label, symbols))
        if len(listed) <= _LONGEST_LIST:
            return listed
    return f"≠{symbol_label(besides)} ({len(symbols)})"


def count_label(count: int) -> str:
    """A count with all its digits up to seven of them, else rounded to three.

    >>> count_label(5764801), count_label(16**32), count_label(10**9 - 1)
    ('5764801', '≈3.40×10³⁸', '≈1.00×10⁹')
    """
    digits, _, power = decimal(count).partition("e+")
    if not power and len(digits) <= 7:
        return digits
    exponent = int(power) if power else len(digits) - 1
    leading = digits.replace(".", "")[:16]
    mantissa = f"{int(leading) / 10 ** (len(leading) - 1):.2f}"
    if mantissa == "10.00":
        mantissa, exponent = "1.00", exponent + 1
    return f"≈{mantissa}×10{superscript(exponent)}"


def probability_label(probability: Fraction) -> str:
    """A probability as a fraction while that is short, else rounded to two digits.

    >>> probability_label(Fraction(1, 3)), probability_label(Fraction(1, 70000)), probability_label(Fraction(1))
    ('1/3', '≈1.4e-05', '1')
    """
    if probability.denominator < 10_000:  # also keeps clear of Python's limit on digits
        return str(probability)
    rounded = float(probability)
    return f"≈{rounded:.2g}" if rounded > 1e-300 else "<1e-300"
