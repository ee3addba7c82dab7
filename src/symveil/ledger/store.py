"""The ledger's database: its tables, and how it is opened. SQLite by itself, PostgreSQL when it is shared.

An older ledger is read as it is: columns that it does not have yet are empty. It gets them with the first
transaction that changes it, and its persons get the one spelling of their names (`spellings`); all of that happens or
nothing. Looking changes nothing.

Persons whom an older version wrote into a ledger under another spelling of their name.

Before version 3 of the ledger a person was known by what a file or an engine printed: `7.0` and `7`, or a name in two
Unicode forms, were two persons with two budgets. A person must not get a fresh budget because names are spelled in one
way now: their accounts are put together, as if all grants and all charges had been one person's from the beginning.
"""

from __future__ import annotations

import os
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from symveil.errors import LedgerError, SymveilError, reason
from symveil.ledger.limits import LIMITS
from symveil.ledger.tables import (
    OLDER,
    VERSION,
    VERSION_OF,
    charges,
    columns,
    grants,
    missing_columns,
    persons,
    read_setting,
    settings,
    settle_older,
    tables,
)
from symveil.ledger.units import LARGEST, UNIT
from symveil.models.names import person_name

_MOST_SPENT = 4 * 10**18
"""Above any budget, and within 64 bits also when two of them are added."""


def persons_named(connection: sa.Connection, name: str) -> list[Any]:
    """The rows of a person: one, or none; several where a ledger that was not changed yet has several spellings."""
    spelled = person_name(name)
    wanted = columns(persons, connection)
    rows = list(connection.execute(sa.select(*wanted).where(persons.c.name == spelled)).all())
    if connection.info.get(VERSION_OF) != VERSION:
        others = [number for number, own in _old_spellings(connection) if person_name(own) == spelled]
        for start in range(0, len(others), LIMITS.now.rows_at_once):
            part = others[start : start + LIMITS.now.rows_at_once]
            rows += connection.execute(sa.select(*wanted).where(persons.c.number.in_(part))).all()
    return rows


def has_old_spellings(connection: sa.Connection) -> bool:
    """Whether a person is known by a name that is spelled in another way now."""
    return any(True for _ in _old_spellings(connection))


def respell(connection: sa.Connection) -> None:
    """Give every person the one spelling of their name; put the accounts of a person together who had several.

    Grants and charges are added. What everybody was granted counts once, where each spelling had it before: no person
    can lose more than before.
    """
    results: dict[str, list[int]] = defaultdict(list)
    for number, name in _old_spellings(connection):
        results[person_name(name)].append(number)
    renamed = []
    for name, numbers in results.items():
        known = connection.scalar(sa.select(persons.c.number).where(persons.c.name == name))
        if known is None:
            renamed.append({"own": numbers[0], "spelled": name})
        for other in numbers if known is not None else numbers[1:]:
            _put_together(connection, numbers[0] if known is None else int(known), other)
    if renamed:
        rename = persons.update().where(persons.c.number == sa.bindparam("own")).values(name=sa.bindparam("spelled"))
        connection.execute(rename, renamed)


def not_ascii(connection: sa.Connection) -> sa.ColumnElement[bool]:
    """Whether a person's name has other than ASCII characters."""
    size = sa.func.octet_length(persons.c.name)
    if connection.dialect.name == "sqlite":  # which has that function since 3.43 only
        size = sa.func.length(sa.cast(persons.c.name, sa.LargeBinary))
    return size != sa.func.length(persons.c.name)


def _old_spellings(connection: sa.Connection) -> Iterator[tuple[int, str]]:
    """The persons whose name is spelled in another way now."""
    may_change = sa.or_(
        not_ascii(connection),
        persons.c.name.like("%.%"),
        persons.c.name.like("%+%"),
        persons.c.name == "-0",
    )
    query = sa.select(persons.c.number, persons.c.name).where(may_change).order_by(persons.c.number)
    for number, name in connection.execute(query).all():  # a statement in use keeps a lock
        if person_name(name) != name:
            yield int(number), str(name)


