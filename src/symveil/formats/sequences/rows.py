"""Tables as streams of Arrow batches: what CSV, JSON Lines and Parquet have in common.

Columns of persons as names: the one spelling of each (`models.names`), and nothing where a cell is no name.

Finding an id that occurs twice among any number of records, in bounded memory.

Of each id its name is kept (96 bits of a keyed hash), not the id. Beyond some millions names go to
files without a name, dealt by their first bits, and are compared file by file at the end.
"""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import IO, Any, BinaryIO, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from symveil.errors import FileError
from symveil.formats.reading import MOST_TIMES, share_read
from symveil.formats.sequences.records import is_text
from symveil.models.alphabet import Alphabet
from symveil.models.names import EXACT_WHOLE, decimal_name, person_name

_MAY_CHANGE = r"[^\x00-\x7f]|[.+]|^-0$"
"""What a name must have for its spelling to be another one."""
_DAY = len("2026-01-31")


def no_name(where: str) -> FileError:
    """The refusal of a cell that could be spelled in several ways: each would have a budget of its own."""
    return FileError(
        where,
        expected="text, a whole number (a float below 2^53) or a day as a person or id that pays",
        found="another value; make it text first",
    )


def spelled_names(column: Any) -> Any:
    """The cells of a column as names; null where a cell is empty, or is no name.

    >>> spelled_names(pa.array([7.0, 2.5, -0.0, float("nan")])).to_pylist()
    ['7', None, '0', None]
    >>> spelled_names(pa.array(["7.0", "ann"])).to_pylist(), spelled_names(pa.array([b"ann"])).to_pylist()
    (['7', 'ann'], [None])
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if is_text(kind):
        return _of_text(column.cast(pa.string()))
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return column.cast(pa.string())
    if pa.types.is_floating(kind):
        return _of_floats(column)
    if pa.types.is_decimal(kind):
        return pa.array([decimal_name(each) for each in column.to_pylist()], type=pa.string())
    if pa.types.is_date(kind):
        # a day is written in one way while its year has four digits
        days = column.cast(pa.date32(), safe=False)
        texts = days.cast(pa.string())
        whole = pc.equal(days.cast(kind), column)
        named = pc.and_(whole, pc.and_(pc.equal(pc.utf8_length(texts), _DAY), pc.invert(pc.starts_with(texts, "-"))))
        return pc.if_else(named, texts, None)
    return pa.nulls(len(column), pa.string())


def _of_text(texts: Any) -> Any:
    if not pc.any(pc.match_substring_regex(texts, _MAY_CHANGE)).as_py():
        return texts
    encoded = texts.dictionary_encode()
    names = pa.array([person_name(name) for name in encoded.dictionary.to_pylist()], type=pa.string())
    return names.take(encoded.indices)


def _of_floats(column: Any) -> Any:
    values = column.to_numpy(zero_copy_only=False).astype(np.float64)
    with np.errstate(invalid="ignore"):
        whole = (np.abs(values) < EXACT_WHOLE[column.type.bit_width]) & (values == np.rint(values))
    numbers = pa.array(np.where(whole, values, 0).astype(np.int64), mask=~whole)
    return numbers.cast(pa.string())


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

        Where a format has none, the first symbol, if there is one, decides whether symbols are numbers.
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


_ENTRY = np.dtype([("low", np.uint64), ("high", np.uint32), ("place", np.uint64)])
_IN_MEMORY = 1_000_000
_PARTS = 64


class SeenNames:
    """Takes names of records and tells the place of one that came before.

    >>> seen = SeenNames()
    >>> seen.add(np.array([[1, 2, 3], [4, 5, 6]], dtype=np.uint32), np.array([1, 2]))
    >>> seen.first_repeated() is None
    True
    >>> seen.add(np.array([[1, 2, 3]], dtype=np.uint32), np.array([9]))
    >>> seen.first_repeated()
    9
    """

    def __init__(self, *, in_memory: int = _IN_MEMORY) -> None:
        self._limit = in_memory
        self._held: list[NDArray[np.void]] = []
        self._count = 0
        self._files: list[IO[bytes]] = []

    def add(self, names: NDArray[np.uint32], rows: NDArray[np.int64]) -> None:
        """Some more records."""
        entries = np.empty(len(names), dtype=_ENTRY)
        entries["low"] = names[:, 0].astype(np.uint64) << np.uint64(32) | names[:, 1]
        entries["high"] = names[:, 2]
        entries["place"] = rows
        self._held.append(entries)
        self._count += len(entries)
        if self._count > self._limit:
            self._spill()

    def first_repeated(self) -> int | None:
        """The smallest place whose name stood at an earlier place already; None where there is none."""
        if not self._files:
            return _repeated(np.concatenate([np.empty(0, dtype=_ENTRY), *self._held]))
        self._spill()
        repeated = []
        for file in self._files:
            file.seek(0)
            repeated.append(_repeated(np.frombuffer(file.read(), dtype=_ENTRY)))
        return min((each for each in repeated if each is not None), default=None)

    def close(self) -> None:
        """Forget everything."""
        for file in self._files:
            file.close()
        self._files, self._held = [], []

    def _spill(self) -> None:
        if not self._files:
            self._files = [tempfile.TemporaryFile(prefix="symveil-") for _ in range(_PARTS)]  # noqa: SIM115 - closed in close()
        entries = np.concatenate([np.empty(0, dtype=_ENTRY), *self._held])
        part_of = (entries["low"] >> np.uint64(58)).astype(np.int64)
        for part in np.unique(part_of).tolist():
            self._files[part].write(entries[part_of == part].tobytes())
        self._held, self._count = [], 0


def _repeated(entries: NDArray[np.void]) -> int | None:
    order = np.lexsort((entries["place"], entries["high"], entries["low"]))
    entries = entries[order]
    same = (entries["low"][1:] == entries["low"][:-1]) & (entries["high"][1:] == entries["high"][:-1])
    return int(entries["place"][1:][same].min()) if same.any() else None
