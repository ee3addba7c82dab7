"""`symveil count`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from symveil.cli.field_options import ENGINE, EVENTS, PATH, WIDE_FORM, named_options
from symveil.cli.options import epsilon_option, file_option, json_option, out_option, public_support, time_option
from symveil.cli.output import (
    command,
    print_json,
    print_notes,
    print_report,
    require_different,
    require_not_read,
    require_suffix,
)


@command(
    "count",
    example="symveil count examples/trips.csv --statistic visits --epsilon 1 --model examples/roads.json "
    '--separator "|" --out visits.csv',
)
@click.argument("source", metavar="IN", type=PATH)
@click.option(
    "--statistic",
    metavar="S",
    required=True,
    help="One of visits, first, last, transitions, od, ngrams:K, lengths, directly-follows; with --time also starts, "
    "durations, cycle-times, longest-waits, time-shares, mean-waits.",
)
@epsilon_option(required=True)
@click.option("--alphabet", metavar="A", help="Characters, a comma list, or @file with a symbol per line.")
@click.option("--model", metavar="M", type=PATH, help="A public model: only its words count.")
@named_options("delta", "person", "bound", "places", "zones", "max_length")
@time_option
@named_options(
    *("timezone", "by", "period", "durations", "cap", "threshold", "quantiles", "neighbours", "confidence"),
    *("ledger", "release_id", "again", *ENGINE),
)
@out_option("The table, as .csv, .parquet or .json")
@named_options("spreadsheet_safe")
@file_option("--plot", text="A picture (.svg): bars with intervals, or a map of pairs.")
@named_options(*WIDE_FORM, *EVENTS)
@json_option
def count_command(
    source: Path,
    statistic: str,
    epsilon: str,
    alphabet: str | None,
    model: Path | None,
    delta: str | None,
    confidence: str,
    ledger: str | None,
    release_id: str | None,
    out: Path,
    plot: Path | None,
    as_json: bool,
    **named: object,
) -> None:
    """Count sequences privately, one epsilon per person.

    The table has noise and intervals. Each person adds a bounded amount, however many sequences are theirs; those that
    the public alphabet or model does not have add nothing, silently. With --ledger every person is charged once.
    Without a public alphabet or model, --delta counts whatever there is and shows what is frequent enough.

    With --time, times are counted: when cases or trips start, how long they wait and take, and where time goes. The
    column of times has the time of each event; in a table with a sequence in each row a cell has one time for each
    symbol, or two, of the first and the last symbol, or one, of the first. Times that cannot be read are not counted.
    For example: symveil count log.csv --statistic starts --by hour --time time:timestamp --timezone Europe/Paris
    --alphabet @activities.txt --epsilon 1 --out hours.csv
    """
    from symveil.parameters import read_confidence
    from symveil.storage.files import check_writable, write_text
    from symveil.tasks.count import count_file
    from symveil.tasks.doubts import large_loss
    from symveil.tasks.table_files import SUFFIXES

    require_suffix("out", out, SUFFIXES)
    require_suffix("plot", plot, (".svg",))
    require_different(out=out, plot=plot)
    require_not_read(source, model, out=out, plot=plot)
    level = read_confidence(confidence)
    if plot is not None:
        check_writable(plot)  # before anybody is charged
    given: dict[str, Any] = {"alphabet": alphabet, "model": model}  # with delta there is neither
    if delta is None:
        given = public_support(alphabet, model, model_option="--model")
    release = count_file(
        source,
        statistic,
        out=out,
        epsilon=epsilon,
        **given,
        ledger=ledger,
        release_id=release_id,
        confidence=level,
        delta=delta,
        **{name: value for name, value in named.items() if value is not None},  # type: ignore[arg-type]  # named as the fields are
    )
    table = release.counts
    if table is not None and plot is not None:
        write_text(plot, table.to_svg())
    warnings = [*large_loss(epsilon), *(() if table is None else table.warnings)]
    print_notes([], warnings=warnings)  # before the table: it is not to be read without them
    if as_json:
        print_json(release.document())
    elif table is not None:
        print_report(table.report())
    covered = () if table is None else table.notes
    print_notes([*release.release_notes("table"), *(note for note in covered if note not in warnings)])
