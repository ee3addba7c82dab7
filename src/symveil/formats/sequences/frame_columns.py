"""Columns of tables in memory: in plain types on their way in, and in their own types, with new dictionaries, back.

A dictionary (the categories of pandas, the values of an Enum of polars) lists values, whether a row has them or not:
persons that were filtered out, or true words. So none passes: each is made anew from the rows that are handed back.
"""

from __future__ import annotations

import importlib
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from symveil.formats.sequences.layout import bare_type, plain_type
from symveil.formats.sequences.records import in_one_piece, is_list


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

    Parameters
    ----------
    column
        Released cells.
    source
        The column that they are released from.
    passes
        Whether the cells are those of `source`, and not made here.

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

    Parameters
    ----------
    column
        Released cells.
    dtype
        The type of the column that they are released from.
    passes
        Whether the cells are those of that column, and not made here: then an order of its categories stays.
    """
    pandas = importlib.import_module("pandas")
    if isinstance(dtype, pandas.CategoricalDtype):
        encoded = (in_one_piece(column) if isinstance(column, pa.ChunkedArray) else column).dictionary_encode()
        found = encoded.dictionary.take(pc.sort_indices(encoded.dictionary))
        ordered = bool(dtype.ordered and passes)
        values = pandas.Index(pandas_column(found, dtype.categories.dtype, passes=passes))
        if ordered:
            places = pa.array(dtype.categories.get_indexer(values))
            found = found.take(pc.sort_indices(places))
            values = dtype.categories[sorted(places.to_pylist())]
        codes = pc.index_in(encoded.dictionary_decode(), value_set=found).fill_null(-1)
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
        found = set(column.drop_nulls().to_list())
        return polars.Enum([value for value in dtype.categories if value in found] if passes else sorted(found))
    if isinstance(dtype, polars.Struct):
        return polars.Struct(
            {each.name: _fresh(column.struct.field(each.name), each.dtype, passes=passes) for each in dtype.fields}
        )
    if isinstance(dtype, polars.List | polars.Array) and isinstance(column.dtype, polars.List | polars.Array):
        inner = _fresh(column.explode(), dtype.inner, passes=passes)
        same = isinstance(column.dtype, polars.Array)  # lists of one length may have others now
        return polars.Array(inner, column.dtype.size) if same else polars.List(inner)
    return dtype
