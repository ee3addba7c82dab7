"""Boxes: how the weight of one state compares with that of the word's own state, over all words.

Let the word be in state t and k symbols from its end. The weight γ(y) of everything that can
follow if one is in y instead, the mismatch of y against t included, satisfies

    γ_k(y|t) = z^{[y≠t]} · Σ_{y'} T(y,y') γ_{k−1}(y'|t') / Σ_{y'} T(t,y') γ_{k−1}(y'|t'),   γ(t|t) = 1,

where t' is the word's next state (docs/theory/certificates.md, Boxes). Over all words, γ(y|t) lies in a box
[low, high] that follows from the boxes one step further by taking the extremes over t' and over
the boxes. Read backwards on the reversed graph, the same recurrence bounds the weight of
everything that can come before.

Rounding. All numbers are positive, so every float below has a relative error of at most its number
of operations times 2⁻⁵³; bounds are pushed outwards by `widening`, which is more than four times
that. A `high` is never smaller than 2⁻²⁰⁰ unless it is exactly 0, a `low` below that becomes 0, and
weights are at least 2⁻¹⁰⁰, so nothing underflows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symveil.languages.compiling import compiled

Floats = NDArray[np.float64]

_FEW_STEPS = 64
_SETTLED = 1e-9  # relative change below which a hull is tried as an invariant one
_SLACK = 1e-7  # by how much it is enlarged for that


@dataclass(frozen=True, slots=True, eq=False)
class ChainGraph:
    """A chain as arrays: the neighbours of each state in one direction, in rising order, with their weights."""

    first: NDArray[np.int64]
    other: NDArray[np.int64]
    weight: Floats

    @property
    def state_count(self) -> int:
        """S."""
        return len(self.first) - 1

    def reversed(self) -> ChainGraph:
        """The same edges, listed by where they lead."""
        source = np.repeat(np.arange(self.state_count), np.diff(self.first))
        order = np.lexsort((source, self.other))
        counts = np.bincount(self.other, minlength=self.state_count)
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return ChainGraph(offsets, source[order].astype(np.int64), self.weight[order])


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """low[t, y] ≤ γ(y|t) ≤ high[t, y] for every t with valid[t], at every position of every word."""

    low: Floats
    high: Floats
    valid: NDArray[np.bool_]


def widening(graph: ChainGraph) -> float:
    """A factor beyond the relative rounding error of one step: 2D+8 operations on positive numbers."""
    widest = int(np.diff(graph.first).max(initial=0))
    return 1.0 + (2 * widest + 16) * 2.0**-51


def sharing(graph: ChainGraph, *, ignored: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each state the states that have a neighbour in common with it, `ignored` left out."""
    offsets, others = _sharing(graph.first, graph.other, ignored)
    return offsets, others


def box_hull(
    graph: ChainGraph, decay: float, steps: int, at_first: Floats, first_valid: NDArray[np.bool_], *, ignored: int = -1
) -> Boxes:
    """The union of the boxes 0 … `steps`, from the known values `at_first` at step 0.

    The boxes of all steps are computed, so their union needs no argument, unless the word is long
    and the boxes have stopped moving: then the union is enlarged a little, and if one step maps it
    *into itself* it contains all later boxes, by induction, because a step of larger boxes is larger.
    `ignored` is the start before the first symbol, where it is no state of the chain: nothing leads
    into it, so no box of later states refers to it, and it is left out where it would cost much.
    """
    widen = widening(graph)
    shared_first, shared_other = sharing(graph, ignored=ignored)
    low, high, valid = at_first.copy(), at_first.copy(), first_valid.copy()
    hull_low, hull_high, hull_valid = low.copy(), high.copy(), valid.copy()
    hull_low[~valid], hull_high[~valid] = np.inf, 0.0
    for step in range(1, steps + 1):
        low, high, valid = _next_boxes(
            graph.first, graph.other, graph.weight, shared_first, shared_other, decay, low, high, valid, widen, ignored
        )
        moved = _enclose(hull_low, hull_high, hull_valid, low, high, valid)
        if moved < _SETTLED and _FEW_STEPS <= step < steps:
            larger_low, larger_high = hull_low / (1 + _SLACK), hull_high * (1 + _SLACK)
            again_low, again_high, again_valid = _next_boxes(
                graph.first, graph.other, graph.weight, shared_first, shared_other,
                decay, larger_low, larger_high, hull_valid, widen, ignored,
            )  # fmt: skip
            if _inside(larger_low, larger_high, hull_valid, again_low, again_high, again_valid):
                return Boxes(larger_low, larger_high, hull_valid)
    return Boxes(hull_low, hull_high, hull_valid)


def _inside(low, high, valid, inner_low, inner_high, inner_valid) -> bool:
    """Whether the inner boxes exist only where the outer do, and lie in them."""
    if (inner_valid & ~valid).any():
        return False
    rows = np.flatnonzero(inner_valid)
    return bool((inner_low[rows] >= low[rows]).all() and (inner_high[rows] <= high[rows]).all())


@compiled
def _enclose(hull_low, hull_high, hull_valid, low, high, valid):
    """Enlarge the hull by the boxes, in place; how far its ends moved, relatively."""
    size = len(valid)
    moved = 0.0
    for t in range(size):
        if not valid[t]:
            continue
        if not hull_valid[t]:
            hull_valid[t] = True
            moved = np.inf
        for y in range(size):
            if low[t, y] < hull_low[t, y]:
                moved = max(moved, hull_low[t, y] / low[t, y] - 1 if low[t, y] > 0 else np.inf)
                hull_low[t, y] = low[t, y]
            if high[t, y] > hull_high[t, y]:
                moved = max(moved, high[t, y] / hull_high[t, y] - 1 if hull_high[t, y] > 0 else np.inf)
                hull_high[t, y] = high[t, y]
    return moved


