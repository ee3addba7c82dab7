"""Files of sequences: the door through which every format comes in as records and goes out in the same form."""

from __future__ import annotations

import gzip
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from symveil.errors import FileError, ParameterError
from symveil.io.formulas import Apostrophes
from symveil.io.reading import MOST_TIMES, suffix, wrong_suffix
from symveil.io.sequences.columns import (
    ColumnOptions,
    LongColumns,
    WideColumns,
    choose_columns,
    secret_lengths_in_long_form,
)
from symveil.io.sequences.event_groups import Grouping
from symveil.io.sequences.layout import EvenBytes, RowBlocks
from symveil.io.sequences.records import (
    ID,
    LONGEST,
    PERSON,
    PLACE,
    SYMBOLS,
    as_text,
    check_lengths,
    is_list,
    is_text,
    kept,
    made_in_order,
    require_filled,
    require_named,
    rows_cut,
)
from symveil.io.sequences.rows import RowSource, RowWriter
from symveil.io.sequences.rows_csv import CsvRows
from symveil.io.sequences.rows_json import RAW, JsonRows, plain_text
from symveil.io.sequences.rows_parquet import ParquetRows
from symveil.io.sequences.sequence_text import first_empty_symbol, join_column, split_column
from symveil.io.sequences.xes import XesReader, XesWriter
from symveil.models.alphabet import Alphabet

FORMATS = {
    ".csv": "CSV",
    ".tsv": "CSV",
    ".jsonl": "JSON Lines",
    ".ndjson": "JSON Lines",
    ".parquet": "Parquet",
    ".xes": "XES",
}
"""What the end of a name promises; `.gz` may follow."""


class SequenceFile(ABC):
    """A file of sequences that can be read again and again, and its like be written."""

    form: str
    """"wide": a sequence in each row; "long": an event in each row."""

    file: Path
    unit: str

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

    def options(self) -> dict[str, Any]:
        """The same, as options to open the output with."""
        return {{"id": "identifier"}.get(name, name): column for name, column in self.names().items()}

    @abstractmethod
    def records(self) -> Iterator[pa.RecordBatch]:
        """The records (see `records`), in order."""

    def persons(self, batch: pa.RecordBatch) -> Any:
        """Whose each record is: the person that was asked for, else the record's own id, else its place."""
        if PERSON in batch.schema.names:
            return batch.column(PERSON)
        if self.has_ids:
            return as_text(batch.column(ID))
        places = batch.column(PLACE).cast(pa.string())
        return pc.binary_join_element_wise(self.unit, places, " ")

    def check_lengths_may_change(self) -> None:  # noqa: B027 - most forms can: a row is a record, however long
        """Refuse a form that cannot hold released sequences of other lengths, empty ones among them."""

    def released_type(self, alphabet: Alphabet) -> pa.DataType | None:
        """The type in which sequences are released where lengths are secret; None: that in which they come."""
        del alphabet
        return None

    @abstractmethod
    def done(self) -> float:
        """How much has been read, from 0 to 1."""

    @abstractmethod
    def writer(self, out: BinaryIO, *, packed: bool) -> RecordWriter:
        """Writes records in the same form; `packed`: gzipped."""


class RecordWriter:
    """Writes batches of records. `close` ends the table; the file itself stays open.

    What comes out depends on the records alone, and not on the batches in which they come (`io.layout`).
    """

    def __init__(self, write: Callable[[BinaryIO, pa.RecordBatch | None], None], out: BinaryIO, packed: bool) -> None:
        self._pieces = [EvenBytes(out)]
        self._zip: gzip.GzipFile | None = None
        if packed:
            # without a name and a time in it, the same records make the same bytes
            self._zip = gzip.GzipFile(
                filename="", mode="wb", fileobj=cast("BinaryIO", self._pieces[0]), mtime=0, compresslevel=6
            )
            self._pieces.append(EvenBytes(cast("BinaryIO", self._zip)))
        self._out = cast("BinaryIO", self._pieces[-1])
        self._write = write

    def write(self, batch: pa.RecordBatch) -> None:
        """Some more records."""
        self._write(self._out, batch)

    def close(self) -> None:
        """The end of the table."""
        self._write(self._out, None)
        self._pieces[-1].finish()
        if self._zip is not None:
            self._zip.close()
            self._pieces[0].finish()


