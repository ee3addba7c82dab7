"""Charging: everybody or nobody, never twice for one release, never over."""

from __future__ import annotations

import itertools
import multiprocessing
import sqlite3
import stat
import sys
from fractions import Fraction
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from symveil.errors import LedgerError, OverBudgetError, ParameterError
from symveil.ledger.accounts import account, accounts, grant, history, totals
from symveil.ledger.charging import Request, charging, in_parts
from symveil.ledger.composition import pure_loss
from symveil.ledger.lifecycle import find_release, finish, pending_for, record_digest
from symveil.ledger.store import Database
from symveil.ledger.tables import persons
from symveil.ledger.units import UNIT, Unit, charged_units, granted_units, shown_units

_numbers = itertools.count()


ORDINARY = {
    "loss": pure_loss(Fraction(1)), "unit": Unit(), "mechanism": "exponential", "record": "row", "out": "/out.csv",
    "settings": "{}", "key": bytes(32), "content": b"content",
}  # fmt: skip


def charge(database: Database, persons: dict[str, int], epsilon="1", release_id: str | None = None, **options):
    amount = Fraction(epsilon)
    name = release_id or f"release-{next(_numbers)}"
    own = {"release_id": name, "charge": charged_units(amount), "loss": pure_loss(amount)}
    request = Request(**{**ORDINARY, **own, **options})
    with charging(database) as open_charge:
        open_charge.ask(list(persons), list(persons.values()))
        return open_charge.charge(request)


def amounts(found):
    return found.person, found.granted, found.spent, found.left


@pytest.fixture
def database(ledger_url):
    opened = Database(ledger_url)
    yield opened
    opened.close()


# --- amounts -----------------------------------------------------------------------------------


def test_ten_tenths_are_one(database):
    grant(database, "1", names=["alice"])
    for _ in range(10):
        charge(database, {"alice": 1}, "0.1")
    assert amounts(account(database, "alice")) == ("alice", "1", "1", "0")
    with pytest.raises(OverBudgetError):
        charge(database, {"alice": 1}, "0.000000000001")


@given(st.fractions(min_value=0, max_value=1000).filter(lambda value: value > 0))
def test_amounts_are_rounded_against_the_spender(value):
    charged, granted = charged_units(value), granted_units(value) if value * UNIT >= 1 else 0
    assert Fraction(granted, UNIT) <= value <= Fraction(charged, UNIT)
    assert charged - granted <= 1
    assert Fraction(shown_units(charged)) == Fraction(charged, UNIT)


@pytest.mark.parametrize("value", [0, "nan", "x", 10**7, -(10**7), "1e-13"])
def test_impossible_grants(value):
    with pytest.raises(ParameterError):
        granted_units(value)


# --- budgets -----------------------------------------------------------------------------------


def test_everyone_and_someone(database):
    grant(database, "0.5", everyone=True)
    assert grant(database, "0.25", names=["alice", "bob", "alice"]) == 2
    charge(database, {"alice": 3, "carol": 2}, "0.25")
    assert [amounts(each) for each in accounts(database)] == [
        ("alice", "0.75", "0.75", "0"),
        ("bob", "0.75", "0", "0.75"),
        ("carol", "0.5", "0.5", "0"),
    ]
    assert account(database, "nobody yet").left == "0.5"
    found = totals(database)
    assert (found.persons, found.releases, found.pending) == (3, 1, 1)
    assert (found.most_spent, found.least_left, found.allowance) == ("0.75", "0", "0.5")
    mine = [(entry.kind, entry.amount) for entry in history(database, "carol")]
    assert mine == [("grant", "0.5"), ("release", "0.5")]
    assert len(history(database)) == 4


def test_many_persons_are_granted_in_several_parts(database, monkeypatch):
    assert list(in_parts("abcdefg", size=3)) == [["a", "b", "c"], ["d", "e", "f"], ["g"]]
    assert list(in_parts("abcdef", size=3)) == [["a", "b", "c"], ["d", "e", "f"]]
    assert list(in_parts([], size=3)) == []
    monkeypatch.setattr(in_parts, "__defaults__", (2,))
    assert grant(database, "0.5", names=["alice", "bob", "carol"]) == 3
    assert [(each.person, each.left) for each in accounts(database)] == [
        ("alice", "0.5"), ("bob", "0.5"), ("carol", "0.5")
    ]  # fmt: skip


def test_no_budget_is_taken_back_that_was_not_given(database):
    """All persons of a grant or nobody: the books stay as they were."""
    grant(database, "1", names=["alice"])
    grant(database, "-0.25", names=["alice"])
    with pytest.raises(LedgerError, match="from 0 to 1000000 afterwards"):
        grant(database, "-0.5", names=["alice", "bob"])
    assert account(database, "alice").left == "0.75" and account(database, "bob").granted == "0"
    with pytest.raises(LedgerError, match="from 0 to 1000000 afterwards"):
        grant(database, "-0.5", everyone=True)
    assert account(database, "carol").left == "0" and len(history(database)) == 2


