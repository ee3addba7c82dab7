"""The online mechanism for many whole words at once: all words take their first step, then all their second …

Each row takes the decisions that a session takes (`Online.start`), and from a stream of its own it takes them from
the same bits. So a record's word is the same, whichever of the two draws it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from symveil.graphs.csr import offsets
from symveil.languages.graph import WordGraph
from symveil.languages.runs import RunLanguage
from symveil.mechanisms.limits import LIMITS
from symveil.models.alphabet import Codes
from symveil.numbers.once import computed_once
from symveil.randomness import BitSource, Boundaries, uniform_integers

Rows = NDArray[np.int64]


class Successors:
    """The edges along which a word can still be completed; `index[e]` is where edge e stands among them."""

    def __init__(self, graph: WordGraph, alive: NDArray[np.bool_]) -> None:
        useful = alive[graph.target]
        self.edges, self.index = graph.restricted(useful), offsets(useful)


class Steering:
    """Which successor leads back to a symbol in the fewest steps; states are symbols.

    On a small model the steps to all symbols are counted when a word first leaves its path, and kept; on a large one
    those to the symbols that are asked for, each time.
    """

    def __init__(self, graph: WordGraph) -> None:
        self._graph = graph

    def nearest(self, options: Successors, states: Rows, own: Codes) -> Rows:
        """The place among its successors, for each of some states; the first of those that are equally near."""
        room = LIMITS.now.online_distances // self._graph.state_count
        if len(self._graph.alphabet) <= room:
            return self._by_steps(self._steps_to_all, options, states, own.astype(np.int64))
        results = np.empty(len(states), dtype=np.int64)
        symbols, number = np.unique(own, return_inverse=True)
        for start in range(0, len(symbols), max(room, 1)):
            group = symbols[start : start + max(room, 1)]
            rows = np.flatnonzero((number >= start) & (number < start + len(group)))
            steps = steps_to_each(self._graph, group)
            results[rows] = self._by_steps(steps, options, states[rows], number[rows] - start)
        return results

    @computed_once
    def _steps_to_all(self) -> NDArray[np.int32]:
        return steps_to_each(self._graph, np.arange(len(self._graph.alphabet)))

    def _by_steps(self, to: NDArray[np.int32], options: Successors, states: Rows, column: Rows) -> Rows:
        """The same from a table of steps and the column of each row's symbol in it."""
        edges, counts = options.edges, options.edges.degrees[states]
        results = np.empty(len(states), dtype=np.int64)
        for part in _pieces(counts):
            row, edge = edges.expand(states[part])
            steps = to[edges.target[edge], column[part][row]]
            index, width = edge - edges.first[states[part]][row], int(counts[part].max())
            # the least number of steps, and among equal ones the least index
            least = np.minimum.reduceat(steps * np.int64(width) + index, offsets(counts[part])[:-1])
            results[part] = least % width
        return results


