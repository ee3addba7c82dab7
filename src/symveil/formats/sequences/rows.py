"""Tables as streams of Arrow batches: what CSV, JSON Lines and Parquet have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import pyarrow as pa

from symveil.formats.reading import MOST_TIMES, share_read
from symveil.formats.sequences.person_names import spelled_names
from symveil.models.alphabet import Alphabet

WHAT = "file of sequences"
ROWS_GATHERED, TEXT_GATHERED = 32_768, 8_000_000
"""So many rows, or characters, of Python cells become a batch."""

Row = tuple[int, Sequence[Any]]
"""The number of a row's first line, and its cells."""


class RowSource(ABC):
    """A table file that can be read again and again, a batch at a time."""

    unit: str
    """What messages call a place in it: line or row."""
    has_dates: ClassVar[bool] = False
    """Whether the format has a type for times; else they are text."""
    passing: ClassVar[dict[bytes, bytes] | None] = None
    """What marks a field whose cells pass as they are."""

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

    def plain(self, text: str) -> str:
        """What a cell says: in JSON without the quotes around it."""
        return text

    def spelled(self, cells: Any) -> Any:
        """Cells of persons as names; null where one is no name."""
        return spelled_names(cells)

    def done(self) -> float:
        """How much of the file has been read, from 0 to 1."""
        return share_read(self.file, self._raw)

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
