"""Starts, waits and cycles of cases, and what a person adds for them: whole numbers that are at most M together.

Only events that count in the tables of words count here: those of legal cases of the public lengths, of a longer case
the first ones. A wait counts if both its times are known and of one kind, a start if the first time is, a cycle if both
its ends are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from symveil.central.cells import GRID
from symveil.estimation.statistics import Batch, Indices
from symveil.models.times import MICROSECONDS, UNKNOWN, Stamps, WallClock, wall_seconds


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

        Parameters
        ----------
        batch
            Words with their times.
        clock
            What the hour of an instant is.
        shortest, longest
            The public lengths: shorter words do not count, of longer ones the first so many events.
        """
        stamps = batch.stamps if batch.stamps is not None else Stamps.unknown(len(batch.codes))
        kind, since = stamps.kind, stamps.microseconds
        wall = wall_seconds(stamps, clock)
        cases = np.flatnonzero(batch.lengths >= max(shortest, 1))
        first = batch.starts[cases]
        last = first + np.minimum(batch.lengths[cases], longest) - 1
        started = kind[first] != UNKNOWN
        whole = started & (kind[first] == kind[last])
        long_enough = (batch.lengths >= max(shortest, 1))[batch.word] & (batch.position < longest)
        events = np.flatnonzero(long_enough & (batch.position > 0))
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

        Parameters
        ----------
        most
            A number, or one for each thing, the same for all things of a person.

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
