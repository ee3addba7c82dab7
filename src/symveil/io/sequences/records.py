"""The form in which sequences pass through symveil: Arrow batches with one record in each row.

place      int64          where the record stands in its file (line, row or trace), counted from 1
id         any type       the record's name, where the file has one
person     string         whose it is, where that was asked for
symbols    list of T      the sequence; T is string, an integer type, or a dictionary of strings
keep.0 …   any type       public columns that pass as they are (lists, one item per event, in long form)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from symveil.errors import FileError, SymveilError

PLACE, ID, PERSON, SYMBOLS = "place", "id", "person", "symbols"
NUMBER = "number"
"""Of each record: how many there are up to it, where it must be named by that."""

Rows = TypeVar("Rows", bound=Sized)

LONGEST = 1_000_000
"""The longest sequence that is believed to be one."""

ROWS_AT_ONCE = 65_536
SYMBOLS_AT_ONCE = 1 << 21


def kept(index: int) -> str:
    """The column of the i-th kept column."""
    return f"keep.{index}"


def made_in_order(
    batches: Iterable[Rows], make: Callable[[Rows], pa.RecordBatch], cut: Callable[[Rows, int, int], Rows]
) -> Iterator[pa.RecordBatch]:
    """What `make` makes of each batch; where it refuses one, what comes before the first wrong row, then the refusal.

    A batch is looked through column by column, so the fault that is met first need not be that of the first row. Which
    one is told must not depend on where batches end: that is decided by the sizes of other, secret sequences.

    Parameters
    ----------
    batches : iterable
        Batches of rows, of any kind that has a length.
    make : callable
        Makes records of a batch, or raises a SymveilError because of one of its rows.
    cut : callable
        Some rows of a batch: from, up to.

    Examples
    --------
    >>> def make(rows):
    ...     if "wrong" in rows:
    ...         raise FileError("a file", expected="no such row", found="one")
    ...     return pa.record_batch({"row": rows})
    >>> made = made_in_order([["a", "b"], ["c", "wrong", "d"]], make, lambda rows, start, stop: rows[start:stop])
    >>> len(next(made)), len(next(made)), next(made, None)
    Traceback (most recent call last):
    symveil.errors.FileError: a file: expected no such row, found one
    """
    for batch in batches:
        try:
            made = make(batch)
        except SymveilError:
            right, wrong = 0, len(batch)  # so many rows are right, so many are not
            while wrong - right > 1:
                middle = (right + wrong) // 2
                try:
                    make(cut(batch, 0, middle))
                except SymveilError:
                    wrong = middle
                else:
                    right = middle
            if right:
                yield make(cut(batch, 0, right))
            make(cut(batch, right, wrong))
            raise
        yield made


def rows_cut(batch: pa.RecordBatch, start: int, stop: int) -> pa.RecordBatch:
    """The rows from `start` up to `stop`."""
    return batch.slice(start, stop - start)


def check_lengths(batch: pa.RecordBatch, *, file: Path, unit: str, longest: int) -> None:
    """Refuse a sequence that is longer than anybody's."""
    lengths = pc.list_value_length(batch.column(SYMBOLS))
    if len(lengths) and (pc.max(lengths).as_py() or 0) > longest:
        place = batch.column(PLACE)[pc.index(pc.greater(lengths, longest), value=True).as_py()].as_py()
        raise too_long(f"{file}: {unit} {place}", longest)


def too_long(where: str, longest: int) -> FileError:
    """The refusal of a sequence that is too long."""
    return FileError(
        where, expected=f"at most {longest} symbols in a sequence", found="more; raise --longest if it is one"
    )


def require_filled(column: Any, places: Any, *, file: Path, unit: str, what: str) -> None:
    """Refuse a column with an empty cell."""
    if column.null_count:
        place = places[pc.index(column.is_null(), value=True).as_py()].as_py()
        raise FileError(f"{file}: {unit} {place}", expected=what, found="none")


def require_named(
    column: Any, places: Any, *, file: Path, unit: str, what: str, plain: Callable[[str], str] = str
) -> None:
    """Refuse a cell that names nobody, also an empty text: all that have one would be one.

    `plain` is what a cell says: in JSON an empty text has quotes around it.
    """
    require_filled(column, places, file=file, unit=unit, what=what)
    require_plain(column, file=file, what=what)
    if is_text(column.type):
        empty = pa.array([text for text in ("", '""') if plain(text) == ""])
        row = pc.index(pc.is_in(as_text(column), value_set=empty), value=True).as_py()
        if row >= 0:
            raise FileError(f"{file}: {unit} {places[row].as_py()}", expected=what, found="an empty one")


def require_plain(column: Any, *, file: Path, what: str) -> None:
    """Refuse cells that cannot be compared by what they print as: lists, records, bytes that are no text."""
    if is_text(column.type) or pa.types.is_integer(column.type):
        return
    try:
        as_text(column)
    except (pa.ArrowException, ValueError, LookupError):  # bytes that are no text, a time zone that does not exist …
        raise FileError(
            str(file), expected=f"{what}, as text or a number", found=f"a column of {column.type}"
        ) from None


def is_list(kind: pa.DataType) -> bool:
    """Whether cells of this type are lists."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def is_text(kind: pa.DataType) -> bool:
    """Whether cells of this type are text."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def as_text(column: Any) -> Any:
    """A column as strings: ids and persons are compared by what they print as."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column if pa.types.is_string(column.type) else column.cast(pa.string())
