"""The cells of a private table: a public list, known before any data is read.

What persons add to a table: whole numbers on a public grid, so that no person adds more than a bound.

A person with k counted things in all of their words adds ⌊M·min(1, L/k)⌋ to the cell of each, M = 2³². Together that
is at most L·M, so the tables of two files that differ by one person differ by at most L·M in L1.

Starts, waits and cycles of cases, and what a person adds for them: at most M together. Only events that count in the
tables of words count here: those of legal cases of the public lengths, of a longer case the first ones. A wait counts
if both its times are known and of one kind, a start if the first time is, a cycle if both its ends are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from symveil.central.limits import LIMITS
from symveil.errors import ModelError, ParameterError, TooLargeError
from symveil.estimation.statistics import Statistic, read_statistic
from symveil.estimation.table import Batch, Indices, windows
from symveil.languages.graph import WordGraph
from symveil.models.times import MICROSECONDS, UNKNOWN, Stamps, WallClock, wall_seconds

GRID = 1 << 32
"""M: one counted thing, in the smallest steps that a table knows."""
MOST_PER_PERSON = 1 << 30
"""The largest bound L: with it L·M fits into 64 bits."""

ANY_LENGTH = 1 << 40
"""Longer than any sequence: words of every length count."""

Read = Callable[[], Iterable[Batch]]
"""Reads all words, again and again; the group of a word is the number of its person."""


class Table(Protocol):
    """A public list of cells that knows in which of them a word counts, such as `Cells`."""

    def __len__(self) -> int: ...

    def of(self, batch: Batch) -> tuple[Indices, Indices]:
        """For everything in a batch that counts: its cell, and which word it is in."""
        ...

    def names(self, symbols: Sequence[str]) -> list[bytes]:
        """The name of each cell by what it counts, with the symbols' own names."""
        ...


def cell_name(parts: Iterable[object]) -> bytes:
    """The name of a cell by what it counts, whatever its number is: no other cell of the table has it.

    >>> cell_name(["move", "a", "b"])
    b'["move", "a", "b"]'
    """
    return json.dumps(list(parts)).encode()


@dataclass(frozen=True, eq=False)
class PersonCounts:
    """How many counted things each person has: what a bound is a bound of."""

    counts: Indices

    @classmethod
    def of(cls, cells: Table, batches: Iterable[Batch], persons: int) -> PersonCounts:
        """Look through all words once."""
        return cls.of_each([cells], batches, persons)[0]

    @classmethod
    def of_each(cls, tables: Sequence[Table], batches: Iterable[Batch], persons: int) -> list[PersonCounts]:
        """The same for several tables, and still once: reading a file is what takes the time."""
        counts = np.zeros((len(tables), persons), dtype=np.int64)
        for batch in batches:
            for number, cells in enumerate(tables):
                _, words = cells.of(batch)
                counts[number] += np.bincount(batch.groups[words], minlength=persons)
        return [cls(own) for own in counts]

    def weights(self, bound: int) -> Indices:
        """What each person adds for one thing.

        >>> [weight / GRID for weight in PersonCounts(np.array([0, 1, 4, 8])).weights(2).tolist()]
        [1.0, 1.0, 0.5, 0.25]
        """
        if not 1 <= bound <= MOST_PER_PERSON:
            raise ParameterError("bound", expected=f"a whole number from 1 to {MOST_PER_PERSON}", found=bound)
        return np.where(self.counts <= bound, GRID, bound * GRID // np.maximum(self.counts, 1))


def contributed(cells: Table, batches: Iterable[Batch], weights: Indices) -> list[int]:
    """The sums of what persons add, for each cell, as Python's whole numbers: no file is too large for them.

    >>> from symveil.central.cells import cells_of
    >>> batch = Batch(np.array([0, 1, 1], dtype=np.int32), np.array([3]), np.array([0]))
    >>> table = cells_of("visits", symbols=2, longest=9)
    >>> [total / GRID for total in contributed(table, [batch], np.array([GRID // 2]))]
    [0.5, 1.0]
    """
    return contributed_each([cells], batches, [weights])[0]


def contributed_each(tables: Sequence[Table], batches: Iterable[Batch], weights: Sequence[Indices]) -> list[list[int]]:
    """The sums of several tables, each with its weights; all words are looked through once."""
    sums = [ExactSums(len(cells)) for cells in tables]
    for batch in batches:
        for cells, total, own in zip(tables, sums, weights, strict=True):
            result, words = cells.of(batch)
            total.add(result, own[batch.groups[words]])
    return [total.values() for total in sums]


class ExactSums:
    """Sums of whole numbers below 2⁶³, for each cell: no file is too large for them."""

    def __init__(self, size: int) -> None:
        self._above, self._below = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)

    def add(self, cells: Indices, amounts: Indices) -> None:
        """Some more amounts, each with its cell."""
        np.add.at(self._above, cells, amounts >> 32)
        np.add.at(self._below, cells, amounts & (GRID - 1))  # below 2³²: 2³¹ of them fit
        self._above += self._below >> 32
        self._below &= GRID - 1

    def values(self) -> list[int]:
        """The sums, as Python's whole numbers."""
        pairs = zip(self._above.tolist(), self._below.tolist(), strict=True)
        return [(above << 32) + below for above, below in pairs]


