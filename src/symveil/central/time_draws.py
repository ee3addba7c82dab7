"""Times for synthetic words: waits, starts and hours from a law of times that was released.

Words stay as they are. For each one `CANDIDATES` versions of its waits are drawn, and one of them is chosen so that the
sums follow the released law of cycles. Everything is in whole seconds and in instants, which never decrease.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symveil.central.time_law import TimeLaw
from symveil.central.time_tables import DAY_LONG, LONG, waits_of
from symveil.central.word_law import Floats, column_of
from symveil.estimation.statistics import Indices
from symveil.models.alphabet import Codes, Lengths
from symveil.models.times import DAY, FIRST_SECOND, HOUR, LAST_SECOND, WaitGrid, hour_of, weekday_of
from symveil.randomness import BitSource

CANDIDATES = 48
FITTED_ON = 2000
"""The least number of words that the choice among candidates is fitted on, however few are asked for."""
_MOST_FITTED = 10_000
_ROUNDS, _STEP, _STEEPEST, _SLACK = 60, 0.7, 8.0, 1e-4
_AT_ONCE = 1_000_000
"""Waits that are drawn together: it bounds memory."""
NEAR, FAR = 12 * HOUR, 7 * DAY // 2
"""How far long waits move to a likely hour, and those of two days and more to a likely day."""
_FAR_FROM = 2 * DAY


def draw_times(law: TimeLaw, codes: Codes, lengths: Lengths, count: int, bits: BitSource) -> Indices:
    """The instants of the events of the first `count` words, in seconds since 1970.

    Parameters
    ----------
    law
        The law of times.
    codes, lengths
        Words, one after the other: at least `FITTED_ON`, where the choice among candidates is to be fitted well.
    count
        How many of them get times.
    bits
        Where random bits come from.
    """
    fitted = min(len(lengths), max(count, FITTED_ON), _MOST_FITTED)
    tilt = _fitted_tilt(law, codes, lengths, fitted, bits)
    total = int(lengths[:count].sum())
    waits = np.zeros(total, dtype=np.int64)
    for words in _blocks(lengths[:count]):
        own = _Candidates.of(law, codes, lengths, words, bits)
        weights = np.exp(tilt[own.sum_bins(law.settings.grid)])
        picked = column_of(weights, bits.fractions(len(weights)))
        waits[own.events] = own.waits[np.arange(len(own.events)), picked[own.word]]
    starts = _drawn_starts(law, count, bits)
    return _at_likely_hours(law, codes[:total], lengths[:count], waits, starts, bits)


def _blocks(lengths: Lengths) -> Iterator[tuple[int, int]]:
    """Slices of words whose candidates fit into memory."""
    ends = np.cumsum(np.maximum(lengths, 1))
    begin = 0
    while begin < len(lengths):
        before = int(ends[begin - 1]) if begin else 0
        stop = max(begin + 1, int(np.searchsorted(ends, before + _AT_ONCE // CANDIDATES, side="right")))
        yield begin, stop
        begin = stop


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Versions of the waits of some words: a row for each wait, a column for each version."""

    events: Indices
    """The event at which each wait ends, among all events."""
    word: Indices
    """Which word of the block each wait is in."""
    waits: Indices
    sums: Indices
    """The sum of the waits of each word."""

    @classmethod
    def of(cls, law: TimeLaw, codes: Codes, lengths: Lengths, words: tuple[int, int], bits: BitSource) -> _Candidates:
        begin, stop = words
        first = int(lengths[:begin].sum())
        word, at = waits_of(lengths[begin:stop])
        local = codes[first : first + len(word)]
        move = law.steps.number(local[at - 1], local[at])
        random = bits.words(len(at) * CANDIDATES).reshape(len(at), CANDIDATES)
        which = (random >> np.uint64(32)).astype(np.float64) * 2.0**-32
        within = (random & np.uint64(0xFFFFFFFF)).astype(np.float64) * 2.0**-32
        grid = law.steps.waits or law.settings.grid
        rows = law.rows[move]
        bins = np.empty((len(at), CANDIDATES), dtype=np.int64)
        for row in np.unique(rows).tolist():
            inside = rows == row
            ends = np.cumsum(law.waits[row])
            bins[inside] = np.searchsorted(ends[:-1] / ends[-1], which[inside], side="right")
        waits = _inside(grid, bins, within)
        if law.steps.metres is not None:
            waits = np.rint(law.steps.seconds(move[:, None], waits.astype(np.float64) + within)).astype(np.int64)
        sums = np.zeros((stop - begin, CANDIDATES), dtype=np.int64)
        if len(at):
            heads = np.flatnonzero(np.concatenate([[True], word[at][1:] != word[at][:-1]]))
            sums[word[at][heads]] = np.add.reduceat(waits, heads, axis=0)
        return cls(at + first, word[at], waits, sums)

    def sum_bins(self, grid: WaitGrid) -> Indices:
        """The bin of each sum; one more for sums beyond the last edge."""
        return np.asarray(np.where(self.sums >= grid.edges[-1], len(grid), grid.bins(self.sums)))


def _inside(grid: WaitGrid, bins: Indices, within: Floats) -> Indices:
    """Whole seconds inside bins, log-uniform; those of the first bin are 0."""
    edges = np.array(grid.edges, dtype=np.float64)
    low, high = edges[:-1][bins], edges[1:][bins]
    drawn = np.floor(np.maximum(low, 1.0) * np.exp(within * np.log(high / np.maximum(low, 1.0))))
    return np.asarray(np.where(bins == 0, 0, np.clip(drawn, low, high - 1)), dtype=np.int64)


