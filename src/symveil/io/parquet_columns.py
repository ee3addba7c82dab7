"""Parquet files by way of pyarrow: only through `late_readers`, because importing pyarrow takes its time."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
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


def read_columns(path: Path, names: Sequence[str]) -> Generator[tuple[object, ...]]:
    """The cells of some columns, row by row, as Python values."""
    with _opened(path) as file:
        for batch in file.iter_batches(batch_size=_BATCH, columns=list(names)):
            yield from zip(*(_cells(batch.column(name)) for name in names), strict=True)


def _cells(column: pa.Array) -> list[object]:
    if column.type == pa.float32():  # the decimal that it prints as, not that of the double next to it
        column = column.cast(pa.string())
    return list(column.to_pylist())
