"""Beginnings and ends of words, with what may stand in their place: vectors over states and phases.

See docs/theory/certificates.md, *Words that are halves*. Z(w) of a word is a product of the vectors of its two halves.

Rows of a table that agree but in some places are *groups*: the largest ratio of two of them in one column is found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from symveil.calibration.costs.blocks import Kind
from symveil.calibration.costs.pairs import Pair
from symveil.calibration.counting_loops import largest_ratio, spread
from symveil.calibration.weighting import Weighting
from symveil.languages.costs import INFINITE
from symveil.languages.run_weights import RunWeights
from symveil.models.alphabet import Codes

Floats = NDArray[np.floating]
Integers = NDArray[np.int64]

THREADS = 2
_MOST_EXPONENT = 200.0


@dataclass(frozen=True, slots=True, eq=False)
class Half:
    """Beginnings or ends of words, and their vectors: [word, state, phase]."""

    words: Codes
    vectors: Floats

    @property
    def table(self) -> Floats:
        """A row of numbers for each word."""
        return self.vectors.reshape(len(self.words), -1)


class HalfTables:
    """Beginnings and ends of the words of a language, a symbol longer at a time."""

    def __init__(self, weighting: Weighting, weights: RunWeights) -> None:
        self.weighting, self._weights = weighting, weights
        self.language, self.costs, self.rate = weights.language, weights.costs, float(weights.rate)
        graph = weights.graph
        self._size, self._phases = graph.state_count, weights.costs.phases
        self.begin = 1 if self.language.public_start else 0
        self.steps = self.language.length - self.begin
        self._symbol_of = np.zeros(self._size, dtype=np.int64)
        self._symbol_of[graph.target] = graph.symbol  # on a chain the state says the symbol
        shape = (self._size, self._size)
        self._moves = sparse.csr_array((weights.edge_weights, (weights.edge_sources, graph.target)), shape=shape)
        chain = self.language.graph
        self.follows = np.zeros((chain.state_count, chain.state_count), dtype=np.bool_)
        self.follows[chain.source, chain.target] = True
        self._value = np.array([float(cost) for cost in self.costs.values])

    @property
    def width(self) -> int:
        """How many numbers a vector has."""
        return int(self._size * self._phases)

    @property
    def costs_alike(self) -> bool:
        """Whether any two symbols that adjacent words can have at a position cost 1, as under Hamming and swaps."""
        return bool(self.weighting.largest_step == 1 and len(self._value) > 1 and self._value[1] == 1.0)

    def cost_between(self, position: int, own: Codes, other: Codes) -> Floats:
        """What symbols cost that stand in the place of others."""
        return self._value[self.costs.levels(position, own, other)]

    @property
    def is_bounded(self) -> bool:
        """Whether no word weighs so little, nor all of them so much, that floats could be lost."""
        weights, length = self._weights, self.language.length
        ends = weights.final_weights[weights.final_weights > 0].min(initial=1.0)
        lightest = length * math.log2(max(float(weights.edge_weights.min(initial=1.0)), 2.0**-1000)) + math.log2(ends)
        widest = int(np.bincount(weights.edge_sources).max(initial=1))
        return lightest > -_MOST_EXPONENT and length * math.log2(widest) < _MOST_EXPONENT

    @property
    def rounding(self) -> float:
        """More than the error of ln Z(v)/Z(w), for each unit of 1 + |ln Z|: sums of products of positive floats."""
        widest = int(np.bincount(self._weights.edge_sources).max(initial=1))
        operations = self.width + (self.language.length + 2) * (2 * widest + 16)
        return 16 * operations * 2.0**-52

    def _factors(self, position: int) -> tuple[list[Floats], list[Integers]]:
        """κ of the true symbol against each state's, and the phase it leads to: by phase, [symbol, state]."""
        letters = np.arange(len(self.language.alphabet))
        levels = self.costs.levels(position, letters[:, None], self._symbol_of[None, :])
        finite = levels != INFINITE
        known = np.where(finite, levels, 0)
        weights = [np.where(finite, self._weights.step_weights[known, phase], 0.0) for phase in range(self._phases)]
        return weights, [self.costs.next_phase[known, phase] for phase in range(self._phases)]

    def beginnings(self, length: int) -> Half:
        """All beginnings of words of that length, and what may stand in their place, by state and phase."""
        chain, phase = self.language.graph, self.costs.start_phase
        if self.begin:
            first = chain.symbol[list(chain.edges(chain.start))].astype(np.int32)
            vectors = np.zeros((len(first), self._size, self._phases))
            vectors[np.arange(len(first)), self._weights.first_states[first], phase] = 1.0
            half = Half(first[:, None], vectors)
        else:
            vectors = np.zeros((1, self._size, self._phases))
            vectors[0, self._weights.graph.start, phase] = 1.0
            half = Half(np.empty((1, 0), dtype=np.int32), vectors)
        for _ in range(self.begin, length):
            half = self.longer_beginnings(half)
        return half

    def longer_beginnings(self, half: Half, only: int | None = None) -> Half:
        """With one more symbol: every one that can follow, or one."""
        chain, words = self.language.graph, half.words
        state = words[:, -1].astype(np.int64) if words.shape[1] else np.full(len(words), chain.start)
        if only is not None:
            remaining = np.flatnonzero(self.follows[state, only])
            half, state = Half(words[remaining], half.vectors[remaining]), state[remaining]
        moved = [(self._moves.T @ half.vectors[:, :, k].T).T for k in range(self._phases)]
        if only is None:
            parent, edge = chain.expand(state)
            symbol = chain.symbol[edge]
        else:
            parent = np.arange(len(state))
            symbol = np.full(len(state), only, dtype=np.int32)
        weights, leads = self._factors(words.shape[1])
        vectors = np.zeros((len(parent), self._size, self._phases))
        for k, phase in product(range(self._phases), repeat=2):
            entering = np.where(leads[k] == phase, weights[k], 0.0)  # what leads from one phase to the other
            if entering.any():
                vectors[:, :, phase] += moved[k][parent] * entering[symbol]
        return Half(np.concatenate([half.words[parent], symbol[:, None]], axis=1).astype(np.int32), vectors)

    def ends(self, length: int) -> Half:
        """All ends of words of that length, and what may follow in their place, by state and phase."""
        vectors = np.repeat(self._weights.final_weights[None, :, None], self._phases, axis=2)
        half = Half(np.empty((1, 0), dtype=np.int32), vectors)
        for _ in range(length):
            half = self.longer_ends(half, np.unique(self.language.graph.symbol))
        return half

    def longer_ends(self, half: Half, letters: NDArray[np.integer]) -> Half:
        """With one more symbol before them, one of these."""
        chain, words = self.language.graph, half.words
        follows = self.follows[letters][:, words[:, 0]] if words.shape[1] else chain.accepting[letters][:, None]
        row, parent = np.nonzero(follows)
        symbol = letters[row]
        weights, leads = self._factors(self.language.length - 1 - words.shape[1])
        states = np.arange(self._size)[None, :]
        moved = [
            (self._moves @ (half.vectors[parent[:, None], states, leads[k][symbol]] * weights[k][symbol]).T).T
            for k in range(self._phases)
        ]
        return Half(np.concatenate([symbol[:, None], words[parent]], axis=1).astype(np.int32), np.stack(moved, axis=2))


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

    The rows are all different; rows of a group may differ at `positions` only. With `also_alone` rows that agree with
    no other are groups too.

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

    The table is positive, and groups have two or more rows.

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

    Both tables are positive, `low` nowhere larger than `high`.

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
