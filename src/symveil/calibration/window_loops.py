"""Windows, the compiled part: one step of the boxes and one of the pairs (docs/theory/certificates.md).

Rows are windows p, the word's state t and its next symbols; `own_symbol[p]` is the first of them and
`own_target[p]` where it leads. Children of p are the windows one step later: a range, since windows
are sorted. States are y; low and high bound β(y)/β(t). All numbers are positive and `slack` is more
than four times the relative rounding error of a step; upper bounds are accepted only by the test
Σ λ·(above − R·below) ≤ 0 with `above` rounded up and `below` rounded down by it.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np

from symveil.numbers.compiled import built_from

if not cython.compiled:
    from symveil.calibration.costs.step_loops import Arcs, largest_fraction
    from symveil.numbers.compiled import (
        INFINITY,
        Bools,
        CodeTable,
        FloatBox,
        Floats,
        FloatTable,
        Ints,
        IntTable,
        NewCodeTable,
        NewFloatBox,
        NewFloats,
        NewFloatTable,
        NewIntTable,
    )

built_from("", __name__)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fill(
    first: Ints, symbol: Ints, target: Ints, weight: Floats, decay: cython.double, excess: cython.double,
    state: cython.longlong, own: cython.longlong, rows: NewFloats, begin: cython.longlong, size: cython.longlong,
) -> cython.void:  # fmt: skip
    """rows[begin + y'] = M_own(state, y'): weights of edges by where they lead, those not reading `own` times z."""
    for y in range(size):
        rows[begin + y] = 0.0
    for e in range(first[state], first[state + 1]):
        rows[begin + target[e]] += weight[e] * decay
        if symbol[e] == own:
            rows[begin + target[e]] += weight[e] * excess


def next_boxes(
    first: Ints, symbol: Ints, target: Ints, weight: Floats, decay: cython.double, excess: cython.double,
    slack: cython.double, alive: Bools, state: Ints, own_symbol: Ints, child_begin: Ints, child_end: Ints,
    low: FloatTable, high: FloatTable,
) -> tuple[Any, Any]:  # fmt: skip
    """The boxes of the windows of one layer, from those one step nearer to the end."""
    count, size = len(state), len(alive)
    made_low, made_high = np.zeros((count, size)), np.zeros((count, size))
    new_low: NewFloatTable = made_low
    new_high: NewFloatTable = made_high
    # the rows of y and t as those of a graph with these two states
    rows: NewFloats = np.empty(2 * size)
    begins = np.array([0, size, 2 * size])
    arcs = Arcs(begins, np.arange(2 * size) % max(size, 1), np.asarray(rows))
    most: cython.double
    inverse: cython.double
    with cython.nogil:
        for p in range(count):
            t = state[p]
            _fill(first, symbol, target, weight, decay, excess, t, own_symbol[p], rows, size, size)
            for y in range(size):
                if not alive[y]:
                    continue
                if y == t:
                    new_low[p, y] = 1.0
                    new_high[p, y] = 1.0
                    continue
                _fill(first, symbol, target, weight, decay, excess, y, own_symbol[p], rows, 0, size)
                most, inverse = 0.0, 0.0
                for child in range(child_begin[p], child_end[p]):
                    most = largest_fraction(arcs, low[child], high[child], 0, 1, most, slack)
                    inverse = largest_fraction(arcs, low[child], high[child], 1, 0, inverse, slack)
                new_high[p, y] = max(most, 2.0**-200)
                new_low[p, y] = 1.0 / inverse * (1.0 - slack) if inverse < 2.0**200 else 0.0
    return made_low, made_high


def adjacent_windows(
    symbols: IntTable, state: Ints, apart: IntTable, adjacency: cython.longlong,
    fill: cython.bint, pairs: NewIntTable, index: NewCodeTable,
) -> int:  # fmt: skip
    """How many pairs (p, q) can still belong to adjacent words; with `fill` also which, and place[p, q].

    apart[t, t'] is the least number of differences after which one word is in t and the other in t'.
    """
    count: cython.longlong = 0
    differ: cython.longlong
    with cython.nogil:
        for p in range(len(state)):
            for q in range(len(state)):
                differ = apart[state[p], state[q]]
                if differ > adjacency:
                    continue
                for k in range(symbols.shape[1]):
                    if symbols[p, k] != symbols[q, k]:
                        differ += 1
                if differ <= adjacency:
                    if fill:
                        pairs[count, 0], pairs[count, 1] = p, q
                        index[p, q] = count
                    count += 1
    return count


@cython.cfunc
@cython.nogil
def _raised_mean(
    value: Floats, least: Floats, most: Floats, count: cython.longlong, mean: cython.double, slack: cython.double
) -> cython.double:
    """A number that Σ λ·value / Σ λ does not exceed for any weights λ in [least, most]; at least `mean`."""
    highest: cython.double = value[0]
    worth: cython.double
    for k in range(count):
        highest = max(highest, value[k])
    highest *= 1.0 + slack
    for _ in range(60):
        above, below, positive, negative = 0.0, 0.0, 0.0, 0.0
        for k in range(count):
            bracket = value[k] * (1.0 + slack) - mean
            if bracket > 0.0:
                worth = most[k] * (1.0 + slack)
                positive += worth * bracket
            else:
                worth = least[k] * (1.0 - slack)
                negative -= worth * bracket
            above += worth * value[k]
            below += worth
        if mean >= highest or positive * (1.0 + slack) <= negative * (1.0 - slack):
            return mean
        if not (below > 0.0 and above < INFINITY):
            return max(mean, highest)
        mean = max(mean, above / below) * (1.0 + 4.0 * slack)
        mean = min(mean, highest) if mean > highest else mean
    return max(mean, highest)


def raised_mean(value: Floats, least: Floats, most: Floats, mean: cython.double, slack: cython.double) -> float:
    """`_raised_mean` of all of them, for tests."""
    return _raised_mean(value, least, most, len(value), mean, slack)


def next_ratios(
    first: Ints, symbol: Ints, target: Ints, weight: Floats, decay: cython.double, slack: cython.double,
    alive: Bools, alive_next: Bools, symbols: IntTable, child_begin: Ints, child_end: Ints,
    pairs: IntTable, index_next: CodeTable, low: FloatTable, high: FloatTable, ratio_next: FloatBox,
    adjacency: cython.longlong,
) -> Any:  # fmt: skip
    """ratio[pair, c, y] ≥ β^v(y)/β^w(y) for all words w, v with these windows and exactly c differences to come.

    0 means that there are no such words. β^v(y)/β^w(y) is a mean of κ·β^v(y')/β^w(y') over the edges
    y → y' with weights T·z^{[σ≠w's symbol]}·β^w(y'), and those lie in the box of w's next window.
    """
    size = len(alive)
    widest: cython.longlong = 0
    for y in range(size):
        widest = max(widest, first[y + 1] - first[y])
    made = np.zeros((len(pairs), adjacency + 1, size))
    ratio: NewFloatBox = made
    value: NewFloats = np.empty(widest)
    least: NewFloats = np.empty(widest)
    most: NewFloats = np.empty(widest)
    same: cython.bint
    after: cython.longlong
    reached: cython.double
    factor: cython.double
    with cython.nogil:
        for pair in range(len(pairs)):
            p, q = pairs[pair, 0], pairs[pair, 1]
            own_p, own_q = symbols[p, 0], symbols[q, 0]
            same = True
            for k in range(symbols.shape[1]):
                if symbols[p, k] != symbols[q, k]:
                    same = False
            if same:
                for y in range(size):
                    if alive[y]:
                        ratio[pair, 0, y] = 1.0
            for left in range(1, adjacency + 1):
                after = left - (1 if own_p != own_q else 0)
                for p_next in range(child_begin[p], child_end[p]):
                    for q_next in range(child_begin[q], child_end[q]):
                        following = index_next[p_next, q_next]
                        if following < 0:
                            continue
                        for y in range(size):
                            if not alive[y]:
                                continue
                            width = 0
                            for e in range(first[y], first[y + 1]):
                                if not alive_next[target[e]]:
                                    continue
                                reached = ratio_next[following, after, target[e]]
                                if reached == 0.0:
                                    break
                                factor = weight[e]
                                if symbol[e] != own_p:
                                    factor *= decay
                                    if symbol[e] == own_q:
                                        reached /= decay
                                elif own_p != own_q:
                                    reached *= decay
                                value[width] = reached
                                least[width] = factor * low[p_next, target[e]]
                                most[width] = factor * high[p_next, target[e]]
                                width += 1
                            if width > 0:
                                ratio[pair, left, y] = _raised_mean(
                                    value, least, most, width, ratio[pair, left, y], slack
                                )
    return made
