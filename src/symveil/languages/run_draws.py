"""Drawing feasible words by floats that know when they cannot decide, without a compiler.

Vectorised over words: the backward pass has a lane for each *different* word, so equal words share
one; the walk has a lane for each row. A draw that lies within `margin` of a boundary, at any position,
sends its row to the slow path with the same random bits. (`run_draws_batch` does the same, compiled.)
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from symveil.languages.run_draws_exact import draw_undecided
from symveil.languages.run_weights import RunWeights
from symveil.models.word import Codes
from symveil.randomness import BitSource

Draws = NDArray[np.uint64]
Rows = NDArray[np.int64]

# Tables stay about as large as the processor's cache, all layers of V within a quarter of a GiB.
_MOST_EDGE_VALUES = 1 << 18
_MOST_SUMS = 1 << 16
_MOST_LAYER_VALUES = 1 << 25


def draw_rows(weights: RunWeights, codes: Codes, bits: BitSource) -> Codes:
    """A private version of each row."""
    words = bits.word_rows(*codes.shape)
    released, decided = codes.copy(), np.zeros(len(codes), dtype=np.bool_)
    if weights.smallest_total is not None:
        for different, rows, lane in _in_lanes(weights, codes):
            layers = _backward(weights, different)
            released[rows], decided[rows] = _forward(weights, codes[rows], layers, lane, words[rows])
    draw_undecided(weights, codes, words, released, decided, bits)
    return released


def _in_lanes(weights: RunWeights, codes: Codes) -> Iterator[tuple[Codes, Rows, Rows]]:
    """Some different words, the rows that hold them, and which of the words each of those rows holds."""
    graph, length = weights.language.graph, weights.language.length
    if (codes == codes[:1]).all():
        if len(codes):
            yield codes[:1], np.arange(len(codes)), np.zeros(len(codes), dtype=np.int64)
        return
    different, number = np.unique(codes, axis=0, return_inverse=True)
    number = number.reshape(-1).astype(np.int64)
    order = np.argsort(number, kind="stable")
    step = min(_MOST_EDGE_VALUES // max(graph.edge_count, 1), _MOST_LAYER_VALUES // ((length + 1) * graph.state_count))
    step = max(step, 1)
    for start in range(0, len(different), step):
        low, high = np.searchsorted(number[order], [start, start + step])
        rows = order[low:high]
        yield different[start : start + step], rows, number[rows] - start


def _backward(weights: RunWeights, words: Codes) -> NDArray[np.float64]:
    """V(i, ·) of each word, i = 0 … n: V(i,·) = z·(A V(i+1,·)) + (1−z)·(the edges that read w_{i+1})."""
    graph = weights.language.graph
    count, length = words.shape
    source, (first, by_symbol) = weights.edge_sources, weights.edges_by_symbol
    layers = np.empty((length + 1, graph.state_count, count))
    layers[length] = graph.accepting[:, None]
    for position in reversed(range(length)):
        after, layer = layers[position + 1], layers[position]
        values = after[graph.target]
        if weights.with_prior:
            values *= weights.edge_weights[:, None]
        np.multiply(graph.sum_over_edges(values), weights.mismatch, out=layer)
        own = words[:, position]
        matching = first[own + 1] - first[own]
        lane = np.repeat(np.arange(count), matching)
        within = np.arange(len(lane)) - np.repeat(np.cumsum(matching) - matching, matching)
        edge = by_symbol[np.repeat(first[own], matching) + within]
        # a state has one edge for a symbol at most, so that no entry occurs twice
        layer[source[edge], lane] += weights.match_excess * weights.edge_weights[edge] * after[graph.target[edge], lane]
    return layers


def _forward(
    weights: RunWeights, codes: Codes, layers: NDArray[np.float64], lane: Rows, words: Draws
) -> tuple[Codes, NDArray[np.bool_]]:
    """A walk for each row, and which of them floats could decide."""
    language = weights.language
    graph = language.graph
    released = codes.copy()
    decided = np.ones(len(codes), dtype=np.bool_)
    state = np.full(len(codes), graph.start, dtype=np.int64)
    begin = 0
    if language.public_start and language.length:
        state[:] = codes[:, 0]
        begin = 1
    for position in range(begin, language.length):
        degree = graph.first[state + 1] - graph.first[state]
        # in pieces, so that the table of sums (edges of a state × rows) stays small
        step = max(1, _MOST_SUMS // max(int(degree.max()), 1))
        for start in range(0, len(codes), step):
            part = slice(start, start + step)
            edge, is_sure = _choose(
                weights, layers[position + 1], state[part], lane[part], codes[part, position], words[part, position]
            )
            released[part, position] = graph.symbol[edge]
            state[part] = graph.target[edge]
            decided[part] &= is_sure
    return released, decided


def _choose(
    weights: RunWeights, after: NDArray[np.float64], state: Rows, lane: Rows, own: Codes, words: Draws
) -> tuple[Rows, NDArray[np.bool_]]:
    """The edge that each row's bits choose from its state, and whether that is sure."""
    graph = weights.language.graph
    first = graph.first[state]
    degree = graph.first[state + 1] - first
    place = np.arange(int(degree.max()))[:, None]
    edge = np.where(place < degree, first + place, first)
    value = after.reshape(-1)[graph.target[edge] * np.int64(after.shape[1]) + lane]
    value *= np.where(graph.symbol[edge] == own, 1.0, weights.mismatch)
    if weights.with_prior:
        value *= weights.edge_weights[edge]
    value[place >= degree] = 0.0
    sums = np.cumsum(value, axis=0)
    total = sums[-1]
    point = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53 * total
    chosen = np.minimum((point >= sums).sum(axis=0), degree - 1)
    # the last sum is the whole, which no draw reaches: it is not a boundary
    near = np.where(place < degree - 1, np.abs(sums - point), np.inf).min(axis=0)
    return first + chosen, (near > weights.margin * total) & (total > (weights.smallest_total or 0.0))
