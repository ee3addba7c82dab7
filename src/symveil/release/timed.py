"""Releases of events with their times: the public grid of times, the law of an event, and what both promise.

On an alphabet one budget covers symbol and time (the joint staircase, `mechanisms.timed_events`): every changed event
costs at most ε/b. On a model words come from the mechanism at its share of ε, and times from the same law without
symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from symveil.errors import ParameterError
from symveil.formats.sequences.records import HOURS, TIME
from symveil.laws.event_law import EventLaw
from symveil.laws.guarantee import LossCurve
from symveil.mechanisms.choice import MechanismChoice
from symveil.mechanisms.timed_events import EventDraws, choose_event_law
from symveil.models.alphabet import Codes
from symveil.models.times import (
    MICROSECONDS,
    UNKNOWN,
    Stamps,
    WaitGrid,
    WallClock,
    hour_of,
    wall_seconds,
    weekday_of,
)
from symveil.numbers.once import computed_once
from symveil.numbers.rationals import at_least, exact, spelled
from symveil.randomness import BitSource

Indices = NDArray[np.int64]

NAME = "joint-staircase"
"""What a manifest calls the mechanism that releases symbols with their times."""
ANY = "any"
_HOURS, _WEEK_HOURS = 24, 7 * 24
_WAIT = "wait:"
_LAST = datetime(9999, 12, 31, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class TimeGrid:
    """The public grid that times are released on: hours of the day, hours of the week, or bins of waits.

    Parameters
    ----------
    name
        As it is typed.
    waits
        The bins of waits; None: hours.

    >>> grid = TimeGrid.read("wait:0,1m,1h,1d")
    >>> grid.bins, grid.circle, TimeGrid.read("hour").bins, TimeGrid.read("hour-of-week").bins
    (3, False, 24, 168)
    """

    name: str
    waits: WaitGrid | None = None

    @classmethod
    def read(cls, value: object) -> Self:
        """A grid as it is typed: hour, hour-of-week, or wait: with a range or with edges."""
        text = str(value)
        if text in ("hour", "hour-of-week"):
            return cls(text)
        if not text.startswith(_WAIT):
            raise ParameterError(
                "time_grid", expected="hour, hour-of-week, or waits such as wait:1s..365d or wait:0,1m,1h,1d",
                found=repr(text[:60]),
            )  # fmt: skip
        try:
            waits = WaitGrid.read(text.removeprefix(_WAIT))
        except ParameterError as error:
            raise ParameterError("time_grid", expected=f"after wait: {error.expected}", found=error.value) from None
        if len(waits) < 2:
            raise ParameterError("time_grid", expected="2 bins of waits or more", found="1")
        return cls(f"{_WAIT}{waits.spelled()}", waits)

    @property
    def circle(self) -> bool:
        """Whether the last bin is beside the first one."""
        return self.waits is None

    @property
    def bins(self) -> int:
        """How many bins there are."""
        if self.waits is not None:
            return len(self.waits)
        return _HOURS if self.name == "hour" else _WEEK_HOURS

    def of(self, stamps: Stamps, lengths: Indices, clock: WallClock) -> Indices:
        """The bin of each event; -1 where there is none: where a time is unknown, and of waits before a first event.

        Stamps are those of all events, one word after the other.

        >>> stamps = Stamps(np.array([0, 90 * 10**6, 0]), np.array([2, 2, 0], dtype=np.int8))
        >>> TimeGrid.read("wait:0,1m,1h").of(stamps, np.array([3]), WallClock()).tolist()
        [-1, 1, -1]
        """
        if self.waits is None:
            wall = wall_seconds(stamps, clock)
            hours = hour_of(wall) if self.name == "hour" else weekday_of(wall) * _HOURS + hour_of(wall)
            return np.where(stamps.kind == UNKNOWN, -1, hours)
        first = np.zeros(len(stamps), dtype=np.bool_)
        first[(np.cumsum(lengths) - lengths)[lengths > 0]] = True
        since = stamps.microseconds - np.roll(stamps.microseconds, 1)
        known = ~first & (stamps.kind != UNKNOWN) & (stamps.kind == np.roll(stamps.kind, 1))
        return np.where(known, self.waits.bins(since // MICROSECONDS), -1)

    def first_unknown(self, stamps: Stamps, lengths: Indices, clock: WallClock) -> Indices:
        """The position, from 1 on, of the first event of each word whose time cannot be released; 0: there is none."""
        missing = self.of(stamps, lengths, clock) < 0
        starts = np.cumsum(lengths) - lengths
        if self.waits is not None:
            at = starts[lengths > 0]
            missing[at] = stamps.kind[at] == UNKNOWN
        position = np.arange(len(missing)) - np.repeat(starts, lengths) + 1
        first = np.full(len(lengths), np.iinfo(np.int64).max)
        np.minimum.at(first, np.repeat(np.arange(len(lengths)), lengths)[missing], position[missing])
        return np.where(first == np.iinfo(np.int64).max, 0, first)

    def middles(self) -> Indices:
        """What stands for each bin of waits: its geometric middle in whole seconds; 0 for the first bin.

        >>> TimeGrid.read("wait:0,1m,1h,1d").middles().tolist()
        [0, 464, 17636]
        """
        assert self.waits is not None  # noqa: S101 - asked where there are waits
        edges = np.array(self.waits.edges, dtype=np.float64)
        middles = np.floor(np.sqrt(np.maximum(edges[:-1], 1) * edges[1:])).astype(np.int64)
        middles[0] = 0
        return np.asarray(np.maximum(middles, np.array(self.waits.edges[:-1])), dtype=np.int64)


@dataclass(frozen=True, kw_only=True, slots=True)
class TimedEvents:
    """How events are released with their times.

    Parameters
    ----------
    grid, clock
        The public grid, and the clock of its hours.
    law
        The law of an event; on a model without symbols.
    joint
        Whether symbols are drawn with it: on an alphabet.
    share
        On a model: what times get of epsilon.
    """

    grid: TimeGrid
    clock: WallClock = field(repr=False)
    law: EventLaw
    joint: bool
    share: Fraction | None = None

    def parameters(self) -> dict[str, Any]:
        """What a manifest and the ledger have among the parameters."""
        shift = ANY if self.law.shift is None else self.law.shift
        share = {} if self.share is None else {"time_share": spelled(self.share)}
        return {"time_grid": self.grid.name, "time_shift": shift, "timezone": self.clock.zone, **share}

    def decided(self) -> dict[str, Any]:
        """What the ledger compares beside: the law, and the rules of the zone by which hours are read."""
        return {**self.law_document(), "zone": self.clock.digest()}

    def law_document(self) -> dict[str, Any]:
        """What the law of a manifest has."""
        return {"time_grid": self.grid.name, **self.law.document(), "rate": spelled(self.law.rate)}

    def _beside_document(self) -> dict[str, Any]:
        """The same in a row about words, which have a rate of their own."""
        return {"time_rate" if key == "rate" else key: value for key, value in self.law_document().items()}

    # --- what is promised ----------------------------------------------------------------------

    def loss(self, events: int, *, arbitrarily: bool = False) -> Fraction:
        """What words lose at most that differ in so many events, by this law alone.

        `arbitrarily`: their times differ by any number of bins, and not by the declared shift.
        """
        return events * self.law.rate * (self.law.farthest_cost if arbitrarily else 1)

    def promised(self, document: dict[str, Any], lengths: Indices, adjacency: int) -> dict[str, Any]:
        """The promise of a release, where this law takes part in it.

        `document` is the promise for the words without their times.
        """
        longest = int(lengths.max(initial=0))
        near = min(adjacency, longest)
        own = at_least(self.loss(near))
        if not self.joint:
            return self._beside_words(document, near)
        # attained by Theorem L1; one symbol without a wait, as in words of one event, loses nothing
        how = "exact" if self.law.symbols > 1 or self.grid.waits is None else "certified"
        curve = LossCurve(adjacency, longest, lambda distance: at_least(self.loss(distance, arbitrarily=True)))
        rate, ends = spelled(self.law.rate), [int(lengths[lengths > 0].min(initial=longest)), longest]
        classes = [{"lengths": ends, "mechanism": NAME, "eta": rate, "guarantee": {"epsilon": own, "how": how}}] * bool(
            longest
        )
        return {
            **document,
            "mechanism": NAME,
            "eta": rate if longest else None,
            "how": how if longest else "exact",
            "guarantee": {"epsilon": own, "how": how if longest else "exact", "loss_at": curve.rows()},
            "classes": classes,
            "law": [{"lengths": ends, "mechanism": NAME, "reach": near, **self.law_document()}] * bool(longest),
        }

    def _beside_words(self, document: dict[str, Any], near: int) -> dict[str, Any]:
        """The loss of the words and that of the times add up; rows of the law have both, classes are of the words."""

        def added(row: dict[str, Any], events: int, *, arbitrarily: bool = False) -> dict[str, Any]:
            if not isinstance(row["epsilon"], int | float):
                return row
            return {**row, "epsilon": at_least(exact(row["epsilon"]) + self.loss(events, arbitrarily=arbitrarily))}

        guarantee = added(document["guarantee"], near)
        if "loss_at" in guarantee:
            guarantee["loss_at"] = [added(row, row["distance"], arbitrarily=True) for row in guarantee["loss_at"]]
        return {
            **document,
            "guarantee": guarantee,
            "law": [{**row, **self._beside_document()} for row in document["law"]],
        }


@dataclass(frozen=True, kw_only=True)
class TimedPlan:
    """How the records of a file are released with their times.

    Parameters
    ----------
    events
        The grid and the law.
    read
        The times of all symbols of some records, one after the other.
    start
        Where stamps begin that have the released waits; None: hours are released.
    """

    events: TimedEvents
    read: Callable[[pa.RecordBatch], Stamps] = field(repr=False)
    start: datetime | None = None

    def first_unknown(self, batch: pa.RecordBatch, lengths: Indices) -> Indices:
        """The position, from 1 on, of the first event of each record whose time cannot be released; 0: none."""
        if self.start is not None and int(lengths.max(initial=0)) > self._most_events:
            raise ParameterError(
                "time_grid", expected=f"waits with which {int(lengths.max())} events end before the year 9999, in any "
                "bin", found=self.events.grid.name,
            )  # fmt: skip
        return self.events.grid.first_unknown(self.read(batch), lengths, self.events.clock)

    @property
    def _most_events(self) -> int:
        assert self.start is not None  # noqa: S101 - waits are released
        return int((_LAST - self.start).total_seconds()) // max(int(self.events.grid.middles().max()), 1)

    def bins(self, batch: pa.RecordBatch, lengths: Indices) -> Indices:
        """The bin of each event."""
        return self.events.grid.of(self.read(batch), lengths, self.events.clock)

    def drawn(self, codes: Codes, bins: Indices, lengths: Indices, bits: BitSource) -> tuple[Codes, Indices]:
        """A private version of events: symbols with their times, or, where these are drawn apart, the times alone."""
        if self.events.joint:
            return self._draws.draw(codes, bins, lengths, bits)
        _, moved = self._draws.draw(np.zeros(len(codes), dtype=np.int32), bins, lengths, bits)
        return codes, moved

    @computed_once
    def _draws(self) -> EventDraws:
        return EventDraws(self.events.law)

    def written(self, batch: pa.RecordBatch, bins: Indices, lengths: Indices) -> pa.RecordBatch:
        """The batch with the released times in the place of the true ones."""
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
        rest = batch.drop_columns([TIME])
        if self.start is None:
            return rest.append_column(HOURS, pa.ListArray.from_arrays(offsets, pa.array(bins)))
        waits = np.append(self.events.grid.middles(), 0)[bins]  # the bin -1 is that of a first event, which is at 0
        total = np.cumsum(waits)
        first = (np.cumsum(lengths) - lengths)[lengths > 0]
        seconds = total - np.repeat(total[first], lengths[lengths > 0])
        begin = np.datetime64(self.start.replace(tzinfo=None), "s")
        texts = np.datetime_as_string(begin + seconds.astype("timedelta64[s]"), unit="s").tolist()
        stamps = pa.array([f"{text}.000+00:00" for text in texts], type=pa.string())
        return rest.append_column(TIME, pa.ListArray.from_arrays(offsets, stamps))


_SHARE = Fraction(2, 5)
"""What times get of epsilon on a model."""
_DEFAULTS = {
    "prior": "uniform",
    "utility": "distance",
    "calibration": "tight",
    "metric": "hamming",
    "cost": None,
    "costs": None,
    "cap": None,
    "balanced": False,
    "step": None,
}
"""What the joint staircase leaves to choose: nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TimeSettings:
    """What is asked for where the times of events are released.

    Parameters
    ----------
    grid, shift, timezone
        As they are typed.
    share
        On a model: what times get of epsilon; None: two fifths.

    >>> TimeSettings(grid="hour", shift="any").shift
    'any'
    """

    grid: str
    shift: object = ANY
    timezone: str | None = None
    share: object = None

    def __post_init__(self) -> None:
        # before any file is opened
        TimeGrid.read(self.grid)
        read_shift(self.shift)
        WallClock.read(self.timezone)

    @property
    def has_waits(self) -> bool:
        """Whether waits are released, and not hours."""
        return TimeGrid.read(self.grid).waits is not None

    @classmethod
    def from_parameters(cls, document: Mapping[str, Any]) -> Self:
        """Those of a manifest with a `time_grid`."""
        return cls(
            grid=document["time_grid"], shift=document["time_shift"], timezone=document["timezone"],
            share=document.get("time_share"),
        )  # fmt: skip

    def of_words(self, choice: MechanismChoice, *, on_model: bool) -> MechanismChoice:
        """The choice of the mechanism that words have beside their times; refused where times cannot stand beside it.

        Words of a model get their share of epsilon.
        """
        if choice.metric == "levenshtein":
            raise ParameterError(
                "time_grid", expected="metric hamming with it: the number of events is public where times are released",
                found="levenshtein",
            )  # fmt: skip
        if choice.adjacency == "all":
            raise ParameterError("adjacency", expected="a number of events where times are released", found="all")
        if choice.public_start:
            raise ParameterError(
                "public_start", expected="no first symbol that passes beside released times", found=True
            )
        if on_model:
            return replace(choice, epsilon=choice.epsilon * (1 - self.share_of_times))
        if self.share is not None:
            raise ParameterError(
                "time_share", expected="a model with it: over an alphabet one budget covers symbol and time",
                found=self.share,
            )  # fmt: skip
        if choice.mechanism not in ("auto", "exponential"):
            raise ParameterError(
                "mechanism", expected="auto with released times: the joint staircase draws symbol and time together",
                found=choice.mechanism,
            )  # fmt: skip
        for name, default in _DEFAULTS.items():
            if getattr(choice, name) != default:
                raise ParameterError(
                    name, expected="nothing beside released times, which are drawn with the symbols",
                    found=getattr(choice, name),
                )  # fmt: skip
        return replace(choice, mechanism="exponential", beyond="nothing")

    @property
    def share_of_times(self) -> Fraction:
        """What times get of epsilon on a model."""
        share = _SHARE if self.share is None else exact(self.share, name="time_share")  # type: ignore[arg-type]
        if not 0 < share < 1:
            raise ParameterError("time_share", expected="a number between 0 and 1 such as 0.4", found=self.share)
        return share

    def events(
        self, *, symbols: int | None, epsilon: Fraction, adjacency: int, law: Mapping[str, Any] | None
    ) -> TimedEvents:
        """How events are released.

        There is a number of symbols over an alphabet; `law` is a row of a manifest, without which the best one is
        looked for.
        """
        grid, clock, moved = TimeGrid.read(self.grid), WallClock.read(self.timezone), read_shift(self.shift)
        joint, share = symbols is not None, None if symbols is not None else self.share_of_times
        budget, m = (epsilon if share is None else epsilon * share) / adjacency, symbols or 1
        if law is None:
            chosen = choose_event_law(symbols=m, bins=grid.bins, circle=grid.circle, shift=moved, epsilon=budget)
        else:
            own, rate = law["shift"], law["rate"] if joint else law["time_rate"]
            chosen = EventLaw(
                symbols=m, bins=grid.bins, circle=grid.circle, shift=None if own == ANY else own,
                step=law["step"], rate=exact(rate, name="rate"),
            )  # fmt: skip
            declared = moved if moved is not None and moved < chosen.reach else None
            if chosen.rate > budget or chosen.shift != declared:
                raise ParameterError(
                    "law", expected="the shift and at most the rate that were asked for", found="others"
                )
        return TimedEvents(grid=grid, clock=clock, law=chosen, joint=joint, share=share)


def words_alone(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the law of a manifest without what it says of times.

    >>> words_alone({"mechanism": "exponential", "rate": "1", "time_grid": "hour", "step": 2})
    {'mechanism': 'exponential', 'rate': '1'}
    """
    of_times = ("time_grid", "shift", "step", "time_rate") if "time_grid" in row else ()
    return {key: value for key, value in row.items() if key not in of_times}


def read_shift(value: object) -> int | None:
    """By how many bins a time may move: a whole number, or any (None).

    >>> read_shift("3"), read_shift("any"), read_shift(None)
    (3, None, None)
    """
    text = str(value)
    if value is None or text == ANY:
        return None
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:6]) == int(text)):
        raise ParameterError("time_shift", expected="a whole number of bins, 1 or more, or any", found=repr(text[:40]))
    return int(text)
