"""Bounds on Z(v)/Z(w) for pairs of words that differ in one block: of all pairs of its paths, and of single nodes.

See docs/theory/certificates.md, *Mean-value bound*. Between the left anchor and the right one the symbols of w and of v
are known; l ≤ α ≤ l + ω holds at the left anchor and l' ≤ β ≤ l' + ω' at the right one. With U and V the exact
transfer matrices of v and of w between them and M = U − R·V,

    f(R) = l M l' + ω·(M l')⁺ + (l M)⁺·ω' + ω X ω',     X = U − V_min ≥ M⁺,

Z(v)/Z(w) ≤ R wherever f(R) ≤ 0. V_min takes the smaller weight of the two words at every step. Only vectors are moved.
Vectors along each path are shared by all pairs that use it, so that a pair costs little more than its length: there
X = Σ_k (prefix of v)·(G_v − G_w)⁺·(suffix of w), which is at least U − V_min.

Rounding. The vectors are sums of products of non-negative numbers with a relative error of at most γ; f is a
difference of such numbers, so R is accepted only if f + 4γ·F ≤ 0, F being the same sum with all signs positive.
Products are kept away from underflow, else the classic bound is the answer.
"""

from __future__ import annotations

import cython
import numpy as np

from symveil.numbers.compiled import built_from

if not cython.compiled:
    from numpy.typing import NDArray

    from symveil.calibration.costs.box_loops import Slots, hull
    from symveil.calibration.costs.step_loops import EveryState, smaller_step, step_backward, step_forward, summed
    from symveil.numbers.compiled import (
        INFINITY,
        Bools,
        Floats,
        Ints,
        IntTable,
        NewBools,
        NewFloatBox,
        NewFloats,
        NewFloatTable,
        NewInts,
        ceil,
        exp,
    )

built_from("", __name__)

COLUMNS = 7
"""group, w's path, v's path, R, the nominal ratio, the first-order terms of the left and the right."""


@cython.cclass
class Paths:
    """Paths that may be compared with each other, group by group: see `blocks.Groups`."""

    def __init__(
        self,
        first: Ints,
        row: Ints,
        spare: Ints,
        steps: IntTable,
        end: Ints,
        may_own: Bools,
        may_other: Bools,
        apart: IntTable,
    ) -> None:
        self.first, self.row, self.spare, self.steps, self.end = first, row, spare, steps, end
        self.may_own, self.may_other, self.apart = may_own, may_other, apart

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        groups = np.asarray(self.first), np.asarray(self.row), np.asarray(self.spare)
        paths = np.asarray(self.steps), np.asarray(self.end), np.asarray(self.may_own), np.asarray(self.may_other)
        return Paths, (*groups, *paths, np.asarray(self.apart))


@cython.cclass
class Prices:
    """What each level costs, the rate that costs are paid at, and the loss that is aimed at."""

    def __init__(self, value: Floats, rate: cython.double, period: cython.longlong, target: cython.double) -> None:
        self.value, self.rate, self.period, self.target = value, rate, period, target

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return Prices, (np.asarray(self.value), self.rate, self.period, self.target)


# --- pairs -----------------------------------------------------------------------------------------


def comparable(paths: Paths, i: cython.longlong, j: cython.longlong, differ: cython.longlong) -> bool:
    """Whether two paths have different symbols in the first `differ` steps and the same ones afterwards."""
    for k in range(paths.steps.shape[1]):
        if (paths.steps[i, k] != paths.steps[j, k]) != (k < differ):
            return False
    return True


def _can_be_pair(
    paths: Paths, i: cython.longlong, j: cython.longlong, differ: cython.longlong, spare: cython.longlong
) -> bool:
    """Whether path i can be w's and path j v's."""
    if not (paths.may_own[i] and paths.may_other[j]):
        return False
    if len(paths.apart) > 1 and paths.apart[paths.end[i], paths.end[j]] > spare:
        return False
    return comparable(paths, i, j, differ)


