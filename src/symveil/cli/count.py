"""`symveil count`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from symveil.cli.options import public_support
from symveil.cli.output import (
    command,
    print_json,
    print_named_table,
    print_notes,
    require_different,
    require_not_read,
    require_suffix,
)
from symveil.cli.single_options import (
    again_option,
    confidence_option,
    engine_options,
    epsilon_option,
    event_options,
    file_option,
    json_option,
    ledger_option,
    neighbours_option,
    number_option,
    out_option,
    person_option,
    places_option,
    release_id_option,
    spreadsheet_option,
    wide_form_options,
    zones_option,
)
from symveil.cli.values import PATH, read_confidence

_SHOWN = 50
_COLUMNS = ("count", "low", "high", "low_all", "high_all", "consistent")


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
    help="One of visits, first, last, transitions, od, ngrams:K, lengths, directly-follows.",
)
@epsilon_option(required=True)
@click.option("--alphabet", metavar="A", help="Characters, a comma list, or @file with a symbol per line.")
@click.option("--model", metavar="M", type=PATH, help="A public model: only its words count.")
@click.option(
    "--delta",
    metavar="D",
    help="Instead of --alphabet or --model: show the rows that are frequent enough. Another promise: (epsilon, delta).",
)
@person_option
@click.option(
    "--bound",
    metavar="L|auto|normalised",
    default="auto",
    show_default=True,
    help="What one person adds at most: a number, chosen privately, or 1 shared among all that is theirs.",
)
@places_option
@zones_option
@number_option("--max-length", "N", text="The longest sequence that counts, a public number; longer ones add nothing.")
@neighbours_option
@confidence_option
@ledger_option(required=False)
@release_id_option(required=False)
@again_option
@engine_options
@out_option("The table, as .csv, .parquet or .json")
@spreadsheet_option
@file_option("--plot", text="A picture (.svg): bars with intervals, or a map of pairs.")
@wide_form_options
@event_options
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
    """
    from symveil.storage.atomic import check_writable, write_text
    from symveil.tasks.count import SUFFIXES, count_file
    from symveil.tasks.doubts import large_loss

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
        **named,  # type: ignore[arg-type]  # named as the fields are
    )
    notes = []
    if ledger is not None:
        notes.append("persons whose budget does not cover epsilon are left out; how many is not told")
    table = release.counts
    if table is None:
        notes.append("this release was finished before: its table stands, nothing was drawn, nobody was charged again")
    elif plot is not None:
        write_text(plot, table.to_svg())
    warnings = [*large_loss(epsilon), *(() if table is None else table.warnings)]
    print_notes([], warnings=warnings)  # before the table: it is not to be read without them
    if as_json:
        print_json(release.document())
    elif table is not None:
        promise = f"epsilon {epsilon} per person" if delta is None else f"epsilon {epsilon}, delta {delta} per person"
        print_named_table(table, [each for each in _COLUMNS if each in table.numbers], top=_SHOWN, text=promise)
    covered = () if table is None else table.notes
    print_notes([*notes, *(note for note in covered if note not in warnings)])
