"""Times of events: instants, wall clocks, and the public grids on which they are counted.

An instant has an offset from UTC; a time without one is its own wall clock and is never converted. What a time zone,
a grid of waits or a period says is public: it is declared, never taken from data.

Attributes of events have public values too: a list of names, or bins of a number.
"""

from __future__ import annotations

import hashlib
import importlib.resources
import re
import zoneinfo
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ParameterError

Integers = NDArray[np.int64]

MICROSECONDS = 1_000_000
"""In a second: what times are counted in."""
UNKNOWN, INSTANT, WALL_CLOCK = 0, 1, 2
"""Kinds of times: missing or impossible; with an offset from UTC; without one."""
EARLIEST_YEAR, LATEST_YEAR = 2, 9998
"""Times of other years are unknown: converted to a time zone they could leave the calendar."""
HOUR, DAY = 3600, 86_400
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
DEFAULT_EDGES = (
    0, 1, 10, 60, 300, 900, HOUR, 4 * HOUR, 12 * HOUR, DAY, 2 * DAY, 4 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 60 * DAY,
    120 * DAY, 365 * DAY,
)  # fmt: skip
"""Of the bins of waits, in seconds: from each one up to the next."""
MOST_BINS, MOST_WEEKS = 200, 5300
LONGEST_WAIT = 100 * 366 * DAY
"""The largest edge of a grid."""
FIRST_SECOND = -(datetime(1970, 1, 1, tzinfo=UTC) - datetime(EARLIEST_YEAR, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
LAST_SECOND = (datetime(LATEST_YEAR + 1, 1, 1, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(
    seconds=1
) - 1
"""The first and the last instant of those years, since 1970."""
_UNITS = {"s": 1, "m": 60, "h": HOUR, "d": DAY, "w": 7 * DAY}
_DURATION = re.compile(r"(\d{1,12})(s|m|h|d|w)", re.ASCII)
_EPOCH = date(1970, 1, 1)
_MONDAY = 3
"""1970-01-01 was a Thursday: so many days after a Monday."""


@dataclass(frozen=True, eq=False)
class Stamps:
    """The times of events: microseconds since 1970 of their own clock, and of which kind each is.

    Parameters
    ----------
    microseconds
        Of an instant, since 1970 in UTC; of a wall clock, since 1970 on that clock.
    kind
        `UNKNOWN`, `INSTANT` or `WALL_CLOCK`.

    >>> stamps = Stamps(np.array([0, 5_500_000]), np.array([1, 2], dtype=np.int8))
    >>> stamps.only(np.array([False, True])).microseconds.tolist()
    [5500000]
    """

    microseconds: Integers
    kind: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.kind)

    def only(self, wanted: NDArray[np.bool_]) -> Stamps:
        """Some of them."""
        return Stamps(self.microseconds[wanted], self.kind[wanted])

    @classmethod
    def unknown(cls, count: int) -> Stamps:
        """So many times that nothing is known of."""
        return cls(np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int8))

    @classmethod
    def in_calendar(cls, microseconds: Integers, kind: NDArray[np.int8]) -> Stamps:
        """These times; those of impossible years are unknown."""
        seconds = microseconds // MICROSECONDS
        possible = (seconds >= FIRST_SECOND) & (seconds <= LAST_SECOND)
        return cls(np.where(possible, microseconds, 0), np.where(possible, kind, UNKNOWN).astype(np.int8))


def read_duration(value: object, name: str) -> int:
    """A duration as it is typed, in seconds.

    >>> read_duration("90s", "cap"), read_duration("2d", "cap"), read_duration("0", "cap")
    (90, 172800, 0)
    """
    text = str(value).strip()
    match = _DURATION.fullmatch(text)
    seconds = 0 if text == "0" else None if match is None else int(match[1]) * _UNITS[match[2]]
    if seconds is None or seconds > LONGEST_WAIT:
        raise ParameterError(
            name,
            expected="a whole number with a unit (s, m, h, d, w) such as 90s or 7d, up to 36600d",
            found=repr(value),
        )
    return seconds


def spelled_duration(seconds: int) -> str:
    """A duration as it is typed.

    >>> spelled_duration(7200), spelled_duration(90), spelled_duration(0)
    ('2h', '90s', '0s')
    """
    unit = next((name for name in ("d", "h", "m") if seconds and seconds % _UNITS[name] == 0), "s")
    return f"{seconds // _UNITS[unit]}{unit}"


@dataclass(frozen=True, slots=True)
class WaitGrid:
    """Public bins of waits: from each edge up to the next; the last bin is open.

    Parameters
    ----------
    edges
        Whole seconds, strictly increasing, the first 0.

    >>> grid = WaitGrid.read("0,1m,1h")
    >>> grid.bins(np.array([-5, 0, 59, 60, 3600, 10**9])).tolist(), len(grid)
    ([0, 0, 0, 1, 1, 1], 2)
    >>> WaitGrid.read("1h..1d").spelled()
    '0s,1h,4h,12h,1d'
    """

    edges: tuple[int, ...] = DEFAULT_EDGES

    def __len__(self) -> int:
        return len(self.edges) - 1

    @classmethod
    def read(cls, value: object = None) -> Self:
        """A grid as it is typed: `1s..365d` for the usual edges in that range, or all edges, such as `0,1m,1h,1d`."""
        if value is None:
            return cls()
        text = str(value)
        if ".." in text:
            low, _, high = text.partition("..")
            first, last = read_duration(low, "durations"), read_duration(high, "durations")
            edges = tuple(sorted({0, first, last, *(edge for edge in DEFAULT_EDGES if first <= edge <= last)}))
            if first > last:
                raise ParameterError("durations", expected="a range such as 1s..365d", found=repr(text))
        else:
            edges = tuple(read_duration(part, "durations") for part in text.split(","))
        return cls.from_edges(edges)

    @classmethod
    def from_edges(cls, edges: Sequence[int]) -> Self:
        """The grid with these edges."""
        whole = all(type(edge) is int for edge in edges)
        right = whole and 2 <= len(edges) <= MOST_BINS + 1 and edges[0] == 0 and edges[-1] <= LONGEST_WAIT
        if not right or any(low >= high for low, high in pairwise(edges)):
            raise ParameterError(
                "durations",
                expected="increasing edges from 0 on such as 0,1m,1h,1d, or a range such as 1s..365d",
                found=", ".join(map(str, edges[:30])),
            )
        return cls(tuple(edges))

    def bins(self, seconds: Integers) -> Integers:
        """The bin of each wait. Negative waits are in the first one, those beyond the last edge in the last one."""
        number = np.searchsorted(np.array(self.edges[1:-1], dtype=np.int64), seconds, side="right")
        return np.asarray(number, dtype=np.int64)

    def from_lower(self, seconds: int) -> NDArray[np.bool_]:
        """Which bins begin at so many seconds or later."""
        return np.array(self.edges[:-1]) >= seconds

    def ends(self, number: int) -> tuple[int, int | None]:
        """From where to where a bin goes; None: it is open."""
        return self.edges[number], None if number == len(self) - 1 else self.edges[number + 1]

    def spelled(self) -> str:
        """All edges as they are typed."""
        return ",".join(map(spelled_duration, self.edges))


@dataclass(frozen=True, slots=True)
class Period:
    """The dates on which cases start, both ends included; its weeks are blocks of seven dates from the first one on.

    >>> period = Period.read("2024-01-30..2024-02-12")
    >>> period.weeks, period.week_names(), period.month_names()
    (2, ('2024-01-30', '2024-02-06'), ('2024-01', '2024-02'))
    """

    first: date
    last: date

    @classmethod
    def read(cls, value: object) -> Self:
        """A period as it is typed: two dates."""
        low, dots, high = str(value).partition("..")
        try:
            period = cls(_date(low), _date(high if dots else low))
        except ValueError:
            period = None
        if period is None or not period.first <= period.last or period.weeks > MOST_WEEKS:
            raise ParameterError(
                "period", expected="a first and a last date, both included, such as 2013-11-01..2015-06-30, of at most "
                f"{MOST_WEEKS} weeks between the years {EARLIEST_YEAR} and {LATEST_YEAR}", found=repr(value),
            )  # fmt: skip
        return period

    @property
    def first_day(self) -> int:
        """The first date as days since 1970."""
        return (self.first - _EPOCH).days

    @property
    def days(self) -> int:
        """How many dates it has."""
        return (self.last - self.first).days + 1

    @property
    def weeks(self) -> int:
        """How many blocks of seven dates it has; the last one may be short."""
        return -(-self.days // 7)

    def inside(self, days: Integers) -> NDArray[np.bool_]:
        """Which dates, as days since 1970, are in it."""
        return np.asarray((days >= self.first_day) & (days < self.first_day + self.days))

    def week(self, days: Integers) -> Integers:
        """The week of each date inside it."""
        return np.asarray((days - self.first_day) // 7)

    def month(self, days: Integers) -> Integers:
        """The month of each date inside it, from its first one on."""
        months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
        return np.asarray(months - ((self.first.year - 1970) * 12 + self.first.month - 1))

    def week_names(self) -> tuple[str, ...]:
        """The first date of each week."""
        return tuple((self.first + timedelta(days=7 * week)).isoformat() for week in range(self.weeks))

    def month_names(self) -> tuple[str, ...]:
        """Its months."""
        last = int(self.month(np.array([self.first_day + self.days - 1]))[0])
        start = self.first.year * 12 + self.first.month - 1
        return tuple(f"{(start + month) // 12:04d}-{(start + month) % 12 + 1:02d}" for month in range(last + 1))

    def spelled(self) -> str:
        """As it is typed."""
        return f"{self.first.isoformat()}..{self.last.isoformat()}"


def _date(text: str) -> date:
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text.strip(), re.ASCII) is None:
        raise ValueError(text)
    day = date.fromisoformat(text.strip())
    if not EARLIEST_YEAR <= day.year <= LATEST_YEAR:
        raise ValueError(text)
    return day


@dataclass(frozen=True, slots=True)
class WallClock:
    """The clock on the wall of a time zone.

    Parameters
    ----------
    zone
        Its name, such as Europe/Amsterdam.

    >>> clock = WallClock.read("Europe/Amsterdam")
    >>> bool((clock.local(np.array([0, 1_720_000_000])) == np.array([3600, 1_720_007_200])).all())
    True
    """

    zone: str = "UTC"
    _rules: zoneinfo.ZoneInfo = field(default_factory=lambda: zoneinfo.ZoneInfo("UTC"), repr=False, compare=False)

    @classmethod
    def read(cls, value: object = None) -> Self:
        """A time zone by its name; UTC where none is given."""
        name = "UTC" if value is None else str(value)
        try:
            return cls(name, zoneinfo.ZoneInfo(name))
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            raise ParameterError(
                "timezone", expected="the name of a time zone such as Europe/Amsterdam or UTC", found=repr(value)
            ) from None

    def digest(self) -> str:
        """Of the rules of the zone: other rules are another reading of the same instants."""
        parts = self.zone.split("/")
        files = [Path(folder, *parts) for folder in zoneinfo.TZPATH]
        for file in files:
            if file.is_file():
                return hashlib.sha256(file.read_bytes()).hexdigest()
        own = importlib.resources.files(".".join(["tzdata", "zoneinfo", *parts[:-1]])).joinpath(parts[-1])
        return hashlib.sha256(own.read_bytes()).hexdigest()

    def offsets(self, seconds: Integers) -> Integers:
        """The offsets from UTC, in seconds, at instants in seconds since 1970.

        Rules are looked up at both ends of each hour. Where they agree the hour has one offset; where they do not, each
        instant in it is looked up.
        """
        hours, which = np.unique(seconds // HOUR, return_inverse=True)
        before = np.array([self._offset(hour * HOUR) for hour in hours.tolist()], dtype=np.int64)
        after = np.array([self._offset(hour * HOUR + HOUR - 1) for hour in hours.tolist()], dtype=np.int64)
        offsets = before[which] if len(hours) else np.zeros(0, dtype=np.int64)
        for at in np.flatnonzero((before != after)[which]).tolist():
            offsets[at] = self._offset(int(seconds[at]))
        return np.asarray(offsets)

    def local(self, seconds: Integers) -> Integers:
        """What the clock shows at instants, as seconds since 1970 on it."""
        return np.asarray(seconds + self.offsets(seconds))

    def instants(self, wall: Integers) -> Integers:
        """The instants at which the clock shows these times. A time that is skipped moves forward by what is skipped;
        of one that occurs twice the first is taken.
        """
        # the offset before a change is valid a day earlier, that after it a day later
        early, late = self.offsets(wall - DAY), self.offsets(wall + DAY)
        first, second = wall - early, wall - late
        shown = self.local(first)
        # where the clock goes on as before the change, that is the first reading; a skipped time moves forward
        return np.asarray(np.where((shown == wall) | (self.local(second) != wall), first, second))

    def _offset(self, seconds: int) -> int:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
        return int(moment.astimezone(self._rules).utcoffset() // timedelta(seconds=1))  # type: ignore[operator]


def wall_seconds(stamps: Stamps, clock: WallClock) -> Integers:
    """What the clock shows at each time, in seconds since 1970; a time without an offset is its own wall clock."""
    seconds = stamps.microseconds // MICROSECONDS
    instants = np.flatnonzero(stamps.kind == INSTANT)
    seconds[instants] = clock.local(seconds[instants])
    return np.asarray(seconds)


def hour_of(wall: Integers) -> Integers:
    """The hour of the day, 0 to 23."""
    return np.asarray((wall // HOUR) % 24)


def day_of(wall: Integers) -> Integers:
    """The date, as days since 1970."""
    return np.asarray(wall // DAY)


def weekday_of(wall: Integers) -> Integers:
    """The day of the week, 0 for Monday."""
    return np.asarray((day_of(wall) + _MONDAY) % 7)


MOST_VALUES = 100_000


@dataclass(frozen=True, slots=True)
class PublicValues:
    """The public values of an attribute.

    Parameters
    ----------
    name
        The column.
    values
        The names of its values; of bins of a number what stands for each of them.
    edges
        Where values are bins of a number: from each edge up to the next. Numbers outside have no value.

    >>> ward = PublicValues.from_names("ward", ["A", "B"])
    >>> ward.codes(["B", "C", None]).tolist()
    [1, -1, -1]
    >>> age = PublicValues.from_edges("age", "0,18,65,120")
    >>> age.values, age.codes(["17", "18", "999", "old"]).tolist()
    (('0..18', '18..65', '65..120'), [0, 1, -1, -1])
    """

    name: str
    values: tuple[str, ...]
    edges: tuple[Decimal, ...] | None = None

    @classmethod
    def from_names(cls, name: str, values: Iterable[str]) -> PublicValues:
        """An attribute with these values."""
        listed = tuple(str(value) for value in values)
        if not 1 <= len(listed) <= MOST_VALUES or len(set(listed)) < len(listed) or "" in listed:
            raise ParameterError(
                "attributes", expected=f"1 to {MOST_VALUES} different public values for {name!r}",
                found=f"{len(listed)}, some of them twice or empty" if listed else "none",
            )  # fmt: skip
        return cls(name, listed)

    @classmethod
    def from_edges(cls, name: str, text: str) -> PublicValues:
        """An attribute whose values are bins of a number, by their edges."""
        parts = [part.strip() for part in text.split(",")]
        numbers = [_number(part) for part in parts]
        edges = [number for number in numbers if number is not None]
        increasing = all(low < high for low, high in pairwise(edges))
        if len(edges) < len(parts) or len(edges) < 2 or not increasing:
            raise ParameterError(
                "attributes",
                expected="a file of public values, or increasing edges of bins such as 0,10,100",
                found=text,
            )
        names = tuple(f"{low}..{high}" for low, high in pairwise(parts))
        return cls(name, names, tuple(edges))

    def __len__(self) -> int:
        return len(self.values)

    def codes(self, cells: Iterable[str | None], plain: Callable[[str], str] = str) -> NDArray[np.int64]:
        """The code of each cell; -1 where it has none of the values."""
        known: dict[str | None, int] = {None: -1}
        number = {value: code for code, value in enumerate(self.values)}
        codes = []
        for cell in cells:
            code = known.get(cell)
            if code is None:
                text = plain(str(cell))
                code = number.get(text, -1) if self.edges is None else self._bin(text)
                known[cell] = code
            codes.append(code)
        return np.array(codes, dtype=np.int64)

    def _bin(self, text: str) -> int:
        number = _number(text)
        if number is None or self.edges is None or not self.edges[0] <= number < self.edges[-1]:
            return -1
        return bisect_right(self.edges, number) - 1

    @classmethod
    def read(cls, name: str, text: str, lines: Callable[[str], Iterable[str]]) -> PublicValues:
        """An attribute as it is typed: edges of bins such as 0,10,100, or a file with a value in each line."""
        if "," in text and all(_number(part) is not None for part in text.split(",")):
            return cls.from_edges(name, text)
        return cls.from_names(name, [line for line in lines(text) if line])

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> PublicValues:
        """The attribute in a model or a manifest."""
        name, edges = str(document["name"]), document.get("edges")
        own = cls.from_names(name, document["values"]) if edges is None else cls.from_edges(name, ",".join(edges))
        if list(own.values) != list(document["values"]):
            raise ValueError("values that do not fit")
        return own

    def sampled(self, codes: NDArray[np.int64], within: NDArray[np.float64]) -> list[str]:
        """A text for each code; of bins of a number a number inside, with as many decimals as edges have.

        `within` says where inside the bin, from 0 up to 1.

        >>> PublicValues.from_edges("age", "0,18,65").sampled(np.array([1]), np.array([0.5]))
        ['41']
        """
        if self.edges is None:
            return [self.values[code] for code in codes.tolist()]
        places = max(max(-int(edge.as_tuple().exponent), 0) for edge in self.edges)
        unit = Decimal(1).scaleb(-places)
        texts = []
        for code, part in zip(codes.tolist(), within.tolist(), strict=True):
            low, high = self.edges[code], self.edges[code + 1]
            steps = int((high - low) / unit)
            texts.append(f"{low + unit * min(int(part * steps), max(steps - 1, 0)):f}")
        return texts

    def document(self) -> dict[str, object]:
        """The JSON form."""
        bins = {} if self.edges is None else {"edges": [str(edge) for edge in self.edges]}
        return {"name": self.name, "values": list(self.values), **bins}


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
