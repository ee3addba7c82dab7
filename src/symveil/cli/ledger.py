"""`symveil ledger`."""

from __future__ import annotations

from pathlib import Path

import click

from symveil.cli.command import command, group
from symveil.cli.output import print_facts, print_json, print_table
from symveil.cli.single_options import json_option, ledger_option, out_option, spreadsheet_option
from symveil.cli.values import PATH
from symveil.errors import ParameterError


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
    """Show how much was spent and how much is left."""
    from symveil.workflows.budgets import ledger_status, person_status

    document = (ledger_status(ledger) if person is None else person_status(ledger, person)).document()
    if as_json:
        print_json(document)
        return
    print_facts("Ledger", [(name.replace("_", " "), str(value)) for name, value in document.items()])


@command("grant", example="symveil ledger grant --ledger budgets.db --epsilon 3 --everyone")
@ledger_option(required=True)
@click.option("--epsilon", metavar="E", required=True, help="How much to add; a negative amount takes back.")
@click.option("--person", "persons", metavar="P", multiple=True, help="To this person. Repeatable.")
@click.option(
    "--persons", "persons_file", metavar="FILE", type=PATH, help="To the persons in this file, a name a line."
)
@click.option("--everyone", is_flag=True, help="To everybody, also those whom the ledger has not met.")
@click.option("--delta", metavar="D", help="With --everyone: compose losses, allowing this delta, where that helps.")
@json_option
def grant_command(
    ledger: str,
    epsilon: str,
    persons: tuple[str, ...],
    persons_file: Path | None,
    everyone: bool,
    delta: str | None,
    as_json: bool,
) -> None:
    """Add to budgets. The ledger is made where there is none."""
    from symveil.workflows.budgets import grant_budget

    if everyone == bool(persons or persons_file):
        found = "both" if everyone else "neither"
        raise ParameterError("person", expected="--person or --persons, or --everyone", found=found)
    named = grant_budget(
        ledger, epsilon, persons=persons, persons_file=persons_file, everyone=everyone, delta=delta
    )  # fmt: skip
    if as_json:
        print_json({"granted": epsilon, "persons": None if everyone else named, "everyone": everyone})
        return
    click.echo(f"Granted {epsilon} to {'everyone' if everyone else f'{named} persons'}.")


@command("history", example="symveil ledger history --ledger budgets.db")
@ledger_option(required=True)
@click.option("--person", metavar="P", help="What concerns this person.")
@json_option
def history_command(ledger: str, person: str | None, as_json: bool) -> None:
    """List every grant and every release, in order."""
    from symveil.workflows.budgets import ledger_history

    entries = ledger_history(ledger, person)
    if as_json:
        print_json({"entries": [entry.document() for entry in entries]})
        return
    rows = [
        (
            entry.created,
            entry.kind,
            entry.amount,
            entry.person or entry.release_id or "",
            entry.state or "",
            "" if entry.sequences is None else str(entry.sequences),
        )
        for entry in entries
    ]
    print_table("History", ("when", "what", "amount", "person or release", "state", "sequences"), rows)


@command("export", example="symveil ledger export --ledger budgets.db --out budgets.csv")
@ledger_option(required=True)
@out_option("Everybody's budget, as CSV")
@spreadsheet_option
@json_option
def export_command(ledger: str, out: Path, spreadsheet_safe: bool, as_json: bool) -> None:
    """Write everybody's budget as CSV: person, granted, spent, left."""
    from symveil.workflows.budgets import export_ledger

    count = export_ledger(ledger, out, spreadsheet_safe=spreadsheet_safe)
    if as_json:
        print_json({"out": str(out), "persons": count})
        return
    click.echo(f"Wrote {count} persons to {out}.")


for _command in (status_command, grant_command, history_command, export_command):
    ledger_command.add_command(_command)
