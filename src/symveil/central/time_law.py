"""The law of times that five noisy tables speak for. Everything here reads released numbers only.

Rows are shrunk in ratio towards what they have in common: the weight m_k = n·p_k·e^{θ_k} of a bin solves
n·p_k·e^θ + σθ = y_k, so a small bin that noise has raised falls back, and a full one stays. What all rows share
is smoothed by the triangular kernel whose width has the least risk by Stein's unbiased estimate.

Times for synthetic words are drawn from a law that was released. Words stay as they are. For each one `candidates`
versions of its waits are drawn, and one of them is chosen so that the sums follow the released law of cycles.
Everything is in whole seconds and in instants, which never decrease.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from symveil.central.cells import cell_name
from symveil.central.limits import LIMITS
from symveil.central.noise import NoisyTable, Query
from symveil.central.time_tables import (
    PersonTimes,
    Rows,
    Steps,
    TimeSettings,
    WordsReleased,
    clock_names,
    clock_rows,
    duration_names,
    expected_weights,
    names_of_bins,
    time_queries,
    waits_of,
    weekday_names,
)
from symveil.central.word_law import Support, column_of
from symveil.estimation.table import Floats, Indices, projected
from symveil.models.alphabet import Codes, Lengths
from symveil.models.times import DAY, FIRST_SECOND, HOUR, LAST_SECOND, WaitGrid, hour_of, weekday_of
from symveil.randomness import BitSource

WIDTHS: tuple[int | None, ...] = (0, 1, 2, 3, 5, 8, 13, 21, None)
"""Of the triangular kernels; None: all cells alike."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TimeLaw:
    """How long waits are, when cases start, and at which hours events happen.

    Parameters
    ----------
    settings, steps
        What is public.
    rows
        The row of each move in `waits`.
    waits
        For each row the shares of the bins of what is counted of waits.
    cycle
        The shares of the bins of cycles.
    row_of_activity
        The row of each activity in `hours`.
    hours
        For each row the shares of hours at which long waits end.
    start_hours, start_weekdays, weekdays, weeks
        The shares of hours and weekdays of starts, of weekdays at which day-long waits end, and of weeks.
    """

    settings: TimeSettings
    steps: Steps = field(repr=False)
    rows: Indices = field(repr=False)
    waits: Floats = field(repr=False)
    cycle: Floats = field(repr=False)
    row_of_activity: Indices = field(repr=False)
    hours: Floats = field(repr=False)
    start_hours: Floats = field(repr=False)
    start_weekdays: Floats = field(repr=False)
    weekdays: Floats = field(repr=False)
    weeks: Floats = field(repr=False)

    def document(self) -> dict[str, Any]:
        """The JSON form."""
        metres = self.steps.metres
        return {
            **self.settings.document(),
            "metres": None if metres is None else metres.tolist(),
            "rows": self.rows.tolist(),
            "row_of_activity": self.row_of_activity.tolist(),
            **{name: getattr(self, name).tolist() for name in LAWS},
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any], support: Support) -> Self:
        """The law of times in a model file, beside its law of words; a ValueError where it is none."""
        settings = TimeSettings.from_document(document)
        plain = Steps.of(support)
        metres = document["metres"]
        steps = plain
        if metres is not None:
            lengths = np.array([float(each) for each in metres])
            steps = Steps(plain.source, plain.target, plain.symbols, plain.own, plain.group, lengths)
        rows, activities = (
            np.array(document[name], dtype=np.int64).reshape(-1) for name in ("rows", "row_of_activity")
        )
        laws = {name: np.array(document[name], dtype=np.float64) for name in LAWS}
        bins = len(settings.grid)
        shapes = {
            "waits": (int(rows.max(initial=-1)) + 1, len(steps.waits or settings.grid)),
            "cycle": (bins,),
            "hours": (int(activities.max(initial=-1)) + 1, 24),
            "start_hours": (24,),
            "start_weekdays": (7,),
            "weekdays": (7,),
            "weeks": (settings.period.weeks,),
        }
        right = len(rows) == len(steps.source) and len(activities) == support.symbols
        right = right and rows.min(initial=0) >= 0 and activities.min(initial=0) >= 0
        right = right and (metres is None or (len(metres) == len(rows) and min(metres) > 0))
        if not (right and all(are_laws(values, shapes[name]) for name, values in laws.items())):
            raise ValueError("sizes that do not fit")
        return cls(settings=settings, steps=steps, rows=rows, row_of_activity=activities, **laws)


LAWS = ("waits", "cycle", "hours", "start_hours", "start_weekdays", "weekdays", "weeks")
"""The parts of a law of times that are shares."""


