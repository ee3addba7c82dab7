"""`symveil check`."""

from __future__ import annotations

from pathlib import Path

import click

from symveil.cli.command import command
from symveil.cli.output import print_json, print_table
from symveil.cli.single_options import file_option, json_option
from symveil.cli.usage import as_typed
from symveil.cli.values import PATH


@command("check", example="symveil check private.csv.manifest.json --model examples/roads.json")
@click.argument("manifest", metavar="MANIFEST", type=PATH)
@file_option("--output", text="The private file, if it does not lie beside the manifest.")
@click.option("--model", metavar="M", type=PATH, help="The model file, if it does not lie beside the manifest.")
@json_option
def check_command(manifest: Path, output: Path | None, model: Path | None, as_json: bool) -> int:
    """Recheck a release's MANIFEST.

    The output's bytes, the model, the guarantee, and that every word is legal. Exit status 0: all of it holds; 1: it
    does not.
    """
    from symveil.tasks.check import check_manifest

    result = check_manifest(manifest, output=output, model=model)
    if as_json:
        print_json(result.document())
    else:
        rows = [
            (each.name, "yes" if each.holds else "NO", as_typed(each.note, check_command)) for each in result.checks
        ]
        print_table(str(manifest), ("checked", "holds", "note"), rows)
    return 0 if result.holds else 1
