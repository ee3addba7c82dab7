"""Charging: a release is paid for in one transaction, before anything of it is drawn (`lifecycle` tells the rest)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import sqlalchemy as sa

from symveil.errors import LedgerError, OverBudgetError
from symveil.ledger.composition import Budget, delta_of, spent_deltas, within_budget
from symveil.ledger.lifecycle import LedgerRelease, now, release_where, stamp_of
from symveil.ledger.limits import LIMITS
from symveil.ledger.store import Database, not_ascii, shown
from symveil.ledger.tables import Book, book_of, charges, first_use, persons, read_setting, releases, settle
from symveil.ledger.units import Unit, read_unit, shown_units
from symveil.models.names import folded, person_name, tell_alike
from symveil.numbers.rationals import exact, spelled

OverBudget = Literal["error", "drop"]

_REQUESTED = "symveil_asked"
_DUE = "symveil_due"
_LARGEST_SUM = 4 * 10**18  # within 64 bits, also when two of them are added


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What is to be charged: `charge` units for each sequence."""

    release_id: str
    charge: int
    loss: str
    unit: Unit
    mechanism: str
    record: str
    """What one sequence is: a row, a case, a trace."""
    out: str
    settings: str
    """Everything public that decides what is drawn."""
    key: bytes = field(repr=False)
    content: bytes = field(repr=False)
    over_budget: OverBudget = "error"


@dataclass(frozen=True, kw_only=True, slots=True)
class Bill:
    """Who pays for a release, for its holder: how many persons there are is in no manifest."""

    persons: int
    sequences: int
    largest: int
    """What the person with the most sequences pays, in units."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Due:
    """What persons with equally many sequences would be charged."""

    sequences: int
    persons: int
    lacking: int
    """How many of them have too little budget."""


def check_unit(database: Database, unit: Unit) -> None:
    """Refuse now what `charge` would refuse: a unit that budgets of this ledger are not for."""
    with database.reading() as connection:
        _check_unit(database, connection, unit)


def check_delta(database: Database, loss: str, unit: Unit) -> None:
    """Refuse now what no budget could pay for: a δ above that of this ledger's budgets."""
    with database.reading() as connection:
        _check_delta(database, connection, loss, unit)


def _check_delta(database: Database, connection: sa.Connection, loss: str, unit: Unit) -> None:
    wanted, allowed = delta_of([(loss, 1)]), exact(book_of(connection, unit.compares).read_delta(connection))
    if wanted > allowed:
        raise LedgerError(
            f"{shown(database.url)}: expected budgets with a delta of {spelled(wanted)} or more for a release that has "
            f"one, found {spelled(allowed)}; grant it: symveil ledger grant --everyone --epsilon E --delta "
            f"{spelled(wanted)}"
        )


def _check_unit(database: Database, connection: sa.Connection, unit: Unit) -> None:
    first = first_use(connection)
    if first not in (None, unit.compares) and not book_of(connection, unit.compares).has_grants(connection):
        raise LedgerError(f"{shown(database.url)}: {_NO_GRANT[unit.compares]}")
    wanted = read_unit(read_setting(connection, "unit", None))
    if unit.compares == "words" and wanted is not None and not unit.covers(wanted):
        raise LedgerError(
            f"{shown(database.url)}: expected charges in {wanted}, which budgets of this ledger are for, or in a unit "
            f"that covers it, found {unit}; release with that adjacency, metric and start, or use another ledger"
        )


_NO_GRANT = {
    "persons": (
        "expected a grant for persons, added or removed, beside the grants for words, found none; the two losses do "
        "not add up, since the number and lengths of words are not hidden there: release with "
        "`neighbours='replace'`, which is charged to the budgets for words, or grant one: symveil ledger grant "
        "--everyone --epsilon E --for persons"
    ),
    "words": (
        "expected a grant for words beside the grants for persons, added or removed, found none; the two losses do not "
        "add up: grant one: symveil ledger grant --everyone --epsilon E --for words"
    ),
}
"""The refusal of a release of a kind for which no one has been granted anything, by that kind."""


