"""Persons whom an older version wrote into a ledger under another spelling of their name.

Before version 3 of the ledger a person was known by what a file or an engine printed: `7.0` and `7`, or a name in two
Unicode forms, were two persons with two budgets. A person must not get a fresh budget because names are spelled in one
way now: their accounts are put together, as if all grants and all charges had been one person's from the beginning.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from symveil.ledger.amounts import LARGEST, UNIT
from symveil.ledger.tables import VERSION, VERSION_OF, charges, columns, grants, persons
from symveil.models.persons import person_name

_MOST_SPENT = 4 * 10**18
"""Above any budget, and within 64 bits also when two of them are added."""
_ROWS_AT_ONCE = 10_000


def persons_named(connection: sa.Connection, name: str) -> list[Any]:
    """The rows of a person: one, or none; several where a ledger that was not changed yet has several spellings."""
    spelled = person_name(name)
    wanted = columns(persons, connection)
    rows = list(connection.execute(sa.select(*wanted).where(persons.c.name == spelled)).all())
    if connection.info.get(VERSION_OF) != VERSION:
        others = [number for number, own in _old_spellings(connection) if person_name(own) == spelled]
        for start in range(0, len(others), _ROWS_AT_ONCE):
            part = others[start : start + _ROWS_AT_ONCE]
            rows += connection.execute(sa.select(*wanted).where(persons.c.number.in_(part))).all()
    return rows


def has_old_spellings(connection: sa.Connection) -> bool:
    """Whether somebody is known by a name that is spelled in another way now."""
    return any(True for _ in _old_spellings(connection))


def respell(connection: sa.Connection) -> None:
    """Give every person the one spelling of their name; put the accounts of a person together who had several.

    Grants and charges are added. What everybody was granted counts once, where each spelling had it before: nobody can
    lose more than before.
    """
    found: dict[str, list[int]] = defaultdict(list)
    for number, name in _old_spellings(connection):
        found[person_name(name)].append(number)
    renamed = []
    for name, numbers in found.items():
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
        place = sa.and_(charges.c.release == row.release, charges.c.person == (number if row.release in own else other))
        if row.release in own:
            before = own[row.release]
            whole = None if None in (row.whole, before.whole) else row.whole + before.whole
            sequences = before.sequences + row.sequences
            connection.execute(charges.update().where(place).values(sequences=sequences, whole=whole))
        else:
            connection.execute(charges.update().where(place).values(person=number))
    connection.execute(charges.delete().where(charges.c.person == other))
    connection.execute(grants.update().where(grants.c.person == other).values(person=number))
    connection.execute(persons.delete().where(persons.c.number == other))
