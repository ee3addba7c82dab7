"""Drawing feasible words by floats that know when they cannot decide, with numpy.

Vectorised over words: the backward pass has a lane for each *different* word, so equal words share
one; the walk has a lane for each row. A draw that lies within `margin` of a boundary, at any position,
sends its row to the slow path with the same random bits. The compiled loop of
`draw_loops` does the same for many words at once, in threads.

Drawing a feasible word in ball arithmetic: the slow path, which never rounds.

Used when floats cannot decide, with the same random bits that they looked at, and for words whose
weights leave the range of doubles.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from symveil.graphs.csr import offsets, spread
from symveil.languages.costs import INFINITE, CostSteps
from symveil.languages.draw_loops import LANES, Edges, Levels, Sums, draw_part
from symveil.languages.limits import LIMITS
from symveil.languages.run_weights import RunWeights
from symveil.models.alphabet import Codes
from symveil.randomness import BitSource, Boundaries
from symveil.trellis.passes import Trellis, backward, backward_into
from symveil.trellis.semirings import BALLS


def backward_balls(weights: RunWeights, codes: Codes) -> list[NDArray[Any]]:
    """V(i, y, φ) for every layer i, at the working precision."""
    graph, costs = weights.graph, weights.costs
    edge_weights = np.array(weights.edge_weight_balls(), dtype=object) if weights.is_weighted else None
    ends = np.array(weights.final_weight_balls(), dtype=object)
    trellis = Trellis(
        edges=graph,
        length=len(codes),
        semiring=CostSteps(costs, BALLS, np.array(weights.step_weight_balls(), dtype=object)),
        final=np.repeat(ends[:, None], costs.phases, axis=1),
        worth=lambda position: (costs.levels(position, codes[position], graph.symbol), edge_weights),
    )
    return backward(trellis)


def total_weight(weights: RunWeights, codes: Codes) -> arb:
    """Z(w): the weight of all words together, at the working precision."""
    language, phase = weights.language, weights.costs.start_phase
    layers = backward_balls(weights, codes)
    if language.public_start and language.length:
        return arb(layers[1][int(weights.first_states[codes[0]])][phase])
    return arb(layers[0][weights.graph.start][phase])


class ExactDraw:
    """Draws of one word's private versions; the weights are kept for the precision last asked for."""

    def __init__(self, weights: RunWeights, codes: Codes) -> None:
        self._weights = weights
        self._codes = codes
        self._layers: list[NDArray[Any]] = []
        self._at_precision = 0

    def draw(self, words: Sequence[int], bits: BitSource) -> Codes:
        """One private word; `words` holds 64 random bits for each symbol, `bits` more where they do not decide."""
        language, graph, costs = self._weights.language, self._weights.graph, self._weights.costs
        released = self._codes.copy()
        state, phase = graph.start, costs.start_phase
        begin = 0
        if language.public_start and language.length:
            state, begin = int(self._weights.first_states[self._codes[0]]), 1
        for position in range(begin, language.length):
            # an edge that can never be taken has no share: it is left out, not cut off
            options = self._options(position, state)
            choice = Boundaries(
                lambda at=position, among=options, now=phase: self._cut_points(at, among, now)  # type: ignore[misc]
            )
            edge, level = options[choice.resolve(int(words[position]), bits)]
            released[position] = graph.symbol[edge]
            state, phase = int(graph.target[edge]), int(costs.next_phase[level, phase])
        return released

    def _options(self, position: int, state: int) -> list[tuple[int, int]]:
        """The edges that may be taken, and the level of what they read."""
        graph = self._weights.graph
        edges = np.array(graph.edges(state), dtype=np.int64)
        levels = self._weights.costs.levels(position, self._codes[position], graph.symbol[edges])
        return [pair for pair in zip(edges.tolist(), levels.tolist(), strict=True) if pair[1] != INFINITE]

    def _cut_points(self, position: int, options: list[tuple[int, int]], phase: int) -> list[arb]:
        graph, costs = self._weights.graph, self._weights.costs
        layers = self._layers_at_working_precision()
        step_weight, edge_weight = self._weights.step_weight_balls(), self._weights.edge_weight_balls()
        sums = [arb(0)]
        for edge, level in options:
            after = layers[position + 1][int(graph.target[edge])][int(costs.next_phase[level, phase])]
            sums.append(sums[-1] + edge_weight[edge] * step_weight[level][phase] * after)
        total = sums.pop()
        return [partial / total for partial in sums[1:]]

    def _layers_at_working_precision(self) -> list[NDArray[Any]]:
        if self._at_precision < ctx.prec:
            self._layers = backward_balls(self._weights, self._codes)
            self._at_precision = ctx.prec
        return self._layers


