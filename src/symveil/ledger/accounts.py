"""The ledger's books: granting budget, and looking at what was granted and spent."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from fractions import Fraction
from functools import cache
from typing import Any

import sqlalchemy as sa

from symveil.errors import LedgerError, ParameterError
from symveil.ledger.amounts import LARGEST, UNIT, granted_units, shown_units
from symveil.ledger.charging import in_parts
from symveil.ledger.composition import composed_epsilon, delta_of, histories, spent_deltas
from symveil.ledger.lifecycle import now
from symveil.ledger.statements import Account, Entry, InUnit, Totals
from symveil.ledger.store import (
    Database,
    charges,
    columns,
    grants,
    persons,
    read_setting,
    releases,
    settings,
    shown,
    unit_column,
)
from symveil.ledger.units import Unit, read_unit, shared_unit, shown_unit
from symveil.numerics.rationals import Number, exact, spelled

_ROWS_AT_ONCE = 10_000


def grant(
    database: Database,
    epsilon: Number,
    *,
    names: Iterable[str] = (),
    everyone: bool = False,
    delta: Number | None = None,
    unit: Unit | None = None,
) -> int:
    """Add to the budget of some persons, or of everybody, known or not yet; how many persons were named.

    With `delta` budgets of this ledger are (ε, δ) from now on: a charge that adding would refuse is allowed while the
    composed loss stays below ε. With `unit` they are for this unit: charges that do not cover it are refused. All
    charges so far must cover it, else what was spent would not bound the loss in it.
    """
    units = granted_units(epsilon)
    share = None if delta is None else exact(delta, name="delta", expected="a number such as 1e-6")
    if share is not None and not (everyone and 0 <= share < 1):
        raise ParameterError("delta", expected="a number from 0 to 1, with everyone", found=delta)
    with database.writing() as connection:
        if unit is not None:
            _name_unit(connection, unit)
        if everyone:
            allowance = _allowance(connection) + units
            if not 0 <= allowance <= LARGEST * UNIT:
                raise _out_of_range()
            _set(connection, "allowance", str(allowance))
            if share is not None:
                _keep_what_was_spent(connection, share)
                _set(connection, "delta", repr(float(share)))
            _write_grant(connection, None, units, unit)
            return 0
        return sum(_granted(connection, part, units, unit) for part in in_parts(names))


def _keep_what_was_spent(connection: sa.Connection, delta: Fraction) -> None:
    """Refuse a δ below what releases that have one have cost somebody."""
    most = max(spent_deltas(connection).values(), default=Fraction(0))
    if delta < most:
        raise LedgerError(
            f"grant: expected a delta of {spelled(most)} or more, which releases have cost somebody, found "
            f"{spelled(delta)}"
        )


def _name_unit(connection: sa.Connection, unit: Unit) -> None:
    so_far = shared_unit(read_unit(text) for (text,) in connection.execute(sa.select(releases.c.unit).distinct()).all())
    if so_far is not None and not so_far.covers(unit):
        raise LedgerError(
            f"grant: expected a unit that all charges so far cover, found {unit}; what they share is {so_far}: name "
            "that, or begin another ledger"
        )
    _set(connection, "unit", unit.text())


def _write_grant(connection: sa.Connection, person: int | None, units: int, unit: Unit | None) -> None:
    text = None if unit is None else unit.text()
    connection.execute(grants.insert(), [{"person": person, "amount": units, "created": now(), "unit": text}])


def _granted(connection: sa.Connection, names: list[str], units: int, unit: Unit | None) -> int:
    names = list(dict.fromkeys(names))
    if "" in names:
        raise ParameterError("person", expected="a name", found="an empty one")
    rows = [{"name": name} for name in names]
    allowance = _allowance(connection)
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
        # what everybody has can be taken back from one person, too: the budget is the sum of both
        if not (granted + allowance >= 0 and granted <= LARGEST * UNIT):
            raise _out_of_range()
        _write_grant(connection, number, units, unit)
    return len(names)


def _out_of_range() -> LedgerError:
    return LedgerError(f"grant: expected budgets from 0 to {LARGEST} afterwards, found another")


def totals(database: Database) -> Totals:
    """The ledger as a whole."""
    with database.reading() as connection:
        allowance = _allowance(connection)
        people = connection.execute(
            sa.select(
                sa.func.count(),
                sa.func.coalesce(sa.func.max(persons.c.spent), 0),
                sa.func.coalesce(sa.func.min(persons.c.granted - persons.c.spent), 0),
            ).select_from(persons)
        ).one()
        by_state = sa.select(releases.c.state, sa.func.count().label("number")).group_by(releases.c.state)
        states = {row.state: int(row.number) for row in connection.execute(by_state).all()}
        return Totals(
            persons=people[0],
            releases=sum(states.values()),
            pending=states.get("pending", 0),
            abandoned=states.get("abandoned", 0),
            allowance=shown_units(allowance),
            delta=read_setting(connection, "delta", "0"),
            most_spent=shown_units(int(people[1])),
            least_left=shown_units(allowance + int(people[2])),
            unit=read_unit(read_setting(connection, "unit", None)),
            units=_releases_by_unit(connection),
        )


def account(database: Database, name: str) -> Account:
    """One person's budget. Somebody the ledger has not met has what everybody has."""
    with database.reading() as connection:
        row = connection.execute(sa.select(persons).where(persons.c.name == name)).one_or_none()
        allowance = _allowance(connection)
        if row is None:
            return _account(name, 0, 0, allowance)
        delta = float(read_setting(connection, "delta", "0"))
        composed = None
        spent_delta = None
        if delta > 0:
            history = histories(connection, [row.number])[row.number].items()
            composed = composed_epsilon(history, delta)
            spent_delta = spelled(delta_of(history)) if delta_of(history) else None
        units = _spent_by_unit(connection, row.number, row.number).get(row.number, ())
        return _account(name, row.granted, row.spent, allowance, units, composed, spent_delta)


