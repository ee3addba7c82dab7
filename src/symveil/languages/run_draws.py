"""Drawing feasible words by floats that know when they cannot decide.

One word drawn many times shares its backward pass and is vectorised over the draws; many words go
through the compiled loop, several at once. Either way a draw that lies within `margin` of a
boundary, at any position, sends its word to the slow path with the same random bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from symveil.languages.run_draws_exact import ExactDraw
from symveil.languages.run_weights import RunWeights
from symveil.languages.runs import sum_over_edges
from symveil.models.word import Codes
from symveil.randomness import BitSource

Draws = NDArray[np.uint64]

_MOST_SUMS = 1 << 22


def draw_versions(weights: RunWeights, codes: Codes, count: int, bits: BitSource) -> Codes:
    """`count` private versions of one word."""
    words = bits.word_rows(count, len(codes))
    if weights.smallest_total is None:
        slow = ExactDraw(weights, codes)
        return np.stack([slow.draw(row.tolist(), bits.of_row(number)) for number, row in enumerate(words)])
    layers = backward(weights, codes)
    # in pieces, so that the table of sums (edges of a state × draws) stays small
    step = max(1, _MOST_SUMS // max(weights.language.graph.widest, 1))
    parts = [_forward(weights, codes, layers, words[start : start + step]) for start in range(0, count, step)]
    released = np.concatenate([part[0] for part in parts])
    decided = np.concatenate([part[1] for part in parts])
    if not decided.all():
        slow = ExactDraw(weights, codes)
        for row in np.flatnonzero(~decided):
            released[row] = slow.draw(words[row].tolist(), bits.of_row(int(row)))
    return released


def backward(weights: RunWeights, codes: Codes) -> list[NDArray[np.float64]]:
    """V(i, ·) of one word."""
    graph = weights.language.graph
    layers = [graph.accepting.astype(np.float64)]
    for own in codes[::-1]:
        values = weights.edge_weights * layers[-1][graph.target]
        values[graph.symbol != own] *= weights.mismatch
        layers.append(sum_over_edges(graph, values))
    return layers[::-1]


def _forward(
    weights: RunWeights, codes: Codes, layers: list[NDArray[np.float64]], words: Draws
) -> tuple[Codes, NDArray[np.bool_]]:
    language = weights.language
    graph = language.graph
    count = len(words)
    released = np.repeat(codes[None, :], count, axis=0)
    decided = np.ones(count, dtype=np.bool_)
    state = np.full(count, graph.start)
    begin = 0
    if language.public_start and language.length:
        state[:] = codes[0]
        begin = 1
    smallest = weights.smallest_total or 0.0
    uniform = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
    for position in range(begin, language.length):
        edge_value = weights.edge_weights * layers[position + 1][graph.target]
        edge_value[graph.symbol != codes[position]] *= weights.mismatch
        first, degree = graph.first[state], graph.first[state + 1] - graph.first[state]
        sums = np.zeros((int(degree.max()), count))
        running = np.zeros(count)
        for step in range(len(sums)):
            inside = step < degree
            running = running + np.where(inside, edge_value[np.where(inside, first + step, 0)], 0.0)
            sums[step] = running
        point = uniform[:, position] * running
        chosen = np.minimum((point >= sums).sum(axis=0), degree - 1)
        # the last sum is the whole, which no draw reaches: it is not a boundary
        boundary = np.arange(len(sums))[:, None] < degree - 1
        near = np.where(boundary, np.abs(sums - point), np.inf).min(axis=0)
        decided &= (near > weights.margin * running) & (running > smallest)
        edge = first + chosen
        released[:, position] = graph.symbol[edge]
        state = graph.target[edge].astype(np.int64)
    return released, decided
