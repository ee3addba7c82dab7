"""Drawing a feasible word in ball arithmetic: the slow path, which never rounds.

Used when floats cannot decide, with the same random bits that they looked at, and for words whose
weights leave the range of doubles.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from symveil.languages.run_weights import RunWeights
from symveil.models.word import Codes
from symveil.randomness import BitSource, Boundaries


def backward_balls(weights: RunWeights, codes: Codes) -> list[list[arb]]:
    """V(i, y) for every layer i, at the working precision."""
    graph = weights.language.graph
    z, edge_weight = weights.mismatch_ball(), weights.edge_weight_balls()
    first, symbol, target = graph.first.tolist(), graph.symbol.tolist(), graph.target.tolist()
    layers = [[arb(1) if accepting else arb(0) for accepting in graph.accepting.tolist()]]
    for own in reversed(codes.tolist()):
        after = layers[-1]
        layer = []
        for state in range(graph.state_count):
            total = arb(0)
            for edge in range(first[state], first[state + 1]):
                value = edge_weight[edge] * after[target[edge]]
                total += value if symbol[edge] == own else z * value
            layer.append(total)
        layers.append(layer)
    layers.reverse()
    return layers


def total_weight(weights: RunWeights, codes: Codes) -> arb:
    """Z(w): the weight of all words together, at the working precision."""
    language = weights.language
    layers = backward_balls(weights, codes)
    if language.public_start and language.length:
        return layers[1][int(codes[0])]
    return layers[0][language.graph.start]


class ExactDraw:
    """Draws of one word's private versions; the weights are kept for the precision last asked for."""

    def __init__(self, weights: RunWeights, codes: Codes) -> None:
        self._weights = weights
        self._codes = codes
        self._layers: list[list[arb]] = []
        self._at_precision = 0

    def draw(self, words: Sequence[int], bits: BitSource) -> Codes:
        """One private word; `words` holds 64 random bits for each symbol, `bits` more where they do not decide."""
        language = self._weights.language
        graph = language.graph
        released = self._codes.copy()
        state = graph.start
        begin = 0
        if language.public_start and language.length:
            state, begin = int(self._codes[0]), 1
        for position in range(begin, language.length):
            edges = graph.edges(state)
            choice = Boundaries(lambda place=position, options=edges: self._cut_points(place, options))  # type: ignore[misc]
            edge = edges[choice.resolve(int(words[position]), bits)]
            released[position] = graph.symbol[edge]
            state = int(graph.target[edge])
        return released

    def _cut_points(self, position: int, edges: range) -> list[arb]:
        graph = self._weights.language.graph
        layers = self._layers_at_working_precision()
        z, edge_weight = self._weights.mismatch_ball(), self._weights.edge_weight_balls()
        sums = [arb(0)]
        for edge in edges:
            value = edge_weight[edge] * layers[position + 1][int(graph.target[edge])]
            sums.append(sums[-1] + (value if graph.symbol[edge] == self._codes[position] else z * value))
        total = sums.pop()
        return [partial / total for partial in sums[1:]]

    def _layers_at_working_precision(self) -> list[list[arb]]:
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
