"""`symveil reproduce`."""

from __future__ import annotations

from pathlib import Path

import click

from symveil.cli.options import json_option
from symveil.cli.output import print_json, print_table


@click.command("reproduce", epilog="Example: symveil reproduce jones2019 --plots figures")
@click.argument("paper", required=False)
@click.option("--plots", metavar="DIR", type=click.Path(path_type=Path), help="Also draw the figures into DIR.")
@click.option("--format", "suffix", type=click.Choice(["png", "svg"]), default="png", show_default=True)
@json_option
def reproduce_command(paper: str | None, plots: Path | None, suffix: str, as_json: bool) -> None:
    """Show every published figure of a PAPER (jones2019, benvenuti2026, zhao2025, chistikov2019) next to ours."""
    from symveil.workflows.reproduce.papers import reproduce

    result = reproduce(paper)
    if plots:
        from symveil.workflows.reproduce.figures import draw_figures

        for path in draw_figures(plots, suffix, paper):
            click.echo(f"symveil: note: wrote {path}", err=True)
    if as_json:
        print_json(result.document())
        return
    for name in dict.fromkeys(row.paper for row in result.rows):
        cells = [
            (row.item, row.published, row.ours, "yes" if row.agrees else "NO", row.note)
            for row in result.rows
            if row.paper == name
        ]
        print_table(name, ("item", "published", "ours", "agrees", "note"), cells)
