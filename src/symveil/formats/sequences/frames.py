"""Tables in memory: pandas, polars and Arrow tables come in as rows of a file do, and go out as what they were.

Neither pandas nor polars is needed: a table is known by Arrow's own interchange, and its library is there if it is.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, Protocol

import numpy as np
import pyarrow as pa

from symveil.errors import FileError, ParameterError
from symveil.formats.reading import path_of
from symveil.formats.sequences.columns import ColumnOptions
from symveil.formats.sequences.frame_columns import arrow_column, pandas_column, plain_column, polars_column, used_index
from symveil.formats.sequences.layout import bare_type
from symveil.formats.sequences.records import LONGEST, PLACE, ROWS_AT_ONCE, is_list
from symveil.formats.sequences.rows import RowSource, RowWriter
from symveil.formats.sequences.sequence_file import SequenceFile
from symveil.formats.sequences.sequence_files import open_sequences, sequences_in

_PLACE = Path("table")
"""What messages call it."""
ATTRS = "symveil"
"""Under which key `.attrs` of a private table of pandas has its promise."""


class Table(Protocol):
    """A DataFrame of pandas or polars, an Arrow table, or a column of one: what hands out Arrow's batches."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Arrow's own interchange."""


def is_frame(value: object) -> bool:
    """Whether a value is a table: a DataFrame of pandas or polars, or anything that hands out Arrow batches.

    >>> is_frame(pa.table({"a": [1]})), is_frame(["ab"]), is_frame(pa.array(["ab"]))
    (True, False, False)
    """
    has_columns = hasattr(value, "columns") or hasattr(value, "column_names")
    return has_columns and (hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__"))


def is_series(value: object) -> bool:
    """Whether a value is a column: a Series of pandas or polars, or an array of Arrow."""
    return isinstance(value, pa.Array | pa.ChunkedArray) or (_library(value) is not None and _named(value, "Series"))


def dropped_index(frame: Any) -> str | None:
    """What the index of a table of pandas is called that is more than a numbering; None where there is none."""
    if _library(frame) != "pandas":
        return None
    names = [name for name in frame.index.names if name is not None]
    if names:
        return f"the index {', '.join(map(repr, names))}"
    return None if frame.index.nlevels == 1 and frame.index.dtype.kind in "iu" else "the index"


def opened_frame(frame: Any, options: ColumnOptions, *, longest: int = LONGEST) -> SequenceFile:
    """The sequences of a table, by the rules of files."""
    if options.delimiter is not None:
        raise ParameterError("delimiter", expected="a CSV file with it", found="a table in memory")
    return sequences_in(FrameRows(_table(frame)), options, longest=longest)


def open_input(source: Any, options: ColumnOptions) -> SequenceFile:
    """The sequences of a file, or of a table in memory.

    >>> open_input(pa.table({"id": [1], "s": ["a b"]}), ColumnOptions()).names()
    {'sequence': 's', 'id': 'id'}
    """
    return opened_frame(source, options) if is_frame(source) else open_sequences(path_of(source), options)


def frame_digest(frame: Any) -> bytes:
    """The SHA-256 of a table's content. Equal digests are equal tables; equal tables in other buffers may differ."""
    table = _table(frame)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table.take(pa.array(np.arange(len(table)))).combine_chunks())
    return hashlib.sha256(sink.getvalue()).digest()


def without_rows(frame: Any, names: dict[str, str], written: list[str]) -> Any:
    """These columns of a table, and none of its rows: made from their types, which hold no values."""
    types = FrameRows(_table(frame)).types
    return like_frame(frame, pa.schema([(name, types[name]) for name in written]).empty_table(), names)


def like_frame(frame: Any, table: pa.Table, names: dict[str, str]) -> Any:
    """The table as an object of the library that `frame` is of; of an unknown one, an Arrow table.

    Columns have the types that they have in `frame`. Their dictionaries (categories) are made anew from the rows of
    `table`: those of `frame` also have what was filtered out, or the true words.

    Parameters
    ----------
    frame
        What the table was made of.
    table
        Released rows, in plain types.
    names
        The columns by their options, as `SequenceFile.names` has them: those that were made here.
    """
    made = {names[option] for option in ("sequence", "symbol") if option in names}
    typed = [name for name in table.column_names if name != names.get("order")]
    library = _library(frame)
    if library == "pandas":
        pandas = importlib.import_module("pandas")
        dtypes = dict(zip(frame.columns, frame.dtypes, strict=True))
        return pandas.DataFrame(
            {
                name: pandas_column(table[name], dtypes[name] if name in typed else None, passes=name not in made)
                for name in table.column_names
            }
        )
    if library == "polars":
        rows = importlib.import_module("polars").from_arrow(table)
        return rows.with_columns(
            polars_column(rows[name], frame.schema[name], passes=name not in made) for name in typed
        )
    source = pa.table(frame)
    return pa.table(
        {
            name: arrow_column(table[name], source[name], passes=name not in made) if name in typed else table[name]
            for name in table.column_names
        }
    )


