"""One ledger for losses between words and losses between files with and without a person: two books, never mixed."""

from __future__ import annotations

import csv
import itertools
import math
import os
import signal
from pathlib import Path

import pytest

import symveil as sv
from symveil.errors import LedgerError, OverBudgetError, ParameterError
from symveil.ledger import tables as books
from symveil.ledger.accounts import account, grant, totals
from symveil.ledger.store import Database
from symveil.ledger.units import EVERYTHING, PERSON, Unit
from symveil.models.markov_chain import MarkovChain
from symveil.tasks.budgets import (
    export_ledger,
    grant_budget,
    ledger_history,
    ledger_status,
    person_status,
)
from symveil.tasks.count import count_file
from symveil.tasks.plan_budget import plan_budget
from symveil.tasks.privatize_file import privatize_file

from .conftest import TABLES, copy_ledger, execute
from .test_charging import charge, new_processes

FIXTURE = Path(__file__).parents[1] / "fixtures" / "ledger_0_3_0"
COMMON = {"identifier": "trip", "person": "who"}
CHAIN = MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])


@pytest.fixture
def database(ledger_url):
    opened = Database(ledger_url)
    yield opened
    opened.close()


@pytest.fixture
def source(tmp_path) -> Path:
    (tmp_path / "in.csv").write_text("who,trip,links\nann,1,a b a\nbob,2,b\nann,3,b b\n")
    return tmp_path / "in.csv"


def everything(url: str) -> list[list[tuple]]:
    return [sorted(execute(url, f"SELECT * FROM symveil_{table}"), key=str) for table in TABLES]  # noqa: S608


def lefts(database: Database, name: str) -> dict[str, tuple[str, str]]:
    return {book.compares: (book.granted, book.left) for book in account(database, name).books}


# --- who may charge what -----------------------------------------------------------------------


def test_both_kinds_in_one_ledger(ledger_url, source, tmp_path):
    """A person's year in one ledger: trips every week, and a table."""
    grant_budget(ledger_url, 5, everyone=True)
    privatize_file(source, tmp_path / "o.csv", epsilon=1, alphabet="ab", ledger=ledger_url, **COMMON)
    given = {"epsilon": 1, "alphabet": "ab", "ledger": ledger_url, **COMMON}
    with pytest.raises(LedgerError) as caught:
        count_file(source, "visits", out=tmp_path / "c.csv", **given)
    message = str(caught.value)
    assert "\n" not in message and "do not add up" in message
    assert message.index("`neighbours='replace'`") < message.index("ledger grant --everyone --epsilon E --for persons")
    assert not (tmp_path / "c.csv").exists() and person_status(ledger_url, "ann").spent == "2"
    grant_budget(ledger_url, 3, everyone=True, compares="persons")
    count_file(source, "visits", out=tmp_path / "c.csv", **given)
    count_file(source, "visits", out=tmp_path / "r.csv", neighbours="replace", **given)
    ann = person_status(ledger_url, "ann")
    assert [(each.compares, each.spent, each.left) for each in ann.books] == [
        ("words", "3", "2"),
        ("persons", "1", "2"),
    ]
    assert (ann.granted, ann.spent, ann.left) == ("5", "3", "2") and "do not add up" in ann.note
    assert ann.document()["sum_unit"] == "adjacency 1, hamming"
    # three and two symbols at 1 each, and 1 for all of them
    assert ann.whole == "6" and person_status(ledger_url, "bob").whole == "2"
    status = ledger_status(ledger_url).document()
    assert [book["compares"] for book in status["books"]] == ["words", "persons"]
    assert (status["most_spent"], status["books"][1]["least_left"]) == ("3", "2")
    history = ledger_history(ledger_url)
    assert [entry.unit for entry in history] == [
        None, "adjacency 1, hamming", "a person, added or removed", "a person, added or removed",
        "adjacency all, levenshtein",
    ]  # fmt: skip
    export_ledger(ledger_url, tmp_path / "e.csv")
    with (tmp_path / "e.csv").open(newline="") as file:
        (row,) = (row for row in csv.DictReader(file) if row["person"] == "ann")
    assert row["books"] == "words: 3 of 5 spent, 2 left; persons: 1 of 3 spent, 2 left" and row["whole_words"] == "6"
    plan = plan_budget(source, tmp_path / "p.csv", epsilon=1, alphabet="ab", ledger=ledger_url, **COMMON).document()
    assert plan["whole_words"]["epsilon"] == "5" and [book["compares"] for book in plan["books"]] == [
        "words",
        "persons",
    ]


