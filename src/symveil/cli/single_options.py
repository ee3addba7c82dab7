"""Options that mean the same in several commands, each declared once: one name, one metavar, one wording."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from symveil.cli.field_options import Option, options_of
from symveil.cli.values import DELIMITER, PATH, WHOLE_NUMBER, OneOf
from symveil.formats.sequences.columns import ColumnOptions
from symveil.tasks.parameters import RunOptions


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

thin_option = options_of(RunOptions, "thin")

k_option = click.option(
    "--k", metavar="K|infinite", default="0", show_default=True, help="How many observations back: 0 is now."
)

notion_option = choice_option(
    "--notion",
    of=("weak", "strong", "initial", "separate-1", "separate-2", "joint-1", "joint-2"),
    text="Which instants must stay hidden: see symveil opacity.",
)

spreadsheet_option = options_of(RunOptions, "spreadsheet_safe")

start_option = options_of(RunOptions, "start")

time_step_option = options_of(RunOptions, "time_step")

person_option = options_of(ColumnOptions, "person")


def _count_options() -> type:
    from symveil.tasks.count import CountOptions

    return CountOptions


def _learn_options() -> type:
    from symveil.tasks.learn_privately import LearnOptions

    return LearnOptions


def count_options(*names: str) -> Option:
    """Of the fields of `CountOptions` those of these names."""
    return options_of(_count_options, *names)


def learn_options(*names: str) -> Option:
    """Of the fields of `LearnOptions` those of these names."""
    return options_of(_learn_options, *names)


map_options = count_options("places", "zones")

rule_options = learn_options("no_repeats", "constraint")

confidence_option = count_options("confidence")

over_budget_option = options_of(RunOptions, "over_budget")

true_error_option = options_of(RunOptions, "unsafe_report_true_error")

on_unknown_option = options_of(RunOptions, "on_unknown")

secret_option = click.option(
    "--secret", metavar="S", multiple=True, help="A secret state; replaces those of the file. Repeatable."
)


unobservable_option = click.option(
    "--unobservable",
    metavar="E",
    multiple=True,
    help="An event that the attacker does not see, beside those in the file; drawings (.dot) have none. Repeatable.",
)


def epsilon_option(*, required: bool) -> Option:
    """ε, exactly as it is typed."""
    return click.option(
        "--epsilon", metavar="E", required=required, help="Privacy budget: a decimal or a fraction, above 0."
    )


def ledger_option(*, required: bool) -> Option:
    """Where budgets are kept."""
    return options_of(RunOptions, "ledger", required={"ledger": required})


def release_id_option(*, required: bool) -> Option:
    """Which release is meant."""
    return options_of(RunOptions, "release_id", required={"release_id": required})


again_option = options_of(RunOptions, "again")


def out_option(what: str, *, required: bool = True) -> Option:
    """Where a result goes. Every command writes it whole or not at all, and replaces what is there."""
    return click.option(
        "--out", metavar="FILE", type=PATH, required=required, help=f"{what}; a file of that name is replaced."
    )


delimiter_option = options_of(ColumnOptions, "delimiter", kinds={"delimiter": DELIMITER})

date_format_option = options_of(ColumnOptions, "date_format")

wide_form_options = options_of(
    ColumnOptions, "sequence", "separator", "identifier", "delimiter", kinds={"delimiter": DELIMITER}
)
"""How a file with one sequence in a row is read."""

event_options = options_of(ColumnOptions, "case", "order", "date_format", "symbol")
"""How a file with one event in a row is read."""

time_option = click.option(
    "--time", metavar="COL", help="The column of times, ISO 8601 or as --date-format says; such as time:timestamp."
)

timezone_option = options_of(RunOptions, "timezone")

private_times_options = options_of(RunOptions, "time_grid", "time_shift", "timezone", "time_share")

size_options = options_of(RunOptions, "longest", "gzip_ratio")
"""What is too large to be meant."""

engine_options = options_of(RunOptions, "engine", "master")
"""Where the work is done."""


def column_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How a file of sequences is read, whether a row is a sequence or one event, and what else of it passes."""
    return wide_form_options(event_options(options_of(ColumnOptions, "keep")(command)))