def words_of_series(series: Any) -> list[Any]:
    """The cells of a column, text or lists."""
    cells: list[Any] = series.to_pylist() if isinstance(series, pa.Array | pa.ChunkedArray) else series.to_list()
    for row, cell in enumerate(cells, start=1):
        if not isinstance(cell, str | list | tuple | np.ndarray):
            raise ParameterError("words", expected="a word in every row of the column", found=f"none in row {row}")
    return [cell.tolist() if isinstance(cell, np.ndarray) else cell for cell in cells]


def like_series(series: Any, words: list[Any]) -> Any:
    """Words as a column of the library that `series` is of, with its name and its index."""
    library = _library(series)
    if library == "pandas":
        pandas = importlib.import_module("pandas")
        plain = series.dtype == object or not len(words)
        column = words if plain else pandas_column(pa.array(words), series.dtype, passes=False)
        dtype = object if plain else None
        return pandas.Series(column, index=used_index(series.index), name=series.name, dtype=dtype)
    if library == "polars":
        polars = importlib.import_module("polars")
        return polars_column(polars.Series(series.name, words, strict=False), series.dtype, passes=False)
    if pa.types.is_dictionary(series.type):
        return arrow_column(pa.array(words, type=series.type.value_type), series, passes=False)
    return pa.array(words, type=bare_type(series.type))


class FrameRows(RowSource):
    """A table in memory as a source of rows."""

    unit = "row"

    def __init__(self, table: pa.Table) -> None:
        super().__init__(_PLACE)
        self._table = table

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self._table.column_names)

    @property
    def lists(self) -> list[str]:
        """The columns whose cells are lists."""
        return [field.name for field in self._table.schema if is_list(field.type)]

    @property
    def types(self) -> dict[str, pa.DataType]:
        """The types of the columns."""
        return dict(zip(self._table.schema.names, self._table.schema.types, strict=True))

    def batches(self, columns: Sequence[str], symbols: str) -> Generator[pa.RecordBatch]:
        """The rows, in their own types."""
        del symbols
        before = 0
        for batch in self._table.to_batches(max_chunksize=ROWS_AT_ONCE):
            places = pa.array(np.arange(before + 1, before + 1 + len(batch)))
            before += len(batch)
            yield pa.record_batch([places, *(batch.column(name) for name in columns)], names=[PLACE, *columns])

    def writer(self, out: BinaryIO, schema: pa.Schema) -> RowWriter:
        """Nothing is written: rows go back as a table."""
        del out, schema
        raise NotImplementedError("a table in memory is handed back, not written")

    def done(self) -> float:
        """All of it is there."""
        return 1.0


def _table(frame: Any) -> pa.Table:
    """A table of Arrow's in plain types. What cannot become one is refused without a cell, which may be a secret."""
    library = _library(frame)
    if library == "pandas":
        for name in frame.columns:
            if not isinstance(name, str):
                raise FileError(str(_PLACE), expected="columns with names", found=f"a column {name!r}")
    try:
        if library == "pandas":
            table = pa.Table.from_pandas(frame, preserve_index=False)
        else:
            table = frame.to_arrow() if library == "polars" else pa.table(frame)
        table.validate(full=True)
        columns = [plain_column(column) for column in table.columns]
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        _refuse()
    return pa.table(columns, names=table.column_names)


def _refuse() -> NoReturn:
    raise FileError(
        str(_PLACE), expected="columns of one type each, with text or lists as sequences", found="a column of several"
    ) from None


def _library(value: object) -> str | None:
    root = type(value).__module__.partition(".")[0]
    return root if root in ("pandas", "polars") else None


def _named(value: object, name: str) -> bool:
    return any(kind.__name__ == name for kind in type(value).__mro__)
