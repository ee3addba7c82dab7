"""The tables of a ledger."""

from __future__ import annotations

from typing import Any, TypeVar

import sqlalchemy as sa

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
