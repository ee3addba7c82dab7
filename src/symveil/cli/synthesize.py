"""`symveil synthesize`."""

from __future__ import annotations

from pathlib import Path

import click

from symveil.cli.command import command
from symveil.cli.output import print_facts, print_json, print_notes
from symveil.cli.single_options import constraint_option, json_option, no_repeats_option, number_option, out_option
from symveil.cli.values import PATH

_FREE = "it costs no privacy: only the model was read, which was learned privately"


@command("synthesize", example='symveil synthesize model.json --count 1000 --separator "|" --out synthetic.csv')
@click.argument("model", metavar="MODEL", type=PATH)
@number_option("--count", "N", text="How many words: declared, not counted in secret data.", required=True)
@out_option("The words, as .csv, .jsonl or .xes")
@click.option("--separator", metavar="S", default=" ", show_default=True, help="What joins symbols in CSV.")
@no_repeats_option
@constraint_option
@json_option
def synthesize_command(
    model: Path, count: int, out: Path, separator: str, no_repeats: bool, constraint: Path | None, as_json: bool
) -> None:
    """Draw synthetic words from a learned MODEL.

    MODEL is what symveil learn --epsilon wrote. Every word is one that its graph allows, of the lengths that it was
    learned for, and obeys the rules that it was learned with and those that are declared here. Drawing costs no
    privacy, however many words are drawn.
    """
    from symveil.tasks.synthesize import synthesize

    drawn = synthesize(model, out, count=count, no_repeats=no_repeats, constraint=constraint, separator=separator)
    if as_json:
        print_json(drawn.document())
    else:
        print_facts("Synthesised", [("words", str(drawn.released)), ("file", str(drawn.out))])
    print_notes([_FREE], warnings=() if drawn.quality is None else drawn.quality.warnings)
