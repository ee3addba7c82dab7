"""What one detour of any length can lose: shortest paths over the windows of boxes, one pass for every length.

See docs/theory/certificates.md, *Detours of any length*. Along a word's own states the weight of what comes before
grows by the factor G at each step, and boxes with windows hold G. Two words that differ in one block share what comes
before it and what follows: ln Z(v)/Z(w) is a difference of two sums of ln G over the same number of steps between the
same ends, and of what the two ends are worth. The largest sum minus the smallest is a pass for all lengths at once.

Theorem 2.10 is about inner blocks of ℓ symbols, with paths of ℓ+1 steps. A final block has paths of ℓ steps to any
window of an accepting state at step n, and E = Σ_y α(y)f(y)/α(s_n), f(y) what ending in y is worth. An initial block
has ℓ+1 steps from the hidden start, the whole word n. With a balance, states are edges, and the words are in the same
state two steps after the block: an inner block has ℓ+2 steps, or, if c ends the word, ℓ+1 as a final one, of paths
whose last symbol is c.

Rounding. Boxes are rounded outwards; G and what an end is worth are sums of products of non-negative numbers, widened
by more than their error, and so are their logarithms. A sum of m logarithms is wrong by less than m²·max·2⁻⁵³.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from symveil.calibration.costs.blocks import FINAL, INITIAL, INNER, WHOLE, Kind, at_once, has_hidden_start, slices
from symveil.calibration.costs.boxes import Boxes
from symveil.calibration.costs.graph import CostGraph, Floats, Integers
from symveil.calibration.counting_loops import Ends, Windows, worst_spans
from symveil.graphs.csr import offsets, spread


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The windows that words really have at some step, with the boxes of all steps at which they have them.

    Near its beginning a word has windows that reach back to it, each at one step (`step`); all others are as long as
    windows get, and their boxes are hulls over all positions (`step` is −1).
    """

    row: Integers
    state: Integers
    step: Integers
    low: Floats
    high: Floats


def _known_rows(boxes: Boxes, steps: int, *, forwards: bool) -> _Rows:
    windows, longest = boxes.rows, boxes.rows.longest
    rows, at, low, high = [], [], [], []

    def slot(away: int) -> int:
        return int(boxes.slot_of[away if forwards else steps - away])

    for length in range(min(longest, steps) + 1):
        chosen = slice(int(windows.begin[length]), int(windows.begin[length + 1]))
        whole = length < longest
        slots = [slot(length)] if whole else sorted({slot(away) for away in range(length, steps + 1)})
        valid = boxes.valid[slots, chosen]
        held = np.flatnonzero(valid.any(axis=0))
        if not len(held):
            continue
        least, most = np.full((len(held), boxes.low.shape[2]), np.inf), np.zeros((len(held), boxes.low.shape[2]))
        for number, each in enumerate(slots):
            here = valid[number, held]
            which = chosen.start + held[here]
            least[here] = np.minimum(least[here], boxes.low[each, which])
            most[here] = np.maximum(most[here], boxes.high[each, which])
        rows.append(chosen.start + held)
        at.append(np.full(len(held), length if whole else -1))
        low.append(least)
        high.append(most)
    row = np.concatenate(rows)
    return _Rows(row, windows.state[row], np.concatenate(at), np.concatenate(low), np.concatenate(high))


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """The windows of a language's words as a graph: `low` ≤ ln G ≤ `high` for each edge; `rows` is its nodes."""

    rows: _Rows
    first: Integers
    other: Integers
    low: Floats
    high: Floats


def detour_ratios(graph: CostGraph, left: Boxes, right: Boxes) -> dict[Kind, float]:
    """For every kind of block that fits, a bound on ln Z(v)/Z(w) of words that differ in one of them, rounded up.

    The graph is a chain's, by Hamming distance, with or without a balanced prior; the boxes are those of all its
    states.
    """
    steps = _steps(graph, left)
    ends = _known_rows(right, graph.steps, forwards=False)
    meet_first, meet_low, meet_high = _meetings(graph, steps.rows, ends)
    end_low, end_high = _last_totals(graph, left, steps.rows)
    virtual = int(graph.starts[0]) if has_hidden_start(graph) else -1
    padding = -1 if graph.padding is None else graph.padding

    rows = steps.rows
    graph_of: Any = Windows(steps.first, steps.other, steps.low, steps.high, rows.state, rows.step, graph.symbol)
    after: Any = Ends(meet_first, meet_low, meet_high, end_low, end_high)
    letters = int(graph.symbol.max()) + 1

    def worst(part: slice) -> Floats:
        return worst_spans(
            graph_of, after, letters, padding, virtual, left.rows.longest, graph.steps, _tail_steps(graph),
            part.start, part.stop,
        )  # fmt: skip

    spans = np.maximum.reduce(at_once(worst, slices(len(steps.rows.row), fewest=64)))
    logs = np.concatenate([steps.low, steps.high, meet_low, meet_high, end_low, end_high])
    widest = float(np.abs(logs[np.isfinite(logs)]).max(initial=0.0))
    rounded = (graph.steps + 4) ** 2 * (widest + 1) * 2.0**-51
    bounds = {}
    for hidden, where in ((0, (INNER, FINAL)), (1, (INITIAL, WHOLE))):
        for ending in range(2):
            for length in range(1, graph.steps + 1):
                value = float(spans[hidden, ending, length])
                if value > -math.inf:
                    bounds[Kind(where[ending], length)] = max(value, 0.0) + rounded if value < math.inf else math.inf
    return bounds


