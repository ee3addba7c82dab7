"""The tables of a ledger.

The two books of a ledger: losses between words, and losses between files with and without a person.

They do not add up (`units`), so each has grants, charges and a δ of its own. A grant that names neither is for what the
ledger is used for first, as in a ledger that has one book only; the other one has nothing until it is granted
something.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import sqlalchemy as sa

from symveil.ledger.units import PERSON, Compares, read_unit

Default = TypeVar("Default", str, None)

VERSION = "3"
OLDER = ("1", "2")
"""The versions that become this one with the first change."""

tables = sa.MetaData()
_big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")  # SQLite numbers rows of INTEGER columns only

settings = sa.Table(
    "symveil_settings",
    tables,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)
persons = sa.Table(
    "symveil_persons",
    tables,
    sa.Column("number", _big, primary_key=True, autoincrement=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("granted", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("spent", sa.BigInteger, nullable=False, server_default="0"),
    # since version 3: the same for releases that compare files with and without a person (books)
    sa.Column("person_granted", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("person_spent", sa.BigInteger, nullable=False, server_default="0"),
)
grants = sa.Table(
    "symveil_grants",
    tables,
    sa.Column("number", _big, primary_key=True, autoincrement=True),
    sa.Column("person", _big, nullable=True),  # none: everybody
    sa.Column("amount", sa.BigInteger, nullable=False),
    sa.Column("created", sa.Text, nullable=False),
    sa.Column("unit", sa.Text, nullable=True),  # what budgets are for since then; none: as before
)
releases = sa.Table(
    "symveil_releases",
    tables,
    sa.Column("number", _big, primary_key=True, autoincrement=True),
    sa.Column("release_id", sa.Text, nullable=False, unique=True),
    sa.Column("state", sa.Text, nullable=False),  # pending, then done or abandoned
    sa.Column("charge", sa.BigInteger, nullable=False),  # units for each sequence
    sa.Column("loss", sa.Text, nullable=False),  # how its privacy loss is distributed (composition)
    sa.Column("sequences", sa.BigInteger, nullable=False),
    sa.Column("persons", sa.BigInteger, nullable=False),
    sa.Column("created", sa.Text, nullable=False),
    sa.Column("finished", sa.Text, nullable=True),
    sa.Column("out", sa.Text, nullable=False),
    sa.Column("digest", sa.Text, nullable=True),
    sa.Column("manifest", sa.Text, nullable=True),
    # only while pending: with the key the noise can be undone
    sa.Column("release_key", sa.LargeBinary, nullable=True),
    sa.Column("stamp", sa.LargeBinary, nullable=True),  # of input and settings; once done, of parameters only
    # since version 2; empty in what 0.2 has charged
    sa.Column("settings", sa.Text, nullable=True),  # everything public that decides what is drawn
    sa.Column("drawn", sa.Text, nullable=True),  # what the words hash to, where that is not the digest
    sa.Column("unit", sa.Text, nullable=True),  # what its ε is an ε of
    sa.Column("mechanism", sa.Text, nullable=True),
    sa.Column("record", sa.Text, nullable=True),  # what one sequence is: a row, a case, a trace
)
charges = sa.Table(
    "symveil_charges",
    tables,
    sa.Column("person", _big, primary_key=True, autoincrement=False),
    sa.Column("release", _big, primary_key=True, autoincrement=False),
    sa.Column("sequences", sa.BigInteger, nullable=False),
    # since version 3: what these words lose when all of them are replaced, in millionths; none: no bound is known
    sa.Column("whole", sa.BigInteger, nullable=True),
    sqlite_with_rowid=False,
)
ADDED: dict[str, tuple[sa.Column[Any], ...]] = {
    "2": (grants.c.unit, *(releases.c[name] for name in ("settings", "drawn", "unit", "mechanism", "record"))),
    "3": (persons.c.person_granted, persons.c.person_spent, charges.c.whole),
}
"""The columns that a version has more than the one before."""
VERSION_OF = "symveil_version"
"""Under which name a connection has the version of the ledger that it reads."""


def missing_columns(version: str | None) -> list[sa.Column[Any]]:
    """The columns that a ledger of this version does not have."""
    return [column for since, added in ADDED.items() if version in OLDER and version < since for column in added]


def columns(table: sa.Table, connection: sa.Connection) -> list[sa.ColumnElement[Any]]:
    """The columns of a table, empty where this ledger is too old to have them."""
    missing = {column.name for column in missing_columns(connection.info.get(VERSION_OF)) if column.table is table}
    return [
        (sa.null() if column.nullable else sa.literal(0)).label(column.name) if column.name in missing else column
        for column in table.columns
    ]


def own_column(table: sa.Table, name: str, connection: sa.Connection) -> sa.ColumnElement[Any]:
    """One of them."""
    return next(column for column in columns(table, connection) if column.name == name)


def read_setting(connection: sa.Connection, name: str, default: Default) -> str | Default:
    """A setting of the ledger, or the default where it has none of that name."""
    value = connection.scalar(sa.select(settings.c.value).where(settings.c.name == name))
    return default if value is None else str(value)


def write_setting(connection: sa.Connection, name: str, value: str) -> None:
    """Set it, whether or not the ledger has one of that name."""
    connection.execute(settings.delete().where(settings.c.name == name))
    connection.execute(settings.insert(), [{"name": name, "value": value}])


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

    def amounts(self, row: Any) -> tuple[int, int]:
        """What a person's row has as granted and as spent in this book."""
        granted, spent = (int(row._mapping[name]) if name else 0 for name in (self.granted, self.spent))
        return granted, spent

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
        result = read_setting(connection, "first_use", None)
        return None if result is None else "persons" if result == "persons" else "words"
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
        return replace(_WORDS, compares=wanted) if first is None or wanted == "words" else _PERSONS
    if first in (None, wanted):
        return replace(_WORDS, compares=wanted)
    return Book(wanted, "", "", "no_allowance", "no_delta")


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
