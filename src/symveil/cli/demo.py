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
    """Privatise a week of trips in a made-up town, with a report.

    The report is one HTML page: true and private trips on a map, what an analyst still learns from them, with
    intervals, what nobody can learn, and what the published mechanisms would have made of the same trips.
    """
    from symveil.numerics.rationals import shown_at_least
    from symveil.workflows.demo import run_demo
    from symveil.workflows.demo_result import ADJACENCY, EPSILON_PER_PERSON, TYPICAL_LENGTH, coverage

    with progress_bar("demo") as progress:
        result = run_demo(out, progress=progress)
    if as_json:
        print_json(result.document())
        return
    print_table(
        f"{result.trips} synthetic trips of {result.people} people in Millford, each made private by itself",
        (
            "epsilon per trip",
            "proved loss",
            f"blocks changed, of {TYPICAL_LENGTH}",
            "as published",
            "checked",
            "private file",
        ),
        [
            (
                str(row.epsilon),
                f"{shown_at_least(row.loss)} ({row.how})",
                f"{row.expected_error:.2f}",
                f"{min(curve.at(row.epsilon) for curve in result.curves[:-1]):.2f}",
                "yes" if row.checked else "NO",
                str(row.release.out),
            )
            for row in result.rows
        ],
    )
    total = sum(row.epsilon for row in result.rows)
    click.echo(
        f"Trips that differ in at most {ADJACENCY} blocks are hard to tell apart; every private trip can be driven."
    )
    click.echo(f"Each file is a release of its own: publishing all of them costs {total} per trip.")
    last = result.rows[-1].epsilon
    click.echo(f"Drives on each block, from the private file with epsilon {last}: {coverage(result.visits)}")
    click.echo(f"Turns, from the same file: {coverage(result.turns)}")
    click.echo(
        f"Trips between quarters, from the whole file with epsilon {EPSILON_PER_PERSON} per person: "
        f"{coverage(result.flows)}"
    )
    click.echo(f"Report: {result.report}")
