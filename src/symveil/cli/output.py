"""Rendering: JSON documents and tables, the same way in every command."""

from __future__ import annotations

import io
import json
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TextIO

import click

from symveil.cli.interrupts import stop_if_interrupted
from symveil.errors import ParameterError, either
from symveil.numerics.progress import Progress, heard_by

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
    warned, stream = list(warnings), sys.stderr
    for warning in warned:
        click.echo(f"symveil: warning: {writable(warning, stream)}", err=True)
    for note in notes:
        if note not in warned:
            click.echo(f"symveil: note: {writable(note, stream)}", err=True)


def print_json(document: dict[str, object]) -> None:
    """One JSON document on standard output, and nothing else there."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False)
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

    stream = sys.stdout
    borders = box.HEAVY_HEAD if encodable(_BORDERS, stream) else box.ASCII
    table = Table(
        title=writable(title, stream), title_justify="left", title_style="bold", show_header=bool(columns), box=borders
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


def writable(text: str, stream: TextIO) -> str:
    """The same in characters that a stream can be written, as far as there is another way to write it.

    >>> writable("no ε-private █", io.TextIOWrapper(io.BytesIO(), encoding="cp1252"))
    'no epsilon-private #'
    """
    if encodable(text, stream):
        return text
    return "".join(each if encodable(each, stream) else _SPELLED.get(each, each) for each in text)


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


@contextmanager
def progress_bar(label: str) -> Iterator[Progress]:
    """One bar for all progress, on standard error where somebody is looking; yields what tells it.

    It is drawn from the first report on. Work of unknown length shows its count, a file its records and their rate.
    Searches behind a mechanism (certificates) tell it too, also those of threads that draw.
    """
    looking = sys.stderr.isatty()
    one_at_a_time = Lock()
    began = last = 0.0
    shown, text = "", ""
    bar = click.progressbar(range(_WHOLE), label=label, file=sys.stderr, item_show_func=lambda _: text)

    def tell(done: int, total: int | None, what: str = "", records: int | None = None) -> None:
        stop_if_interrupted()
        with one_at_a_time:
            show(done, total, what, records)

    def show(done: int, total: int | None, what: str, records: int | None) -> None:
        nonlocal began, last, shown, text
        now = time.monotonic()
        if not looking or (what == shown and done != total and now - last < _SECONDS_BETWEEN_REPORTS):
            return
        if not last or what != shown:  # the next part begins again
            began, bar.pos, bar.finished, bar.start = now, 0, False, time.time()
        last, shown = now, what
        bar.length = None if total is None else _WHOLE
        text = what if total is not None else f"{done:,} {what}".rstrip()
        if records is not None:
            text += f": {records:,} sequences, {records / max(now - began, 1e-3):,.0f} a second"
        bar.pos = done if total is None else done * _WHOLE // max(total, 1)
        bar.make_step(0)
        bar.render_progress()  # `update` would not where it moved back, or only the text is new

    try:
        with heard_by(tell):
            yield tell
    finally:
        if last and bar.length is None:
            click.echo("\r\033[K\033[?25h", nl=False, err=True)  # a count that was on its way says nothing any more
        elif last:
            bar.render_finish()  # whatever is said next starts on a line of its own


_WHOLE = 1000
_SECONDS_BETWEEN_REPORTS = 0.1
