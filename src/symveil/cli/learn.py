"""`symveil learn`."""

from __future__ import annotations

from pathlib import Path

import click

from symveil.cli.options import json_option
from symveil.cli.output import print_json, print_table


@click.command("learn", epilog="Example: symveil learn trips.csv --out roads.json --smooth 0.5")
@click.argument("source", metavar="IN", type=click.Path(path_type=Path))
@click.option("--out", metavar="M", type=click.Path(path_type=Path), required=True, help="The model file to write.")
@click.option("--smooth", metavar="X", default="0", show_default=True, help="Add this to every allowed move's count.")
@click.option(
    "--from-graph", metavar="G", type=click.Path(path_type=Path), help="A model whose moves are the allowed ones."
)
@click.option("--sequence", metavar="COL", help="The column of the sequences.")
@click.option("--separator", metavar="S", help="Split a sequence here; at blanks by default.")
@click.option("--id", "identifier", metavar="COL", help="The column that names the record.")
@json_option
def learn_command(
    source: Path,
    out: Path,
    smooth: str,
    from_graph: Path | None,
    sequence: str | None,
    separator: str | None,
    identifier: str | None,
    as_json: bool,
) -> None:
    """Learn a Markov chain from the sequences in IN (CSV, JSON Lines or Parquet).

    Its probabilities are the relative frequencies of the moves, exactly. The model is not private:
    learn it from public data, or treat it as a release.
    """
    from symveil.workflows.learn import learn_file

    learned = learn_file(
        source,
        out,
        smooth=smooth,
        graph=from_graph,
        sequence=sequence,
        separator=separator,
        identifier=identifier,
    )
    click.echo(
        "symveil: warning: a model learned from private data is itself a release of that data; use it as a public "
        "model only if the data is public",
        err=True,
    )
    if as_json:
        print_json(learned.document())
        return
    facts = [
        ("model", str(learned.out)),
        ("kind", learned.chain.kind),
        ("states", f"{len(learned.chain.states)}, of which {learned.dead_ends} dead ends"),
        ("transitions", str(len(learned.chain.transitions))),
    ]
    print_table("Learned", ("", ""), facts)