def draw_undecided(
    weights: RunWeights,
    codes: Codes,
    words: NDArray[np.uint64],
    released: Codes,
    decided: NDArray[np.bool_],
    bits: BitSource,
) -> None:
    """Put exact draws into the rows of `released` that are not `decided`, from the bits that floats looked at."""
    rows = np.flatnonzero(~decided)
    if not len(rows):
        return
    # equal words one after the other: they share their weights, and only one word's are kept at a time
    different, number = np.unique(codes[rows], axis=0, return_inverse=True)
    for index, word in enumerate(different):
        slow = ExactDraw(weights, word)
        for row in rows[number.reshape(-1) == index]:
            released[row] = slow.draw(words[row].tolist(), bits.of_row(int(row)))


Draws = NDArray[np.uint64]
Rows = NDArray[np.int64]


def draw_rows(weights: RunWeights, codes: Codes, bits: BitSource) -> Codes:
    """A private version of each row."""
    words = bits.word_rows(*codes.shape)
    released, decided = codes.copy(), np.zeros(len(codes), dtype=np.bool_)
    if weights.smallest_total is not None:
        for different, rows, lane in _in_lanes(weights, codes):
            steps = _DrawSteps(weights, different)
            layers = np.empty((steps.length + 1, *steps.final.shape))
            backward_into(layers, steps)
            released[rows], decided[rows] = _forward(weights, codes[rows], layers, lane, words[rows])
    draw_undecided(weights, codes, words, released, decided, bits)
    return released


