"""`symveil roads`."""

from __future__ import annotations

from pathlib import Path

import click

from symveil.cli.command import command
from symveil.cli.output import print_facts, print_json, print_notes
from symveil.cli.single_options import delimiter_option, file_option, json_option, out_option
from symveil.cli.values import PATH
from symveil.errors import ParameterError


@command("roads", example="symveil roads examples/streets.graphml --out roads.json --places-out places.csv")
@click.argument("graph", metavar="GRAPH", type=PATH)
@out_option("The model, as JSON")
@file_option("--places-out", text="Also write where its links lie, for maps and for symveil symbols --links.")
@click.option("--link", metavar="COL", help="CSV: the column of a link's name; link_id, symbol, state, id or name.")
@click.option("--from", "source", metavar="COL", help="CSV: the node where a link begins; u, from or source.")
@click.option("--to", "target", metavar="COL", help="CSV: the node where a link ends; v, to or target.")
@delimiter_option
@json_option
def roads_command(graph: Path, out: Path, places_out: Path | None, as_json: bool, **columns: str | None) -> None:
    """Make a model of a road network.

    GRAPH is GraphML as OSMnx writes it, or CSV with a directed edge in each row: its name, the node where it begins and
    that where it ends, and where it lies (wkt, or u_lon, u_lat, v_lon, v_lat), if that is known. Links become states of
    a Markov chain, in which one follows another where it begins where the other ends, all equally likely.
    """
    from symveil.formats.maps.road_graphs import road_model
    from symveil.formats.models.model_json import model_text
    from symveil.storage.atomic import write_files

    made = road_model(graph, **columns)
    if places_out is not None and not made.lines:
        raise ParameterError(
            "places_out", expected="where links lie in the table: wkt, or u_lon, u_lat, v_lon, v_lat", found="neither"
        )
    contents = {out: model_text(made.chain).encode()}
    if places_out is not None:
        contents[places_out] = made.places_text().encode()
    write_files(contents)
    if as_json:
        document = {"model": str(out), "states": len(made.chain.states), "transitions": len(made.chain.transitions)}
        print_json(document | ({} if places_out is None else {"places": str(places_out)}))
    else:
        facts = [
            ("model", str(out)),
            ("links", str(len(made.chain.states))),
            ("moves", str(len(made.chain.transitions))),
        ]
        print_facts("Roads", facts)
    print_notes(made.notes)
