"""A cheap proved bound for blocks of any length: how much Z can grow along a path.

See docs/theory/certified-calibration.md.
Let α(y) be the weight of everything that leads to y, the word being in p_j. Along the word

    α(p_{j+1}) / α(p_j) = Σ_y T(y, p_{j+1}) γ(y|p_j) = g(p_j, p_{j+1}),

and the boxes bound g. Between the states a and c at the ends of a block, Z is the product of the g
along the block's path times a factor of c alone, Σ_y γ_before(y|c)·γ_after(y|c)/z^{[y≠c]}, or, at the
end of the word, Σ_y γ_before(y|p_L). So Z(v)/Z(w) is at most the largest product from a to c over
the smallest, which is a shortest-path problem: S·E operations for each length, however many paths
there are. Widths add up step by step, so this is looser than comparing paths, and always affordable.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from symveil.calibration.boxes import Boxes, ChainGraph, Floats
from symveil.languages.compiling import compiled

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


def growth_bounds(
    graph: ChainGraph,
    before: Boxes,
    after: Boxes,
    decay: float,
    longest: int,
    accepting: Floats,
    whole: tuple[int, int],
) -> tuple[list[float], list[float]]:
    """For each block length, a bound on ln Z(v)/Z(w) in the middle of a word, and at its end.

    `whole` is the virtual start, if any, and the only length of a final block that may follow it.
    """
    size = graph.state_count
    low_before = np.where(before.valid[:, None], before.low, 0.0)
    high_before = np.where(before.valid[:, None], before.high, 0.0)
    divided = np.full((size, size), decay)
    np.fill_diagonal(divided, 1.0)
    meet = before.valid & after.valid
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        meet_low = np.where(meet, (low_before * np.where(meet[:, None], after.low, 0.0) / divided).sum(axis=1), 1.0)
        meet_high = np.where(meet, (high_before * np.where(meet[:, None], after.high, 0.0) / divided).sum(axis=1), 1.0)
        log_meet = _known(np.log(meet_high) - np.log(meet_low))
        # a word that ends in a state has at least its own weight there
        end_low, end_high = np.log(low_before @ accepting), _known(np.log(high_before @ accepting))
    log_low, log_high = _growth(graph.first, graph.other, graph.weight, low_before, high_before, before.valid)
    usable = accepting > 0
    middle, end = _widest(
        graph.first, graph.other, log_low, log_high, before.valid, meet, log_meet, usable, end_low, end_high,
        longest, *whole,
    )  # fmt: skip
    # logarithms of sums of up to S positive numbers; at most b + 2 of each sign are added
    rounded = (2 * longest + 8) * (size + 1024) * 2.0**-50
    return [_up(value, rounded) for value in middle.tolist()], [_up(value, rounded) for value in end.tolist()]


def _known(logarithms: Floats) -> Floats:
    """What a box without an upper end makes undefined has no bound."""
    return np.where(np.isnan(logarithms), np.inf, logarithms)


def _up(value: float, rounded: float) -> float:
    return max(value, 0.0) * (1 + 2.0**-40) + rounded if value < math.inf else math.inf


@compiled
def _growth(
    first: Integers, other: Integers, weight: Floats, low: Floats, high: Floats, valid: Booleans
) -> tuple[Floats, Floats]:
    """ln g of every edge s → s', at least and at most; the sum runs over all edges y → s'."""
    size = len(first) - 1
    log_low, log_high = np.zeros(len(other)), np.zeros(len(other))
    sum_low, sum_high = np.zeros(size), np.zeros(size)
    for s in range(size):
        if not valid[s]:
            continue
        sum_low[:] = 0.0
        sum_high[:] = 0.0
        for y in range(size):
            if high[s, y] > 0.0:
                for e in range(first[y], first[y + 1]):
                    sum_low[other[e]] += weight[e] * low[s, y]
                    sum_high[other[e]] += weight[e] * high[s, y]
        for e in range(first[s], first[s + 1]):
            log_low[e] = np.log(sum_low[other[e]])
            log_high[e] = np.log(sum_high[other[e]])
    return log_low, log_high


@compiled
def _widest(
    first: Integers, other: Integers, log_low: Floats, log_high: Floats, valid: Booleans, meet: Booleans,
    log_meet: Floats, usable: Booleans, end_low: Floats, end_high: Floats, longest: int, virtual: int, whole: int,
) -> tuple[Floats, Floats]:  # fmt: skip
    """For each length the largest difference of two paths with the same ends, or the same beginning."""
    size = len(first) - 1
    middle, end = np.zeros(longest + 1), np.zeros(longest + 1)
    most, least = np.empty(size), np.empty(size)
    most_next, least_next = np.empty(size), np.empty(size)
    for a in range(size):
        if not valid[a]:
            continue
        most[:] = -np.inf
        least[:] = np.inf
        most[a] = 0.0
        least[a] = 0.0
        for step in range(1, longest + 2):
            most_next[:] = -np.inf
            least_next[:] = np.inf
            for s in range(size):
                if most[s] > -np.inf and valid[s]:
                    for e in range(first[s], first[s + 1]):
                        most_next[other[e]] = max(most_next[other[e]], most[s] + log_high[e])
                        least_next[other[e]] = min(least_next[other[e]], least[s] + log_low[e])
            most[:] = most_next
            least[:] = least_next
            highest, lowest = -np.inf, np.inf
            for s in range(size):
                if most[s] == -np.inf or not valid[s]:
                    continue
                if step > 1 and meet[s]:
                    middle[step - 1] = max(middle[step - 1], most[s] - least[s] + log_meet[s])
                if usable[s]:
                    highest = max(highest, most[s] + end_high[s])
                    lowest = min(lowest, least[s] + end_low[s])
            if step <= longest and highest > -np.inf and (a != virtual or step == whole):
                end[step] = max(end[step], highest - lowest)
    return middle, end
