"""`symveil symbols`, `symveil roads` and `symveil alphabet`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from symveil.cli.field_options import EVENTS, PATH, SIZES, WIDE_FORM, named_options
from symveil.cli.options import choice_option, file_option, json_option, out_option
from symveil.cli.output import command, print_json, print_notes, print_report, print_result
from symveil.errors import InputError, ParameterError


@command(
    "symbols",
    example="symveil symbols examples/gps.csv --case trip --order time --grid 9 --box 8,47,9,48 --out cells.csv",
)
@click.argument("source", metavar="IN", type=PATH)
@out_option("The symbols, as .csv or .tsv")
@click.option("--case", metavar="COL", required=True, help="Whose a row is: a trip, or a rider.")
@click.option("--order", metavar="COL", help="When a row was; passes as it is.")
@named_options("date_format", "delimiter")
@click.option("--longitude", metavar="COL", help="Degrees; lon, lng, longitude or x by default.")
@click.option("--latitude", metavar="COL", help="Degrees; lat, latitude or y by default.")
@click.option("--grid", metavar="G", help="Cells such as 20 or 30x20 over --box.")
@click.option("--box", metavar="W,S,E,N", help="West, south, east and north of the grid in degrees: public.")
@file_option("--zones", text="Zones with shapes: GeoJSON, or CSV with zone and wkt, or zone, west, south, east, north.")
@file_option("--links", text="Links: CSV with link_id and wkt or u_lon, u_lat, v_lon, v_lat; or GraphML of OSMnx.")
@click.option(
    "--model", metavar="M", type=PATH, help="With --links: the model whose moves are legal; by default links that meet."
)
@click.option(
    "--tolerance", metavar="M", default="50", show_default=True, help="With --links: how many metres away is too far."
)
@choice_option("--outside", of=("error", "drop", "outside"), text="What happens to positions without a symbol.")
@click.option("--once", is_flag=True, help="Rows of a case in a row with one symbol become one.")
@file_option("--alphabet-out", text="Also write all symbols there are, one a line: symveil privatize --alphabet @FILE.")
@json_option
def symbols_command(
    source: Path,
    out: Path,
    grid: str | None,
    box: str | None,
    zones: Path | None,
    links: Path | None,
    model: Path | None,
    tolerance: str,
    as_json: bool,
    **options: object,
) -> None:
    """Turn positions into symbols: cells, zones or links.

    IN is CSV or Parquet with a position in each row. What decides is public and given: --grid with --box, --zones, or
    --links, to which whole trips are matched: the legal path that explains the positions of a case best. The result is
    not private: symveil privatize is the next step.
    """
    from symveil.tasks.symbols import position_symbols, symbols_file

    try:
        metres = float(tolerance)
    except ValueError:
        raise ParameterError("tolerance", expected="a number of metres above 0", found=repr(tolerance)) from None
    positions = position_symbols(grid=grid, box=box, zones=zones, links=links, model=model, tolerance=metres)
    made = symbols_file(source, out, positions=positions, **options)  # type: ignore[arg-type]  # named as they are
    print_result(made.document, made.report(), as_json=as_json)


@command("roads", example="symveil roads examples/streets.graphml --out roads.json --places-out places.csv")
@click.argument("graph", metavar="GRAPH", type=PATH)
@out_option("The model, as JSON")
@file_option("--places-out", text="Also write where its links lie, for maps and for symveil symbols --links.")
@click.option("--link", metavar="COL", help="CSV: the column of a link's name; link_id, symbol, state, id or name.")
@click.option("--from", "source", metavar="COL", help="CSV: the node where a link begins; u, from or source.")
@click.option("--to", "target", metavar="COL", help="CSV: the node where a link ends; v, to or target.")
@named_options("delimiter")
@json_option
def roads_command(graph: Path, out: Path, places_out: Path | None, as_json: bool, **columns: str | None) -> None:
    """Make a model of a road network.

    GRAPH is GraphML as OSMnx writes it, or CSV with a directed edge in each row: its name, the node where it begins and
    that where it ends, and where it lies (wkt, or u_lon, u_lat, v_lon, v_lat), if that is known. Links become states of
    a Markov chain, in which one follows another where it begins where the other ends, all equally likely.
    """
    from symveil.formats.models.model_json import model_text
    from symveil.formats.road_graphs import road_model
    from symveil.reports.report import facts_report
    from symveil.storage.files import write_files

    made = road_model(graph, **columns)
    if places_out is not None and not made.lines:
        raise ParameterError(
            "places_out", expected="where links lie in the table: wkt, or u_lon, u_lat, v_lon, v_lat", found="neither"
        )
    contents = {out: model_text(made.chain).encode()}
    if places_out is not None:
        contents[places_out] = made.places_text().encode()
    write_files(contents)
    states, transitions = len(made.chain.states), len(made.chain.transitions)
    document: dict[str, Any] = {"model": str(out), "states": states, "transitions": transitions}
    document |= {} if places_out is None else {"places": str(places_out)}
    facts = [("model", str(out)), ("links", str(states)), ("moves", str(transitions))]
    print_result(lambda: document, facts_report("Roads", facts), as_json=as_json, notes=made.notes)


@command("alphabet", example="symveil alphabet examples/hospital.xes --out activities.txt")
@click.argument("source", metavar="IN", type=PATH)
@out_option("The symbols, one a line, as alphabets are read from files", required=False)
@named_options(*WIDE_FORM, *EVENTS, *SIZES)
@json_option
def alphabet_command(source: Path, out: Path | None, as_json: bool, **reading: object) -> None:
    """List the symbols of a public log.

    IN is CSV, JSON Lines, Parquet or XES, each also gzipped. The log must be public: which symbols occur in a private
    one depends on single persons, and the list would reveal that without any epsilon.
    """
    from symveil.reports.report import facts_report
    from symveil.reports.terminal import visible
    from symveil.storage.files import write_text
    from symveil.tasks.learn import ONLY_PUBLIC, alphabet_of

    result = alphabet_of(source, **reading)  # type: ignore[arg-type]  # named as they are
    broken = any("\n" in symbol or "\r" in symbol for symbol in result.symbols)
    if broken and not as_json:
        raise InputError("IN: expected symbols without line breaks, one a line, found one with some; use --json")
    if out is not None:
        write_text(out, "".join(f"{symbol}\n" for symbol in result.symbols))
    if as_json:
        print_json(result.document() | ({} if out is None else {"out": str(out)}))
    elif out is not None:
        print_report(facts_report("Alphabet", [("symbols", str(len(result.symbols))), ("file", str(out))]))
    else:
        for symbol in result.symbols:
            print(visible(symbol) if sys.stdout.isatty() else symbol)
    print_notes([], warnings=[ONLY_PUBLIC])