def accounts(database: Database) -> Generator[Account]:
    """Everybody's budget, in the order in which the ledger met them."""
    with database.reading() as connection:
        allowance, deltas = _allowance(connection), spent_deltas(connection)
        last = -1
        while True:
            rows = connection.execute(
                sa.select(persons).where(persons.c.number > last).order_by(persons.c.number).limit(_ROWS_AT_ONCE)
            ).all()
            if not rows:
                return
            if rows[-1].number <= last:  # only in a damaged file, which would be read for ever
                raise LedgerError(f"{shown(database.url)}: expected persons in order, found a damaged ledger")
            units = _spent_by_unit(connection, rows[0].number, rows[-1].number)
            last = rows[-1].number
            yield from (
                _account(
                    row.name,
                    row.granted,
                    row.spent,
                    allowance,
                    units.get(row.number, ()),
                    spent_delta=spelled(deltas[row.name]) if deltas.get(row.name) else None,
                )
                for row in rows
            )


def _releases_by_unit(connection: sa.Connection) -> tuple[InUnit, ...]:
    """How many releases were charged in which unit."""
    counted: dict[Unit | None, int] = {}
    for text in connection.scalars(sa.select(unit_column(connection)).select_from(releases)).all():
        counted[read_unit(text)] = counted.get(read_unit(text), 0) + 1
    return tuple(InUnit(unit=unit, releases=count) for unit, count in sorted(counted.items(), key=_in_order))


def _spent_by_unit(connection: sa.Connection, first: int, last: int) -> dict[int, tuple[InUnit, ...]]:
    """What the persons of these numbers were charged in which unit."""
    unit = unit_column(connection)
    by = [charges.c.person, *([] if isinstance(unit, sa.Label) else [unit])]  # an older ledger has none to group by
    query = (
        sa.select(charges.c.person, unit, sa.func.count(), sa.func.sum(charges.c.sequences * releases.c.charge))
        .join(releases, releases.c.number == charges.c.release)
        .where(charges.c.person >= first, charges.c.person <= last)
        .group_by(*by)
    )
    read = cache(read_unit)
    spent: dict[int, dict[Unit | None, InUnit]] = {}
    for person, text, count, units in connection.execute(query).all():
        charged_in = read(text)
        spent.setdefault(person, {})[charged_in] = InUnit(
            unit=charged_in, releases=count, spent=shown_units(int(units))
        )
    return {
        person: tuple(each for _, each in sorted(by_unit.items(), key=_in_order)) for person, by_unit in spent.items()
    }


def _in_order(item: tuple[Unit | None, object]) -> str:
    """By what is shown, what is unknown last."""
    return "~" if item[0] is None else str(item[0])


def history(database: Database, name: str | None = None) -> list[Entry]:
    """Grants and releases in order: all of them, or those that concern one person."""
    with database.reading() as connection:
        given_columns, made_columns = columns(grants, connection), columns(releases, connection)
        given = (
            sa.select(*given_columns, persons.c.name.label("person_name"))
            .select_from(grants)
            .join(persons, persons.c.number == grants.c.person, isouter=True)
        )
        made = sa.select(*made_columns, releases.c.sequences.label("own"))
        if name is not None:
            number = connection.scalar(sa.select(persons.c.number).where(persons.c.name == name))
            given = given.where(sa.or_(grants.c.person.is_(None), grants.c.person == number))
            made = (
                sa.select(*made_columns, charges.c.sequences.label("own"))
                .select_from(releases)
                .join(charges, charges.c.release == releases.c.number)
                .where(charges.c.person == number)
            )
        entries = [
            Entry(
                kind="grant",
                created=row.created,
                amount=shown_units(row.amount),
                person=row.person_name or "everyone",
                **_entry_unit(read_unit(row.unit), named=row.unit is not None),
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
                    mechanism=row.mechanism,
                    record=row.record,
                    delta=_shown_delta(row.loss, 1 if name is None else int(row.own)),
                    **_entry_unit(read_unit(row.unit), named=True),
                )
            )
        return sorted(entries, key=lambda entry: entry.created)


def _entry_unit(unit: Unit | None, *, named: bool) -> dict[str, Any]:
    if not named:
        return {}
    return {"unit": shown_unit(unit), **({} if unit is None else unit.document())}


def _account(
    name: str,
    granted: int,
    spent: int,
    allowance: int,
    units: tuple[InUnit, ...] = (),
    composed: float | None = None,
    spent_delta: str | None = None,
) -> Account:
    return Account(
        person=name,
        granted=shown_units(granted + allowance),
        spent=shown_units(spent),
        left=shown_units(granted + allowance - spent),
        units=units,
        composed_epsilon=composed,
        spent_delta=spent_delta,
    )


def _shown_delta(loss: str, times: int) -> str | None:
    delta = delta_of([(loss, times)])
    return spelled(delta) if delta else None


def _allowance(connection: sa.Connection) -> int:
    """What everybody has been granted."""
    return int(read_setting(connection, "allowance", "0"))


def _set(connection: sa.Connection, name: str, value: str) -> None:
    connection.execute(settings.delete().where(settings.c.name == name))
    connection.execute(settings.insert(), [{"name": name, "value": value}])
