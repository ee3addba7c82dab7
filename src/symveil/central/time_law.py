"""The law of times that five noisy tables speak for. Everything here reads released numbers only.

Rows are shrunk in ratio towards what they have in common: the weight m_k = n·p_k·e^{θ_k} of a bin solves
n·p_k·e^θ + σθ = y_k, so a small bin that noise has raised falls back, and a full one stays. What all rows share
is smoothed by the triangular kernel whose width has the least risk by Stein's unbiased estimate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Self

import numpy as np

from symveil.central.cells import Read, cell_name
from symveil.central.noise import Neighbours, NoisyTable, Query
from symveil.central.support import Support
from symveil.central.time_tables import (
    CLOCK_ROW,
    DAY_LONG,
    FEWEST_PERSONS,
    LONG,
    OWN_ROW,
    PersonTimes,
    Rows,
    Steps,
    TimeSettings,
    clock_names,
    clock_rows,
    duration_names,
    expected_weights,
    names_of_bins,
    time_queries,
    weekday_names,
)
from symveil.central.word_law import Floats
from symveil.estimation.statistics import Indices
from symveil.estimation.table import projected
from symveil.models.alphabet import Codes, Lengths
from symveil.randomness import RecordKey

WIDTHS: tuple[int | None, ...] = (0, 1, 2, 3, 5, 8, 13, 21, None)
"""Of the triangular kernels; None: all cells alike."""
FLOOR = 0.0005
"""The least share of a bin in what all rows have in common: a bin without any weight would stay empty in every row."""
_NEWTON = 60


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
        for name, values in laws.items():
            shares = values.sum(axis=-1)
            right = right and values.shape == shapes[name] and bool((np.isfinite(values) & (values >= 0)).all())
            right = right and bool((np.abs(shares - 1) <= 1e-6).all())
        if not right:
            raise ValueError("sizes that do not fit")
        return cls(settings=settings, steps=steps, rows=rows, row_of_activity=activities, **laws)


LAWS = ("waits", "cycle", "hours", "start_hours", "start_weekdays", "weekdays", "weeks")
"""The parts of a law of times that are shares."""


def learn_times(
    support: Support,
    symbols: Sequence[str],
    words: tuple[Codes, Lengths],
    settings: TimeSettings,
    steps: Steps,
    read: Read,
    *,
    cut: bool,
    persons: float,
    epsilon: Fraction,
    neighbours: Neighbours,
    keys: RecordKey,
) -> tuple[TimeLaw, tuple[Query, ...]]:
    """The law of times beside a law of words that was released before, and the queries that it cost.

    Parameters
    ----------
    support, symbols
        The moves and the lengths, and the names of symbols.
    words
        Some of the released law of words, drawn with the release's key: rows are chosen by them, and a run that is made
        again chooses the same.
    settings, steps
        What is public.
    read
        Reads all legal words with their times.
    cut
        Whether longer words count with their first events, or not at all.
    persons
        How many persons there are by the released tables of words.
    epsilon
        For times.
    neighbours
        Between which files.
    keys
        Where noise comes from.
    """
    grid, (codes, lengths) = settings.grid, words
    queries = dict(
        zip(("durations", "cycle", "clock", "weekday", "weeks"), time_queries(epsilon, neighbours), strict=True)
    )
    true = PersonTimes.gathered(read, steps, settings, shortest=support.shortest, longest=support.longest, cut=cut)
    people = max(FEWEST_PERSONS, persons)

    own_grid = steps.waits or grid
    weight = expected_weights(steps, codes, lengths, people)
    rows = Rows.chosen(steps, weight, OWN_ROW * queries["durations"].deviation)
    bins = len(own_grid)
    names = duration_names(rows, steps, symbols, own_grid)
    durations = queries["durations"].released(true.durations(rows, bins), keys, cells=names)
    cycle_names = [cell_name([name]) for name in names_of_bins(grid)]
    cycles = queries["cycle"].released(true.cycles(len(grid)), keys, cells=cycle_names)
    cycle = smoothed_law(cycles.values, cycles.deviation)
    waits = wait_laws(durations, rows, bins, longest=cycle if steps.waits is None else None)

    long = grid.from_lower(LONG)
    long_share = waits[rows.of_move] @ long if steps.metres is None else np.zeros(len(rows.of_move))
    row_of_activity = clock_rows(steps, codes, lengths, people, long_share, CLOCK_ROW * queries["clock"].deviation)
    clock_count = int(row_of_activity.max(initial=-1)) + 1
    sums = true.clocks(row_of_activity, long, clock_count)
    clock = queries["clock"].released(sums, keys, cells=clock_names(row_of_activity, symbols, grid))
    hours = clock.values.reshape(-1, 24)
    common = smoothed_law(hours[1:].sum(axis=0), clock.deviation * np.sqrt(max(clock_count, 1)), circular=True)
    common = (common + FLOOR) / (1 + 24 * FLOOR)

    day_long = grid.from_lower(DAY_LONG)
    weekday = queries["weekday"].released(true.weekdays(day_long), keys, cells=weekday_names(grid))
    days = weekday.values.reshape(2, 7)
    week_names = [cell_name([name]) for name in settings.period.week_names()]
    weeks = queries["weeks"].released(true.weeks(settings.period), keys, cells=week_names)
    even = np.full(7, 1 / 7)
    times = TimeLaw(
        settings=settings,
        steps=steps,
        rows=rows.of_move,
        waits=waits,
        cycle=cycle,
        row_of_activity=row_of_activity,
        hours=np.array([tilted(row, common, clock.deviation) for row in hours[1:]]).reshape(-1, 24),
        start_hours=smoothed_law(hours[0], clock.deviation, circular=True),
        start_weekdays=tilted(days[0], even, weekday.deviation),
        weekdays=tilted(days[1], even, weekday.deviation),
        weeks=smoothed_law(weeks.values, weeks.deviation),
    )
    return times, tuple(queries.values())


def wait_laws(table: NoisyTable, rows: Rows, bins: int, *, longest: Floats | None = None) -> Floats:
    """The law of each row: what all rows have in common, tilted for its group, tilted for the row.

    A wait is at most the cycle of its case: beyond each edge what rows have in common has no more than cycles have.
    What noise leaves there would show in every long case.

    Parameters
    ----------
    table
        The noisy table, row by row.
    rows
        Which group each row belongs to.
    bins
        How many bins a row has.
    longest
        The law of cycles on the same bins.
    """
    values = table.values.reshape(-1, bins)
    common = smoothed_law(values.sum(axis=0), table.deviation * np.sqrt(max(len(values), 1)))
    if longest is not None:
        beyond = np.minimum(*(np.cumsum(law[::-1])[::-1] for law in (common, longest)))
        common = -np.diff(beyond, append=0.0)
    common = np.maximum(common, FLOOR)
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

    Parameters
    ----------
    row
        The noisy row.
    parent
        The law that it is shrunk to, without an empty cell.
    deviation
        σ, of the noise of a cell. Where the whole row is not above it, the parent itself comes back.

    >>> tilted(np.array([10.0, 0.0]), np.array([0.05, 0.95]), 8.0).round(2).tolist()
    [0.22, 0.78]
    """
    total = float(row.sum())
    if total <= deviation:
        return parent
    size = total * parent
    with np.errstate(divide="ignore"):
        steps = np.where(row > size, np.log(np.maximum(row, 1e-300) / np.maximum(size, 1e-300)), 0.0)
    for _ in range(_NEWTON):  # from above, where the function is positive and convex: each step stays above the root
        grown = size * np.exp(np.minimum(steps, 700.0))
        steps = steps - (grown + deviation * steps - row) / (grown + deviation)
    shrunk = size * np.exp(np.minimum(steps, 700.0))
    return np.asarray(shrunk / shrunk.sum())


def smoothed_law(values: Floats, deviation: float, *, circular: bool = False) -> Floats:
    """The nearest law to a noisy table that was smoothed by the kernel of least estimated risk; all alike where its
    total is not positive.

    Parameters
    ----------
    values
        The noisy table.
    deviation
        Of the noise of a cell.
    circular
        Whether the last cell is next to the first one.
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
