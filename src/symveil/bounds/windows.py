"""All words of a window of a few positions, by what is known around it.

A *context* of a window is the state before it, and the symbol after it with the state that this symbol leads to
(nothing where the window ends the word). All words of a context can be exchanged without touching the rest of the word,
so a mechanism must keep ε among them; they are the same at every position.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symveil.bounds.prior import LEAST_PRODUCT, Floats, Integers, Prior


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """The words of all contexts of windows of one length: context c has rows `begin[c]` … `begin[c+1]−1` of `words`.

    `words` are symbols relabelled per context and position, in the order of their appearance: prices do not depend on
    names, so contexts with equal rows share theirs. `weights` are the prior's, of the window and the symbol after it.
    Contexts with a single word are left out: nothing can be hidden there.
    """

    length: int
    to_end: bool
    left: Integers
    right: Integers | None
    begin: Integers
    words: NDArray[np.int32]
    weights: Floats

    @property
    def sizes(self) -> Integers:
        """How many words each context has."""
        return np.diff(self.begin)

    def context_weights(self) -> Floats:
        """The weight of all words of each context."""
        return np.add.reduceat(self.weights, self.begin[:-1]) if len(self.left) else np.zeros(0)

    def probabilities(self, prior: Prior, position: int) -> Floats:
        """π of each context, where the window begins at a position."""
        return prior.probability(
            position, self.left, self.context_weights(), position + self.length + 1, None if self.to_end else self.right
        )


def windows(prior: Prior, length: int, *, to_end: bool, most_rows: int = 1_000_000) -> Windows | None:
    """The windows of a length, within the word or at its end; None where they have more than `most_rows` words.

    >>> import symveil as sv
    >>> rows = [("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)]
    >>> prior = Prior(sv.runs(sv.MarkovChain.from_transitions(rows), 4), "uniform")
    >>> found = windows(prior, 1, to_end=False)
    >>> found.sizes.tolist()                 # between a and a, and between the start and a, there may be a or b
    [2, 2]
    """
    graph = prior.language.graph
    last = prior.language.length - length
    begins = [last] if to_end else range(prior.first, last)
    reached = np.zeros(graph.state_count, dtype=np.bool_)
    for position in begins:
        reached |= prior.chance_of[position] > 0
    steps = length if to_end else length + 1
    if _row_count(prior, reached, steps) > most_rows:
        return None
    left = state = np.flatnonzero(reached)
    weights = np.ones(len(left))
    symbols = np.empty((len(left), 0), dtype=np.int32)
    for step in range(steps):
        rows, edges = _extended(prior, state)
        left, weights = left[rows], weights[rows] * prior.edge_weights[edges]
        symbols = symbols[rows]
        if step < length:
            symbols = np.concatenate([symbols, graph.symbol[edges][:, None]], axis=1)
        else:
            following = graph.symbol[edges].astype(np.int64)
        state = graph.target[edges].astype(np.int64)
    if weights.min(initial=1.0) < LEAST_PRODUCT:
        return None  # too small for a relative error that is known
    kept = np.ones(len(state), dtype=np.bool_)
    if to_end:
        kept = graph.accepting[state]
        context = left
    else:
        context = (left * graph.state_count + state) * len(graph.alphabet) + following
    left, state, context, symbols, weights = left[kept], state[kept], context[kept], symbols[kept], weights[kept]
    order = np.argsort(context, kind="stable")  # rows of a context stay in alphabetical order
    _, begin, sizes = np.unique(context[order], return_index=True, return_counts=True)
    order = order[np.repeat(sizes > 1, sizes)]
    sizes = sizes[sizes > 1]
    begin = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    heads = order[begin[:-1]]
    return Windows(
        length=length,
        to_end=to_end,
        left=left[heads],
        right=None if to_end else state[heads],
        begin=begin,
        words=_relabelled(symbols[order], np.repeat(np.arange(len(sizes)), sizes), begin),
        weights=weights[order],
    )


def _row_count(prior: Prior, reached: NDArray[np.bool_], steps: int) -> float:
    graph = prior.language.graph
    rows: Floats = reached.astype(np.float64)
    for _ in range(steps):
        rows = np.bincount(graph.target, weights=rows[prior.source], minlength=graph.state_count).astype(np.float64)
    return float(rows.sum())


def _extended(prior: Prior, state: Integers) -> tuple[Integers, Integers]:
    """Every row with every edge of its state: (number of the row, number of the edge)."""
    first = prior.language.graph.first
    degrees = first[state + 1] - first[state]
    rows = np.repeat(np.arange(len(state)), degrees)
    return rows, first[state][rows] + np.arange(len(rows)) - np.repeat(np.cumsum(degrees) - degrees, degrees)


def _relabelled(symbols: NDArray[np.int32], context: Integers, begin: Integers) -> NDArray[np.int32]:
    """Symbols renamed 0, 1 … in the order in which a context first has them at a position."""
    relabelled = np.empty_like(symbols)
    for column in range(symbols.shape[1]):
        key = context * (int(symbols.max(initial=0)) + 1) + symbols[:, column]
        _, appears, number = np.unique(key, return_index=True, return_inverse=True)
        in_order = np.argsort(appears, kind="stable")
        rank = np.empty(len(in_order), dtype=np.int64)
        rank[in_order] = np.arange(len(in_order))
        rank = rank[number]
        relabelled[:, column] = rank - np.repeat(rank[begin[:-1]], np.diff(begin))
    return relabelled
