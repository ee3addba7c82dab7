"""A cheap proved bound on ln Z(v)/Z(w) for any graph of any size: the largest Z over the smallest.

See docs/theory/certified-calibration.md.
With k symbols left, the weight of everything that can follow is at most V_k(y) and, in the word's own
state t, at least W_k(t):

    V_k(y) = z·Σ T V_{k−1}(y') + (1−z)·max T V_{k−1}(y')          one symbol at most matches,
    W_k(t) = min over the word's next edge t → t' of T W_{k−1}(t') + z·Σ_{others} T B_{k−1}(y'),
    B_k(y) = z·Σ T B_{k−1}(y')                                      nothing matches.

The bound does not ask how far w and v are apart, so it grows with the length of the words; it wins
over the classic ηd where η is large. One pass over the edges per symbol.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from symveil.languages.graph import WordGraph
from symveil.languages.run_weights import RunWeights
from symveil.languages.runs import RunLanguage

Floats = NDArray[np.float64]

_SMALLEST, _LARGEST = 2.0**-600, 2.0**600


def spread_bound(language: RunLanguage, *, rate: Fraction, with_prior: bool) -> float:
    """A bound on ln Z(v)/Z(w) over all pairs of words, adjacent or not; infinite where floats give none."""
    weights = RunWeights(language=language, rate=rate, with_prior=with_prior)
    graph, decay, excess, weight = language.graph, weights.mismatch, weights.match_excess, weights.edge_weights
    most = graph.accepting.astype(np.float64)
    least, blank = most.copy(), most.copy()
    symbols = language.largest_distance
    for left in range(1, symbols + 1):
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            reached = weight * most[graph.target]
            most = decay * _per_state(graph, reached, np.add, 0.0) + excess * _per_state(
                graph, reached, np.maximum, 0.0
            )
            unmatched = decay * weight * blank[graph.target]
            all_unmatched = _per_state(graph, unmatched, np.add, 0.0)
            source = np.repeat(np.arange(graph.state_count), np.diff(graph.first))
            # the other edges' weight is positive: what cancels is rounded down, to 0 at worst
            others = np.maximum(all_unmatched[source] * (1 - 1e-9) - unmatched, 0.0)
            own = weight * least[graph.target] + others
            own[~language.alive[left - 1][graph.target]] = np.inf
            least = _per_state(graph, own, np.minimum, np.inf)
            least[np.isinf(least)] = 0.0
            blank = all_unmatched
        scale = math.frexp(float(most.max()))[1]
        most = np.ldexp(most, -scale)
        least, blank = np.ldexp(least, -scale), np.ldexp(blank, -scale)
    states = [graph.start]
    if language.public_start and language.length:
        alive = language.alive[language.length - 1]
        states = [int(graph.target[e]) for e in graph.edges(graph.start) if alive[graph.target[e]]]
    ratio = 1.0
    for state in states:
        if not (least[state] > _SMALLEST and most[state] < _LARGEST):
            return math.inf
        ratio = max(ratio, most[state] / least[state])
    rounded = (symbols + 1) * (graph.widest + 16) * 2.0**-50
    return math.log(ratio) * (1 + 2.0**-50) + 2 * rounded


def _per_state(graph: WordGraph, values: Floats, operation: np.ufunc, empty: float) -> Floats:
    """For each state the sum, the largest or the smallest of `values` (one per edge) over its edges."""
    result = np.full(graph.state_count, empty)
    filled = np.flatnonzero(np.diff(graph.first))
    result[filled] = operation.reduceat(
        values, graph.first[filled]
    )  # where words have a symbol, some state has an edge
    return result