def _put_together(connection: sa.Connection, number: int, other: int) -> None:
    """Everything of `other` becomes that of `number`."""
    rows = connection.execute(sa.select(persons).where(persons.c.number.in_([number, other]))).all()
    connection.execute(
        persons.update()
        .where(persons.c.number == number)
        .values(
            {
                name: min(sum(int(row._mapping[name]) for row in rows), most)
                for name, most in (
                    *((granted, LARGEST * UNIT) for granted in ("granted", "person_granted")),
                    *((spent, _MOST_SPENT) for spent in ("spent", "person_spent")),
                )
            }
        )
    )
    known = connection.execute(sa.select(charges).where(charges.c.person == number)).all()
    own = {row.release: row for row in known}
    for row in connection.execute(sa.select(charges).where(charges.c.person == other)).all():
        same_charge = sa.and_(
            charges.c.release == row.release, charges.c.person == (number if row.release in own else other)
        )
        if row.release in own:
            before = own[row.release]
            whole = None if None in (row.whole, before.whole) else row.whole + before.whole
            sequences = before.sequences + row.sequences
            connection.execute(charges.update().where(same_charge).values(sequences=sequences, whole=whole))
        else:
            connection.execute(charges.update().where(same_charge).values(person=number))
    connection.execute(charges.delete().where(charges.c.person == other))
    connection.execute(grants.update().where(grants.c.person == other).values(person=number))
    connection.execute(persons.delete().where(persons.c.number == other))


class Database:
    """An open ledger database."""

    def __init__(self, url: str, *, create: bool = True) -> None:
        self.url = url
        self._engine = _engine(url, create=create)
        self.is_sqlite = self._engine.dialect.name == "sqlite"
        self._prepare(create=create)

    def _prepare(self, *, create: bool) -> None:
        with _explained(self.url):
            if sa.inspect(self._engine).has_table(settings.name):
                with self._engine.connect() as connection:
                    version = _version(connection)
                if version not in (VERSION, *OLDER):
                    raise _of_another_version(self.url, version)
                return
            if not create:
                raise LedgerError(f"{shown(self.url)}: expected a ledger, found a database without one")
            with self.connection() as connection, self._alone(connection):
                tables.create_all(connection)
                # two processes may both find an empty database; the second one finds the tables made
                if _version(connection) is None:
                    connection.execute(settings.insert(), [{"name": "version", "value": VERSION}])
                    connection.execute(settings.insert(), [{"name": "allowance", "value": "0"}])

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A connection for looking."""
        with _explained(self.url), _meaningful(self.url), self._engine.connect() as connection:
            connection.info[VERSION_OF] = _version(connection)
            yield connection

    @contextmanager
    def connection(self) -> Iterator[sa.Connection]:
        """A connection for several transactions, each begun with `begin_writing`."""
        with _explained(self.url), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """One transaction that no other one interrupts."""
        with self.connection() as connection, self.begin_writing(connection):
            yield connection

    @contextmanager
    def begin_writing(self, connection: sa.Connection) -> Iterator[None]:
        """A transaction in which this connection alone changes the ledger; all of it happens, or nothing.

        A ledger of an older version becomes one of this version first.
        """
        with self._alone(connection):
            self._migrate(connection)
            yield

    @contextmanager
    def _alone(self, connection: sa.Connection) -> Iterator[None]:
        with _meaningful(self.url):
            if not self.is_sqlite:
                with connection.begin():
                    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
                    yield
                return
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                connection.exec_driver_sql("ROLLBACK")
                raise
            connection.exec_driver_sql("COMMIT")

    @contextmanager
    def as_if_current(self, connection: sa.Connection) -> Iterator[None]:
        """A transaction for looking: an older ledger whose persons have old spellings looks as it will be, for as long
        as the block lasts. Nothing of it stays.
        """
        connection.info[VERSION_OF] = _version(connection)
        if connection.info[VERSION_OF] == VERSION or not has_old_spellings(connection):
            yield
            return
        if not self.is_sqlite:
            connection.commit()
        with suppress(_RolledBackError), self.begin_writing(connection):
            yield
            raise _RolledBackError

    def _migrate(self, connection: sa.Connection) -> None:
        """Make an older ledger one of this version: its columns, and the spelling of its persons' names."""
        version = _version(connection)
        if version != VERSION:
            if version not in OLDER:
                raise _of_another_version(self.url, version)
            for column in missing_columns(version):
                kind = column.type.compile(connection.dialect) + ("" if column.nullable else " DEFAULT 0 NOT NULL")
                connection.exec_driver_sql(f"ALTER TABLE {column.table.name} ADD COLUMN {column.name} {kind}")
            settle_older(connection)
            respell(connection)
            connection.execute(settings.update().where(settings.c.name == "version").values(value=VERSION))
        connection.info[VERSION_OF] = VERSION

    def close(self) -> None:
        """Let go of all connections."""
        self._engine.dispose()


class _RolledBackError(Exception):
    """Ends a transaction of which nothing is to stay."""


def _version(connection: sa.Connection) -> str | None:
    return read_setting(connection, "version", None)


