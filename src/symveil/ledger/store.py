"""The ledger's database: its tables, and how it is opened. SQLite by itself, PostgreSQL when it is shared.

An older ledger is read as it is: columns that it does not have yet are empty. It gets them with the first
transaction that changes it, and all of that happens or nothing. Looking changes nothing.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from symveil.errors import LedgerError, SymveilError, reason

VERSION = "2"
_OLDER = ("1",)
_PATIENCE = 600  # seconds that a transaction waits for another one to finish

Default = TypeVar("Default", str, None)

_tables = sa.MetaData()
_big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")  # SQLite numbers rows of INTEGER columns only

settings = sa.Table(
    "symveil_settings",
    _tables,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)
persons = sa.Table(
    "symveil_persons",
    _tables,
    sa.Column("number", _big, primary_key=True, autoincrement=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("granted", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("spent", sa.BigInteger, nullable=False, server_default="0"),
)
grants = sa.Table(
    "symveil_grants",
    _tables,
    sa.Column("number", _big, primary_key=True, autoincrement=True),
    sa.Column("person", _big, nullable=True),  # none: everybody
    sa.Column("amount", sa.BigInteger, nullable=False),
    sa.Column("created", sa.Text, nullable=False),
    sa.Column("unit", sa.Text, nullable=True),  # what budgets are for since then; none: as before
)
releases = sa.Table(
    "symveil_releases",
    _tables,
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
    _tables,
    sa.Column("person", _big, primary_key=True, autoincrement=False),
    sa.Column("release", _big, primary_key=True, autoincrement=False),
    sa.Column("sequences", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
_ADDED = (grants.c.unit, *(releases.c[name] for name in ("settings", "drawn", "unit", "mechanism", "record")))
"""The columns that version 2 has more than version 1."""


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
                if version not in (VERSION, *_OLDER):
                    raise _of_another_version(self.url, version)
                return
            if not create:
                raise LedgerError(f"{shown(self.url)}: expected a ledger, found a database without one")
            with self.connection() as connection, self._alone(connection):
                _tables.create_all(connection)
                # two processes may both find an empty database; the second one finds the tables made
                if _version(connection) is None:
                    connection.execute(settings.insert(), [{"name": "version", "value": VERSION}])
                    connection.execute(settings.insert(), [{"name": "allowance", "value": "0"}])

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A connection for looking."""
        with _explained(self.url), _meaningful(self.url), self._engine.connect() as connection:
            connection.info[_IS_OLDER] = _version(connection) in _OLDER
            yield connection

    @contextmanager
    def connection(self) -> Iterator[sa.Connection]:
        """A connection for several transactions, each begun with `begin_writing`."""
        with _explained(self.url), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """One transaction that nobody else's comes between."""
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

    def _migrate(self, connection: sa.Connection) -> None:
        """Add the columns that an older ledger does not have. Nothing that is in it is touched."""
        version = _version(connection)
        if version != VERSION:
            if version not in _OLDER:
                raise _of_another_version(self.url, version)
            for column in _ADDED:
                kind = column.type.compile(connection.dialect)
                connection.exec_driver_sql(f"ALTER TABLE {column.table.name} ADD COLUMN {column.name} {kind}")
            connection.execute(settings.update().where(settings.c.name == "version").values(value=VERSION))
        connection.info[_IS_OLDER] = False

    def close(self) -> None:
        """Let go of all connections."""
        self._engine.dispose()


_IS_OLDER = "symveil_is_older"


def columns(table: sa.Table, connection: sa.Connection) -> list[sa.ColumnElement[Any]]:
    """The columns of a table, empty where this ledger is too old to have them."""
    older = connection.info.get(_IS_OLDER, False)
    missing = {column.name for column in _ADDED if column.table is table} if older else set()
    return [sa.null().label(column.name) if column.name in missing else column for column in table.columns]


def unit_column(connection: sa.Connection) -> sa.ColumnElement[str | None]:
    """In which unit each release was charged."""
    return next(column for column in columns(releases, connection) if column.name == "unit")


def read_setting(connection: sa.Connection, name: str, default: Default) -> str | Default:
    """A setting of the ledger, or the default where it has none of that name."""
    value = connection.scalar(sa.select(settings.c.value).where(settings.c.name == name))
    return default if value is None else str(value)


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
        url, isolation_level="AUTOCOMMIT", connect_args={"timeout": _PATIENCE}, hide_parameters=True
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
