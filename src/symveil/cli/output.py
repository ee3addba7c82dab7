"""Rendering: JSON documents and tables, the same way in every command."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence

import click


def print_json(document: dict[str, object]) -> None:
    """One JSON document on standard output, and nothing else there."""
    click.echo(json.dumps(document, ensure_ascii=False, allow_nan=False))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table on standard output, as wide as its content where nobody is looking."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", title_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    width = None if sys.stdout.isatty() else 160
    Console(width=width).print(table)
