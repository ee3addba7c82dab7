"""Windows: a state of a word together with the few states before it, or after it, as the rows of tables of boxes.

See docs/theory/two-sided.md, *Boxes*. Row x < K is the state x with nothing known beside it. Every other row adds one
state, `farthest`, to its `parent`. Rows of the full length h have no longer ones: beyond them the anchor moves instead,
one state towards the known ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symveil.calibration.costs.graph import Integers


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """The rows of one side.

    other[first[r]] … are the rows that know one state more than r: longer ones, or for rows of the full length those
    whose anchor is one state farther away. following[next_first[k, r]] … are the rows that a word in r can be in one
    step later: with its whole history known (k = 0), or in rows of the full length (k = 1).
    """

    longest: int
    state: Integers
    farthest: Integers
    length: Integers
    parent: Integers
    first: Integers
    other: Integers
    next_first: Integers
    following: Integers
    begin: Integers  # rows of length j: begin[j] … begin[j + 1] − 1

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.state)

    def known(self, row: int) -> list[int]:
        """The states of a window, the farthest first and the anchor last."""
        states = []
        while True:
            states.append(int(self.farthest[row]))
            if self.length[row] == 0:
                return states
            row = int(self.parent[row])

    def longer(self, row: int) -> Integers:
        """The rows that know one state more."""
        return self.other[self.first[row] : self.first[row + 1]]


def rows_needed(back: Integers, earlier: Integers, longest: int) -> float:
    """How many rows there would be."""
    ways: NDArray[np.float64] = np.ones(len(back) - 1)
    counts = [float(ways.sum())]
    source = np.repeat(np.arange(len(back) - 1), np.diff(back))
    for _ in range(longest):
        ways = np.bincount(source, weights=ways[earlier], minlength=len(back) - 1).astype(np.float64)
        counts.append(float(ways.sum()))
    return sum(counts)


def windows(back: Integers, earlier: Integers, longest: int) -> Windows:
    """All windows up to a length; earlier[back[x]] … are the states on the side that windows reach to.

    >>> found = windows(np.array([0, 2, 3]), np.array([0, 1, 0]), 2)      # a, b → a; a → b
    >>> found.count, found.known(found.count - 1)
    (10, [1, 0, 1])
    """
    size = len(back) - 1
    state, farthest, parent = [np.arange(size)], [np.arange(size)], [np.full(size, -1)]
    prefix = [np.full(size, -1)]
    begin = [0, size]
    firsts: list[Integers] = []
    others: list[Integers] = []
    for length in range(longest):
        now = farthest[-1]
        degree = np.diff(back)[now]
        row = np.repeat(np.arange(begin[-2], begin[-1]), degree)
        number = np.arange(len(row)) - np.repeat(np.cumsum(degree) - degree, degree)
        reached = earlier[np.repeat(back[now], degree) + number]
        first = begin[-1] + np.concatenate([[0], np.cumsum(degree)])[:-1]
        if length == 0:
            before = reached
        else:  # the same state added to the row's own prefix, whose children were listed in the same order
            before = np.repeat(firsts[-1][prefix[-1] - begin[-3]], degree) + number
        firsts.append(first)
        others.append(np.arange(begin[-1], begin[-1] + len(row)))
        state.append(state[-1][row - begin[-2]])
        farthest.append(reached)
        parent.append(row)
        prefix.append(before)
        begin.append(begin[-1] + len(row))
    if longest == 0:
        first, other = back.copy(), earlier.copy()
        counts = [np.diff(back)]
        moved = (earlier, np.repeat(np.arange(size), np.diff(back)))
    else:
        counts = [np.diff(np.append(each, begin[k + 2])) for k, each in enumerate(firsts)]
        shorter, short_first = counts[-1], firsts[-1]
        of_prefix = prefix[-1] - begin[-3]
        degree = shorter[of_prefix]
        counts.append(degree)
        number = np.arange(int(degree.sum())) - np.repeat(np.cumsum(degree) - degree, degree)
        away = np.repeat(short_first[of_prefix], degree) + number
        others.append(away)
        first = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
        other = np.concatenate(others)
        moved = (away, np.repeat(np.arange(begin[-2], begin[-1]), degree))
    every_prefix = np.concatenate(prefix)
    whole = np.flatnonzero(every_prefix >= 0)
    rows = begin[-1]
    begins, targets, offset = [], [], 0
    for source, target in ((every_prefix[whole], whole), moved):
        order = np.argsort(source, kind="stable")
        begins.append(offset + np.concatenate([[0], np.cumsum(np.bincount(source, minlength=rows))]))
        targets.append(target[order])
        offset += len(target)
    return Windows(
        longest=longest,
        state=np.concatenate(state).astype(np.int64),
        farthest=np.concatenate(farthest).astype(np.int64),
        length=np.repeat(np.arange(longest + 1), np.diff(begin)).astype(np.int64),
        parent=np.concatenate(parent).astype(np.int64),
        first=first.astype(np.int64),
        other=other.astype(np.int64),
        next_first=np.stack(begins).astype(np.int64),
        following=np.concatenate(targets).astype(np.int64),
        begin=np.array(begin, dtype=np.int64),
    )
