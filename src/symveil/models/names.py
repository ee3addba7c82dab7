"""Names in models: which there are, in which order, and where an unknown one stands."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import cast

from symveil.errors import ModelError

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
    found = require_names(names, where=where, kind=kind)
    if not found:
        raise ModelError(where, expected=f"at least one {where} {kind}", found="none")
    for position, name in enumerate(found):
        require_known(name, known, where=f"{where}[{position}]", kind=kind)
    return tuple(found)


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
