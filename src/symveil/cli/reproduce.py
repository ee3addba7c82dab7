"""`symveil reproduce`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from symveil.cli.command import command
from symveil.cli.output import print_json, print_notes, print_table
from symveil.cli.progress import progress_bar
from symveil.cli.single_options import choice_option, json_option
from symveil.cli.values import PATH
from symveil.numbers.progress import named

if TYPE_CHECKING:
    from symveil.tasks.reproduce.rows import Reproduction


@command("reproduce", example="symveil reproduce jones2019 --plots figures")
@click.argument("paper", metavar="[PAPER]", required=False)
@click.option("--plots", metavar="DIR", type=PATH, help="Also draw the figures into this folder.")
@choice_option("--format", "suffix", of=("png", "svg"), text="With --plots: of the files.")
@json_option
def reproduce_command(paper: str | None, plots: Path | None, suffix: str, as_json: bool) -> None:
    """Show every published figure next to ours.

    PAPER is jones2019, benvenuti2026, zhao2025 or chistikov2019; by default all of them.
    """
    from symveil.tasks.reproduce.papers import reproduce

    with progress_bar("reproducing") as progress:
        result = reproduce(paper, progress=progress)
    drawn: list[Path] = []
    if plots:
        from symveil.tasks.reproduce.figures import draw_figures

        with progress_bar("drawing") as progress:
            for path in draw_figures(plots, suffix, paper):
                drawn.append(path)
                named(progress, f"drawn, {path.name} last")(len(drawn), None)
    if as_json:
        print_json(result.document())
    else:
        _print(result)
    print_notes(f"wrote {path}" for path in drawn)


def _print(result: Reproduction) -> None:
    for name in dict.fromkeys(row.paper for row in result.rows):
        cells = [
            (row.item, row.published, row.ours, "yes" if row.agrees else "NO", row.note)
            for row in result.rows
            if row.paper == name
        ]
        print_table(name, ("item", "published", "ours", "agrees", "note"), cells)
