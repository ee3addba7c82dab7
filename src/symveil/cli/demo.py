"""`symveil demo`."""

from __future__ import annotations

from pathlib import Path

import click

from symveil.cli.command import command
from symveil.cli.output import print_json, print_table
from symveil.cli.progress import progress_bar
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
    from symveil.mechanisms.attacker import percent
    from symveil.numbers.rationals import shown_at_least, spelled
    from symveil.tasks.demo import run_demo
    from symveil.tasks.demo_result import ADJACENCY, EPSILON_PER_PERSON, TYPICAL_LENGTH, coverage

    with progress_bar("demo") as progress:
        result = run_demo(out, progress=progress)
    if as_json:
        print_json(result.document())
        return
    print_table(
        f"{result.trips} synthetic trips of {result.people} people in Millford, each made private by itself",
        (
            f"epsilon, up to {ADJACENCY} blocks",
            "per block",
            "proved loss",
            f"blocks changed, of {TYPICAL_LENGTH}",
            "as published",
            "an attacker names",
            "checked",
            "private file, beside the report",
        ),
        [
            (
                str(row.epsilon),
                spelled(row.per_block),
                f"{shown_at_least(row.loss)} ({row.how})",
                f"{row.expected_error:.2f}",
                f"{min(curve.at(row.epsilon) for curve in result.curves[:-1]):.2f}",
                f"{percent(row.attacker.symbol.after)} of blocks",
                "yes" if row.checked else "NO",
                row.release.out.name,
            )
            for row in result.rows
        ],
    )
    total = sum(row.epsilon for row in result.rows)
    before = percent(result.rows[0].attacker.symbol.before)
    click.echo(
        f"Two trips that differ in d blocks lose at most d/{ADJACENCY} of epsilon, for every d, ours and as published; "
        "every private trip can be driven."
    )
    click.echo(f"An attacker knows the map and names {before} of blocks before seeing the private trip.")
    click.echo(f"Each file is a release of its own: publishing all of them costs {total} per trip.")
    click.echo(
        f"Trips between quarters, from the whole file with epsilon {EPSILON_PER_PERSON} per person: "
        f"{coverage(result.flows)}"
    )
    last = result.rows[-1].epsilon
    click.echo(f"Drives on each block, from the private file with epsilon {last}: {coverage(result.visits)}")
    click.echo(f"Turns, from the same file: {coverage(result.turns)}")
    click.echo(f"Report: {result.report}")
