"""`symveil ledger`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from symveil.cli.field_options import OneOf, named_options
from symveil.cli.options import file_option, json_option, out_option
from symveil.cli.output import command, group, print_result
from symveil.errors import ParameterError


@group("ledger", example="symveil ledger status --ledger budgets.db")
def ledger_command() -> None:
    """Keep the budget of each person.

    What was granted, what was spent, what is left.
    """


@command("status", example="symveil ledger status --ledger budgets.db --person alice")
@named_options("ledger", required=("ledger",))
@click.option("--person", metavar="P", help="This person's budget instead of the whole.")
@json_option
def status_command(ledger: str, person: str | None, as_json: bool) -> None:
    """Show how much was spent and how much is left.

    Each amount has its unit: between which words it bounds the loss.
    """
    from symveil.tasks.budgets import ledger_status, person_status

    status = ledger_status(ledger) if person is None else person_status(ledger, person)
    print_result(status.document, status.report(), as_json=as_json)


@command("grant", example="symveil ledger grant --ledger budgets.db --epsilon 3 --everyone")
@named_options("ledger", required=("ledger",))
@click.option("--epsilon", metavar="E", required=True, help="How much to add; a negative amount takes back.")
@click.option("--person", "persons", metavar="P", multiple=True, help="To this person. Repeatable.")
@file_option("--persons", "persons_file", text="To the persons in this file, a name a line.")
@click.option("--everyone", is_flag=True, help="To every person, also to those whom the ledger has not met.")
@click.option("--delta", metavar="D", help="With --everyone: compose losses, allowing this delta, where that helps.")
@click.option(
    "--for",
    "compares",
    type=OneOf(["words", "persons"]),
    help="What the grant pays for: releases of sequences, or count and learn; by default what the ledger was used for "
    "first.",
)
@click.option(
    "--adjacency",
    metavar="B|all",
    help="Budgets are for words this close: charges that promise less are refused.",
)
@click.option(
    "--metric", type=OneOf(["hamming", "levenshtein"]), help="What close means there: hamming, unless another is named."
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
    compares: Any,  # one of the words of --for, or None
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
    from symveil.parameters import Whole
    from symveil.tasks.budgets import Granted, grant_budget, read_unit

    if everyone == bool(persons or persons_file):
        actual = "both" if everyone else "neither"
        raise ParameterError("person", expected="--person or --persons, or --everyone", found=actual)
    b: Any = None if adjacency is None else Whole(least=1, words=("all",)).read("adjacency", adjacency)
    unit = read_unit(b, metric, public_start)
    if unit is not None and compares == "persons":
        raise ParameterError(
            "for", expected="words with --adjacency, --metric or --public-start, which are about words", found=compares
        )
    named = grant_budget(
        ledger, epsilon, persons=persons, persons_file=persons_file, everyone=everyone, delta=delta, unit=unit,
        compares=compares,
    )  # fmt: skip
    granted = Granted(epsilon, None if everyone else named, compares, unit)
    print_result(granted.document, granted.report(), as_json=as_json)


@command("abandon", example="symveil ledger abandon --ledger budgets.db --release-id october")
@named_options("ledger", "release_id", required=("ledger", "release_id"))
@json_option
def abandon_command(ledger: str, release_id: str, as_json: bool) -> None:
    """Close a release that was not finished.

    Its key is erased, so that it cannot be drawn any more; its charge stays. For a release that cannot be resumed:
    its input is gone, or another version of symveil began it.
    """
    from symveil.tasks.budgets import abandon_release, abandoned_report

    closed = abandon_release(ledger, release_id)
    print_result(closed.document, abandoned_report(closed), as_json=as_json)


@command("history", example="symveil ledger history --ledger budgets.db")
@named_options("ledger", required=("ledger",))
@click.option("--person", metavar="P", help="What concerns this person.")
@json_option
def history_command(ledger: str, person: str | None, as_json: bool) -> None:
    """List every grant and every release, in order."""
    from symveil.tasks.budgets import history_report, ledger_history

    entries = ledger_history(ledger, person)
    print_result(lambda: {"entries": [entry.document() for entry in entries]}, history_report(entries), as_json=as_json)


@command("export", example="symveil ledger export --ledger budgets.db --out budgets.csv")
@named_options("ledger", required=("ledger",))
@out_option("The budget of each person, as CSV")
@named_options("spreadsheet_safe")
@json_option
def export_command(ledger: str, out: Path, spreadsheet_safe: bool, as_json: bool) -> None:
    """Write the budget of each person as CSV.

    Its columns: person, granted, spent, left, units (what was spent in which unit), and delta (what releases that have
    one have cost of it); where both words and persons have budgets also books (what is left in each), and whole_words
    (what is lost where all words of the person are replaced by others of the same lengths).
    """
    from symveil.reports.report import text_report
    from symveil.tasks.budgets import export_ledger

    count = export_ledger(ledger, out, spreadsheet_safe=spreadsheet_safe)
    wrote = text_report("Export", [f"Wrote {count} persons to {out}."])
    print_result(lambda: {"out": str(out), "persons": count}, wrote, as_json=as_json)


for _command in (status_command, grant_command, history_command, export_command, abandon_command):
    ledger_command.add_command(_command)