def open_sequences(
    path: str | Path,
    options: ColumnOptions | None = None,
    *,
    longest: int = LONGEST,
    most_times: int = MOST_TIMES,
    apostrophes: Apostrophes = "none",
) -> SequenceFile:
    """The sequences in a file: CSV, JSON Lines, Parquet or XES by its name, each also gzipped.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "log.csv")
    ...     _ = file.write_text("who,when,what\\nx,2,b\\ny,1,c\\nx,1,a\\n")
    ...     log = open_sequences(file, ColumnOptions(case="who", order="when", symbol="what"))
    ...     [batch.column("symbols").to_pylist() for batch in log.records()]
    [[['a', 'b'], ['c']]]
    """
    file, options = Path(path), options or ColumnOptions()
    kind = FORMATS.get(suffix(file))
    if kind is None:
        raise wrong_suffix(file, tuple(FORMATS))
    if kind != "CSV" and apostrophes != "none":
        raise ParameterError("spreadsheet_safe", expected="CSV, which spreadsheets open, with it", found=kind)
    if kind == "XES":
        return _XesFile(XesReader(file, options, longest=longest, most_times=most_times))
    source: RowSource
    if kind == "CSV":
        source = CsvRows(file, most_times=most_times, apostrophes=apostrophes)
    elif kind == "JSON Lines":
        source = JsonRows(file, most_times=most_times)
    else:
        source = ParquetRows(file, most_times=most_times, longest=longest)
    columns = choose_columns(file, options, source.names, source.lists)
    if isinstance(columns, WideColumns):
        return _WideFile(source, columns, options.separator, longest)
    return _LongFile(source, columns, longest)


class _XesFile(SequenceFile):
    form = "long"

    def __init__(self, reader: XesReader) -> None:
        self._reader, self.file, self.unit = reader, reader.file, reader.unit

    @property
    def has_ids(self) -> bool:
        return True

    def names(self) -> dict[str, str]:
        # no order: what is written stands in its order, and the attribute that told it is left out
        return {"case": self._reader.columns.case, "symbol": self._reader.columns.symbol}

    def records(self) -> Iterator[pa.RecordBatch]:
        return self._reader.records()

    def check_lengths_may_change(self) -> None:
        self._reader.check_lengths_may_change()

    def done(self) -> float:
        return self._reader.done()

    def writer(self, out: BinaryIO, *, packed: bool) -> RecordWriter:
        writer: list[XesWriter] = []

        def write(sink: BinaryIO, batch: pa.RecordBatch | None) -> None:
            if not writer:
                writer.append(XesWriter(sink, self._reader))
            if batch is None:
                writer[0].close()
            else:
                writer[0].write(batch)

        return RecordWriter(write, out, packed)


