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
from symveil.ledger.amounts import shown_units
from symveil.ledger.composition import Budget, delta_of, spent_deltas, within_budget
from symveil.ledger.lifecycle import LedgerRelease, now, release_where, stamp_of
from symveil.ledger.store import Database, charges, persons, read_setting, releases, shown, unit_column
from symveil.ledger.units import LEAST, Unit, read_unit
from symveil.numerics.rationals import exact, spelled

OverBudget = Literal["error", "drop"]

_ASKED = "symveil_asked"
_DUE = "symveil_due"
_LARGEST_SUM = 4 * 10**18  # within 64 bits, also when two of them are added
_NAMES_AT_ONCE = 50_000


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


def check_delta(database: Database, loss: str) -> None:
    """Refuse now what nobody's budget could pay for: a δ above that of this ledger's budgets."""
    with database.reading() as connection:
        _check_delta(database, connection, loss)


def _check_delta(database: Database, connection: sa.Connection, loss: str) -> None:
    wanted, allowed = delta_of([(loss, 1)]), exact(read_setting(connection, "delta", "0"))
    if wanted > allowed:
        raise LedgerError(
            f"{shown(database.url)}: expected budgets with a delta of {spelled(wanted)} or more for a release that has "
            f"one, found {spelled(allowed)}; grant it: symveil ledger grant --everyone --epsilon E --delta "
            f"{spelled(wanted)}"
        )


def _check_unit(database: Database, connection: sa.Connection, unit: Unit) -> None:
    wanted = read_unit(read_setting(connection, "unit", None))
    if wanted is not None and not unit.covers(wanted):
        raise LedgerError(
            f"{shown(database.url)}: expected charges in {wanted}, which budgets of this ledger are for, or in a unit "
            f"that covers it, found {unit}; release with that adjacency, metric and start, or use another ledger"
        )
    known = set(connection.scalars(sa.select(unit_column(connection)).select_from(releases).distinct()))
    if any((read_unit(text) or LEAST).compares != unit.compares for text in known):
        raise LedgerError(
            f"{shown(database.url)}: expected charges of one kind in a ledger, for words or for persons, found {unit} "
            "after charges of the other kind; use another ledger, or release centrally with neighbours replace, which "
            "covers both"
        )


class Charging:
    """Collects who has how many sequences, then charges all of them at once."""

    def __init__(self, database: Database, connection: sa.Connection) -> None:
        self._database, self._connection = database, connection
        self._sequences = 0
        self.bill: Bill | None = None
        """Who paid, once it is charged."""
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
        """Charge everybody, or nobody: the release, and the persons who are left out for lack of budget.

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
            _check_delta(self._database, connection, request.loss)
            connection.exec_driver_sql(
                f"INSERT INTO {persons.name} (name) SELECT name FROM {_DUE} WHERE true ON CONFLICT (name) DO NOTHING"  # noqa: S608
            )
            refused = self._refused(request)
            if refused and request.over_budget == "error":
                who = f"{len(refused)} person{'s' if len(refused) > 1 else ''}"
                raise OverBudgetError(
                    f"{shown(self._database.url)}: expected {shown_units(request.charge)} of budget for each sequence "
                    f"of every person, found {who} with less; grant more with symveil ledger grant, "
                    "or leave them out with --over-budget drop",
                    persons=len(refused),
                )
            self._delete(refused)
            number = self._write(request)
            release = release_where(connection, releases.c.number == number)
        if release is None:
            raise LedgerError(f"{shown(self._database.url)}: expected the release just charged, found none")
        return release, refused

    def preview(self, *, charge: int, loss: str) -> tuple[list[Due], list[str]]:
        """What `charge` would do, changing nothing: who would pay what, most first, and who has too little budget."""
        try:
            self._add_up()
            lacking = self._lacking(charge, loss)
            groups = self._connection.exec_driver_sql(
                f"SELECT sequences, COUNT(*) FROM {_DUE} GROUP BY sequences ORDER BY sequences DESC"  # noqa: S608
            ).all()
        finally:
            self._commit()
        without = Counter(sequences for _, sequences in lacking)
        dues = [Due(sequences=int(own), persons=int(count), lacking=without[int(own)]) for own, count in groups]
        return dues, [name for name, _ in lacking]

    def _add_up(self) -> None:
        self._connection.exec_driver_sql(
            f"CREATE TEMPORARY TABLE {_DUE} AS "  # noqa: S608 - our own names
            f"SELECT name, CAST(SUM(sequences) AS BIGINT) AS sequences FROM {_ASKED} GROUP BY name"
        )

    def _refused(self, request: Request) -> list[str]:
        """Those whose budget does not cover the charge, neither by adding nor by composing losses."""
        return [name for name, _ in self._lacking(request.charge, request.loss)]

    def _lacking(self, charge: int, loss: str) -> list[tuple[str, int]]:
        """The same, with their numbers of sequences. Persons whom the ledger has not met have what everybody has."""
        allowance = int(read_setting(self._connection, "allowance", "0"))
        delta = float(read_setting(self._connection, "delta", "0"))
        rows = self._connection.execute(
            sa.text(
                f"SELECT d.name, p.number, d.sequences, COALESCE(p.granted, 0) AS granted FROM {_DUE} d "  # noqa: S608
                f"LEFT JOIN {persons.name} p ON p.name = d.name WHERE CASE WHEN d.sequences > :most THEN true "
                "ELSE COALESCE(p.spent, 0) + d.sequences * :charge > COALESCE(p.granted, 0) + :allowance END "
                "ORDER BY p.number, d.name"
            ),
            {"charge": charge, "allowance": allowance, "most": _LARGEST_SUM // max(charge, 1)},
        ).all()
        without = self._without_delta(loss)
        if not rows or delta == 0:
            return list(dict.fromkeys([*((row.name, int(row.sequences)) for row in rows), *without]))
        # whom the ledger has not met has no history: a number that nobody has will do
        numbers = [-1 - place if row.number is None else int(row.number) for place, row in enumerate(rows)]
        budgets = [
            Budget(person=number, epsilon_units=row.granted + allowance, sequences=row.sequences)
            for number, row in zip(numbers, rows, strict=True)
        ]
        covered = within_budget(self._connection, budgets, loss=loss, delta=delta)
        lacking = [
            (row.name, int(row.sequences)) for number, row in zip(numbers, rows, strict=True) if number not in covered
        ]
        return list(dict.fromkeys([*lacking, *without]))

    def _without_delta(self, loss: str) -> list[tuple[str, int]]:
        """Those of whose δ too little is left, where the release has one."""
        own = delta_of([(loss, 1)])
        if not own:
            return []
        allowed = exact(read_setting(self._connection, "delta", "0"))
        spent = spent_deltas(self._connection)
        due = self._connection.execute(sa.text(f"SELECT name, sequences FROM {_DUE} ORDER BY name")).all()  # noqa: S608
        wanted = [(row.name, int(row.sequences)) for row in due]
        return [each for each in wanted if spent.get(each[0], Fraction(0)) + own * each[1] > allowed]

    def _delete(self, names: list[str]) -> None:
        for start in range(0, len(names), _NAMES_AT_ONCE):
            part = [{"name": name} for name in names[start : start + _NAMES_AT_ONCE]]
            self._connection.execute(sa.text(f"DELETE FROM {_DUE} WHERE name = :name"), part)  # noqa: S608

    def _write(self, request: Request) -> int:
        connection = self._connection
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