def learn_times(
    released: WordsReleased, settings: TimeSettings, steps: Steps, epsilon: Fraction
) -> tuple[TimeLaw, tuple[Query, ...]]:
    """The law of times beside a law of words that was released before, and the queries that it cost."""
    support, symbols, keys, grid = released.support, released.symbols, released.keys, settings.grid
    durations, cycle, clock, weekday, weeks = queries = time_queries(epsilon, released.neighbours)
    true = PersonTimes.gathered(
        released.read, steps, settings, shortest=support.shortest, longest=support.longest, cut=released.cut
    )
    codes, lengths = released.words

    own_grid = steps.waits or grid
    weight = expected_weights(steps, codes, lengths, released.judged)
    rows = Rows.chosen(steps, weight, LIMITS.now.own_row * durations.deviation)
    bins = len(own_grid)
    of_waits = durations.released(
        true.durations(rows, bins), keys, cells=duration_names(rows, steps, symbols, own_grid)
    )
    cycle_names = [cell_name([name]) for name in names_of_bins(grid)]
    cycles = _smoothed(cycle.released(true.cycles(len(grid)), keys, cells=cycle_names))
    waits = wait_laws(of_waits, rows, bins, longest=cycles if steps.waits is None else None)

    long = grid.from_lower(LIMITS.now.long)
    long_share = waits[rows.of_move] @ long if steps.metres is None else np.zeros(len(rows.of_move))
    least = LIMITS.now.clock_row * clock.deviation
    row_of_activity = clock_rows(steps, codes, lengths, released.judged, long_share, least)
    count = int(row_of_activity.max(initial=-1)) + 1
    sums = true.clocks(row_of_activity, long, count)
    hours = clock.released(sums, keys, cells=clock_names(row_of_activity, symbols, grid)).values.reshape(-1, 24)
    common = smoothed_law(hours[1:].sum(axis=0), clock.deviation * np.sqrt(max(count, 1)), circular=True)
    common = (common + LIMITS.now.floor) / (1 + 24 * LIMITS.now.floor)

    of_days = true.weekdays(grid.from_lower(LIMITS.now.day_long))
    days = weekday.released(of_days, keys, cells=weekday_names(grid)).values.reshape(2, 7)
    week_names = [cell_name([name]) for name in settings.period.week_names()]
    even = np.full(7, 1 / 7)
    times = TimeLaw(
        settings=settings,
        steps=steps,
        rows=rows.of_move,
        waits=waits,
        cycle=cycles,
        row_of_activity=row_of_activity,
        hours=tilted_rows(hours[1:], common, clock.deviation),
        start_hours=smoothed_law(hours[0], clock.deviation, circular=True),
        start_weekdays=tilted(days[0], even, weekday.deviation),
        weekdays=tilted(days[1], even, weekday.deviation),
        weeks=_smoothed(weeks.released(true.weeks(settings.period), keys, cells=week_names)),
    )
    return times, queries


def _smoothed(table: NoisyTable) -> Floats:
    return smoothed_law(table.values, table.deviation)


def wait_laws(table: NoisyTable, rows: Rows, bins: int, *, longest: Floats | None = None) -> Floats:
    """The law of each row: what all rows have in common, tilted for its group, tilted for the row.

    A wait is at most the cycle of its case: beyond each edge what rows have in common has no more than cycles have.
    What noise leaves there would show in every long case.

    The table stands row by row, each with so many bins; `longest` is the law of cycles on the same bins.
    """
    values = table.values.reshape(-1, bins)
    common = smoothed_law(values.sum(axis=0), table.deviation * np.sqrt(max(len(values), 1)))
    if longest is not None:
        beyond = np.minimum(*(np.cumsum(law[::-1])[::-1] for law in (common, longest)))
        common = -np.diff(beyond, append=0.0)
    common = np.maximum(common, LIMITS.now.floor)
    common /= common.sum()
    parents: dict[int, Floats] = {-1: common}
    for group in sorted({*rows.group.tolist()} - {-1}):
        inside = rows.group == group
        parents[group] = tilted(values[inside].sum(axis=0), common, table.deviation * float(np.sqrt(inside.sum())))
    return np.array([
        tilted(row, parents[group], table.deviation) for row, group in zip(values, rows.group.tolist(), strict=True)
    ]).reshape(-1, bins)  # fmt: skip


def tilted(row: Floats, parent: Floats, deviation: float) -> Floats:
    """A noisy row, shrunk in ratio towards a law: m_k with m_k = n·p_k·e^{θ_k} and m_k + σ·θ_k = y_k, normalised.

    The parent has no empty cell. σ is the deviation of the noise of a cell; where the whole row is not above it, the
    parent itself comes back.

    >>> tilted(np.array([10.0, 0.0]), np.array([0.05, 0.95]), 8.0).round(2).tolist()
    [0.22, 0.78]
    """
    total = float(row.sum())
    if total <= deviation:
        return parent
    size = total * parent
    with np.errstate(divide="ignore"):
        steps = np.where(row > size, np.log(np.maximum(row, 1e-300) / np.maximum(size, 1e-300)), 0.0)
    for _ in range(LIMITS.now.newton):  # from above, where the function is positive and convex: no step passes the root
        grown = size * np.exp(np.minimum(steps, 700.0))
        steps = steps - (grown + deviation * steps - row) / (grown + deviation)
    shrunk = size * np.exp(np.minimum(steps, 700.0))
    return np.asarray(shrunk / shrunk.sum())


