"""Drawing a feasible word in ball arithmetic: the slow path, which never rounds.

Used when floats cannot decide, with the same random bits that they looked at, and for words whose
weights leave the range of doubles.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from symveil.languages.costs import INFINITE
from symveil.languages.run_weights import RunWeights
from symveil.models.word import Codes
from symveil.randomness import BitSource, Boundaries


def backward_balls(weights: RunWeights, codes: Codes) -> list[list[list[arb]]]:
    """V(i, y, φ) for every layer i, at the working precision."""
    graph, costs = weights.graph, weights.costs
    edge_weight, step_weight = weights.edge_weight_balls(), weights.step_weight_balls()
    first, target, following = graph.first.tolist(), graph.target.tolist(), costs.next_phase.tolist()
    phases = range(costs.phases)
    layers = [[[end for _ in phases] for end in weights.final_weight_balls()]]
    for position in reversed(range(len(codes))):
        after = layers[-1]
        levels = costs.levels(position, codes[position], graph.symbol).tolist()
        layer = []
        for state in range(graph.state_count):
            totals = [arb(0) for _ in phases]
            for edge in range(first[state], first[state + 1]):
                level = levels[edge]
                if level == INFINITE:
                    continue
                reached = after[target[edge]]
                for phase in phases:
                    value = edge_weight[edge] * reached[following[level][phase]]
                    totals[phase] += step_weight[level][phase] * value if level else value
            layer.append(totals)
        layers.append(layer)
    layers.reverse()
    return layers


def total_weight(weights: RunWeights, codes: Codes) -> arb:
    """Z(w): the weight of all words together, at the working precision."""
    language, phase = weights.language, weights.costs.start_phase
    layers = backward_balls(weights, codes)
    if language.public_start and language.length:
        return layers[1][int(weights.first_states[codes[0]])][phase]
    return layers[0][weights.graph.start][phase]


class ExactDraw:
    """Draws of one word's private versions; the weights are kept for the precision last asked for."""

    def __init__(self, weights: RunWeights, codes: Codes) -> None:
        self._weights = weights
        self._codes = codes
        self._layers: list[list[list[arb]]] = []
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
                lambda place=position, among=options, now=phase: self._cut_points(place, among, now)  # type: ignore[misc]
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

    def _layers_at_working_precision(self) -> list[list[list[arb]]]:
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
