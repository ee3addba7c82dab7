"""Text as a picture needs it: only characters that every format can hold, and how wide it will be.

How symbols, counts and probabilities are spelled in a picture: short, and honest about rounding.

The colours of a picture, the same in every format.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from fractions import Fraction

from symveil.numbers.conversions import decimal
from symveil.pictures.limits import LIMITS

# What XML 1.0 cannot hold even when escaped; DOT files cannot hold NUL and half surrogates either.
_UNDISPLAYABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

# Widths in em, on the generous side of the usual sans-serif fonts, because the reader's font is
# not known when the picture is made.
_WIDTHS = {
    **dict.fromkeys("ijl.,;:|!'`", 0.34),
    **dict.fromkeys(' ()[]{}/\\ftr-"·', 0.42),
    **dict.fromkeys("mwMW@%—…", 0.98),
    **dict.fromkeys("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", 0.43),
    **dict.fromkeys("≈≠×+=<>~", 0.82),
}
_UPPER, _ANY, _FULL = 0.74, 0.63, 1.04


def displayable(text: str) -> str:
    """`text` with a replacement character for each one that no picture can hold.

    >>> displayable("a\\x00b")
    'a\ufffdb'
    """
    return _UNDISPLAYABLE.sub("\ufffd", text)


def width(text: str, size: float) -> float:
    """About how wide `text` is at the font size `size`, rather too wide than too narrow.

    >>> width("ill", 10) < width("abc", 10) < width("MAW", 10) < width("漢字漢字", 10)
    True
    """
    return size * sum(map(_character_width, text))


def _character_width(character: str) -> float:
    known = _WIDTHS.get(character)
    if known is not None:
        return known
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return _FULL
    return _UPPER if character.isupper() else _ANY


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
    return text if len(text) <= LIMITS.now.symbol_length else text[: LIMITS.now.symbol_length - 1] + "…"


def others_label(symbols: Sequence[object], besides: object) -> str:
    """All symbols of an alphabet but one: listed while the list is short, else by what is left out.

    >>> others_label("bc", besides="a"), others_label("bcdefgh", besides="a")
    ('b, c', '≠a (7)')
    """
    if len(symbols) <= LIMITS.now.listed_symbols:
        listed = ", ".join(map(symbol_label, symbols))
        if len(listed) <= LIMITS.now.listed_length:
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


def joined(texts: Sequence[str]) -> str:
    r"""Texts as a list of short lines; a very long list ends with how many more there are.

    >>> joined(["a", "b"]), joined(["north", "east", "south", "west", "here"])
    ('a, b', 'north, east, south,\nwest, here')
    >>> joined([str(number) for number in range(100)]).splitlines()[-1]
    '13, 14, 15, +84 more'
    """
    shown, rest = texts[: LIMITS.now.joined_texts], len(texts) - LIMITS.now.joined_texts
    pieces = [*shown, f"+{rest} more"] if rest > 1 else list(texts)
    lines = [pieces[0]]
    for piece in pieces[1:]:
        if len(lines[-1]) + len(piece) + 2 > LIMITS.now.line_length:
            lines[-1] += ","
            lines.append(piece)
        else:
            lines[-1] += f", {piece}"
    return "\n".join(lines)


def set_label(texts: Sequence[str]) -> str:
    r"""A set in braces on a few short lines; of a large one its first elements and how many more there are.

    >>> set_label(["1", "2"]), set_label([]), set_label(list("abcdefghijklmnop"))
    ('{1, 2}', '∅', '{a, b, c, d, e, f, g,\nh, +8 more}')
    """
    if not texts:
        return "∅"
    shown, rest = texts[: LIMITS.now.set_texts], len(texts) - LIMITS.now.set_texts
    return "{" + joined([*shown, f"+{rest} more"] if rest > 1 else texts) + "}"


INK = "#1b2733"
LINE = "#5b6b7b"
CARD = "#ffffff"
BORDER = "#d9e0e7"
GROUND = "#f3f6fa"
MARKED = "#ffdb4d"
BLUE = "#0b5fb3"
RED = "#c2262e"
GREY = "#566472"
GRID = "#e4e9ee"
BARS = "#86b6d9"
