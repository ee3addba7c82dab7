"""The form in which sequences pass through symveil: Arrow batches with one record in each row.

place      int64          where the record stands in its file (line, row or trace), counted from 1
id         any type       the record's name, where the file has one
person     any type       whose it is, where that was asked for
symbols    list of T      the sequence; T is string, an integer type, or a dictionary of strings
keep.0 …   any type       public columns that pass as they are (lists, one item per event, in long form)
time       any type       the column of times, where that was asked for (lists, one item per event, in long form)
beside.0 … any type       other columns that were asked for, in the same form

Persons are compared by names: the one spelling of each (`models.names`), and nothing where a cell is no name.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence, Sized
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from symveil.errors import FileError, ParameterError, SymveilError, WordError
from symveil.formats.sequences.columns import LongColumns, WideColumns
from symveil.models.names import EXACT_WHOLE, decimal_name, person_name

ROW_NUMBER, ID, PERSON, SYMBOLS, TIME = "place", "id", "person", "symbols", "time"
HOURS = "hours"
"""Of released records: the private hours of their events, lists of whole numbers."""
HOUR_COLUMN = "hour"
"""What private hours are called in a table."""
NUMBER = "number"
"""Of each record: how many there are up to it, where it must be named by that."""

Rows = TypeVar("Rows", bound=Sized)
Item = TypeVar("Item")


Row = tuple[int, Sequence[Any]]
"""The number of a row's first line, and its cells."""

_MAY_CHANGE = r"[^\x00-\x7f]|[.+]|^-0$"
"""What a name must have for its spelling to be another one."""
_DAY = len("2026-01-31")


def keep_column(index: int) -> str:
    """The column of the i-th kept column."""
    return f"keep.{index}"


def beside_column(index: int) -> str:
    """The column of the i-th column that is read beside the symbols."""
    return f"beside.{index}"


def columns_beside(columns: WideColumns | LongColumns) -> dict[str, str]:
    """What a record has beside its id, its person and its symbols, with the columns of the file that it comes from.

    >>> from symveil.formats.sequences.columns import WideColumns
    >>> columns_beside(WideColumns(sequence="s", identifier=None, person=None, keep=("town",), time="at"))
    {'keep.0': 'town', 'time': 'at'}
    """
    passing = {keep_column(index): name for index, name in enumerate(columns.keep)}
    beside = {beside_column(index): name for index, name in enumerate(columns.attributes)}
    return {**passing, **beside, **({} if columns.time is None else {TIME: columns.time})}


def gathered(items: Generator[tuple[Item, int]], *, most: int, size: int) -> Generator[list[Item]]:
    """Items, each with its size, in lists of at most `most` and about `size`.

    Those before an item that is refused come before the refusal: something may be wrong with them too.
    """
    waiting: list[Item] = []
    total = 0
    refused: SymveilError | None = None
    with closing(items):
        try:
            for item, own in items:
                waiting.append(item)
                total += own
                if len(waiting) >= most or total >= size:
                    yield waiting
                    waiting, total = [], 0
        except SymveilError as error:
            refused = error
    if waiting:
        yield waiting
    if refused is not None:
        raise refused


def cuts(sizes: NDArray[np.int64], size: int, most: int | None = None) -> Iterator[tuple[int, int]]:
    """Slices of rows, as (start, stop), whose sizes add up to at most `size` or that are one row; `most` rows each.

    >>> list(cuts(np.array([2, 2, 9, 1, 1, 1]), 4)), list(cuts(np.array([1, 1, 1]), 9, 2))
    ([(0, 2), (2, 3), (3, 6)], [(0, 2), (2, 3)])
    """
    ends = np.cumsum(sizes)
    start = 0
    while start < len(ends):
        before = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + size, side="right")))
        stop = stop if most is None else min(stop, start + most)
        yield start, stop
        start = stop


def in_one_piece(column: Any) -> Any:
    """A column of a table as one array."""
    joined = column.combine_chunks()
    return joined.chunk(0) if isinstance(joined, pa.ChunkedArray) and joined.num_chunks == 1 else joined


