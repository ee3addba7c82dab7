"""Options that mean the same in several commands, each declared once: one name, one metavar, one wording."""

from __future__ import annotations

from typing import Any

import click

from symveil.cli.field_options import Option
from symveil.cli.values import PATH, WHOLE_NUMBER, OneOf


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

k_option = click.option(
    "--k", metavar="K|infinite", default="0", show_default=True, help="How many observations back: 0 is now."
)

notion_option = choice_option(
    "--notion",
    of=("weak", "strong", "initial", "separate-1", "separate-2", "joint-1", "joint-2"),
    text="Which instants must stay hidden: see symveil opacity.",
)

secret_option = click.option(
    "--secret", metavar="S", multiple=True, help="A secret state; replaces those of the file. Repeatable."
)


unobservable_option = click.option(
    "--unobservable",
    metavar="E",
    multiple=True,
    help="An event that the attacker does not see, beside those in the file; drawings (.dot) have none. Repeatable.",
)


def out_option(what: str, *, required: bool = True) -> Option:
    """Where a result goes. Every command writes it whole or not at all, and replaces what is there."""
    return click.option(
        "--out", metavar="FILE", type=PATH, required=required, help=f"{what}; a file of that name is replaced."
    )


def epsilon_option(*, required: bool) -> Option:
    """ε, exactly as it is typed."""
    return click.option(
        "--epsilon", metavar="E", required=required, help="Privacy budget: a decimal or a fraction, above 0."
    )


time_option = click.option(
    "--time", metavar="COL", help="The column of times, ISO 8601 or as --date-format says; such as time:timestamp."
)
