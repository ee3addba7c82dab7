"""Rows of a table that agree but in some places: which there are, and the largest ratio of two of them in one column.

See docs/theory/certificates.md, *Words that are halves*.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from symveil.calibration.costs.blocks import Kind
from symveil.calibration.costs.pairs import Pair
from symveil.calibration.counting_loops import largest_ratio, spread
from symveil.models.alphabet import Codes

Floats = NDArray[np.floating]
Integers = NDArray[np.int64]
Groups = tuple[Integers, Integers]
"""Rows group by group, and where each group begins."""


@dataclass(slots=True)
class Worst:
    """The largest value of each kind of block, and the words that have it."""

    largest_each: dict[Kind, tuple[float, Pair]] = field(default_factory=dict)
    largest_log: float = 0.0

    @property
    def value(self) -> float:
        """The largest of all kinds, −∞ where there is none."""
        return max((value for value, _ in self.largest_each.values()), default=-math.inf)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The words of each kind, the worst first."""
        return tuple(pair for _, pair in sorted(self.largest_each.values(), key=lambda each: -each[0]))

    def add(self, kind: Kind, value: float, pair: Callable[[], Pair]) -> None:
        """A pair of words, asked for if it is the worst of its kind."""
        if kind not in self.largest_each or value > self.largest_each[kind][0]:
            self.largest_each[kind] = (value, pair())

    def merge(self, other: Worst) -> None:
        """What was found elsewhere."""
        self.largest_log = max(self.largest_log, other.largest_log)
        for kind, (value, pair) in other.largest_each.items():
            if kind not in self.largest_each or value > self.largest_each[kind][0]:
                self.largest_each[kind] = (value, pair)


def groups_of(strings: Codes, positions: Collection[int], *, also_alone: bool = False) -> Groups:
    """Rows that agree but in these places, one group after the other, and where each group begins.

    Parameters
    ----------
    strings
        The rows, all different.
    positions
        Where rows of a group may differ.
    also_alone
        Whether rows that agree with no other are groups too.

    >>> order, first = groups_of(np.array([[0, 1], [1, 1], [0, 2]], dtype=np.int32), (0,))
    >>> order.tolist(), first.tolist()
    ([0, 1], [0])
    """
    key = np.zeros(len(strings), dtype=np.int64)
    letters = int(strings.max(initial=0)) + 1
    for index in [index for index in range(strings.shape[1]) if index not in positions]:
        if int(key.max(initial=0)) >= 2**62 // letters:  # numbered anew, so that they stay small
            key = np.unique(key, return_inverse=True)[1].reshape(-1)
        key = key * letters + strings[:, index]
    order = np.argsort(key, kind="stable")
    begins = np.flatnonzero(np.diff(key[order], prepend=-1))
    if also_alone:
        return order, begins
    count = np.diff(np.append(begins, len(order)))
    return order[np.repeat(count > 1, count)], np.cumsum(count[count > 1]) - count[count > 1]


def worst_in_groups(table: Floats, groups: Groups) -> tuple[float, int, int, int] | None:
    """(ratio, row, row, column): the largest quotient of two rows of a group in one column; None without groups.

    Parameters
    ----------
    table
        Positive numbers.
    groups
        Of two or more rows each.

    >>> table = np.array([[1.0, 2.0], [4.0, 2.0], [9.0, 9.0]])
    >>> worst_in_groups(table, (np.array([0, 1]), np.array([0])))
    (4.0, 1, 0, 0)
    """
    result = worst_between(table, table, groups)
    if result is None:
        return None
    ratio, rows, column = result
    values = table[rows, column]
    largest = int(values.argmax())
    smallest = int(values.argmin()) if ratio > 1 else (largest + 1) % len(rows)
    return ratio, int(rows[largest]), int(rows[smallest]), column


def worst_between(high: Floats, low: Floats, groups: Groups) -> tuple[float, Integers, int] | None:
    """(ratio, rows, column): the largest quotient of a row of one table and a row of the other, both of one group.

    Parameters
    ----------
    high, low
        Positive numbers, the second nowhere larger than the first.
    groups
        Rows that are compared with each other.

    >>> most, least = np.array([[3.0], [4.0]]), np.array([[2.0], [1.0]])
    >>> worst_between(most, least, (np.array([0, 1]), np.array([0])))[0]
    4.0
    """
    order, first = groups
    if not len(first) or not high.shape[1]:
        return None
    bounds = np.append(first, len(order))
    ratio, group, column = largest_ratio(np.ascontiguousarray(high), np.ascontiguousarray(low), order, bounds)
    return float(ratio), order[bounds[group] : bounds[group + 1]], int(column)


def extremes_of(table: Floats, groups: Groups) -> tuple[Floats, Floats]:
    """The largest and the smallest number of every column in each group: a row for each group.

    >>> most, least = extremes_of(np.array([[1.0, 2.0], [4.0, 2.0]]), (np.array([0, 1]), np.array([0])))
    >>> most.tolist(), least.tolist()
    ([[4.0, 2.0]], [[1.0, 2.0]])
    """
    order, first = groups
    most = np.ascontiguousarray(table[order[first]])
    least = most.copy()
    spread(np.ascontiguousarray(table), order, np.append(first, len(order)), most, least)
    return most, least
