"""Options that mean the same in several commands, each declared once: one name, one metavar, one wording."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from symveil.cli.values import PATH, WHOLE_NUMBER, OneOf

Option = Callable[[Callable[..., Any]], Callable[..., Any]]


def choice_option(*names: str, of: tuple[str, ...], text: str) -> Option:
    """One of a few words; the first is the default."""
    return click.option(*names, type=OneOf(of), default=of[0], show_default=True, help=text)


def file_option(*names: str, text: str) -> Option:
    """A file to read or to write."""
    return click.option(*names, metavar="FILE", type=PATH, help=text)


def number_option(name: str, metavar: str, *, text: str, default: int | None = None, required: bool = False) -> Option:
    """A whole number."""
    # click takes a default of None for a value, with which nothing is missing
    usual: dict[str, Any] = {} if default is None else {"default": default, "show_default": True}
    return click.option(name, metavar=metavar, type=WHOLE_NUMBER, required=required, help=text, **usual)


json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")

adjacency_option = click.option(
    "--adjacency",
    metavar="B|all",
    help="Words that differ in up to B symbols are to look alike: 1 by default with --alphabet, required with --model.",
)

observations_adjacency_option = click.option(
    "--adjacency",
    metavar="B|all",
    default="1",
    show_default=True,
    help="Observations that differ in up to B events are to look alike.",
)

thin_option = click.option(
    "--thin",
    is_flag=True,
    help="Release although more than half of the positions of a typical word of the model have no alternative.",
)

k_option = click.option(
    "--k", metavar="K|infinite", default="0", show_default=True, help="How many observations back: 0 is now."
)

notion_option = choice_option(
    "--notion",
    of=("weak", "strong", "initial", "separate-1", "separate-2", "joint-1", "joint-2"),
    text="Which instants must stay hidden: see symveil opacity.",
)

spreadsheet_option = click.option(
    "--spreadsheet-safe",
    is_flag=True,
    help="CSV: an apostrophe before cells that a spreadsheet takes for formulas, such as =1+1. It changes values.",
)

start_option = click.option(
    "--start",
    metavar="DATE",
    help="Artificial times of events, in order: the first one. XES logs always have some.",
)

time_step_option = click.option(
    "--time-step", metavar="T", help="From an artificial time to the next, such as 1h; --step 1h is the same."
)

person_option = click.option(
    "--person", metavar="COL", help="Whose budget a sequence is charged to; by default its own."
)

neighbours_option = choice_option(
    "--neighbours",
    of=("add-remove", "replace"),
    text="Which files are to look alike: without a person, or with other records in their place.",
)

no_repeats_option = click.option(
    "--no-repeats", is_flag=True, help="Words have every symbol at most once; others are illegal."
)

constraint_option = file_option("--constraint", text="A model: words must be words of it too.")

places_option = file_option("--places", text="Where symbols lie: CSV with symbol, x, y.")

zones_option = click.option(
    "--zones", metavar="G|FILE", help="Zones: a grid such as 6 or 6x4 over the places, or CSV with symbol, zone."
)

confidence_option = click.option(
    "--confidence", metavar="C", default="0.95", show_default=True, help="How often intervals are to cover."
)

over_budget_option = choice_option(
    "--over-budget", of=("error", "drop"), text="What happens to persons with too little budget."
)

secret_option = click.option(
    "--secret", metavar="S", multiple=True, help="A secret state; replaces those of the file. Repeatable."
)


unobservable_option = click.option(
    "--unobservable",
    metavar="E",
    multiple=True,
    help="An event that nobody sees, beside those that the file calls so; drawings (.dot) name none. Repeatable.",
)


def epsilon_option(*, required: bool) -> Option:
    """ε, exactly as it is typed."""
    return click.option(
        "--epsilon", metavar="E", required=required, help="Privacy budget: a decimal or a fraction, above 0."
    )


def ledger_option(*, required: bool) -> Option:
    """Where budgets are kept."""
    return click.option(
        "--ledger", metavar="URL", required=required, help="The ledger: a file, or postgresql://user@host/database."
    )


def release_id_option(*, required: bool) -> Option:
    """Which release is meant."""
    return click.option(
        "--release-id",
        metavar="ID",
        required=required,
        help="The release's name; the same name is never charged twice.",
    )


again_option = click.option(
    "--again",
    is_flag=True,
    help="Make a release once more whose output stands; with --ledger everybody is charged a second time.",
)


def out_option(what: str, *, required: bool = True) -> Option:
    """Where a result goes. Every command writes it whole or not at all, and replaces what is there."""
    return click.option(
        "--out", metavar="FILE", type=PATH, required=required, help=f"{what}; a file of that name is replaced."
    )


delimiter_option = click.option(
    "--delimiter",
    metavar="D",
    callback=lambda _context, _parameter, value: "\t" if value in ("tab", "\\t") else value,
    help='CSV: what separates cells, such as ";" or tab; commas by default.',
)

date_format_option = click.option(
    "--date-format", metavar="F", help="Long form: how dates in --order are written, such as %d.%m.%Y %H:%M."
)

time_option = click.option(
    "--time", metavar="COL", help="The column of times, ISO 8601 or as --date-format says; such as time:timestamp."
)

timezone_option = click.option(
    "--timezone", metavar="Z", help="Of times: the zone whose clock is meant, such as Europe/Amsterdam; UTC by default."
)

time_grid_option = click.option(
    "--time-grid",
    metavar="G",
    help="With --time: release times too, on a public grid: hour, hour-of-week, or waits such as wait:1s..365d.",
)

time_shift_option = click.option(
    "--time-shift",
    metavar="N|any",
    help="With --time-grid: by how many bins the time of an event may differ that is to be hard to distinguish; any by "
    "default.",
)

period_option = click.option(
    "--period", metavar="A..B", help="Of times: the dates of starts, both included, such as 2024-01-01..2024-12-31."
)

durations_option = click.option(
    "--durations",
    metavar="A..B|EDGES",
    help="Of times: the public bins of waits, such as 1s..365d (the default) or their edges, 0,1m,1h,1d.",
)


def wide_form_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How a file with one sequence in a row is read."""
    for option in (
        delimiter_option,
        click.option("--id", "identifier", metavar="COL", help="Wide form: the column that names the record."),
        click.option(
            "--separator",
            metavar="S",
            help='Wide form: what separates symbols in text; blanks by default, "" for every character.',
        ),
        click.option("--sequence", metavar="COL", help="Wide form: the column of the sequences, lists or text."),
    ):
        command = option(command)
    return command


def event_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How a file with one event in a row is read."""
    for option in (
        click.option("--symbol", metavar="COL", help="Long form: the column of the symbols."),
        date_format_option,
        click.option(
            "--order", metavar="COL", help="Long form: numbers or timestamps that put a case's events in order."
        ),
        click.option("--case", metavar="COL", help="Long form, one event per row: the column of the case."),
    ):
        command = option(command)
    return command


def size_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What is too large to be meant."""
    ratio = number_option("--gzip-ratio", "N", text="Refuse gzip files that unpack to more.", default=200)
    return number_option("--longest", "N", text="Refuse longer sequences.", default=1_000_000)(ratio(command))


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Where the work is done."""
    master = click.option(
        "--master", metavar="URL", help="With --engine spark: the cluster, such as local[2] or spark://host:7077."
    )
    return choice_option("--engine", of=("local", "spark"), text="This machine, or a cluster.")(master(command))


def column_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How a file of sequences is read, whether a row is a sequence or one event, and what else of it passes."""
    keep = click.option(
        "--keep", metavar="COL", multiple=True, help="A public column that passes as it is. Repeatable."
    )
    return wide_form_options(event_options(keep(command)))
