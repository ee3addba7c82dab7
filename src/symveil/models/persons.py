"""How a person is named: one spelling for one person, whatever file, engine or command the name comes from.

* Text is compared after Unicode's NFC: `é` is one character or two, and looks the same.
* A whole number is its digits. A file of text may hold a number as a table of floats prints it: `7.0`, and
  `1.23456789012e+11` (Arrow) or `1.23456789012E11` (Spark). These three forms are read as the number that they are,
  so that the same person has one name in CSV, in Parquet and on a cluster; other text stays as it is.
* Other floats, decimals with a fraction, times, bytes and lists are no names: each of them can be spelled in several
  ways. A float from 2⁵³ on is none either: it may stand for several whole numbers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction

from symveil.numbers.holder import tell_holder

EXACT_WHOLE = {16: 2**11, 32: 2**24, 64: 2**53}
"""By the bits of a float: every whole number below is one float, and no other number's."""

_WHOLE = re.compile(r"(-?[0-9]+)\.0+|-0")
_POWER = re.compile(r"-?[0-9](?:\.[0-9]+)?e\+[0-9]{1,2}|-?[0-9]\.[0-9]+E[0-9]{1,2}")
_LEADING = re.compile(r"-?0[0-9]")


def person_name(text: str) -> str:
    """The one spelling of a name that is written as text.

    Parameters
    ----------
    text
        The name as a file or a command has it.

    >>> person_name("7.0"), person_name("1.23456789012e+11"), person_name("1.23456789012E11")
    ('7', '123456789012', '123456789012')
    >>> person_name("007"), person_name("2.50"), person_name("1E5"), person_name("Jose\\u0301") == "Jos\\u00e9"
    ('007', '2.50', '1E5', True)
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    if "." not in text and "+" not in text and text != "-0":
        return text
    if _WHOLE.fullmatch(text) and not _LEADING.match(text):
        digits = text.partition(".")[0]
        return "0" if digits == "-0" else digits
    if _POWER.fullmatch(text):
        value = Fraction(text)
        if value.denominator == 1 and abs(value) < EXACT_WHOLE[64]:
            return str(value.numerator)
    return text


def numeral_name(text: str) -> str | None:
    """The name that a number in JSON or XES is; None where it is none.

    Parameters
    ----------
    text
        The number as it is written.

    >>> numeral_name("12"), numeral_name("12.00"), numeral_name("1.2e+01"), numeral_name("2.5"), numeral_name("1e3")
    ('12', '12', '12', None, None)
    """
    name = person_name(text)
    return name if name.isascii() and name.removeprefix("-").isdigit() else None


def decimal_name(value: Decimal | None) -> str | None:
    """The name that a decimal is: its digits where it is whole, else none.

    >>> decimal_name(Decimal("2.00")), decimal_name(Decimal("2.50"))
    ('2', None)
    """
    return str(int(value)) if value is not None and value == value.to_integral_value() else None


def folded(name: str) -> str:
    """What names that are easily mistaken for each other share.

    >>> folded(" Ann") == folded("ann"), folded("ＡＮＮ") == folded("ann"), folded("ann") == folded("anne")
    (True, True, False)
    """
    if name.isascii():
        return name.strip().lower()
    return unicodedata.normalize("NFKC", name).strip().casefold()


def look_alike(names: Iterable[str]) -> bool:
    """Whether two of these different names are easily mistaken for each other.

    >>> look_alike(["ann", "bob"]), look_alike(["ann", "Ann"])
    (False, True)
    """
    seen: set[int] = set()
    count = 0
    for name in names:
        seen.add(hash(folded(name)))
        count += 1
    return len(seen) < count


def tell_alike() -> None:
    """Warn the holder that two names may be one person's; which ones is not told."""
    tell_holder(
        "some names of persons differ only in upper and lower case, blanks at their ends or look-alike characters; "
        "each of them counts as a person with a budget of their own: if two are one person's, spell them alike"
    )
