"""Tables in memory: pandas, polars and Arrow tables come in as rows of a file do, and go out as what they were.

Neither pandas nor polars is needed: a table is known by Arrow's own interchange, and its library is there if it is.

Columns of tables in memory: in plain types on their way in, and in their own types, with new dictionaries, back.

A dictionary (the categories of pandas, the values of an Enum of polars) lists values, whether a row has them or not:
persons that were filtered out, or true words. So none passes: each is made anew from the rows that are handed back.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Generator, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from symveil.errors import FileError, ParameterError
from symveil.formats.limits import LIMITS
from symveil.formats.reading import LONGEST, path_of
from symveil.formats.sequences.columns import ColumnOptions
from symveil.formats.sequences.layout import RowWriter, bare_type, plain_type
from symveil.formats.sequences.records import ROW_NUMBER, in_one_piece, is_list
from symveil.formats.sequences.sequence_file import RowSource, SequenceFile
from symveil.formats.sequences.sequence_files import open_sequences, sequences_in


def plain_column(column: Any) -> Any:
    """A column without dictionaries, views of text and metadata.

    >>> plain_column(pa.chunked_array([pa.array(["x", "y"]).dictionary_encode()])).type
    DataType(string)
    """
    kind = plain_type(column.type)
    if pa.types.is_null(kind):  # a column of pandas without a cell
        kind = pa.string()
    if column.type == kind:
        return column
    pieces = [_without_views(piece) for piece in column.chunks]
    return pa.chunked_array([piece.cast(plain_type(piece.type)).cast(kind) for piece in pieces], type=kind)


def _without_views(column: Any) -> Any:
    """A dictionary of views as one of text: Arrow cannot take rows of views."""
    kind = column.type
    if pa.types.is_dictionary(kind) and pa.types.is_string_view(kind.value_type):
        return pa.DictionaryArray.from_arrays(column.indices, column.dictionary.cast(pa.large_string()))
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)) or not pa.types.is_dictionary(kind.value_type):
        return column
    lengths = pc.list_value_length(column).fill_null(0).cast(pa.int64())
    ends = pa.concat_arrays([pa.array([0], pa.int64()), pc.cumulative_sum(lengths)])
    holes = column.is_null() if column.null_count else None
    return pa.LargeListArray.from_arrays(ends, _without_views(column.flatten()), mask=holes)


def arrow_column(column: Any, source: Any, *, passes: bool) -> Any:
    """A plain column in the type of `source`; the order of a dictionary that has one stays where the column passes.

    The cells are released from `source`; where a column `passes`, they are those of `source` and not made here.

    >>> grades = pa.DictionaryArray.from_arrays([1, 0], ["low", "high", "secret"], ordered=True)
    >>> arrow_column(pa.array(["high", "low"]), grades, passes=True).dictionary.to_pylist()
    ['low', 'high']
    """
    kind = bare_type(source.type)
    if column.type == kind:
        return column
    whole = in_one_piece(column) if isinstance(column, pa.ChunkedArray) else column
    try:
        if not pa.types.is_dictionary(kind):
            return whole.cast(kind)
        if not (kind.ordered and passes):
            return whole.cast(pa.dictionary(kind.index_type, kind.value_type))
        values = plain_column(pa.chunked_array([_in_order(source)]))
        values = in_one_piece(values.filter(pc.is_in(values, value_set=pc.unique(whole))))
        codes = pc.index_in(whole, value_set=values).cast(kind.index_type)
        return pa.DictionaryArray.from_arrays(codes, values, ordered=True)
    except pa.ArrowException:  # more values than its codes count, or lists of one length that have others now
        return whole.dictionary_encode() if pa.types.is_dictionary(kind) else whole


def _in_order(source: Any) -> Any:
    """The values of a dictionary in their order, each once."""
    if not isinstance(source, pa.ChunkedArray):
        return source.dictionary
    return source.unify_dictionaries().chunk(0).dictionary


def pandas_column(column: Any, dtype: Any, *, passes: bool) -> Any:
    """A plain column as what pandas makes a column of, exactly; `dtype` is its own, None: any.

    Where a column `passes`, the cells are those of the file: then an order of its categories stays.
    """
    pandas = importlib.import_module("pandas")
    if isinstance(dtype, pandas.CategoricalDtype):
        encoded = (in_one_piece(column) if isinstance(column, pa.ChunkedArray) else column).dictionary_encode()
        result = encoded.dictionary.take(pc.sort_indices(encoded.dictionary))
        ordered = bool(dtype.ordered and passes)
        values = pandas.Index(pandas_column(result, dtype.categories.dtype, passes=passes))
        if ordered:
            rows = pa.array(dtype.categories.get_indexer(values))
            result = result.take(pc.sort_indices(rows))
            values = dtype.categories[sorted(rows.to_pylist())]
        codes = pc.index_in(encoded.dictionary_decode(), value_set=result).fill_null(-1)
        return pandas.Categorical.from_codes(codes.to_numpy(), categories=values, ordered=ordered)
    if isinstance(dtype, pandas.ArrowDtype):
        typed = arrow_column(column, pa.array([], type=dtype.pyarrow_dtype), passes=False)
        return pandas.arrays.ArrowExtensionArray(typed)
    if hasattr(dtype, "__from_arrow__"):
        return dtype.__from_arrow__(column)
    if (dtype is not None and dtype.kind == "O") or is_list(
        column.type
    ):  # as they came: lists are no arrays, whole numbers no floats
        return pandas.Series(column.to_pylist(), dtype=object)
    made = column.to_pandas()
    return made if dtype is None or made.dtype == dtype else made.astype(dtype)


def used_index(index: Any) -> Any:
    """An index of pandas with the values that it has, and no others."""
    pandas = importlib.import_module("pandas")
    if isinstance(index, pandas.CategoricalIndex):
        return index.remove_unused_categories()
    if isinstance(index, pandas.MultiIndex):
        levels = [used_index(index.get_level_values(level)) for level in range(index.nlevels)]
        return pandas.MultiIndex.from_arrays(levels, names=index.names)
    return index


def polars_column(column: Any, dtype: Any, *, passes: bool) -> Any:
    """A plain column in a type of polars; an Enum has the values that occur, in its order where the column passes."""
    fresh = _fresh(column, dtype, passes=passes)
    return column if column.dtype == fresh else column.cast(fresh)


def _fresh(column: Any, dtype: Any, *, passes: bool) -> Any:
    polars = importlib.import_module("polars")
    if isinstance(dtype, polars.Enum):
        results = set(column.drop_nulls().to_list())
        return polars.Enum([value for value in dtype.categories if value in results] if passes else sorted(results))
    if isinstance(dtype, polars.Struct):
        return polars.Struct(
            {each.name: _fresh(column.struct.field(each.name), each.dtype, passes=passes) for each in dtype.fields}
        )
    if isinstance(dtype, polars.List | polars.Array) and isinstance(column.dtype, polars.List | polars.Array):
        inner = _fresh(column.explode(), dtype.inner, passes=passes)
        same = isinstance(column.dtype, polars.Array)  # lists of one length may have others now
        return polars.Array(inner, column.dtype.size) if same else polars.List(inner)
    return dtype


_TABLE_PATH = Path("table")
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

    `table` has released rows in plain types; `names` are the columns that were made here, by their options.
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
        super().__init__(_TABLE_PATH)
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
        for batch in self._table.to_batches(max_chunksize=LIMITS.now.batch_rows):
            rows = pa.array(np.arange(before + 1, before + 1 + len(batch)))
            before += len(batch)
            yield pa.record_batch([rows, *(batch.column(name) for name in columns)], names=[ROW_NUMBER, *columns])

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
                raise FileError(str(_TABLE_PATH), expected="columns with names", found=f"a column {name!r}")
        if any(_mixes_times(column) for _, column in frame.items() if column.dtype.kind == "O"):
            _refuse()
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


def _mixes_times(column: Any) -> bool:
    """Whether objects are dates, times with an offset and times without one: Arrow reads all as it reads the first.

    So the row of one person would change how the times of others are read.
    """
    cells: list[Any] = column.tolist()
    kinds = set(map(type, cells))
    if any(issubclass(kind, list | tuple | np.ndarray) for kind in kinds):
        cells = [each for cell in cells if isinstance(cell, list | tuple | np.ndarray) for each in cell]
        kinds = set(map(type, cells))
    if not any(issubclass(kind, date | np.datetime64) for kind in kinds):
        return False
    times = [cell for cell in cells if isinstance(cell, date | np.datetime64) and cell == cell]  # noqa: PLR0124 - NaT is not itself
    ways = {isinstance(each, datetime | np.datetime64) + (getattr(each, "tzinfo", None) is not None) for each in times}
    return len(ways) > 1


def _refuse() -> NoReturn:
    raise FileError(
        str(_TABLE_PATH),
        expected="columns of one type each, with text or lists as sequences",
        found="a column of several",
    ) from None


def _library(value: object) -> str | None:
    root = type(value).__module__.partition(".")[0]
    return root if root in ("pandas", "polars") else None


def _named(value: object, name: str) -> bool:
    return any(kind.__name__ == name for kind in type(value).__mro__)