def _of_another_version(url: str, found: object) -> LedgerError:
    """What to do about a ledger that this version cannot use (docs/policies.md); nothing in it is touched."""
    text = str(found)[:40]
    newer = text.isascii() and text.isdigit() and int(text) > int(VERSION)
    hint = "it was made by a later symveil: install that version or a later one" if newer else "it is damaged"
    return LedgerError(f"{shown(url)}: expected a ledger of version {VERSION}, found {text!r}; {hint}")


_LOCK = 0x73796D7665696C  # "symveil": the one lock that charging processes take turns at


def _engine(url: str, *, create: bool) -> sa.Engine:
    location = url if "://" in url else f"sqlite:///{url}"
    try:
        parsed = sa.make_url(location)
    except (ArgumentError, ValueError):
        raise LedgerError(
            "ledger: expected a file, sqlite:///file or postgresql://user@host/database, found another address"
        ) from None
    if parsed.get_backend_name() == "sqlite":
        return _sqlite(parsed, create=create)
    if parsed.get_backend_name() != "postgresql":
        raise LedgerError(f"ledger: expected SQLite or PostgreSQL, found {parsed.get_backend_name()}")
    if parsed.drivername == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
    try:
        return sa.create_engine(parsed, hide_parameters=True)
    except (ModuleNotFoundError, NoSuchModuleError):
        raise LedgerError(
            "ledger: expected a PostgreSQL driver to be installed (the extra symveil[postgres], see docs/install.md), "
            "found none"
        ) from None


def _sqlite(url: sa.URL, *, create: bool) -> sa.Engine:
    if not url.database or url.database == ":memory:":
        raise LedgerError("ledger: expected a file, which outlives the process, found none")
    path = Path(url.database)
    if not path.exists():
        if not create:
            raise LedgerError(f"{path}: expected a ledger, found no file; symveil ledger grant makes one")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # it names people, and for a while it holds keys: for its owner only
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise LedgerError(f"{path}: expected a place for a ledger, found {reason(error)}") from None
    # SQLAlchemy sees autocommit, and transactions are begun by hand: the driver would begin them too late
    engine = sa.create_engine(
        url, isolation_level="AUTOCOMMIT", connect_args={"timeout": LIMITS.now.patience}, hide_parameters=True
    )

    @sa.event.listens_for(engine, "connect")
    def _connected(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA synchronous = FULL")  # a charge is on the disk before anything is drawn
        connection.execute("PRAGMA secure_delete = ON")  # an erased key leaves no trace in the file
        connection.execute("PRAGMA cache_size = -65536")

    return engine


@contextmanager
def _explained(url: str) -> Iterator[None]:
    """What goes wrong with the database, as one line."""
    try:
        yield
    except DBAPIError as error:
        raise LedgerError(f"{shown(url)}: expected a working ledger database, found {_cause(error)}") from None
    except SQLAlchemyError as error:
        raise LedgerError(f"{shown(url)}: expected a working ledger database, found {type(error).__name__}") from None
    except UnicodeError:  # Python's module around SQLite, of a message that quotes what is damaged
        raise LedgerError(f"{shown(url)}: expected a working ledger database, found damaged text in it") from None


# what PostgreSQL says about connections, rights, tables, resources and the like; other classes are about values
_ABOUT_NO_VALUE = ("08", "25", "28", "3D", "3F", "40", "42", "53", "54", "55", "57", "58")


def _cause(error: DBAPIError) -> str:
    """What the database says is wrong, where it cannot be quoting a value: the ledger's values are people's names."""
    driver = error.orig
    state = getattr(driver, "sqlstate", None)
    if isinstance(driver, sqlite3.Error):
        # SQLite itself names tables and columns; Python's module around it shows the text that it could not decode
        quotes_nothing = getattr(driver, "sqlite_errorcode", None) is not None
    elif state is None:
        quotes_nothing = error.connection_invalidated or type(driver).__name__ == "OperationalError"
    else:
        quotes_nothing = str(state).startswith(_ABOUT_NO_VALUE)
    lines = str(driver).strip().splitlines()
    if quotes_nothing and lines:
        return lines[0]
    return f"{type(driver).__name__}{f' {state}' if state else ''}"


@contextmanager
def _meaningful(url: str) -> Iterator[None]:
    """Values that symveil never writes, as one line: SQLite keeps any value in any column."""
    try:
        yield
    except (SymveilError, SQLAlchemyError):
        raise
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError):
        raise LedgerError(f"{shown(url)}: expected what symveil writes into a ledger, found something else") from None


def shown(url: str) -> str:
    """An address without its password."""
    return sa.make_url(url).render_as_string(hide_password=True) if "://" in url else url
