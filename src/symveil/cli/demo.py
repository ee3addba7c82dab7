"""`symveil demo`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from symveil.cli.options import json_option
from symveil.cli.output import print_json, print_table


@click.command("demo", epilog="Example: symveil demo --out demo-out")
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(path_type=Path),
    default=Path("demo-out"),
    show_default=True,
    help="Where the report and the private trips go.",
)
@json_option
def demo_command(out: Path, as_json: bool) -> None:
    """Privatise synthetic trips on a generated road network, and write an HTML report about it."""
    from symveil.numerics.rationals import shown_at_least
    from symveil.workflows.demo import run_demo

    said = sys.stderr.isatty() and not as_json
    result = run_demo(out, progress=lambda what: click.echo(f"symveil: {what} …", err=True) if said else None)
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
