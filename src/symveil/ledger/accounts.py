"""The ledger's books: granting budget, and looking at what was granted and spent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, Self

import sqlalchemy as sa

from symveil.errors import LedgerError, ParameterError
from symveil.ledger.charging import in_parts
from symveil.ledger.composition import composed_epsilon, delta_of, histories, spent_deltas
from symveil.ledger.lifecycle import now
from symveil.ledger.limits import LIMITS
from symveil.ledger.statements import Account, BookTotals, Entry, InUnit, OwnBook, Totals
from symveil.ledger.store import Database, persons_named, shown
from symveil.ledger.tables import (
    Book,
    book_of,
    charges,
    columns,
    first_use,
    grants,
    own_column,
    persons,
    read_setting,
    releases,
    settle,
    write_setting,
)
from symveil.ledger.units import (
    LARGEST,
    PERSON,
    UNIT,
    WHOLE_PART,
    WHOLE_WORDS,
    Compares,
    Unit,
    granted_units,
    read_unit,
    shared_unit,
    shown_unit,
    shown_units,
)
from symveil.models.names import person_name
from symveil.numbers.rationals import Number, exact, spelled


def grant(
    database: Database,
    epsilon: Number,
    *,
    names: Iterable[str] = (),
    everyone: bool = False,
    delta: Number | None = None,
    unit: Unit | None = None,
    compares: Compares | None = None,
) -> int:
    """Add to the budget of some persons, or of everybody, known or not yet; how many persons were named.

    With `delta` budgets of this book are (ε, δ) from now on: a charge that adding would refuse is allowed while the
    composed loss stays below ε. With `unit` those for words are for this unit: charges that do not cover it are
    refused. All charges so far must cover it, else what was spent would not bound the loss in it. `compares` names the
    book.
    """
    units = granted_units(epsilon)
    share = None if delta is None else exact(delta, name="delta", expected="a number such as 1e-6")
    if share is not None and not (everyone and 0 <= share < 1):
        raise ParameterError("delta", expected="a number from 0 to 1, with everyone", found=delta)
    if unit is not None and compares not in (None, unit.compares):
        raise ParameterError("compares", expected=f"{unit.compares}, as the unit does", found=compares)
    compares = compares if unit is None else unit.compares
    with database.writing() as connection:
        if compares is not None:
            settle(connection, "words")
        if unit is not None and compares == "words":
            _name_unit(connection, unit)
        book = book_of(connection, compares)
        text = PERSON.text() if book == book_of(connection, "persons") else None if unit is None else unit.text()
        if everyone:
            allowance = book.read_allowance(connection) + units
            if not 0 <= allowance <= LARGEST * UNIT:
                raise _out_of_range()
            write_setting(connection, book.allowance, str(allowance))
            if share is not None:
                _keep_what_was_spent(connection, share, book)
                write_setting(connection, book.delta, repr(float(share)))
            _write_grant(connection, None, units, text)
            return 0
        return sum(_granted(connection, part, units, text, book) for part in in_parts(names))


def _keep_what_was_spent(connection: sa.Connection, delta: Fraction, book: Book) -> None:
    """Refuse a δ below what releases that have one have cost any person."""
    most = max(spent_deltas(connection, book).values(), default=Fraction(0))
    if delta < most:
        raise LedgerError(
            f"grant: expected a delta of {spelled(most)} or more, which releases have cost a person, found "
            f"{spelled(delta)}"
        )


def _name_unit(connection: sa.Connection, unit: Unit) -> None:
    of_words = sa.select(releases.c.unit).where(book_of(connection, "words").releases(connection)).distinct()
    so_far = shared_unit(read_unit(text) for (text,) in connection.execute(of_words).all())
    if so_far is not None and not so_far.covers(unit):
        raise LedgerError(
            f"grant: expected a unit that all charges so far cover, found {unit}; what they share is {so_far}: name "
            "that, or begin another ledger"
        )
    write_setting(connection, "unit", unit.text())


def _write_grant(connection: sa.Connection, person: int | None, units: int, unit: str | None) -> None:
    connection.execute(grants.insert(), [{"person": person, "amount": units, "created": now(), "unit": unit}])


def _granted(connection: sa.Connection, names: list[str], units: int, unit: str | None, book: Book) -> int:
    names = list(dict.fromkeys(map(person_name, names)))
    if "" in names:
        raise ParameterError("person", expected="a name", found="an empty one")
    rows = [{"name": name} for name in names]
    allowance, own = book.read_allowance(connection), persons.c[book.granted]
    connection.execute(
        sa.text(f"INSERT INTO {persons.name} (name) VALUES (:name) ON CONFLICT (name) DO NOTHING"), rows  # noqa: S608
    )  # fmt: skip
    for row in rows:
        number, granted = connection.execute(
            persons.update()
            .where(persons.c.name == row["name"])
            .values({own: own + units})
            .returning(persons.c.number, own)
        ).one()
        # what everybody has can be taken back from one person, too: the budget is the sum of both
        if not (granted + allowance >= 0 and granted <= LARGEST * UNIT):
            raise _out_of_range()
        _write_grant(connection, number, units, unit)
    return len(names)


def _out_of_range() -> LedgerError:
    return LedgerError(f"grant: expected budgets from 0 to {LARGEST} afterwards, found another")


def _books(connection: sa.Connection) -> tuple[Book, ...]:
    """The books of this ledger that are in use; the one that was used first comes first."""
    first = first_use(connection) or "words"
    other: Compares = "words" if first == "persons" else "persons"
    books = (book_of(connection, first), book_of(connection, other))
    if first_use(connection) is None or not _in_use(connection, books[1]):
        return books[:1]
    return books


def _in_use(connection: sa.Connection, book: Book) -> bool:
    charged = sa.select(releases.c.number).where(book.releases(connection)).limit(1)
    return book.has_grants(connection) or connection.scalar(charged) is not None


def totals(database: Database) -> Totals:
    """The ledger as a whole."""
    with database.reading() as connection:
        books = _books(connection)
        by_state = sa.select(releases.c.state, sa.func.count().label("number")).group_by(releases.c.state)
        states = {row.state: int(row.number) for row in connection.execute(by_state).all()}
        return Totals(
            persons=int(connection.scalar(sa.select(sa.func.count()).select_from(persons)) or 0),
            releases=sum(states.values()),
            pending=states.get("pending", 0),
            abandoned=states.get("abandoned", 0),
            books=tuple(_book_totals(connection, book) for book in books),
            unit=read_unit(read_setting(connection, "unit", None)),
            units=_releases_by_unit(connection),
        )


def _book_totals(connection: sa.Connection, book: Book) -> BookTotals:
    granted, spent = book.column("granted"), book.column("spent")
    result = connection.execute(
        sa.select(
            sa.func.coalesce(sa.func.max(spent), 0), sa.func.coalesce(sa.func.min(granted - spent), 0)
        ).select_from(persons)
    ).one()
    allowance = book.read_allowance(connection)
    return BookTotals(
        compares=book.compares,
        allowance=shown_units(allowance),
        delta=book.read_delta(connection),
        most_spent=shown_units(int(result[0])),
        least_left=shown_units(allowance + int(result[1])),
    )


def account(database: Database, name: str) -> Account:
    """One person's budget. A person who is not in the ledger yet has the budget of everyone."""
    with database.reading() as connection:
        rows = persons_named(connection, name)
        numbers = [int(row.number) for row in rows]
        amounts: dict[Unit | None, Amounts] = {}
        for number in numbers:  # several of them are several spellings of one name
            for unit, own in _amounts_by_unit(connection, number, number).get(number, {}).items():
                amounts[unit] = amounts[unit].plus(own) if unit in amounts else own
        return Account(
            person=person_name(name),
            books=tuple(_own_book(connection, book, rows, numbers) for book in _books(connection)),
            units=_in_units(amounts),
        )


