"""Parquet files by way of pyarrow: only through `late_readers`, because importing pyarrow takes its time."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from symveil.drawing.opening import open_regular
from symveil.errors import FileError, SymveilError, reason
from symveil.io.reading import read_bytes

_LARGEST_PACKED = 1024 * 1024 * 1024
_BATCH = 65_536


@contextmanager
def _opened(path: Path) -> Iterator[pq.ParquetFile]:
    """A Parquet file, whatever goes wrong with it as a FileError; a gzipped one is unpacked in memory."""
    packed = path.name.lower().endswith(".gz")
    try:
        open_regular(path).close()  # Arrow would wait for a pipe
        source = pa.BufferReader(read_bytes(path, what="Parquet file", at_most=_LARGEST_PACKED)) if packed else path
        with pq.ParquetFile(source) as file:
            yield file
    except SymveilError:
        raise
    except Exception as error:  # a damaged file makes pyarrow raise almost anything; the file is to blame
        found = reason(error, otherwise="a file that Parquet cannot read")
        raise FileError(str(path), expected="a Parquet file", found=found) from None


def column_names(path: Path) -> list[str]:
    """The names of the columns."""
    with _opened(path) as file:
        return list(file.schema_arrow.names)


def list_columns(path: Path) -> list[str]:
    """The names of the columns whose cells are lists."""
    with _opened(path) as file:
        return [field.name for field in file.schema_arrow if _is_list(field.type)]


def read_columns(path: Path, names: Sequence[str]) -> Generator[tuple[object, ...]]:
    """The cells of some columns, row by row, as Python values."""
    with _opened(path) as file:
        for batch in file.iter_batches(batch_size=_BATCH, columns=list(names)):
            yield from zip(*(_cells(batch.column(name)) for name in names), strict=True)


def _cells(column: pa.Array) -> list[object]:
    if column.type == pa.float32():  # the decimal that it prints as, not that of the double next to it
        column = column.cast(pa.string())
    return list(column.to_pylist())


def read_lists(path: Path, name: str) -> Generator[tuple[str, ...]]:
    """The lists of a column, one for each row, their items as strings. Messages show no item."""
    done = 0
    with _opened(path) as file:
        for batch in file.iter_batches(batch_size=_BATCH, columns=[name]):
            column = batch.column(name)
            if column.null_count:
                row = done + 1 + pc.index(column.is_null(), value=True).as_py()
                raise FileError(f"{path}: row {row}", expected="a list of symbols", found="none")
            ends = pc.cumulative_sum(pc.list_value_length(column).cast(pa.int64())).to_pylist()
            symbols = _symbols(column.flatten(), path)
            start = 0
            for end in ends:
                yield symbols[start:end]
                start = end
            done += len(column)


def _symbols(items: pa.Array, path: Path) -> tuple[str, ...]:
    """Symbols as strings: each distinct one is turned into a string once."""
    if pa.types.is_dictionary(items.type):
        items = items.dictionary_decode()
    kind = items.type
    if not (pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise FileError(str(path), expected="lists of strings or of whole numbers", found=f"lists of {kind}")
    if items.null_count:
        raise FileError(str(path), expected="a symbol in every place of a list", found="none in some place")
    encoded = items.dictionary_encode()
    names = [str(value) for value in encoded.dictionary.to_pylist()]
    return tuple(names[code] for code in encoded.indices.to_numpy().tolist())


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))
