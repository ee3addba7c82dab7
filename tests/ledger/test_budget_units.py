"""Charges say what their ε is an ε of; a budget may be for one unit, and then takes no charge that promises less."""

from __future__ import annotations

import pytest

from symveil.errors import LedgerError, ParameterError
from symveil.ledger.accounts import account, accounts, grant, history, totals
from symveil.ledger.store import Database
from symveil.ledger.units import Unit
from symveil.models.markov_chain import MarkovChain
from symveil.release.local import LocalJob
from symveil.storage.files import TemporaryOutput
from symveil.tasks.budgets import export_ledger, grant_budget, ledger_history, ledger_status, person_status
from symveil.tasks.privatize_file import privatize_file

from .test_charging import charge

ONE, TWO, EVERY = Unit(), Unit(adjacency=2), Unit(adjacency="all")
EDITS, START = Unit(metric="levenshtein"), Unit(public_start=True)
CHAIN = MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])


@pytest.fixture
def database(ledger_url):
    opened = Database(ledger_url)
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("wanted", "taken", "refused"),
    [
        (ONE, [ONE, TWO, EVERY, EDITS], [START]),
        (TWO, [TWO, EVERY, Unit(adjacency=2, metric="levenshtein")], [ONE, EDITS, START]),
        (EVERY, [EVERY, Unit(adjacency="all", metric="levenshtein")], [ONE, TWO, Unit(adjacency=10**6)]),
        (EDITS, [EDITS, Unit(adjacency=3, metric="levenshtein")], [ONE, EVERY]),
        (START, [START, ONE, EVERY, EDITS, Unit(adjacency="all", public_start=True)], []),
    ],
    ids=str,
)
def test_a_budget_for_a_unit(database, wanted, taken, refused):
    grant(database, 10, everyone=True, unit=wanted)
    for unit in taken:
        charge(database, {"alice": 1}, unit=unit)
    for unit in refused:
        with pytest.raises(LedgerError, match="expected charges in adjacency .*which budgets of this ledger") as caught:
            charge(database, {"alice": 1}, unit=unit)
        assert "\n" not in str(caught.value) and str(unit) in str(caught.value) and str(wanted) in str(caught.value)
    assert account(database, "alice").spent == str(len(taken))
    assert totals(database).unit == wanted


def test_a_unit_is_named_only_where_all_charges_cover_it(database):
    grant(database, 10, everyone=True)
    charge(database, {"alice": 1}, unit=TWO)
    charge(database, {"bob": 1}, unit=EVERY)
    for unit in (EVERY, Unit(adjacency=3), EDITS):
        with pytest.raises(LedgerError, match="expected a unit that all charges so far cover.*is adjacency 2, hamming"):
            grant(database, 1, names=["alice"], unit=unit)
    assert account(database, "alice").granted == "10" and totals(database).unit is None
    grant(database, 1, names=["alice"], unit=TWO)
    with pytest.raises(LedgerError, match="expected charges in adjacency 2, hamming"):
        charge(database, {"bob": 1}, unit=ONE)
    grant(database, 1, everyone=True)  # says nothing of units: it stays
    assert totals(database).unit == TWO
    grant(database, 1, everyone=True, unit=ONE)  # a weaker promise is kept by what was spent too
    charge(database, {"bob": 1}, unit=ONE)
    named = [(entry.kind, entry.person, entry.unit, entry.adjacency) for entry in history(database) if entry.unit]
    assert named == [
        ("release", None, "adjacency 2, hamming", 2),
        ("release", None, "adjacency all, hamming", "all"),
        ("grant", "alice", "adjacency 2, hamming", 2),
        ("grant", "everyone", "adjacency 1, hamming", 1),
        ("release", None, "adjacency 1, hamming", 1),
    ]


