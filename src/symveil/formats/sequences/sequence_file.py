"""A file of sequences as the rest of symveil sees it, whatever its format: records come out, and their like go in.

Tables as streams of Arrow batches: what CSV, JSON Lines, Parquet and tables in memory have in common.

How far a file was read, in steps that do not depend on secret words.
"""

from __future__ import annotations

import gzip
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from symveil.errors import AlphabetError, ParameterError
from symveil.formats.limits import LIMITS
from symveil.formats.reading import MOST_TIMES, share_read
from symveil.formats.sequences.layout import EvenBytes, RowWriter
from symveil.formats.sequences.records import (
    ID,
    PERSON,
    ROW_NUMBER,
    SYMBOLS,
    TIME,
    as_text,
    beside_column,
    is_list,
    list_lengths,
    no_name,
    spelled_names,
)
from symveil.formats.sequences.stamps import ArtificialTimes, PrivateWaits, StampReader
from symveil.models.alphabet import Alphabet, check_separable
from symveil.models.times import PublicValues, Stamps
from symveil.numbers.once import computed_once
from symveil.numbers.progress import Progress, listener, named

_HALF = re.compile("[\ud800-\udfff]")


WHAT = "file of sequences"


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


class SequenceFile(ABC):
    """A file of sequences that can be read again and again, and its like be written."""

    form: str
    """"wide": a sequence in each row; "long": an event in each row."""

    file: Path
    unit: str
    written: list[str]
    """The columns that are written, where it has any."""
    times: ArtificialTimes | PrivateWaits | None = None
    """What is written in the place of the true times; None: no times are written."""
    _date_format: str | None = None
    _between_times: str | None = None

    @property
    @abstractmethod
    def has_ids(self) -> bool:
        """Whether records have names in the file; else they are known by their place."""

    @property
    def separator(self) -> str | None:
        """What the symbols of a sequence are joined by where a sequence is text; None: it is none."""
        return None

    @abstractmethod
    def names(self) -> dict[str, str]:
        """The columns of ids, sequences and events by their options: enough to read the output again."""

    def columns_in_file(self) -> list[str]:
        """All columns that the file has, where it is a table."""
        return []

    def dropped_ids(self) -> list[str]:
        """Columns that look like ids, where records have names and none of them passes."""
        return []

    @abstractmethod
    def records(self) -> Iterator[pa.RecordBatch]:
        """The records (see `records`), in order."""

    def persons(self, batch: pa.RecordBatch) -> Any:
        """Whose each record is: the person that was asked for, else the record's own id, else its place; each in the
        one spelling that every engine and the ledger have (`models.names`).
        """
        cells = self._owners(batch)
        names = self.spelled(cells)
        if names.null_count:
            row = batch.column(ROW_NUMBER)[pc.index(names.is_null(), value=True).as_py()].as_py()
            raise no_name(f"{self.file}: {self.unit} {row}")
        return names

    def clusters(self, batch: pa.RecordBatch) -> Any:
        """The same for those who only group records: cells that are no names are compared by what they print as."""
        cells = self._owners(batch)
        return pc.coalesce(self.spelled(cells), as_text(cells))

    def spelled(self, cells: Any) -> Any:
        """Cells of persons as names; null where one is no name."""
        return spelled_names(cells)

    @computed_once
    def _stamps(self) -> StampReader:
        return StampReader(self._date_format, self.plain, self._between_times)

    def stamps(self, batch: pa.RecordBatch) -> Stamps:
        """The times of all symbols of some records, one after the other, where a column of times was asked for."""
        lengths = list_lengths(batch.column(SYMBOLS))
        column = batch.column(TIME)
        if self.form == "long":
            return self._stamps.cells(column.flatten())
        return self._stamps.of_sequences(column, lengths)

    def attribute(self, batch: pa.RecordBatch, index: int, values: PublicValues) -> NDArray[np.int64]:
        """The codes of an attribute of all symbols of some records, one after the other; -1 where it has no value.

        In wide form a cell has a list with as many values as there are symbols, or one value for all of them.
        """
        column = batch.column(beside_column(index))
        if self.form == "long":
            return values.codes(texts_of(column.flatten()), self.plain)
        return attribute_codes(column, list_lengths(batch.column(SYMBOLS)), values, self.plain)

    def plain(self, text: str) -> str:
        """What a cell says: in JSON without the quotes around it."""
        return text

    def _owners(self, batch: pa.RecordBatch) -> Any:
        if PERSON in batch.schema.names:
            return batch.column(PERSON)
        if self.has_ids:
            return batch.column(ID)
        rows = batch.column(ROW_NUMBER).cast(pa.string())
        return pc.binary_join_element_wise(self.unit, rows, " ")

    def check_symbols(self, alphabet: Alphabet) -> None:
        """Refuse an alphabet whose words could not be written in this form, or not be read back."""
        for position, symbol in enumerate(alphabet.symbols, start=1):
            if isinstance(symbol, str) and not symbol.isascii() and _HALF.search(symbol):
                raise AlphabetError(f"alphabet: expected whole characters, found half of one at position {position}")
        if self.separator is not None:
            check_separable(alphabet, self.separator)

    def check_lengths_may_change(self) -> None:  # noqa: B027 - most forms can: a row is a record, however long
        """Refuse a form that cannot hold released sequences of other lengths, empty ones among them."""

    def check_filled(self) -> None:  # noqa: B027 - where a row is a sequence, it is refused as one
        """Refuse the first event without a symbol, by its own place; for messages, where a sequence was refused."""

    def add_hours(self) -> None:
        """Let the output have the private hour of each event; refused where a row is not one event."""
        raise ParameterError(
            "time", expected="one event in each row (`case`, `symbol`), or XES", found="one sequence in each row"
        )

    def released_type(self, alphabet: Alphabet) -> pa.DataType | None:
        """The type in which sequences are released where lengths are secret; None: that in which they come."""
        del alphabet
        return None

    @abstractmethod
    def done(self) -> float:
        """How much has been read, from 0 to 1."""

    def writer(self, out: BinaryIO, *, packed: bool) -> RecordWriter:
        """Writes records in the same form; `packed`: gzipped."""
        return RecordWriter(self, out, packed)

    @abstractmethod
    def row_writer(self, out: BinaryIO, rows: pa.RecordBatch | None) -> RowWriter:
        """What writes arranged records; the first of them, None where there are none, have the types of all."""

    def arranged(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Records as the rows of the file."""
        return batch


def attribute_codes(
    column: Any, lengths: NDArray[np.int64], values: PublicValues, plain: Callable[[str], str] | None = None
) -> NDArray[np.int64]:
    """The codes of an attribute of all symbols of sequences: a cell has a list with a value for each, or one for all.

    `plain` says what a cell of text says.
    """
    if not is_list(column.type):
        return np.repeat(values.codes(texts_of(column), *(() if plain is None else (plain,))), lengths)
    cells = [cell if cell is not None and len(cell) == size else [None] * size
             for cell, size in zip(column.to_pylist(), lengths.tolist(), strict=True)]  # fmt: skip
    return values.codes(None if each is None else str(each) for cell in cells for each in cell)


def texts_of(column: Any) -> list[str | None]:
    """The cells of a column as text, each by itself; None where one has none."""
    try:
        texts: list[str | None] = as_text(column).to_pylist()
    except (pa.ArrowException, ValueError, LookupError):  # lists, records
        return [None] * len(column)
    return texts


class RecordWriter:
    """Writes batches of records. `close` ends the table; the file itself stays open.

    What comes out depends on the records alone, and not on the batches in which they come (`layout`).
    """

    def __init__(self, file: SequenceFile, out: BinaryIO, packed: bool) -> None:
        self._file = file
        self._pieces = [EvenBytes(out)]
        self._zip: gzip.GzipFile | None = None
        if packed:
            # without a name and a time in it, the same records make the same bytes
            self._zip = gzip.GzipFile(
                filename="", mode="wb", fileobj=cast("BinaryIO", self._pieces[0]), mtime=0, compresslevel=6
            )
            self._pieces.append(EvenBytes(cast("BinaryIO", self._zip)))
        self._rows: RowWriter | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        """Some more records."""
        rows = self._file.arranged(batch)
        self._begun(rows).write(rows)

    def _begun(self, rows: pa.RecordBatch | None) -> RowWriter:
        if self._rows is None:
            self._rows = self._file.row_writer(cast("BinaryIO", self._pieces[-1]), rows)
        return self._rows

    def close(self) -> None:
        """The end of the table."""
        self._begun(None).close()
        self._pieces[-1].finish()
        if self._zip is not None:
            self._zip.close()
            self._pieces[0].finish()


_WHOLE = 1000
"""How much of a file was read is reported in thousandths."""


class RecordSteps:
    """Reports progress by steps of so many records, and not by batches: their sizes depend on secret words."""

    def __init__(self, what: str, file: SequenceFile, progress: Progress) -> None:
        self._what, self._file, self._progress = what, file, progress
        self._records = self._reported = self._read = 0

    def add(self, records: int) -> None:
        """Some more are done. Each step is reported, and before that the last one again, so that anyone who wants to
        interrupt can do so after each batch.
        """
        self._report(self._reported)
        self._records += records
        while self._records - self._reported >= LIMITS.now.progress_records:
            self._reported += LIMITS.now.progress_records
            self._report(self._reported)

    def end(self) -> None:
        """All are done."""
        self._read = _WHOLE
        self._report(self._records)

    def _report(self, records: int) -> None:
        # a file that is closed does not say any more how far it was read
        self._read = max(self._read, int(_WHOLE * self._file.done()))
        named(self._progress, self._what, records=records)(self._read, _WHOLE)


def reported_records(file: SequenceFile, what: str) -> Iterator[pa.RecordBatch]:
    """The records of a file, some at a time; the progress callback (`numbers.progress.reporting_to`) is called on the
    way.
    """
    progress = listener(what)
    if progress is None:
        yield from file.records()
        return
    steps = RecordSteps(what, file, progress)
    for batch in file.records():
        yield batch
        steps.add(batch.num_rows)
    steps.end()
