"""Parquet files as batches of their own types.

How many values each row group of a Parquet file holds, read from its footer.

pyarrow tells the same, but a damaged footer makes that call end the process (an uncaught C++
exception), while reading the columns themselves refuses it properly. So the few numbers that are needed
before anything is read come from here. The footer is a `FileMetaData` of parquet.thrift in Thrift's compact protocol:
fields are known by their number, and those that are not wanted are read over.
"""

from __future__ import annotations

import shutil
import struct
import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from symveil.errors import FileError, SymveilError, reason
from symveil.formats.limits import LIMITS
from symveil.formats.reading import LONGEST, MOST_TIMES, open_bytes
from symveil.formats.sequences.layout import RowWriter
from symveil.formats.sequences.records import ROW_NUMBER, is_list, too_long
from symveil.formats.sequences.sequence_file import WHAT, RowSource
from symveil.numbers.once import computed_once
from symveil.storage.files import open_regular

_TAIL = 8  # the length of the footer, and "PAR1"
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
        if depth > LIMITS.now.parquet_nesting:
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
        if depth > LIMITS.now.parquet_nesting:
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


class ParquetRows(RowSource):
    """A Parquet file; a gzipped one is unpacked to a file without a name first."""

    unit = "row"
    has_dates = True

    def __init__(self, file: Path, *, most_times: int = MOST_TIMES, longest: int = LONGEST) -> None:
        super().__init__(file, most_times=most_times)
        self._longest = longest
        self._rows_done, self._rows_all = 0, 0

    @computed_once
    def _schema(self) -> pa.Schema:
        with self._file() as (file, _):
            return file.schema_arrow

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self._schema.names)

    @property
    def lists(self) -> list[str]:
        """The columns whose cells are lists."""
        return [field.name for field in self._schema if is_list(field.type)]

    @property
    def types(self) -> dict[str, pa.DataType]:
        """The types of the columns."""
        return dict(zip(self._schema.names, self._schema.types, strict=True))

    def batches(self, columns: Sequence[str], symbols: str) -> Generator[pa.RecordBatch]:
        """The rows, in their own types."""
        with self._file() as (file, raw):
            self._rows_done, self._rows_all = 0, file.metadata.num_rows
            wanted = list(dict.fromkeys(columns))
            size = self._rows_at_once(raw, wanted, symbols)
            for groups in self._row_groups(file):
                for batch in file.iter_batches(batch_size=size, row_groups=groups, columns=wanted):
                    rows = np.arange(self._rows_done + 1, self._rows_done + 1 + len(batch))
                    self._rows_done += len(batch)
                    # Arrow believes the file: bytes that are no text would stop anyone who looks at them later
                    batch.validate(full=True)
                    arrays = [pa.array(rows), *(_without_views(batch.column(name)) for name in columns)]
                    yield pa.record_batch(arrays, names=[ROW_NUMBER, *columns])

    def _row_groups(self, file: pq.ParquetFile) -> list[list[int]]:
        """Which row groups are read together: all, except where lists hold dictionaries, which Arrow cannot join."""
        numbers = list(range(file.metadata.num_row_groups))
        nested = any(is_list(field.type) and pa.types.is_dictionary(field.type.value_type) for field in self._schema)
        return [[number] for number in numbers] if nested else [numbers]

    def writer(self, out: BinaryIO, schema: pa.Schema) -> RowWriter:
        """A Parquet writer."""
        return _ParquetWriter(out, schema)

    def done(self) -> float:
        """How many of the rows have been read, from 0 to 1."""
        return self._rows_done / self._rows_all if self._rows_all else 0.0

    def _rows_at_once(self, raw: BinaryIO, wanted: list[str], symbols: str) -> int:
        """How many rows make a batch of bounded size; refuses a file that promises absurd lengths."""
        fullest, widest = 1.0, 1.0
        for chunk in column_sizes(raw):
            items = max(1.0, chunk.values / max(chunk.rows, 1))
            if chunk.column in wanted:
                widest = max(widest, items * self._widest_text(raw, chunk, items))
            if chunk.column != symbols:
                continue
            if chunk.values > min(chunk.rows * max(self._longest, 1), LIMITS.now.parquet_values):
                raise too_long(f"{self.file}: row group {chunk.group}", self._longest)
            fullest = max(fullest, items)
        most = LIMITS.now
        return max(1, min(most.batch_rows, int(most.batch_symbols / fullest), int(most.parquet_bytes / widest)))

    def _widest_text(self, raw: BinaryIO, chunk: ColumnSize, items: float) -> int:
        """The length of the longest text in a column's dictionary, where it could matter.

        One text in a dictionary may stand in every row: a few bytes of file would become thousands of millions.
        """
        if not chunk.packed_texts:
            return 1
        if chunk.bytes * items * LIMITS.now.batch_rows <= LIMITS.now.parquet_bytes:
            return chunk.bytes
        with pq.ParquetFile(_shared(raw), read_dictionary=[chunk.path]) as file:
            for batch in file.iter_batches(batch_size=1, row_groups=[chunk.group - 1], columns=[chunk.path]):
                column = batch.column(0)
                values = column.flatten() if is_list(column.type) else column
                if not pa.types.is_dictionary(values.type):
                    return chunk.bytes
                return max(1, pc.max(pc.binary_length(values.dictionary)).as_py() or 1)
        return 1

    @contextmanager
    def _file(self) -> Iterator[tuple[pq.ParquetFile, BinaryIO]]:
        """The file and its bytes, whatever goes wrong with it as a FileError."""
        try:
            if self.file.name.lower().endswith(".gz"):
                # a file without a name: nobody else can open it, and it goes with the process
                with (
                    tempfile.TemporaryFile() as plain,
                    open_bytes(self.file, what=WHAT, most_times=self._most_times) as packed,
                ):
                    shutil.copyfileobj(packed, plain, 1 << 20)
                    with pq.ParquetFile(_shared(plain)) as file:
                        yield file, cast("BinaryIO", plain)
            else:
                with open_regular(self.file) as raw, pq.ParquetFile(self.file) as file:
                    yield file, raw
        except (SymveilError, GeneratorExit):
            raise
        except (MemoryError, KeyboardInterrupt):
            raise
        except Exception as error:  # a damaged file makes pyarrow raise almost anything; the file is to blame
            actual = reason(error, otherwise="a file that Parquet cannot read")
            raise FileError(str(self.file), expected="a Parquet file", found=actual) from None


def _shared(raw: Any) -> pa.PythonFile:
    """The same open file for Arrow: it may have no name that could be opened again."""
    raw.seek(0)
    return pa.PythonFile(raw, mode="r")


def _without_views(column: Any) -> Any:
    """Views of text as text: Arrow cannot take rows of them."""
    kind = column.type
    if pa.types.is_string_view(kind):
        return column.cast(pa.string())
    return column


def python_cells(column: pa.Array) -> list[object]:
    """Cells as Python values, a short float as the decimal that it prints as: not that of the double next to it."""
    return list((column.cast(pa.string()) if column.type == pa.float32() else column).to_pylist())


class _ParquetWriter(RowWriter):
    def __init__(self, out: BinaryIO, schema: pa.Schema) -> None:
        self._writer = pq.ParquetWriter(pa.PythonFile(out, mode="w"), schema)

    def write(self, batch: pa.RecordBatch) -> None:
        """Some more rows, as a row group of their own."""
        if len(batch):
            self._writer.write_batch(batch)

    def close(self) -> None:
        """The footer."""
        self._writer.close()
