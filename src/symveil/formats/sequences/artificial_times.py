"""Times that private events get in the place of the true ones, which are not private.

Every sequence begins at the same moment, and an event follows the one before it by the same step. So a time tells the
position of its event and nothing else, whatever the true times were, and tools that need a date in each event can read
private logs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from symveil.errors import ParameterError

_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_STEP = re.compile(r"(\d{1,9})(ms|s|m|h|d)")
_LONGEST = timedelta(days=3660)
_LAST = datetime(9999, 12, 31, tzinfo=UTC)
DEFAULT_START, DEFAULT_STEP = "2000-01-01T00:00:00+00:00", "1m"


@dataclass(frozen=True, slots=True)
class ArtificialTimes:
    """The time that the first event of every sequence gets, and the step from each event to the next one.

    Parameters
    ----------
    start
        The time of every first event, in UTC.
    step
        From an event to the next.

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

        Parameters
        ----------
        start
            A date or a timestamp of ISO 8601; without a zone it is in UTC.
        step
            A whole number with its unit: ms, s, m, h or d.
        longest
            How many events a sequence may have: all of them need a date.
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

    Parameters
    ----------
    start
        The time of every first event, in UTC.

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
