"""The ledger's books: granting budget, and looking at what was granted and spent."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass

import sqlalchemy as sa

from symveil.errors import LedgerError, ParameterError
from symveil.ledger.amounts import LARGEST, UNIT, granted_units, shown_units
from symveil.ledger.charging import in_parts, now
from symveil.ledger.composition import composed_epsilon, histories
from symveil.ledger.store import Database, charges, grants, persons, releases, settings, shown
from symveil.numerics.rationals import Number, exact

_ROWS_AT_ONCE = 10_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """One person's budget. Amounts are exact decimals, as text."""

    person: str
    granted: str
    spent: str
    left: str
    composed_epsilon: float | None = None
    """What was lost at the ledger's δ, where it has one."""

    def document(self) -> dict[str, object]:
        """The JSON form."""
        told: dict[str, object] = {
            "person": self.person, "granted": self.granted, "spent": self.spent, "left": self.left
        }  # fmt: skip
        if self.composed_epsilon is not None:
            told["composed_epsilon"] = self.composed_epsilon
        return told


@dataclass(frozen=True, kw_only=True, slots=True)
class Totals:
    """The ledger as a whole."""

    persons: int
    releases: int
    pending: int
    allowance: str
    delta: str
    most_spent: str
    least_left: str

    def document(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "persons": self.persons,
            "releases": self.releases,
            "pending": self.pending,
            "allowance": self.allowance,
            "delta": self.delta,
            "most_spent": self.most_spent,
            "least_left": self.least_left,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """Something that happened: a grant or a release."""

    kind: str
    created: str
    amount: str
    person: str | None = None
    release_id: str | None = None
    state: str | None = None
    sequences: int | None = None
    persons: int | None = None

    def document(self) -> dict[str, object]:
        """The JSON form."""
        return {name: value for name in self.__slots__ if (value := getattr(self, name)) is not None}


def grant(
    database: Database,
    epsilon: Number,
    *,
    names: Iterable[str] = (),
    everyone: bool = False,
    delta: Number | None = None,
) -> int:
    """Add to the budget of some persons, or of everybody, known or not yet; how many persons were named.

    With `delta`, budgets of this ledger are (ε, δ): a charge that adding would refuse is allowed while
    the composed loss stays below ε.
    """
    units = granted_units(epsilon)
    share = None if delta is None else exact(delta, name="delta", expected="a number such as 1e-6")
    if share is not None and not (everyone and 0 <= share < 1):
        raise ParameterError("delta", expected="a number from 0 to 1, with everyone", found=delta)
    with database.writing() as connection:
        if everyone:
            allowance = int(_setting(connection, "allowance")) + units
            if not 0 <= allowance <= LARGEST * UNIT:
                raise _out_of_range()
            _set(connection, "allowance", str(allowance))
            if share is not None:
                _set(connection, "delta", repr(float(share)))
            connection.execute(grants.insert(), [{"person": None, "amount": units, "created": now()}])
            return 0
        return sum(_granted(connection, part, units) for part in in_parts(names))


def _granted(connection: sa.Connection, names: list[str], units: int) -> int:
    names = list(dict.fromkeys(names))
    if "" in names:
        raise ParameterError("person", expected="a name", found="an empty one")
    rows = [{"name": name} for name in names]
    connection.execute(
        sa.text(f"INSERT INTO {persons.name} (name) VALUES (:name) ON CONFLICT (name) DO NOTHING"), rows  # noqa: S608
    )  # fmt: skip
    for row in rows:
        number, granted = connection.execute(
            persons.update()
            .where(persons.c.name == row["name"])
            .values(granted=persons.c.granted + units)
            .returning(persons.c.number, persons.c.granted)
        ).one()
        if not 0 <= granted <= LARGEST * UNIT:
            raise _out_of_range()
        connection.execute(grants.insert(), [{"person": number, "amount": units, "created": now()}])
    return len(names)


def _out_of_range() -> LedgerError:
    return LedgerError(f"grant: expected budgets from 0 to {LARGEST} afterwards, found another")


def totals(database: Database) -> Totals:
    """The ledger as a whole."""
    with database.reading() as connection:
        allowance = int(_setting(connection, "allowance"))
        people = connection.execute(
            sa.select(
                sa.func.count(),
                sa.func.coalesce(sa.func.max(persons.c.spent), 0),
                sa.func.coalesce(sa.func.min(persons.c.granted - persons.c.spent), 0),
            ).select_from(persons)
        ).one()
        made = connection.scalar(sa.select(sa.func.count()).select_from(releases)) or 0
        pending = connection.scalar(
            sa.select(sa.func.count()).select_from(releases).where(releases.c.state == "pending")
        )
        return Totals(
            persons=people[0],
            releases=made,
            pending=pending or 0,
            allowance=shown_units(allowance),
            delta=_setting(connection, "delta", "0"),
            most_spent=shown_units(int(people[1])),
            least_left=shown_units(allowance + int(people[2])),
        )


def account(database: Database, name: str) -> Account:
    """One person's budget. Somebody the ledger has not met has what everybody has."""
    with database.reading() as connection:
        row = connection.execute(sa.select(persons).where(persons.c.name == name)).one_or_none()
        allowance = int(_setting(connection, "allowance"))
        if row is None:
            return _account(name, 0, 0, allowance)
        delta = float(_setting(connection, "delta", "0"))
        composed = None
        if delta > 0:
            composed = composed_epsilon(histories(connection, [row.number])[row.number].items(), delta)
        return _account(name, row.granted, row.spent, allowance, composed)


def accounts(database: Database) -> Generator[Account]:
    """Everybody's budget, in the order in which the ledger met them."""
    with database.reading() as connection:
        allowance = int(_setting(connection, "allowance"))
        last = -1
        while True:
            rows = connection.execute(
                sa.select(persons).where(persons.c.number > last).order_by(persons.c.number).limit(_ROWS_AT_ONCE)
            ).all()
            if not rows:
                return
            if rows[-1].number <= last:  # only in a damaged file, which would be read for ever
                raise LedgerError(f"{shown(database.url)}: expected persons in order, found a damaged ledger")
            last = rows[-1].number
            yield from (_account(row.name, row.granted, row.spent, allowance) for row in rows)


def history(database: Database, name: str | None = None) -> list[Entry]:
    """Grants and releases in order: all of them, or those that concern one person."""
    with database.reading() as connection:
        if name is None:
            given = sa.select(grants, persons.c.name.label("person_name")).join(
                persons, persons.c.number == grants.c.person, isouter=True
            )
            made = sa.select(releases, releases.c.sequences.label("own"))
        else:
            number = connection.scalar(sa.select(persons.c.number).where(persons.c.name == name))
            given = (
                sa.select(grants, persons.c.name.label("person_name"))
                .join(persons, persons.c.number == grants.c.person, isouter=True)
                .where(sa.or_(grants.c.person.is_(None), grants.c.person == number))
            )
            made = (
                sa.select(releases, charges.c.sequences.label("own"))
                .join(charges, charges.c.release == releases.c.number)
                .where(charges.c.person == number)
            )
        entries = [
            Entry(
                kind="grant", created=row.created, amount=shown_units(row.amount), person=row.person_name or "everyone"
            )
            for row in connection.execute(given.order_by(grants.c.number)).all()  # a statement in use keeps a lock
        ]
        for row in connection.execute(made.order_by(releases.c.number)).all():
            entries.append(
                Entry(
                    kind="release",
                    created=row.created,
                    amount=shown_units(int(row.charge) * int(row.own)) if name is not None else shown_units(row.charge),
                    release_id=row.release_id,
                    state=row.state,
                    sequences=row.own,
                    persons=None if name is not None else row.persons,
                )
            )
        return sorted(entries, key=lambda entry: entry.created)


def _account(name: str, granted: int, spent: int, allowance: int, composed: float | None = None) -> Account:
    return Account(
        person=name,
        granted=shown_units(granted + allowance),
        spent=shown_units(spent),
        left=shown_units(granted + allowance - spent),
        composed_epsilon=composed,
    )


def _setting(connection: sa.Connection, name: str, default: str = "0") -> str:
    found = connection.scalar(sa.select(settings.c.value).where(settings.c.name == name))
    return default if found is None else str(found)


def _set(connection: sa.Connection, name: str, value: str) -> None:
    connection.execute(settings.delete().where(settings.c.name == name))
    connection.execute(settings.insert(), [{"name": name, "value": value}])
