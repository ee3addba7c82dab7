"""Persons whom 0.3.0 knew under several names: one person with one budget, from the first look on."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from symveil.errors import OverBudgetError
from symveil.ledger import store as spellings
from symveil.numbers.progress import collected
from symveil.tasks.budgets import (
    export_ledger,
    grant_budget,
    ledger_history,
    ledger_status,
    person_status,
)
from symveil.tasks.plan_budget import plan_budget
from symveil.tasks.privatize_file import privatize_file

from .conftest import TABLES, copy_ledger, execute
from .test_charging import new_processes

FIXTURE = Path(__file__).parents[1] / "fixtures" / "ledger_0_3_0"
COMPOSED, DECOMPOSED = "Jos\u00e9", "Jose\u0301"
NAMES = {
    COMPOSED: ("13", "2", "11"),
    DECOMPOSED: ("13", "2", "11"),
    "1": ("10", "4", "6"),
    "1.0": ("10", "4", "6"),
    "123456789012": ("10", "6", "4"),
    "123456789012.0": ("10", "6", "4"),
    "1.23456789012e+11": ("10", "6", "4"),
    "1.23456789012E11": ("10", "6", "4"),
    "ann": ("10", "1", "9"),
}
"""What is granted to, spent by and left to a person, by each name."""
COMMON = {"alphabet": "ab", "identifier": "trip", "person": "who"}


@pytest.fixture
def ledger(ledger_url) -> str:
    copy_ledger(FIXTURE / "words.sqlite", ledger_url)
    return ledger_url


def everything(url: str) -> list[list[tuple]]:
    return [sorted(execute(url, f"SELECT * FROM symveil_{table}"), key=str) for table in TABLES]  # noqa: S608


def accounts(url: str) -> dict[str, tuple[str, str, str]]:
    found = {name: person_status(url, name) for name in NAMES}
    return {name: (each.granted, each.spent, each.left) for name, each in found.items()}


def test_looking_finds_all_of_a_person_and_changes_nothing(ledger):
    before = everything(ledger)
    assert accounts(ledger) == NAMES
    assert [entry.amount for entry in ledger_history(ledger, DECOMPOSED)] == ["10", "2", "1", "1", "1"]
    assert [entry.amount for entry in ledger_history(ledger, "123456789012") if entry.kind == "release"] == ["2", "4"]
    assert person_status(ledger, "1.0").units[0].releases == 3
    assert everything(ledger) == before


def test_the_first_change_puts_accounts_together(ledger, tmp_path):
    charged = execute(ledger, "SELECT release, SUM(sequences) FROM symveil_charges GROUP BY release")
    grant_budget(ledger, 1, persons=["ann"])
    assert accounts(ledger) == {**NAMES, "ann": ("11", "1", "10")}
    names = [row[0] for row in execute(ledger, "SELECT name FROM symveil_persons ORDER BY name")]
    assert names == sorted([COMPOSED, "1", "123456789012", "ann"])
    assert execute(ledger, "SELECT SUM(spent) FROM symveil_persons")[0][0] == 13 * 10**12
    again = execute(ledger, "SELECT release, SUM(sequences) FROM symveil_charges GROUP BY release")
    assert sorted(again) == sorted(charged)
    # of the release that had both of their names: two sequences of one person now
    assert (2,) in execute(ledger, "SELECT sequences FROM symveil_charges")
    assert [entry.amount for entry in ledger_history(ledger, DECOMPOSED)] == ["10", "2", "1", "2"]
    assert export_ledger(ledger, tmp_path / "e.csv") == 4 and ledger_status(ledger).most_spent == "6"


def test_no_spelling_has_a_fresh_budget(ledger, tmp_path):
    """Each of them is refused what the person has not left; a plan says so before, and changes nothing."""
    before = everything(ledger)
    for place, name in enumerate(("123456789012", "123456789012.0", "1.23456789012e+11", "1.23456789012E11")):
        source = tmp_path / f"{place}.csv"
        source.write_text(f"who,trip,links\n{name},1,a\n")
        given = {"epsilon": 5, "ledger": ledger, **COMMON}
        assert plan_budget(source, tmp_path / "out.csv", **given).lacking_persons == ("123456789012",)
        with pytest.raises(OverBudgetError):
            privatize_file(source, tmp_path / "out.csv", **given)
    assert everything(ledger) == before
    for place, name in enumerate((DECOMPOSED, COMPOSED)):
        (tmp_path / f"j{place}.csv").write_text(f"who,trip,links\n{name},1,a\n")
        privatize_file(tmp_path / f"j{place}.csv", tmp_path / f"o{place}.csv", epsilon=5, ledger=ledger, **COMMON)
    assert person_status(ledger, COMPOSED).left == "1"


def _grant(url: str, barrier) -> None:
    barrier.wait()
    grant_budget(url, 1, persons=["ann"])


def test_several_processes_put_accounts_together_once(ledger):
    context = new_processes()
    barrier = context.Barrier(3)
    processes = [context.Process(target=_grant, args=(ledger, barrier)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert accounts(ledger) == {**NAMES, "ann": ("13", "1", "12")}


def _killed_between(url: str, calls: int) -> None:
    """As kill -9 in the middle of the change."""
    real, made = spellings._put_together, []

    def dying(*arguments: object) -> None:
        if len(made) == calls:
            os.kill(os.getpid(), signal.SIGKILL)
        made.append(1)
        real(*arguments)

    spellings._put_together = dying
    grant_budget(url, 1, persons=["ann"])


@pytest.mark.parametrize("calls", [0, 1, 2])
def test_a_change_that_is_killed_leaves_it_as_it_was(ledger, calls):
    before = everything(ledger)
    process = new_processes().Process(target=_killed_between, args=(ledger, calls))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert everything(ledger) == before and accounts(ledger) == NAMES
    grant_budget(ledger, 1, persons=["ann"])
    assert accounts(ledger) == {**NAMES, "ann": ("11", "1", "10")}


def test_a_composed_loss_is_that_of_all_names(ledger):
    grants_before = person_status(ledger, "1")
    assert grants_before.composed_epsilon is None
    execute(ledger, "INSERT INTO symveil_settings VALUES ('delta', '1e-06')")
    looked = person_status(ledger, "1.0").composed_epsilon
    grant_budget(ledger, 1, persons=["ann"])
    assert person_status(ledger, "1").composed_epsilon == looked > 3


# --- names that look alike ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known", "due", "warned"),
    [
        (["Ann"], ["ann"], True),
        ([], ["ann", "ANN "], True),
        (["ann"], ["ann", "anne"], False),
        (["ann"], ["\uff21\uff2e\uff2e"], True),  # full width
        (["\uff21\uff2e\uff2e"], ["ann"], True),
        (["Stra\u00dfe"], ["STRASSE"], True),
        ([DECOMPOSED], [COMPOSED], False),  # one person
        (["ann", "Ann"], ["bob"], False),  # not of this release
    ],
)
def test_the_holder_is_warned_of_names_that_look_alike(ledger_url, tmp_path, known, due, warned):
    grant_budget(ledger_url, 1, everyone=True)
    for name in known:
        grant_budget(ledger_url, 1, persons=[name])
    source = tmp_path / "in.csv"
    source.write_text("who,trip,links\n" + "".join(f"{name},{place},a\n" for place, name in enumerate(due)))
    for run in (plan_budget, privatize_file):
        with collected() as texts:
            run(source, tmp_path / "out.csv", epsilon=1, ledger=ledger_url, **COMMON)
        assert len(texts) == warned
        assert not any(name.strip() in text for text in texts for name in (*known, *due))


def test_it_is_said_on_a_terminal_only(capfd):
    """What a pipe or a file gets may be read by others."""
    from symveil.models.names import tell_alike

    tell_alike()
    assert capfd.readouterr() == ("", "")
