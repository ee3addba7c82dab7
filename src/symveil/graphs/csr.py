"""Edges as flat arrays, one state after the other (compressed sparse rows), and sums over them.

Consecutive ranges as flat arrays: where each begins, and what is in each.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]

_LARGEST_KEY = 1 << 62
_MANY_VALUES = 1 << 12
"""So many floats are summed by a matrix of ones, which is then quicker than what it costs to make it."""


def offsets(counts: NDArray[np.integer[Any]] | NDArray[np.bool_]) -> Indices:
    """Where each of some consecutive ranges begins, and where the last one ends.

    >>> offsets(np.array([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def spread(counts: NDArray[np.integer[Any]], begin: NDArray[np.integer[Any]] | int = 0) -> tuple[Indices, Indices]:
    """The number of each range as often as its count, and beside it 0 … count − 1; with `begin`, from there on.

    >>> [each.tolist() for each in spread(np.array([2, 0, 3]))]
    [[0, 0, 2, 2, 2], [0, 1, 0, 1, 2]]
    >>> spread(np.array([2, 0, 3]), np.array([7, 8, 1]))[1].tolist()
    [7, 8, 1, 2, 3]
    """
    owner = np.repeat(np.arange(len(counts)), counts)
    return owner, np.repeat(begin - np.cumsum(counts) + counts, counts) + np.arange(len(owner))


def stable_order(values: NDArray[np.integer[Any]]) -> Indices:
    """The indices of integers ≥ 0 in rising order of these, equal ones as they come.

    Where that is not the order they have, each is sorted together with its index, as one integer: that takes a tenth of
    the time of `argsort`.

    >>> stable_order(np.array([2, 0, 2, 1, 0])).tolist()
    [1, 4, 3, 0, 2]
    """
    count = len(values)
    is_sorted = bool((values[1:] >= values[:-1]).all())
    if is_sorted or int(values.max()) >= _LARGEST_KEY // count:
        return np.argsort(values, kind="stable")
    keys = values.astype(np.int64) * count + np.arange(count)
    keys.sort()
    return np.asarray(keys % count)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Csr:
    """States 0 … S−1 and, for each, its edges: `target[e]` for e in first[s] … first[s+1].

    >>> graph = Csr.from_edges(np.array([1, 0, 1]), np.array([0, 1, 1]), 2)
    >>> graph.first.tolist(), graph.target.tolist(), graph.number.tolist()
    ([0, 1, 3], [1, 0, 1], [1, 0, 2])
    >>> values = np.array([1, 10, 100])
    >>> graph.sum_over(values).tolist(), graph.reversed().sum_over(values).tolist()
    ([10, 101], [1, 110])
    """

    first: Indices = field(repr=False)
    target: NDArray[Any] = field(repr=False)

    @staticmethod
    def from_edges(source: NDArray[Any], target: NDArray[Any], states: int) -> Reordered:
        """Edges in any order, listed by their sources; edges of one state stay in the order they have.

        Parameters
        ----------
        source, target
            Where each edge begins and ends.
        states
            S.
        """
        order = stable_order(source)
        return Reordered(first=offsets(np.bincount(source, minlength=states)), target=target[order], number=order)

    @property
    def state_count(self) -> int:
        """S."""
        return len(self.first) - 1

    @property
    def edge_count(self) -> int:
        """E."""
        return len(self.target)

    @property
    def degrees(self) -> Indices:
        """How many edges leave each state."""
        return np.diff(self.first)

    @property
    def widest(self) -> int:
        """D: the largest number of edges from one state."""
        return int(self.degrees.max(initial=0))

    @property
    def source(self) -> Indices:
        """The state that each edge leaves."""
        return np.repeat(np.arange(self.state_count), self.degrees)

    def edges(self, state: int) -> range:
        """The numbers of a state's edges."""
        return range(int(self.first[state]), int(self.first[state + 1]))

    def reversed(self) -> Reordered:
        """The same edges, listed by where they lead."""
        return Csr.from_edges(self.target, self.source, self.state_count)

    def expand(self, states: NDArray[np.integer[Any]]) -> tuple[Indices, Indices]:
        """All edges of some states, one state after the other: which of the states each leaves, and its number.

        Parameters
        ----------
        states
            States, in any order; one may occur several times.

        >>> graph = Csr(first=np.array([0, 2, 3]), target=np.array([0, 1, 0]))
        >>> [each.tolist() for each in graph.expand(np.array([1, 0, 1]))]
        [[0, 1, 1, 2], [2, 0, 1, 2]]
        """
        begin = self.first[states]
        return spread(self.first[1:][states] - begin, begin)

    def restricted(self, remaining: NDArray[np.bool_]) -> Reordered:
        """Some of the edges.

        Parameters
        ----------
        remaining
            Which of them.
        """
        number = np.flatnonzero(remaining)
        return Reordered(first=offsets(remaining)[self.first], target=self.target[number], number=number)

    def sum_over(self, values: NDArray[Any], add: np.ufunc = np.add, zero: object = None) -> NDArray[Any]:
        """For each state the sum of `values` over its edges.

        Parameters
        ----------
        values
            One, or one array, per edge.
        add
            What is meant by a sum: `np.minimum`, for example.
        zero
            The sum of nothing; None: 0.
        """
        shape = (self.state_count, *values.shape[1:])
        plain = values.dtype == np.float64 and add is np.add and not zero
        if plain and values.ndim > 1 and values.size >= _MANY_VALUES:
            return np.asarray(self._ones(len(values)) @ values.reshape(len(values), -1)).reshape(shape)
        sums = np.zeros(shape, values.dtype) if zero is None else np.full(shape, zero, values.dtype)
        filled = np.flatnonzero(self.degrees)
        if len(filled):
            sums[filled] = add.reduceat(self.in_order(values), self.first[filled], axis=0)
        return sums

    def _ones(self, values: int) -> Any:
        """A row for each state, with a 1 for each of its edges, in the column of its value."""
        from scipy import sparse  # noqa: PLC0415  # slow to import, and few commands add edges up

        column = self.in_order(np.arange(values))
        return sparse.csr_array((np.ones(len(column)), column, self.first), shape=(self.state_count, values))

    def in_order(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of edges, as they are given, in the order of the edges here.

        Parameters
        ----------
        values
            One, or one array, per edge.
        """
        return values


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reordered(Csr):
    """Edges of another graph in an order of its own; `number[e]` is the number there, by which values are given."""

    number: Indices = field(repr=False)

    def reversed(self) -> Reordered:
        """The same edges, listed by where they lead."""
        turned = Csr.reversed(self)
        return Reordered(first=turned.first, target=turned.target, number=self.number[turned.number])

    def restricted(self, remaining: NDArray[np.bool_]) -> Reordered:
        """Some of the edges, chosen by the numbers of edges in the other graph."""
        some = Csr.restricted(self, self.in_order(remaining))
        return Reordered(first=some.first, target=some.target, number=self.number[some.number])

    def in_order(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values that are given by the numbers of edges in the other graph, in the order here."""
        return np.asarray(values[self.number])