def made_in_order(
    batches: Iterable[Rows], make: Callable[[Rows], pa.RecordBatch], cut: Callable[[Rows, int, int], Rows]
) -> Iterator[pa.RecordBatch]:
    """What `make` makes of each batch; where it refuses one, what comes before the first wrong row, then the refusal.

    A batch is looked through column by column, so the fault that is met first need not be that of the first row. Which
    one is reported must not depend on where batches end: that is decided by the sizes of other, secret sequences.

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
        row = batch.column(ROW_NUMBER)[pc.index(pc.greater(lengths, longest), value=True).as_py()].as_py()
        raise too_long(f"{file}: {unit} {row}", longest)


def too_long(where: str, longest: int) -> FileError:
    """The refusal of a sequence that is too long."""
    return FileError(
        where, expected=f"at most {longest} symbols in a sequence", found="more; raise `longest` if it is one"
    )


def require_filled(column: Any, rows: Any, *, file: Path, unit: str, what: str) -> None:
    """Refuse a column with an empty cell."""
    if column.null_count:
        row = rows[pc.index(column.is_null(), value=True).as_py()].as_py()
        raise FileError(f"{file}: {unit} {row}", expected=what, found="none")


def require_named(
    column: Any, rows: Any, *, file: Path, unit: str, what: str, plain: Callable[[str], str] = str
) -> None:
    """Refuse a cell without a name, also an empty text: all that have one would be one person.

    `plain` is what a cell says: in JSON an empty text has quotes around it.
    """
    require_filled(column, rows, file=file, unit=unit, what=what)
    require_plain(column, file=file, what=what)
    if is_text(column.type):
        empty = pa.array([text for text in ("", '""') if plain(text) == ""])
        row = pc.index(pc.is_in(as_text(column), value_set=empty), value=True).as_py()
        if row >= 0:
            raise FileError(f"{file}: {unit} {rows[row].as_py()}", expected=what, found="an empty one")


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
    """A column as strings: ids are compared by what they print as."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column if pa.types.is_string(column.type) else column.cast(pa.string())


def list_lengths(lists: Any) -> NDArray[np.int64]:
    """How long each list of a column is; 0 where there is none.

    >>> list_lengths(pa.array([["a", "b"], None, []])).tolist()
    [2, 0, 0]
    """
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    return np.asarray(lengths, dtype=np.int64)


def symbols_of_lists(
    column: Any, *, where: Callable[[int], str] = lambda row: f"record {row + 1}"
) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    """The symbols that occur, as text; which of them stands in each place of the lists, one after the other; lengths.

    >>> symbols_of_lists(pa.array([["b", "a", "b"], []]))
    (['b', 'a'], array([0, 1, 0]), array([3, 0]))
    """
    lengths = list_lengths(column)
    values = column.flatten()
    if pa.types.is_nested(values.type):
        raise ParameterError("sequence", expected="lists of text or whole numbers", found=f"a column of {column.type}")
    if pa.types.is_dictionary(values.type) and values.dictionary.null_count:
        values = values.dictionary_decode()  # nothing may stand among a dictionary's values too
    encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    if encoded.null_count:
        index = pc.index(encoded.is_null(), value=True).as_py()
        ends = np.cumsum(lengths)
        row = int(np.searchsorted(ends, index, side="right"))
        position = index - int(ends[row] - lengths[row]) + 1
        raise WordError(
            f"{where(row)}: expected a symbol in every place of a sequence, found none at position {position}",
            position=position,
        )
    try:
        texts = [str(value) for value in encoded.dictionary.to_pylist()]
    except (pa.ArrowException, ValueError, LookupError, ArithmeticError):  # a date that Python does not have …
        raise ParameterError(
            "sequence", expected="symbols that can be written as text", found=f"others in a column of {column.type}"
        ) from None
    return texts, encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64, copy=False), lengths


# --- persons as names --------------------------------------------------------------------------


def no_name(where: str) -> FileError:
    """The refusal of a cell that could be spelled in several ways: each would have a budget of its own."""
    return FileError(
        where,
        expected="text, a whole number (a float below 2^53) or a day as a person or id that pays",
        found="another value; make it text first",
    )