def summed(cells: Indices, amounts: Indices, size: int) -> list[int]:
    """The sum of what is added to each cell.

    >>> summed(np.array([1, 1]), np.array([2**32, 2**32]), 2)
    [0, 8589934592]
    """
    sums = ExactSums(size)
    sums.add(cells, amounts)
    return sums.values()


def bin_names(bins: int) -> list[bytes]:
    """The names of dyadic bins.

    >>> bin_names(4)
    [b'["1", "1"]', b'["2", "2"]', b'["3", "4"]', b'["5", "more"]']
    """
    ends = [(1, 1), *(((1 << power) // 2 + 1, 1 << power) for power in range(1, bins))]
    return [
        cell_name([str(low), "more" if number == bins - 1 else str(high)]) for number, (low, high) in enumerate(ends)
    ]


def dyadic_bins(counts: Indices, bins: int) -> list[int]:
    """How many persons have 1, 2, 3–4, 5–8 … counted things, in so many bins; the last one also has all that are more.

    >>> dyadic_bins(np.array([0, 1, 2, 3, 4, 5, 100]), 4)
    [1, 1, 2, 2]
    """
    _, which = np.frexp((counts[counts > 0] - 1).astype(np.float64))  # the number of binary digits of k − 1, exactly
    return [int(bin_) for bin_ in np.bincount(np.minimum(which, bins - 1), minlength=bins)]


STATISTICS = ("visits", "first", "last", "transitions", "od", "ngrams:K", "lengths", "directly-follows")
"""What can be counted centrally, as it is typed."""
_LARGEST_NUMBER = 2**63 - 1


@dataclass(frozen=True, kw_only=True, eq=False)
class Cells:
    """Which cells a table has, and in which of them a word counts.

    Parameters
    ----------
    statistic
        What is counted.
    symbols
        How many symbols the alphabet has; where pairs of zones are counted, how many zones.
    listed
        The cells as numbers, increasing, where not all of them can occur: a model's moves. None: all.
    zones
        The zone of each symbol, where origins and destinations are counted by zone.
    longest, shortest
        The longest and the shortest word that counts. Others add nothing.
    """

    statistic: Statistic
    symbols: int
    listed: Indices | None = field(default=None, repr=False)
    zones: Indices | None = field(default=None, repr=False)
    longest: int
    shortest: int = 0

    def __len__(self) -> int:
        if self.listed is not None:
            return len(self.listed)
        if self.statistic.kind == "lengths":
            return self.longest - self.shortest + 1
        return int(self.symbols**self.statistic.order)

    def of(self, batch: Batch) -> tuple[Indices, Indices]:
        """For everything in a batch that counts: its cell, and which word it is in. Over-long words do not count."""
        result = windows(self.statistic, batch)
        cells, words = self._numbers(result.columns), result.word
        counted = ((batch.lengths >= self.shortest) & (batch.lengths <= self.longest))[words]
        if self.listed is not None:
            at = np.searchsorted(self.listed, cells)
            counted &= self.listed[np.minimum(at, len(self.listed) - 1)] == cells if len(self.listed) else False
            cells = at
        return cells[counted], words[counted]

    def codes(self) -> NDArray[np.int64]:
        """The symbols (or zones) of each cell, a column for each; the lengths where lengths are counted."""
        cells = np.arange(len(self)) if self.listed is None else self.listed
        if self.statistic.kind == "lengths":
            return cells[:, None] + self.shortest
        columns = []
        for _ in range(self.statistic.order):
            cells, code = np.divmod(cells, self.symbols)
            columns.append(code)
        return np.stack(columns[::-1], axis=1)

    def names(self, symbols: Sequence[str]) -> list[bytes]:
        """The name of each cell: its symbols (or zones), or its length.

        >>> cells_of("lengths", symbols=2, longest=1).names("ab"), cells_of("first", symbols=2, longest=9).names("ab")
        ([b'["0"]', b'["1"]'], [b'["a"]', b'["b"]'])
        """
        if self.statistic.kind == "lengths":
            return [cell_name(map(str, row)) for row in self.codes().tolist()]
        return [cell_name([symbols[code] for code in row]) for row in self.codes().tolist()]

    def _numbers(self, columns: tuple[NDArray[np.integer[Any]], ...]) -> Indices:
        if self.statistic.kind == "lengths":
            return columns[0].astype(np.int64) - self.shortest
        total = np.zeros(len(columns[0]), dtype=np.int64)
        for each in columns:
            total = total * self.symbols + (each if self.zones is None else self.zones[each])
        return total


def cells_of(
    statistic: str | Statistic,
    *,
    symbols: int,
    longest: int,
    graph: WordGraph | None = None,
    zones: Indices | None = None,
) -> Cells:
    """The public cells of a statistic over an alphabet, a model's moves, or zones.

    Of a model n-grams are those that its graph has a path for. Zones are for origins and destinations only; words
    longer than `longest` do not count.

    >>> table = cells_of("ngrams:2", symbols=3, longest=10)
    >>> len(table), table.codes()[5].tolist()
    (9, [1, 2])
    """
    wanted = read_statistic(statistic)
    if wanted.kind in ("positions", "presence"):
        raise ParameterError("statistic", expected=f"one of {', '.join(STATISTICS)}", found=wanted.name)
    if zones is not None and wanted.kind != "od":
        raise ParameterError("zones", expected="the statistic od with them", found=wanted.name)
    if longest < 1:
        raise ParameterError("longest", expected="a whole number, 1 or more", found=longest)
    size = symbols if zones is None else int(zones.max(initial=-1)) + 1
    listed = None
    if graph is not None and wanted.kind in ("ngrams", "transitions") and wanted.order > 1:
        listed = _paths(graph, wanted.order, symbols)
    cells = Cells(statistic=wanted, symbols=size, listed=listed, zones=zones, longest=longest)
    if not len(cells):
        raise ModelError("model", expected=f"at least one path of {wanted.order} symbols", found="none")
    if len(cells) > LIMITS.now.cells:
        raise TooLargeError(
            f"statistic {wanted.name}: expected at most {LIMITS.now.cells:,} cells, found {len(cells):,}; count "
            "shorter pieces, give a model whose moves are the cells, or zones"
        )
    return cells


def _paths(graph: WordGraph, order: int, symbols: int) -> Indices:
    """The symbols along each path of `order` of them, as numbers, each once and increasing."""
    if symbols**order * graph.state_count > _LARGEST_NUMBER:
        raise TooLargeError(
            f"statistic: expected pieces over {symbols} symbols whose numbers fit into 64 bits, found {order} in a "
            "piece; count shorter ones"
        )
    states, numbers = np.arange(graph.state_count), np.zeros(graph.state_count, dtype=np.int64)
    degree = np.diff(graph.first)
    for _ in range(order):
        fan = degree[states]
        if int(fan.sum()) > 4 * LIMITS.now.cells:
            raise TooLargeError(
                f"statistic: expected at most {LIMITS.now.cells:,} cells, found more than {LIMITS.now.cells:,} paths "
                "of the model; count shorter pieces"
            )
        begin = np.repeat(np.cumsum(fan) - fan, fan)
        edge = np.repeat(graph.first[states], fan) + np.arange(int(fan.sum())) - begin
        numbers = np.repeat(numbers, fan) * symbols + graph.symbol[edge]
        pairs = np.unique(numbers * graph.state_count + graph.target[edge])
        numbers, states = np.divmod(pairs, graph.state_count)
    return np.unique(numbers)


@dataclass(frozen=True, eq=False)
class EventTimes:
    """The times of the cases of a batch.

    Parameters
    ----------
    started, start
        Cases whose start is known, and what the wall clock shows then.
    waited, wait, arrived
        Events before which the wait is known; the wait in seconds (0 where it is negative); what the clock shows at the
        event.
    cycled, cycle
        Cases whose cycle is known, and its seconds.

    >>> stamps = Stamps(np.array([0, 61 * 10**6]), np.array([2, 2]))
    >>> batch = Batch(np.array([0, 1]), np.array([2]), np.array([0]), stamps)
    >>> times = EventTimes.of(batch, WallClock(), shortest=1, longest=9)
    >>> times.wait.tolist(), times.cycle.tolist(), times.waited.tolist()
    ([61], [61], [1])
    """

    started: Indices
    start: Indices
    waited: Indices
    wait: Indices
    arrived: Indices
    cycled: Indices
    cycle: Indices

    @classmethod
    def of(cls, batch: Batch, clock: WallClock, *, shortest: int, longest: int) -> Self:
        """The times of the events that count in a batch.

        Words shorter than the public lengths do not count, of longer ones the first so many events.
        """
        stamps = batch.stamps if batch.stamps is not None else Stamps.unknown(len(batch.codes))
        kind, since = stamps.kind, stamps.microseconds
        wall = wall_seconds(stamps, clock)
        cases = np.flatnonzero(batch.lengths >= max(shortest, 1))
        first = batch.starts[cases]
        last = first + np.minimum(batch.lengths[cases], longest) - 1
        started = kind[first] != UNKNOWN
        whole = started & (kind[first] == kind[last])
        events = np.flatnonzero(batch.events_of(shortest, longest) & (batch.position > 0))
        events = events[(kind[events] != UNKNOWN) & (kind[events] == kind[events - 1])]
        return cls(
            started=cases[started],
            start=wall[first[started]],
            waited=events,
            wait=np.maximum((since[events] - since[events - 1]) // MICROSECONDS, 0),
            arrived=wall[events],
            cycled=cases[whole],
            cycle=np.maximum((since[last[whole]] - since[first[whole]]) // MICROSECONDS, 0),
        )


@dataclass(frozen=True, eq=False)
class Entries:
    """Everything that persons have for a table: whose it is, in which row, and in which column or how much.

    Parameters
    ----------
    persons, rows, values
        For each thing: the number of its person, its row, and its column or its value.
    """

    persons: Indices
    rows: Indices
    values: Indices

    @classmethod
    def gathered(cls, parts: Iterable[tuple[Indices, Indices, Indices]]) -> Self:
        """All parts in one."""
        nothing = np.zeros(0, dtype=np.int64)
        columns = zip((nothing, nothing, nothing), *parts, strict=True)
        return cls(*(np.concatenate(each).astype(np.int64) for each in columns))

    def shared(self, most: int | Indices = GRID) -> Indices:
        """What each thing adds, so that a person adds at most `most` in all: ⌊most/(r·n)⌋ where the person has n things
        in its row, and things in r rows.

        `most` is a number, or one for each thing, the same for all things of a person.

        >>> own = Entries(np.array([0, 0, 0, 1]), np.array([2, 2, 5, 2]), np.array([0, 1, 0, 0]))
        >>> (own.shared(12)).tolist()
        [3, 3, 6, 12]
        """
        if not len(self.persons):
            return self.persons
        width = int(self.rows.max()) + 1
        pairs, which, times = np.unique(self.persons * width + self.rows, return_inverse=True, return_counts=True)
        rows_of = np.bincount(pairs // width)
        return np.asarray(most // (rows_of[self.persons] * times[which]), dtype=np.int64)

    def each_alike(self, most: int | Indices = GRID) -> Indices:
        """What each thing adds where all things of a person add the same: ⌊most/n⌋ of n things."""
        if not len(self.persons):
            return self.persons
        return np.asarray(most // np.bincount(self.persons)[self.persons], dtype=np.int64)