def _own_book(connection: sa.Connection, book: Book, rows: list[Any], numbers: list[int]) -> OwnBook:
    granted, spent = (sum(amounts) for amounts in zip((0, 0), *map(book.amounts, rows), strict=True))
    delta, composed, spent_delta = float(book.read_delta(connection)), None, None
    if rows and delta > 0:
        history: Counter[str] = Counter()
        for own in histories(connection, numbers, book).values():
            history.update(own)
        composed = composed_epsilon(history.items(), delta)
        spent_delta = spelled(delta_of(history.items())) if delta_of(history.items()) else None
    return _own(book, granted, spent, book.read_allowance(connection), composed, spent_delta)


def _own(
    book: Book, granted: int, spent: int, allowance: int, composed: float | None, spent_delta: str | None
) -> OwnBook:
    return OwnBook(
        compares=book.compares,
        granted=shown_units(granted + allowance),
        spent=shown_units(spent),
        left=shown_units(granted + allowance - spent),
        composed_epsilon=composed,
        spent_delta=spent_delta,
    )


def accounts(database: Database) -> Generator[Account]:
    """Everybody's budget, in the order in which the ledger met them."""
    with database.reading() as connection:
        books = [(book, book.read_allowance(connection), spent_deltas(connection, book)) for book in _books(connection)]
        wanted = columns(persons, connection)
        last = -1
        while True:
            rows = connection.execute(
                sa.select(*wanted)
                .where(persons.c.number > last)
                .order_by(persons.c.number)
                .limit(LIMITS.now.rows_at_once)
            ).all()
            if not rows:
                return
            if rows[-1].number <= last:  # only in a damaged file, which would be read for ever
                raise LedgerError(f"{shown(database.url)}: expected persons in order, found a damaged ledger")
            amounts = _amounts_by_unit(connection, rows[0].number, rows[-1].number)
            last = rows[-1].number
            for row in rows:
                own = tuple(
                    _own(
                        book,
                        *book.amounts(row),
                        allowance,
                        None,
                        spelled(deltas[row.name]) if deltas.get(row.name) else None,
                    )
                    for book, allowance, deltas in books
                )
                yield Account(person=row.name, books=own, units=_in_units(amounts.get(row.number, {})))


