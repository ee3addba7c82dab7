"""`symveil demo`."""

from __future__ import annotations

from pathlib import Path

import click

from symveil.cli.command import command
from symveil.cli.output import print_json, print_table, progress_bar
from symveil.cli.single_options import json_option
from symveil.cli.values import PATH


@command("demo", example="symveil demo --out demo-out")
@click.option(
    "--out",
    metavar="DIR",
    type=PATH,
    default=Path("demo-out"),
    show_default=True,
    help="The folder of the report and the private trips; files of their names are replaced.",
)
@json_option
def demo_command(out: Path, as_json: bool) -> None:
    """Privatise synthetic trips and write a report about it.

    The trips are on a generated road network; the report is one HTML page with maps and plots.
    """
    from symveil.numerics.rationals import shown_at_least
    from symveil.workflows.demo import run_demo

    with progress_bar("demo") as progress:
        result = run_demo(out, progress=progress)
    if as_json:
        print_json(result.document())
        return
    print_table(
        f"{result.trips} synthetic trips on a network of {result.streets} streets, made private",
        ("epsilon", "proved loss", "streets changed in a typical trip of 9", "checked", "private file"),
        [
            (
                str(row.epsilon),
                f"{shown_at_least(row.loss)} ({row.how})",
                f"{row.expected_error:.3f}",
                "yes" if row.checked else "NO",
                str(row.release.out),
            )
            for row in result.rows
        ],
    )
    total = sum(row.epsilon for row in result.rows)
    click.echo(f"Each file is a release of its own: publishing all of them costs {total} per trip.")
    click.echo(f"Report: {result.report}")
