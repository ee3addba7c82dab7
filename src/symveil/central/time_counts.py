"""Private counts of times: starts by hour, waits and cycle times on a public grid, bottlenecks, means.

Cells and intervals are those of `counts`: what a person adds is bounded, and the noise is that of `noise.Query`. Two
statistics share out what a person adds in other ways: a case's share among the activities that its time goes to
(time-shares), and a wait between what it has of a public cap and the rest (mean-waits).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import pyarrow as pa
from flint import arb
from numpy.typing import NDArray

from symveil.central.cells import GRID, MOST_CELLS, Read, cell_name, cells_of, summed
from symveil.central.counts import CountTerms, PrivateCounts
from symveil.central.event_times import Entries, EventTimes
from symveil.central.noise import Query
from symveil.errors import ParameterError, TooLargeError, either
from symveil.estimation.statistics import Batch, Indices, Statistic
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
from symveil.numbers.conversions import ball, dyadic, precision, upper_bound
from symveil.randomness import RecordKey

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
_BITS = 256
_MEAN_CELLS = 1 << 14
"""How finely the interval of a mean is searched for, as parts of the cap."""
_TINY = 1e-9


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
        return _group_columns(self.question, self.groups.shape[1])

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

    def names(self, symbols: Sequence[object]) -> list[bytes]:
        """The name of each cell by what it counts."""
        texts = [str(symbol) for symbol in symbols]
        keys = self.keys() or {"part": list(range(self.slots)) * len(self.groups)}
        slots = [
            [f"{name}={value}" for name, value in zip(keys, row, strict=True)]
            for row in zip(*keys.values(), strict=True)
        ]
        return [
            cell_name([*(texts[code] for code in group), *slot])
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
        if self.question.kind == "mean-waits":
            return self._mean_sums(read)
        return self._share_sums(read)

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

    Parameters
    ----------
    question
        What is counted.
    symbols
        How many symbols there are.
    longest
        The longest word that counts.
    graph
        The model's graph: moves are those that it has.
    zones
        The zone of each symbol: starts are counted by the zone of the first symbol too, cycle times by the zones of the
        first and the last one.

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
        if size**order > MOST_CELLS:
            raise TooLargeError(
                f"statistic {question.name}: expected at most {MOST_CELLS:,} cells, found {size**order:,}"
            )
        columns = np.indices((size,) * order).reshape(order, size**order) if order else np.zeros((0, 1), dtype=np.int64)
        groups = columns.T
    cells = TimeCells(question=question, groups=groups.astype(np.int64), symbols=size, zones=zones, longest=longest)
    if len(cells) > MOST_CELLS:
        raise TooLargeError(
            f"statistic {question.name}: expected at most {MOST_CELLS:,} cells, found {len(cells):,}; take a coarser "
            "grid"
        )
    return cells


@dataclass(frozen=True, kw_only=True, eq=False)
class TimeCounts(PrivateCounts):
    """Private counts of times: rows have the hour, the date or the bin that they count.

    Parameters
    ----------
    question
        What was counted.
    keys
        The columns that tell rows of one group apart.
    quantile_rows
        The rows of quantiles, each with the ends of its interval.
    epsilon, bound, clipped_share, queries, notes, delta, threshold
        As in `PrivateCounts`.
    statistic, confidence, symbols, leading, places, codes, numbers
        As in `NamedTable`.
    """

    question: TimeQuestion
    keys: dict[str, list[Any]] = field(repr=False)
    quantile_rows: tuple[dict[str, Any], ...] = ()
    what: ClassVar[str] = "private counts of times"

    def row(self, index: int) -> dict[str, Any]:
        """One row, by its rank."""
        plain = super().row(index)
        own = {name: values[index] for name, values in self.keys.items()}
        return _with_group(self.question, plain["symbols"]) | own | {k: v for k, v in plain.items() if k != "symbols"}

    def largest(self, count: int) -> TimeCounts:
        """The first so many rows."""
        return replace(super().largest(count), keys={name: values[:count] for name, values in self.keys.items()})

    def as_text(self, columns: Sequence[str], *, top: int) -> tuple[list[str], list[list[str]]]:
        """The heads and the first rows of a table for people."""
        names = [name for name in self.keys if not name.endswith("_seconds")]
        grid = "from_seconds" in self.keys
        shown = [name for name in columns if name in self.numbers]
        heads = [*(["symbols"] if self.codes.shape[1] else []), *names, *(["wait"] if grid else []), *shown]
        rows = []
        for index in range(min(len(self), top)):
            row = self.row(index)
            text = [" → ".join(row["symbols"])] if self.codes.shape[1] else []
            text += [str(row[name]) for name in names]
            if grid:
                text.append(_bin_text(row["from_seconds"], row["to_seconds"]))
            rows.append(text + [_short(row[name], self.question, name) for name in shown])
        return [name.replace("_", " ") for name in heads], rows

    def document(self, top: int | None = None) -> dict[str, Any]:
        """The JSON form; rows of quantiles stand behind the others."""
        plain = super().document(top)
        return {**plain, "rows": [*plain["rows"], *self.quantile_rows], "time": self.question.document()}

    @property
    def table(self) -> pa.Table:
        """All rows as an Arrow table, those of quantiles at the end."""
        plain = super().table
        order = self.codes.shape[1]
        own = _group_columns(self.question, order)
        columns = {name: plain[at] for at, name in enumerate(own)}
        columns |= {
            name: pa.array(values, type=pa.string() if values and isinstance(values[0], str) else pa.int64())
            for name, values in self.keys.items()
        }
        columns |= {name: plain[name] for name in self.numbers}
        table = pa.table(columns)
        if not self.quantile_rows:
            return table
        listed = self.quantile_rows
        rows = {name: pa.array([row["symbols"][at] for row in listed], type=pa.string()) for at, name in enumerate(own)}
        rows |= {
            name: pa.array([row[name] for row in listed], type=pa.float64()) for name in ("quantile", "low", "high")
        }
        return pa.concat_tables([table, pa.table(rows)], promote_options="default")

    def _name(self, index: int) -> str:
        row = self.row(index)
        parts = [" → ".join(row["symbols"])] if row["symbols"] else []
        if "from_seconds" in row:
            parts.append(_bin_text(row["from_seconds"], row["to_seconds"]))
        parts += [str(values[index]) for name, values in self.keys.items() if not name.endswith("_seconds")]
        return ", ".join(parts)


def _group_columns(question: TimeQuestion, order: int) -> list[str]:
    if question.by == "activity":
        return ["activity"]
    return ["symbol"] if order == 1 else [f"symbol_{at + 1}" for at in range(order)]


def _with_group(question: TimeQuestion, symbols: list[str]) -> dict[str, Any]:
    """What names the group of a row."""
    own: dict[str, Any] = {"symbols": symbols}
    if question.by == "activity":
        own["activity"] = symbols[0]
    elif question.by == "move":
        own["move"] = symbols
    return own


def _bin_text(low: int, high: int | None) -> str:
    return (
        f"{spelled_duration(low)} or more" if high is None else f"{spelled_duration(low)} to {spelled_duration(high)}"
    )


def _about(seconds: float) -> str:
    """A duration for readers, with three digits."""
    size, unit = next(
        ((size, unit) for size, unit in ((86_400, "d"), (3600, "h"), (60, "m")) if seconds >= size), (1, "s")
    )
    return f"{seconds / size:.3g}{unit}"


def _short(value: float | None, question: TimeQuestion, name: str) -> str:
    if value is None:
        return "not known"
    if question.kind == "mean-waits" and name != "count":
        return _about(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def private_time_counts(
    cells: TimeCells, read: Read, persons: int, terms: CountTerms, *, names: Sequence[object], keys: RecordKey
) -> TimeCounts:
    """Count times with one ε per person.

    Parameters
    ----------
    cells
        The public cells.
    read
        Reads all legal words with their times; their groups are persons, numbered from 0.
    persons
        How many persons there are: a secret.
    terms
        What each person loses and adds at most.
    names
        The names of symbols or zones.
    keys
        Where noise comes from.
    """
    question = cells.question
    if question.kind in SHARED_OUT:
        queries, share = replace(terms, bound="normalised").queries(question.name, 1), None
        sums = cells.shared_out(read)
    else:
        queries, sums, share = terms.sums(question.name, cells, read, persons, keys)
    answers = queries[-1].answered(sums, keys, cells=cells.names(names))
    return released_times(cells, answers, queries, names=names, clipped_share=share, confidence=terms.confidence)


def released_times(
    cells: TimeCells,
    answers: Sequence[int],
    queries: Sequence[Query],
    *,
    names: Sequence[object],
    clipped_share: float | None,
    confidence: float,
) -> TimeCounts:
    """The table that noisy sums lead to: everything here reads released numbers only.

    Parameters
    ----------
    cells, answers, queries
        The public cells, their noisy sums in steps of the grid, and the queries.
    names
        Of symbols or zones.
    clipped_share, confidence
        As in `PrivateCounts`.
    """
    question = cells.question
    plain = PrivateCounts.of(
        cells.statistic, cells.codes(), answers, queries,
        names=names, clipped_share=clipped_share, confidence=confidence,
    )  # fmt: skip
    every = {each.name: getattr(plain, each.name) for each in fields(PrivateCounts)}
    order = np.argsort(-np.array([answer / GRID for answer in answers]), kind="stable").tolist()
    own = {name: [values[at] for at in order] for name, values in cells.keys().items()}
    if question.kind == "mean-waits":
        every |= _mean_rows(cells, answers, queries[-1], confidence)
        own = {}
    return TimeCounts(
        **every,
        question=question,
        keys=own,
        quantile_rows=_quantile_rows(cells, answers, queries[-1], names, confidence),
    )


# --- quantiles ------------------------------------------------------------------------------------


def _quantile_rows(
    cells: TimeCells, answers: Sequence[int], query: Query, names: Sequence[object], confidence: float
) -> tuple[dict[str, Any], ...]:
    question, bins = cells.question, cells.slots
    rows = []
    for wanted in question.quantiles:
        widths = quantile_widths(bins, wanted, query.scale, confidence)
        for group, codes in enumerate(cells.groups.tolist()):
            noisy = answers[group * bins : (group + 1) * bins]
            low, high = quantile_bins(noisy, wanted, widths)
            rows.append(
                {
                    **_with_group(question, [str(names[code]) for code in codes]),
                    "quantile": float(wanted),
                    "low": float(question.grid.edges[low - 1]),
                    "high": None if high == bins else float(question.grid.edges[high]),
                }
            )
    return tuple(rows)


def quantile_bins(noisy: Sequence[int], wanted: Fraction, widths: Sequence[int]) -> tuple[int, int]:
    """The first and the last bin, counted from 1, between which the bin of a quantile is, as often as widths promise.

    With Ĝ_k = Σ_{j≤k} y_j − p Σ_j y_j the bin of the quantile is the first k with G_k ≥ 0. It is at least the first k
    with Ĝ_k + h_k ≥ 0, and at most 1 + the last k with Ĝ_k − h_k < 0 (docs/theory/central.md).

    Parameters
    ----------
    noisy
        The noisy sums of the bins.
    wanted
        The quantile p, a fraction.
    widths
        For each k below the number of bins: c·h_k, where c is the denominator of p.

    >>> quantile_bins([0, 10, 0, 0], Fraction(1, 2), [0, 0, 0])
    (2, 2)
    """
    over, under = wanted.denominator, wanted.numerator
    total, running = sum(noisy), 0
    low, high = len(noisy), 1
    for k, value in enumerate(noisy[:-1], start=1):
        running += value
        above = over * running - under * total
        if above + widths[k - 1] >= 0:
            low = min(low, k)
        if above - widths[k - 1] < 0:
            high = k + 1
    return min(low, high), max(low, high)


def quantile_widths(bins: int, wanted: Fraction, scale: Fraction, confidence: float) -> list[int]:
    """c·h_k for k from 1 to `bins` − 1: the noise of Ĝ_k is above h_k with a chance of at most (1 − confidence)/2.

    By Chernoff: e^{−xh}·Π E e^{x w Z} with weights w = 1 − p for the first k bins and p for the others. Any x below
    1/(scale·max w) is valid: one is searched for with floats, and the bound is evaluated with balls, upwards.

    Parameters
    ----------
    bins
        How many bins there are.
    wanted
        The quantile p.
    scale
        Of the noise, in steps of the grid.
    confidence
        How often the interval is to cover.
    """
    p = float(wanted)
    widths = []
    for k in range(1, bins):
        weights = ((wanted, bins - k), (1 - wanted, k))

        def height(t: float, k: int = k) -> float:
            first, second = -k * math.log1p(-(((1 - p) * t) ** 2)), -(bins - k) * math.log1p(-((p * t) ** 2))
            return (first + second + math.log(2 / (1 - confidence))) / t

        least, most = 1e-6, (1 - 1e-9) / max(p, 1 - p)
        for _ in range(80):  # the bound has one minimum
            one, other = least + (most - least) * 0.382, least + (most - least) * 0.618
            least, most = (least, other) if height(one) < height(other) else (one, most)
        at = Fraction((least + most) / 2)
        with precision(_BITS):
            step = 1 / ball(scale)
            spread = arb(0)
            for weight, times in weights:
                rate = ball(weight * at) * step
                up, down = 1 - (rate - step).exp(), 1 - (-rate - step).exp()
                spread += times * (2 * (1 - (-step).exp()).log() - up.log() - down.log())
            outside = (1 - arb(dyadic(confidence))) / 2
            width = upper_bound((spread - outside.log()) / (ball(at) * step) * wanted.denominator)
        widths.append(-(-width.numerator // width.denominator))
    return widths


# --- means ----------------------------------------------------------------------------------------


def _mean_rows(cells: TimeCells, answers: Sequence[int], query: Query, confidence: float) -> dict[str, Any]:
    """The columns of a table of means: the weight of each row, what its waits have of it, the mean and its interval."""
    cap = float(cells.question.cap or 1)
    waited, rest = np.array(answers[::2], dtype=object), np.array(answers[1::2], dtype=object)
    total = waited + rest
    rows = len(total)
    columns: dict[str, NDArray[np.float64]] = {
        "mean": np.array([
            cap * min(max(a / t, 0.0), 1.0) if t > 0 else math.nan for a, t in zip(waited, total, strict=True)
        ]),
        "count": np.array([value / GRID for value in total]),
        "waited": np.array([value / GRID for value in waited]),
    }  # fmt: skip
    for suffix, level in (("", confidence), ("_all", confidence ** (1 / max(rows, 1)))):
        widths = mean_widths(level, query.scale)
        ends = [mean_interval(a, t, widths) for a, t in zip(waited, total, strict=True)]
        columns[f"low{suffix}"] = np.array([math.nextafter(low * cap, -1.0) if low > 0 else 0.0 for low, _ in ends])
        columns[f"high{suffix}"] = np.array([min(math.nextafter(high * cap, math.inf), cap) for _, high in ends])
    columns["consistent"] = np.where(np.isnan(columns["mean"]), 0.0, columns["mean"])
    # by what is sure: a row of noise alone may have any mean, and its interval begins at 0
    order = np.lexsort((-columns["consistent"], -columns["low"], -columns["low_all"]))
    return {"codes": cells.groups[order], "numbers": {name: values[order] for name, values in columns.items()}}


def mean_widths(confidence: float, scale: Fraction) -> NDArray[np.float64]:
    """h(u) in steps of the grid, at the ends of `_MEAN_CELLS` equal parts of [0, 1], rounded upwards.

    P(|(1 − u)Z₁ − uZ₂| > h) for continuous Laplace noise of scales s₁ ≥ s₂ = scale·(max, min)(u, 1 − u) is
    (s₁²e^{−h/s₁} − s₂²e^{−h/s₂})/(s₁² − s₂²); discrete noise is within one step of it.
    """
    u = np.arange(_MEAN_CELLS // 2 + 1) / _MEAN_CELLS
    large, small = 1 - u, u
    low, high = np.zeros(len(u)), np.full(len(u), 60.0)
    for _ in range(200):
        middle = (low + high) / 2
        too_likely = _tail(middle, large, small) > (1 - confidence) * (1 - _TINY)
        low, high = np.where(too_likely, middle, low), np.where(too_likely, high, middle)
    half = np.maximum.accumulate(high[::-1])[::-1] * (1 + _TINY)  # from the middle outwards it does not fall
    widths = np.concatenate([half, half[-2::-1]]) * float(scale) * (1 + _TINY) + 1
    return np.asarray(widths)


def _tail(height: NDArray[np.float64], large: NDArray[np.float64], small: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        second = np.where(small > 0, small**2 * np.exp(-height / np.maximum(small, 1e-300)), 0.0)
        apart = (large**2 * np.exp(-height / large) - second) / (large**2 - small**2)
    alike = (1 + height / (2 * large)) * np.exp(-height / large)
    # where scales nearly agree the difference quotient loses digits; the tail of two scales that agree is above it
    return np.asarray(np.where(large - small < 1e-4, alike, apart))


def mean_interval(waited: int, total: int, widths: NDArray[np.float64]) -> tuple[float, float]:
    """The hull of the u in [0, 1] with |â − u·(â + b̂)| ≤ h(u), outwards; where there is none, the nearer end.

    Parameters
    ----------
    waited, total
        â and â + b̂ in steps of the grid.
    widths
        What `mean_widths` returns.
    """
    u = np.arange(_MEAN_CELLS + 1) / _MEAN_CELLS
    apart = np.array([float(waited - 0)]) - u * float(total)
    slack = _TINY * (abs(float(waited)) + abs(float(total)))
    one, other = apart[:-1], apart[1:]
    least = np.where((one <= 0) != (other <= 0), 0.0, np.minimum(np.abs(one), np.abs(other)))
    inside = np.flatnonzero(least <= np.maximum(widths[:-1], widths[1:]) + slack)
    if not len(inside):
        end = 1.0 if abs(float(waited - total)) < abs(float(waited)) else 0.0
        return end, end
    return float(u[inside[0]]), float(u[inside[-1] + 1])