def _in_lanes(weights: RunWeights, codes: Codes) -> Iterator[tuple[Codes, Rows, Rows]]:
    """Some different words, the rows that hold them, and which of the words each of those rows holds."""
    graph, length = weights.graph, weights.language.length
    if (codes == codes[:1]).all():
        if len(codes):
            yield codes[:1], np.arange(len(codes)), np.zeros(len(codes), dtype=np.int64)
        return
    different, number = np.unique(codes, axis=0, return_inverse=True)
    number = number.reshape(-1).astype(np.int64)
    order = np.argsort(number, kind="stable")
    entries = (length + 1) * graph.state_count * weights.costs.phases
    step = max(
        min(LIMITS.now.edge_values_at_once // max(graph.edge_count, 1), LIMITS.now.layer_values_at_once // entries), 1
    )
    for start in range(0, len(different), step):
        low, high = np.searchsorted(number[order], [start, start + step])
        rows = order[low:high]
        yield different[start : start + step], rows, number[rows] - start


@dataclass(frozen=True, slots=True, eq=False)
class RowSteps:
    """The floats' own passes: values by state, phase and row, for words that weigh as they do around each row."""

    weights: RunWeights
    words: Codes

    @property
    def length(self) -> int:
        """How many symbols a row has."""
        return int(self.words.shape[1])

    @property
    def final(self) -> NDArray[np.float64]:
        """What ending in each state is worth."""
        shape = (self.weights.graph.state_count, self.weights.costs.phases, len(self.words))
        return np.broadcast_to(self.weights.final_weights[:, None, None], shape).copy()

    @property
    def begin(self) -> int:
        """The first position that is drawn: a public first symbol is not."""
        return 1 if self.weights.language.public_start and self.length else 0

    @property
    def first_state(self) -> NDArray[np.integer[Any]]:
        """The state of each row before that position."""
        if self.begin:
            return self.weights.first_states[self.words[:, 0]]
        return np.full(len(self.words), self.weights.graph.start)

    def back(self, position: int, after: NDArray[np.float64]) -> NDArray[np.float64]:
        """V(i, ·) from V(i+1, ·)."""
        return moved_back(self.weights, self.words[:, position], position, after)


class _DrawSteps(RowSteps):
    """The same, all symbols summed as if they were far where that is quicker."""

    def back(self, position: int, after: NDArray[np.float64]) -> NDArray[np.float64]:
        step_back = _by_excess if self.weights.by_excess else moved_back
        return step_back(self.weights, self.words[:, position], position, after)


def _by_excess(weights: RunWeights, own: Codes, position: int, after: NDArray[np.float64]) -> NDArray[np.float64]:
    """One phase: V(i,·) = κ_far·(A V(i+1,·)) + Σ over listed symbols (κ − κ_far)·(the edges that read them)."""
    graph, metric = weights.graph, weights.costs.metric(position)
    source, by_symbol = weights.edge_sources, weights.edges_by_symbol
    after = after[:, 0, :]
    values = after[graph.target]
    if weights.is_weighted:
        values *= weights.edge_weights[:, None]
    layer = graph.sum_over(values) * weights.step_weights[weights.costs.far, 0]
    lane, listed = spread(np.diff(metric.first)[own], metric.first[own])
    read = metric.symbol[listed]
    index, result = by_symbol.expand(read)
    edge, lane = by_symbol.number[result], lane[index]
    gain = weights.excess[metric.level[listed]][index] * weights.edge_weights[edge] * after[graph.target[edge], lane]
    if metric.only_itself:
        # a state has one edge for a symbol at most, so that no entry occurs twice
        layer[source[edge], lane] += gain
    else:
        np.add.at(layer, (source[edge], lane), gain)
    return np.asarray(layer[:, None, :])


def moved_back(weights: RunWeights, own: Codes, position: int, after: NDArray[np.float64]) -> NDArray[np.float64]:
    """Any costs: V(i, ·) from V(i+1, ·), what each arrival is worth, summed over the edges that lead there.

    What a symbol costs depends on where an edge arrives, not on where it begins: it is looked up once for each
    *arrival*, a state with the symbol that led there.
    """
    graph, costs, arrivals = weights.graph, weights.costs, weights.arrivals
    levels, which = levels_of_arrivals(weights, own, position)
    lane = np.arange(len(own))[None, :]
    worths = np.empty((len(arrivals.target), *after.shape[1:]))
    for phase in range(costs.phases):
        if costs.phases == 1:
            reached = after[arrivals.target, 0]
        else:
            reached = after[arrivals.target[:, None], costs.next_phase[levels, phase][:, which], lane]
        worths[:, phase, :] = reached * worth(weights, levels, phase)[:, which]
    return graph.sum_over(worths[arrivals.of_edge] * weights.edge_weights[:, None, None])


def levels_of_arrivals(weights: RunWeights, own: Codes, position: int) -> tuple[NDArray[np.int64], Rows]:
    """The level of each arrival beside each of the symbols that occur, and which of these each row has."""
    known, which = np.unique(own, return_inverse=True)  # many words have few symbols: each is looked up once
    return weights.costs.levels(position, known[None, :], weights.arrivals.symbol[:, None]), which


def worth(weights: RunWeights, levels: NDArray[np.int64], phase: int) -> NDArray[np.float64]:
    """κ of every level in one phase; 0 where it is infinite."""
    return np.where(levels == INFINITE, 0.0, weights.step_weights[levels, phase])


def _forward(
    weights: RunWeights, codes: Codes, layers: NDArray[np.float64], lane: Rows, words: Draws
) -> tuple[Codes, NDArray[np.bool_]]:
    """A walk for each row, and which of them floats could decide."""
    graph, language = weights.graph, weights.language
    released = codes.copy()
    decided = np.ones(len(codes), dtype=np.bool_)
    state = np.full(len(codes), graph.start, dtype=np.int64)
    phase = np.full(len(codes), weights.costs.start_phase, dtype=np.int64)
    begin = 0
    if language.public_start and language.length:
        state, begin = weights.first_states[codes[:, 0]].astype(np.int64), 1
    for position in range(begin, language.length):
        degree = graph.first[state + 1] - graph.first[state]
        # in pieces, so that the table of sums (edges of a state × rows) stays small
        step = max(1, LIMITS.now.sums_at_once // max(int(degree.max()), 1))
        for start in range(0, len(codes), step):
            part = slice(start, start + step)
            edge, after, is_sure = _choose(
                weights, position, layers[position + 1], state[part], phase[part], lane[part], codes[part, position],
                words[part, position],
            )  # fmt: skip
            released[part, position] = graph.symbol[edge]
            state[part] = graph.target[edge]
            phase[part] = after
            decided[part] &= is_sure
    return released, decided


def _choose(
    weights: RunWeights,
    position: int,
    after: NDArray[np.float64],
    state: Rows,
    phase: Rows,
    lane: Rows,
    own: Codes,
    words: Draws,
) -> tuple[Rows, Rows, NDArray[np.bool_]]:
    """The edge that each row's bits choose from its state, the phase after it, and whether that is sure."""
    graph, costs = weights.graph, weights.costs
    first = graph.first[state]
    degree = graph.first[state + 1] - first
    offset = np.arange(int(degree.max()))[:, None]
    edge = np.where(offset < degree, first + offset, first)
    levels = costs.levels(position, own, graph.symbol[edge])
    following = costs.next_phase[levels, phase]
    index = (graph.target[edge] * np.int64(costs.phases) + following) * np.int64(after.shape[2]) + lane
    value = after.reshape(-1)[index]
    value *= weights.step_weights[levels, phase]
    if weights.is_weighted:
        value *= weights.edge_weights[edge]
    value[(offset >= degree) | (levels == INFINITE)] = 0.0
    sums = np.cumsum(value, axis=0)
    total = sums[-1]
    point = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53 * total
    chosen = np.minimum((point >= sums).sum(axis=0), degree - 1)
    # the last sum is the whole, which no draw reaches: it is not a boundary
    near = np.where(offset < degree - 1, np.abs(sums - point), np.inf).min(axis=0)
    sure = (near > weights.margin * total) & (total > (weights.smallest_total or 0.0))
    return first + chosen, following[chosen, np.arange(len(chosen))], sure


def draw_many(weights: RunWeights, codes: Codes, bits: BitSource) -> Codes:
    """A private version of each row."""
    # the loop is compiled for one kind of array
    codes = np.require(codes, dtype=np.int32, requirements=["C", "W"])
    words = np.ascontiguousarray(bits.word_rows(*codes.shape))
    if weights.smallest_total is None:
        released, decided = codes.copy(), np.zeros(len(codes), dtype=np.bool_)
    else:
        released, decided = _draw_by_floats(weights, codes, words, weights.smallest_total)
    draw_undecided(weights, codes, words, released, decided, bits)
    return released


def _draw_by_floats(
    weights: RunWeights, codes: Codes, words: NDArray[np.uint64], smallest: float
) -> tuple[Codes, NDArray[np.bool_]]:
    language, graph, costs, arrivals = weights.language, weights.graph, weights.costs, weights.arrivals
    released = codes.copy()
    decided = np.zeros(len(codes), dtype=np.bool_)
    by_symbol = weights.edges_by_symbol
    begins = offsets(np.array([len(metric.symbol) for metric in costs.metrics]))
    near_first = np.stack([metric.first + offset for metric, offset in zip(costs.metrics, begins[:-1], strict=True)])
    edges: Any = Edges(
        graph.first, graph.symbol, graph.target, weights.edge_weights, weights.is_weighted, weights.final_weights,
        graph.start, language.public_start, weights.first_states,
    )  # fmt: skip
    near_symbol = np.concatenate([metric.symbol for metric in costs.metrics])
    near_level = np.concatenate([metric.level for metric in costs.metrics])
    levels: Any = Levels(
        np.array(costs.metric_of, dtype=np.int64), near_first, near_symbol, near_level, costs.far,
        weights.step_weights, costs.next_phase, costs.start_phase,
    )  # fmt: skip
    sums: Any = Sums(
        weights.by_excess, weights.excess, by_symbol.first, by_symbol.number, weights.edge_sources, arrivals.target,
        arrivals.symbol, arrivals.of_edge,
    )  # fmt: skip

    fitting = LIMITS.now.thread_symbols // max(codes.shape[1], 1) // LANES * LANES
    at_once = max(4 * LANES, min(LIMITS.now.thread_words, fitting))

    def run(start: int) -> None:
        part = slice(start, start + at_once)
        draw_part(
            codes[part], words[part], released[part], decided[part], edges, levels, sums, weights.margin, smallest
        )

    starts = range(0, len(codes), at_once)
    if len(starts) <= 1:  # threads would take longer to start than a few words take
        for start in starts:
            run(start)
        return released, decided
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        for _ in pool.map(run, starts):
            pass
    return released, decided
