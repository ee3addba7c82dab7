"""Names in models: which there are, in which order, and where an unknown one stands.

How a person is named: one spelling for one person, whatever file, engine or command the name comes from.

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
from collections.abc import Container, Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import cast

from symveil.errors import ModelError
from symveil.numbers.progress import tell_holder

_LONGEST_SHOWN = 80


def ordered_names(listed: Sequence[str] | None, mentioned: Iterable[tuple[str, str]], *, kind: str) -> tuple[str, ...]:
    """All names of one kind: the listed ones, or in order of first mention.

    `mentioned` gives (where, name); with a list, a name outside it is an error at its place.

    >>> ordered_names(None, [("[0]", "b"), ("[1]", "a"), ("[2]", "b")], kind="state")
    ('b', 'a')
    """
    if listed is None:
        names: dict[str, None] = {}
        for where, name in mentioned:
            if not isinstance(name, str) or name not in names:
                require_name(name, where=where, kind=kind)
                names[name] = None
        return tuple(names)
    known = require_names(listed, where=f"{kind}s", kind=kind)
    for where, name in mentioned:
        require_known(name, known, where=where, kind=kind)
    return tuple(known)


def mentioned_names(rows: Sequence[tuple[object, ...]], *columns: int) -> Iterator[tuple[str, str]]:
    """(where, name) for each name in these columns of a table of transitions, as `ordered_names` takes them."""
    for index, row in enumerate(rows):
        for column in columns:
            yield f"transitions[{index}][{column}]", cast(str, row[column])  # whether it is one is checked there


def require_names(names: object, *, where: str, kind: str) -> dict[str, None]:
    """The names of a list, in its order; refuses what is not a list of distinct names."""
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise ModelError(where, expected=f"a list of {kind} names", found=shown(names))
    known: dict[str, None] = {}
    for position, name in enumerate(names):
        entry = f"{where}[{position}]"
        require_name(name, where=entry, kind=kind)
        if name in known:
            raise ModelError(entry, expected=f"each {kind} once", found=f"{shown(name)} again")
        known[name] = None
    return known


def require_some(names: object, known: Container[object], *, where: str, kind: str) -> tuple[str, ...]:
    """The names of a list, at least one, that the model has."""
    result = require_names(names, where=where, kind=kind)
    if not result:
        raise ModelError(where, expected=f"at least one {where} {kind}", found="none")
    for position, name in enumerate(result):
        require_known(name, known, where=f"{where}[{position}]", kind=kind)
    return tuple(result)


def require_name(name: object, *, where: str, kind: str) -> None:
    """Refuse what is not a name: a string that every file can hold."""
    if not isinstance(name, str):
        raise ModelError(where, expected=f"a {kind} name, a string", found=shown(name))
    if not name.isascii() and any("\ud800" <= character <= "\udfff" for character in name):
        raise ModelError(where, expected=f"a {kind} name of Unicode characters", found="half a surrogate pair")


def require_known(name: object, known: Container[object], *, where: str, kind: str) -> None:
    """Refuse a name that the model does not have."""
    if not isinstance(name, str):
        require_name(name, where=where, kind=kind)
    elif name not in known:
        raise ModelError(where, expected=f"a {kind} that occurs in the model", found=shown(name))


def require_rows(rows: object, *, columns: str, width: int = 3, where: str = "transitions") -> list[tuple[object, ...]]:
    """The rows of a table, of transitions by default, as tuples; refuses rows without exactly these `columns`."""
    if isinstance(rows, str) or not isinstance(rows, Iterable):
        raise ModelError(where, expected=f"a list of rows of {columns}", found=shown(rows))
    checked = []
    for index, row in enumerate(rows):
        if isinstance(row, str) or not isinstance(row, Sequence) or len(row) != width:
            raise ModelError(f"{where}[{index}]", expected=columns, found=shown(row))
        checked.append(tuple(row))
    return checked


def unlike(name: str, taken: Container[object]) -> str:
    """The name, made longer until it is none of those that are taken.

    >>> unlike("end", ["end", "end'"])
    "end''"
    """
    while name in taken:
        name += "'"
    return name


def counted(count: int, noun: str) -> str:
    """A number of things in words.

    >>> counted(1, "state"), counted(2, "state")
    ('1 state', '2 states')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"


def shown(value: object) -> str:
    """`value` for a message: on one line, and short.

    >>> shown("a\\nb"), len(shown("a" * 1000))
    ("'a\\\\nb'", 81)
    """
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print very long integers
        return f"a {type(value).__name__} of thousands of digits"
    except RecursionError:
        return f"a {type(value).__name__}, nested too deeply"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


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
    """Warn the holder that two names may be one person's; the warning does not say which ones."""
    tell_holder(
        "some names of persons differ only in upper and lower case, blanks at their ends or look-alike characters; "
        "each of them counts as a person with a budget of their own: if two are one person's, spell them alike"
    )
