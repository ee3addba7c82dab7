"""A ledger that 0.2.0 wrote (tests/fixtures/ledger_0_2_0): looked at as it is, gone on with, never overspent."""

from __future__ import annotations

import csv
import shutil
import sqlite3
from pathlib import Path

import pytest
import sqlalchemy as sa

from symveil.errors import LedgerError, OverBudgetError
from symveil.ledger.lifecycle import find_release
from symveil.ledger.store import Database
from symveil.ledger.tables import charges, grants, persons, releases, settings
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
from symveil.tasks.check import check_manifest
from symveil.tasks.privatize_file import privatize_file

from .conftest import copy_ledger, execute
from .test_charging import new_processes

FIXTURE = Path(__file__).parents[1] / "fixtures" / "ledger_0_2_0"
TABLES = {table.name: table for table in (settings, persons, grants, releases, charges)}
COMMON = {"alphabet": "ab", "identifier": "trip", "person": "who"}


@pytest.fixture
def folder(tmp_path):
    for file in FIXTURE.glob("*.csv*"):
        shutil.copy(file, tmp_path)
    return tmp_path


@pytest.fixture
def ledger(ledger_url, folder) -> str:
    """The old ledger, in either database; its outputs are those of the test's folder."""
    copy_ledger(FIXTURE / "ledger.sqlite", ledger_url)
    execute(ledger_url, f"UPDATE symveil_releases SET out = replace(out, '/data', '{folder}')")  # noqa: S608
    return ledger_url


def version(url: str) -> str:
    return execute(url, "SELECT value FROM symveil_settings WHERE name = 'version'")[0][0]


def everything(url: str) -> dict[str, list[tuple]]:
    """What 0.2.0 wrote, column by column."""
    with sqlite3.connect(FIXTURE / "ledger.sqlite") as old:
        names = {name: [row[1] for row in old.execute(f"PRAGMA table_info({name})")] for name in TABLES}
    old.close()
    return {
        name: sorted(execute(url, f"SELECT {', '.join(columns)} FROM {name}"), key=str)  # noqa: S608
        for name, columns in names.items()
    }


# --- looking -----------------------------------------------------------------------------------


def test_looking_changes_nothing(ledger, folder):
    before = everything(ledger)
    status = ledger_status(ledger)
    assert (status.persons, status.releases, status.pending, status.abandoned) == (4, 4, 2, 0)
    assert (status.most_spent, status.least_left, status.delta, status.unit) == ("800", "15.5", "1e-06", None)
    assert [each.document() for each in status.units] == [{"unit": "unknown (0.2)", "releases": 4}]
    alice = person_status(ledger, "alice").document()
    assert (alice["granted"], alice["spent"], alice["left"]) == ("20.5", "4.5", "16")
    assert alice["units"] == [{"unit": "unknown (0.2)", "releases": 3, "spent": "4.5"}]
    assert alice["sum_unit"] == "adjacency 1, hamming, public start" and alice["note"] is None
    # what 0.2.0 raised `math range error` at
    dora = person_status(ledger, "dora")
    assert (dora.spent, dora.composed_epsilon) == ("800", 800)
    history = ledger_history(ledger)
    assert [entry.unit for entry in history if entry.kind == "release"] == ["unknown (0.2)"] * 4
    assert len(ledger_history(ledger, "dora")) == 3
    assert [each.person for each in ledger_accounts(ledger, most=1)] == ["dora"]
    assert export_ledger(ledger, folder / "e.csv") == 4
    rows = list(csv.DictReader((folder / "e.csv").read_text().splitlines()))
    assert rows[0]["units"] == "4.5 (unknown (0.2))"
    assert everything(ledger) == before and version(ledger) == "1"
    assert "unit" not in {row[1] for row in _columns(ledger)}


def _columns(url: str) -> list[tuple]:
    if "://" in url:
        query = "SELECT 0, column_name FROM information_schema.columns WHERE table_name = 'symveil_releases'"
        return execute(url, query)
    return execute(url, "PRAGMA table_info(symveil_releases)")


def test_a_file_that_nobody_may_write_can_be_looked_at(folder):
    shutil.copy(FIXTURE / "ledger.sqlite", folder / "l.db")
    url = f"sqlite:///file:{folder / 'l.db'}?mode=ro&uri=true"
    database = Database.__new__(Database)  # as where the system refuses, which root is never
    database.url, database._engine, database.is_sqlite = "l.db", sa.create_engine(url), True
    from symveil.ledger.accounts import account, accounts, history, totals

    assert totals(database).persons == 4 and account(database, "bob").spent == "4.5"
    assert len(list(accounts(database))) == 4 and len(history(database)) == 7
    database.close()


# --- going on ----------------------------------------------------------------------------------


