"""Charging: a release is paid for in one transaction, before anything of it is drawn.

The life of a release in the ledger:

    charge            one transaction: every person pays, the release is `pending` and its key is kept
    record_digest     the output is written aside and on the disk; what it must hash to is known
    (rename)          the output is put in its place
    finish            `done`; the key is erased

Whoever comes back to a pending release under the same id goes on with the same key, so it draws the
same words, under the charge that was made. The key is kept exactly that long.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

import sqlalchemy as sa

from symveil.errors import LedgerError, OverBudgetError
from symveil.ledger.amounts import shown_units
from symveil.ledger.composition import Budget, within_budget
from symveil.ledger.store import Database, charges, persons, releases, settings, shown

OverBudget = Literal["error", "drop"]

_ASKED = "symveil_asked"
_DUE = "symveil_due"
_LARGEST_SUM = 4 * 10**18  # within 64 bits, also when two of them are added
_NAMES_AT_ONCE = 50_000


@dataclass(frozen=True, kw_only=True, slots=True)
class LedgerRelease:
    """A release as the ledger knows it."""

    number: int
    release_id: str
    done: bool
    out: str
    digest: str | None
    manifest: str | None
    key: bytes | None = field(repr=False)
    stamp: bytes | None = field(repr=False)

    def has_stamp(self, content: bytes) -> bool:
        """Whether it was charged for this content: the same input, read and released in the same way."""
        return self.key is not None and self.stamp is not None and hmac.compare_digest(
            self.stamp, stamp_of(self.key, content)
        )  # fmt: skip

    def had_parameters(self, parameters: bytes) -> bool:
        """Whether it was made with these parameters, once it is done; True where the ledger does not know."""
        return self.stamp is None or hmac.compare_digest(self.stamp, parameters_stamp(parameters))


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What is to be charged: `charge` units for each sequence."""

    release_id: str
    charge: int
    loss: str
    out: str
    key: bytes = field(repr=False)
    content: bytes = field(repr=False)
    over_budget: OverBudget = "error"


def stamp_of(key: bytes, content: bytes) -> bytes:
    """A fingerprint that only the release's own key can make: the ledger learns nothing about the content."""
    return hmac.new(key, b"symveil stamp\0" + content, hashlib.sha256).digest()


def parameters_stamp(parameters: bytes) -> bytes:
    """What stays of a stamp when the key goes: of the public parameters only. A digest of the input that needs no key
    would let whoever has the ledger try guesses at the input.
    """
    return hashlib.sha256(b"symveil parameters\0" + parameters).digest()


def find_release(database: Database, release_id: str) -> LedgerRelease | None:
    """The release of this id."""
    with database.reading() as connection:
        return _found(connection, releases.c.release_id == release_id)


def find_pending(database: Database, out: str, content: bytes) -> LedgerRelease | None:
    """A release that was charged for this content and this output and was not finished."""
    with database.reading() as connection:
        rows = connection.execute(
            sa.select(releases).where(releases.c.out == out, releases.c.state == "pending")
        ).all()  # fmt: skip
    return next((found for row in rows if (found := _release(row)).has_stamp(content)), None)