class _TableFile(SequenceFile):
    """A table: rows are read by a source and arranged by a subclass."""

    def __init__(self, source: RowSource, longest: int) -> None:
        self._source, self.file, self.unit = source, source.file, source.unit
        self._longest = longest
        self._raw_fields: dict[str, Any] = {}

    def done(self) -> float:
        return self._source.done()

    def persons(self, batch: pa.RecordBatch) -> Any:
        found = super().persons(batch)
        if PERSON not in batch.schema.names and self.has_ids and isinstance(self._source, JsonRows):
            return pa.array([plain_text(text) for text in found.to_pylist()], type=pa.string())
        return found

    def _plain(self, text: str) -> str:
        return plain_text(text) if isinstance(self._source, JsonRows) else text

    def _person(self, column: Any, places: Any) -> Any:
        require_named(column, places, file=self.file, unit=self.unit, what="a person", plain=self._plain)
        persons = as_text(column)
        if isinstance(self._source, JsonRows):
            return pa.array([plain_text(text) for text in persons.to_pylist()], type=pa.string())
        return persons

    def writer(self, out: BinaryIO, *, packed: bool) -> RecordWriter:
        writer: list[RowWriter] = []

        def write(sink: BinaryIO, batch: pa.RecordBatch | None) -> None:
            rows = None if batch is None else self._arranged(batch)
            if not writer:
                schema = self._empty_schema() if rows is None else rows.schema
                writer.append(RowBlocks(self._source.writer(sink, schema), schema))
            if rows is None:
                writer[0].close()
            else:
                writer[0].write(rows)

        return RecordWriter(write, out, packed)

    @abstractmethod
    def _arranged(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Records as the rows of the file."""

    def _empty_schema(self) -> pa.Schema:
        """The columns of a file without records: text, since nothing better is known."""
        return pa.schema([pa.field(name, pa.string()) for name in self._written()])

    @abstractmethod
    def _written(self) -> list[str]:
        """The columns that are written."""

    def _fields(self, arrays: dict[str, Any]) -> pa.RecordBatch:
        """A batch of the written columns; JSON that passes as it is is marked as such."""
        passing = isinstance(self._source, JsonRows)
        made, types = self._made_here(), self._source.types
        for name, array in arrays.items():
            kind = types.get(name, array.type)
            if array.type != kind and is_text(array.type) and is_text(kind):
                arrays[name] = array.cast(kind)  # the same text in the type that it came in
        fields = [
            pa.field(name, arrays[name].type, metadata={RAW: b"json"} if passing and name not in made else None)
            for name in self._written()
        ]
        return pa.RecordBatch.from_arrays([arrays[field.name] for field in fields], schema=pa.schema(fields))

    @abstractmethod
    def _made_here(self) -> set[str]:
        """The columns that are not passed as they are."""


class _WideFile(_TableFile):
    form = "wide"

    def __init__(self, source: RowSource, columns: WideColumns, separator: str | None, longest: int) -> None:
        super().__init__(source, longest)
        self._columns = columns
        self._separator = separator
        self._as_text = columns.sequence not in source.lists

    @property
    def has_ids(self) -> bool:
        return self._columns.identifier is not None

    def names(self) -> dict[str, str]:
        told = {"sequence": self._columns.sequence}
        if self._columns.identifier is not None:
            told["id"] = self._columns.identifier
        if self._as_text and self._separator is not None:
            told["separator"] = self._separator
        return told

    @property
    def separator(self) -> str | None:
        return (" " if self._separator is None else self._separator) if self._as_text else None

    def released_type(self, alphabet: Alphabet) -> pa.DataType | None:
        return None if self._as_text else self._source.released_type(alphabet)

    def records(self) -> Iterator[pa.RecordBatch]:
        # closed at once also where a row is refused, and not when the error is forgotten
        with closing(self._source.batches(self._columns.read(), self._columns.sequence)) as batches:
            yield from made_in_order(batches, self._records_of, rows_cut)

    def _records_of(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        columns = self._columns
        places, sequences = rows.column(PLACE), rows.column(columns.sequence)
        require_filled(sequences, places, file=self.file, unit=self.unit, what="a sequence")
        arrays = {PLACE: places}
        if columns.identifier is not None:
            arrays[ID] = rows.column(columns.identifier)
            require_named(arrays[ID], places, file=self.file, unit=self.unit, what="an id", plain=self._plain)
        if columns.person is not None:
            arrays[PERSON] = self._person(rows.column(columns.person), places)
        arrays[SYMBOLS] = self._symbols(sequences, places)
        arrays |= {kept(index): rows.column(name) for index, name in enumerate(columns.keep)}
        batch = pa.record_batch(list(arrays.values()), names=list(arrays))
        check_lengths(batch, file=self.file, unit=self.unit, longest=self._longest)
        return batch

    def _symbols(self, sequences: Any, places: Any) -> Any:
        if is_list(sequences.type):
            return sequences
        if not is_text(sequences.type):
            raise FileError(
                str(self.file), expected="sequences as lists or as text", found=f"a {sequences.type} column"
            )
        lists = split_column(sequences, self._separator)
        row = first_empty_symbol(lists)
        if row is not None:
            raise FileError(
                f"{self.file}: {self.unit} {places[row].as_py()}", expected="a symbol between separators", found="none"
            )
        return lists

    def _arranged(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = self._columns
        symbols = batch.column(SYMBOLS)
        arrays: dict[str, Any] = {
            columns.sequence: join_column(symbols, self._separator) if self._as_text else symbols
        }  # fmt: skip
        if columns.identifier is not None:
            arrays[columns.identifier] = batch.column(ID)
        arrays |= {name: batch.column(kept(index)) for index, name in enumerate(columns.keep)}
        return self._fields(arrays)

    def _written(self) -> list[str]:
        return self._columns.written(self._source.names)

    def _made_here(self) -> set[str]:
        return {self._columns.sequence}


class _LongFile(_TableFile):
    form = "long"

    def __init__(self, source: RowSource, columns: LongColumns, longest: int) -> None:
        super().__init__(source, longest)
        self._columns = columns

    @property
    def has_ids(self) -> bool:
        return True

    def names(self) -> dict[str, str]:
        return _told(self._columns)

    def records(self) -> Iterator[pa.RecordBatch]:
        columns = self._columns
        grouping = Grouping(
            file=self.file, unit=self.unit, columns=columns, longest=self._longest, plain=self._plain
        )  # fmt: skip
        with closing(self._source.batches(columns.read(), columns.symbol)) as rows:
            yield from map(self._with_plain_persons, grouping.records(rows))

    def _with_plain_persons(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if PERSON not in batch.schema.names or not isinstance(self._source, JsonRows):
            return batch
        index = batch.schema.get_field_index(PERSON)
        persons = pa.array([plain_text(text) for text in batch.column(index).to_pylist()], type=pa.string())
        return batch.set_column(index, PERSON, persons)

    def check_lengths_may_change(self) -> None:
        raise secret_lengths_in_long_form()

    def _arranged(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = self._columns
        symbols = batch.column(SYMBOLS)
        lengths = pc.list_value_length(symbols).to_numpy(zero_copy_only=False).astype(np.int64)
        case_of = np.repeat(np.arange(len(lengths)), lengths)
        arrays: dict[str, Any] = {
            columns.case: batch.column(ID).take(pa.array(case_of)),
            columns.symbol: symbols.flatten(),
        }
        if columns.order is not None:
            within = np.arange(len(case_of)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + 1
            numbers = pa.array(within, type=pa.int64())
            arrays[columns.order] = numbers
        arrays |= {name: batch.column(kept(index)).flatten() for index, name in enumerate(columns.keep)}
        return self._fields(arrays)

    def _written(self) -> list[str]:
        return self._columns.written(self._source.names)

    def _made_here(self) -> set[str]:
        made = {self._columns.symbol}
        if self._columns.order is not None and self._columns.order not in self._columns.keep:
            made.add(self._columns.order)
        return made


def _told(columns: LongColumns) -> dict[str, str]:
    told = {"case": columns.case, "symbol": columns.symbol}
    return told if columns.order is None or columns.order in columns.keep else told | {"order": columns.order}