def test_the_first_change_makes_it_a_ledger_of_today(ledger):
    before = everything(ledger)
    grant_budget(ledger, 1, persons=["bob"])
    after = everything(ledger)
    assert version(ledger) == "3" and person_status(ledger, "bob").granted == "21"
    assert after["symveil_releases"] == before["symveil_releases"]
    assert after["symveil_charges"] == before["symveil_charges"]
    assert [row for row in before["symveil_persons"] if row[1] != "bob"] == [
        row for row in after["symveil_persons"] if row[1] != "bob"
    ]
    assert person_status(ledger, "alice").units[0].unit is None


def test_a_change_that_is_refused_leaves_it_as_it_was(ledger, folder):
    before = everything(ledger)
    with pytest.raises(OverBudgetError):
        privatize_file(folder / "in.csv", folder / "x.csv", epsilon=50, ledger=ledger, **COMMON)
    with pytest.raises(LedgerError, match="from 0 to 1000000 afterwards"):
        grant_budget(ledger, -50, persons=["bob"])  # more than bob and everybody have
    with pytest.raises(LedgerError, match="found 'x', which it does not"):
        abandon_release(ledger, "x")
    assert everything(ledger) == before and version(ledger) == "1"


def test_it_is_charged_on(ledger, folder):
    release = privatize_file(folder / "in.csv", folder / "x.csv", epsilon=2, ledger=ledger, release_id="new", **COMMON)
    assert check_manifest(release.manifest_file).holds
    alice = person_status(ledger, "alice")
    assert alice.spent == "6.5" and version(ledger) == "3"
    assert [(str(each.unit), each.spent) for each in alice.units] == [("adjacency 1, hamming", "2"), ("None", "4.5")]
    assert "what they share: adjacency 1, hamming, public start" in alice.note


def test_a_finished_release_is_still_known(ledger, folder):
    run = {"epsilon": "3/2", "ledger": ledger, "release_id": "done", **COMMON}
    before = (folder / "done.csv").read_bytes()
    assert privatize_file(folder / "in.csv", folder / "done.csv", **run).already_done
    assert (folder / "done.csv").read_bytes() == before
    with pytest.raises(LedgerError, match="release done: expected the same parameters"):
        privatize_file(folder / "in.csv", folder / "done.csv", **{**run, "epsilon": 2})


@pytest.mark.parametrize("named", [True, False])
def test_a_release_that_0_2_began_is_not_drawn_by_another_version(ledger, folder, named):
    """What it drew, and perhaps published, is not known: its stamp has neither version nor rates."""
    run = {"epsilon": 2, "ledger": ledger, **COMMON, **({"release_id": "charged"} if named else {})}
    with pytest.raises(LedgerError, match="one that 0.2 began.* symveil ledger abandon --release-id charged") as caught:
        privatize_file(folder / "in.csv", folder / "charged.csv", **run)
    assert "\n" not in str(caught.value) and not (folder / "charged.csv").exists()
    assert person_status(ledger, "alice").spent == "4.5"
    with pytest.raises(LedgerError, match="release charged: expected the same input and parameters"):
        privatize_file(folder / "in.csv", folder / "charged.csv", **{**run, "epsilon": 3, "release_id": "charged"})
    closed = abandon_release(ledger, "charged")
    assert (closed.charge, closed.sequences, closed.already_abandoned) == ("2", 3, False)
    database = Database(ledger)
    assert find_release(database, "charged").key is None
    database.close()
    again = privatize_file(folder / "in.csv", folder / "charged.csv", **{**run, "release_id": "anew"})
    assert not again.already_done and person_status(ledger, "alice").spent == "6.5"


@pytest.mark.parametrize("named", [True, False])
def test_an_output_that_0_2_put_in_its_place_is_finished(ledger, folder, named):
    """Nothing has to be drawn: only the manifest and the mark are missing."""
    before = (folder / "published.csv").read_bytes()
    run = {"epsilon": 1, "ledger": ledger, **COMMON, **({"release_id": "published"} if named else {})}
    finished = privatize_file(folder / "in.csv", folder / "published.csv", **run)
    assert finished.already_done and (folder / "published.csv").read_bytes() == before
    assert finished.manifest["version"] == "0.2.0" and check_manifest(finished.manifest_file).holds
    assert person_status(ledger, "alice").spent == "4.5" and ledger_status(ledger).pending == 1


def test_a_unit_for_a_ledger_whose_charges_have_none(ledger):
    """All that is known of them is that they cover the least unit there is."""
    with pytest.raises(LedgerError, match="what they share is adjacency 1, hamming, public start"):
        grant_budget(ledger, 1, everyone=True, unit=Unit(adjacency=1))
    assert version(ledger) == "1"
    grant_budget(ledger, 1, everyone=True, unit=Unit(adjacency=1, public_start=True))
    assert ledger_status(ledger).unit == Unit(adjacency=1, public_start=True)


def _grant(url: str, barrier) -> None:
    barrier.wait()
    grant_budget(url, 1, persons=["bob"])


def test_several_processes_may_migrate_it_at_once(ledger):
    context = new_processes()
    barrier = context.Barrier(3)
    processes = [context.Process(target=_grant, args=(ledger, barrier)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert person_status(ledger, "bob").granted == "23" and version(ledger) == "3"
