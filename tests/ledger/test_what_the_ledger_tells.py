"""The ledger's values are people's names: no error of the database quotes one."""

from __future__ import annotations

import sqlite3
import traceback
from pathlib import Path

import pytest
import sqlalchemy as sa

from symveil.errors import LedgerError
from symveil.ledger.store import Database, _cause
from symveil.tasks.budgets import export_ledger, grant_budget, ledger_history

NAME = "hunter2"


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    grant_budget(tmp_path / "l.db", 3, persons=[NAME])
    return tmp_path / "l.db"


def test_a_name_that_cannot_be_decoded_is_not_shown(ledger: Path, tmp_path: Path) -> None:
    """0.2.0: "Could not decode to UTF-8 column 'name' with text 'hunter2…'"."""
    with sqlite3.connect(ledger) as connection:
        connection.execute("UPDATE symveil_persons SET name = CAST(? AS TEXT)", (NAME.encode() + b"\x80\xff",))
    connection.close()
    for look in (lambda: ledger_history(ledger), lambda: export_ledger(ledger, tmp_path / "out.csv")):
        with pytest.raises(LedgerError, match="expected a working ledger database, found OperationalError$") as refused:
            look()
        assert NAME not in "".join(traceback.format_exception(refused.value))
    assert not (tmp_path / "out.csv").exists()


def test_statements_come_without_their_values(ledger: Path) -> None:
    database = Database(str(ledger))
    with pytest.raises(LedgerError) as refused, database.writing() as connection:
        connection.execute(sa.text("INSERT INTO symveil_persons (name) VALUES (:name)"), {"name": NAME})
    assert NAME not in "".join(traceback.format_exception(refused.value))
    assert "UNIQUE constraint failed: symveil_persons.name" in str(refused.value)  # which is about no value
    context = refused.value.__context__
    assert isinstance(context, sa.exc.IntegrityError) and NAME not in str(context)  # anyone who prints it by hand
    database.close()


class Error(Exception):
    """As psycopg raises them: the state says what kind of error it is."""

    def __init__(self, text: str, sqlstate: str | None) -> None:
        super().__init__(text)
        self.sqlstate = sqlstate


class OperationalError(Error):
    """What goes wrong with a connection."""


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (Error(f'invalid input syntax for type bigint: "{NAME}"', "22P02"), "Error 22P02"),
        (Error(f"duplicate key\nDETAIL: Key (name)=({NAME}) already exists.", "23505"), "Error 23505"),
        (Error("permission denied for table symveil_persons", "42501"), "permission denied for table symveil_persons"),
        (OperationalError("connection refused\nis the server running?", None), "connection refused"),
        (Error(f"cannot adapt {NAME}", None), "Error"),
    ],
    ids=["a value", "a key", "rights", "no server", "the driver"],
)
def test_what_postgresql_says(error: Error, told: str) -> None:
    assert _cause(sa.exc.DBAPIError("SELECT 1", {}, error)) == told
