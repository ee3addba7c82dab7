"""Events into sequences: rows of an event log grouped by case, in bounded memory.

A case's events may be scattered over the whole file. Small files are grouped in memory. Larger ones
go through the disk twice: rows are dealt into files by a hash of their case, each of which fits into
memory and is grouped and sorted by where its cases first appear; these files are then merged. So
cases come out in the order of their first appearance, their events in order, ties as in the file.

The files have no name (they vanish with the process, even when it is killed) and no other process can
open them: they hold secrets.

What comes first: the order column of an event log as numbers that sort.

Numbers sort as numbers ("9" before "10"), ISO 8601 timestamps as instants. A column is one or the
other throughout; text that is neither is refused, because sorting it by letters would only look right.
"""

from __future__ import annotations

import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from symveil.errors import FileError
from symveil.formats.limits import LIMITS
from symveil.formats.reading import LONGEST
from symveil.formats.sequences.columns import LongColumns
from symveil.formats.sequences.records import (
    ID,
    PERSON,
    ROW_NUMBER,
    SYMBOLS,
    TIME,
    as_text,
    columns_beside,
    cuts,
    in_one_piece,
    made_in_order,
    require_filled,
    require_named,
    require_plain,
    rows_cut,
    spelled_names,
    too_long,
)

Key = tuple[int, float]
"""A number as its floor and the rest: large whole numbers stay exact."""

