"""Ledger: who has spent what. Nothing is ever changed from here, but a made-up ledger where there is no other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from symveil.ledger.statements import Account, Entry, Totals
from symveil.ledger.units import shown_unit
from symveil.numbers.progress import Progress, named
from symveil.numbers.rationals import exact, percent
from symveil.reports.report import Facts, Headline, Marked, Report, Section, Share, Table, Text
from symveil.studio.answer import Answer
from symveil.tasks.budgets import (
    grant_budget,
    ledger_accounts,
    ledger_history,
    ledger_status,
    person_status,
    spent_in_units,
)
from symveil.tasks.privatize_file import privatize_file

MOST_PERSONS, MOST_ENTRIES = 100, 50


def answer_ledger(values: Mapping[str, str], progress: Progress) -> Answer:
    """The Ledger panel; `address` is the ledger that the studio was started with."""
    ledger = values["ledger"] or values["address"]
    if not ledger:
        return _of_example(values, progress)
    named(progress, "Reading the ledger")(0, None)
    totals = ledger_status(ledger)
    person = values["person"].strip()
    accounts = [person_status(ledger, person)] if person else ledger_accounts(ledger, most=MOST_PERSONS)
    entries = ledger_history(ledger, person or None)
    return Answer(
        report=Report(
            title="symveil: the ledger",
            sections=(
                _totals(totals, values.get("named") or ("the dropped file" if values["ledger"] else _plain(ledger))),
                _accounts(accounts, totals, person),
                _history(entries, person),
            ),
        ),
        document={
            "status": totals.document(),
            "accounts": [each.document() for each in accounts],
            "entries": [entry.document() for entry in entries[-MOST_ENTRIES:]],
        },
        columns=("person", "granted", "spent", "left", "units"),
        rows=tuple((each.person, each.granted, each.spent, each.left, spent_in_units(each)) for each in accounts),
        marks=(("persons", str(totals.persons)), ("spent", totals.most_spent), ("left", totals.least_left)),
        secret=True,
    )


_PERSONS = ("ada", "alan", "barbara", "edsger", "grace", "tony")
_RELEASES = (("september", "0.5", 1), ("october", "1", 2))
"""Releases of the example: a name, an ε, and how many times more trips a person has than the one before."""


def _of_example(values: Mapping[str, str], progress: Progress) -> Answer:
    """A made-up ledger, where there is no other: two releases of the trips of six persons."""
    named(progress, "Making up a ledger")(0, None)
    with TemporaryDirectory(dir=values.get("folder")) as inside:
        ledger, true = Path(inside, "example.db"), Path(inside, "true.csv")
        grant_budget(ledger, "6", everyone=True)
        grant_budget(ledger, "4", persons=["grace"])
        for name, epsilon, more in _RELEASES:
            owners = [person for trips, person in enumerate(_PERSONS) for _ in range(more * trips // 2 + 1)]
            lines = (f"{number},{person},ab\n" for number, person in enumerate(owners))
            true.write_text(f"trip,person,streets\n{''.join(lines)}")
            privatize_file(
                true, Path(inside, f"{name}.csv"), alphabet="abc", epsilon=epsilon, identifier="trip", person="person",
                sequence="streets", separator="", ledger=ledger, release_id=name, over_budget="drop",
            )  # fmt: skip
        answer = answer_ledger({**values, "ledger": str(ledger), "named": "the example"}, progress)
    explained = (
        "**A made-up ledger:** every person may spend ε = 6, and one of them more. Each release is charged before "
        "anything is drawn, once for each trip of a person; a release that a budget does not cover leaves that person "
        "out.",
        "Start the studio with `symveil studio --ledger budgets.db`, or drop a ledger file beside, to see your own. It "
        "is only read.",
    )
    opening = Section("An example", tuple(map(Text, explained)))
    return replace(answer, report=replace(answer.report, sections=(opening, *answer.sections)), secret=False)


def _plain(ledger: str) -> str:
    """A name for the page: no folder, and no password, which may also stand behind a question mark.

    >>> _plain("postgresql://ada:secret@host/budgets?sslpassword=secret"), _plain("/home/ada/budgets.db")
    ('host/budgets', 'budgets.db')
    """
    return ledger.rpartition("@")[2].partition("?")[0] if "://" in ledger else Path(ledger).name


def _totals(totals: Totals, name: str) -> Section:
    pending = f", {totals.pending} of them not finished" if totals.pending else ""
    pending += f", {totals.abandoned} abandoned" if totals.abandoned else ""
    releases = f"{totals.releases:,} release{'' if totals.releases == 1 else 's'}{pending}"
    persons = "person" if totals.persons == 1 else "persons"
    rows = [("each person may spend", f"ε = {totals.allowance}, and what was granted by name")]
    if float(totals.delta) > 0:
        rows.append(("losses compose with", f"δ = {totals.delta}"))
    if totals.unit is not None:
        rows.append(("budgets are for", f"{totals.unit}; charges that promise less are refused"))
    rows += [
        ("charged in", f"{shown_unit(each.unit)}: {each.releases:,} release{'' if each.releases == 1 else 's'}")
        for each in totals.units
    ]
    parts = (
        Headline(f"{totals.persons:,}", Marked((f"{persons} in {name}; {releases}.",))),
        Headline(f"ε = {totals.most_spent}", "is the most that a person has spent."),
        Headline(f"ε = {totals.least_left}", "is the least that a person has left."),
        Facts.from_rows(rows),
        *(() if totals.note is None else (Text(Marked((f"{totals.note.capitalize()}.",)), "quiet"),)),
    )
    return Section("The ledger", parts)


def _accounts(accounts: list[Account], totals: Totals, person: str) -> Section:
    columns = ("person", "used", "", "spent ε", "granted ε", "left ε", "in which unit")
    rows = []
    for each in accounts:
        used = _used(each)
        composed = "" if each.composed_epsilon is None else f" (composed {each.composed_epsilon:.4g})"
        left = each.left + composed
        bar = Share(min(used, 1.0))
        rows.append((each.person, bar, percent(used), each.spent, each.granted, left, spent_in_units(each)))
    parts: list[Table | Text] = [Table.from_rows(columns, rows)]
    more = totals.persons - len(accounts)
    if not person and more > 0:
        parts.append(Text(f"Those who have spent most; {more:,} more. Name a person to see theirs.", "quiet"))
    return Section("Who has spent what", tuple(parts))


def _used(account: Account) -> float:
    """Which share of a budget was spent."""
    granted = exact(account.granted)
    return float(exact(account.spent) / granted) if granted > 0 else float(exact(account.spent) > 0)


def _history(entries: list[Entry], person: str) -> Section:
    shown = entries[-MOST_ENTRIES:][::-1]
    rows = [
        (
            entry.created.replace("T", " ")[:19],
            entry.kind + ("" if entry.state in (None, "done") else f", {entry.state or ''}"),
            f"ε = {entry.amount}" + ("" if entry.kind == "grant" or person else " a sequence"),
            entry.person
            or (f"{entry.persons:,} persons" if entry.persons is not None else f"{entry.sequences or 0:,} sequences"),
            ", ".join(filter(None, (entry.unit, entry.mechanism))),
        )
        for entry in shown
    ]
    columns = ("when", "what", "how much", "who", "unit")
    happened = Table.from_rows(columns, rows) if rows else Text("Nothing has happened yet.")
    more = len(entries) - len(shown)
    earlier = (Text(f"The newest first; {more:,} earlier ones.", "quiet"),) if more > 0 else ()
    return Section("What happened", (happened, *earlier))