def _fitted_tilt(law: TimeLaw, codes: Codes, lengths: Lengths, words: int, bits: BitSource) -> Floats:
    """v by bin of the sum: candidates are chosen with weights e^v, so that sums follow the law of cycles.

    Sums beyond the last edge are to have no share. v is bounded, so it is met nearly.
    """
    grid = law.settings.grid
    target = np.append(law.cycle, 0.0)
    bins = np.concatenate([
        _Candidates.of(law, codes, lengths, block, bits).sum_bins(grid) for block in _blocks(lengths[:words])
    ]).astype(np.int64)  # fmt: skip
    tilt = np.zeros(len(grid) + 1)
    # how many versions of each word are in each bin: the same in every round
    counts = np.zeros((len(bins), len(grid) + 1))
    np.add.at(counts, (np.repeat(np.arange(len(bins)), bins.shape[1]), bins.reshape(-1)), 1.0)
    for _ in range(_ROUNDS):
        weights = counts * np.exp(tilt)
        now = (weights / weights.sum(axis=1, keepdims=True)).mean(axis=0)
        tilt = np.clip(tilt + _STEP * np.log((target + _SLACK) / (now + _SLACK)), -_STEEPEST, _STEEPEST)
    return tilt


def _drawn_starts(law: TimeLaw, count: int, bits: BitSource) -> Indices:
    """Instants of starts: a week, a weekday and an hour, and any second in it; no date after the period's last."""
    period = law.settings.period
    days = period.first_day + np.arange(period.days)
    weights = law.weeks[period.week(days)] * law.start_weekdays[weekday_of(days * DAY)]
    weights = weights if weights.sum() > 0 else np.ones(len(days))
    day = days[_picked(np.cumsum(weights), count, bits)]
    hour = _picked(np.cumsum(law.start_hours), count, bits)
    second = np.floor(bits.fractions(count) * HOUR).astype(np.int64)
    instants = law.settings.clock.instants(day * DAY + hour * HOUR + second)
    return np.asarray(np.clip(instants, FIRST_SECOND, LAST_SECOND))  # a clock shows its ends earlier or later


def _picked(ends: Floats, count: int, bits: BitSource) -> Indices:
    number = np.searchsorted(ends / ends[-1], bits.fractions(count), side="right")
    return np.asarray(np.minimum(number, len(ends) - 1), dtype=np.int64)


def _at_likely_hours(
    law: TimeLaw, codes: Codes, lengths: Lengths, waits: Indices, starts: Indices, bits: BitSource
) -> Indices:
    """All instants; long waits are moved inside their bin to an hour, and a day, at which such waits end."""
    grid = law.settings.grid
    first = np.cumsum(lengths) - lengths
    instants = np.zeros(len(codes), dtype=np.int64)
    going = np.flatnonzero(lengths > 0)
    instants[first[going]] = starts[going]
    edges = np.array(grid.edges, dtype=np.int64)
    bins = grid.bins(waits)
    long = np.zeros(len(waits), dtype=np.bool_) if law.steps.metres is not None else grid.from_lower(LONG)[bins]
    for position in range(1, int(lengths.max(initial=0))):
        going = going[lengths[going] > position]
        at = first[going] + position
        for far in (False, True):
            moved = at[long[at] & ((waits[at] >= _FAR_FROM) == far)]
            for piece in np.array_split(moved, max(1, len(moved) // 4096)):
                if len(piece):
                    low, high = edges[bins[piece]], edges[bins[piece] + 1] - 1
                    waits[piece] = _moved(law, codes[piece], instants[piece - 1], waits[piece], low, high, far, bits)
        instants[at] = np.minimum(instants[at - 1] + waits[at], LAST_SECOND)  # no date has a year behind it
    return instants


def _moved(
    law: TimeLaw, codes: NDArray[np.int32], before: Indices, wait: Indices, low: Indices, high: Indices, far: bool,
    bits: BitSource,
) -> Indices:  # fmt: skip
    """Each wait moved to a second of a likely hour, inside its bin and not too far away."""
    reach = FAR if far else NEAR
    least, most = np.maximum(low, wait - reach), np.minimum(high, wait + reach)
    clock = law.settings.clock
    shift = clock.offsets(np.minimum(before + wait, LAST_SECOND))
    hours = 2 * reach // HOUR + 2
    begin = ((before + least + shift) // HOUR)[:, None] + np.arange(hours)  # hours of the clock, since 1970
    from_wait = np.maximum(begin * HOUR - (before + shift)[:, None], least[:, None])
    to_wait = np.minimum((begin + 1) * HOUR - (before + shift)[:, None] - 1, most[:, None])
    seconds = np.maximum(to_wait - from_wait + 1, 0)
    likely = law.hours[law.row_of_activity[codes]]
    weight = np.take_along_axis(likely, hour_of(begin * HOUR), axis=1) * seconds
    by_day = low >= DAY_LONG
    weight = np.where(by_day[:, None], weight * law.weekdays[weekday_of(begin * HOUR)], weight)
    nothing = weight.sum(axis=1) <= 0
    slot = column_of(weight, bits.fractions(len(wait)))
    rows = np.arange(len(wait))
    drawn = from_wait[rows, slot] + np.floor(bits.fractions(len(wait)) * seconds[rows, slot]).astype(np.int64)
    bad = nothing | (seconds[rows, slot] <= 0)
    return np.asarray(np.where(bad, wait, np.clip(drawn, least, most)))
