"""Columns that pass as they are, looked at in the private file: times, and columns that work like names.

Everything here is read from the output, where these columns are public, and only the first records: nothing depends on
a secret sequence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from symveil.formats.sequences.columns import PROCESS_MINING
from symveil.formats.sequences.records import is_list, keep_column
from symveil.tasks.released_file import open_released

_RECORDS = 10_000
_FEWEST = 20
"""Of fewer records nothing is said about how many values there are."""
_NEARLY = 0.9
_EMPTY = (None, "", '""')
_STAMP = re.compile(r"\s*\"?(\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{4}/\d\d/\d\d|\d{1,2}:\d\d(:\d\d|\b))")


def kept_warnings(out: Path, manifest: Mapping[str, Any]) -> list[str]:
    """A line for each kept column that holds times, or nearly as many values as there are sequences or events.

    Parameters
    ----------
    out
        The private file, or the folder that Spark wrote.
    manifest
        Its manifest.

    >>> import tempfile
    >>> from symveil.tasks.privatize_file import privatize_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source = Path(folder, "in.csv")
    ...     _ = source.write_text("s,day\\na b,2024-05-01\\nb,2024-05-01\\n")
    ...     options = {"alphabet": "ab", "epsilon": 1, "sequence": "s", "keep": ["day"]}
    ...     released = privatize_file(source, Path(folder, "out.csv"), **options)
    >>> released.warnings[0][:38]
    "`keep` of 'day' passes times as they a"
    """
    names = tuple(manifest.get("kept", ()))
    if not names or not (out.is_file() or out.is_dir()):  # a table of a catalogue is not read again for this
        return []
    columns = [_Column(name) for name in names]
    left = _RECORDS
    for batch in chain.from_iterable(file.records() for file in open_released(out, dict(manifest), keep=names)):
        for index, column in enumerate(columns):
            column.add(batch.column(keep_column(index)).slice(0, left))
        left -= len(batch)
        if left <= 0:
            break
    return [said for column in columns if (said := column.doubt()) is not None]


class _Column:
    """The first values of a kept column, those of all rows and the first of each sequence."""

    def __init__(self, name: str) -> None:
        self._name, self._is_time = name, name == PROCESS_MINING["order"]
        self._values: list[Any] = []
        self._first: list[Any] = []

    def add(self, cells: Any) -> None:
        kind = cells.type.value_type if is_list(cells.type) else cells.type
        self._is_time = self._is_time or pa.types.is_temporal(kind)
        rows = cells.to_pylist()
        if is_list(cells.type):
            self._first += [row[0] for row in rows if row]
            self._values += [value for row in rows for value in row or ()]
        else:
            self._values += rows

    def doubt(self) -> str | None:
        filled = [value for value in self._values if value not in _EMPTY]
        stamps = sum(1 for value in filled if isinstance(value, str) and _STAMP.match(value))
        what = f"`keep` of {self._name!r}"
        if self._is_time or (filled and stamps >= _NEARLY * len(filled)):
            return (
                f"{what} passes times as they are, unprotected: who knows when somebody was somewhere can find the "
                "sequence; leave it out, or keep a coarser column"
            )
        if _nearly_all_differ(self._values) or _nearly_all_differ(self._first):
            return (
                f"{what} passes nearly as many values as there are rows, unprotected: it works like a name; leave "
                "it out, or keep a coarser column"
            )
        return None


def _nearly_all_differ(values: list[Any]) -> bool:
    filled = [repr(value) for value in values if value not in _EMPTY]
    return len(filled) >= _FEWEST and len(set(filled)) >= _NEARLY * len(filled)
