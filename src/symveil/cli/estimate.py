"""`symveil estimate`."""

from __future__ import annotations

from pathlib import Path

import click

from symveil.cli.field_options import PATH, named_options
from symveil.cli.options import choice_option, file_option, json_option, number_option, out_option
from symveil.cli.output import (
    command,
    print_json,
    print_notes,
    print_report,
    require_different,
    require_not_read,
    require_suffix,
)
from symveil.errors import ParameterError
from symveil.estimation.statistics import CHOICES


@command("estimate", example="symveil estimate private.csv --statistic ngrams:2 --model examples/roads.json")
@click.argument("private", metavar="PRIVATE", type=PATH)
@click.option(
    "--statistic",
    metavar="S",
    required=True,
    help=f"One of {', '.join(CHOICES)}; of a release with private times also durations.",
)
@click.option(
    "--by",
    metavar="WHAT",
    help="Of private times: hour or hour-of-week with visits; activity with durations.",
)
@file_option("--manifest", text="The manifest, if it does not lie beside the private file.")
@click.option("--model", metavar="M", type=PATH, help="The model file, if it does not lie beside the manifest.")
@choice_option(
    "--target",
    of=("file", "population"),
    text="These sequences, or the population that they are a sample of.",
)
@click.option("--cluster", metavar="COL", help="A kept column: sequences with the same value belong together.")
@click.option("--assume", metavar="chain", help="For online releases: the true sequences come from a Markov chain.")
@named_options("confidence")
@number_option("--top", "N", text="So many of the largest rows; by default 50 in a table, all in JSON.")
@out_option("All rows, as .csv, .parquet or .json", required=False)
@named_options("spreadsheet_safe")
@file_option("--plot", text="A picture (.svg): bars with intervals, a table of pairs, or with --places a map.")
@file_option("--places", text="Where symbols lie: CSV with symbol, x, y; draws flows on a map.")
@json_option
def estimate_command(
    private: Path,
    statistic: str,
    by: str | None,
    manifest: Path | None,
    model: Path | None,
    target: str,
    cluster: str | None,
    assume: str | None,
    confidence: str,
    top: int | None,
    out: Path | None,
    spreadsheet_safe: bool,
    plot: Path | None,
    places: Path | None,
    as_json: bool,
) -> None:
    """Estimate statistics of the true sequences from a PRIVATE file.

    The manifest beside it has the law of the noise, which is undone: estimates with intervals, each and all at once.
    It costs no privacy, since nothing but the private file and its manifest is read.

    Of a release with private hours (privatize --time-grid hour):
    symveil estimate private.csv --statistic visits --by hour
    """
    from symveil.formats.manifest import manifest_path
    from symveil.parameters import read_confidence
    from symveil.release.private_file import model_beside
    from symveil.tasks.estimate import estimate
    from symveil.tasks.table_files import SUFFIXES, check_table_name, write_estimate

    require_suffix("out", out, SUFFIXES)
    require_suffix("plot", plot, (".svg",))
    require_different(out=out, plot=plot)
    described = manifest or manifest_path(private)
    require_not_read(private, described, model, model_beside(described), places, out=out, plot=plot)
    if places is not None and plot is None:
        raise ParameterError("places", expected="--plot with it: they are for the picture", found="no --plot")
    if top is not None and top < 1:
        raise ParameterError("top", expected="a whole number, 1 or more", found=top)
    if spreadsheet_safe:
        if out is None:
            raise ParameterError("spreadsheet-safe", expected="--out with it, a .csv file", found="no --out")
        check_table_name(out, spreadsheet_safe=True)
    level = read_confidence(confidence)
    result = estimate(
        private,
        statistic,
        manifest=manifest,
        model=model,
        target=target,
        cluster=cluster,
        confidence=level,
        assume=assume,
        by=by,
    )
    write_estimate(result, out=out, plot=plot, places=places, spreadsheet_safe=spreadsheet_safe)
    print_notes([], warnings=result.warnings)  # before the table: it is not to be read without them
    if as_json:
        print_json(result.document(top))
        return
    print_report(result.report() if top is None else result.report(top))
    print_notes(note for note in result.assumptions if note not in result.warnings)
