"""The search for the worst block on large graphs: over balls, a few states at a time, with memory linear in the states.

See docs/theory/certificates.md, *Balls*. On a large graph almost all weight of what a word is compared with lies near
the word. Vectors and boxes are kept over the ball of the word's own state; all that is outside is one number: on the
left the sum of everything there, on the right the largest. Blocks are looked at for a few starting states at a
time: first by the most and the least of each path, at all positions together and then at fewer; pairs that are left get
symbols around them until they are proved or their budget is spent. What comes out is what `search.BlockSearch.largest`
gives: a bound on every pair, and a pair to begin a search for bad words with.

Lemma 2.12. What is outside is χ on the left and ψ on the right. Every state outside B(t) costs more than r levels
against t; κ̄ is the most that κ can then be, s the largest sum of edge weights of a state. From t to t', with A the
smallest value of Σ_x T(x,t')α(x)/α(t) over the box,

    χ' ≤ [Σ_{x ∈ B(t), φ} hi(x,φ)κ̄(φ)Σ_{y ∉ B(t')} T(x,y) + χ·s·max κ̄]/A,

and an upper end of y ∈ B(t') gains χ·max_{x ∉ B(t)} T(x,y): a state outside B(t') is entered at a cost above r levels,
from inside, where hi bounds the weight, or from outside, where all weight is at most χ and grows by at most s. On the
right, with B the smallest value of Σ_y T(t,y)κβ(y)/β(t'),

    ψ ≤ s·max(max κ̄·ψ', max κ(t',y)hi'(y) over y ∈ B(t') with an edge from outside B(t))/B,

because a state outside has β(x) = ΣTκβ(y), at most s times the largest κβ(y). An upper end of x inside the ball gains
Σ_{y ∉ B(t')} T(x,y)κ̄ψ'. In a block α·U·β is at most the part inside the balls plus lost·max(ψ, max hi'), where `lost`
begins as χ and becomes lost·s + (what leaves v's ball) at each step: what is outside once counts as outside for ever.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from symveil.calibration.costs.ball_block_loops import open_pairs, path_extremes, prove_pairs
from symveil.calibration.costs.ball_loops import NearStates, next_ball_boxes
from symveil.calibration.costs.blocks import (
    FINAL,
    WHOLE,
    BlockValues,
    Groups,
    Kind,
    LossyPair,
    Outcome,
    at_once,
    block_groups,
    classes,
    slices,
)
from symveil.calibration.costs.boxes import SlotBoxes, empty_slots, numbered, slack_of
from symveil.calibration.costs.graph import Booleans, CostGraph, Floats, Integers
from symveil.calibration.limits import LIMITS
from symveil.graphs.csr import offsets
from symveil.languages.costs import INFINITE

_LEAST_FAR = 2.0**-300


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

    @property
    def row(self) -> Integers:
        """Whose ball each entry of `state` is in."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))

    @property
    def own(self) -> Integers:
        """Where each state is in its own ball."""
        return np.flatnonzero(self.state == self.row)


def has_balls(graph: CostGraph) -> bool:
    """Whether each state of a chain has a symbol of its own, so that costs of symbols are costs of states."""
    named = graph.symbol[np.diff(graph.back) > 0]
    return graph.is_chain and len(np.unique(named)) == len(named)


