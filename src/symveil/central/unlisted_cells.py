"""Private counts over cells that are not listed in advance: an alphabet that is not public, for a promise with a δ.

A cell that occurs in one person's records only would tell of them by being a row. So a row is shown only where its
noisy sum reaches a threshold (`noise.Query.threshold`), and a person counts in at most L different cells. Cells that
no person has are never shown, and nothing is drawn for them: the noise of a cell is that of its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symveil.central.cells import GRID, STATISTICS, PersonCounts, Read, cell_name
from symveil.central.counts import CountTerms, PrivateCounts
from symveil.errors import ParameterError
from symveil.estimation.statistics import Statistic
from symveil.estimation.table import Batch, Indices, windows
from symveil.randomness import RecordKey

_SELECTION = b"kept\0"
"""In front of what orders a person's cells; no query has this name."""

Name = Callable[[int], str]
"""The name of a symbol, by its code."""


@dataclass(frozen=True, eq=False)
class PersonCells:
    """How often each person has each cell that they have.

    Parameters
    ----------
    persons
        The number of a person, for each row.
    cells
        The codes of a cell, a row for each.
    times
        How often.
    """

    persons: Indices
    cells: NDArray[np.int64]
    times: Indices

    @classmethod
    def of(cls, statistic: Statistic, batches: Iterable[Batch], *, longest: int) -> PersonCells:
        """Look through all words once; longer ones do not count.

        >>> from symveil.estimation.statistics import read_statistic
        >>> words = Batch(np.array([0, 1, 0], dtype=np.int32), np.array([2, 1]), np.array([5, 5]))
        >>> found = PersonCells.of(read_statistic("visits"), [words], longest=9)
        >>> found.persons.tolist(), found.cells.tolist(), found.times.tolist()
        ([5, 5], [[0], [1]], [2, 1])
        """
        order = max(statistic.order, 1)
        parts = [_different(np.empty((0, order + 1), dtype=np.int64), np.empty(0, dtype=np.int64))]
        for batch in batches:
            counted = windows(statistic, batch)
            counts = batch.lengths[counted.word] <= longest
            rows = np.stack([batch.groups[counted.word], *counted.columns], axis=1)[counts].astype(np.int64)
            parts.append(_different(rows, np.ones(len(rows), dtype=np.int64)))
        rows, times = _different(*(np.concatenate(each) for each in zip(*parts, strict=True)))
        return cls(rows[:, 0], rows[:, 1:], times)

    def counted(self, persons: int) -> PersonCounts:
        """How many counted things each person has."""
        return PersonCounts(_summed(self.persons, self.times, persons))

    def limited(self, bound: int, keys: RecordKey, name: Name, persons: Sequence[str]) -> PersonCells:
        """At most so many cells of each person: those that come first in an order that the key draws for each of them.

        The order belongs to a person's name. All orders are alike for each person, whatever others have, so two files
        can be compared order by order: the draw costs no privacy.
        """
        own = np.bincount(self.persons)[self.persons] if len(self.persons) else self.persons
        many = np.flatnonzero(own > bound)
        if not len(many):
            return self
        names = keys.names([
            _SELECTION + cell_name([persons[person]]) + _cell_name(codes, name)
            for person, codes in zip(self.persons[many].tolist(), self.cells[many].tolist(), strict=True)
        ])  # fmt: skip
        order = many[np.lexsort((names[:, 2], names[:, 1], names[:, 0], self.persons[many]))]
        owners = self.persons[order]
        rank = np.arange(len(order)) - np.searchsorted(owners, owners)
        remaining = own <= bound
        remaining[order[rank < bound]] = True
        return PersonCells(self.persons[remaining], self.cells[remaining], self.times[remaining])

    def sums(self, bound: int, persons: int) -> tuple[NDArray[np.int64], list[int]]:
        """The different cells, and what persons add to each: ⌊M·min(1, L/k)⌋ for each of their k counted things."""
        added = self.counted(persons).weights(bound)[self.persons]
        cells, which = _numbered(self.cells)
        above = _summed(which, (added >> 32) * self.times, len(cells))
        below = np.zeros(len(cells), dtype=object)  # Python's whole numbers: no file is too large for them
        parts = np.flatnonzero(added & (GRID - 1))
        np.add.at(below, which[parts], (added[parts] & (GRID - 1)).astype(object) * self.times[parts])
        return cells, [(int(high) << 32) + int(rest) for high, rest in zip(above, below, strict=True)]


