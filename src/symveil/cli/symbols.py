"""`symveil symbols`."""

from __future__ import annotations

from pathlib import Path

import click

from symveil.cli.command import command
from symveil.cli.output import print_facts, print_json, print_notes
from symveil.cli.single_options import (
    choice_option,
    date_format_option,
    delimiter_option,
    file_option,
    json_option,
    out_option,
)
from symveil.cli.values import PATH
from symveil.errors import ParameterError


@command(
    "symbols",
    example="symveil symbols examples/gps.csv --case trip --order time --grid 9 --box 8,47,9,48 --out cells.csv",
)
@click.argument("source", metavar="IN", type=PATH)
@out_option("The symbols, as .csv or .tsv")
@click.option("--case", metavar="COL", required=True, help="Whose a row is: a trip, or a rider.")
@click.option("--order", metavar="COL", help="When a row was; passes as it is.")
@date_format_option
@delimiter_option
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
    if as_json:
        print_json(made.document())
    else:
        facts = [
            ("file", str(made.out)),
            ("rows", str(made.rows)),
            ("without a symbol", str(made.without_symbol)),
            ("symbols that there are", str(len(made.alphabet))),
        ]
        if made.trips is not None:
            facts += [
                (
                    "trips",
                    f"{made.trips.cases}, of which {made.trips.with_gaps} with a step that no legal path explains",
                ),
                ("links filled in", str(made.trips.filled_in)),
                ("positions left out", f"{made.trips.left_out}, to which no legal path leads"),
            ]
        print_facts("Symbols", facts)
    print_notes(made.notes, warnings=made.warnings)
