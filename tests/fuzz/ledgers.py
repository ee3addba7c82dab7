"""Ledgers as a fuzz target: files that somebody else wrote, or that were damaged."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from random import Random

from fuzz.special import put, remove
from symveil.errors import SymveilError
from symveil.ledger.units import Unit
from symveil.tasks.budgets import (
    abandon_release,
    export_ledger,
    grant_budget,
    ledger_accounts,
    ledger_history,
    ledger_status,
    person_status,
)
from symveil.tasks.privatize_file import privatize_file


def prepare_ledger(folder: Path) -> tuple[bytes, ...]:
    """A ledger of this version, and one of 0.2.0."""
    file = folder / "first.db"
    grant_budget(file, 5, everyone=True, delta="1e-6")
    grant_budget(file, "1/2", persons=["1", "2", "alice"])
    (folder / "trips.csv").write_bytes(b"trip_id,links\n1,a b a\n2,b\n")
    privatize_file(folder / "trips.csv", folder / "private.csv", epsilon="3/2", alphabet="ab", ledger=str(file))
    global _ledger_file  # noqa: PLW0603 - the structure-aware maker starts from it
    _ledger_file = file
    return (file.read_bytes(), _OLD_LEDGER.read_bytes())


_OLD_LEDGER = Path(__file__).parents[1] / "fixtures" / "ledger_0_2_0" / "ledger.sqlite"
_ledger_file: Path | None = None

_STORED: list[object] = [
    *(None, "", "0", "1", "2", "-1", "x", "1e5", "½", "9" * 400, 0, -1, 10**18, 0.5, 1e300, b"", b"\xff", "NaN", "1/2"),
    *("{}", "[]", '{"kind": "pure"}', '{"kind": "pure", "epsilon": "x"}', '{"epsilon": "1e999999", "kind": "pure"}'),
    *('{"kind": "other"}', '{"kind": "symbols", "rate": "0", "symbols": 0, "differing": -1}', "pending", "done"),
]


_CHANGES = [
    *("DELETE FROM {0} WHERE ? IS NULL OR 1", "ALTER TABLE {0} RENAME TO other_{0}", "DROP TABLE {0}"),
    "ALTER TABLE {0} DROP COLUMN {1}",
]


def made_ledger(random: Random) -> bytes:
    """A ledger in which something stands that symveil never writes, or in which something is missing."""
    assert _ledger_file is not None
    changed = _ledger_file.with_name("changed.db")
    shutil.copyfile(_ledger_file, changed)
    with closing(sqlite3.connect(changed)) as connection, connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        tables = [name for name in tables if not name.startswith("sqlite")]
        for _ in range(random.choice([1, 1, 2])):
            table = random.choice(tables)
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            column, value = random.choice(columns or [""]), random.choice(_STORED)
            change = random.choice([*["UPDATE {0} SET {1} = ?"] * 8, *_CHANGES]).format(table, column)
            with suppress(sqlite3.Error, OverflowError):
                connection.execute(change, [value] if "?" in change else [])
    return changed.read_bytes()


def read_ledger(content: bytes, folder: Path) -> object:
    """Every way to look at a ledger, and some to change it."""
    file = folder / "l.db"
    for old in folder.glob("l.db*"):
        remove(old)
    put(file, content)
    refused: list[SymveilError] = []
    for look in (
        lambda: ledger_status(file).document(),
        lambda: person_status(file, "1").document(),
        lambda: [entry.document() for entry in ledger_history(file)],
        lambda: [entry.document() for entry in ledger_history(file, "1")],
        lambda: ledger_accounts(file, most=2),
        lambda: export_ledger(file, folder / "l.csv"),
        lambda: grant_budget(file, "1/2", persons=["1"], unit=Unit(public_start=True)),  # what charges of 0.2 cover too
        lambda: [
            abandon_release(file, str(entry.release_id)) for entry in ledger_history(file) if entry.state == "pending"
        ],
        lambda: privatize_file(
            folder / "trips.csv", folder / "l-out.csv", epsilon=1, alphabet="ab", ledger=str(file), release_id=None
        ),
    ):
        try:
            look()
        except SymveilError as error:
            refused.append(error)
    if refused:
        raise refused[0]
    return None
