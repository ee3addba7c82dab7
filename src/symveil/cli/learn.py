"""`symveil learn`."""

from __future__ import annotations

from pathlib import Path

import click

from symveil.cli.command import command
from symveil.cli.output import print_facts, print_json, print_notes
from symveil.cli.single_options import (
    event_options,
    file_option,
    json_option,
    out_option,
    size_options,
    wide_form_options,
)
from symveil.cli.values import PATH

_A_MODEL_IS_A_RELEASE = (
    "a model learned from private data is itself a release of that data; use it as a public model only if the data is "
    "public"
)


@command("learn", example="symveil learn trips.csv --out roads.json --smooth 0.5")
@click.argument("source", metavar="IN", type=PATH)
@out_option("The model, as JSON")
@click.option("--smooth", metavar="X", default="0", show_default=True, help="Add this to every allowed move's count.")
@file_option("--from-graph", text="A model whose moves are the allowed ones.")
@wide_form_options
@event_options
@size_options
@json_option
def learn_command(
    source: Path, out: Path, smooth: str, from_graph: Path | None, as_json: bool, **reading: object
) -> None:
    """Learn a Markov chain from public sequences.

    IN is CSV, JSON Lines, Parquet or XES, each also gzipped. The chain's probabilities are the relative frequencies of
    the moves, exactly. It is not private: learn it from public data, or treat it as a release.
    """
    from symveil.workflows.learn import learn_file

    learned = learn_file(source, out, smooth=smooth, graph=from_graph, **reading)
    if as_json:
        print_json(learned.document())
    else:
        facts = [
            ("model", str(learned.out)),
            ("kind", learned.chain.kind),
            ("states", f"{len(learned.chain.states)}, of which {learned.dead_ends} dead ends"),
            ("transitions", str(len(learned.chain.transitions))),
        ]
        print_facts("Learned", facts)
    print_notes([], warnings=[_A_MODEL_IS_A_RELEASE])
