"""Rows as bytes from which they can be read back: what digests of rows are taken over.

    row     = a value for each column, one after the other
    value   = "-" for nothing, or "+" and
              a scalar: its length in bytes, ":", its bytes
              a list or a map: how many items it has, ":", a value for each (of a map: a key and a value)
              a record: a value for each field

Given the types of the columns nothing else can be read from a row's bytes than the row: no two rows share them. Lists
cannot run into each other, and nothing is not the same as nothing there. Numbers are spelled in decimals, times are
counted from their beginning, floats are their bits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from symveil.errors import ParameterError
from symveil.formats.sequences.layout import plain_type

_ROWS_AT_ONCE = 256
"""A row may have a million symbols, and Arrow's bytes end at two thousand millions."""
_FLOATS = {pa.float16(): np.uint16, pa.float32(): np.uint32, pa.float64(): np.uint64}


def row_digests(batch: pa.RecordBatch) -> list[bytes]:
    """The SHA-256 of each row's encoding.

    >>> one = pa.record_batch({"s": [["a", "b"]], "t": pa.array([None], pa.string())})
    >>> other = pa.record_batch({"s": [["a"]], "t": ["b"]})
    >>> row_digests(one) == row_digests(other)
    False
    """
    return [hashlib.sha256(row).digest() for row in encoded_rows(batch)]


def encoded_rows(batch: pa.RecordBatch) -> Iterator[bytes]:
    """The encoding of each row, of any types but unions and intervals.

    >>> list(encoded_rows(pa.record_batch({"n": [7, None], "s": [["a", "bc"], []]})))
    [b'+1:7+2:+1:a+2:bc', b'-+0:']
    """
    for start in range(0, len(batch), _ROWS_AT_ONCE):
        part = batch.slice(start, _ROWS_AT_ONCE)
        columns = [_values(column) for column in part.columns] or [pa.array([b""] * len(part), type=pa.binary())]
        yield from _joined(*columns).to_pylist()


def _values(column: Any) -> Any:
    """Each cell as a value."""
    kind = plain_type(column.type)
    column = column if column.type == kind else column.cast(kind)
    if isinstance(kind, pa.BaseExtensionType):
        return _values(column.storage)
    if pa.types.is_map(kind):
        return _values(column.cast(pa.list_(pa.struct([kind.key_field, kind.item_field]))))
    if pa.types.is_struct(kind):
        parts = column.flatten()
        body = _joined(*map(_values, parts)) if parts else pa.array([b""] * len(column), type=pa.binary())
    elif pa.types.is_nested(kind):
        body = _lists(column)
    else:
        body = _scalars(column)
    return pc.if_else(column.is_valid(), _joined(pa.scalar(b"+"), body), pa.scalar(b"-"))


def _lists(column: Any) -> Any:
    lengths = pc.list_value_length(column).cast(pa.int32()).fill_null(0)
    offsets = np.concatenate([[0], np.cumsum(lengths.to_numpy())]).astype(np.int32)
    items = pa.ListArray.from_arrays(pa.array(offsets), _values(column.flatten()))
    return _joined(_text(lengths), pa.scalar(b":"), pc.binary_join(items, b""))


def _scalars(column: Any) -> Any:
    """Length, ":", bytes; empty bytes where there is nothing."""
    kind = column.type
    try:
        if kind in _FLOATS:
            bits = np.ascontiguousarray(column.fill_null(0).to_numpy(zero_copy_only=False)).view(_FLOATS[kind])
            column = pa.array(bits.astype(np.uint64))
        elif pa.types.is_temporal(kind):
            column = column.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
        text = _text(column).fill_null(b"")
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        raise ParameterError("column", expected="values that can be written as bytes", found=str(kind)) from None
    return _joined(_text(pc.binary_length(text)), pa.scalar(b":"), text)


def _text(column: Any) -> Any:
    """A column of numbers or text as bytes."""
    kind = column.type
    if pa.types.is_null(kind):
        return pa.nulls(len(column), type=pa.binary())
    is_bytes = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
    return (column if is_bytes else column.cast(pa.string())).cast(pa.binary())


def _joined(*parts: Any) -> Any:
    return pc.binary_join_element_wise(*parts, pa.scalar(b""))