def test_all_or_nobody(database):
    grant(database, "1", names=["alice", "bob"])
    with pytest.raises(OverBudgetError, match="2 persons with less") as caught:
        charge(database, {"alice": 1, "bob": 2, "carol": 1})
    assert caught.value.persons == 2
    assert "bob" not in str(caught.value)
    assert account(database, "alice").spent == "0"
    assert totals(database).releases == 0


def test_those_without_budget_are_left_out(database):
    grant(database, "1", names=["alice", "bob"])
    release, left_out = charge(database, {"alice": 1, "bob": 2, "carol": 1}, over_budget="drop", release_id="r")
    assert sorted(left_out) == ["bob", "carol"]
    assert [account(database, name).spent for name in ("alice", "bob", "carol")] == ["1", "0", "0"]
    # and the same ones again when the run comes back, even if they were granted more meanwhile
    grant(database, "5", everyone=True)
    again, left_out = charge(database, {"alice": 1, "bob": 2, "carol": 1}, over_budget="drop", release_id="r")
    assert again.number == release.number and sorted(left_out) == ["bob", "carol"]
    assert account(database, "alice").spent == "1"


def test_a_person_may_be_asked_for_in_several_batches(database):
    grant(database, "1", everyone=True)
    with pytest.raises(OverBudgetError), charging(database) as open_charge:
        open_charge.ask(["alice", "bob"], [1, 1])
        open_charge.ask(["alice"], [1])
        open_charge.charge(Request(**ORDINARY, release_id="r", charge=UNIT))


def test_sums_beyond_64_bits_are_over_budget_not_wrapped(database):
    grant(database, "1000000", everyone=True)
    with pytest.raises(OverBudgetError):
        charge(database, {"alice": 2**62}, "1000000")
    with pytest.raises(LedgerError, match="from 0 to"):
        grant(database, "1", everyone=True)
    with pytest.raises(ParameterError, match="at most"):
        charged_units(Fraction(10**6 + 1))


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 3), st.sampled_from(["0.1", "0.25", "1/3"])), max_size=12)
)
def test_books_agree_with_fractions(tmp_path_factory, charges):
    database = Database(str(tmp_path_factory.mktemp("l") / "l.db"))
    grant(database, "1", everyone=True)
    left = dict.fromkeys("abc", UNIT)
    for person, sequences, epsilon in charges:
        cost = sequences * charged_units(Fraction(epsilon))
        if cost <= left[person]:
            charge(database, {person: sequences}, epsilon)
            left[person] -= cost
        else:
            with pytest.raises(OverBudgetError):
                charge(database, {person: sequences}, epsilon)
    assert all(account(database, person).left == shown_units(units) for person, units in left.items())
    database.close()


# --- the life of a release ---------------------------------------------------------------------


def test_a_release_is_charged_once(database):
    grant(database, "1", everyone=True)
    first, _ = charge(database, {"alice": 1}, release_id="r")
    again, _ = charge(database, {"alice": 1}, release_id="r", key=bytes([1] * 32))
    assert again.number == first.number and again.key == first.key == bytes(32)
    assert account(database, "alice").spent == "1"
    assert pending_for(database, "/out.csv") == [first] and pending_for(database, "/other.csv") == []
    assert first.has_stamp(b"content") and not first.has_stamp(b"other")
    record_digest(database, first, digest="d", manifest="m")
    finish(database, first)
    done = find_release(database, "r")
    assert done.done and done.key is None and done.stamp is None and (done.digest, done.manifest) == ("d", "m")
    assert done.had_parameters(b"any")  # nothing is known of them
    with pytest.raises(LedgerError, match="finished by another run"):
        finish(database, first)


def test_of_a_finished_release_only_the_parameters_are_known(database):
    grant(database, "1", everyone=True)
    release, _ = charge(database, {"alice": 1}, release_id="r")
    record_digest(database, release, digest="d", manifest="m")
    finish(database, release, parameters=b"p")
    done = find_release(database, "r")
    assert done.had_parameters(b"p") and not done.had_parameters(b"q")
    assert done.key is None and done.stamp != release.stamp and not done.has_stamp(b"content")


def test_the_key_leaves_no_trace_in_the_file(tmp_path):
    database = Database(str(tmp_path / "l.db"))
    grant(database, "1", everyone=True)
    key = b"THE-RELEASE-KEY-OF-THIS-RELEASE!"
    release, _ = charge(database, {f"person {number}": 1 for number in range(3000)}, key=key)
    assert key in (tmp_path / "l.db").read_bytes()
    record_digest(database, release, digest="d", manifest="m")
    finish(database, release)
    database.close()
    assert not [path for path in tmp_path.iterdir() if key in path.read_bytes()]


