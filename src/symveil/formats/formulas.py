"""Cells that a spreadsheet would run: an apostrophe in front makes them text, and can be taken away again.

A spreadsheet that opens a CSV file takes a cell that begins with `=`, `+`, `-` or `@` for a formula, which may read
other cells and send them elsewhere. Ids, kept columns and names of persons come from others. Where that is asked for,
such cells, and those that begin with an apostrophe already, get an apostrophe in front (as OWASP advises against *CSV
injection*), and all cells are quoted. So a cell that begins with one has exactly one too many.
"""

from __future__ import annotations

from typing import Literal

Apostrophes = Literal["none", "written", "read"]
"""What happens to such cells: nothing, one is put in front when they are written, or it is taken away when read."""

# also the wide forms of East Asian text, which some spreadsheets take for the others
SIGNS = "=+-@\t\r\n＝＋－＠'"


def guarded(text: str) -> str:
    """A cell that is text for every spreadsheet.

    >>> guarded("=1+1"), guarded("a=1"), guarded("'=1"), guarded("")
    ("'=1+1", 'a=1', "''=1", '')
    """
    return f"'{text}" if text.startswith(tuple(SIGNS)) else text


def unguarded(text: str) -> str:
    """The cell that was guarded.

    >>> [unguarded(guarded(text)) for text in ("=1+1", "a", "'a", "''")]
    ['=1+1', 'a', "'a", "''"]
    """
    return text.removeprefix("'")
