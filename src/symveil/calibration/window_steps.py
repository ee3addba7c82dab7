"""Windows, the compiled part: one step of the boxes and one of the pairs (docs/theory/certificates.md).

Rows are windows p, the word's state t and its next symbols; `own_symbol[p]` is the first of them and
`own_target[p]` where it leads. Children of p are the windows one step later: a range, since windows
are sorted. States are y; low and high bound β(y)/β(t). All numbers are positive and `slack` is more
than four times the relative rounding error of a step; upper bounds are accepted only by the test
Σ λ·(above − R·below) ≤ 0 with `above` rounded up and `below` rounded down by it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from symveil.calibration.costs.steps import largest_fraction
from symveil.languages.compiling import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

# numba keeps compiled loops by this file alone: a digest of the others they use (tests/contracts/test_kept_loops.py)
COMPILED_FROM = "a189cf88bd273fce"


@compiled
def _row(
    first: Integers, symbol: Integers, target: Integers, weight: Floats, decay: float, excess: float,
    state: int, own: int, row: Floats,
) -> None:  # fmt: skip
    """row[y'] = M_own(state, y'): weights of the edges by where they lead, those that do not read `own` times z."""
    row[:] = 0.0
    for e in range(first[state], first[state + 1]):
        row[target[e]] += weight[e] * decay
        if symbol[e] == own:
            row[target[e]] += weight[e] * excess


@compiled
def next_boxes(
    first: Integers, symbol: Integers, target: Integers, weight: Floats, decay: float, excess: float, slack: float,
    alive: Booleans, state: Integers, own_symbol: Integers, child_begin: Integers, child_end: Integers,
    low: Floats, high: Floats,
) -> tuple[Floats, Floats]:  # fmt: skip
    """The boxes of the windows of one layer, from those one step nearer to the end."""
    count, size = len(state), len(alive)
    new_low, new_high = np.zeros((count, size)), np.zeros((count, size))
    # the rows of y and t as those of a graph with these two states
    rows, begins, others = np.empty(2 * size), np.array([0, size, 2 * size]), np.empty(2 * size, dtype=np.int64)
    for y in range(size):
        others[y], others[size + y] = y, y
    row_y, row_t = rows[:size], rows[size:]
    for p in range(count):
        t = state[p]
        _row(first, symbol, target, weight, decay, excess, t, own_symbol[p], row_t)
        for y in range(size):
            if not alive[y]:
                continue
            if y == t:
                new_low[p, y] = 1.0
                new_high[p, y] = 1.0
                continue
            _row(first, symbol, target, weight, decay, excess, y, own_symbol[p], row_y)
            most, inverse = 0.0, 0.0
            for child in range(child_begin[p], child_end[p]):
                most = largest_fraction(begins, others, rows, low[child], high[child], 0, 1, most, slack)
                inverse = largest_fraction(begins, others, rows, low[child], high[child], 1, 0, inverse, slack)
            new_high[p, y] = max(most, 2.0**-200)
            new_low[p, y] = 1.0 / inverse * (1.0 - slack) if inverse < 2.0**200 else 0.0
    return new_low, new_high


@compiled
def adjacent_windows(
    symbols: Integers, state: Integers, apart: Integers, adjacency: int,
    fill: bool, pairs: Integers, index: NDArray[np.int32],
) -> int:  # fmt: skip
    """How many pairs (p, q) can still belong to adjacent words; with `fill` also which, and place[p, q].

    apart[t, t'] is the least number of differences after which one word is in t and the other in t'.
    """
    count = 0
    for p in range(len(state)):
        for q in range(len(state)):
            differ = apart[state[p], state[q]]
            if differ > adjacency:
                continue
            for k in range(symbols.shape[1]):
                differ += symbols[p, k] != symbols[q, k]
            if differ <= adjacency:
                if fill:
                    pairs[count, 0], pairs[count, 1] = p, q
                    index[p, q] = count
                count += 1
    return count


@compiled
def next_ratios(  # noqa: PLR0912 - one function, because numba compiles functions
    first: Integers, symbol: Integers, target: Integers, weight: Floats, decay: float, slack: float,
    alive: Booleans, alive_next: Booleans, symbols: Integers, child_begin: Integers, child_end: Integers,
    pairs: Integers, index_next: NDArray[np.int32], low: Floats, high: Floats, ratio_next: Floats, adjacency: int,
) -> Floats:  # fmt: skip
    """ratio[pair, c, y] ≥ β^v(y)/β^w(y) for all words w, v with these windows and exactly c differences to come.

    0 means that there are no such words. β^v(y)/β^w(y) is a mean of κ·β^v(y')/β^w(y') over the edges
    y → y' with weights T·z^{[σ≠w's symbol]}·β^w(y'), and those lie in the box of w's next window.
    """
    size, widest = len(alive), 0
    for y in range(size):
        widest = max(widest, first[y + 1] - first[y])
    ratio = np.zeros((len(pairs), adjacency + 1, size))
    value, least, most = np.empty(widest), np.empty(widest), np.empty(widest)
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
                                value[:width], least[:width], most[:width], ratio[pair, left, y], slack
                            )
    return ratio


@compiled
def _raised_mean(value: Floats, least: Floats, most: Floats, mean: float, slack: float) -> float:
    """A number that Σ λ·value / Σ λ does not exceed for any weights λ in [least, most]; at least `mean`."""
    highest: float = value.max() * (1.0 + slack)
    for _ in range(60):
        above, below, positive, negative = 0.0, 0.0, 0.0, 0.0
        for k in range(len(value)):
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
        if not (below > 0.0 and above < np.inf):
            return max(mean, highest)
        mean = max(mean, above / below) * (1.0 + 4.0 * slack)
        mean = min(mean, highest) if mean > highest else mean
    return max(mean, highest)