def new_processes():
    """New processes that import what takes time once between them; a module of the tests cannot be found there."""
    context = multiprocessing.get_context("forkserver")
    heavy = ["pytest", "hypothesis", "psycopg", "symveil.tasks.privatize_file", "symveil.tasks.check"]
    context.set_forkserver_preload([*heavy, "symveil.tasks.budgets"])
    return context


def _spend(url: str, barrier, results) -> None:
    database = Database(url)
    barrier.wait()
    paid = 0
    for number in range(6):
        try:
            charge(database, {"alice": 1}, "0.1", release_id=f"{multiprocessing.current_process().name}-{number}")
            paid += 1
        except OverBudgetError:
            pass
    results.put(paid)


def test_eight_processes_never_spend_more_than_there_is(ledger_url):
    database = Database(ledger_url)
    grant(database, "1", names=["alice"])
    context = new_processes()
    barrier, results = context.Barrier(8), context.Queue()
    processes = [context.Process(target=_spend, args=(ledger_url, barrier, results)) for _ in range(8)]
    for process in processes:
        process.start()
    paid = sum(results.get(timeout=120) for _ in processes)
    for process in processes:
        process.join()
    assert paid == 10
    assert account(database, "alice").left == "0"
    database.close()


def _make(url: str, barrier) -> None:
    barrier.wait()
    Database(url).close()


def test_two_processes_may_both_find_no_ledger(ledger_url):
    context = new_processes()
    barrier = context.Barrier(3)
    processes = [context.Process(target=_make, args=(ledger_url, barrier)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    database = Database(ledger_url)
    assert totals(database).persons == 0
    database.close()


# --- what goes wrong ---------------------------------------------------------------------------


def test_the_file_is_for_its_owner_only(tmp_path):
    Database(str(tmp_path / "l.db")).close()
    assert stat.S_IMODE((tmp_path / "l.db").stat().st_mode) == 0o600


def test_databases_that_are_no_ledger(tmp_path):
    with pytest.raises(LedgerError, match="found no file"):
        Database(str(tmp_path / "l.db"), create=False)
    (tmp_path / "x.db").write_bytes(b"not a database, but long enough to look at" * 100)
    with pytest.raises(LedgerError, match="expected a working ledger database") as caught:
        Database(str(tmp_path / "x.db"))
    assert "\n" not in str(caught.value)
    with sqlite3.connect(tmp_path / "o.db") as other:
        other.execute("CREATE TABLE symveil_settings (name TEXT, value TEXT)")
        other.execute("INSERT INTO symveil_settings VALUES ('version', '99')")
    other.close()
    with pytest.raises(LedgerError, match="version"):
        Database(str(tmp_path / "o.db"))
    for url in ("mysql://x", "nonsense://", "postgresql://secret:password@127.0.0.1:1/x", "sqlite://", "a:b://c"):
        with pytest.raises(LedgerError) as caught:
            Database(url)
        assert "password" not in str(caught.value) and "\n" not in str(caught.value)


def test_a_database_without_a_ledger_is_not_made_one_by_looking(tmp_path):
    sqlite3.connect(tmp_path / "empty.db").close()
    (tmp_path / "empty.db").touch()
    with pytest.raises(LedgerError, match="empty.db: expected a ledger, found a database without one"):
        Database(str(tmp_path / "empty.db"), create=False)
    assert (tmp_path / "empty.db").read_bytes() == b""


def test_a_ledger_in_a_place_that_cannot_be(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(LedgerError, match="expected a place for a ledger, found (Not a directory|File exists)"):
        Database(str(tmp_path / "file" / "ledger.db"))


@pytest.mark.parametrize("url", ["postgresql://me:password@host/x", "postgresql+psycopg://me:password@host/x"])
def test_without_a_driver_it_says_what_to_install(monkeypatch, url):
    monkeypatch.setitem(sys.modules, "psycopg", None)  # as where it is not installed
    with pytest.raises(LedgerError, match=r"the extra symveil\[postgres\]") as caught:
        Database(url)
    assert "password" not in str(caught.value)


def test_what_goes_wrong_inside_is_one_line_too(database):
    message = "expected a working ledger database, found NoResultFound"
    with pytest.raises(LedgerError, match=message), database.reading() as connection:
        connection.execute(sa.select(persons)).one()


def test_a_full_disk_changes_nothing(tmp_path):
    """SQLite is told that the file may not grow: what a full disk says to it, too."""
    database = Database(str(tmp_path / "l.db"))
    grant(database, "1", everyone=True)
    with database.connection() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(LedgerError, match="full"):
        charge(database, {f"person {number}": 1 for number in range(5000)})
    database.close()
    database = Database(str(tmp_path / "l.db"))
    assert totals(database).persons == 0 and totals(database).releases == 0
    database.close()


def test_nothing_secret_in_a_repr():
    release = Request(**{**ORDINARY, "key": b"KEYKEY", "content": b"CONTENT"}, release_id="r", charge=1)
    assert "KEY" not in repr(release) and "CONTENT" not in repr(release)
    assert Path(__file__).exists()
