"""Files of sequences: the door through which every format comes in as records and goes out in the same form.

The sequences of a file as Python tuples, one at a time.

Sequences are secrets: messages give the file and the line or the row, never a symbol, and never
the header either, because a file without one has a sequence in its place.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from symveil.errors import FileError, ParameterError
from symveil.formats.reading import LONGEST, MOST_TIMES, Apostrophes, check_sizes, suffix, wrong_suffix
from symveil.formats.sequences.columns import (
    PROCESS_MINING,
    ColumnOptions,
    LongColumns,
    WideColumns,
    check_delimiter,
    choose_columns,
    ids_among,
    secret_lengths_in_long_form,
)
from symveil.formats.sequences.event_groups import Grouping
from symveil.formats.sequences.layout import RowBlocks, RowWriter, bare_type
from symveil.formats.sequences.records import (
    HOUR_COLUMN,
    HOURS,
    ID,
    PERSON,
    ROW_NUMBER,
    SYMBOLS,
    TIME,
    check_lengths,
    columns_beside,
    first_empty_symbol,
    is_list,
    is_text,
    join_column,
    keep_column,
    list_lengths,
    made_in_order,
    require_filled,
    require_named,
    rows_cut,
    split_column,
    symbols_of_lists,
)
from symveil.formats.sequences.rows_csv import CsvRows
from symveil.formats.sequences.rows_json import JsonRows
from symveil.formats.sequences.rows_parquet import ParquetRows
from symveil.formats.sequences.sequence_file import RowSource, SequenceFile, reported_records
from symveil.formats.sequences.stamps import ArtificialTimes, PrivateWaits, StampReader
from symveil.formats.sequences.xes import XesFile
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


def open_sequences(
    path: str | Path,
    options: ColumnOptions | None = None,
    *,
    longest: int = LONGEST,
    most_times: int = MOST_TIMES,
    apostrophes: Apostrophes = "none",
    only_sequences: bool = False,
    times: ArtificialTimes | PrivateWaits | None = None,
) -> SequenceFile:
    """The sequences in a file: CSV, JSON Lines, Parquet or XES by its name, each also gzipped.

    With `only_sequences` for reading alone: ids are not looked at, and whole numbers in JSON may stand beside text.
    With `times` events are written with these in the place of their own; in XES, which is read by tools that ask for
    times, there are some also without being asked for.

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
    if kind != "CSV" and options.delimiter is not None:
        raise ParameterError("delimiter", expected="CSV, whose cells are separated by something, with it", found=kind)
    if kind != "CSV" and apostrophes != "none":
        raise ParameterError("spreadsheet_safe", expected="CSV, which spreadsheets open, with it", found=kind)
    if kind == "XES":
        return XesFile(file, options, longest=longest, most_times=most_times, times=times)
    source: RowSource
    if kind == "CSV":
        source = CsvRows(file, most_times=most_times, apostrophes=apostrophes, delimiter=options.delimiter)
        check_delimiter(file, options, source.names)
    elif kind == "JSON Lines":
        source = JsonRows(file, most_times=most_times, as_text=only_sequences)
    else:
        source = ParquetRows(file, most_times=most_times, longest=longest)
    return sequences_in(source, options, longest=longest, times=times, only_sequences=only_sequences)


def sequences_in(
    source: RowSource,
    options: ColumnOptions,
    *,
    longest: int = LONGEST,
    times: ArtificialTimes | PrivateWaits | None = None,
    only_sequences: bool = False,
) -> SequenceFile:
    """The sequences in a table, whatever it is read from."""
    columns = choose_columns(source.file, options, source.names, source.lists, only_sequences=only_sequences)
    if isinstance(columns, WideColumns):
        if times is not None:
            raise ParameterError(
                "start" if isinstance(times, ArtificialTimes) else "time",
                expected="one event in each row (`case`, `symbol`) with times", found="one sequence in each",
            )  # fmt: skip
        return _WideFile(source, columns, options, longest)
    return _LongFile(source, columns, options, longest, times)


class _TableFile(SequenceFile):
    """A table: rows are read by a source and arranged by a subclass."""

    def __init__(
        self,
        source: RowSource,
        columns: WideColumns | LongColumns,
        options: ColumnOptions,
        longest: int,
        made_here: set[str],
    ) -> None:
        self._source, self.file, self.unit = source, source.file, source.unit
        self._delimiter = {} if options.delimiter is None else {"delimiter": options.delimiter}
        self._longest = longest
        self._date_format, self._between_times = options.date_format, options.separator
        self.written = columns.written(source.names)
        self._made_here = made_here
        """The columns that do not pass as they are."""

    def done(self) -> float:
        return self._source.done()

    def columns_in_file(self) -> list[str]:
        return list(self._source.names)

    def spelled(self, cells: Any) -> Any:
        return self._source.spelled(cells)

    def plain(self, text: str) -> str:
        return self._source.plain(text)

    def row_writer(self, out: BinaryIO, rows: pa.RecordBatch | None) -> RowWriter:
        # the columns of a file without records are text, since nothing better is known
        schema = pa.schema([pa.field(name, pa.string()) for name in self.written]) if rows is None else rows.schema
        return RowBlocks(self._source.writer(out, schema), schema)

    def _fields(self, arrays: dict[str, Any]) -> pa.RecordBatch:
        """A batch of the written columns; what passes as it is is marked as the source asks."""
        types, passing = self._source.types, self._source.passing
        for name, array in arrays.items():
            kind = types.get(name, array.type)
            if array.type != kind and is_text(array.type) and is_text(kind):
                arrays[name] = array.cast(kind)  # the same text in the type that it came in
        fields = [
            pa.field(name, bare_type(arrays[name].type), metadata=None if name in self._made_here else passing)
            for name in self.written
        ]
        return pa.RecordBatch.from_arrays([arrays[field.name] for field in fields], schema=pa.schema(fields))