def _tail_steps(graph: CostGraph) -> int:
    """How many steps after a block both words are in the same state: one, or two where states are edges."""
    return 1 if graph.weights.balance is None else 2


def _steps(graph: CostGraph, left: Boxes) -> Steps:
    rows, windows = _known_rows(left, graph.steps, forwards=True), left.rows
    node = np.full(windows.count, -1)
    node[rows.row] = np.arange(len(rows.row))
    follow = (rows.step < 0).astype(np.int64)  # windows of full length slide; shorter ones grow
    begin, end = windows.next_first[follow, rows.row], windows.next_first[follow, rows.row + 1]
    source, number = spread(end - begin, begin)
    other = node[windows.following[number]]
    source, other = source[other >= 0], other[other >= 0]
    moves = sparse.csc_array((graph.weight, graph.other, graph.first), shape=(graph.size, graph.size))  # transposed
    reached = rows.state[other]
    with np.errstate(invalid="ignore", over="ignore"):
        low = np.asarray(moves @ rows.low.T)[reached, source] * (1 - 4 * graph.rounding)
        high = np.asarray(moves @ rows.high.T)[reached, source] * (1 + 4 * graph.rounding)
    first = offsets(np.bincount(source, minlength=len(rows.row)))
    return Steps(rows, first, other.astype(np.int64), _log_down(low), _log_up(high))


def _meetings(graph: CostGraph, rows: _Rows, ends: _Rows) -> tuple[Integers, Floats, Floats]:
    """ln of Σ α(y)β(y) over a word's own, for each window before a state and each window after it.

    Node u has the entries first[u] … first[u + 1] − 1, one for each window after its state, in the same order.
    """
    slack = 4 * (graph.size + 8) * 2.0**-53
    after = [np.flatnonzero(ends.state == state) for state in range(graph.size)]
    counts = np.array([len(after[state]) for state in rows.state])
    first = offsets(counts)
    low, high = np.empty(int(first[-1])), np.empty(int(first[-1]))
    with np.errstate(invalid="ignore", over="ignore"):
        for state in np.unique(rows.state).tolist():
            here, beside = np.flatnonzero(rows.state == state), after[state]
            if len(beside):
                entry = first[here][:, None] + np.arange(len(beside))[None, :]
                low[entry] = (rows.low[here] @ ends.low[beside].T) * (1 - slack)
                high[entry] = (rows.high[here] @ ends.high[beside].T) * (1 + slack)
    return first, _log_down(low), _log_up(high)


def _last_totals(graph: CostGraph, left: Boxes, rows: _Rows) -> tuple[Floats, Floats]:
    """ln of Σ α(y)·(what ending in y is worth) over a word's own α, for windows that end words; no others."""
    slot, ends = int(left.slot_of[graph.steps]), min(left.rows.longest, graph.steps)
    able = (left.rows.length[rows.row] == ends) & left.valid[slot, rows.row] & (graph.final[rows.state] > 0)
    able &= rows.state != (-1 if graph.padding is None else graph.padding)  # a block is of real symbols
    slack = 4 * (graph.size + 8) * 2.0**-53
    low, high = np.full(len(rows.row), np.inf), np.full(len(rows.row), -np.inf)
    with np.errstate(invalid="ignore", over="ignore"):
        low[able] = _log_down(left.low[slot, rows.row[able]].astype(np.float64) @ graph.final * (1 - slack))
        high[able] = _log_up(left.high[slot, rows.row[able]].astype(np.float64) @ graph.final * (1 + slack))
    return low, high


def _log_down(values: Floats) -> Floats:
    logs = np.log(values)
    return logs - (np.abs(logs) + 1) * 2.0**-50


def _log_up(values: Floats) -> Floats:
    logs = np.log(np.where(np.isnan(values), np.inf, values))  # 0·∞: a box without an upper end
    return np.where(np.isinf(logs), np.inf, logs + (np.abs(logs) + 1) * 2.0**-50)
