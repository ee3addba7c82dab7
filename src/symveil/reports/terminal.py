"""A report as text for a terminal or a file: tables by rich, and nothing that a terminal would obey."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from typing import TextIO

from symveil.reports.report import Cell, Facts, Headline, Listing, Marked, Part, Report, Share, Table, Text

_BAR = 40


def report_text(report: Report, stream: TextIO, *, width: int, looking: bool) -> str:
    """The report as text that a stream can be written.

    The encoding of `stream` decides which characters there are; `looking` says that it is a terminal of `width`
    columns.

    >>> from symveil.reports.report import facts_report
    >>> text = report_text(facts_report("A walk", [("steps", "3")]), io.StringIO(), width=80, looking=False)
    >>> text.splitlines()[2]
    '│ steps │ 3 │'
    """
    return "".join(
        _part(part, section.heading, stream, width, looking) for section in report.sections for part in section.parts
    )


def _part(part: Part, heading: str, stream: TextIO, width: int, looking: bool) -> str:
    if isinstance(part, Headline):
        badge = f" ({part.badge})" if part.badge else ""
        return writable(f"{part.number}{badge}: {_sentence(part.meaning)}", stream) + "\n"
    if isinstance(part, Text):
        return writable(_sentence(part.text), stream) + "\n"
    if isinstance(part, Listing):
        return "".join(f"- {writable(item.replace('**', ''), stream)}\n" for item in part.items)
    if isinstance(part, Facts):
        return table_text(heading, (), part.rows, stream, width=width, looking=looking)
    if isinstance(part, Table):
        rows = (tuple(map(_cell, row)) for row in part.rows)
        return table_text(heading, part.columns, rows, stream, width=width, looking=looking)
    return ""  # a picture is for pages


def _sentence(text: str | Marked) -> str:
    return str(text) if isinstance(text, Marked) else text.replace("**", "")


def _cell(cell: Cell) -> str:
    return "█" * round(_BAR * cell.share) if isinstance(cell, Share) else str(cell)


def table_text(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    stream: TextIO,
    *,
    width: int,
    looking: bool,
) -> str:
    """A table, as wide as its content where output is not a terminal; without columns, just its rows."""
    # imported when a table is shown: help texts need none
    from rich import box  # noqa: PLC0415
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table as RichTable  # noqa: PLC0415
    from rich.text import Text as RichText  # noqa: PLC0415

    table = RichTable(
        title="\n".join(writable(line, stream) for line in title.split("\n")),
        title_justify="left",
        title_style="bold",
        show_header=bool(columns),
        box=box.HEAVY_HEAD if encodable(_BORDERS, stream) else box.ASCII,
    )
    for column in columns or ("", ""):
        table.add_column(writable(column, stream), overflow="fold")
    for row in rows:
        table.add_row(*(RichText(writable(cell, stream)) for cell in row))
    # Rendered first and written by the caller: rich would turn a reader that went away into exit status 1.
    rendered = io.StringIO()
    Console(file=rendered, width=width, force_terminal=looking, safe_box=False).print(table)
    return rendered.getvalue()


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
    return CONTROLS.sub(lambda match: repr(match[0])[1:-1], text)


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
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_BORDERS = "┏━┳┓┃┡╇┩│├─┼┤└┴┘┌┬┐"
_SPELLED = {
    **{"ε": "epsilon", "δ": "delta", "α": "alpha", "η": "eta", "Σ": "Sigma", "█": "#", "…": "...", "−": "-"},
    **{"≤": "<=", "≥": ">=", "×": "x", "·": "*", "→": "->", "’": "'", "–": "-", "∞": "infinity", "ⁿ": "^n"},
}
