"""How outputs are laid out: the one place that decides it, from released rows alone.

Everything that can be seen of an output besides its rows (row groups, pages, dictionaries and statistics of Parquet,
blocks of gzip, the sizes in which a file grows, the number of a cluster's files) is a function of the released rows in
their order. Readers may cut their input as memory demands, and that depends on the secret words: so nothing that
arrives here is written as it was cut. Rows are gathered and cut anew, and so are bytes.

Rows as bytes from which they can be read back: what digests of rows are taken over.

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
import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from symveil.errors import ParameterError
from symveil.formats.limits import LIMITS
from symveil.formats.sequences.records import cuts, in_one_piece


class RowWriter(ABC):
    """Writes batches of rows; the caller closes the file."""

    @abstractmethod
    def write(self, batch: pa.RecordBatch) -> None:
        """Some more rows."""

    @abstractmethod
    def close(self) -> None:
        """The end of the table."""


class RowBlocks(RowWriter):
    """Hands rows on in blocks that depend on the rows alone, however they arrive.

    A block is as many of the next rows as fit: `rows` of them, and `size` bytes where it has more than one row.
    `writer` sees each block in one piece, with dictionaries made from that block, in the types of `schema`.

    >>> class Listed(RowWriter):
    ...     def write(self, batch): print(len(batch), end=" ")
    ...     def close(self): print("end")
    >>> numbers = pa.record_batch({"x": list(range(10))})
    >>> for cut in (1, 7):
    ...     blocks = RowBlocks(Listed(), numbers.schema, rows=4)
    ...     for start in range(0, 10, cut):
    ...         blocks.write(numbers.slice(start, cut))
    ...     blocks.close()
    4 4 2 end
    4 4 2 end
    """

    def __init__(
        self, writer: RowWriter, schema: pa.Schema, *, rows: int | None = None, size: int | None = None
    ) -> None:
        self._writer, self._schema = writer, schema
        self._plain = pa.schema([field.with_type(plain_type(field.type)) for field in schema])
        self._most_rows, self._most_bytes = rows or LIMITS.now.block_rows, size or LIMITS.now.block_bytes
        self._waiting: list[pa.RecordBatch] = []
        self._sizes: list[NDArray[np.int64]] = []
        self._rows = self._bytes = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Some more rows."""
        arrays = [_as(column, field.type) for column, field in zip(batch.columns, self._plain, strict=True)]
        sizes = np.zeros(len(batch), dtype=np.int64)
        for array in arrays:
            sizes += row_sizes(array)
        self._keep(pa.RecordBatch.from_arrays(arrays, schema=self._plain), sizes)
        if self._rows >= self._most_rows or self._bytes > self._most_bytes:
            self._hand_on(everything=False)

    def close(self) -> None:
        """The last block, and the end of the table."""
        self._hand_on(everything=True)
        self._writer.close()

    def _keep(self, batch: pa.RecordBatch, sizes: NDArray[np.int64]) -> None:
        self._waiting.append(batch)
        self._sizes.append(sizes)
        self._rows += len(batch)
        self._bytes += int(sizes.sum())

    def _hand_on(self, *, everything: bool) -> None:
        if not self._rows:
            return
        table, sizes = pa.Table.from_batches(self._waiting, schema=self._plain), np.concatenate(self._sizes)
        done = 0
        for start, stop in cuts(sizes, self._most_bytes, self._most_rows):
            if stop == len(sizes) and stop - start < self._most_rows and not everything:
                break  # whether the next row fits is not known yet
            self._write_block(table.slice(start, stop - start))
            done = stop
        self._waiting, self._sizes, self._rows, self._bytes = [], [], 0, 0
        for batch in table.slice(done).combine_chunks().to_batches():
            self._keep(batch, sizes[done : done + len(batch)])
            done += len(batch)

    def _write_block(self, block: pa.Table) -> None:
        # one piece for each column: the pages of Parquet would show where pieces end
        arrays = [
            _as(in_one_piece(column), field.type) for column, field in zip(block.columns, self._schema, strict=True)
        ]
        self._writer.write(pa.RecordBatch.from_arrays(arrays, schema=self._schema))


