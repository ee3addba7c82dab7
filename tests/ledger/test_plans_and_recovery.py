"""A release is planned before it is charged; a ledger that was restored from a backup is brought up to date."""

from __future__ import annotations

import itertools
import json
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from documentation.blocks import ROOT, commands
from symveil.cli.main import main
from symveil.errors import LedgerError, OverBudgetError, ParameterError
from symveil.ledger.composition import composed_epsilon, pure_loss, symbol_loss
from symveil.tasks.budgets import grant_budget, ledger_status, person_status
from symveil.tasks.plan_budget import plan_budget
from symveil.tasks.privatize_file import privatize_file

ROWS = [("1", "ann", "a b"), ("2", "bob", "b"), ("3", "ann", "a"), ("4", "eve", "b b")]


@pytest.fixture
def trips(tmp_path: Path) -> Path:
    file = tmp_path / "trips.csv"
    file.write_text("id,rider,s\n" + "".join(",".join(row) + "\n" for row in ROWS))
    return file


def options(ledger: object, epsilon: object = 1) -> dict[str, object]:
    return {"alphabet": "ab", "epsilon": epsilon, "sequence": "s", "person": "rider", "ledger": ledger}


@pytest.mark.parametrize("delta", [None, "1e-6"])
def test_a_plan_is_what_the_release_does(trips, tmp_path, ledger_url, delta):
    grant_budget(ledger_url, 1, everyone=True, delta=delta)
    grant_budget(ledger_url, 1, persons=["eve"])
    before = ledger_status(ledger_url)
    plan = plan_budget(trips, tmp_path / "o.csv", **options(ledger_url))
    assert ledger_status(ledger_url) == before and [path.name for path in tmp_path.glob("*o.csv*")] == []
    assert (plan.persons, plan.sequences, plan.charge, plan.largest_charge) == (3, 4, "1", "2")
    groups = [
        (each["sequences"], each["charge"], each["persons"], each["lacking"]) for each in plan.document()["charges"]
    ]
    assert groups == [(2, "2", 1, 1), (1, "1", 2, 0)]
    assert (plan.lacking, plan.lacking_persons) == (1, ("ann",)) and plan.composes == (delta is not None)
    assert json.loads(json.dumps(plan.document()))["lacking"] == 1
    with pytest.raises(OverBudgetError, match="found 1 person with less"):
        privatize_file(trips, tmp_path / "o.csv", **options(ledger_url))
    done = privatize_file(trips, tmp_path / "o.csv", over_budget="drop", **options(ledger_url))
    assert done.persons == plan.persons - plan.lacking
    after = plan_budget(trips, tmp_path / "o.csv", **options(ledger_url))
    assert set(after.lacking_persons) == {"ann", "bob"}


def test_where_losses_are_composed_fewer_lack_budget(trips, tmp_path):
    added, composed = tmp_path / "a.db", tmp_path / "c.db"
    grant_budget(added, "0.5", everyone=True)
    grant_budget(composed, "0.5", everyone=True, delta="0.1")
    assert plan_budget(trips, tmp_path / "o.csv", **options(added, "0.6")).lacking == 3
    plan = plan_budget(trips, tmp_path / "o.csv", **options(composed, "0.6"))
    assert plan.lacking < 3
    done = privatize_file(trips, tmp_path / "o.csv", over_budget="drop", **options(composed, "0.6"))
    assert done.persons == 3 - plan.lacking
    once, monthly, weekly = plan.ahead
    assert [each.releases for each in plan.ahead] == [1, 12, 52] and weekly.added == "62.4"
    assert once.composed <= monthly.composed <= weekly.composed < 62.4


def test_a_plan_needs_a_ledger_that_is_there(trips, tmp_path):
    with pytest.raises(ParameterError, match="dry_run: expected a ledger"):
        plan_budget(trips, tmp_path / "o.csv", **options(None))
    with pytest.raises(LedgerError, match="expected a ledger, found no file"):
        plan_budget(trips, tmp_path / "o.csv", **options(tmp_path / "l.db"))
    assert not (tmp_path / "l.db").exists()


def test_the_page_brings_a_restored_ledger_up_to_date(tmp_path, monkeypatch, capsys):
    page = list(commands((ROOT / "docs" / "ledger.md").read_text(encoding="utf-8")))
    restored = [each.arguments for each in page if "restored.db" in each.arguments]
    assert len(restored) == 4
    monkeypatch.chdir(tmp_path)
    for arguments in restored:
        with pytest.raises(SystemExit, match="0"):
            main([*arguments])
    assert "left    │ 1" in capsys.readouterr().out
    lefts = [person_status("restored.db", name).left for name in ("7", "8", "9", "10")]
    assert lefts == ["2", "2", "1", "3"]


def test_a_restored_ledger_lets_nobody_spend_twice(trips, tmp_path):
    """A backup, a release, the loss of the ledger: what was taken back is what the lost one had left."""
    ledger, backup = tmp_path / "l.db", tmp_path / "backup.db"
    grant_budget(ledger, 3, everyone=True)
    grant_budget(ledger, 1, persons=["eve"])
    shutil.copy(ledger, backup)
    privatize_file(trips, tmp_path / "o.csv", **options(ledger))
    for count, names in itertools.groupby(sorted([(2, "ann"), (1, "bob"), (1, "eve")]), key=lambda each: each[0]):
        grant_budget(backup, -count, persons=[name for _, name in names])
    for name in ("ann", "bob", "eve", "somebody else"):
        assert person_status(backup, name).left == person_status(ledger, name).left
    with pytest.raises(LedgerError, match="expected budgets from 0 to"):
        grant_budget(backup, "-1.5", persons=["ann"])  # nobody's budget falls below 0
    with pytest.raises(OverBudgetError, match="found 1 person with less"):  # ann
        privatize_file(trips, tmp_path / "p.csv", **options(backup))


def test_a_negative_rest_is_explained(trips, tmp_path):
    taken, composed = tmp_path / "t.db", tmp_path / "c.db"
    grant_budget(taken, 2, everyone=True)
    assert ledger_status(taken).negative is None
    privatize_file(trips, tmp_path / "o.csv", **options(taken))
    grant_budget(taken, -1, persons=["ann"])
    assert ledger_status(taken).least_left == "-1" and "taken back that had been spent" in ledger_status(taken).negative
    assert "taken back" in person_status(taken, "ann").negative and person_status(taken, "bob").negative is None
    grant_budget(composed, "0.5", everyone=True, delta="0.1")
    privatize_file(trips, tmp_path / "o.csv", over_budget="drop", **options(composed, "0.6"))
    assert ledger_status(composed).least_left.startswith("-")
    assert "composes them at its delta" in ledger_status(composed).negative


def test_the_numbers_of_the_page_about_budgets():
    page = (ROOT / "docs" / "how-to" / "budgets.md").read_text(encoding="utf-8")
    half = Fraction(1, 2)
    for loss in (pure_loss(half), symbol_loss(half, 17, 1)):
        assert f" {composed_epsilon([(loss, 52)], 1e-6):.1f} " in page
