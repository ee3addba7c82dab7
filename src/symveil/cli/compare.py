"""`symveil compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from symveil.cli.field_options import EVENTS, PATH, WIDE_FORM, named_options
from symveil.cli.options import json_option, number_option, out_option, time_option
from symveil.cli.output import command, print_result, require_suffix
from symveil.errors import ParameterError

if TYPE_CHECKING:
    from symveil.tasks.compare import Comparison
    from symveil.tasks.compare_tables import TableComparison

_USUAL = "2..5"


@command("compare", example='symveil compare examples/trips.csv private.csv --separator "|" --out report.html')
@click.argument("true", metavar="TRUE", type=PATH)
@click.argument("private", metavar="PRIVATE", type=PATH)
@out_option("The report, as HTML: for you only", required=False)
@named_options("places", "zones")
@number_option("--top", "N", text="How many patterns count; of a table, how many rows.", default=100)
@click.option(
    "--patterns", metavar="K|K..L", help="How many symbols a pattern has, 2..5 by default; not for a table of counts."
)
@time_option
@named_options("timezone", *WIDE_FORM, *EVENTS)
@json_option
def compare_command(
    true: Path,
    private: Path,
    out: Path | None,
    places: Path | None,
    zones: str | None,
    top: int,
    patterns: str | None,
    as_json: bool,
    time: str | None,
    timezone: str | None,
    **columns: Any,
) -> None:
    """Compare a private file with the true one, for the holder only.

    The result depends on the secret sequences and is not private: do not publish it. Both files are read as privatize
    reads them; they may differ in form. A private file is read as the manifest beside it says, if there is one: it may
    also be synthetic, or a table that symveil count wrote.
    """
    from symveil.formats.sequences.columns import ColumnOptions
    from symveil.parameters import read_range
    from symveil.storage.files import write_text
    from symveil.tasks.compare import compare
    from symveil.tasks.compare_report import comparison_page
    from symveil.tasks.compare_tables import compare_table, is_table

    require_suffix("out", out, (".html", ".htm"))
    comparison: Comparison | TableComparison
    if is_table(private):
        if patterns is not None:
            raise ParameterError(
                "patterns",
                expected="two files of sequences: patterns are looked for in both",
                found="a table of private counts; leave --patterns out",
            )
        comparison = compare_table(true, private, places=places, zones=zones, top=top, columns=ColumnOptions(**columns))
    else:
        sizes = read_range("patterns", patterns or _USUAL, expected="a number of symbols, or two such as 2..5")
        comparison = compare(
            true, private, places=places, zones=zones, top=top, patterns=sizes, time=time,
            timezone=timezone, **columns,
        )  # fmt: skip
    if out is not None:
        write_text(out, comparison_page(comparison), owner_only=True)
    print_result(comparison.document, comparison.report(), as_json=as_json)