class EvenBytes(io.RawIOBase):
    """Hands bytes on to `out`, which it does not close, in pieces of one size; `finish` hands on the rest.

    >>> class Listed(io.RawIOBase):
    ...     def write(self, data): print(bytes(data), end=" ")
    >>> for cut in ([b"abcdefg"], [b"a", b"", b"bcdef", b"g"]):
    ...     even = EvenBytes(Listed(), 3)
    ...     for data in cut:
    ...         _ = even.write(data)
    ...     even.finish()
    b'abc' b'def' b'g' b'abc' b'def' b'g'
    """

    def __init__(self, out: BinaryIO, size: int | None = None) -> None:
        self._out, self._size = out, size or LIMITS.now.written_bytes
        self._held = bytearray()

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: Any) -> int:
        """Some more bytes."""
        rest = memoryview(data).cast("B")
        taken = len(rest)
        while rest:
            fits = self._size - len(self._held)
            self._held += rest[:fits]
            rest = rest[fits:]
            if len(self._held) == self._size:
                self._out.write(bytes(self._held))
                self._held.clear()
        return taken

    def finish(self) -> None:
        """The rest, where there is one."""
        if self._held:
            self._out.write(bytes(self._held))
            self._held.clear()


def files_of(rows: int) -> int:
    """Into how many files a cluster puts an input of so many rows: public, also where some of them are left out.

    >>> files_of(0), files_of(LIMITS.now.file_rows), files_of(10 * LIMITS.now.file_rows + 1)
    (1, 1, 11)
    """
    return max(1, -(-rows // LIMITS.now.file_rows))


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type with the same values and one way to store them: no dictionaries, no views of text, and no metadata.

    >>> plain_type(pa.list_(pa.dictionary(pa.int8(), pa.string())))
    ListType(list<item: string>)
    """
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    return _rebuilt(kind, plain_type)


def bare_type(kind: pa.DataType) -> pa.DataType:
    """The type without the metadata of the fields inside: polars writes all values of an Enum there, used or not.

    >>> field = pa.field("item", pa.int8(), metadata={"values": "a secret"})
    >>> bare_type(pa.list_(field)).value_field.metadata is None
    True
    """
    if kind in _PLAIN_TEXT:
        return kind
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, bare_type(kind.value_type), ordered=kind.ordered)
    return _rebuilt(kind, bare_type)


def _rebuilt(kind: pa.DataType, inside: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """A type with others in the place of those inside it, whose fields lose their metadata."""

    def field(old: pa.Field) -> pa.Field:
        return old.with_type(inside(old.type)).remove_metadata()

    if pa.types.is_struct(kind):
        return pa.struct([field(each) for each in kind])
    if pa.types.is_map(kind):
        return pa.map_(field(kind.key_field), field(kind.item_field), keys_sorted=kind.keys_sorted)
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(field(kind.value_field), kind.list_size)
    make = {pa.types.is_list(kind): pa.list_, pa.types.is_large_list(kind): pa.large_list}.get(True)
    return _PLAIN_TEXT.get(kind, kind) if make is None else make(field(kind.value_field))


def row_sizes(column: Any) -> NDArray[np.int64]:
    """How many bytes each row of a column of a plain type takes: of its values, and not of how they are stored.

    >>> row_sizes(pa.array([["a", "bcd"], None, []])).tolist()
    [16, 4, 4]
    """
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return row_sizes(column.storage)
    if pa.types.is_struct(kind):
        return sum((row_sizes(part) for part in column.flatten()), start=np.ones(len(column), dtype=np.int64))
    if pa.types.is_map(kind):
        pair = pa.struct([kind.key_field, kind.item_field])
        return row_sizes(column.cast(pa.list_(pair)))
    if pa.types.is_nested(kind):
        lengths = _filled(pc.list_value_length(column))
        before = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(row_sizes(column.flatten()))])
        ends = np.cumsum(lengths)
        return np.asarray(before[ends] - before[ends - lengths] + _OFFSET)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or _is_binary(kind):
        return _filled(pc.binary_length(column)) + _OFFSET
    try:
        width = max(1, kind.bit_width // 8)
    except ValueError:  # nothing at all, in a column of nothing
        width = 1
    return np.full(len(column), width, dtype=np.int64)


_OFFSET = 4
_PLAIN_TEXT = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))


def _filled(counts: Any) -> NDArray[np.int64]:
    return np.asarray(counts.fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)


def _as(column: Any, kind: pa.DataType) -> Any:
    return column if column.type == kind else column.cast(kind)


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
    for start in range(0, len(batch), LIMITS.now.digested_rows):
        part = batch.slice(start, LIMITS.now.digested_rows)
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