def spelled_names(column: Any) -> Any:
    """The cells of a column as names; null where a cell is empty, or is no name.

    >>> spelled_names(pa.array([7.0, 2.5, -0.0, float("nan")])).to_pylist()
    ['7', None, '0', None]
    >>> spelled_names(pa.array(["7.0", "ann"])).to_pylist(), spelled_names(pa.array([b"ann"])).to_pylist()
    (['7', 'ann'], [None])
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if is_text(kind):
        return _of_text(column.cast(pa.string()))
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return column.cast(pa.string())
    if pa.types.is_floating(kind):
        return _of_floats(column)
    if pa.types.is_decimal(kind):
        return pa.array([decimal_name(each) for each in column.to_pylist()], type=pa.string())
    if pa.types.is_date(kind):
        # a day is written in one way while its year has four digits
        days = column.cast(pa.date32(), safe=False)
        texts = days.cast(pa.string())
        whole = pc.equal(days.cast(kind), column)
        named = pc.and_(whole, pc.and_(pc.equal(pc.utf8_length(texts), _DAY), pc.invert(pc.starts_with(texts, "-"))))
        return pc.if_else(named, texts, None)
    return pa.nulls(len(column), pa.string())


def _of_text(texts: Any) -> Any:
    if not pc.any(pc.match_substring_regex(texts, _MAY_CHANGE)).as_py():
        return texts
    encoded = texts.dictionary_encode()
    names = pa.array([person_name(name) for name in encoded.dictionary.to_pylist()], type=pa.string())
    return names.take(encoded.indices)


def _of_floats(column: Any) -> Any:
    values = column.to_numpy(zero_copy_only=False).astype(np.float64)
    with np.errstate(invalid="ignore"):
        whole = (np.abs(values) < EXACT_WHOLE[column.type.bit_width]) & (values == np.rint(values))
    numbers = pa.array(np.where(whole, values, 0).astype(np.int64), mask=~whole)
    return numbers.cast(pa.string())


# --- sequences as text -------------------------------------------------------------------------


def split_column(texts: Any, separator: str | None) -> Any:
    """Each text as a list of symbols: at runs of blanks where no separator is given, at every character where it is "".

    The text "" is the empty sequence.

    >>> split_column(pa.array(["a  b a", "", "b"]), None).to_pylist()
    [['a', 'b', 'a'], [], ['b']]
    >>> split_column(pa.array(["a b|c", ""]), "|").to_pylist()
    [['a b', 'c'], []]
    >>> split_column(pa.array(["añb", "", "c"]), "").to_pylist()
    [['a', 'ñ', 'b'], [], ['c']]
    """
    if pa.types.is_dictionary(texts.type):
        texts = texts.dictionary_decode()
    if separator == "":
        return _characters(texts.cast(pa.string()))
    pieces = pc.split_pattern(texts.cast(pa.string()), pattern=" " if separator is None else separator)
    values, lengths = pieces.flatten(), list_lengths(pieces)
    if separator is None:
        filled = pc.not_equal(values, "")
    else:
        # only a text that is empty as a whole has no symbols; an empty one between separators is a mistake
        empty_text = np.repeat(pc.equal(pc.binary_length(texts), 0).to_numpy(zero_copy_only=False), lengths)
        filled = pa.array(~empty_text)
    mask = filled.to_numpy(zero_copy_only=False)
    if mask.all():
        return pieces
    row_of = np.repeat(np.arange(len(lengths)), lengths)
    counts = np.bincount(row_of[mask], minlength=len(lengths))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values.filter(filled))


def _characters(texts: Any) -> Any:
    """Each text as the list of its characters: the same bytes, cut where UTF-8 has a character begin."""
    whole = pa.concat_arrays([pc.fill_null(texts, "")])  # a slice would begin somewhere in the bytes
    _, places, content = whole.buffers()
    ends = np.frombuffer(places, dtype=np.int32)[: len(whole) + 1] if len(whole) else np.zeros(1, dtype=np.int32)
    text = np.frombuffer(content, dtype=np.uint8)[: ends[-1]] if content is not None else np.zeros(0, dtype=np.uint8)
    begins = np.flatnonzero((text & 0xC0) != 0x80).astype(np.int32)
    cuts = np.append(begins, ends[-1]).astype(np.int32)
    symbols = pa.StringArray.from_buffers(len(begins), pa.py_buffer(cuts), pa.py_buffer(np.ascontiguousarray(text)))
    offsets = pa.array(np.searchsorted(begins, ends).astype(np.int32))
    return pa.ListArray.from_arrays(offsets, symbols, mask=texts.is_null() if texts.null_count else None)


def first_empty_symbol(lists: Any) -> int | None:
    """The first row with an empty symbol, or None."""
    values = lists.flatten()
    if not pa.types.is_string(values.type):
        return None
    row = pc.index(values, value="").as_py()
    if row < 0:
        return None
    ends = np.cumsum(list_lengths(lists))
    return int(np.searchsorted(ends, row, side="right"))


def join_column(lists: Any, separator: str | None) -> Any:
    """The inverse of `split_column`."""
    if not pa.types.is_string(lists.type.value_type):
        lists = lists.cast(pa.list_(pa.string()))
    return pc.binary_join(lists, " " if separator is None else separator)
