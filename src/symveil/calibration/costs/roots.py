"""The first nodes of the search: all pairs of paths between the same ends, with nothing known around them.

See docs/theory/certificates.md. A group holds paths from one left anchor; each has the symbols of its steps and the
state it ends in. Vectors along each path are shared by all pairs that use it, so that a pair costs little more than
its length: the mean-value bound with X = Σ_k (prefix of v)·(G_v − G_w)⁺·(suffix of w), which is at least U − V_min.
Rounding is that of `nodes`.
"""

from __future__ import annotations

import numpy as np

from symveil.calibration.costs.nodes import box_row, smallest_passing
from symveil.calibration.costs.steps import step_backward, step_forward, summed
from symveil.languages.compiling import compiled

COMPILED_FROM = "9e7cec6e7e284f25"

COLUMNS = 7
"""group, w's path, v's path, R, the nominal ratio, the first-order terms of the left and the right."""


@compiled
def _second_order(symbol, levels, kappa, following, metric_at, begin, differ, own, other, arrived, suffix):
    """ω X ω' of a pair: what v's symbols let through that w's do not, step by step."""
    phases = kappa.shape[1]
    total = 0.0
    for k in range(differ):
        metric = metric_at[begin + k]
        for y in range(len(symbol)):
            two = levels[metric, other[k], symbol[y]]
            if two < 0:
                continue
            one = levels[metric, own[k], symbol[y]]
            if one == two:
                continue
            for phase in range(phases):
                to = following[two, phase]
                more = kappa[two, phase]
                if one >= 0 and following[one, phase] == to:
                    more -= kappa[one, phase]
                if more > 0.0:
                    # the difference of two rounded weights: rounded up by more than its error
                    more += 4.0 * 2.0**-53 * kappa[two, phase]
                    total += arrived[k, y * phases + phase] * more * suffix[k, y * phases + to]
    return total


@compiled
def comparable(own, other, differ, own_end, other_end, apart, spare):
    """Whether two paths have different symbols in the first `differ` steps, the same ones afterwards, and can go on."""
    if len(apart) > 1 and apart[own_end, other_end] > spare:
        return False
    for k in range(len(own)):
        if (own[k] != other[k]) != (k < differ):
            return False
    return True


@compiled
def pair_cost(levels, value, metric_at, begin, differ, own, other):
    """D(p, q): what the two blocks cost each other; infinite where they may not stand for each other."""
    total = 0.0
    for k in range(differ):
        level = levels[metric_at[begin + k], own[k], other[k]]
        if level < 0:
            return np.inf
        total += value[level]
    return total


@compiled
def limits(rate, period, cost, target):
    """(floor, largest) of R: up to `floor` a pair keeps within the target, beyond `largest` no pair can be."""
    if period == 1:
        return max(1.0, np.exp(target - rate * cost) * (1.0 - 2.0**-40)), np.exp(rate * cost) * (1.0 + 2.0**-40)
    return max(1.0, np.exp(target) * (1.0 - 2.0**-40)), np.exp(rate * np.ceil(cost / period)) * (1.0 + 2.0**-40)


