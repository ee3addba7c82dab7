"""What is counted of times, and in which public cells: hours, dates and bins of waits, by move, activity or zone.

Two statistics share out what a person adds in other ways than `cells`: a case's share among the activities that its
time goes to (time-shares), and a wait between what it has of a public cap and the rest (mean-waits).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from symveil.central.cells import GRID, Entries, EventTimes, Read, cell_name, cells_of, summed
from symveil.central.limits import LIMITS
from symveil.errors import ParameterError, TooLargeError, either
from symveil.estimation.named_table import symbol_columns
from symveil.estimation.statistics import Statistic
from symveil.estimation.table import Batch, Indices
from symveil.languages.graph import WordGraph
from symveil.models.times import (
    WEEKDAYS,
    Period,
    WaitGrid,
    WallClock,
    day_of,
    hour_of,
    spelled_duration,
    weekday_of,
)

TimeKind = Literal["starts", "durations", "cycle-times", "longest-waits", "time-shares", "mean-waits"]
TIME_STATISTICS: tuple[TimeKind, ...] = get_args(TimeKind)
"""What can be counted of times, as it is typed."""
BY: dict[str, tuple[str | None, ...]] = {
    "starts": ("hour", "weekday", "hour-of-week", "week", "month"),
    "durations": (None, "move", "activity"),
    "cycle-times": (None,),
    "longest-waits": ("activity",),
    "time-shares": ("activity",),
    "mean-waits": (None, "move", "activity"),
}
"""By what each can be counted; the first is the default."""
ON_GRID = ("durations", "cycle-times")
"""Counted in public bins of waits: these have quantiles."""
SHARED_OUT = ("time-shares", "mean-waits")
"""Each person adds 1 in all."""
HOURS, WEEK_HOURS = 24, 168
USUAL_THRESHOLD = 14 * 86_400
"""From which wait on the statistic longest-waits calls one long, by default."""
_LONGEST_PIECE = (1 << 31) - 1
"""Waits that time is shared by are cut here, so that products fit into 64 bits: 68 years."""


@dataclass(frozen=True, kw_only=True)
class TimeQuestion:
    """What is counted of times, by which public clocks and grids.

    Parameters
    ----------
    kind
        The statistic.
    by
        What tells its rows apart; None: nothing, or the zones.
    clock
        What the hour of an instant is.
    grid
        The bins of waits and cycle times.
    period
        The dates of starts.
    cap
        Of mean waits, in seconds: longer ones count as so long.
    threshold
        From which wait on, in seconds, a longest wait is called long.
    quantiles
        Which quantiles of waits or cycle times are wanted.

    >>> TimeQuestion(kind="starts", by="hour").name
    'starts by hour'
    """

    kind: TimeKind
    by: str | None = None
    clock: WallClock = field(default_factory=WallClock)
    grid: WaitGrid = field(default_factory=WaitGrid)
    period: Period | None = None
    cap: int | None = None
    threshold: int | None = None
    quantiles: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        allowed = BY[self.kind]
        if self.by is None and None not in allowed:
            object.__setattr__(self, "by", allowed[0])
        if self.by not in allowed:
            usual = [name for name in allowed if name is not None]
            expected = f"{either(usual)} with {self.kind}" if usual else f"none with {self.kind}"
            raise ParameterError("by", expected=expected, found=repr(self.by))
        if self.by in ("week", "month") and self.period is None:
            raise ParameterError(
                "period", expected=f"the dates of starts such as 2024-01-01..2024-12-31, by {self.by}", found="none"
            )
        if self.period is not None and self.kind != "starts":
            raise ParameterError("period", expected="the statistic starts with it", found=self.kind)
        if (self.cap is None) == (self.kind == "mean-waits"):
            expected = "a public cap such as 7d with mean-waits, and only there"
            raise ParameterError("cap", expected=expected, found="none" if self.cap is None else self.kind)
        if self.cap is not None and not 1 <= self.cap <= _LONGEST_PIECE:
            raise ParameterError("cap", expected="a duration from 1s to 24855d", found=spelled_duration(self.cap))
        if self.kind == "longest-waits":
            object.__setattr__(self, "threshold", USUAL_THRESHOLD if self.threshold is None else self.threshold)
            if not self.threshold:
                raise ParameterError("threshold", expected="a duration above 0 such as 14d", found="0")
        elif self.threshold is not None:
            raise ParameterError("threshold", expected="the statistic longest-waits with it", found=self.kind)
        if self.quantiles and self.kind not in ON_GRID:
            raise ParameterError("quantiles", expected=f"{either(ON_GRID)} with them", found=self.kind)
        for each in self.quantiles:
            if not 0 < each < 1 or each.denominator > 10**6:
                raise ParameterError("quantiles", expected="numbers between 0 and 1 such as 0.5,0.9", found=str(each))

    @property
    def name(self) -> str:
        """Of the query: what it asks for."""
        return self.kind if self.by is None else f"{self.kind} by {self.by}"

    def document(self) -> dict[str, object]:
        """The JSON form of its public settings, for tables and manifests."""
        return {
            "by": self.by,
            "timezone": self.clock.zone,
            "edges_seconds": list(self.grid.edges) if self.kind in ON_GRID else None,
            "period": None if self.period is None else self.period.spelled(),
            "cap_seconds": self.cap,
            "from_seconds": self.threshold,
            "quantiles": [str(each) for each in self.quantiles],
        }

    @classmethod
    def from_document(cls, kind: TimeKind, document: dict[str, Any]) -> TimeQuestion:
        """The question whose settings a manifest says."""
        edges, period = document["edges_seconds"], document["period"]
        return cls(
            kind=kind,
            by=document["by"],
            clock=WallClock.read(document["timezone"]),
            grid=WaitGrid() if edges is None else WaitGrid.from_edges(edges),
            period=None if period is None else Period.read(period),
            cap=document["cap_seconds"],
            threshold=document["from_seconds"],
            quantiles=tuple(Fraction(each) for each in document["quantiles"]),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class TimeCells:
    """The public cells of a question: groups of symbols or zones, and in each group hours, bins or other slots.

    Parameters
    ----------
    question
        What is counted.
    groups
        The symbols or zones of each group, a column for each; one row without columns where nothing tells rows apart.
    symbols
        How many symbols, or zones, there are.
    zones
        The zone of each symbol, where groups are zones.
    longest
        The longest word that counts. Longer ones add nothing.
    """

    question: TimeQuestion
    groups: NDArray[np.int64]
    symbols: int
    zones: Indices | None
    longest: int

    @property
    def statistic(self) -> Statistic:
        """What is counted, as tables name it."""
        return Statistic(self.question.kind, self.question.kind, self.groups.shape[1])

    @property
    def slots(self) -> int:
        """How many cells each group has."""
        question = self.question
        if question.kind in ON_GRID:
            return len(question.grid)
        if question.kind == "starts":
            period = question.period
            sizes = {"hour": HOURS, "weekday": 7, "hour-of-week": WEEK_HOURS}
            if period is not None:
                sizes |= {"week": period.weeks, "month": len(period.month_names())}
            return sizes[str(question.by)]
        return 1 if question.kind == "time-shares" else 2

    def __len__(self) -> int:
        return len(self.groups) * self.slots

    @property
    def group_columns(self) -> list[str]:
        """The columns of a table that name the group of a row."""
        return group_columns(self.question, self.groups.shape[1])

    def codes(self) -> NDArray[np.int64]:
        """The symbols (or zones) of each cell."""
        return np.repeat(self.groups, self.slots, axis=0)

    def keys(self) -> dict[str, list[Any]]:
        """What tells the cells of one group apart, by the name of the column."""
        question, count = self.question, len(self.groups)
        if question.kind == "starts":
            period = question.period
            values: dict[str, Sequence[Any]] = {
                "hour": range(HOURS),
                "weekday": WEEKDAYS,
                "hour-of-week": range(WEEK_HOURS),
                "week": () if period is None else period.week_names(),
                "month": () if period is None else period.month_names(),
            }
            return {str(question.by): list(values[str(question.by)]) * count}
        if question.kind in ON_GRID or question.kind == "longest-waits":
            ends = [(0, question.threshold), (question.threshold, None)]
            if question.kind in ON_GRID:
                ends = [question.grid.ends(number) for number in range(len(question.grid))]
            return {
                "from_seconds": [low for low, _ in ends] * count,
                "to_seconds": [high for _, high in ends] * count,
            }
        return {}

    def names(self, symbols: Sequence[str]) -> list[bytes]:
        """The name of each cell by what it counts."""
        keys = self.keys() or {"part": list(range(self.slots)) * len(self.groups)}
        slots = [
            [f"{name}={value}" for name, value in zip(keys, row, strict=True)]
            for row in zip(*keys.values(), strict=True)
        ]
        return [
            cell_name([*(symbols[code] for code in group), *slot])
            for group, slot in zip(self.codes().tolist(), slots, strict=True)
        ]

    def times(self, batch: Batch) -> tuple[Batch, EventTimes]:
        """The words that count, and their times."""
        counted = batch.only(np.asarray(batch.lengths <= self.longest))
        return counted, EventTimes.of(counted, self.question.clock, shortest=1, longest=self.longest)

    def of(self, batch: Batch) -> tuple[Indices, Indices]:
        """For everything in a batch that counts once: its cell, and which word it is in."""
        counted_words = np.flatnonzero(batch.lengths <= self.longest)
        batch, times = self.times(batch)
        question = self.question
        if question.kind == "starts":
            cases, wall = times.started, times.start
            if question.period is not None:
                inside = question.period.inside(day_of(wall))
                cases, wall = cases[inside], wall[inside]
            cells = self._zone(batch.codes[batch.starts[cases]]) * self.slots + self._start_slot(wall)
            return cells, counted_words[cases]
        if question.kind == "cycle-times":
            cases = times.cycled
            first = self._zone(batch.codes[batch.starts[cases]])
            last = self._zone(batch.codes[batch.starts[cases] + batch.lengths[cases] - 1])
            pair = first if self.zones is None else first * self.symbols + last
            return pair * self.slots + question.grid.bins(times.cycle), counted_words[cases]
        if question.kind == "durations":
            cells = self._group(batch, times.waited) * self.slots + question.grid.bins(times.wait)
            return cells, counted_words[batch.word[times.waited]]
        # longest-waits: the first of the longest waits of each case
        word = batch.word[times.waited]
        order = np.lexsort((times.waited, -times.wait, word))
        first_of = order[np.concatenate([[True], word[order][1:] != word[order][:-1]])] if len(order) else order
        long = (times.wait[first_of] >= int(question.threshold or 0)).astype(np.int64)
        return batch.codes[times.waited[first_of]].astype(np.int64) * self.slots + long, counted_words[word[first_of]]

    def _zone(self, codes: NDArray[np.integer[Any]]) -> Indices:
        return np.zeros(len(codes), dtype=np.int64) if self.zones is None else self.zones[codes]

    def _group(self, batch: Batch, events: Indices) -> Indices:
        """The group of the wait before each event."""
        codes = batch.codes.astype(np.int64)
        if self.question.by == "activity":
            return codes[events]
        if self.question.by == "move":
            listed = self.groups[:, 0] * self.symbols + self.groups[:, 1]  # increasing
            return np.asarray(np.searchsorted(listed, codes[events - 1] * self.symbols + codes[events]))
        return np.zeros(len(events), dtype=np.int64)

    def _start_slot(self, wall: Indices) -> Indices:
        by, period = self.question.by, self.question.period
        if by == "hour":
            return hour_of(wall)
        if by == "weekday":
            return weekday_of(wall)
        if by == "hour-of-week" or period is None:
            return np.asarray(weekday_of(wall) * HOURS + hour_of(wall))
        return period.week(day_of(wall)) if by == "week" else period.month(day_of(wall))

    # --- statistics that share out what a person adds ------------------------------------------

    def shared_out(self, read: Read) -> list[int]:
        """The sums of time-shares or mean-waits: each person adds at most 1, on the grid."""
        return self._mean_sums(read) if self.question.kind == "mean-waits" else self._share_sums(read)

    def _mean_sums(self, read: Read) -> list[int]:
        """Of each row what its waits have of the cap, and the rest: together what each wait weighs."""
        parts = []
        for batch in read():
            counted, times = self.times(batch)
            parts.append((counted.groups[counted.word[times.waited]], self._group(counted, times.waited), times.wait))
        own = Entries.gathered(parts)
        cap, weights = int(self.question.cap or 1), own.shared()
        waited = weights * np.minimum(own.values, cap) // cap
        cells = np.concatenate([own.rows * 2, own.rows * 2 + 1])
        return summed(cells, np.concatenate([waited, weights - waited]), len(self))

    def _share_sums(self, read: Read) -> list[int]:
        """Of each activity its share of the time of cases."""
        persons, cases, codes, waits = [], [], [], []
        before = 0
        for batch in read():
            counted, times = self.times(batch)
            word = counted.word[times.waited]
            persons.append(counted.groups[word])
            cases.append(word + before)
            codes.append(counted.codes[times.waited])
            waits.append(np.minimum(times.wait, _LONGEST_PIECE))
            before += len(counted.lengths)
        nothing = [np.zeros(0, dtype=np.int64)]
        person, case, code, wait = (
            np.concatenate(nothing + each).astype(np.int64) for each in (persons, cases, codes, waits)
        )
        _, which = np.unique(case, return_inverse=True)
        total = np.zeros(int(which.max(initial=-1)) + 1, dtype=np.int64)
        np.add.at(total, which, wait)
        some = total[which] > 0
        person, which, code, wait = person[some], which[some], code[some], wait[some]
        distinct, first = np.unique(which, return_index=True)
        cases_of = np.bincount(person[first]) if len(first) else np.zeros(0, dtype=np.int64)
        amounts = (GRID // cases_of[person]) * wait // total[which] if len(distinct) else person
        return summed(code, amounts, len(self))


def time_cells(
    question: TimeQuestion, *, symbols: int, longest: int, graph: WordGraph | None = None, zones: Indices | None = None
) -> TimeCells:
    """The public cells of a question over an alphabet, a model's moves, or zones.

    Moves are those of the model's graph. With zones starts are counted by the zone of the first symbol too, cycle times
    by the zones of the first and the last one.

    >>> len(time_cells(TimeQuestion(kind="starts", by="hour"), symbols=3, longest=9))
    24
    """
    size = symbols if zones is None else int(zones.max(initial=-1)) + 1
    order = {"move": 2, "activity": 1}.get(str(question.by), 0)
    if zones is not None:
        order = {"starts": 1, "cycle-times": 2}[question.kind]
    if question.by == "move" and graph is not None:
        groups = cells_of("ngrams:2", symbols=symbols, longest=longest, graph=graph).codes()
    else:
        if size**order > LIMITS.now.cells:
            raise TooLargeError(
                f"statistic {question.name}: expected at most {LIMITS.now.cells:,} cells, found {size**order:,}"
            )
        columns = np.indices((size,) * order).reshape(order, size**order) if order else np.zeros((0, 1), dtype=np.int64)
        groups = columns.T
    cells = TimeCells(question=question, groups=groups.astype(np.int64), symbols=size, zones=zones, longest=longest)
    if len(cells) > LIMITS.now.cells:
        raise TooLargeError(
            f"statistic {question.name}: expected at most {LIMITS.now.cells:,} cells, found {len(cells):,}; take a "
            "coarser grid"
        )
    return cells


def group_columns(question: TimeQuestion, order: int) -> list[str]:
    """The columns of a table that name the group of a row, of so many symbols."""
    return ["activity"] if question.by == "activity" else symbol_columns(order)
