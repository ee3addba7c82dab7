"""Ledger: who has spent what. Nothing is ever changed from here."""

from __future__ import annotations

import html
from collections.abc import Mapping
from pathlib import Path

from symveil.ledger.statements import Account, Entry, Totals
from symveil.ledger.units import shown_unit
from symveil.numbers.progress import Progress, named
from symveil.numbers.rationals import exact
from symveil.reports.page import table
from symveil.studio.answer import Answer, Section, facts, large
from symveil.tasks.budgets import (
    ledger_accounts,
    ledger_history,
    ledger_status,
    person_status,
    spent_in_units,
)

MOST_PERSONS, MOST_ENTRIES = 100, 50


def answer_ledger(values: Mapping[str, str], progress: Progress) -> Answer:
    """The Ledger panel; `address` is the ledger that the studio was started with."""
    ledger = values["ledger"] or values["address"]
    if not ledger:
        return _none()
    named(progress, "Reading the ledger")(0, None)
    totals = ledger_status(ledger)
    person = values["person"].strip()
    accounts = [person_status(ledger, person)] if person else ledger_accounts(ledger, most=MOST_PERSONS)
    entries = ledger_history(ledger, person or None)
    return Answer(
        title="symveil: the ledger",
        sections=(
            _totals(totals, "the dropped file" if values["ledger"] else _plain(ledger)),
            _accounts(accounts, totals, person),
            _history(entries, person),
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


def _none() -> Answer:
    body = (
        "<p>A ledger keeps the budget of each person: every release is charged before anything is drawn.</p>"
        "<p>Start the studio with <code>symveil studio --ledger budgets.db</code>, or drop a ledger file beside. It is "
        "only read.</p>"
    )
    return Answer.without("symveil: the ledger", heading="No ledger yet", body=body)


def _plain(ledger: str) -> str:
    """A name for the page: no folder, and no password, which may also stand behind a question mark.

    >>> _plain("postgresql://ada:secret@host/budgets?sslpassword=secret"), _plain("/home/ada/budgets.db")
    ('host/budgets', 'budgets.db')
    """
    return ledger.rpartition("@")[2].partition("?")[0] if "://" in ledger else Path(ledger).name


def _totals(totals: Totals, name: str) -> Section:
    pending = f", {totals.pending} of them not finished" if totals.pending else ""
    pending += f", {totals.abandoned} abandoned" if totals.abandoned else ""
    body = '<div class="pair"><div>'
    body += large(
        f"{totals.persons:,}",
        f"{'person' if totals.persons == 1 else 'persons'} in {html.escape(name)}; {totals.releases:,} "
        f"release{'' if totals.releases == 1 else 's'}{pending}.",
    )
    body += "</div><div>" + large(f"ε = {totals.most_spent}", "is the most that anybody has spent.")
    body += "</div><div>" + large(f"ε = {totals.least_left}", "is the least that anybody has left.") + "</div></div>"
    rows = [("everybody may spend", f"ε = {totals.allowance}, and what was granted by name")]
    if float(totals.delta) > 0:
        rows.append(("losses compose with", f"δ = {totals.delta}"))
    if totals.unit is not None:
        rows.append(("budgets are for", f"{totals.unit}; charges that promise less are refused"))
    rows += [
        (
            "charged in",
            f"{html.escape(shown_unit(each.unit))}: {each.releases:,} release{'' if each.releases == 1 else 's'}",
        )
        for each in totals.units
    ]
    note = "" if totals.note is None else f'<p class="quiet">{html.escape(totals.note.capitalize())}.</p>'
    return Section(heading="The ledger", body=body + facts(rows), after=note, wide=True)


def _accounts(accounts: list[Account], totals: Totals, person: str) -> Section:
    rows = [
        (
            html.escape(each.person),
            _meter(each),
            each.spent,
            each.granted,
            each.left + (f" (composed {each.composed_epsilon:.4g})" if each.composed_epsilon is not None else ""),
            html.escape(spent_in_units(each)),
        )
        for each in accounts
    ]
    body = table(("person", "used", "spent ε", "granted ε", "left ε", "in which unit"), rows)
    more = totals.persons - len(accounts)
    after = ""
    if not person and more > 0:
        after = f'<p class="quiet">Those who have spent most; {more:,} more. Name a person to see theirs.</p>'
    return Section(heading="Who has spent what", body=body, after=after, wide=True)


def _meter(account: Account) -> str:
    granted = exact(account.granted)
    share = float(exact(account.spent) / granted) if granted > 0 else (1.0 if exact(account.spent) > 0 else 0.0)
    return (
        f'<meter min="0" max="1" high="0.8" optimum="0" value="{min(share, 1.0):.4f}" '
        f'aria-label="{100 * share:.0f} % used"></meter> {100 * share:.0f} %'
    )


def _history(entries: list[Entry], person: str) -> Section:
    shown = entries[-MOST_ENTRIES:][::-1]
    rows = [
        (
            html.escape(entry.created.replace("T", " ")[:19]),
            entry.kind + ("" if entry.state in (None, "done") else f", {html.escape(entry.state or '')}"),
            f"ε = {entry.amount}" + ("" if entry.kind == "grant" or person else " a sequence"),
            html.escape(entry.person or "")
            or (f"{entry.persons:,} persons" if entry.persons is not None else f"{entry.sequences or 0:,} sequences"),
            html.escape(", ".join(filter(None, (entry.unit, entry.mechanism)))),
        )
        for entry in shown
    ]
    body = table(("when", "what", "how much", "who", "unit"), rows) if rows else "<p>Nothing has happened yet.</p>"
    more = len(entries) - len(shown)
    after = f'<p class="quiet">The newest first; {more:,} earlier ones.</p>' if more > 0 else ""
    return Section(heading="What happened", body=body, after=after, wide=True)