def _pieces(counts: Rows) -> Iterator[slice]:
    """The rows in slices of about as many successors as may be compared at once."""
    ends = np.flatnonzero(np.diff(np.cumsum(counts) // LIMITS.now.online_options)) + 1
    for start, stop in zip([0, *ends.tolist()], [*ends.tolist(), len(counts)], strict=True):
        if stop > start:
            yield slice(start, stop)


def steps_to_each(graph: WordGraph, states: NDArray[np.integer]) -> NDArray[np.int32]:
    """How many steps lead at least from each state, a row, to each of `states`, a column; a large number: none do.

    Eight columns a byte: a backward pass over lengths (`trellis.semirings.LENGTHS`) takes 700 times as long for 714
    states.

    >>> from symveil.languages.graph import word_graph
    >>> from symveil.models.markov_chain import MarkovChain
    >>> ring = word_graph(MarkovChain.from_transitions([("a", "b", 1), ("b", "c", 1), ("c", "a", 1)], initial="a"))
    >>> steps_to_each(ring, np.array([0, 2])).tolist()
    [[0, 2], [2, 1], [1, 0]]
    """
    leaving = np.flatnonzero(np.diff(graph.first))
    at = np.zeros((graph.state_count, len(states)), dtype=np.bool_)
    at[states, np.arange(len(states))] = True
    reached = np.packbits(at, axis=1)  # eight columns a byte
    steps = np.zeros(at.shape, dtype=np.int32)
    while True:
        missing = 1 - np.unpackbits(reached, axis=1, count=len(states))
        following = reached.copy()
        following[leaving] |= np.bitwise_or.reduceat(reached[graph.target], graph.first[leaving], axis=0)
        if np.array_equal(following, reached):
            steps[missing.astype(np.bool_)] = np.iinfo(np.int32).max
            return steps
        steps += missing
        reached = following


@lru_cache(maxsize=4)
def _steering(graph: WordGraph) -> Steering:
    return Steering(graph)  # words of all lengths of a model share it


class OnlineBatch:
    """Draws of whole words. `keep_choice(D)` decides whether the preferred one of D successors is released."""

    def __init__(self, runs: RunLanguage, keep_choice: Callable[[int], Boundaries], *, steering: bool) -> None:
        self._runs, self._graph = runs, runs.graph
        self._keep_choice = keep_choice
        self._steering = _steering(runs.graph) if steering else None

    def draw(self, rows: Codes, bits: BitSource) -> Codes:
        """A private version of each row, all of them words of the language."""
        graph, alive, length = self._graph, self._runs.alive, self._runs.length
        released = rows.copy()
        state = np.full(len(rows), graph.start, dtype=np.int64)
        begin = 0
        if self._runs.public_start and length:
            state, begin = graph.target[self._runs.edge_numbers(state, rows[:, 0])].astype(np.int64), 1
        options, trimmed_to = None, None
        for position in range(begin, length):
            if options is None or alive[length - position - 1] is not trimmed_to:
                trimmed_to = alive[length - position - 1]
                options = Successors(graph, trimmed_to)
            preferred = self._preferred(options, trimmed_to, state, rows[:, position])
            index = self._chosen(options.edges.degrees[state], preferred, bits)
            edge = options.edges.number[options.edges.first[state] + index]
            released[:, position] = graph.symbol[edge]
            state = graph.target[edge].astype(np.int64)
        return released

    def _preferred(self, options: Successors, alive: NDArray[np.bool_], state: Rows, own: Codes) -> Rows:
        """The place of the preferred one among the successors of each row's state; −1: none is."""
        edge = self._runs.edge_numbers(state, own)
        possible = (edge >= 0) & alive[self._graph.target[edge]]
        index = np.where(possible, options.index[edge] - options.edges.first[state], -1)
        lost = np.flatnonzero(~possible)
        if self._steering is not None and len(lost):
            index[lost] = self._steering.nearest(options, state[lost], own[lost])
        return index

    def _chosen(self, counts: Rows, preferred: Rows, bits: BitSource) -> Rows:
        """The place of the successor that each row's bits choose."""
        index = preferred.copy()
        drawn = preferred < 0
        steered = np.flatnonzero(~drawn)
        words = bits.for_rows(steered).word_rows(len(steered), 1)[:, 0]
        for count in np.flatnonzero(np.bincount(counts[steered])).tolist():
            alike = np.flatnonzero(counts[steered] == count)
            picked = self._keep_choice(count).pick(words[alike], bits.for_rows(steered[alike]))
            drawn[steered[alike]] = (picked > 0) & (count > 1)
        rows = np.flatnonzero(drawn)
        others = uniform_integers(counts[rows] - (preferred[rows] >= 0), bits.for_rows(rows))
        # the preferred one is not among the others
        index[rows] = others + ((preferred[rows] >= 0) & (others >= preferred[rows]))
        return index
