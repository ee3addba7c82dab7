"""`symveil check`."""

from __future__ import annotations

from pathlib import Path

import click

from symveil.cli.output import command, print_result
from symveil.cli.single_options import file_option, json_option
from symveil.cli.values import PATH, as_typed


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
    report = result.report(typed=lambda note: as_typed(note, check_command))
    print_result(result.document, report, as_json=as_json)
    return 0 if result.holds else 1
