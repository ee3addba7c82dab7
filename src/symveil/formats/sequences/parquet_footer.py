"""How many values each row group of a Parquet file holds, read from its footer.

pyarrow tells the same, but a damaged footer makes that call end the process (a C++ exception that nobody
catches), while reading the columns themselves refuses it properly. So the few numbers that are needed
before anything is read come from here. The footer is a `FileMetaData` of parquet.thrift in Thrift's compact protocol:
fields are known by their number, and those that are not wanted are read over.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

_TAIL = 8  # the length of the footer, and "PAR1"
_DEEPEST = 20
_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 11, 12
_WHOLE = (4, 5, 6)

# parquet.thrift: FileMetaData.row_groups, RowGroup.columns and .num_rows, ColumnChunk.meta_data, ColumnMetaData.type,
# .path_in_schema, .num_values, .total_uncompressed_size and .dictionary_page_offset
_ROW_GROUPS, _COLUMNS, _ROWS, _META_DATA = 4, 1, 3, 3
_TYPE, _PATH, _VALUES, _BYTES, _DICTIONARY = 1, 3, 5, 6, 11
_BYTE_ARRAY = 6  # parquet.thrift: Type


@dataclass(frozen=True, slots=True)
class ColumnSize:
    """A column in a row group; `packed_texts` where a text may be stored once and stand in many rows."""

    group: int
    path: str
    rows: int
    values: int
    bytes: int
    packed_texts: bool

    @property
    def column(self) -> str:
        """The name of the column; the path goes on into lists and structures."""
        return self.path.split(".")[0]


def column_sizes(file: BinaryIO) -> Iterator[ColumnSize]:
    """The sizes of all columns in all row groups; raises ValueError where the footer is damaged.

    >>> import io
    >>> import pyarrow as pa
    >>> import pyarrow.parquet as pq
    >>> sink = io.BytesIO()
    >>> pq.write_table(pa.table({"id": [1, 2], "s": [["a", "b"], ["c"]]}), sink)
    >>> [(each.column, each.rows, each.values) for each in column_sizes(sink)]
    [('id', 2, 2), ('s', 2, 3)]
    """
    file.seek(0, 2)
    end = file.tell()
    file.seek(max(end - _TAIL, 0))
    tail = file.read(_TAIL)
    if len(tail) < _TAIL or int.from_bytes(tail[:4], "little") > end - _TAIL:
        raise ValueError("no footer")
    size = int.from_bytes(tail[:4], "little")
    file.seek(end - _TAIL - size)
    try:
        footer = _Compact(file.read(size)).structure(0)
        for number, group in enumerate(footer.get(_ROW_GROUPS, ()), start=1):
            for chunk in group.get(_COLUMNS, ()):
                chunk_data = chunk[_META_DATA]
                yield ColumnSize(
                    group=number,
                    path=b".".join(chunk_data[_PATH]).decode(),
                    rows=int(group[_ROWS]),
                    values=int(chunk_data[_VALUES]),
                    bytes=int(chunk_data[_BYTES]),
                    packed_texts=chunk_data[_TYPE] == _BYTE_ARRAY and _DICTIONARY in chunk_data,
                )
    except (LookupError, TypeError, AttributeError, struct.error):
        raise ValueError("a damaged footer") from None


class _Compact:
    """Thrift's compact protocol: structures as dictionaries from field numbers to values."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def structure(self, depth: int) -> dict[int, Any]:
        if depth > _DEEPEST:
            raise ValueError("nested too deeply")
        fields: dict[int, Any] = {}
        field = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            field = field + step if step else self._whole()
            fields[field] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:  # noqa: PLR0911 - a line for each type
        if kind in _WHOLE:
            return self._whole()
        if kind == _STRUCT:
            return self.structure(depth + 1)
        if kind == _BINARY:
            return self._bytes(self._unsigned())
        if kind in (_LIST, _SET):
            head = self._byte()
            size = head >> 4 if head >> 4 != 15 else self._unsigned()
            return [self._element(head & 15, depth + 1) for _ in range(self._bounded(size))]
        if kind == _MAP:
            size = self._bounded(self._unsigned())
            kinds = self._byte() if size else 0
            return [(self._element(kinds >> 4, depth + 1), self._element(kinds & 15, depth + 1)) for _ in range(size)]
        if kind in (_BYTE, _TRUE, _FALSE):
            return self._byte()
        if kind == _DOUBLE:
            return struct.unpack("<d", self._bytes(8))[0]
        raise ValueError("an unknown type")

    def _element(self, kind: int, depth: int) -> Any:
        """As a value, but a truth value in a collection is a byte of its own."""
        if depth > _DEEPEST:
            raise ValueError("nested too deeply")
        return self._value(kind, depth)

    def _bounded(self, size: int) -> int:
        if size > len(self._content) - self._at:  # every element takes a byte at least
            raise ValueError("more elements than bytes")
        return size

    def _whole(self) -> int:
        number = self._unsigned()
        return (number >> 1) ^ -(number & 1)

    def _unsigned(self) -> int:
        number = shift = 0
        while True:
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7
            if shift > 63:
                raise ValueError("a number of more than 64 bits")

    def _byte(self) -> int:
        self._at += 1
        return self._content[self._at - 1]

    def _bytes(self, size: int) -> bytes:
        self._at += self._bounded(size)
        return self._content[self._at - size : self._at]