def pair_cost(
    moves: EveryState,
    prices: Prices,
    begin: cython.longlong,
    differ: cython.longlong,
    steps: IntTable,
    i: cython.longlong,
    j: cython.longlong,
) -> float:
    """D(p, q): what the two blocks cost each other; infinite where they may not stand for each other."""
    total: cython.double = 0.0
    for k in range(differ):
        level = moves.levels[moves.metric_at[begin + k], steps[i, k], steps[j, k]]
        if level < 0:
            return INFINITY
        total += prices.value[level]
    return total


def limits(prices: Prices, cost: cython.double) -> tuple[float, float]:
    """(floor, largest) of R: up to `floor` a pair keeps within the target, beyond `largest` no pair can be."""
    room: cython.double = prices.target
    most: cython.double = prices.rate * cost
    if prices.period == 1:
        room = prices.target - most
    else:
        most = prices.rate * ceil(cost / prices.period)
    return max(1.0, exp(room) * (1.0 - 2.0**-40)), exp(most) * (1.0 + 2.0**-40)


def smallest_passing(
    a: cython.double, b: cython.double, a_width: cython.double, b_width: cython.double, above: Floats, below: Floats,
    above_end: Floats, below_end: Floats, left_width: Floats, right_width: Floats, left_count: cython.longlong,
    right_count: cython.longlong, floor: cython.double, largest: cython.double, gamma: cython.double,
) -> tuple[float, float, float]:  # fmt: skip
    """The smallest R ≥ `floor` found with f(R) ≤ 0, at most `largest`; also the two first-order terms there.

    a = l U l', b = l V l', a_width and b_width = ω U ω' and ω V_min ω'; above, below = U l', V l' at the left anchor,
    above_end, below_end = l U, l V at the right one. f is convex and falls, so Newton's steps from the left stay left.
    """
    ratio: cython.double = floor
    left: cython.double = 0.0
    right: cython.double = 0.0
    for _ in range(80):
        left, right = 0.0, 0.0
        slope = b
        plain = a + a_width + b_width + ratio * b
        for k in range(left_count):
            if left_width[k] > 0.0:
                gain = above[k] - ratio * below[k]
                plain += left_width[k] * (above[k] + ratio * below[k])
                if gain > 0.0:
                    left += left_width[k] * gain
                    slope += left_width[k] * below[k]
        for k in range(right_count):
            if right_width[k] > 0.0:
                gain = above_end[k] - ratio * below_end[k]
                plain += right_width[k] * (above_end[k] + ratio * below_end[k])
                if gain > 0.0:
                    right += right_width[k] * gain
                    slope += right_width[k] * below_end[k]
        if not (b > 2.0**-400 and plain < 2.0**400):
            return largest, left, right
        value = a - ratio * b + left + right + (a_width - b_width)
        if value + 4.0 * gamma * plain <= 0.0:
            return ratio, left, right
        if ratio >= largest:
            return largest, left, right
        # the step aims a little beyond the root of f + 4γF
        step = (value + 4.0 * gamma * plain) / slope
        ratio = min(largest, (ratio + step) * (1.0 + 8.0 * gamma))
    return largest, left, right


# --- all pairs of paths, with nothing known around them -----------------------------------------------


def let_through(moves: EveryState, one: cython.longlong, two: cython.longlong, phase: cython.longlong) -> float:
    """What a step lets through at v's level `two` that it does not at w's level `one`, if that is above 0."""
    more: cython.double = moves.kappa[two, phase]
    if one >= 0 and moves.following[one, phase] == moves.following[two, phase]:
        more -= moves.kappa[one, phase]
    # the difference of two rounded weights: rounded up by more than its error
    return more + 4.0 * 2.0**-53 * moves.kappa[two, phase] if more > 0.0 else 0.0


