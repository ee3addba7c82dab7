"""Metrics of times: how long cases take and wait, and at which hours and on which days things happen.

Cycles are from the first to the last event of a case, waits from an event to the next one. Medians and means of waits
are compared by move, in doublings: log₂ of the ratio, with a minute added to both, at most 10. Divergences are those
of `distributions.jensen_shannon`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symveil.comparison.distributions import CodedWords, Integers, jensen_shannon
from symveil.models.times import (
    MICROSECONDS,
    UNKNOWN,
    Period,
    Stamps,
    WallClock,
    day_of,
    hour_of,
    wall_seconds,
    weekday_of,
)

TIME_METRICS = (
    "cycle_mean_error",
    "cycle_median_error",
    "cycle_p90_error",
    "cycle_w1",
    "wait_median_log2",
    "wait_mean_log2",
    "hour_jsd",
    "start_hour_jsd",
    "weekday_jsd",
    "week_l1",
)
QUANTILES = 2000
"""Points at which the quantiles of cycles are compared."""
FEWEST_WAITS = 10
"""Of a move in the true file: with fewer its median says little."""
_MINUTE, _MOST = 60.0, 10.0


@dataclass(frozen=True, eq=False)
class TimedWords:
    """The words of a file with the times of their events.

    Parameters
    ----------
    words, stamps
        The words, and the time of each symbol.
    clock
        What the hour of an instant is.
    """

    words: CodedWords
    stamps: Stamps
    clock: WallClock

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which times are known."""
        return np.asarray(self.stamps.kind != UNKNOWN)

    @property
    def wall(self) -> Integers:
        """What the clock shows at each event."""
        return wall_seconds(self.stamps, self.clock)

    def cycles(self) -> Integers:
        """The seconds from the first to the last event of each case whose ends are known."""
        cases = np.flatnonzero(self.words.lengths > 0)
        first = self.words.starts[cases]
        return self._apart(first, first + self.words.lengths[cases] - 1)[0]

    def waits(self) -> tuple[Integers, Integers]:
        """The move and the seconds of each wait that is known."""
        word = self.words.word_of
        after = np.flatnonzero(word[1:] == word[:-1]) + 1
        seconds, right = self._apart(after - 1, after)
        codes = self.words.codes.astype(np.int64)
        return codes[after[right] - 1] * self.words.symbols + codes[after[right]], seconds

    def starts(self) -> Integers:
        """What the clock shows at each start that is known."""
        first = self.words.starts[self.words.lengths > 0]
        return self.wall[first[self.known[first]]]

    def _apart(self, one: Integers, other: Integers) -> tuple[Integers, NDArray[np.bool_]]:
        kind, since = self.stamps.kind, self.stamps.microseconds
        right = (kind[one] != UNKNOWN) & (kind[one] == kind[other])
        return np.maximum((since[other[right]] - since[one[right]]) // MICROSECONDS, 0), right


def time_metrics(true: TimedWords, private: TimedWords, period: Period | None) -> dict[str, float | None]:
    """All metrics of times by name; None where a file has nothing that they are about.

    `period` are the dates whose weeks are compared; without it, from the first start of both files to the last.
    """
    metrics: dict[str, float | None] = dict.fromkeys(TIME_METRICS)
    one, other = true.cycles(), private.cycles()
    if len(one) and len(other) and one.sum():
        at = (np.arange(QUANTILES) + 0.5) / QUANTILES
        metrics["cycle_w1"] = float(np.abs(np.quantile(one, at) - np.quantile(other, at)).mean() / one.mean())
        centres: dict[str, Callable[[Integers], np.floating]] = {
            "mean": np.mean,
            "median": np.median,
            "p90": lambda values: np.quantile(values, 0.9),
        }
        for name, centre in centres.items():
            if centre(one) > 0:
                metrics[f"cycle_{name}_error"] = float(abs(centre(other) - centre(one)) / centre(one))
    for name, centre in (("median", np.median), ("mean", np.mean)):
        metrics[f"wait_{name}_log2"] = _doublings(true.waits(), private.waits(), centre)
    events = (true.wall[true.known], private.wall[private.known])
    starts = (true.starts(), private.starts())
    if all(map(len, events)):
        metrics["hour_jsd"] = jensen_shannon(*(np.bincount(hour_of(each), minlength=24) for each in events))
        metrics["weekday_jsd"] = jensen_shannon(*(np.bincount(weekday_of(each), minlength=7) for each in events))
    if all(map(len, starts)):
        metrics["start_hour_jsd"] = jensen_shannon(*(np.bincount(hour_of(each), minlength=24) for each in starts))
        metrics["week_l1"] = _weeks(*starts, period)
    return metrics


def _doublings(
    true: tuple[Integers, Integers], private: tuple[Integers, Integers], centre: Callable[[Integers], np.floating]
) -> float | None:
    """The mean |log₂| by which a centre of the waits of a move is off, over the waits of the true file."""
    total = weight = 0.0
    own, theirs = _by_move(*true), _by_move(*private)
    for move, waits in own.items():
        if len(waits) >= FEWEST_WAITS and move in theirs:
            ratio = (float(centre(theirs[move])) + _MINUTE) / (float(centre(waits)) + _MINUTE)
            total += len(waits) * min(abs(float(np.log2(ratio))), _MOST)
            weight += len(waits)
    return total / weight if weight else None


def _by_move(moves: Integers, waits: Integers) -> dict[int, Integers]:
    order = np.argsort(moves, kind="stable")
    listed, first = np.unique(moves[order], return_index=True)
    return dict(zip(listed.tolist(), np.split(waits[order], first[1:]), strict=True)) if len(moves) else {}


def _weeks(true: Integers, private: Integers, period: Period | None) -> float | None:
    """How far the shares of starts in weeks of seven dates are apart, added up: from 0 to 2."""
    days = [day_of(each) for each in (true, private)]
    first = min(int(each.min()) for each in days) if period is None else period.first_day
    last = max(int(each.max()) for each in days) if period is None else period.first_day + period.days - 1
    weeks = (last - first) // 7 + 1
    tables = [np.bincount((each[(each >= first) & (each <= last)] - first) // 7, minlength=weeks) for each in days]
    if not all(table.sum() for table in tables):
        return None
    one, other = (table / table.sum() for table in tables)
    return float(np.abs(one - other).sum())
