"""`symveil demo`."""

from __future__ import annotations

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
    help="Where the report and the private sessions go.",
)
@json_option
def demo_command(out: Path, as_json: bool) -> None:
    """Privatise the shipped synthetic click sessions and write an HTML report about it."""
    from symveil.workflows.demo import run_demo

    result = run_demo(out)
    if as_json:
        print_json(result.document())
        return
    print_table(
        f"{result.sessions} synthetic click sessions over {result.pages} pages, made private",
        ("epsilon", "each page changed with probability", "example (original first)"),
        [
            (f"{row.epsilon:g}", f"{row.change_probability:.4f}", f"{row.example[0]}\n{row.example[1]}")
            for row in result.rows
        ],
    )
    total = sum(row.epsilon for row in result.rows)
    click.echo(f"Each file is a release of its own: publishing all of them costs {total} per session.")
    click.echo(f"Report: {result.report}")
    click.echo(f"Private sessions: {', '.join(str(row.file) for row in result.rows)}")