def balls(graph: CostGraph, radius: int, *, steps: int = 1, most: int | None = None) -> Balls | None:
    """The ball of every state: what is at most `radius` levels away at some position, and what shares a neighbour.

    The graph is a chain whose states have symbols of their own (`has_balls`). `radius` counts levels; the states are
    added that have a state in common with t up to `steps` steps before or after. None where a ball would have more than
    `most` states on average.
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
    for each in range(LIMITS.now.ball_radius + 1):
        most = max(LIMITS.now.ball_entries // (graph.size * graph.phases), LIMITS.now.ball_states)
        larger = balls(graph, each, most=most)
        if larger is None:
            break
        result = larger
        if larger.far.max() <= LIMITS.now.outside_ball:
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


class LocalSearch(BlockValues):
    """The search over one graph at one rate; boxes are computed once."""

    def __init__(
        self, graph: CostGraph, adjacency: int, balls: Balls, *, largest_step: float, near_ends: int = 2
    ) -> None:
        super().__init__(graph, adjacency, largest_step, near_ends)
        self._balls = balls
        self._noted: dict[Kind, float] = {}  # the bound of the pair that words were made of
        kappa, following, phase = graph.automaton
        self._moves = NearStates(
            *graph.arcs, kappa, following, graph.metric_at, balls.first, balls.state, balls.own, balls.level,
            balls.far, balls.leaving, balls.spread,
        )  # fmt: skip
        self.left, self.right = at_once(lambda forwards: self._boxes(forwards=forwards, phase=phase), (True, False))
        self._state_of = np.full(int(graph.symbol.max()) + 1, -1, dtype=np.int64)
        entered = np.diff(graph.back) > 0
        self._state_of[graph.symbol[entered]] = np.flatnonzero(entered)

    def _boxes(self, *, forwards: bool, phase: int) -> SlotBoxes:
        """Boxes over balls. Their `tail`: all outside (left), the most there (right)."""
        graph, entries = self.graph, self._balls.first * self.graph.phases
        results = empty_slots(graph, entries, LIMITS.now.ball_bytes, max(self._near_ends, self.adjacency + 2))
        boxes = self._at_the_start(phase) if forwards else self._at_the_end(phase)
        for away, step, metric in graph.walked(forwards=forwards):
            if away:
                boxes = next_ball_boxes(self._moves, forwards, metric, phase, *boxes, graph.live[step], slack_of(graph))
            results.add(step, *boxes)
        return results

    def _at_the_start(self, phase: int) -> tuple[Floats, Floats, Floats, Booleans]:
        graph = self.graph
        low = np.zeros(int(self._balls.first[-1]) * graph.phases)
        valid = np.zeros(graph.size, dtype=np.bool_)
        valid[graph.starts] = graph.live[0, graph.starts]
        low[self._balls.own[valid] * graph.phases + phase] = 1.0
        return low, low.copy(), np.zeros(graph.size), valid

    def _at_the_end(self, phase: int) -> tuple[Floats, Floats, Floats, Booleans]:
        graph, balls = self.graph, self._balls
        valid = graph.live[graph.steps].copy()
        row = balls.row
        own = np.where(valid, graph.final, 1.0)
        ratio = np.where(valid[row], graph.final[balls.state] / own[row], 0.0)
        exactly = (ratio == 0) | (graph.final[balls.state] == own[row])
        low = np.repeat(np.where(exactly, ratio, ratio * (1 - 2.0**-51)), graph.phases)
        high = np.repeat(np.where(exactly, ratio, ratio * (1 + 2.0**-51)), graph.phases)
        entries = balls.own[valid] * graph.phases + phase
        low[entries] = high[entries] = 1.0
        return low, high, np.where(valid, graph.final.max(initial=0.0) / own * (1 + 2.0**-51), 0.0), valid

    # --- one kind of block ---------------------------------------------------------------------------

    def largest(
        self, kind: Kind, *, target: float, nodes: int, stop_at: float = math.inf,
        tolerance: float = 0.0,  # noqa: ARG002 - what is found says little here
        report: Callable[[float], None] | None = None,
    ) -> Outcome:  # fmt: skip
        """As `search.BlockSearch.largest`. `nodes` is for one pair here; the search ends above `stop_at`."""
        outcome = Outcome()
        outcome.high = max(target, self.least(kind))
        ranges = list(classes(self.graph, kind, self._near_ends))
        for number, (low, high) in enumerate(ranges):
            every = np.flatnonzero(self.graph.live[low - 1 : high].any(axis=0))
            for begin in range(0, len(every), LIMITS.now.ball_starts):
                if report is not None:
                    report((number + begin / len(every)) / len(ranges))
                starts = every[begin : begin + LIMITS.now.ball_starts]
                groups = block_groups(self.graph, kind, low, high, self.adjacency, starts)
                if groups is None:
                    outcome.exists = True
                    outcome.high = max(outcome.high, self.classic(kind))
                elif len(groups.row):
                    states = self._state_of[groups.paths]
                    self._look_at(kind, groups, states, low, high, min(nodes, LIMITS.now.ball_nodes), outcome)
                if outcome.high > stop_at * LIMITS.now.ball_overshoot:
                    outcome.complete = False
                    return outcome
        return outcome

    def _look_at(
        self, kind: Kind, groups: Groups, states: Integers, low: int, high: int, nodes: int, outcome: Outcome
    ) -> None:
        """Paths whose blocks begin at low … high: their worst pair into `outcome`."""
        graph, steps = self.graph, states.shape[1]
        at_end = kind.where in (FINAL, WHOLE)
        left_slots = self.left.slots(low - 1, high - 1)
        right_slots = self.right.slots(low + steps - 1, high + steps - 1)
        weights = self._weights(groups, states, low, left_slots, right_slots)
        pairs, worst = open_pairs(
            self._moves, self.prices(outcome.high), groups.as_paths(states), low, kind.length, self._largest_step,
            graph.final, weights, at_end,
        )  # fmt: skip
        if worst[0] < 0:
            return
        outcome.exists = True
        self._note(kind, groups, states, low, worst, outcome)
        if not len(pairs):
            return
        still = np.zeros(len(states), dtype=np.bool_)
        still[pairs[:, :2].astype(np.int64).ravel()] = True
        merged = max(left_slots[1] - left_slots[0], right_slots[1] - right_slots[0]) > 1
        if low < high and merged and still.sum() <= LIMITS.now.split_share * len(states):
            middle = (low + high) // 2
            self._look_at(kind, groups.only(still), states[still], low, middle, nodes, outcome)
            self._look_at(kind, groups.only(still), states[still], middle + 1, high, nodes, outcome)
            return
        pairs = pairs[np.argsort(-pairs[:, 2], kind="stable")]
        rows = groups.row_of
        parts = slices(len(pairs), fewest=LIMITS.now.ball_thread_pairs)

        def proved(part: slice) -> tuple[Floats, int]:
            return prove_pairs(
                self._moves, self.left.stored, self.right.stored, self.left.slot_of, self.right.slot_of, graph.final,
                at_end, low, high, graph.live, rows, states, pairs[part], self.prices(outcome.high), nodes,
                LIMITS.now.ball_symbols, self._balls.widest, graph.rounding,
            )  # fmt: skip

        for part, (ratios, used) in zip(parts, at_once(proved, parts), strict=True):
            outcome.nodes += used
            for ratio, cost in zip(ratios.tolist(), pairs[part, 3].tolist(), strict=True):
                if ratio > 0:
                    outcome.high = max(outcome.high, self.value(ratio, cost))

    def _weights(
        self, groups: Groups, states: Integers, low: int, left_slots: tuple[int, int], right_slots: tuple[int, int]
    ) -> Floats:
        graph, balls, steps = self.graph, self._balls, states.shape[1]
        half = (steps + 1) // 2
        suffix, member = numbered([*states.T[half - 1 :]])
        rows = groups.row_of
        prefix, _ = numbered([rows, *states.T[:half]])
        order = np.argsort(prefix, kind="stable")
        prefix_first = offsets(np.bincount(prefix))
        widths = np.diff(balls.first)[states[member, half - 1]] * graph.phases
        suffix_first = offsets(widths)
        return path_extremes(
            self._moves, self.left.stored, self.right.stored, np.array(left_slots), np.array(right_slots), low, half,
            prefix_first, order, rows, states, suffix_first, suffix, member, balls.widest, graph.rounding,
        )  # fmt: skip

    # --- the lower end -------------------------------------------------------------------------------

    def _note(self, kind: Kind, groups: Groups, states: Integers, low: int, worst: Floats, outcome: Outcome) -> None:
        """Two words with the pair whose bound is the largest, any symbols around it."""
        value = self.value(float(worst[2]), float(worst[3])) if worst[2] > 0 else -math.inf
        if value <= self._noted.get(kind, -math.inf):
            return
        one, two = int(worst[0]), int(worst[1])
        start = int(groups.row_of[one])
        before = self._walk(start, low - 1, forwards=False)
        ends = [self._walk(int(states[k, -1]), low + states.shape[1] - 1, forwards=True) for k in (one, two)]
        if before is None or ends[0] is None or ends[1] is None:
            return
        symbol = self.graph.symbol
        lead = tuple(symbol[[*before[::-1][1:], start]].tolist()) if before else ()
        first = before[-1] if before else start
        after = ends[0]
        own = lead + tuple(symbol[states[one]].tolist()) + tuple(symbol[after].tolist())
        other = lead + tuple(symbol[states[two]].tolist()) + tuple(symbol[after].tolist())
        self._noted[kind], outcome.pair = value, LossyPair(first, own, other, 0.0)

    def _walk(self, state: int, step: int, *, forwards: bool) -> list[int] | None:
        """States that a word can have before or after a state at a step, the nearest first; None: no word has it."""
        graph = self.graph
        if not graph.live[step, state]:
            return None
        results = []
        while step < graph.steps if forwards else step > 0:
            step += 1 if forwards else -1
            edges = (
                graph.other[graph.first[state] : graph.first[state + 1]]
                if forwards
                else graph.earlier[graph.back[state] : graph.back[state + 1]]
            )
            state = int(next(each for each in edges if graph.live[step, each]))
            results.append(state)
        return results
