"""What a ledger says, as reports: budgets, grants, its history, and a release that was closed."""

from __future__ import annotations

from collections.abc import Iterable

from symveil.ledger.lifecycle import Abandoned
from symveil.ledger.statements import WHOLE, Account, Entry, Totals
from symveil.ledger.units import Compares, Unit, shown_unit
from symveil.reports.report import Facts, Report, Section, Table, text_report


def status_report(status: Totals | Account) -> Report:
    """What was granted, spent and left, in which units; budgets for words and for persons side by side."""
    notes = (status.note, status.negative, getattr(status, "whole_note", None))
    title = "Ledger"
    return Report(
        title=title,
        sections=(Section(title, (Facts.from_rows(_facts(status)),)), *_books(status)),
        notes=tuple(note for note in notes if note is not None),
    )


def _facts(status: Totals | Account) -> list[tuple[str, str]]:
    apart = {"budgets_for", "units", "sum_unit", "note", "negative", "books", "whole_words"}
    if len(status.books) > 1:  # side by side below
        apart |= set(status.books[0].document())
    plain = [(name, value) for name, value in status.document().items() if name not in apart]
    facts = [(name.replace("_", " "), str(value)) for name, value in plain]
    unit = getattr(status, "unit", None)
    if unit is not None:
        facts.append(("budgets are for", str(unit)))
    for each in status.units:
        count = f"{each.releases} release{'' if each.releases == 1 else 's'}"
        spent = count if each.spent is None else f"{each.spent} in {count}"
        facts.append(("charged", f"{spent}: {shown_unit(each.unit)}"))
    whole, delta = (getattr(status, name, None) for name in ("whole", "whole_delta"))
    if whole is not None:
        facts.append(("whole words", f"{whole}{f', delta {delta}' if delta else ''}: {WHOLE}"))
    return facts


def _books(status: Totals | Account) -> tuple[Section, ...]:
    """The budgets for words and for persons, side by side."""
    if len(status.books) == 1:
        return ()
    documents = [book.document() for book in status.books]
    names = list(dict.fromkeys(name for document in documents for name in document if name != "compares"))
    rows = [(name.replace("_", " "), *(str(document.get(name, "")) for document in documents)) for name in names]
    columns = ("", *(f"for {book.compares}" for book in status.books))
    return (Section("Two budgets, which do not add up", (Table.from_rows(columns, rows),)),)


def grant_report(epsilon: str, persons: int | None, compares: Compares | None, unit: Unit | None) -> Report:
    """What was granted, to how many persons (None: to everyone), for what."""
    what = "" if compares is None else f" for {compares}"
    texts = [f"Granted {epsilon} to {'everyone' if persons is None else f'{persons} persons'}{what}."]
    if unit is not None:
        texts.append(f"Budgets of this ledger are for {unit}.")
    return text_report("Granted", texts)


def abandoned_report(closed: Abandoned) -> Report:
    """What became of a release that was closed, and of its charge."""
    if closed.already_abandoned:
        first = f"Release {closed.release_id} was abandoned before; nothing was changed."
    else:
        first = f"Abandoned release {closed.release_id}: its key is erased, and it cannot be drawn any more."
    texts = [first, f"Its charge stays: {closed.charge} for each of {closed.sequences} sequences."]
    if closed.output_recorded:
        texts.append(f"Its output had been written: if it stands in {closed.out}, it is that release, and is paid for.")
    return text_report("Abandoned", texts)


def history_report(entries: Iterable[Entry]) -> Report:
    """Every grant and every release, in order."""
    rows = [
        (
            entry.created,
            entry.kind,
            entry.amount if entry.delta is None else f"{entry.amount}, delta {entry.delta}",
            entry.person or entry.release_id or "",
            entry.state or "",
            "" if entry.sequences is None else f"{entry.sequences}{f' ({entry.record})' if entry.record else ''}",
            entry.unit or "",
            entry.mechanism or "",
        )
        for entry in entries
    ]
    columns = ("when", "what", "amount", "person or release", "state", "sequences", "unit", "mechanism")
    return Report(title="History", sections=(Section("History", (Table.from_rows(columns, rows),)),))
