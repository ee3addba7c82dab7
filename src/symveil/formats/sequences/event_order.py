"""What comes first: the order column of an event log as numbers that sort.

Numbers sort as numbers ("9" before "10"), ISO 8601 timestamps as instants. A column is one or the
other throughout; text that is neither is refused, because sorting it by letters would only look right.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from symveil.errors import FileError, ParameterError

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
        if date_format is not None:
            check_format(date_format)
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


def check_format(spelling: str) -> None:
    """Refuse a format of dates that `strptime` does not take."""
    try:
        datetime.strptime("", spelling)
    except ValueError as error:
        if "%" in spelling and "does not match" in str(error):
            return
    raise ParameterError("date_format", expected="a format such as %d.%m.%Y %H:%M", found=repr(spelling))


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
