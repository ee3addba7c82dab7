"""Rows of a table that agree outside a block: which there are, and the largest ratio of two of them in one column.

See docs/theory/two-sided.md, *Words that are halves*.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from symveil.languages.compiling import compiled
from symveil.models.word import Codes

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_COLUMNS = 512  # as many as stay at hand while the rows of a group are looked through


def groups_of(strings: Codes, begin: int, size: int) -> tuple[Integers, Integers]:
    """Rows that agree outside a block, one group after the other, and where each group of several rows begins.

    >>> order, first = groups_of(np.array([[0, 1], [1, 1], [0, 2]], dtype=np.int32), 0, 1)
    >>> order.tolist(), first.tolist()
    ([0, 1], [0])
    """
    key = np.zeros(len(strings), dtype=np.int64)
    letters = int(strings.max(initial=0)) + 1
    for place in [*range(begin), *range(begin + size, strings.shape[1])]:
        if int(key.max(initial=0)) >= 2**62 // letters:  # numbered anew, so that they stay small
            key = np.unique(key, return_inverse=True)[1].reshape(-1)
        key = key * letters + strings[:, place]
    order = np.argsort(key, kind="stable")
    _, group, count = np.unique(key[order], return_inverse=True, return_counts=True)
    several = count[group.reshape(-1)] > 1
    return order[several], np.cumsum(count[count > 1]) - count[count > 1]


def worst_in_groups(table: Floats, order: Integers, first: Integers) -> tuple[float, int, int, int] | None:
    """(ratio, row, row, column): the largest quotient of two rows of a group in one column; None without groups.

    Parameters
    ----------
    table
        Positive numbers.
    order, first
        The rows group by group, two or more in each, and where each group begins.

    >>> table = np.array([[1.0, 2.0], [4.0, 2.0], [9.0, 9.0]])
    >>> worst_in_groups(table, np.array([0, 1]), np.array([0]))
    (4.0, 1, 0, 0)
    """
    if not len(first):
        return None
    ratio, group, column = _largest_ratio(table, order, np.append(first, len(order)))
    rows = order[first[group] : first[group + 1] if group + 1 < len(first) else len(order)]
    values = table[rows, column]
    largest = int(values.argmax())
    smallest = int(values.argmin()) if ratio > 1 else (largest + 1) % len(rows)
    return float(ratio), int(rows[largest]), int(rows[smallest]), int(column)


@compiled
def _largest_ratio(table: Floats, order: Integers, first: Integers) -> tuple[float, int, int]:
    """The quotient with its group and column; group g is first[g] … first[g + 1] − 1."""
    best, group_of, column_of = 0.0, 0, 0
    columns = table.shape[1]
    most, least = np.empty(_COLUMNS), np.empty(_COLUMNS)
    for group in range(len(first) - 1):
        for left in range(0, columns, _COLUMNS):
            width = min(_COLUMNS, columns - left)
            row = table[order[first[group]], left : left + width]
            for c in range(width):
                most[c] = row[c]
                least[c] = row[c]
            for k in range(first[group] + 1, first[group + 1]):
                row = table[order[k], left : left + width]
                for c in range(width):
                    value = row[c]
                    most[c] = value if value > most[c] else most[c]
                    least[c] = value if value < least[c] else least[c]
            top = 0.0
            for c in range(width):
                ratio = most[c] / least[c]
                top = ratio if ratio > top else top
            if top > best:
                best, group_of = top, group
                for c in range(width):
                    if most[c] / least[c] == top:
                        column_of = left + c
    return best, group_of, column_of