def test_what_was_spent_in_which_unit(database, tmp_path):
    grant(database, 10, names=["alice", "bob"])
    charge(database, {"alice": 2, "bob": 1}, "1/2", unit=EVERY, mechanism="staircase", record="case")
    assert account(database, "alice").note is None
    charge(database, {"alice": 1}, "1/4", unit=EDITS)
    charge(database, {"alice": 1}, "1/4", unit=EDITS)
    alice = account(database, "alice")
    assert alice.document()["units"] == [
        {
            "unit": "adjacency 1, levenshtein", "adjacency": 1, "metric": "levenshtein", "public_start": False,
            "releases": 2, "spent": "0.5",
        },
        {
            "unit": "adjacency all, hamming", "adjacency": "all", "metric": "hamming", "public_start": False,
            "releases": 1, "spent": "1",
        },
    ]  # fmt: skip
    assert alice.spent == "1.5" and alice.document()["sum_unit"] == "adjacency 1, hamming"
    assert alice.note.endswith("in what they share: adjacency 1, hamming")
    assert account(database, "bob").document()["sum_unit"] == "adjacency all, hamming"
    carol = account(database, "carol").document()
    assert carol["units"] == [] and carol["sum_unit"] is None and carol["note"] is None
    assert [len(each.units) for each in accounts(database)] == [2, 1]
    whole = totals(database).document()
    assert [(each["unit"], each["releases"]) for each in whole["units"]] == [
        ("adjacency 1, levenshtein", 2),
        ("adjacency all, hamming", 1),
    ]
    assert whole["budgets_for"] is None and "different units" in whole["note"]
    mine = history(database, "bob")[-1].document()
    assert mine["mechanism"] == "staircase" and mine["record"] == "case" and mine["adjacency"] == "all"
    assert mine["metric"] == "hamming" and mine["public_start"] is False
    export_ledger(database.url, tmp_path / "e.csv")
    assert (tmp_path / "e.csv").read_text().splitlines()[:2] == [
        "person,granted,spent,left,units,delta",
        'alice,10,1.5,8.5,"0.5 (adjacency 1, levenshtein); 1 (adjacency all, hamming)",',
    ]


# --- through a release -------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    (tmp_path / "in.csv").write_text("id,s\nx,a b a\ny,a\n")
    return tmp_path / "in.csv", tmp_path / "out.csv", tmp_path / "l.db"


@pytest.mark.parametrize(
    ("options", "unit", "mechanism"),
    [
        ({}, "adjacency 1, hamming", "exponential"),
        ({"adjacency": "all"}, "adjacency all, hamming", "exponential"),
        ({"adjacency": 2, "mechanism": "permute-and-flip"}, "adjacency 2, hamming", "permute-and-flip"),
        ({"metric": "levenshtein"}, "adjacency 1, levenshtein", "edit"),
        (
            {
                "alphabet": None,
                "model": CHAIN,
                "adjacency": 1,
                "thin": True,
                "public_start": True,
                "mechanism": "exponential",
            },
            "adjacency 1, hamming, public start",
            "exponential",
        ),
        ({"on_unknown": "drop-sequence"}, "adjacency 1, hamming", "auto"),
    ],
)
def test_a_release_is_charged_in_its_unit(files, options, unit, mechanism):
    source, out, ledger = files
    grant_budget(ledger, 10, everyone=True)
    privatize_file(source, out, ledger=ledger, **{"alphabet": "ab", "epsilon": 1, **options})
    (entry,) = (each for each in ledger_history(ledger, "x") if each.kind == "release")
    assert (entry.unit, entry.mechanism, entry.record) == (unit, mechanism, "row")
    assert [str(each.unit) for each in person_status(ledger, "y").units] == [unit]


def test_another_unit_is_refused_before_any_work(files, monkeypatch):
    source, out, ledger = files
    grant_budget(ledger, 10, everyone=True, unit=EVERY)
    for name in ("fingerprint", "survey", "write"):
        monkeypatch.setattr(LocalJob, name, lambda *_arguments, name=name: pytest.fail(f"{name} is work"))
    with pytest.raises(LedgerError, match="expected charges in adjacency all, hamming.*found adjacency 1, hamming"):
        privatize_file(source, out, ledger=ledger, alphabet="ab", epsilon=1)
    assert not out.exists() and ledger_status(ledger).releases == 0


def test_what_was_paid_for_is_finished_whatever_budgets_are_for_now(files, monkeypatch):
    source, out, ledger = files
    grant_budget(ledger, 10, everyone=True)

    def dying(*_arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(TemporaryOutput, "publish", dying)
        with pytest.raises(KeyboardInterrupt):
            privatize_file(source, out, ledger=ledger, alphabet="ab", epsilon=1)
    grant_budget(ledger, 1, everyone=True, unit=ONE)
    assert not privatize_file(source, out, ledger=ledger, alphabet="ab", epsilon=1).already_done
    assert ledger_status(ledger).pending == 0


def test_units_that_no_budget_can_be_for(files):
    with pytest.raises(ParameterError, match="public_start: expected metric hamming"):
        grant_budget(files[2], 1, everyone=True, unit=Unit(metric="levenshtein", public_start=True))
