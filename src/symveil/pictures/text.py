"""Text as a picture needs it: only characters that every format can hold, and how wide it will be."""

from __future__ import annotations

import re
import unicodedata

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
