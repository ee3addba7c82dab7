"""What persons add to a table: whole numbers on a public grid, so that nobody adds more than a bound.

A person with k counted things in all of their words adds ⌊M·min(1, L/k)⌋ to the cell of each, M = 2³². Together that
is at most L·M, so the tables of two files that differ by one person differ by at most L·M in L1.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from symveil.errors import ParameterError
from symveil.estimation.batches import Batch, Indices

GRID = 1 << 32
"""M: one counted thing, in the smallest steps that a table knows."""
MOST_PER_PERSON = 1 << 30
"""The largest bound L: with it L·M fits into 64 bits."""

Read = Callable[[], Iterable[Batch]]
"""Reads all words, again and again; the group of a word is the number of its person."""


class Table(Protocol):
    """A public list of cells that knows in which of them a word counts, such as `cells.Cells`."""

    def __len__(self) -> int: ...

    def of(self, batch: Batch) -> tuple[Indices, Indices]:
        """For everything in a batch that counts: its cell, and which word it is in."""
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

    Parameters
    ----------
    cells
        The public cells.
    batches
        All words.
    weights
        What each person adds for one counted thing.

    >>> from symveil.central.cells import cells_of
    >>> batch = Batch(np.array([0, 1, 1], dtype=np.int32), np.array([3]), np.array([0]))
    >>> table = cells_of("visits", symbols=2, longest=9)
    >>> [total / GRID for total in contributed(table, [batch], np.array([GRID // 2]))]
    [0.5, 1.0]
    """
    return contributed_each([cells], batches, [weights])[0]


def contributed_each(tables: Sequence[Table], batches: Iterable[Batch], weights: Sequence[Indices]) -> list[list[int]]:
    """The sums of several tables, each with its weights; all words are looked through once."""
    sums = [np.zeros((2, len(cells)), dtype=np.int64) for cells in tables]
    for batch in batches:
        for cells, both, own in zip(tables, sums, weights, strict=True):
            found, words = cells.of(batch)
            added = own[batch.groups[words]]
            np.add.at(both[0], found, added >> 32)  # at most 1 for a thing; the rest is below 2³²
            np.add.at(both[1], found, added & (GRID - 1))
            both[0] += both[1] >> 32
            both[1] &= GRID - 1
    return [[(int(above) << 32) + int(below) for above, below in zip(*both, strict=True)] for both in sums]


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