class Charging:
    """Collects who has how many sequences, then charges all of them at once."""

    def __init__(self, database: Database, connection: sa.Connection) -> None:
        self._database, self._connection = database, connection
        self._sequences = 0
        connection.exec_driver_sql(f"CREATE TEMPORARY TABLE {_ASKED} (name TEXT NOT NULL, sequences BIGINT NOT NULL)")
        self._commit()

    def ask(self, names: list[str], counts: list[int]) -> None:
        """Some more persons and how many sequences each has; a person may come again."""
        if any("\0" in name for name in names):  # PostgreSQL has no such text
            raise LedgerError("person: expected names without the character NUL, found one with it")
        self._sequences += sum(counts)
        if self._database.is_sqlite:
            # a temporary table is this connection's own: nobody waits for this transaction
            self._connection.exec_driver_sql("BEGIN")
            self._connection.exec_driver_sql(
                f"INSERT INTO {_ASKED} VALUES (?, ?)", list(zip(names, counts, strict=True))  # noqa: S608 - our own name
            )  # fmt: skip
            self._connection.exec_driver_sql("COMMIT")
            return
        raw: Any = self._connection.connection.driver_connection
        try:
            with raw.cursor().copy(f"COPY {_ASKED} (name, sequences) FROM STDIN") as copy:
                for row in zip(names, counts, strict=True):
                    copy.write_row(row)
        except self._connection.dialect.loaded_dbapi.Error as error:  # past SQLAlchemy
            raise LedgerError(
                f"{shown(self._database.url)}: expected a working ledger database, found {type(error).__name__}"
            ) from None
        self._commit()

    def charge(self, request: Request) -> tuple[LedgerRelease, list[str]]:
        """Charge everybody, or nobody: the release, and the persons who are left out for want of budget.

        A release that is pending under this id is not charged again.
        """
        connection = self._connection
        with self._database.begin_writing(connection):
            connection.exec_driver_sql(
                f"CREATE TEMPORARY TABLE {_DUE} AS "  # noqa: S608 - our own names
                f"SELECT name, CAST(SUM(sequences) AS BIGINT) AS sequences FROM {_ASKED} GROUP BY name"
            )
            known = _found(connection, releases.c.release_id == request.release_id)
            if known is not None:
                return known, self._left_out_before(known)
            connection.exec_driver_sql(
                f"INSERT INTO {persons.name} (name) SELECT name FROM {_DUE} WHERE true ON CONFLICT (name) DO NOTHING"  # noqa: S608
            )
            refused = self._refused(request)
            if refused and request.over_budget == "error":
                raise OverBudgetError(
                    f"{shown(self._database.url)}: expected {shown_units(request.charge)} of budget for each sequence "
                    f"of every person, found {len(refused)} persons with less; grant more with symveil ledger grant, "
                    "or leave them out with --over-budget drop",
                    persons=len(refused),
                )
            self._delete(refused)
            number = self._write(request)
        return _required(self._database, number), refused

    def _refused(self, request: Request) -> list[str]:
        """Those whose budget does not cover the charge, neither by adding nor by composing losses."""
        allowance, delta = _allowance(self._connection)
        rows = self._connection.execute(
            sa.text(
                f"SELECT d.name, p.number, d.sequences, p.granted FROM {_DUE} d "  # noqa: S608 - our own names
                f"JOIN {persons.name} p ON p.name = d.name WHERE CASE WHEN d.sequences > :most THEN true "
                "ELSE p.spent + d.sequences * :charge > p.granted + :allowance END ORDER BY p.number"
            ),
            {"charge": request.charge, "allowance": allowance, "most": _LARGEST_SUM // max(request.charge, 1)},
        ).all()
        if not rows or delta == 0:
            return [row.name for row in rows]
        budgets = [
            Budget(person=row.number, epsilon_units=row.granted + allowance, sequences=row.sequences) for row in rows
        ]
        covered = within_budget(self._connection, budgets, loss=request.loss, delta=delta)
        return [row.name for row in rows if row.number not in covered]

    def _delete(self, names: list[str]) -> None:
        for start in range(0, len(names), _NAMES_AT_ONCE):
            part = [{"name": name} for name in names[start : start + _NAMES_AT_ONCE]]
            self._connection.execute(sa.text(f"DELETE FROM {_DUE} WHERE name = :name"), part)  # noqa: S608

    def _write(self, request: Request) -> int:
        connection = self._connection
        totals = connection.exec_driver_sql(f"SELECT COUNT(*), COALESCE(SUM(sequences), 0) FROM {_DUE}").one()  # noqa: S608
        number = connection.execute(
            releases.insert().returning(releases.c.number),
            [
                {
                    "release_id": request.release_id,
                    "state": "pending",
                    "charge": request.charge,
                    "loss": request.loss,
                    "persons": int(totals[0]),
                    "sequences": int(totals[1]),
                    "created": now(),
                    "out": request.out,
                    "release_key": request.key,
                    "stamp": stamp_of(request.key, request.content),
                }
            ],
        ).scalar_one()
        connection.execute(
            sa.text(
                f"UPDATE {persons.name} SET spent = spent + d.sequences * :charge FROM {_DUE} d "  # noqa: S608
                f"WHERE d.name = {persons.name}.name"
            ),
            {"charge": request.charge},
        )
        connection.execute(
            sa.text(
                f"INSERT INTO {charges.name} (person, release, sequences) SELECT p.number, :release, d.sequences "  # noqa: S608
                f"FROM {_DUE} d JOIN {persons.name} p ON p.name = d.name"
            ),
            {"release": number},
        )
        return int(number)

    def _left_out_before(self, known: LedgerRelease) -> list[str]:
        """Who was left out when this release was charged."""
        rows = self._connection.execute(
            sa.text(
                f"SELECT d.name FROM {_DUE} d WHERE NOT EXISTS (SELECT 1 FROM {persons.name} p "  # noqa: S608
                f"JOIN {charges.name} c ON c.person = p.number WHERE p.name = d.name AND c.release = :release)"
            ),
            {"release": known.number},
        )
        return [row.name for row in rows]

    def _commit(self) -> None:
        if not self._database.is_sqlite:
            self._connection.commit()


@contextmanager
def charging(database: Database) -> Iterator[Charging]:
    """A place to collect charges; what is collected is forgotten afterwards."""
    with database.connection() as connection:
        try:
            yield Charging(database, connection)
        finally:
            connection.invalidate()  # its temporary tables go with it


def record_digest(database: Database, release: LedgerRelease, *, digest: str, manifest: str) -> None:
    """The output is on the disk, aside: what it must hash to once it is in its place."""
    with database.writing() as connection:
        _update_pending(connection, release, {"digest": digest, "manifest": manifest})


def finish(database: Database, release: LedgerRelease, *, parameters: bytes | None = None) -> None:
    """The output is in its place: the release is done, its key is erased, and its stamp is of its parameters only."""
    stamp = None if parameters is None else parameters_stamp(parameters)
    with database.writing() as connection:
        _update_pending(
            connection, release, {"state": "done", "finished": now(), "release_key": None, "stamp": stamp}
        )  # fmt: skip


def _update_pending(connection: sa.Connection, release: LedgerRelease, values: dict[str, Any]) -> None:
    pending = sa.and_(releases.c.number == release.number, releases.c.state == "pending")
    changed = connection.execute(releases.update().where(pending).values(**values))
    if changed.rowcount != 1:
        raise LedgerError(f"release {release.release_id}: expected it to be pending, found it finished by another run")


def now() -> str:
    """The time, for the record."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _allowance(connection: sa.Connection) -> tuple[int, float]:
    values = {row.name: row.value for row in connection.execute(sa.select(settings.c.name, settings.c.value))}
    return int(values.get("allowance", "0")), float(values.get("delta", "0"))


def _found(connection: sa.Connection, condition: sa.ColumnElement[bool]) -> LedgerRelease | None:
    row = connection.execute(sa.select(releases).where(condition)).one_or_none()
    return None if row is None else _release(row)


def _required(database: Database, number: int) -> LedgerRelease:
    with database.reading() as connection:
        return _release(connection.execute(sa.select(releases).where(releases.c.number == number)).one())


def _release(row: Any) -> LedgerRelease:
    return LedgerRelease(
        number=row.number,
        release_id=row.release_id,
        done=row.state == "done",
        out=row.out,
        digest=row.digest,
        manifest=row.manifest,
        key=None if row.release_key is None else bytes(row.release_key),
        stamp=None if row.stamp is None else bytes(row.stamp),
    )


def in_parts(names: Iterable[str], size: int = _NAMES_AT_ONCE) -> Iterator[list[str]]:
    """Names in lists of bounded length."""
    part: list[str] = []
    for name in names:
        part.append(name)
        if len(part) == size:
            yield part
            part = []
    if part:
        yield part