@compiled
def _sharing(first, other, ignored):
    size = len(first) - 1
    reverse_first, reverse_source = _reverse(first, other)
    mark = np.full(size, -1)
    offsets = np.zeros(size + 1, dtype=np.int64)
    for fill in range(2):
        if fill == 0:
            results = np.empty(0, dtype=np.int64)
        else:
            results = np.empty(offsets[size], dtype=np.int64)
            mark[:] = -1
        count = 0
        for t in range(size):
            for e in range(first[t], first[t + 1] if t != ignored else first[t]):
                if other[e] == ignored:
                    continue
                for r in range(reverse_first[other[e]], reverse_first[other[e] + 1]):
                    y = reverse_source[r]
                    if y not in (t, ignored) and mark[y] != t:
                        mark[y] = t
                        if fill == 1:
                            results[count] = y
                        count += 1
            offsets[t + 1] = count
    return offsets, results


@compiled
def _reverse(first, other):
    size = len(first) - 1
    count = np.zeros(size + 1, dtype=np.int64)
    for e in range(len(other)):
        count[other[e] + 1] += 1
    reverse_first = count
    for s in range(size):
        reverse_first[s + 1] += reverse_first[s]
    index = reverse_first.copy()
    source = np.empty(len(other), dtype=np.int64)
    for s in range(size):
        for e in range(first[s], first[s + 1]):
            source[index[other[e]]] = s
            index[other[e]] += 1
    return reverse_first, source


@compiled
def _next_boxes(first, other, weight, shared_first, shared_other, decay, low, high, valid, widen, ignored):
    """One step of the recurrence, for all pairs (t, y) at once.

    Where y and t have no neighbour in common, the sums above and below are independent. Where they
    have one, it appears in both and takes one value only: `largest_fraction`.
    """
    size = len(first) - 1
    sum_low = np.zeros((size, size))
    sum_high = np.zeros((size, size))
    for after in range(size):
        if valid[after]:
            for y in range(size):
                s_low, s_high = 0.0, 0.0
                for e in range(first[y], first[y + 1]):
                    s_low += weight[e] * low[after, other[e]]
                    s_high += weight[e] * high[after, other[e]]
                sum_low[after, y] = s_low
                sum_high[after, y] = s_high
    new_low = np.full((size, size), np.inf)
    new_high = np.zeros((size, size))
    new_valid = np.zeros(size, dtype=np.bool_)
    highs = np.zeros(size)
    lows = np.zeros(size)
    for t in range(size):
        highs[:] = 0.0
        lows[:] = np.inf
        for e in range(first[t], first[t + 1] if t != ignored else first[t]):
            after = other[e]
            if not valid[after]:
                continue
            new_valid[t] = True
            # the word's own next state has γ = 1 and a positive weight, so neither sum of t is 0
            up = decay * widen / sum_low[after, t]
            down = decay / widen / sum_high[after, t]
            for y in range(size):
                highs[y] = max(highs[y], sum_high[after, y] * up)
                lows[y] = min(lows[y], sum_low[after, y] * down)
        if not new_valid[t]:
            continue
        for r in range(shared_first[t], shared_first[t + 1]):
            y = shared_other[r]
            most, inverse = 0.0, 0.0
            for e in range(first[t], first[t + 1]):
                after = other[e]
                if valid[after]:
                    most = largest_fraction(first, other, weight, low[after], high[after], y, t, most, widen - 1.0)
                    inverse = largest_fraction(
                        first, other, weight, low[after], high[after], t, y, inverse, widen - 1.0
                    )
            highs[y] = min(highs[y], most * decay * widen)
            lows[y] = max(lows[y], decay / widen / inverse)
        for y in range(size):
            new_high[t, y] = highs[y] if highs[y] == 0.0 or highs[y] > 2.0**-200 else 2.0**-200
            new_low[t, y] = lows[y] if lows[y] > 2.0**-200 else 0.0
        new_low[t, t] = 1.0
        new_high[t, t] = 1.0
    return new_low, new_high, new_valid


@compiled
def largest_fraction(first, other, weight, low, high, y, t, least, slack):
    """A number that Σ T(y,·)g / Σ T(t,·)g does not exceed for any g in the box; at least `least`.

    R is such a number as soon as Σ (T(y,s) − R·T(t,s))·g(s) ≤ 0 for every g: high where the bracket is positive, low
    elsewhere. The test is made with T(y,·) rounded up and T(t,·) rounded down, and R climbs (Dinkelbach) until it
    passes; should it not pass in time, infinity is the answer.
    """
    ratio = least
    for _ in range(60):
        above, below, positive, negative = 0.0, 0.0, 0.0, 0.0
        i, j = first[y], first[t]
        while i < first[y + 1] or j < first[t + 1]:
            of_y, of_t = 0.0, 0.0
            if j == first[t + 1] or (i < first[y + 1] and other[i] <= other[j]):
                state = other[i]
                of_y = weight[i] * (1.0 + slack)
                if j < first[t + 1] and other[j] == state:
                    of_t = weight[j] * (1.0 - slack)
                    j += 1
                i += 1
            else:
                state = other[j]
                of_t = weight[j] * (1.0 - slack)
                j += 1
            bracket = of_y - ratio * of_t
            if bracket > 0:
                worth = high[state]
                positive += worth * bracket
            else:
                worth = low[state]
                negative -= worth * bracket
            above += worth * of_y
            below += worth * of_t
        if positive * (1.0 + slack) <= negative * (1.0 - slack):
            return ratio
        if not (below > 0.0 and above < np.inf):
            return np.inf
        ratio = max(ratio, above / below) * (1.0 + 4.0 * slack)
    return np.inf
