"""Sequences in wide form: one in each row, as a list or as text that is split at a separator.

Sequences are secrets: messages give the file and the line or the row, never a symbol, and never
the header either, because a file without one has a sequence in its place.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path

from symveil.errors import FileError, ParameterError
from symveil.io.json_text import Numeral
from symveil.io.late_readers import parquet_reader
from symveil.io.reading import LONGEST_SEQUENCE_CELL, csv_rows, read_lines, suffix, wrong_suffix
from symveil.io.sequences.json_records import json_record

_WHAT = "file of sequences"
_CSV = (".csv", ".tsv")
_JSON_LINES = (".jsonl", ".ndjson")
_PARQUET = ".parquet"


def read_sequences(
    path: str | Path, *, sequence: str | None = None, separator: str | None = None, identifier: str | None = None
) -> Generator[tuple[str, ...]]:
    """The sequences of a CSV, JSON Lines or Parquet file, one at a time; each format also gzipped.

    `sequence` names their column; left out, it is the only list column, or the only column that is
    not the record's `identifier` (without which a column called `id` or `…_id` is taken for it).
    Text is split at `separator`: runs of blanks if none is given.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "trips.csv")
    ...     _ = file.write_text("trip_id,links\\n1,a b a\\n2,b\\n")
    ...     list(read_sequences(file))
    [('a', 'b', 'a'), ('b',)]
    """
    if separator == "":
        raise ParameterError("separator", expected="at least one character", found="none")
    file = Path(path)
    chosen = _Choice(file, sequence, identifier)
    kind = suffix(file)
    if kind in _CSV:
        return _from_csv(file, chosen, separator)
    if kind in _JSON_LINES:
        return _from_json_lines(file, chosen, separator)
    if kind == _PARQUET:
        return _from_parquet(file, chosen, separator)
    raise wrong_suffix(file, (*_CSV, *_JSON_LINES, _PARQUET))


class _Choice:
    """Which column holds the sequences."""

    def __init__(self, file: Path, sequence: str | None, identifier: str | None) -> None:
        self.file, self.sequence, self.identifier = file, sequence, identifier

    def column(self, names: Sequence[str], lists: Sequence[str] = ()) -> str:
        """The name of the column, of `names`; `lists` are those that hold lists."""
        for option, wanted in (("--id", self.identifier), ("--sequence", self.sequence)):
            if wanted is not None and names.count(wanted) != 1:
                raise FileError(
                    str(self.file),
                    expected=f"one column {wanted!r} ({option})",
                    found=f"{names.count(wanted) or 'none'} in {len(names)} columns",
                )
        if self.sequence is not None:
            return self.sequence
        if len(lists) == 1:
            return lists[0]
        others = [name for name in lists or names if name != self.identifier]
        if self.identifier is None and len(others) > 1:
            others = [name for name in others if not _is_like_id(name)]
        if len(others) != 1:
            raise FileError(
                str(self.file),
                expected="one column of sequences besides the id",
                found=f"{len(others)}; name it with --sequence",
            )
        return others[0]


def _is_like_id(name: str) -> bool:
    return name.strip().lower() == "id" or name.strip().lower().endswith("_id")


def _from_csv(file: Path, chosen: _Choice, separator: str | None) -> Generator[tuple[str, ...]]:
    with closing(csv_rows(file, what=_WHAT, longest_cell=LONGEST_SEQUENCE_CELL)) as rows:
        header = next(rows)[1]
        index = header.index(chosen.column(header))
        for line, row in rows:
            yield _split(row[index], separator, place=f"{file}: line {line}")


def _from_json_lines(file: Path, chosen: _Choice, separator: str | None) -> Generator[tuple[str, ...]]:
    column = None
    with closing(read_lines(file, what=_WHAT)) as lines:
        for line, text in enumerate(lines, start=1):
            if not text.strip():
                continue
            place = f"{file}: line {line}"
            record = json_record(text, place)
            if column is None:
                column = chosen.column(list(record), [key for key, value in record.items() if isinstance(value, list)])
            value = record.get(column)
            if isinstance(value, str):
                yield _split(value, separator, place=place)
            elif isinstance(value, list):
                yield tuple(_symbol(item, position, place) for position, item in enumerate(value, start=1))
            else:
                raise FileError(place, expected="a list of symbols or a string", found="neither")


def _from_parquet(file: Path, chosen: _Choice, separator: str | None) -> Generator[tuple[str, ...]]:
    reader = parquet_reader(file)
    lists = reader.list_columns(file)
    column = chosen.column(reader.column_names(file), lists)
    if column in lists:
        yield from reader.read_lists(file, column)
        return
    with closing(reader.read_columns(file, [column])) as cells:
        for number, (cell,) in enumerate(cells, start=1):
            place = f"{file}: row {number}"
            if not isinstance(cell, str):
                raise FileError(place, expected="a list of symbols or a string", found="neither")
            yield _split(cell, separator, place=place)


def _split(text: str, separator: str | None, *, place: str) -> tuple[str, ...]:
    if separator is None:
        return tuple(symbol for symbol in text.split(" ") if symbol)
    symbols = tuple(text.split(separator)) if text else ()
    if "" in symbols:
        raise FileError(place, expected="symbols between the separators", found=f"none, symbol {symbols.index('') + 1}")
    return symbols


def _symbol(item: object, position: int, place: str) -> str:
    if isinstance(item, Numeral) and item.text.lstrip("-").isdigit():
        return item.text
    if not isinstance(item, str):
        raise FileError(place, expected="strings or whole numbers as symbols", found=f"another, symbol {position}")
    return item