@pytest.mark.parametrize(("first", "second"), [(Unit(), PERSON), (PERSON, Unit()), (EVERYTHING, PERSON)])
def test_over_budget_in_one_of_them(database, first, second):
    grant(database, 2, everyone=True)
    charge(database, {"ann": 1}, unit=first)
    with pytest.raises(LedgerError, match=f"--for {second.compares}"):
        charge(database, {"ann": 1}, unit=second)
    grant(database, 1, names=["ann"], compares=second.compares)
    charge(database, {"ann": 1}, unit=second)
    with pytest.raises(OverBudgetError, match=f"symveil ledger grant --for {second.compares},"):
        charge(database, {"ann": 1}, unit=second)
    charge(database, {"ann": 1}, unit=first)
    with pytest.raises(OverBudgetError, match="symveil ledger grant,"):
        charge(database, {"ann": 1}, unit=first)
    assert lefts(database, "ann") == {first.compares: ("2", "0"), second.compares: ("1", "0")}
    # bob has nothing of the second kind: what everybody has is for the first one
    assert lefts(database, "bob") == {first.compares: ("2", "2"), second.compares: ("0", "0")}
    with pytest.raises(OverBudgetError):
        charge(database, {"bob": 1}, unit=second)


def test_a_grant_without_a_name_is_for_the_first_use(database):
    grant(database, 3, everyone=True)
    grant(database, 1, names=["ann"])
    charge(database, {"ann": 1}, unit=PERSON)
    grant(database, 1, everyone=True)
    assert lefts(database, "ann") == {"persons": ("5", "4")}
    assert totals(database).books[0].allowance == "4" and totals(database).units[0].unit == PERSON
    with pytest.raises(LedgerError, match="beside the grants for persons.*--for words"):
        charge(database, {"ann": 1}, unit=Unit())


def test_a_named_grant_leaves_earlier_ones_to_words(database):
    grant(database, 3, everyone=True)
    grant(database, 1, everyone=True, unit=PERSON)
    charge(database, {"ann": 1}, unit=PERSON)
    charge(database, {"ann": 2}, unit=Unit())
    assert lefts(database, "ann") == {"words": ("3", "1"), "persons": ("1", "0")}
    with pytest.raises(ParameterError, match="compares: expected words"):
        grant(database, 1, everyone=True, unit=Unit(), compares="persons")


def test_a_unit_is_named_for_words_only(database):
    grant(database, 3, everyone=True, unit=Unit(adjacency=2))
    grant(database, 3, everyone=True, compares="persons")
    charge(database, {"ann": 1}, unit=PERSON)
    with pytest.raises(LedgerError, match="expected charges in adjacency 2, hamming"):
        charge(database, {"ann": 1}, unit=Unit())
    charge(database, {"ann": 1}, unit=Unit(adjacency=2))
    grant(database, 1, everyone=True, unit=Unit(adjacency=1))  # the charge for persons says nothing about it
    assert lefts(database, "ann") == {"words": ("4", "3"), "persons": ("3", "2")}


def test_each_has_its_own_delta(ledger_url, source, tmp_path):
    grant_budget(ledger_url, 20, everyone=True, compares="words")
    grant_budget(ledger_url, 20, everyone=True, compares="persons", delta="1e-6")
    given = {"epsilon": 1, "bound": 1, "ledger": ledger_url, **COMMON}
    with pytest.raises(LedgerError, match="expected budgets with a delta"):
        count_file(source, "visits", out=tmp_path / "r.csv", delta="1e-7", neighbours="replace", **given)
    count_file(source, "visits", out=tmp_path / "c.csv", delta="6e-7", **given)
    count_file(source, "visits", out=tmp_path / "d.csv", delta="6e-7", **given)  # nobody has so much: all are left out
    ann = person_status(ledger_url, "ann")
    by = {each.compares: each for each in ann.books}
    assert by["persons"].spent_delta == "6e-07" and by["persons"].spent == "1"
    assert by["words"].spent_delta is None and by["words"].composed_epsilon is None
    grant_budget(ledger_url, 1, everyone=True, compares="words", delta="1e-8")  # below what persons have spent
    with pytest.raises(LedgerError, match="expected a delta of 6e-07 or more"):
        grant_budget(ledger_url, 1, everyone=True, compares="persons", delta="1e-8")


