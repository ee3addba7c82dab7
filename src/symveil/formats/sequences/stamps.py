"""Times of events as they are written, each read by itself by one public grammar.

ISO 8601 in its extended form: 2014-10-22T11:15:41, with a blank for the T, with a fraction, with Z or an offset, or a
date alone; or the format that the user declares. How the first time of a file looks decides nothing: one person's way
of writing must not change how others are read. What is missing, unreadable or impossible is unknown, without a word.

Times that private events get in the place of the true ones, which are not private.

Every sequence begins at the same moment, and an event follows the one before it by the same step. So a time tells the
position of its event and nothing else, whatever the true times were, and tools that need a date in each event can read
private logs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from symveil.errors import ParameterError
from symveil.formats.sequences.records import is_list, is_text
from symveil.models.times import INSTANT, MICROSECONDS, UNKNOWN, WALL_CLOCK, Stamps

_ISO = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,12}))?)?"
    r"\s?(?:([Zz])|([+-])(\d{2}):?(\d{2})?)?)?",
    re.ASCII,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_OFFSET = 24 * 60
_NOTHING = (0, UNKNOWN)
_SECONDS, _WITH_OFFSET = len("2014-10-22T11:15:41"), len("2014-10-22T11:15:41+02:00")
_DAYS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
Read = tuple[int, int]
"""Microseconds and a kind."""


def read_stamp(text: str) -> Read:
    """Microseconds since 1970 and the kind of a time by the grammar of ISO 8601; of kind 0 where it is none.

    >>> read_stamp("1970-01-01T01:00:00.5+01:00"), read_stamp("1970-01-02"), read_stamp("2024-02-30")
    ((500000, 1), (86400000000, 2), (0, 0))
    """
    match = _ISO.fullmatch(text.strip())
    if match is None:
        return _NOTHING
    year, month, day, hour, minute, second, fraction, zulu, sign, hours, minutes = match.groups()
    try:
        moment = datetime(
            int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0), tzinfo=UTC
        )
    except ValueError:
        return _NOTHING
    own = int((fraction or "").ljust(6, "0")[:6])
    offset = 0
    if sign is not None:
        offset = int(hours) * 60 + int(minutes or 0)
        if offset >= _MOST_OFFSET or int(minutes or 0) > 59:
            return _NOTHING
        offset = -offset if sign == "-" else offset
    since = (moment - _EPOCH) // timedelta(microseconds=1) + own - offset * 60 * MICROSECONDS
    return since, INSTANT if zulu or sign else WALL_CLOCK


def read_stamps(texts: list[str]) -> Stamps:
    """The time of each text, as `read_stamp` reads it: plain ones, to the second, many at once.

    >>> read_stamps(["1970-01-01T00:00:01Z", "1970-01-01 01:00:00+01:00", "?"]).kind.tolist()
    [1, 1, 0]
    """
    sizes = np.array([len(text) if text.isascii() else 0 for text in texts], dtype=np.int64)
    since, kind = np.zeros(len(texts), dtype=np.int64), np.zeros(len(texts), dtype=np.int8)
    slow = np.ones(len(texts), dtype=np.bool_)
    for size in (_SECONDS, _SECONDS + 1, _WITH_OFFSET):
        rows = np.flatnonzero(sizes == size)
        letters = np.frombuffer("".join([texts[row] for row in rows.tolist()]).encode(), dtype=np.uint8)
        seconds, plain = _plain_seconds(letters.reshape(-1, size))
        since[rows[plain]] = seconds[plain] * MICROSECONDS
        kind[rows[plain]] = WALL_CLOCK if size == _SECONDS else INSTANT
        slow[rows[plain]] = False
    for row in np.flatnonzero(slow).tolist():
        since[row], kind[row] = read_stamp(texts[row])
    return Stamps(since, kind)


def _plain_seconds(letters: Any) -> tuple[Any, Any]:
    """The seconds since 1970 of texts of one length, a row for each, and which of them are plain times."""
    size = letters.shape[1]

    def number(begin: int, end: int) -> Any:
        digits = letters[:, begin:end].astype(np.int64) - ord("0")
        right = ((digits >= 0) & (digits <= 9)).all(axis=1)
        return np.where(right, digits @ 10 ** np.arange(end - begin - 1, -1, -1), -1)

    def among(at: int, allowed: str) -> Any:
        return np.isin(letters[:, at], [ord(letter) for letter in allowed])

    year, month, day, hour, minute, second = (
        number(*ends) for ends in ((0, 4), (5, 7), (8, 10), (11, 13), (14, 16), (17, 19))
    )
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0)) & (month == 2)
    right = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
    right &= day <= _DAYS[np.clip(month, 1, 12) - 1] + leap
    right &= (hour >= 0) & (hour < 24) & (minute >= 0) & (minute < 60) & (second >= 0) & (second < 60)
    for at, allowed in ((4, "-"), (7, "-"), (10, "Tt "), (13, ":"), (16, ":")):
        right &= among(at, allowed)
    offset = np.zeros(len(letters), dtype=np.int64)
    if size == _SECONDS + 1:
        right &= among(_SECONDS, "Zz")
    elif size == _WITH_OFFSET:
        hours, minutes = number(20, 22), number(23, 25)
        right &= among(19, "+-") & among(22, ":") & (hours >= 0) & (minutes >= 0) & (minutes < 60)
        right &= hours * 60 + minutes < _MOST_OFFSET
        offset = np.where(among(19, "-"), -1, 1) * (hours * 60 + minutes)
    months = np.where(right, (year - 1970) * 12 + month - 1, 0).astype("datetime64[M]")
    days = months.astype("datetime64[D]").astype(np.int64) + day - 1
    return days * 86_400 + hour * 3600 + (minute - offset) * 60 + second, right


def _formatted(text: str, spelling: str) -> Read:
    try:
        moment = datetime.strptime(text.strip(), spelling)
    except ValueError:
        return _NOTHING
    if moment.tzinfo is None:
        return (moment.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1), WALL_CLOCK
    return (moment - _EPOCH) // timedelta(microseconds=1), INSTANT


@dataclass(frozen=True, slots=True)
class StampReader:
    """Reads cells of a column of times.

    `date_format` is for `strptime`; None is ISO 8601. `plain` says what a cell says: in JSON a text has quotes around
    it. `separator` stands between several times in one text, as between the symbols of a sequence.

    >>> StampReader().cells(pa.array(["1970-01-01T00:00:01Z", None, "?"])).kind.tolist()
    [1, 0, 0]
    """

    date_format: str | None = None
    plain: Callable[[str], str] = str
    separator: str | None = None

    def cells(self, column: Any) -> Stamps:
        """The time in each cell."""
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        kind = column.type
        if pa.types.is_timestamp(kind):
            return _typed(column, kind)
        if pa.types.is_date(kind):
            days = column.cast(pa.timestamp("s"), safe=False)
            return _typed(days, days.type)
        if is_text(kind):
            return self._texts(column)
        if pa.types.is_null(kind) or pa.types.is_floating(kind):  # as tools write a column without any value
            return Stamps.unknown(len(column))
        raise ParameterError("time", expected="a column of timestamps, dates or text", found=f"a column of {kind}")

    def _texts(self, column: Any) -> Stamps:
        encoded = column.cast(pa.string()).dictionary_encode()
        texts = [*map(self.plain, encoded.dictionary.to_pylist()), ""]
        codes = pc.fill_null(encoded.indices, len(texts) - 1).to_numpy(zero_copy_only=False)
        reads = read_stamps(texts) if self.date_format is None else self._formatted(texts)
        own = Stamps.in_calendar(reads.microseconds, reads.kind)
        return Stamps(own.microseconds[codes], own.kind[codes])

    def _formatted(self, texts: list[str]) -> Stamps:
        reads = [_formatted(text, str(self.date_format)) for text in texts]
        return Stamps(
            np.array([since for since, _ in reads], dtype=np.int64),
            np.array([kind for _, kind in reads], dtype=np.int8),
        )

    def _split(self, column: Any) -> Any:
        """Texts as lists of times: a list of JSON, or text between separators."""
        lists = [None if text is None else self._pieces(self.plain(text)) for text in column.to_pylist()]
        return pa.array(lists, type=pa.list_(pa.string()))

    def _pieces(self, text: str) -> list[str]:
        if text.startswith("["):
            return _json_list(text)
        return text.split(self.separator or None)

    def of_sequences(self, column: Any, lengths: np.ndarray[Any, np.dtype[np.int64]]) -> Stamps:
        """The times of all symbols, one cell for each sequence: a list of times, or text.

        As many times as symbols are theirs. Two are those of the first and of the last symbol, one is that of the
        first. Of any other number none is known.
        """
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        whole = None
        if not is_list(column.type):
            whole = self.cells(column)
            if is_text(column.type):
                column = self._split(column)
        total = int(lengths.sum())
        stamps = Stamps.unknown(total)
        starts = np.cumsum(lengths) - lengths
        if is_list(column.type):
            counts = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False).astype(np.int64)
            # the texts of a list in JSON are no JSON any more
            reader = self if whole is None else StampReader(self.date_format)
            inside = reader.cells(column.flatten())
            first = np.cumsum(counts) - counts
            same = (counts == lengths) & (lengths > 0)
            _copy(inside, stamps, _ranges(first[same], lengths[same]), _ranges(starts[same], lengths[same]))
            for wanted, at, to in (
                (~same & (counts == 1) & (lengths > 0), first, starts),
                (~same & (counts == 2) & (lengths > 1), first, starts),
                (~same & (counts == 2) & (lengths > 1), first + 1, starts + lengths - 1),
            ):
                _copy(inside, stamps, at[wanted], to[wanted])
        if whole is not None:
            # a cell that is one time as a whole; a blank in it separates nothing
            one = (whole.kind != UNKNOWN) & (lengths > 0)
            rest = _ranges(starts[one], lengths[one])
            stamps.kind[rest] = UNKNOWN
            _copy(whole, stamps, np.flatnonzero(one), starts[one])
        return stamps


def _json_list(text: str) -> list[str]:
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):  # of brackets alone, by the thousand
        return []
    return [item if isinstance(item, str) else "" for item in items] if isinstance(items, list) else []


def _typed(column: Any, kind: Any) -> Stamps:
    known = INSTANT if kind.tz is not None else WALL_CLOCK
    ticks = pc.fill_null(column.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    per_second = {"s": 1, "ms": 1000, "us": MICROSECONDS, "ns": 1000 * MICROSECONDS}[kind.unit]
    if per_second > MICROSECONDS:
        microseconds = ticks // (per_second // MICROSECONDS)
    else:
        factor = MICROSECONDS // per_second
        far = np.abs(ticks) > (1 << 62) // factor
        microseconds = np.where(far, 1 << 62, np.where(far, 0, ticks) * factor)  # impossible: its year is
    kinds = np.where(column.is_null().to_numpy(zero_copy_only=False), UNKNOWN, known).astype(np.int8)
    return Stamps.in_calendar(np.asarray(microseconds, dtype=np.int64), kinds)


def _ranges(starts: Any, lengths: Any) -> Any:
    """All numbers from each start on, so many of each."""
    return np.repeat(starts - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))


def _copy(source: Stamps, target: Stamps, at: Any, to: Any) -> None:
    target.microseconds[to] = source.microseconds[at]
    target.kind[to] = source.kind[at]


_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_STEP = re.compile(r"(\d{1,9})(ms|s|m|h|d)")
_LONGEST = timedelta(days=3660)
_LAST = datetime(9999, 12, 31, tzinfo=UTC)
DEFAULT_START, DEFAULT_STEP = "2000-01-01T00:00:00+00:00", "1m"


@dataclass(frozen=True, slots=True)
class ArtificialTimes:
    """The time that the first event of every sequence gets, and the step from each event to the next one.

    `start`, in UTC, is the time of every first event; `step` leads from an event to the next.

    >>> times = ArtificialTimes.read("2024-05-01", "90s")
    >>> times.texts(3)
    ['2024-05-01T00:00:00.000+00:00', '2024-05-01T00:01:30.000+00:00', '2024-05-01T00:03:00.000+00:00']
    >>> times.document()
    {'artificial': True, 'start': '2024-05-01T00:00:00+00:00', 'step': '90s'}
    """

    start: datetime
    step: timedelta

    @classmethod
    def read(cls, start: str | None = None, step: str | None = None, *, longest: int = 1_000_000) -> Self:
        """The times that were asked for, by a date or a timestamp and a number with a unit.

        `start` is a date or a timestamp of ISO 8601, in UTC where it has no zone; `step` a whole number with its unit:
        ms, s, m, h or d; `longest` how many events a sequence may have: all of them need a date.
        """
        given = str(DEFAULT_START if start is None else start)
        try:
            first = datetime.fromisoformat(given)
            first = (first if first.tzinfo else first.replace(tzinfo=UTC)).astimezone(UTC)
        except (ValueError, OverflowError):
            raise ParameterError(
                "start", expected="a date such as 2024-05-01 or 2024-05-01T08:00:00+02:00", found=repr(given[:40])
            ) from None
        if first.microsecond % 1000:
            raise ParameterError("start", expected="whole milliseconds", found=repr(given[:40]))
        given = str(DEFAULT_STEP if step is None else step)
        match = _STEP.fullmatch(given)
        if match is None or int(match[1]) == 0:
            raise ParameterError(
                "time_step", expected="a whole number above 0 with a unit (ms, s, m, h, d) such as 90s or 1h",
                found=repr(given[:40]),
            )  # fmt: skip
        milliseconds = int(match[1]) * _UNITS[match[2]]
        # Twice: where lengths are secret a released sequence may be longer than any true one
        if timedelta(milliseconds=milliseconds) > _LONGEST or (_LAST - first) / (2 * longest) < timedelta(
            milliseconds=milliseconds
        ):
            raise ParameterError(
                "time_step", expected=f"a step with which {longest} events end before the year 9999",
                found=f"{given}; use a smaller one, or a smaller `longest`",
            )  # fmt: skip
        return cls(first, timedelta(milliseconds=milliseconds))

    def document(self) -> dict[str, object]:
        """What the manifest says: enough to make them again."""
        milliseconds = self.step // timedelta(milliseconds=1)
        unit = next(name for name in ("d", "h", "m", "s", "ms") if milliseconds % _UNITS[name] == 0)
        step = f"{milliseconds // _UNITS[unit]}{unit}"
        return {"artificial": True, "start": self.start.isoformat(), "step": step}

    @property
    def sentence(self) -> str:
        """The same for people who open the log.

        >>> ArtificialTimes.read().sentence
        'artificial, not the true times: every trace starts at 2000-01-01T00:00:00+00:00, 1m from event to event'
        """
        document = self.document()
        start, step = document["start"], document["step"]
        return f"artificial, not the true times: every trace starts at {start}, {step} from event to event"

    def column(self, positions: NDArray[np.int64]) -> Any:
        """The times of events by their positions, counted from 1, as a column of dates."""
        first = np.datetime64(self.start.replace(tzinfo=None), "ms")
        step = self.step // timedelta(milliseconds=1)
        times = first + (np.asarray(positions, dtype=np.int64) - 1) * np.timedelta64(step, "ms")
        return pa.array(times, type=pa.timestamp("ms")).cast(pa.timestamp("us")).cast(pa.timestamp("us", tz="UTC"))

    def texts(self, count: int) -> list[str]:
        """The times of the first `count` events as XES and CSV write them."""
        first = np.datetime64(self.start.replace(tzinfo=None), "ms")
        step = np.timedelta64(self.step // timedelta(milliseconds=1), "ms")
        return [f"{time}+00:00" for time in np.datetime_as_string(first + np.arange(count) * step, unit="ms").tolist()]


@dataclass(frozen=True, slots=True)
class PrivateWaits:
    """Times that have the released waits: every sequence begins at the same moment, each wait is one of a few.

    `start`, in UTC, is the time of every first event.

    >>> PrivateWaits(ArtificialTimes.read("2024-05-01").start).document()
    {'artificial': True, 'start': '2024-05-01T00:00:00+00:00', 'waits': 'private'}
    """

    start: datetime

    def document(self) -> dict[str, object]:
        """What the manifest says."""
        return {"artificial": True, "start": self.start.isoformat(), "waits": "private"}

    @property
    def sentence(self) -> str:
        """The same for people who open the log."""
        return f"not the true times: every trace starts at {self.start.isoformat()}, and waits are private"
