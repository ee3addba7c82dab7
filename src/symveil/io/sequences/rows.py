"""Tables as streams of Arrow batches: what CSV, JSON Lines and Parquet have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from symveil.io.reading import MOST_TIMES
from symveil.models.alphabet import Alphabet

WHAT = "file of sequences"
_ROWS_AT_ONCE = 32_768
_CHARACTERS_AT_ONCE = 8_000_000


class RowSource(ABC):
    """A table file that can be read again and again, a batch at a time."""

    unit: str
    """What messages call a place in it: line or row."""

    def __init__(self, file: Path, *, most_times: int = MOST_TIMES) -> None:
        self.file = file
        self._most_times = most_times
        self._raw: BinaryIO | None = None

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """The names of the columns."""

    @property
    def lists(self) -> list[str]:
        """The columns whose cells are lists."""
        return []

    @property
    def types(self) -> dict[str, pa.DataType]:
        """The types of the columns, where the format has any."""
        return {}

    def released_type(self, alphabet: Alphabet) -> pa.DataType | None:
        """The type of released sequences as lists where it could tell a secret length; None: the file has types.

        Where a format has none, whether symbols are numbers is told by the first one there is: if there is one.
        """
        del alphabet
        return None

    @abstractmethod
    def batches(self, columns: Sequence[str], symbols: str) -> Generator[pa.RecordBatch]:
        """The rows: `place`, then the columns by their names; `symbols` is the one that holds symbols."""

    @abstractmethod
    def writer(self, out: BinaryIO, schema: pa.Schema) -> RowWriter:
        """What writes rows of these columns in the same format."""

    def done(self) -> float:
        """How much of the file has been read, from 0 to 1."""
        size = self.file.stat().st_size
        if self._raw is None or self._raw.closed or not size:
            return 0.0
        return min(1.0, self._raw.tell() / size)

    def _opened(self, raw: BinaryIO) -> None:
        self._raw = raw


class RowWriter(ABC):
    """Writes batches of rows; the caller closes the file."""

    @abstractmethod
    def write(self, batch: pa.RecordBatch) -> None:
        """Some more rows."""

    @abstractmethod
    def close(self) -> None:
        """The end of the table."""


class Gathered:
    """Rows of Python cells that become batches when there are enough of them."""

    def __init__(self) -> None:
        self.places: list[int] = []
        self.rows: list[Sequence[Any]] = []
        self._characters = 0

    def add(self, place: int, row: Sequence[Any], characters: int) -> bool:
        """Take a row; whether it is time for a batch."""
        self.places.append(place)
        self.rows.append(row)
        self._characters += characters
        return len(self.rows) >= _ROWS_AT_ONCE or self._characters >= _CHARACTERS_AT_ONCE

    def clear(self) -> None:
        """Begin again."""
        self.places, self.rows, self._characters = [], [], 0