def tilted_rows(rows: Floats, parent: Floats, deviation: float) -> Floats:
    """Each row of a noisy table so, towards one law."""
    return np.array([tilted(row, parent, deviation) for row in rows]).reshape(-1, len(parent))


def are_laws(values: Floats, shape: tuple[int, ...]) -> bool:
    """Whether numbers that were read are shares: of this shape, finite, none negative, and 1 in each row."""
    right = values.shape == shape and bool((np.isfinite(values) & (values >= 0)).all())
    return right and bool((np.abs(values.sum(axis=-1) - 1) <= 1e-6).all())


def smoothed_law(values: Floats, deviation: float, *, circular: bool = False) -> Floats:
    """The nearest law to a noisy table that was smoothed by the kernel of least estimated risk; all alike where its
    total is not positive.

    `deviation` is that of the noise of a cell; `circular`: the last cell is next to the first one.
    """
    size = len(values)
    uniform = np.full(size, 1 / size)
    if values.sum() <= 0:
        return uniform
    best, least = values, np.inf
    for width in WIDTHS:
        if width is not None and width >= size:
            continue
        kernel = _kernel(size, width, circular)
        blurred = kernel @ values
        risk = float(((blurred - values) ** 2).sum()) + 2 * deviation**2 * float(np.trace(kernel)) - size * deviation**2
        if risk < least:
            best, least = blurred, risk
    nearest = projected(best)
    return np.asarray(nearest / nearest.sum()) if nearest.sum() > 0 else uniform


def _kernel(size: int, width: int | None, circular: bool) -> Floats:
    if width is None:
        return np.full((size, size), 1 / size)
    apart = np.abs(np.arange(size)[:, None] - np.arange(size)[None, :])
    if circular:
        apart = np.minimum(apart, size - apart)
    kernel = np.maximum(width + 1 - apart, 0).astype(np.float64)
    return np.asarray(kernel / kernel.sum(axis=1, keepdims=True))


def draw_times(law: TimeLaw, codes: Codes, lengths: Lengths, count: int, bits: BitSource) -> Indices:
    """The instants of the events of the first `count` words, in seconds since 1970.

    For a good choice among candidates there are at least `fitted_words` words, one after the other.
    """
    fitted = min(len(lengths), max(count, LIMITS.now.fitted_words), LIMITS.now.most_fitted_words)
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
        stop = max(
            begin + 1,
            int(np.searchsorted(ends, before + LIMITS.now.waits_at_once // LIMITS.now.candidates, side="right")),
        )
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
        random = bits.words(len(at) * LIMITS.now.candidates).reshape(len(at), LIMITS.now.candidates)
        which = (random >> np.uint64(32)).astype(np.float64) * 2.0**-32
        within = (random & np.uint64(0xFFFFFFFF)).astype(np.float64) * 2.0**-32
        grid = law.steps.waits or law.settings.grid
        rows = law.rows[move]
        bins = np.empty((len(at), LIMITS.now.candidates), dtype=np.int64)
        for row in np.unique(rows).tolist():
            inside = rows == row
            ends = np.cumsum(law.waits[row])
            bins[inside] = np.searchsorted(ends[:-1] / ends[-1], which[inside], side="right")
        waits = _inside(grid, bins, within)
        if law.steps.metres is not None:
            waits = np.rint(law.steps.seconds(move[:, None], waits.astype(np.float64) + within)).astype(np.int64)
        sums = np.zeros((stop - begin, LIMITS.now.candidates), dtype=np.int64)
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
    limits = LIMITS.now
    for _ in range(limits.tilt_rounds):
        weights = counts * np.exp(tilt)
        now = (weights / weights.sum(axis=1, keepdims=True)).mean(axis=0)
        step = limits.tilt_step * np.log((target + limits.tilt_slack) / (now + limits.tilt_slack))
        tilt = np.clip(tilt + step, -limits.steepest_tilt, limits.steepest_tilt)
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
    long = (
        np.zeros(len(waits), dtype=np.bool_) if law.steps.metres is not None else grid.from_lower(LIMITS.now.long)[bins]
    )
    for position in range(1, int(lengths.max(initial=0))):
        going = going[lengths[going] > position]
        at = first[going] + position
        for far in (False, True):
            moved = at[long[at] & ((waits[at] >= LIMITS.now.far_from) == far)]
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
    reach = LIMITS.now.far if far else LIMITS.now.near
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
    by_day = low >= LIMITS.now.day_long
    weight = np.where(by_day[:, None], weight * law.weekdays[weekday_of(begin * HOUR)], weight)
    nothing = weight.sum(axis=1) <= 0
    slot = column_of(weight, bits.fractions(len(wait)))
    rows = np.arange(len(wait))
    drawn = from_wait[rows, slot] + np.floor(bits.fractions(len(wait)) * seconds[rows, slot]).astype(np.int64)
    bad = nothing | (seconds[rows, slot] <= 0)
    return np.asarray(np.where(bad, wait, np.clip(drawn, least, most)))
