"""The sequences of a file as Python tuples, one at a time.

Sequences are secrets: messages give the file and the line or the row, never a symbol, and never
the header either, because a file without one has a sequence in its place.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from symveil.errors import FileError
from symveil.formats.reading import MOST_TIMES
from symveil.formats.sequences.columns import ColumnOptions
from symveil.formats.sequences.record_steps import heard_records
from symveil.formats.sequences.records import LONGEST, SYMBOLS, check_sizes, is_text
from symveil.formats.sequences.sequence_file import SequenceFile
from symveil.formats.sequences.sequence_files import open_sequences


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
    for batch in heard_records(file, "reading"):
        lists = batch.column(SYMBOLS)
        symbols = _texts(lists.flatten(), file.file)
        start = 0
        for end in np.cumsum(pc.list_value_length(lists).to_numpy(zero_copy_only=False)).tolist():
            yield symbols[start:end]
            start = end


def _texts(symbols: pa.Array, file: Path) -> tuple[str, ...]:
    """Symbols as strings: each distinct one is turned into a string once."""
    if pa.types.is_dictionary(symbols.type):
        symbols = symbols.dictionary_decode()
    if not (pa.types.is_integer(symbols.type) or is_text(symbols.type)):
        raise FileError(str(file), expected="lists of strings or of whole numbers", found=f"lists of {symbols.type}")
    if symbols.null_count:
        raise FileError(str(file), expected="a symbol in every place of a list", found="none in some place")
    encoded = symbols.dictionary_encode()
    names = [str(value) for value in encoded.dictionary.to_pylist()]
    return tuple([names[code] for code in encoded.indices.to_numpy().tolist()])
