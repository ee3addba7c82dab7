"""The two books of a ledger: losses between words, and losses between files with and without a person.

They do not add up (`units`), so each has grants, charges and a δ of its own. A grant that names neither is for what the
ledger is used for first, as in a ledger that has one book only; the other one has nothing until it is granted
something.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from symveil.ledger.tables import (
    VERSION,
    VERSION_OF,
    grants,
    own_column,
    persons,
    read_setting,
    releases,
    settings,
    write_setting,
)
from symveil.ledger.units import PERSON, Compares, read_unit


@dataclass(frozen=True, slots=True)
class Book:
    """Where the grants and charges of one kind stand."""

    compares: Compares
    granted: str
    """A column of persons; empty where an older ledger has no such book."""
    spent: str
    allowance: str
    delta: str

    def column(self, name: str) -> sa.ColumnElement[int]:
        """The column that is `granted` or `spent` in this book."""
        own = str(getattr(self, name))
        return persons.c[own] if own else sa.literal(0)

    def read_allowance(self, connection: sa.Connection) -> int:
        """What everybody has been granted."""
        return int(read_setting(connection, self.allowance, "0"))

    def read_delta(self, connection: sa.Connection) -> str:
        """The δ of its budgets."""
        return read_setting(connection, self.delta, "0")

    def releases(self, connection: sa.Connection) -> sa.ColumnElement[bool]:
        """Which releases are charged in it. What 0.2 charged, without saying in which unit, was for words."""
        unit = own_column(releases, "unit", connection)
        if isinstance(unit, sa.Label):
            return sa.true() if self.compares == "words" else sa.false()
        of_persons = sa.func.coalesce(unit, "").like('%"compares": "persons"%')
        return of_persons if self.compares == "persons" else sa.not_(of_persons)

    def has_grants(self, connection: sa.Connection) -> bool:
        """Whether anybody was granted anything in it."""
        if self.read_allowance(connection):
            return True
        own = self.column("granted")
        return connection.scalar(sa.select(persons.c.number).where(own != 0).limit(1)) is not None


_WORDS = Book("words", "granted", "spent", "allowance", "delta")
_PERSONS = Book("persons", "person_granted", "person_spent", "person_allowance", "person_delta")


def first_use(connection: sa.Connection) -> Compares | None:
    """What grants that name no book are for; None: nothing was charged yet, and no grant has named a book."""
    if connection.info.get(VERSION_OF) == VERSION:
        found = read_setting(connection, "first_use", None)
        return None if found is None else "persons" if found == "persons" else "words"
    texts = connection.scalars(sa.select(own_column(releases, "unit", connection)).select_from(releases)).all()
    kinds: set[Compares] = {unit.compares if (unit := read_unit(text)) is not None else "words" for text in set(texts)}
    if kinds or read_setting(connection, "unit", None) is not None:
        return "persons" if kinds == {"persons"} else "words"
    return None


def book_of(connection: sa.Connection, compares: Compares | None) -> Book:
    """The book for a kind of charges, as this ledger has it; for None that of grants which name none.

    An older ledger has one book, for what it was used for first; the other one is empty there.
    """
    first = first_use(connection)
    wanted = compares or first or "words"
    if connection.info.get(VERSION_OF) == VERSION:
        return _as(_WORDS, wanted) if first is None or wanted == "words" else _PERSONS
    if first in (None, wanted):
        return _as(_WORDS, wanted)
    return Book(wanted, "", "", "no_allowance", "no_delta")


def _as(book: Book, compares: Compares) -> Book:
    return Book(compares, book.granted, book.spent, book.allowance, book.delta)


def settle(connection: sa.Connection, compares: Compares) -> None:
    """The first charge, or the first grant that names a book, decides what grants that named none were for."""
    if first_use(connection) is None:
        write_setting(connection, "first_use", compares)
        if compares == "persons":
            _move(connection)


def settle_older(connection: sa.Connection) -> None:
    """The same for a ledger that becomes one of this version: it has one book."""
    first = first_use(connection)
    if first is not None:
        write_setting(connection, "first_use", first)
    if first == "persons":
        _move(connection)


def _move(connection: sa.Connection) -> None:
    """What stands in the book of words belongs into that of persons."""
    values: dict[Any, Any] = {
        persons.c.person_granted: persons.c.person_granted + persons.c.granted,
        persons.c.person_spent: persons.c.person_spent + persons.c.spent,
        persons.c.granted: 0,
        persons.c.spent: 0,
    }
    connection.execute(persons.update().values(values))
    for one, other in ((_WORDS.allowance, _PERSONS.allowance), (_WORDS.delta, _PERSONS.delta)):
        if (value := read_setting(connection, one, None)) is not None:
            write_setting(connection, other, value)
            connection.execute(settings.delete().where(settings.c.name == one))
    connection.execute(grants.update().where(grants.c.unit.is_(None)).values(unit=PERSON.text()))