def test_composed_losses_are_those_of_their_book(database):
    for compares in ("words", "persons"):
        grant(database, 8, everyone=True, delta="1e-6", compares=compares)
    for place in range(50):
        charge(database, {"ann": 1}, epsilon="0.1", unit=Unit() if place % 2 else PERSON)
    both = {each.compares: each.composed_epsilon for each in account(database, "ann").books}
    assert both["words"] == both["persons"] <= 2.5


# --- several processes, kills ------------------------------------------------------------------


def _charging(url: str, number: int, barrier) -> None:
    database = Database(url)
    barrier.wait()
    for again in range(4):
        try:
            name, unit = f"{number}-{again}", PERSON if number % 2 else Unit()
            charge(database, {"ann": 1, f"own {number}": 1}, release_id=name, unit=unit)
        except LedgerError:
            continue
    database.close()


def test_several_processes_never_overspend_either(ledger_url):
    grant_budget(ledger_url, 5, everyone=True, compares="words")
    grant_budget(ledger_url, 3, everyone=True, compares="persons")
    context = new_processes()
    barrier = context.Barrier(4)
    processes = [context.Process(target=_charging, args=(ledger_url, number, barrier)) for number in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    database = Database(ledger_url)
    assert lefts(database, "ann") == {"words": ("5", "0"), "persons": ("3", "0")}
    database.close()


def test_the_first_charge_decides_once(ledger_url):
    """Both kinds at once on a ledger whose grants named neither: one of them has all of the budget, the other none."""
    grant_budget(ledger_url, 5, everyone=True)
    context = new_processes()
    barrier = context.Barrier(4)
    processes = [context.Process(target=_charging, args=(ledger_url, number, barrier)) for number in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    ann = person_status(ledger_url, "ann")
    assert [(each.spent, each.left) for each in ann.books] == [("5", "0")] and len(ann.units) == 1


def _killed(url: str, name: str) -> None:
    """As kill -9 after the books were changed, and before the charge stands."""
    real = getattr(books, name)

    def dying(*arguments: object) -> None:
        real(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(books, name, dying)
    database = Database(url)
    charge(database, {"ann": 1}, unit=PERSON)


@pytest.mark.parametrize("old", [False, True])
def test_a_charge_that_is_killed_moves_nothing(ledger_url, old):
    if old:
        copy_ledger(FIXTURE / "persons.sqlite", ledger_url)
    else:
        grant_budget(ledger_url, 5, everyone=True)
        grant_budget(ledger_url, 1, persons=["ann"])
    before = everything(ledger_url)
    process = new_processes().Process(target=_killed, args=(ledger_url, "_move"))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL and everything(ledger_url) == before
    database = Database(ledger_url)
    charge(database, {"ann": 1}, unit=PERSON)
    assert account(database, "ann").books[0].compares == "persons"
    database.close()


# --- a ledger of 0.3 ---------------------------------------------------------------------------


def test_a_ledger_of_persons_goes_on(ledger_url, source, tmp_path):
    copy_ledger(FIXTURE / "persons.sqlite", ledger_url)
    before = everything(ledger_url)
    bob = person_status(ledger_url, "bob")
    assert [(each.compares, each.granted, each.spent) for each in bob.books] == [("persons", "11", "3")]
    assert bob.spent_delta == "1e-07" and ledger_status(ledger_url).delta == "1e-06" and bob.whole is None
    assert [entry.compares for entry in ledger_history(ledger_url) if entry.kind == "release"] == ["persons"] * 2
    with pytest.raises(LedgerError, match="--for words"):
        privatize_file(source, tmp_path / "o.csv", epsilon=1, alphabet="ab", ledger=ledger_url, **COMMON)
    assert everything(ledger_url) == before
    grant_budget(ledger_url, 2, everyone=True, compares="words")
    privatize_file(source, tmp_path / "o.csv", epsilon=1, alphabet="ab", ledger=ledger_url, **COMMON)
    count_file(source, "visits", out=tmp_path / "c.csv", epsilon=1, alphabet="ab", ledger=ledger_url, **COMMON)
    bob = person_status(ledger_url, "bob")
    assert [(each.compares, each.granted, each.spent, each.left) for each in bob.books] == [
        ("persons", "11", "4", "7"),
        ("words", "2", "1", "1"),
    ]
    assert bob.spent_delta == "1e-07" and bob.books[0].composed_epsilon is not None
    grant_budget(ledger_url, 1, everyone=True)  # as before: for persons
    assert person_status(ledger_url, "bob").granted == "12"


def test_a_ledger_of_words_goes_on(ledger_url, source, tmp_path):
    copy_ledger(FIXTURE / "words.sqlite", ledger_url)
    ann = person_status(ledger_url, "ann")
    assert ann.whole is None and "charges of an older version" in ann.whole_note
    given = {"epsilon": 1, "alphabet": "ab", "ledger": ledger_url, **COMMON}
    with pytest.raises(LedgerError, match="--for persons"):
        count_file(source, "visits", out=tmp_path / "c.csv", **given)
    privatize_file(source, tmp_path / "o.csv", **given)
    assert person_status(ledger_url, "bob").whole == "1" and person_status(ledger_url, "ann").whole is None


def test_a_ledger_that_was_granted_and_not_used(ledger_url):
    """0.3 wrote grants that name nothing: the first charge decides, as it did."""
    copy_ledger(FIXTURE / "persons.sqlite", ledger_url)
    for table in ("charges", "releases"):
        execute(ledger_url, f"DELETE FROM symveil_{table}")  # noqa: S608
    execute(ledger_url, "UPDATE symveil_persons SET spent = 0")
    database = Database(ledger_url)
    charge(database, {"bob": 2}, unit=Unit())
    assert lefts(database, "bob") == {"words": ("11", "9")}
    database.close()


# --- whole words -------------------------------------------------------------------------------


def _enumerated(mechanism: sv.Mechanism, words: list[tuple]) -> float:
    """The largest loss between any two words of one length: all pairs, all outputs."""
    return max(
        abs(mechanism.log_probability(one, out) - mechanism.log_probability(other, out))
        for one, other in itertools.combinations(words, 2)
        for out in words
    )


@pytest.mark.parametrize("named", ["alphabet", "model"])
@pytest.mark.parametrize(("epsilon", "adjacency"), [(1, 1), (3, 2)])
def test_whole_words_lose_what_enumeration_says_and_not_epsilon(tmp_path, named, epsilon, adjacency):
    """What is written is no less than the loss of the worst persons with words of these lengths."""
    language = {"alphabet": "ab"} if named == "alphabet" else {"model": CHAIN}
    words = ["aba", "aaab", "ba"]
    source, ledger = tmp_path / "in.csv", tmp_path / "l.db"
    source.write_text("who,trip,links\n" + "".join(f"ann,{n},{' '.join(word)}\n" for n, word in enumerate(words)))
    grant_budget(ledger, 100, everyone=True)
    given = {"epsilon": epsilon, "adjacency": adjacency, **language}
    privatize_file(source, tmp_path / "o.csv", ledger=ledger, **given, **COMMON)
    whole = float(person_status(ledger, "ann").whole)
    worst = 0.0
    for word in words:
        free = sv.words("ab", len(word)) if named == "alphabet" else sv.runs(CHAIN, length=len(word))
        mechanism = sv.select_mechanism(free, epsilon=epsilon, adjacency=adjacency)
        every = itertools.product("ab", repeat=len(word))
        feasible = [each for each in every if named == "alphabet" or "bb" not in "".join(each)]
        worst += _enumerated(mechanism, feasible)
    assert worst - 1e-9 <= whole < 3 * worst
    if named == "alphabet" and adjacency == 1:
        assert math.isclose(whole, worst, abs_tol=1e-5) and whole > len(words) * epsilon


@pytest.mark.parametrize(
    "given",
    [
        {"alphabet": "ab", "on_unknown": "drop-sequence"},
        {"model": CHAIN, "adjacency": 1, "public_start": True, "thin": True},
    ],
)
def test_no_conversion_where_nothing_is_proved(tmp_path, given):
    source, ledger = tmp_path / "in.csv", tmp_path / "l.db"
    source.write_text("who,trip,links\nann,1,a b a\nann,2,a a\n")
    grant_budget(ledger, 100, everyone=True)
    privatize_file(source, tmp_path / "o.csv", ledger=ledger, epsilon=1, **given, **COMMON)
    ann = person_status(ledger, "ann")
    assert ann.whole is None and "`neighbours='replace'`" in ann.whole_note
    assert ann.document()["whole_words"]["epsilon"] is None


def test_words_at_adjacency_all_are_their_own_bound(tmp_path):
    source, ledger = tmp_path / "in.csv", tmp_path / "l.db"
    source.write_text("who,trip,links\nann,1,a b a\nann,2,a a\n")
    grant_budget(ledger, 100, everyone=True)
    privatize_file(source, tmp_path / "o.csv", ledger=ledger, epsilon=1, alphabet="ab", adjacency="all", **COMMON)
    assert person_status(ledger, "ann").whole == "2" == person_status(ledger, "ann").spent