def _second_order(
    moves: EveryState, begin: cython.longlong, differ: cython.longlong, steps: IntTable, own: cython.longlong,
    other: cython.longlong, arrived: NewFloatBox, i: cython.longlong, suffix: NewFloatBox, j: cython.longlong,
) -> float:  # fmt: skip
    """ω X ω' of a pair: what v's symbols let through that w's do not, step by step."""
    phases = moves.phases
    total: cython.double = 0.0
    one: cython.longlong
    two: cython.longlong
    more: cython.double
    for k in range(differ):
        metric = moves.metric_at[begin + k]
        for y in range(moves.size):
            two = moves.levels[metric, steps[other, k], moves.symbol[y]]
            if two < 0:
                continue
            one = moves.levels[metric, steps[own, k], moves.symbol[y]]
            if one == two:
                continue
            for phase in range(phases):
                more = let_through(moves, one, two, phase)
                if more > 0.0:
                    to = y * phases + moves.following[two, phase]
                    total += arrived[i, k, y * phases + phase] * more * suffix[j, k, to]
    return total


def root_bounds(
    moves: EveryState, left: Slots, right: Slots, left_slots: Ints, right_slots: Ints, paths: Paths,
    begin: cython.longlong, differ: cython.longlong, prices: Prices, step_rounding: cython.double,
) -> tuple[NDArray[np.float64], bool]:  # fmt: skip
    """All pairs of all groups whose bound is above the target, and whether there was any pair at all.

    `begin` is the step of the first symbol; left_slots and right_slots are the ranges of slots that the anchors' boxes
    are taken from.
    """
    size, width, steps, groups = moves.size, moves.width, paths.steps.shape[1], len(paths.row)
    members: cython.longlong = max(1, int(np.diff(paths.first).max(initial=1)))
    results: NewFloatTable = np.empty((64, COLUMNS))
    spare: NewFloats = np.empty(width)
    now: NewFloats = np.empty(width)
    after: NewFloats = np.empty(width)
    least: NewFloats = np.empty(width)
    wide: NewFloats = np.empty(width)
    row_number: NewInts = np.full(size, -1)
    useful: NewBools = np.zeros(members, dtype=np.bool_)
    row_of: NewInts = np.zeros(members, dtype=np.int64)
    row_state: NewInts = np.empty(members, dtype=np.int64)
    usable: NewBools = np.zeros(members, dtype=np.bool_)
    forward: NewFloatTable = np.empty((members, width))
    arrived: NewFloatBox = np.empty((members, differ, width))
    suffix: NewFloatBox = np.empty((members, differ, width))
    end_low: NewFloatTable = np.empty((1, width))
    end_wide: NewFloatTable = np.empty((1, width))
    backward: NewFloatTable = np.empty((1, width))
    count: cython.longlong = 0
    some: cython.bint = False
    any_useful: cython.bint
    rows: cython.longlong
    a: cython.double
    b: cython.double
    middle_a: cython.double
    middle_b: cython.double
    with cython.nogil:
        gamma = (steps + 1) * step_rounding + (width * (steps + 1) + 16) * 2.0**-53
        for group in range(groups):
            low = paths.first[group]
            members = paths.first[group + 1] - low
            any_useful = False
            for i in range(members):
                useful[i] = False
            for i in range(members):
                for j in range(members):
                    if _can_be_pair(paths, low + i, low + j, differ, paths.spare[group]):
                        useful[i], useful[j], any_useful = True, True, True
            if not any_useful:
                continue
            if not hull(left, left_slots[0], left_slots[1], paths.row[group], least, wide):
                continue
            rows = 0
            for i in range(members):
                if useful[i]:
                    state = paths.end[low + i]
                    if row_number[state] < 0:
                        row_number[state] = rows
                        row_state[rows] = state
                        rows += 1
                    row_of[i] = row_number[state]
            if members * rows > len(backward):
                with cython.gil:
                    backward = np.empty((members * rows, width))
            if rows > len(end_low):
                with cython.gil:
                    end_low, end_wide = np.empty((rows, width)), np.empty((rows, width))
            for r in range(rows):
                row_number[row_state[r]] = -1
                usable[r] = hull(right, right_slots[0], right_slots[1], row_state[r], end_low[r], end_wide[r])
            for i in range(members):
                if not useful[i]:
                    continue
                forward[i, :] = least
                now[:] = wide
                for k in range(steps):
                    metric, own = moves.metric_at[begin + k], paths.steps[low + i, k]
                    step_forward(moves, metric, own, forward[i], after)
                    forward[i, :] = after
                    if k < differ:
                        summed(moves.behind, moves.phases, now, arrived[i, k])
                        step_forward(moves, metric, own, now, after)
                        now[:] = after
                for r in range(rows):
                    if not usable[r]:
                        continue
                    now[:] = end_low[r]
                    for k in range(steps - 1, -1, -1):
                        step_backward(moves, moves.metric_at[begin + k], paths.steps[low + i, k], now, after, spare)
                        now[:] = after
                    backward[i * rows + r, :] = now
                if usable[row_of[i]]:
                    now[:] = end_wide[row_of[i]]
                    for k in range(steps - 1, -1, -1):
                        if k < differ:
                            suffix[i, k, :] = now
                        if k > 0:
                            step_backward(moves, moves.metric_at[begin + k], paths.steps[low + i, k], now, after, spare)
                            now[:] = after
            for i in range(members):
                r = row_of[i]
                if not (useful[i] and paths.may_own[low + i] and usable[r]):
                    continue
                b = 0.0
                for k in range(width):
                    b += forward[i, k] * end_low[r, k]
                for j in range(members):
                    if not _can_be_pair(paths, low + i, low + j, differ, paths.spare[group]):
                        continue
                    some = True
                    cost = pair_cost(moves, prices, begin, differ, paths.steps, low + i, low + j)
                    floor, largest = limits(prices, cost)
                    if floor >= largest:
                        continue
                    a = 0.0
                    for k in range(width):
                        a += forward[j, k] * end_low[r, k]
                    square = _second_order(moves, begin, differ, paths.steps, low + i, low + j, arrived, j, suffix, i)
                    ratio, before_term, after_term = smallest_passing(
                        a, b, square, 0.0, backward[j * rows + r], backward[i * rows + r], forward[j], forward[i],
                        wide, end_wide[r], width, width, floor, largest, gamma,
                    )  # fmt: skip
                    if ratio <= floor:
                        continue
                    middle_a, middle_b = a, b
                    for k in range(width):
                        middle_a += 0.5 * (wide[k] * backward[j * rows + r, k] + forward[j, k] * end_wide[r, k])
                        middle_b += 0.5 * (wide[k] * backward[i * rows + r, k] + forward[i, k] * end_wide[r, k])
                    if count == len(results):
                        with cython.gil:
                            results = np.concatenate((results, np.empty_like(results)))
                    results[count, 0] = group
                    results[count, 1] = low + i
                    results[count, 2] = low + j
                    results[count, 3] = ratio
                    results[count, 4] = middle_a / middle_b if middle_b > 0.0 else 0.0
                    results[count, 5] = before_term
                    results[count, 6] = after_term
                    count += 1
    return np.asarray(results)[:count].copy(), some


