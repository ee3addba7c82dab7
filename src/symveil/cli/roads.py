"""`symveil roads`."""

from __future__ import annotations

from pathlib import Path

import click

from symveil.cli.command import command
from symveil.cli.output import print_facts, print_json, print_notes
from symveil.cli.single_options import file_option, json_option, out_option
from symveil.cli.values import PATH


@command("roads", example="symveil roads examples/streets.graphml --out roads.json --places-out places.csv")
@click.argument("graph", metavar="GRAPH", type=PATH)
@out_option("The model, as JSON")
@file_option("--places-out", text="Also write where its links lie, for maps and for symveil symbols --links.")
@json_option
def roads_command(graph: Path, out: Path, places_out: Path | None, as_json: bool) -> None:
    """Make a model of a road network.

    GRAPH is GraphML as OSMnx writes it. Links become the states of a Markov chain, in which one follows another where
    it begins where the other ends, all equally likely.
    """
    from symveil.files.atomic import write_files
    from symveil.io.models.model_json import model_text
    from symveil.io.models.road_graphs import road_model

    made = road_model(graph)
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
