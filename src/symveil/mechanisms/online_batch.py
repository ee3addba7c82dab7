"""The online mechanism for many whole words at once: all words take their first step, then all their second …

Each row takes the decisions that a session takes (`Online.start`), and from a stream of its own it takes them from
the same bits. So a record's word is the same, whichever of the two draws it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from symveil.languages.graph import WordGraph
from symveil.languages.runs import RunLanguage
from symveil.models.word import Codes
from symveil.randomness import BitSource, Boundaries, uniform_integers

Rows = NDArray[np.int64]

_MOST_STEPS = 1 << 22  # entries of a table of distances
_MOST_OPTIONS = 1 << 20  # successors that are compared at once


class Successors:
    """The edges from each state along which a word can still be completed.

    `edges` has them one state after the other, those of state s from `first[s]` on; `number[e]` is where edge e
    stands among them, if it is one.
    """

    def __init__(self, graph: WordGraph, alive: NDArray[np.bool_]) -> None:
        useful = alive[graph.target]
        self.edges = np.flatnonzero(useful)
        self.number: Rows = np.concatenate([[0], np.cumsum(useful)])
        self.first = self.number[graph.first]


class Steering:
    """Which successor leads back to a symbol in the fewest steps; states are symbols."""

    def __init__(self, graph: WordGraph, symbols: Codes) -> None:
        self._graph = graph
        self._place = np.zeros(len(graph.alphabet), dtype=np.int64)
        self._place[symbols] = np.arange(len(symbols))
        self._steps = steps_to_each(graph, symbols)

    def nearest(self, options: Successors, states: Rows, own: Codes) -> Rows:
        """The place among its successors, for each of some states; the first of those that are equally near."""
        begin, counts = options.first[states], options.first[states + 1] - options.first[states]
        found = np.empty(len(states), dtype=np.int64)
        for part in _pieces(counts):
            within = np.cumsum(counts[part]) - counts[part]
            place = np.arange(int(counts[part].sum())) - np.repeat(within, counts[part])
            edge = options.edges[np.repeat(begin[part], counts[part]) + place]
            steps = self._steps[self._graph.target[edge], np.repeat(self._place[own[part]], counts[part])]
            width = int(counts[part].max())
            # the least number of steps, and among equal ones the least place
            found[part] = np.minimum.reduceat(steps * np.int64(width) + place, within) % width
        return found


def _pieces(counts: Rows) -> Iterator[slice]:
    """The rows in slices of about as many successors as may be compared at once."""
    ends = np.flatnonzero(np.diff(np.cumsum(counts) // _MOST_OPTIONS)) + 1
    for start, stop in zip([0, *ends.tolist()], [*ends.tolist(), len(counts)], strict=True):
        if stop > start:
            yield slice(start, stop)


def steps_to_each(graph: WordGraph, states: NDArray[np.integer]) -> NDArray[np.int32]:
    """How many steps lead at least from each state, a row, to each of `states`, a column; a large number: none do.

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
    """To every symbol: the words of all lengths of a model share it."""
    return Steering(graph, np.arange(len(graph.alphabet), dtype=np.int32))


class OnlineBatch:
    """Draws of whole words. `keep_choice(D)` decides whether the preferred one of D successors is released."""

    def __init__(self, runs: RunLanguage, keep_choice: Callable[[int], Boundaries], *, steering: bool) -> None:
        self._runs, self._graph = runs, runs.graph
        self._keep_choice = keep_choice
        self._steering = steering

    def draw(self, rows: Codes, bits: BitSource) -> Codes:
        """A private version of each row, all of them words of the language."""
        released = rows.copy()
        room = _MOST_STEPS // self._graph.state_count
        if not self._steering or len(self._graph.alphabet) <= room:
            return self._draw_part(rows, bits, _steering(self._graph) if self._steering else None)
        # so few rows at once that the distances to all their symbols have room
        at_once = max(room // max(rows.shape[1], 1), 1)
        for start in range(0, len(rows), at_once):
            part = np.arange(start, min(start + at_once, len(rows)))
            steering = Steering(self._graph, np.unique(rows[part]))
            released[part] = self._draw_part(rows[part], bits.for_rows(part), steering)
        return released

    def _draw_part(self, rows: Codes, bits: BitSource, steering: Steering | None) -> Codes:
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
            preferred = self._preferred(options, trimmed_to, state, rows[:, position], steering)
            place = self._chosen(options.first[state + 1] - options.first[state], preferred, bits)
            edge = options.edges[options.first[state] + place]
            released[:, position] = graph.symbol[edge]
            state = graph.target[edge].astype(np.int64)
        return released

    def _preferred(
        self, options: Successors, alive: NDArray[np.bool_], state: Rows, own: Codes, steering: Steering | None
    ) -> Rows:
        """The place of the preferred one among the successors of each row's state; −1: none is."""
        edge = self._runs.edge_numbers(state, own)
        possible = (edge >= 0) & alive[self._graph.target[edge]]
        place = np.where(possible, options.number[edge] - options.first[state], -1)
        lost = np.flatnonzero(~possible)
        if steering is not None and len(lost):
            place[lost] = steering.nearest(options, state[lost], own[lost])
        return place

    def _chosen(self, counts: Rows, preferred: Rows, bits: BitSource) -> Rows:
        """The place of the successor that each row's bits choose."""
        place = preferred.copy()
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
        place[rows] = others + ((preferred[rows] >= 0) & (others >= preferred[rows]))
        return place