def _releases_by_unit(connection: sa.Connection) -> tuple[InUnit, ...]:
    """How many releases were charged in which unit."""
    counted: dict[Unit | None, int] = {}
    for text in connection.scalars(sa.select(unit_column(connection)).select_from(releases)).all():
        counted[read_unit(text)] = counted.get(read_unit(text), 0) + 1
    return tuple(InUnit(unit=unit, releases=count) for unit, count in sorted(counted.items(), key=_in_order))


@dataclass(frozen=True, slots=True)
class Amounts:
    """What a person was charged in one unit: in how many releases, how much, and what whole words lose."""

    releases: int
    units: int
    whole: int | None
    """In millionths; None where no bound is known."""

    def plus(self, other: Self) -> Self:
        """Both together."""
        whole = None if self.whole is None or other.whole is None else self.whole + other.whole
        return type(self)(self.releases + other.releases, self.units + other.units, whole)


def _amounts_by_unit(connection: sa.Connection, first: int, last: int) -> dict[int, dict[Unit | None, Amounts]]:
    """What the persons of these numbers were charged, by unit."""
    unit = unit_column(connection)
    whole = sa.cast(own_column(charges, "whole", connection), sa.BigInteger)  # nothing, in an older ledger, has no type
    by = [charges.c.person, *([] if isinstance(unit, sa.Label) else [unit])]  # an older ledger has none to group by
    query = (
        sa.select(
            charges.c.person,
            unit,
            sa.func.count(),
            sa.func.sum(charges.c.sequences * releases.c.charge),
            sa.func.sum(whole),
            sa.func.count(whole),
        )
        .select_from(charges)
        .join(releases, releases.c.number == charges.c.release)
        .where(charges.c.person >= first, charges.c.person <= last)
        .group_by(*by)
    )
    read = cache(read_unit)
    spent: dict[int, dict[Unit | None, Amounts]] = {}
    for person, text, count, units, whole_sum, whole_count in connection.execute(query).all():
        own = read(text)
        bound: int | None = int(whole_sum) if whole_count == count else None
        if own is not None and own.covers(WHOLE_WORDS):
            bound = -(-int(units) // WHOLE_PART)  # the charge itself is what whole words lose
        spent.setdefault(person, {})[own] = Amounts(int(count), int(units), bound)
    return spent


def _in_units(spent: dict[Unit | None, Amounts]) -> tuple[InUnit, ...]:
    return tuple(
        InUnit(
            unit=unit,
            releases=own.releases,
            spent=shown_units(own.units),
            whole=None if own.whole is None else shown_units(own.whole * WHOLE_PART),
        )
        for unit, own in sorted(spent.items(), key=_in_order)
    )


def unit_column(connection: sa.Connection) -> sa.ColumnElement[str | None]:
    """In which unit each release was charged."""
    return own_column(releases, "unit", connection)


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
            numbers = [int(row.number) for row in persons_named(connection, name)]
            given = given.where(sa.or_(grants.c.person.is_(None), grants.c.person.in_(numbers)))
            made = (
                sa.select(*made_columns, charges.c.sequences.label("own"))
                .select_from(releases)
                .join(charges, charges.c.release == releases.c.number)
                .where(charges.c.person.in_(numbers))
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


def _shown_delta(loss: str, times: int) -> str | None:
    delta = delta_of([(loss, times)])
    return spelled(delta) if delta else None