class Charging:
    """Collects who has how many sequences, then charges all of them at once."""

    def __init__(self, database: Database, connection: sa.Connection) -> None:
        self._database, self._connection = database, connection
        self._sequences = 0
        self.bill: Bill | None = None
        """Who paid, once it is charged."""
        self.largest_whole: int | None = None
        """What one person's words lose at most when all of them are replaced, in millionths, once it is looked at."""
        connection.exec_driver_sql(
            f"CREATE TEMPORARY TABLE {_REQUESTED} "
            "(name TEXT NOT NULL, alike TEXT NOT NULL, sequences BIGINT NOT NULL, whole BIGINT)"
        )
        self._commit()

    def ask(self, names: list[str], counts: list[int], whole: list[int | None] | None = None) -> None:
        """Some more persons and how many sequences each has; a person may come again, also in another spelling.

        `whole` has what each of them loses when all of these sequences are replaced, in millionths; None where no bound
        is known.
        """
        names = list(map(person_name, names))
        if any("\0" in name for name in names):  # PostgreSQL has no such text
            raise LedgerError("person: expected names without the character NUL, found one with it")
        self._sequences += sum(counts)
        known = [None] * len(names) if whole is None else whole
        rows = [(name, folded(name), count, own) for name, count, own in zip(names, counts, known, strict=True)]
        if self._database.is_sqlite:
            # a temporary table is this connection's own: nobody waits for this transaction
            self._connection.exec_driver_sql("BEGIN")
            self._connection.exec_driver_sql(
                f"INSERT INTO {_REQUESTED} VALUES (?, ?, ?, ?)", rows  # noqa: S608 - our own name
            )  # fmt: skip
            self._connection.exec_driver_sql("COMMIT")
            return
        raw: Any = self._connection.connection.driver_connection
        try:
            with raw.cursor().copy(f"COPY {_REQUESTED} (name, alike, sequences, whole) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        except self._connection.dialect.loaded_dbapi.Error as error:  # past SQLAlchemy
            raise LedgerError(
                f"{shown(self._database.url)}: expected a working ledger database, found {type(error).__name__}"
            ) from None
        self._commit()

    def charge(self, request: Request) -> tuple[LedgerRelease, list[str]]:
        """Charge every person, or none: the release, and the persons who are left out for lack of budget.

        A release that is pending under this id is not charged again.
        """
        connection = self._connection
        with self._database.begin_writing(connection):
            self._add_up()
            known = release_where(connection, releases.c.release_id == request.release_id)
            if known is not None:
                self.bill = self._bill_of(known.number)
                return known, self._left_out_before(known)
            _check_unit(self._database, connection, request.unit)
            _check_delta(self._database, connection, request.loss, request.unit)
            self._warn_of_alike()
            connection.exec_driver_sql(
                f"INSERT INTO {persons.name} (name) SELECT name FROM {_DUE} WHERE true ON CONFLICT (name) DO NOTHING"  # noqa: S608
            )
            refused = self._refused(request)
            if refused and request.over_budget == "error":
                command = "symveil ledger grant"
                if first_use(connection) not in (None, request.unit.compares):
                    command = f"symveil ledger grant --for {request.unit.compares}"
                who = f"{len(refused)} person{'s' if len(refused) > 1 else ''}"
                raise OverBudgetError(
                    f"{shown(self._database.url)}: expected {shown_units(request.charge)} of budget for each sequence "
                    f"of every person, found {who} with less; grant more with {command}, "
                    "or leave them out with `over_budget='drop'`",
                    persons=len(refused),
                )
            self._delete(refused)
            number = self._write(request)
            release = release_where(connection, releases.c.number == number)
        if release is None:
            raise LedgerError(f"{shown(self._database.url)}: expected the release just charged, found none")
        return release, refused

    def preview(self, *, charge: int, loss: str, unit: Unit) -> tuple[list[Due], list[str]]:
        """What `charge` would do, changing nothing: who would pay what, most first, and who has too little budget."""
        try:
            with self._database.as_if_current(self._connection):
                self._add_up()
                self._warn_of_alike()
                lacking = self._lacking(charge, loss, book_of(self._connection, unit.compares))
                groups = self._connection.exec_driver_sql(
                    f"SELECT sequences, COUNT(*) FROM {_DUE} GROUP BY sequences ORDER BY sequences DESC"  # noqa: S608
                ).all()
                self.largest_whole = self._largest_whole()
        finally:
            self._commit()
        without = Counter(sequences for _, sequences in lacking)
        dues = [Due(sequences=int(own), persons=int(count), lacking=without[int(own)]) for own, count in groups]
        return dues, [name for name, _ in lacking]

    def _warn_of_alike(self) -> None:
        """Warn the holder where a name is easily mistaken for another one, of this release or of the ledger."""
        within = f"SELECT 1 FROM {_DUE} GROUP BY alike HAVING COUNT(*) > 1 LIMIT 1"  # noqa: S608 - our own name
        known = (
            f"SELECT 1 FROM {persons.name} p CROSS JOIN {_DUE} d "  # noqa: S608 - SQLite keeps the order of a cross join
            "WHERE d.alike = lower(trim(p.name)) AND p.name <> d.name LIMIT 1"
        )
        self._connection.exec_driver_sql(f"CREATE INDEX {_DUE}_alike ON {_DUE} (alike)")
        if any(self._connection.exec_driver_sql(query).all() for query in (within, known)):
            tell_alike()
            return
        # the database folds no other letters than ours
        others = sa.select(persons.c.name).where(not_ascii(self._connection))
        names = [str(name) for name in self._connection.scalars(others).all()]
        query = sa.text(f"SELECT name, alike FROM {_DUE} WHERE alike IN :alike").bindparams(  # noqa: S608
            sa.bindparam("alike", expanding=True)
        )
        for part in in_parts(names, LIMITS.now.names_compared):
            due = self._connection.execute(query, {"alike": [folded(name) for name in part]}).all()
            if any(row.name != name and row.alike == folded(name) for row in due for name in part):
                tell_alike()
                return

    def _largest_whole(self) -> int | None:
        """None where no bound is known for some person."""
        row = self._connection.exec_driver_sql(f"SELECT COUNT(*) - COUNT(whole), MAX(whole) FROM {_DUE}").one()  # noqa: S608
        return None if row[0] or row[1] is None else int(row[1])

    def _add_up(self) -> None:
        self._connection.exec_driver_sql(
            f"CREATE TEMPORARY TABLE {_DUE} AS "  # noqa: S608 - our own names
            "SELECT name, MIN(alike) AS alike, CAST(SUM(sequences) AS BIGINT) AS sequences, "
            "CASE WHEN COUNT(whole) = COUNT(*) THEN CAST(SUM(whole) AS BIGINT) END AS whole "
            f"FROM {_REQUESTED} GROUP BY name"
        )

    def _refused(self, request: Request) -> list[str]:
        """Those whose budget does not cover the charge, neither by adding nor by composing losses."""
        book = book_of(self._connection, request.unit.compares)
        return [name for name, _ in self._lacking(request.charge, request.loss, book)]

    def _lacking(self, charge: int, loss: str, book: Book) -> list[tuple[str, int]]:
        """The same, with their numbers of sequences. Persons whom the ledger has not met have what everybody has."""
        allowance = book.read_allowance(self._connection)
        delta = float(book.read_delta(self._connection))
        granted, spent = (f"COALESCE(p.{name}, 0)" if name else "0" for name in (book.granted, book.spent))
        rows = self._connection.execute(
            sa.text(
                f"SELECT d.name, p.number, d.sequences, {granted} AS granted FROM {_DUE} d "  # noqa: S608
                f"LEFT JOIN {persons.name} p ON p.name = d.name WHERE CASE WHEN d.sequences > :most THEN true "
                f"ELSE {spent} + d.sequences * :charge > {granted} + :allowance END "
                "ORDER BY p.number, d.name"
            ),
            {"charge": charge, "allowance": allowance, "most": _LARGEST_SUM // max(charge, 1)},
        ).all()
        without = self._without_delta(loss, book)
        if not rows or delta == 0:
            return list(dict.fromkeys([*((row.name, int(row.sequences)) for row in rows), *without]))
        # whom the ledger has not met has no history: a number that nobody has will do
        numbers = [-1 - index if row.number is None else int(row.number) for index, row in enumerate(rows)]
        budgets = [
            Budget(person=number, epsilon_units=row.granted + allowance, sequences=row.sequences)
            for number, row in zip(numbers, rows, strict=True)
        ]
        covered = within_budget(self._connection, budgets, loss=loss, delta=delta, book=book)
        lacking = [
            (row.name, int(row.sequences)) for number, row in zip(numbers, rows, strict=True) if number not in covered
        ]
        return list(dict.fromkeys([*lacking, *without]))

    def _without_delta(self, loss: str, book: Book) -> list[tuple[str, int]]:
        """Those of whose δ too little is left, where the release has one."""
        own = delta_of([(loss, 1)])
        if not own:
            return []
        allowed = exact(book.read_delta(self._connection))
        spent = spent_deltas(self._connection, book)
        due = self._connection.execute(sa.text(f"SELECT name, sequences FROM {_DUE} ORDER BY name")).all()  # noqa: S608
        wanted = [(row.name, int(row.sequences)) for row in due]
        return [each for each in wanted if spent.get(each[0], Fraction(0)) + own * each[1] > allowed]

    def _delete(self, names: list[str]) -> None:
        for start in range(0, len(names), LIMITS.now.names_at_once):
            part = [{"name": name} for name in names[start : start + LIMITS.now.names_at_once]]
            self._connection.execute(sa.text(f"DELETE FROM {_DUE} WHERE name = :name"), part)  # noqa: S608

    def _write(self, request: Request) -> int:
        connection = self._connection
        settle(connection, request.unit.compares)
        spent = book_of(connection, request.unit.compares).spent
        totals = connection.exec_driver_sql(
            f"SELECT COUNT(*), COALESCE(SUM(sequences), 0), COALESCE(MAX(sequences), 0) FROM {_DUE}"  # noqa: S608
        ).one()
        self.bill = Bill(persons=int(totals[0]), sequences=int(totals[1]), largest=int(totals[2]) * request.charge)
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
                    "settings": request.settings,
                    "unit": request.unit.text(),
                    "mechanism": request.mechanism,
                    "record": request.record,
                }
            ],
        ).scalar_one()
        connection.execute(
            sa.text(
                f"UPDATE {persons.name} SET {spent} = {persons.name}.{spent} + d.sequences * :charge "  # noqa: S608
                f"FROM {_DUE} d WHERE d.name = {persons.name}.name"
            ),
            {"charge": request.charge},
        )
        connection.execute(
            sa.text(
                f"INSERT INTO {charges.name} (person, release, sequences, whole) "  # noqa: S608
                f"SELECT p.number, :release, d.sequences, d.whole FROM {_DUE} d "
                f"JOIN {persons.name} p ON p.name = d.name"
            ),
            {"release": number},
        )
        return int(number)

    def _bill_of(self, number: int) -> Bill:
        """Who paid for a release that was charged before."""
        query = (
            sa.select(releases.c.persons, releases.c.sequences, releases.c.charge * sa.func.max(charges.c.sequences))
            .join(charges, charges.c.release == releases.c.number, isouter=True)
            .where(releases.c.number == number)
            .group_by(releases.c.number)
        )
        persons_charged, sequences, largest = self._connection.execute(query).one()
        return Bill(persons=int(persons_charged), sequences=int(sequences), largest=int(largest or 0))

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


def in_parts(names: Iterable[str], size: int | None = None) -> Iterator[list[str]]:
    """Names in lists of bounded length."""
    size = LIMITS.now.names_at_once if size is None else size
    part: list[str] = []
    for name in names:
        part.append(name)
        if len(part) == size:
            yield part
            part = []
    if part:
        yield part
