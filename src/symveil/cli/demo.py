"""`symveil demo`, `symveil studio` and `symveil reproduce`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from symveil.cli.field_options import PATH, named_options
from symveil.cli.options import choice_option, json_option, number_option
from symveil.cli.output import command, print_json, print_result
from symveil.cli.progress import progress_bar
from symveil.errors import InputError


@command("demo", example="symveil demo --out demo-out")
@click.option(
    "--out",
    metavar="DIR",
    type=PATH,
    default=Path("demo-out"),
    show_default=True,
    help="The folder of the report and the private trips.",
)
@json_option
def demo_command(out: Path, as_json: bool) -> None:
    """Privatise a week of trips in a made-up town, with a report.

    The report is one HTML page: true and private trips on a map, what an analyst still learns from them, with
    intervals, what an analyst cannot learn, and what the published mechanisms would have made of the same trips.
    """
    from symveil.numbers.progress import named
    from symveil.tasks.demo import EPSILONS, run_demo
    from symveil.tasks.demo_report import write_report

    with progress_bar("demo") as progress:
        result = run_demo(out, progress=progress)
        steps = len(EPSILONS) + 4
        named(progress, "drawing the report")(steps - 1, steps)
        summary = write_report(result)
    print_result(result.document, summary, as_json=as_json)


@command("studio", example="symveil studio --port 8321 --no-browser")
@number_option("--port", "P", text="Where it listens on 127.0.0.1: 8321 by default, 0 for a free one.")
@click.option("--no-browser", is_flag=True, help="Do not open a browser; print the address only.")
@named_options("ledger")
@json_option
def studio_command(port: int | None, no_browser: bool, ledger: str | None, as_json: bool) -> None:
    """Open the studio: one local page over all of this.

    It listens on 127.0.0.1 only, and nothing leaves the machine. The address that it prints and opens has a token, and
    requests without it, from another account of the machine for example, are refused. A port that another program holds
    is refused as well; --port 0 takes a free one.

    The panel Ledger looks at --ledger and changes nothing. With --json the document has the address.
    """
    os.environ.pop("NICEGUI_REDIS_URL", None)  # meant for other programs: it would send pages' state to a server
    try:
        import nicegui  # noqa: F401
    except ImportError:
        raise InputError("studio: expected the extra symveil[studio], found none; see docs/install.md") from None
    from symveil.studio.serve import run_studio

    def listening(address: str) -> None:
        if as_json:
            print_json({"address": address})
            sys.stdout.flush()  # it is told now, although the command goes on
        else:
            click.echo(f"symveil studio: {address} (only on this machine; Ctrl-C ends it)", err=True)

    run_studio(port=port, open_browser=not no_browser, ledger=ledger, listening=listening)


@command("reproduce", example="symveil reproduce jones2019 --plots figures")
@click.argument("paper", metavar="[PAPER]", required=False)
@click.option("--plots", metavar="DIR", type=PATH, help="Also draw the figures into this folder.")
@choice_option(
    "--format",
    "suffix",
    of=("svg", "png", "pdf"),
    text="With --plots: of the files; .png and .pdf need symveil[plots].",
)
@json_option
def reproduce_command(paper: str | None, plots: Path | None, suffix: str, as_json: bool) -> None:
    """Show every published figure next to ours.

    PAPER is jones2019, benvenuti2026, zhao2025 or chistikov2019; by default all of them.
    """
    from symveil.numbers.progress import named
    from symveil.tasks.reproduce.figures import reproduce

    with progress_bar("reproducing") as progress:
        result = reproduce(paper, progress=progress)
    drawn: list[Path] = []
    if plots:
        from symveil.tasks.reproduce.figures import draw_figures

        with progress_bar("drawing") as progress:
            for path in draw_figures(plots, suffix, paper):
                drawn.append(path)
                named(progress, f"drawn, {path.name} last")(len(drawn), None)
    print_result(result.document, result.report(), as_json=as_json, notes=[f"wrote {path}" for path in drawn])