_LARGEST = Decimal(2) ** 62
_EXPECTED = (
    "numbers or ISO 8601 timestamps in the order column, one kind throughout; dates that are written otherwise need "
    "`date_format`, such as '%d.%m.%Y %H:%M'"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class EventOrder:
    """Turns the cells of one order column into keys, batch by batch, in one way for the whole file."""

    def __init__(
        self, file: Path, unit: str, *, plain: Callable[[str], str] = str, date_format: str | None = None
    ) -> None:
        self._file, self._unit, self._plain = file, unit, plain
        self._format = date_format
        self._read: Callable[[str], Key] | None = None if date_format is None else partial(_formatted, date_format)

    def keys(self, column: Any, rows: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The keys of a column's cells, to be sorted by both arrays."""
        if column.null_count:
            raise self._refused(rows, pc.index(column.is_null(), value=True).as_py())
        kind = column.type
        written = self._format is not None and not (pa.types.is_date(kind) or pa.types.is_timestamp(kind))
        if not written and (typed := self._typed_keys(column, rows)) is not None:
            return typed
        try:
            text = column.cast(pa.string())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # lists, records, bytes that are no text
            raise FileError(str(self._file), expected=_EXPECTED, found=f"a column of type {kind}") from None
        if self._read in (None, _number) and (whole := _whole_numbers(text)) is not None:
            self._read = _number
            return whole, np.zeros(len(whole))
        return self._text_keys(text.dictionary_encode(), rows)

    def _typed_keys(self, column: Any, rows: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
        """The keys of cells that are numbers or instants; None: they are text, or nothing that has an order."""
        kind = column.type
        if pa.types.is_uint64(kind):
            too_large = pc.index(pc.greater(column, pa.scalar(2**63 - 1, kind)), value=True).as_py()
            if too_large >= 0:
                raise self._refused(rows, too_large)
        if pa.types.is_integer(kind):
            return column.cast(pa.int64()).to_numpy(), np.zeros(len(column))
        if pa.types.is_date(kind):
            column, kind = column.cast(pa.timestamp("s")), pa.timestamp("s")
        if pa.types.is_timestamp(kind):
            return column.cast(pa.int64()).to_numpy(), np.zeros(len(column))
        if pa.types.is_floating(kind):
            values = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
            if not (np.abs(values) < 2.0**62).all():
                raise self._refused(rows, int(np.argmin(np.abs(values) < 2.0**62)))
            floor = np.floor(values)
            return floor.astype(np.int64), values - floor
        return None

    def _text_keys(self, encoded: Any, rows: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        codes = encoded.indices.to_numpy()
        keys = []
        for number, text in enumerate(encoded.dictionary.to_pylist()):
            key = self._key(self._plain(text).strip())
            if key is None:
                raise self._refused(rows, int(np.argmax(codes == number)))
            keys.append(key)
        floors = np.array([floor for floor, _ in keys], dtype=np.int64)
        rests = np.array([rest for _, rest in keys], dtype=np.float64)
        return floors[codes], rests[codes]

    def _key(self, text: str) -> Key | None:
        for read in (self._read,) if self._read else (_number, _instant, _local_instant):
            try:
                key = read(text)
            except (ValueError, ArithmeticError):  # decimals have an overflow of their own
                continue
            self._read = read
            return key
        return None

    def _refused(self, rows: Any, row: int) -> FileError:
        return FileError(
            f"{self._file}: {self._unit} {rows[row].as_py()}",
            expected=_EXPECTED if self._format is None else f"a date as `date_format={self._format!r}` says",
            found="another value",
        )


def _whole_numbers(text: Any) -> NDArray[np.int64] | None:
    """The usual case at once: whole numbers, plainly spelled."""
    try:
        numbers = text.cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid:
        return None
    return numbers if not len(numbers) or int(np.abs(numbers).max()) <= int(_LARGEST) else None


def _number(text: str) -> Key:
    value = Decimal(text)
    if not value.is_finite() or abs(value) > _LARGEST:
        raise ValueError
    floor = int(value.to_integral_value(rounding="ROUND_FLOOR"))
    return floor, float(value - floor)


def _instant(text: str) -> Key:
    """An instant with its offset from UTC, in microseconds."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError
    difference = moment - _EPOCH
    return (difference.days * 86_400 + difference.seconds) * 1_000_000 + difference.microseconds, 0.0


def _formatted(spelling: str, text: str) -> Key:
    """A date in a format that the user gave; without an offset it is one of UTC, which changes no order."""
    moment = datetime.strptime(text, spelling)
    return _instant((moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).isoformat())


def _local_instant(text: str) -> Key:
    """A time without an offset: comparable with its like only."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        raise ValueError
    return _instant(moment.replace(tzinfo=UTC).isoformat())


_FLOOR, _REST = "order.floor", "order.rest"


@dataclass(frozen=True, kw_only=True)
class Grouping:
    """What is grouped, and what messages call it."""

    file: Path
    unit: str
    columns: LongColumns
    longest: int = LONGEST
    plain: Callable[[str], str] = str
    spelled: Callable[[Any], Any] = spelled_names
    """Cells of persons as names; null where one is no name."""
    date_format: str | None = None
    in_memory: int = field(default_factory=lambda: LIMITS.now.grouped_bytes)

    def records(self, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The cases of these rows, as records."""
        order = EventOrder(self.file, self.unit, plain=self.plain, date_format=self.date_format)
        held: list[pa.RecordBatch] = []
        size = 0
        source = made_in_order(rows, lambda batch: self._prepared(batch, order), rows_cut)
        for batch in source:
            held.append(batch)
            size += batch.nbytes
            if size > self.in_memory:
                yield from self._by_disk(held, source)
                return
        if held:
            for grouped in self._parts_grouped([pa.Table.from_batches(held)]):
                yield from _sliced(grouped)

    def _prepared(self, batch: pa.RecordBatch, order: EventOrder) -> pa.RecordBatch:
        """A batch with the keys of its order, and without what is not needed."""
        columns, rows = self.columns, batch.column(ROW_NUMBER)
        named = partial(require_named, rows=rows, file=self.file, unit=self.unit, plain=self.plain)
        named(batch.column(columns.case), what="a case")
        require_filled(batch.column(columns.symbol), rows, file=self.file, unit=self.unit, what="a symbol")
        require_plain(batch.column(columns.symbol), file=self.file, what="a symbol")
        arrays = {ROW_NUMBER: rows, ID: batch.column(columns.case), SYMBOLS: batch.column(columns.symbol)}
        if columns.order is not None:
            floor, rest = order.keys(batch.column(columns.order), rows)
            arrays |= {_FLOOR: pa.array(floor), _REST: pa.array(rest)}
        if columns.person is not None:
            person = batch.column(columns.person)
            named(person, what="a person")
            arrays[PERSON] = person
        arrays |= {own: batch.column(name) for own, name in columns_beside(columns).items()}
        arrays = {
            name: array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
            for name, array in arrays.items()
        }
        return pa.record_batch(list(arrays.values()), names=list(arrays))

    def _parts_grouped(self, parts: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """Each part grouped. Of the cases that are refused the first one is reported, whatever part it is in: into how
        many parts a file is dealt depends on the sizes of its symbols.
        """
        refused: list[_RefusedCase] = []
        for part in parts:
            try:
                yield self._grouped(part)
            except _RefusedCase as error:
                refused.append(error)
        if refused:
            raise min(refused, key=lambda each: each.rank).error

    # --- one part ------------------------------------------------------------------------------

    def _grouped(self, events: pa.Table) -> pa.Table:
        """All cases of these events, sorted by where they first appear."""
        events = events.combine_chunks()
        row = events[ROW_NUMBER].to_numpy()
        case = as_text(in_one_piece(events[ID])).dictionary_encode().indices.to_numpy()
        first = np.full(case.max() + 1, np.iinfo(np.int64).max)
        np.minimum.at(first, case, row)
        keys = [row, first[case]]
        if _FLOOR in events.column_names:
            keys[1:1] = [events[_REST].to_numpy(), events[_FLOOR].to_numpy()]
        sorted_rows = np.lexsort(keys)
        first_of_row = first[case][sorted_rows]
        begins = np.flatnonzero(np.concatenate([[True], first_of_row[1:] != first_of_row[:-1]]))
        offsets = np.append(begins, len(sorted_rows))
        lengths = np.diff(offsets)
        if int(lengths.max()) > self.longest:
            where = int(first_of_row[begins[int(np.argmax(lengths > self.longest))]])
            raise _RefusedCase((0, where), too_long(f"{self.file}: the case of {self.unit} {where}", self.longest))
        in_order = events.take(pa.array(sorted_rows))
        starts = pa.array(begins)
        arrays: dict[str, Any] = {
            ROW_NUMBER: pa.array(first_of_row[begins]),
            ID: in_one_piece(in_order[ID]).take(starts),
        }
        if PERSON in in_order.column_names:
            arrays[PERSON] = self._persons(in_one_piece(in_order[PERSON]), begins, lengths, arrays[ROW_NUMBER])
        for name in in_order.column_names:
            if name in (SYMBOLS, TIME) or name.startswith(("keep.", "beside.")):
                arrays[name] = pa.ListArray.from_arrays(
                    pa.array(offsets, type=pa.int32()), in_one_piece(in_order[name])
                )
        return pa.table(arrays)

    def _persons(self, persons: Any, begins: NDArray[np.int64], lengths: NDArray[np.int64], rows: Any) -> Any:
        names = pc.coalesce(self.spelled(persons), as_text(persons))  # what is no name is refused where one is needed
        codes = names.dictionary_encode().indices.to_numpy()
        differs = codes != np.repeat(codes[begins], lengths)
        if differs.any():
            where = rows[int(np.searchsorted(begins, int(np.argmax(differs)), side="right")) - 1].as_py()
            error = FileError(
                f"{self.file}: the case of {self.unit} {where}", expected="one person in a case", found="several"
            )
            raise _RefusedCase((1, where), error)
        return persons.take(pa.array(begins))

    # --- by way of the disk --------------------------------------------------------------------

    def _by_disk(
        self, held: list[pa.RecordBatch], rest: Iterator[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:  # fmt: skip
        with ExitStack() as files:
            parts = _Parts(files, self)
            while held:
                parts.add(held.pop(0))
            for batch in rest:
                parts.add(batch)
            stores = []
            for grouped in self._parts_grouped(parts.tables()):
                store = files.enter_context(_Store())
                for piece in _sliced(grouped, parts=32):
                    store.write(piece)
                stores.append(store)
            yield from _merged([store.read() for store in stores])


class _RefusedCase(Exception):  # noqa: N818 - it carries the error
    """A case that is refused; `rank` says which of several is reported: the smallest."""

    def __init__(self, rank: tuple[int, int], error: FileError) -> None:
        super().__init__()
        self.rank, self.error = rank, error


class _Store:
    """Batches in a file without a name."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="symveil-")  # noqa: SIM115 - closed on leaving
        self._writer: Any = None

    def write(self, batch: pa.RecordBatch) -> None:
        if self._writer is None:
            self._writer = pa.ipc.new_stream(pa.PythonFile(self._file, mode="w"), batch.schema)
        self._writer.write_batch(batch)

    def read(self) -> Iterator[pa.RecordBatch]:
        """All batches, once; then the file is gone."""
        if self._writer is None:
            return
        self._writer.close()
        self._file.seek(0)
        yield from pa.ipc.open_stream(pa.PythonFile(self._file, mode="r"))
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


class _Parts:
    """Events dealt into files by a hash of their case."""

    def __init__(self, files: ExitStack, grouping: Grouping) -> None:
        self._watch = _LongestCases(grouping)
        self._stores = [files.enter_context(_Store()) for _ in range(LIMITS.now.case_parts)]
        self._waiting: list[list[pa.RecordBatch]] = [[] for _ in range(LIMITS.now.case_parts)]
        self._sizes = [0] * LIMITS.now.case_parts

    def add(self, batch: pa.RecordBatch) -> None:
        encoded = as_text(batch.column(ID)).dictionary_encode()
        # any hash will do that spreads cases and is the same in every batch
        names = encoded.dictionary.to_pylist()
        hashes = np.array([zlib.crc32(text.encode()) for text in names], dtype=np.int64)
        codes = encoded.indices.to_numpy()
        stays = self._watch.add(names, hashes, codes)
        if not stays.all():
            batch, codes = batch.filter(pa.array(stays)), codes[stays]
        part_of = (hashes % LIMITS.now.case_parts)[codes]
        dealt = batch.take(pa.array(np.argsort(part_of, kind="stable")))
        sizes = np.bincount(part_of, minlength=LIMITS.now.case_parts)
        for part, end in enumerate(np.cumsum(sizes).tolist()):
            if not sizes[part]:
                continue
            piece = dealt.slice(end - int(sizes[part]), int(sizes[part]))
            self._waiting[part].append(piece)
            self._sizes[part] += piece.nbytes
            if self._sizes[part] > LIMITS.now.case_part_bytes:
                self._flush(part)

    def _flush(self, part: int) -> None:
        for batch in pa.Table.from_batches(self._waiting[part]).combine_chunks().to_batches():
            self._stores[part].write(batch)
        self._waiting[part], self._sizes[part] = [], 0

    def tables(self) -> Iterator[pa.Table]:
        """The events of each part; its file is gone afterwards."""
        for part in range(LIMITS.now.case_parts):
            if self._waiting[part]:
                self._flush(part)
            batches = list(self._stores[part].read())
            if batches:
                yield pa.Table.from_batches(batches)


class _LongestCases:
    """Leaves out the events of a case of absurd length beyond those that show it: they would fill the memory when its
    part is grouped. It is refused there, as in a file that is grouped in memory.

    Events are counted by a hash of their case; only where a hash has too many are its cases counted by name.
    """

    def __init__(self, grouping: Grouping) -> None:
        self._longest = grouping.longest
        self._by_hash = np.zeros(LIMITS.now.case_hashes, dtype=np.int64)
        self._by_name: Counter[str] = Counter()

    def add(self, names: list[str], hashes: NDArray[np.int64], codes: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Count some more events; which of them stay."""
        counts = np.bincount(codes, minlength=len(names))
        rows = hashes % LIMITS.now.case_hashes
        np.add.at(self._by_hash, rows, counts)
        absurd = np.zeros(len(names), dtype=np.bool_)
        for case in np.flatnonzero(self._by_hash[rows] > max(self._longest, LIMITS.now.case_events)).tolist():
            absurd[case] = self._by_name[names[case]] > self._longest
            self._by_name[names[case]] += int(counts[case])
        return ~absurd[codes]


def _merged(sources: list[Iterator[pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
    """The records of several sorted sources, sorted by place.

    Up to the smallest of the last places held of each source everything is known: that much is
    sorted and handed on, and sources that ran dry are asked for more.
    """
    held = {number: batch for number, source in enumerate(sources) if (batch := next(source, None)) is not None}
    while held:
        horizon = min(batch.column(ROW_NUMBER)[-1].as_py() for batch in held.values())
        ready = []
        for number, batch in list(held.items()):
            count = int(np.searchsorted(batch.column(ROW_NUMBER).to_numpy(), horizon, side="right"))
            ready.append(batch.slice(0, count))
            following = batch.slice(count) if count < len(batch) else next(sources[number], None)
            if following is None:
                del held[number]
            else:
                held[number] = following
        yield from _sliced(pa.Table.from_batches(ready).sort_by(ROW_NUMBER))


def _sliced(records: pa.Table, *, parts: int = 1) -> Iterator[pa.RecordBatch]:
    """Batches of at most so many records and, where records are short enough, events; of each a part of `parts`."""
    events, at_once = LIMITS.now.grouped_events // parts, LIMITS.now.grouped_records // parts
    for start, stop in cuts(pc.list_value_length(records[SYMBOLS]).to_numpy(), events, at_once):
        yield from records.slice(start, stop - start).combine_chunks().to_batches()
