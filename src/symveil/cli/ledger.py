"""`symveil ledger`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from symveil.cli.options import read_adjacency_option
from symveil.cli.output import command, group, print_facts, print_json, print_line, print_notes, print_table
from symveil.cli.single_options import (
    file_option,
    json_option,
    ledger_option,
    out_option,
    release_id_option,
    spreadsheet_option,
)
from symveil.cli.values import OneOf
from symveil.errors import ParameterError

if TYPE_CHECKING:
    from symveil.ledger.statements import Account, Totals
    from symveil.ledger.units import Compares, Unit


@group("ledger", example="symveil ledger status --ledger budgets.db")
def ledger_command() -> None:
    """Keep the budget of each person.

    What was granted, what was spent, what is left.
    """


@command("status", example="symveil ledger status --ledger budgets.db --person alice")
@ledger_option(required=True)
@click.option("--person", metavar="P", help="This person's budget instead of the whole.")
@json_option
def status_command(ledger: str, person: str | None, as_json: bool) -> None:
    """Show how much was spent and how much is left.

    Beside each amount stands its unit: between which words it bounds the loss.
    """
    from symveil.tasks.budgets import ledger_status, person_status

    status = ledger_status(ledger) if person is None else person_status(ledger, person)
    if as_json:
        print_json(status.document())
        return
    print_facts("Ledger", _facts(status))
    _print_books(status)
    print_notes(
        [note for note in (status.note, status.negative, getattr(status, "whole_note", None)) if note is not None]
    )


def _facts(status: Totals | Account) -> list[tuple[str, str]]:
    from symveil.ledger.statements import WHOLE
    from symveil.ledger.units import shown_unit

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


def _print_books(status: Totals | Account) -> None:
    """The budgets for words and for persons, side by side."""
    if len(status.books) == 1:
        return
    documents = [book.document() for book in status.books]
    names = list(dict.fromkeys(name for document in documents for name in document if name != "compares"))
    rows = [(name.replace("_", " "), *(str(document.get(name, "")) for document in documents)) for name in names]
    columns = ("", *(f"for {book.compares}" for book in status.books))
    print_table("Two budgets, which do not add up", columns, rows)


@command("grant", example="symveil ledger grant --ledger budgets.db --epsilon 3 --everyone")
@ledger_option(required=True)
@click.option("--epsilon", metavar="E", required=True, help="How much to add; a negative amount takes back.")
@click.option("--person", "persons", metavar="P", multiple=True, help="To this person. Repeatable.")
@file_option("--persons", "persons_file", text="To the persons in this file, a name a line.")
@click.option("--everyone", is_flag=True, help="To everybody, also those whom the ledger has not met.")
@click.option("--delta", metavar="D", help="With --everyone: compose losses, allowing this delta, where that helps.")
@click.option(
    "--for",
    "compares",
    type=OneOf(["words", "persons"]),
    help="What the grant pays for. words: releases of sequences; persons: count and learn, where a person is added or "
    "removed. Without it the grant is for what the ledger was used for first.",
)
@click.option(
    "--adjacency",
    metavar="B|all",
    help="Budgets of this ledger are for words this close: charges that promise less are refused.",
)
@click.option(
    "--metric",
    type=OneOf(["hamming", "levenshtein"]),
    help="What close means there: hamming, unless another is named.",
)
@click.option("--public-start", is_flag=True, help="There only words with the same first symbol are compared.")
@json_option
def grant_command(
    ledger: str,
    epsilon: str,
    persons: tuple[str, ...],
    persons_file: Path | None,
    everyone: bool,
    delta: str | None,
    compares: Compares | None,
    adjacency: str | None,
    metric: str | None,
    public_start: bool,
    as_json: bool,
) -> None:
    """Add to budgets. The ledger is made where there is none.

    Losses between words (privatize) and losses between files with and without a person (count, learn) do not add up:
    each has budgets of its own, and --for says which is granted.

    With --adjacency, --metric or --public-start all budgets of the ledger are for that unit from now on; a charge in
    another unit is refused unless it covers that one.
    """
    from symveil.tasks.budgets import grant_budget

    if everyone == bool(persons or persons_file):
        actual = "both" if everyone else "neither"
        raise ParameterError("person", expected="--person or --persons, or --everyone", found=actual)
    unit = _unit(adjacency, metric, public_start)
    if unit is not None and compares == "persons":
        raise ParameterError(
            "for", expected="words with --adjacency, --metric or --public-start, which are about words", found=compares
        )
    named = grant_budget(
        ledger, epsilon, persons=persons, persons_file=persons_file, everyone=everyone, delta=delta, unit=unit,
        compares=compares,
    )  # fmt: skip
    if as_json:
        document: dict[str, object] = {"granted": epsilon, "persons": None if everyone else named, "everyone": everyone}
        document |= {} if compares is None else {"for": compares}
        print_json(document | ({} if unit is None else {"budgets_for": unit.document()}))
        return
    what = "" if compares is None else f" for {compares}"
    click.echo(f"Granted {epsilon} to {'everyone' if everyone else f'{named} persons'}{what}.")
    if unit is not None:
        click.echo(f"Budgets of this ledger are for {unit}.")


def _unit(adjacency: str | None, metric: str | None, public_start: bool) -> Unit | None:
    """The unit that was named, by any part of it."""
    from symveil.laws.parameters import read_metric
    from symveil.ledger.units import Unit

    if adjacency is None and metric is None and not public_start:
        return None
    return Unit(
        adjacency=read_adjacency_option("1" if adjacency is None else adjacency),
        metric=read_metric(metric or "hamming"),
        public_start=public_start,
    )


@command("abandon", example="symveil ledger abandon --ledger budgets.db --release-id october")
@ledger_option(required=True)
@release_id_option(required=True)
@json_option
def abandon_command(ledger: str, release_id: str, as_json: bool) -> None:
    """Close a release that was not finished.

    Its key is erased, so that it cannot be drawn any more; its charge stays. For a release that cannot be gone on with:
    its input is gone, or another version of symveil began it.
    """
    from symveil.tasks.budgets import abandon_release

    closed = abandon_release(ledger, release_id)
    if as_json:
        print_json(closed.document())
        return
    if closed.already_abandoned:
        click.echo(f"Release {closed.release_id} was abandoned before; nothing was changed.")
    else:
        click.echo(f"Abandoned release {closed.release_id}: its key is erased, and it cannot be drawn any more.")
    click.echo(f"Its charge stays: {closed.charge} for each of {closed.sequences} sequences.")
    if closed.output_recorded:
        print_line(f"Its output had been written: if it stands in {closed.out}, it is that release, and is paid for.")


@command("history", example="symveil ledger history --ledger budgets.db")
@ledger_option(required=True)
@click.option("--person", metavar="P", help="What concerns this person.")
@json_option
def history_command(ledger: str, person: str | None, as_json: bool) -> None:
    """List every grant and every release, in order."""
    from symveil.tasks.budgets import ledger_history

    entries = ledger_history(ledger, person)
    if as_json:
        print_json({"entries": [entry.document() for entry in entries]})
        return
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
    print_table("History", columns, rows)


@command("export", example="symveil ledger export --ledger budgets.db --out budgets.csv")
@ledger_option(required=True)
@out_option("Everybody's budget, as CSV")
@spreadsheet_option
@json_option
def export_command(ledger: str, out: Path, spreadsheet_safe: bool, as_json: bool) -> None:
    """Write everybody's budget as CSV.

    Its columns: person, granted, spent, left, units (what was spent in which unit), and delta (what releases that have
    one have cost of it); where both words and persons have budgets also books (what is left in each), and whole_words
    (what is lost where all words of the person are replaced by others of the same lengths).
    """
    from symveil.tasks.budgets import export_ledger

    count = export_ledger(ledger, out, spreadsheet_safe=spreadsheet_safe)
    if as_json:
        print_json({"out": str(out), "persons": count})
        return
    print_line(f"Wrote {count} persons to {out}.")


for _command in (status_command, grant_command, history_command, export_command, abandon_command):
    ledger_command.add_command(_command)