def selected_counts(
    statistic: Statistic,
    read: Read,
    persons: Sequence[str],
    terms: CountTerms,
    *,
    name: Name,
    longest: int,
    keys: RecordKey,
) -> PrivateCounts:
    """Count with (ε, δ) per person, over whatever cells there are.

    The groups of words are persons, numbered from 0 in the order of their names, which are a secret. Names of symbols
    are read once all words were read, and only those of rows that are shown are released. The same keys draw the same
    noise.

    >>> from fractions import Fraction
    >>> from symveil.estimation.statistics import read_statistic
    >>> words = Batch(np.array([0, 1, 1] * 500 + [2], dtype=np.int32), np.array([3] * 500 + [1]), np.arange(501))
    >>> table = selected_counts(
    ...     read_statistic("visits"), lambda: [words], [str(number) for number in range(501)],
    ...     CountTerms(epsilon=Fraction(1), delta=Fraction(1, 10**6), bound=3),
    ...     name="abc".__getitem__, longest=9, keys=RecordKey(bytes(32), "example"),
    ... )
    >>> table, table.symbols
    (PrivateCounts('visits', 2 rows, epsilon 1, delta 1e-06 per person), ('a', 'b'))
    """
    result = PersonCells.of(statistic, read(), longest=longest)
    queries, share = terms.bounded(statistic.name, result.counted(len(persons)), None, keys)
    query = queries[-1]
    own_name: Name = str if statistic.kind == "lengths" else name
    cells, sums = result.limited(query.bound, keys, own_name, persons).sums(query.bound, len(persons))
    answers = query.answered(sums, keys, cells=[_cell_name(row, own_name) for row in cells.tolist()])
    least = query.threshold
    shown = [index for index, answer in enumerate(answers) if answer >= least]
    codes, symbols = cells[shown], tuple[str, ...]()
    if statistic.kind != "lengths":
        codes, symbols = _renamed(codes, name)
    order = np.lexsort(codes.T[::-1])  # by names: rows with the same count must not be in an order of the file's
    return PrivateCounts.of(
        statistic,
        codes[order],
        [answers[shown[index]] for index in order.tolist()],
        queries,
        names=symbols,
        clipped_share=share,
        confidence=terms.confidence,
    )


def counted_plainly(statistic: Statistic) -> Statistic:
    """The statistic, where it can be counted over whatever cells there are."""
    if statistic.kind in ("positions", "presence"):
        raise ParameterError("statistic", expected=f"one of {', '.join(STATISTICS)}", found=statistic.name)
    return statistic


def _different(rows: NDArray[np.int64], times: Indices) -> tuple[NDArray[np.int64], Indices]:
    """Each row once, in order, and how often it is there."""
    rows, which = _numbered(rows)
    return rows, _summed(which, times, len(rows))


def _numbered(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], Indices]:
    """Each row once, in order, and the number of each row among them."""
    if not len(rows):
        return rows, np.empty(0, dtype=np.int64)
    order = np.lexsort(rows.T[::-1])
    ordered = rows[order]
    new = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    which = np.empty(len(rows), dtype=np.int64)
    which[order] = np.cumsum(new) - 1
    return ordered[new], which


def _summed(which: Indices, values: Indices, size: int) -> Indices:
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, which, values)
    return total


def _cell_name(codes: Iterable[int], name: Name) -> bytes:
    """A name that no other cell has, the same in every file that has the cell."""
    return cell_name(name(code) for code in codes)


def _renamed(codes: NDArray[np.int64], name: Name) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """The cells that are shown with codes of their own, by the order of names: other symbols do not show in them."""
    occurring, positions = np.unique(codes, return_inverse=True)
    names = [name(code) for code in occurring.tolist()]
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(names), dtype=np.int64)
    rank[order] = np.arange(len(names))
    return rank[positions.reshape(codes.shape)], tuple(names[index] for index in order)
