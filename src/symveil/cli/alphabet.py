"""`symveil alphabet`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from symveil.cli.command import command
from symveil.cli.output import print_facts, print_json, print_notes, visible
from symveil.cli.single_options import event_options, json_option, out_option, size_options, wide_form_options
from symveil.cli.values import PATH
from symveil.errors import InputError


@command("alphabet", example="symveil alphabet examples/hospital.xes --out activities.txt")
@click.argument("source", metavar="IN", type=PATH)
@out_option("The symbols, one a line, as alphabets are read from files", required=False)
@wide_form_options
@event_options
@size_options
@json_option
def alphabet_command(source: Path, out: Path | None, as_json: bool, **reading: object) -> None:
    """List the symbols of a public log.

    IN is CSV, JSON Lines, Parquet or XES, each also gzipped. The log must be public: which symbols occur in a private
    one depends on single persons, and the list would tell that without any epsilon.
    """
    from symveil.storage.atomic import write_text
    from symveil.tasks.public_alphabet import ONLY_PUBLIC, alphabet_of

    found = alphabet_of(source, **reading)  # type: ignore[arg-type]  # named as they are
    broken = any("\n" in symbol or "\r" in symbol for symbol in found.symbols)
    if broken and not as_json:
        raise InputError("IN: expected symbols without line breaks, one a line, found one with some; use --json")
    if out is not None:
        write_text(out, "".join(f"{symbol}\n" for symbol in found.symbols))
    if as_json:
        print_json(found.document() | ({} if out is None else {"out": str(out)}))
    elif out is not None:
        print_facts("Alphabet", [("symbols", str(len(found.symbols))), ("file", str(out))])
    else:
        for symbol in found.symbols:
            print(visible(symbol) if sys.stdout.isatty() else symbol)
    print_notes([], warnings=[ONLY_PUBLIC])
