"""Rendering: JSON documents and tables, the same way in every command."""

from __future__ import annotations

import io
import json
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from symveil.cli.progress import rest
from symveil.cli.usage import as_typed
from symveil.errors import ParameterError, either

if TYPE_CHECKING:
    from symveil.estimation.named_table import NamedTable


def print_named_table(table: NamedTable, columns: Sequence[str], *, top: int, said: str) -> None:
    """The first rows of a table with names; `said` tells what kind of numbers they are.

    Rows are sorted by numbers that have noise, so the first ones are among those that noise has raised: the title says
    which intervals hold for rows that were picked so.
    """
    heads, rows = table.as_text(columns, top=top)
    level = f"{100 * table.confidence:g} %"
    if "low_all" in columns:
        covers = f"low all to high all covers all {len(table)} rows at once ({level}), also the largest"
    else:
        covers = f"low to high covers a row that was picked beforehand ({level}), not the largest"
    print_table(f"{table.statistic}: {len(rows)} of {len(table)} rows, {said}\n{covers}", heads, rows)


def print_notes(notes: Iterable[str], *, warnings: Iterable[str] = ()) -> None:
    """Say them on standard error, last, once everything has gone well: an error is the only line there."""
    rest()
    warned = list(warnings)
    context = click.get_current_context(silent=True)
    command = None if context is None else context.command
    for kind, texts in (("warning", warned), ("note", [note for note in notes if note not in warned])):
        for text in texts:
            click.echo(f"symveil: {kind}: {writable(as_typed(text, command), sys.stderr)}", err=True)


def print_json(document: dict[str, object]) -> None:
    """One JSON document on standard output, and nothing else there."""
    text = _CONTROLS.sub(
        lambda found: f"\\u{ord(found[0]):04x}", json.dumps(document, ensure_ascii=False, allow_nan=False)
    )
    # a question mark in the place of what a code page does not have would be another document
    click.echo(text if encodable(text, sys.stdout) else json.dumps(document, allow_nan=False))


def print_facts(title: str, facts: Iterable[tuple[str, str]]) -> None:
    """What there is to say about one thing, a name and a value in a row."""
    print_table(title, (), facts)


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table on standard output, as wide as its content where nobody is looking; without columns, just its rows."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    rest()
    stream = sys.stdout
    borders = box.HEAVY_HEAD if encodable(_BORDERS, stream) else box.ASCII
    table = Table(
        title="\n".join(writable(line, stream) for line in title.split("\n")),
        title_justify="left",
        title_style="bold",
        show_header=bool(columns),
        box=borders,
    )
    for column in columns or ("", ""):
        table.add_column(writable(column, stream), overflow="fold")
    for row in rows:
        table.add_row(*(Text(writable(cell, stream)) for cell in row))
    # Rendered first and written by click: rich would turn a reader that went away into exit status 1.
    looking = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if looking else 160
    rendered = io.StringIO()
    Console(file=rendered, width=width, force_terminal=looking, safe_box=False).print(table)
    click.echo(rendered.getvalue(), nl=False)


def encodable(text: str, stream: TextIO) -> bool:
    """Whether a stream can be written this text: a pipe on Windows often has a code page of 256 characters.

    >>> encodable("│", io.TextIOWrapper(io.BytesIO(), encoding="cp1252")), encodable("│", io.StringIO())
    (False, True)
    """
    try:
        text.encode(getattr(stream, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    except LookupError:  # an encoding that only its stream knows
        return True
    return True


def visible(text: str) -> str:
    """The same text with control characters spelled out: symbols come from files, and a terminal obeys what it prints.

    Line breaks are spelled too, and marks that turn the direction of writing.

    >>> print(visible("a\\x1b[2Jb\\u202e"))
    a\\x1b[2Jb\\u202e
    """
    return _CONTROLS.sub(lambda found: repr(found[0])[1:-1], text)


def print_line(text: str) -> None:
    """One line on standard output."""
    click.echo(writable(text, sys.stdout))


def writable(text: str, stream: TextIO) -> str:
    """The same in characters that a stream can be written, as far as there is another way to write it.

    >>> writable("no ε-private █", io.TextIOWrapper(io.BytesIO(), encoding="cp1252"))
    'no epsilon-private #'
    """
    text = visible(text)
    if encodable(text, stream):
        return text
    return "".join(each if encodable(each, stream) else _SPELLED.get(each, each) for each in text)


# C0, DEL and C1, line and paragraph separators, marks of direction, and halves of surrogate pairs
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_BORDERS = "┏━┳┓┃┡╇┩│├─┼┤└┴┘┌┬┐"
_SPELLED = {
    **{"ε": "epsilon", "δ": "delta", "α": "alpha", "η": "eta", "Σ": "Sigma", "█": "#", "…": "...", "−": "-"},
    **{"≤": "<=", "≥": ">=", "×": "x", "·": "*", "→": "->", "’": "'", "–": "-", "∞": "infinity", "ⁿ": "^n"},
}


def require_suffix(option: str, path: Path | None, suffixes: tuple[str, ...]) -> None:
    """Refuse a file name before anything is computed or written."""
    if path is not None and path.suffix.lower() not in suffixes:
        raise ParameterError(option, expected=f"a file name ending in {either(suffixes)}", found=repr(path.name))


def require_different(**paths: Path | None) -> None:
    """Refuse two options that name the same file to write."""
    seen: dict[Path, str] = {}
    for name, path in paths.items():
        if path is not None:
            option = name.replace("_", "-")
            if path.resolve() in seen:
                other = seen[path.resolve()]
                raise ParameterError(option, expected=f"another file than --{other}", found=repr(path.name))
            seen[path.resolve()] = option


def require_not_read(*read: Path | None, **written: Path | None) -> None:
    """Refuse to write over what is read: a private file that was paid for cannot be drawn again."""
    kept = [path.resolve() for path in read if path is not None]
    for option, path in written.items():
        if path is None:
            continue
        same = any(path.resolve() == each or (each.is_dir() and each in path.resolve().parents) for each in kept)
        linked = path.exists() and any(each.exists() and path.samefile(each) for each in kept)
        if same or linked:
            raise ParameterError(option, expected="another file than those that are read", found=repr(path.name))
