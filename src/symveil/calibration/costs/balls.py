"""Balls: the states near each state, which vectors of a large graph are kept over, and what may lie beyond them.

See docs/theory/certificates.md, *Balls*. On a large graph almost all weight of what a word is compared with lies near
the word. Vectors are kept over the ball of the word's own state; all that is outside is one number: on the left χ, the
sum of everything there, on the right ψ, the largest. Memory is linear in the number of states.

Lemma 2.12. Every state outside B(t) costs more than r levels against t; κ̄ is the most that κ can then be, s the largest
sum of edge weights of a state. From t to t', with A the smallest value of Σ_x T(x,t')α(x)/α(t) over the box,

    χ' ≤ [Σ_{x ∈ B(t), φ} hi(x,φ)κ̄(φ)Σ_{y ∉ B(t')} T(x,y) + χ·s·max κ̄]/A,

and an upper end of y ∈ B(t') gains χ·max_{x ∉ B(t)} T(x,y): a state outside B(t') is entered at a cost above r levels,
from inside, where hi bounds the weight, or from outside, where all weight is at most χ and grows by at most s. On the
right, with B the smallest value of Σ_y T(t,y)κβ(y)/β(t'),

    ψ ≤ s·max(max κ̄·ψ', max κ(t',y)hi'(y) over y ∈ B(t') with an edge from outside B(t))/B,

because a state outside has β(x) = ΣTκβ(y), at most s times the largest κβ(y). An upper end of x inside the ball gains
Σ_{y ∉ B(t')} T(x,y)κ̄ψ'.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from symveil.calibration.costs.graph import CostGraph, Floats, Integers
from symveil.languages.costs import INFINITE

_LEAST_FAR = 2.0**-300
_LARGEST_RADIUS = 6
_MOST_ENTRIES = 8_000_000  # states and phases in all balls: some minutes for a rate
_FEWEST_STATES = 40
_LITTLE = 2.0**-7  # κ of what is outside a ball: with less there, larger balls prove hardly more and take much longer


@dataclass(frozen=True, slots=True, eq=False)
class Balls:
    """state[first[t]] … are the states of t's ball, rising, t among them; level[metric, ·] is what they cost against t.

    Every state outside costs at least the level `outside`; far[φ] is the most that κ of such a state can be in phase φ.
    `leaving[x]` is the sum of the weights of all edges from x, `spread` the largest of them among states that some edge
    leads to. (A state that none leads to holds weight at the beginning only, when nothing is outside a ball.)
    """

    first: Integers
    state: Integers
    level: NDArray[np.int16]
    outside: int
    far: Floats
    leaving: Floats
    spread: float

    @property
    def widest(self) -> int:
        """The largest number of states in one ball."""
        return int(np.diff(self.first).max(initial=1))


def has_balls(graph: CostGraph) -> bool:
    """Whether each state of a chain has a symbol of its own, so that costs of symbols are costs of states."""
    named = graph.symbol[np.diff(graph.back) > 0]
    return graph.is_chain and len(np.unique(named)) == len(named)


def balls(graph: CostGraph, radius: int, *, steps: int = 1, most: int | None = None) -> Balls | None:
    """The ball of every state: what is at most `radius` levels away at some position, and what shares a neighbour.

    Parameters
    ----------
    graph
        A chain whose states have symbols of their own (`has_balls`).
    radius
        How many levels.
    steps
        Also the states that have a state in common with t so many steps before or after.
    most
        None is the answer where a ball would have more states on average.
    """
    costs, size = graph.weights.costs, graph.size
    entered = np.diff(graph.back) > 0
    state_of = np.full(len(graph.weights.language.alphabet), -1, dtype=np.int64)
    state_of[graph.symbol[entered]] = np.flatnonzero(entered)
    own = np.arange(size)
    rows, columns = [own], [own]
    for metric in costs.metrics:
        near = metric.level <= radius
        row = np.repeat(np.arange(len(metric.first) - 1), np.diff(metric.first))[near]
        column = metric.symbol[near]
        there = (state_of[row] >= 0) & (state_of[column] >= 0)
        rows.append(state_of[row[there]])
        columns.append(state_of[column[there]])
    row, column = np.concatenate(rows), np.concatenate(columns)
    reached = sparse.csr_matrix((np.ones(len(row), dtype=np.int8), (row, column)), shape=(size, size))
    reached = _truth(reached) + _sharing(graph, steps)
    reached = _truth(reached)
    if most is not None and reached.nnz > most * size:
        return None
    reached.sort_indices()
    first, state = reached.indptr.astype(np.int64), reached.indices.astype(np.int64)
    row = np.repeat(own, np.diff(first))
    level = np.empty((len(costs.metrics), len(state)), dtype=np.int16)
    one, two = graph.symbol[row], graph.symbol[state]
    for number in range(len(costs.metrics)):
        level[number] = costs.levels(costs.metric_of.index(number), one, two)
    kappa, _, _ = graph.automaton
    # what is outside is listed with a higher level, or is not listed: then its level is `far`
    listed = radius + 1 <= max(int(metric.level.max(initial=0)) for metric in costs.metrics)
    outside = radius + 1 if costs.far == INFINITE else min(radius + 1, costs.far)
    far = np.zeros(graph.phases)
    if listed or costs.far != INFINITE:
        far[:] = np.maximum(kappa[outside:].max(axis=0), _LEAST_FAR)
    leaving = np.bincount(np.repeat(own, np.diff(graph.first)), weights=graph.weight, minlength=size).astype(np.float64)
    return Balls(
        first, state, level, outside, far, leaving * (1 + 2.0**-40),
        float(leaving[entered].max(initial=0.0)) * (1 + 2.0**-40),
    )  # fmt: skip


def balls_within(graph: CostGraph, radius: int | None) -> Balls | None:
    """Balls of a radius, or of the smallest one with little outside, if that can be afforded; None: there are none.

    A large rate needs small balls, a small one larger ones, and staircases those of their period: nearer states may
    change the phase without losing weight.
    """
    if not has_balls(graph):
        return None
    if radius is not None:
        return balls(graph, radius)
    result = None
    for each in range(_LARGEST_RADIUS + 1):
        most = max(_MOST_ENTRIES // (graph.size * graph.phases), _FEWEST_STATES)
        larger = balls(graph, each, most=most)
        if larger is None:
            break
        result = larger
        if larger.far.max() <= _LITTLE:
            break
    return result


def _sharing(graph: CostGraph, steps: int) -> Any:
    """Pairs of states with a common state so many steps before or after; the hidden start left out."""
    size = graph.size
    source = np.repeat(np.arange(size), np.diff(graph.first))
    remaining = np.diff(graph.back)[source] > 0
    moves = sparse.csr_matrix(
        (np.ones(int(remaining.sum()), dtype=np.int32), (source[remaining], graph.other[remaining])), (size, size)
    )
    results = sparse.csr_matrix((size, size), dtype=np.int32)
    ahead = sparse.identity(size, dtype=np.int32, format="csr")
    for _ in range(steps):
        ahead = _truth(ahead @ moves)
        results = _truth(results + ahead.T @ ahead + ahead @ ahead.T)
    return results


def _truth(matrix: Any) -> Any:
    results = sparse.csr_matrix(matrix)
    results.sum_duplicates()
    results.data = np.ones(len(results.data), dtype=np.int32)
    return results