# --- nodes -----------------------------------------------------------------------------------------


def _node_bound(
    moves: EveryState, own: IntTable, other: IntTable, node: cython.longlong, begin: cython.longlong,
    block_begin: cython.longlong, block_end: cython.longlong, room: NewFloatTable, floor: cython.double,
    largest: cython.double, step_rounding: cython.double, results: NewFloatTable,
) -> None:  # fmt: skip
    """(R, nominal ratio, left and right first-order terms) of one node, a row of `results`.

    `own` and `other` have the symbols of w and v from step `begin` on; they differ within block_begin … block_end
    (counted from the first of them) only. `room` has l, ω, l', ω' and ten more vectors.
    """
    width, count = moves.width, own.shape[1]
    left_low, left_width, right_low, right_width = room[0], room[1], room[2], room[3]
    spare, after = room[4], room[5]
    # forwards: l along w and v, ω along v and along the smaller of the two
    along_w, along_v, wide_v, wide_min = room[6], room[7], room[8], room[9]
    along_w[:], along_v[:], wide_v[:], wide_min[:] = left_low, left_low, left_width, left_width
    for k in range(count):
        metric = moves.metric_at[begin + k]
        step_forward(moves, metric, own[node, k], along_w, after)
        along_w, after = after, along_w
        if k < block_begin:
            along_v[:] = along_w
        else:
            step_forward(moves, metric, other[node, k], along_v, after)
            along_v, after = after, along_v
        step_forward(moves, metric, other[node, k], wide_v, after)
        wide_v, after = after, wide_v
        if k < block_begin:
            wide_min[:] = wide_v
        else:
            if k < block_end:
                smaller_step(moves, metric, own[node, k], other[node, k], wide_min, after)
            else:
                step_forward(moves, metric, own[node, k], wide_min, after)
            wide_min, after = after, wide_min
    # backwards: l' along w and v
    after_w, after_v = room[10], room[11]
    after_w[:], after_v[:] = right_low, right_low
    for k in range(count - 1, -1, -1):
        metric = moves.metric_at[begin + k]
        step_backward(moves, metric, own[node, k], after_w, after, spare)
        after_w, after = after, after_w
        if k >= block_end:
            after_v[:] = after_w
        else:
            step_backward(moves, metric, other[node, k], after_v, after, spare)
            after_v, after = after, after_v
    a: cython.double = 0.0
    b: cython.double = 0.0
    a_width: cython.double = 0.0
    b_width: cython.double = 0.0
    middle_a: cython.double = 0.0
    middle_b: cython.double = 0.0
    for k in range(width):
        a += along_v[k] * right_low[k]
        b += along_w[k] * right_low[k]
        a_width += wide_v[k] * right_width[k]
        b_width += wide_min[k] * right_width[k]
        middle_a += (along_v[k] + 0.5 * wide_v[k]) * right_width[k] + left_width[k] * after_v[k]
        middle_b += (along_w[k] + 0.5 * wide_min[k]) * right_width[k] + left_width[k] * after_w[k]
    gamma = (count + 1) * step_rounding + (width + 16) * 2.0**-53
    ratio, left, right = smallest_passing(
        a, b, a_width, b_width, after_v, after_w, along_v, along_w, left_width, right_width, width, width, floor,
        largest, gamma,
    )  # fmt: skip
    results[node, 0] = ratio
    results[node, 1] = (a + 0.5 * middle_a) / (b + 0.5 * middle_b) if b > 0.0 else 0.0
    results[node, 2] = left
    results[node, 3] = right


def children_bounds(
    moves: EveryState, left: Slots, right: Slots, own: IntTable, other: IntTable, begin: Ints,
    block_begin: cython.longlong, block_end: cython.longlong, left_rows: Ints, right_rows: Ints, left_slots: IntTable,
    right_slots: IntTable, floor: cython.double, largest: cython.double, step_rounding: cython.double,
) -> NDArray[np.float64]:  # fmt: skip
    """Bounds of several nodes at once, a row each: (R, nominal ratio, left and right first-order terms).

    A row without a box at one of its anchors has no words: R = 0.
    """
    count = len(own)
    results: NewFloatTable = np.zeros((count, 4))
    room: NewFloatTable = np.empty((12, moves.width))
    with cython.nogil:
        for k in range(count):
            if hull(left, left_slots[k, 0], left_slots[k, 1], left_rows[k], room[0], room[1]) and hull(
                right, right_slots[k, 0], right_slots[k, 1], right_rows[k], room[2], room[3]
            ):
                _node_bound(
                    moves, own, other, k, begin[k], block_begin, block_end, room, floor, largest, step_rounding, results
                )
    return np.asarray(results)