@compiled
def root_bounds(
    back, earlier, behind, first, other, ahead, symbol, levels, kappa, following, metric_at,
    left_low, left_high, left_valid, right_low, right_high, right_valid, left_slots, right_slots,
    group_first, group_row, group_spare, paths, end_state, may_own, may_other, apart,
    begin, differ, value, rate, period, target, step_rounding,
):  # fmt: skip
    """All pairs of all groups whose bound is above the target, and whether there was any pair at all.

    `begin` is the step of the first symbol; left_slots and right_slots are the ranges of slots that the anchors' boxes
    are taken from.
    """
    size, phases = len(symbol), kappa.shape[1]
    width, steps = size * phases, paths.shape[1]
    gamma = (steps + 1) * step_rounding + (width * (steps + 1) + 16) * 2.0**-53
    results, count, some = np.empty((64, COLUMNS)), 0, False
    spare, now, after = np.empty(width), np.empty(width), np.empty(width)
    least, wide = np.empty(width), np.empty(width)
    row_number = np.full(size, -1)
    for group in range(len(group_row)):
        low, high = group_first[group], group_first[group + 1]
        members = high - low
        useful = np.zeros(members, dtype=np.bool_)
        for i in range(members):
            for j in range(members):
                if may_own[low + i] and may_other[low + j] and comparable(
                    paths[low + i], paths[low + j], differ, end_state[low + i], end_state[low + j], apart,
                    group_spare[group],
                ):  # fmt: skip
                    useful[i] = True
                    useful[j] = True
        if not useful.any():
            continue
        if not box_row(left_low, left_high, left_valid, left_slots[0], left_slots[1], group_row[group], least, wide):
            continue
        rows, row_of = 0, np.zeros(members, dtype=np.int64)
        row_state = np.empty(members, dtype=np.int64)
        for i in range(members):
            if useful[i]:
                state = end_state[low + i]
                if row_number[state] < 0:
                    row_number[state] = rows
                    row_state[rows] = state
                    rows += 1
                row_of[i] = row_number[state]
        for r in range(rows):
            row_number[row_state[r]] = -1
        end_low, end_wide = np.empty((rows, width)), np.empty((rows, width))
        usable = np.zeros(rows, dtype=np.bool_)
        for r in range(rows):
            usable[r] = box_row(
                right_low,
                right_high,
                right_valid,
                right_slots[0],
                right_slots[1],
                row_state[r],
                end_low[r],
                end_wide[r],
            )
        forward = np.zeros((members, width))
        arrived = np.zeros((members, differ, width))
        backward = np.zeros((members, rows, width))
        suffix = np.zeros((members, differ, width))
        for i in range(members):
            if not useful[i]:
                continue
            path = paths[low + i]
            forward[i] = least
            now[:] = wide
            for k in range(steps):
                metric = metric_at[begin + k]
                step_forward(
                    back, earlier, behind, symbol, levels, kappa, following, metric, path[k], forward[i], after
                )
                forward[i] = after
                if k < differ:
                    summed(back, earlier, behind, phases, now, arrived[i, k])
                    step_forward(back, earlier, behind, symbol, levels, kappa, following, metric, path[k], now, after)
                    now[:] = after
            for r in range(rows):
                if not usable[r]:
                    continue
                now[:] = end_low[r]
                for k in range(steps - 1, -1, -1):
                    step_backward(
                        first, other, ahead, symbol, levels, kappa, following, metric_at[begin + k], path[k],
                        now, after, spare,
                    )  # fmt: skip
                    now[:] = after
                backward[i, r] = now
            if usable[row_of[i]]:
                now[:] = end_wide[row_of[i]]
                for k in range(steps - 1, -1, -1):
                    if k < differ:
                        suffix[i, k] = now
                    if k > 0:
                        step_backward(
                            first, other, ahead, symbol, levels, kappa, following, metric_at[begin + k], path[k],
                            now, after, spare,
                        )  # fmt: skip
                        now[:] = after
        for i in range(members):
            r = row_of[i]
            if not (useful[i] and may_own[low + i] and usable[r]):
                continue
            b = 0.0
            for k in range(width):
                b += forward[i, k] * end_low[r, k]
            for j in range(members):
                if not (
                    may_other[low + j] and comparable(
                        paths[low + i], paths[low + j], differ, end_state[low + i], end_state[low + j], apart,
                        group_spare[group],
                    )
                ):  # fmt: skip
                    continue
                some = True
                cost = pair_cost(levels, value, metric_at, begin, differ, paths[low + i], paths[low + j])
                floor, largest = limits(rate, period, cost, target)
                if floor >= largest:
                    continue
                a = 0.0
                for k in range(width):
                    a += forward[j, k] * end_low[r, k]
                square = _second_order(
                    symbol, levels, kappa, following, metric_at, begin, differ, paths[low + i], paths[low + j],
                    arrived[j], suffix[i],
                )  # fmt: skip
                ratio, left, right = smallest_passing(
                    a, b, square, 0.0, backward[j, r], backward[i, r], forward[j], forward[i], wide, end_wide[r],
                    floor, largest, gamma,
                )  # fmt: skip
                if ratio <= floor:
                    continue
                middle_a, middle_b = a, b
                for k in range(width):
                    middle_a += 0.5 * (wide[k] * backward[j, r, k] + forward[j, k] * end_wide[r, k])
                    middle_b += 0.5 * (wide[k] * backward[i, r, k] + forward[i, k] * end_wide[r, k])
                if count == len(results):
                    results = np.concatenate((results, np.empty_like(results)))
                results[count, 0] = group
                results[count, 1] = low + i
                results[count, 2] = low + j
                results[count, 3] = ratio
                results[count, 4] = middle_a / middle_b if middle_b > 0.0 else 0.0
                results[count, 5] = left
                results[count, 6] = right
                count += 1
    return results[:count].copy(), some