class _WideFile(_TableFile):
    form = "wide"

    def __init__(self, source: RowSource, columns: WideColumns, options: ColumnOptions, longest: int) -> None:
        super().__init__(source, columns, options, longest, made_here={columns.sequence})
        self._columns, self._separator = columns, options.separator
        self._as_text = columns.sequence not in source.lists

    @property
    def has_ids(self) -> bool:
        return self._columns.identifier is not None

    def dropped_ids(self) -> list[str]:
        passing = {*self.written, self._columns.person}
        return [] if self.has_ids else [name for name in ids_among(self._source.names) if name not in passing]

    def names(self) -> dict[str, str]:
        names = {"sequence": self._columns.sequence}
        if self._columns.identifier is not None:
            names["id"] = self._columns.identifier
        if self._as_text and self._separator is not None:
            names["separator"] = self._separator
        return names | self._delimiter

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
        row_numbers, sequences = rows.column(ROW_NUMBER), rows.column(columns.sequence)
        require_filled(sequences, row_numbers, file=self.file, unit=self.unit, what="a sequence")
        named = partial(require_named, rows=row_numbers, file=self.file, unit=self.unit, plain=self._source.plain)
        arrays = {ROW_NUMBER: row_numbers}
        if columns.identifier is not None:
            arrays[ID] = rows.column(columns.identifier)
            named(arrays[ID], what="an id")
        if columns.person is not None:
            named(rows.column(columns.person), what="a person")
            arrays[PERSON] = rows.column(columns.person)
        arrays[SYMBOLS] = self._symbols(sequences, row_numbers)
        arrays |= {own: rows.column(name) for own, name in columns_beside(columns).items()}
        batch = pa.record_batch(list(arrays.values()), names=list(arrays))
        check_lengths(batch, file=self.file, unit=self.unit, longest=self._longest)
        return batch

    def _symbols(self, sequences: Any, rows: Any) -> Any:
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
                f"{self.file}: {self.unit} {rows[row].as_py()}", expected="a symbol between separators", found="none"
            )
        return lists

    def arranged(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = self._columns
        symbols = batch.column(SYMBOLS)
        arrays: dict[str, Any] = {
            columns.sequence: join_column(symbols, self._separator) if self._as_text else symbols
        }  # fmt: skip
        if columns.identifier is not None:
            arrays[columns.identifier] = batch.column(ID)
        arrays |= {name: batch.column(keep_column(index)) for index, name in enumerate(columns.keep)}
        return self._fields(arrays)


class _LongFile(_TableFile):
    form = "long"

    has_ids = True

    def __init__(
        self,
        source: RowSource,
        columns: LongColumns,
        options: ColumnOptions,
        longest: int,
        times: ArtificialTimes | PrivateWaits | None = None,
    ) -> None:
        self._columns, self.times = columns, times
        self._order = {} if columns.order is None or columns.order in columns.keep else {"order": columns.order}
        self._hour: dict[str, str] = {}
        if times is not None and columns.order in columns.keep:
            raise ParameterError("start", expected="no `keep` of the times that it replaces", found="both")
        if times is not None and columns.order is None:
            self._order = {"order": self._own_name(source.names)}
        super().__init__(source, columns, options, longest, made_here={columns.symbol, *self._order.values()})
        if times is not None and columns.order is None:
            self.written.append(self._order["order"])

    def _own_name(self, names: Sequence[str]) -> str:
        """What the times are called in a table that has no order column: as event logs call them."""
        if PROCESS_MINING["order"] in names:  # it would have been the order, were it not the case or the symbol
            raise ParameterError("start", expected="`order` with the column that times replace", found="none")
        return PROCESS_MINING["order"]

    def names(self) -> dict[str, str]:
        own = {"case": self._columns.case, "symbol": self._columns.symbol}
        return {**own, **self._order, **self._hour, **self._delimiter}

    def records(self) -> Iterator[pa.RecordBatch]:
        columns = self._columns
        grouping = Grouping(
            file=self.file,
            unit=self.unit,
            columns=columns,
            longest=self._longest,
            plain=self._source.plain,
            spelled=self._source.spelled,
            date_format=self._date_format,
        )
        with closing(self._source.batches(columns.read(), columns.symbol)) as rows:
            yield from grouping.records(rows)

    def check_filled(self) -> None:
        columns = self._columns
        with closing(self._source.batches(columns.read(), columns.symbol)) as batches:
            for rows in batches:
                require_named(
                    rows.column(columns.symbol),
                    rows.column(ROW_NUMBER),
                    file=self.file,
                    unit=self.unit,
                    what="a symbol",
                    plain=self._source.plain,
                )

    def check_lengths_may_change(self) -> None:
        raise secret_lengths_in_long_form()

    def arranged(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = self._columns
        symbols = batch.column(SYMBOLS)
        lengths = list_lengths(symbols)
        case_of = np.repeat(np.arange(len(lengths)), lengths)
        arrays: dict[str, Any] = {
            columns.case: batch.column(ID).take(pa.array(case_of)),
            columns.symbol: symbols.flatten(),
        }
        order = columns.order if self.times is None else self._order["order"]
        if HOURS in batch.schema.names:
            arrays[HOUR_COLUMN] = batch.column(HOURS).flatten()
        if order is not None:
            within = np.arange(len(case_of)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + 1
            if TIME in batch.schema.names:  # only released times are in a record that is written
                arrays[order] = self._spelled_times(batch.column(TIME).flatten())
            elif isinstance(self.times, ArtificialTimes):
                arrays[order] = self._times(self.times, within)
            else:
                arrays[order] = pa.array(within, type=pa.int64())
        arrays |= {name: batch.column(keep_column(index)).flatten() for index, name in enumerate(columns.keep)}
        return self._fields(arrays)

    def add_hours(self) -> None:
        if HOUR_COLUMN in self.written:
            raise ParameterError(
                "keep", expected=f"no column {HOUR_COLUMN!r} beside the private hours", found=repr(HOUR_COLUMN)
            )
        self.written.append(HOUR_COLUMN)
        self._made_here.add(HOUR_COLUMN)
        self._hour = {"hour": HOUR_COLUMN}

    def _times(self, times: ArtificialTimes, positions: NDArray[np.int64]) -> Any:
        """Artificial times, as dates where the format has a type for them."""
        if self._source.has_dates:
            return times.column(positions)
        texts = pa.array(times.texts(int(positions.max(initial=0))), type=pa.string())
        return texts.take(pa.array(positions - 1))

    def _spelled_times(self, texts: Any) -> Any:
        """Released times, likewise."""
        if not self._source.has_dates:
            return texts
        stamps = StampReader().cells(texts)
        return pa.array(stamps.microseconds, type=pa.timestamp("us")).cast(pa.timestamp("us", tz="UTC"))


def read_sequences(
    path: str | Path,
    *,
    sequence: str | None = None,
    separator: str | None = None,
    identifier: str | None = None,
    case: str | None = None,
    order: str | None = None,
    symbol: str | None = None,
    delimiter: str | None = None,
    date_format: str | None = None,
    longest: int = LONGEST,
    gzip_ratio: int = MOST_TIMES,
) -> Generator[tuple[str, ...]]:
    """The sequences of a file, one at a time: CSV, JSON Lines, Parquet or XES, wide or long, each also gzipped.

    Parameters
    ----------
    path
        The file; the end of its name says the format.
    sequence
        Wide form, a sequence in each row: their column. By default the only list column, or the only column that
        is not the record's id.
    separator
        Wide form: where text is split; runs of blanks by default. "" splits at every character.
    identifier
        Wide form: the column of ids, which is not read. By default a column called `id` or `…_id` is one.
    case, order, symbol
        Long form, an event in each row: the columns of the case, of the events' order, and of the symbols.
    delimiter, date_format
        What separates the cells of a CSV file, and how the dates of the order column are written, as `strptime` has it.
    longest
        Refuse longer sequences.
    gzip_ratio
        Refuse gzip files that unpack to more times their size.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "trips.csv")
    ...     _ = file.write_text("trip_id,links\\n1,a b a\\n2,b\\n")
    ...     list(read_sequences(file))
    [('a', 'b', 'a'), ('b',)]
    """
    check_sizes(longest=longest, gzip_ratio=gzip_ratio)
    columns = ColumnOptions(
        sequence=sequence,
        separator=separator,
        identifier=identifier,
        case=case,
        order=order,
        symbol=symbol,
        delimiter=delimiter,
        date_format=date_format,
    )
    return _tuples(open_sequences(path, columns, longest=longest, most_times=gzip_ratio, only_sequences=True))


def _tuples(file: SequenceFile) -> Generator[tuple[str, ...]]:
    for batch in reported_records(file, "reading"):
        lists = batch.column(SYMBOLS)
        kind = lists.type.value_type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if not (pa.types.is_integer(kind) or is_text(kind)):
            raise FileError(str(file.file), expected="lists of strings or of whole numbers", found=f"lists of {kind}")
        if lists.flatten().null_count:
            raise FileError(str(file.file), expected="a symbol in every place of a list", found="none in some place")
        names, codes, lengths = symbols_of_lists(lists)
        symbols, start = tuple([names[code] for code in codes.tolist()]), 0
        for end in np.cumsum(lengths).tolist():
            yield symbols[start:end]
            start = end
