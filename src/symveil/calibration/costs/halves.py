"""The most and the least that each path of a block can weigh: pairs of paths that need no closer look.

See docs/theory/certificates.md, *Halves*. With lo ≤ α ≤ hi and lo' ≤ β ≤ hi' at the two ends of a block, a path p
weighs
at least lo·P_p·lo' and at most hi·P_p·hi', whatever surrounds it; Z(v)/Z(w) is at most v's most over w's least. That is
two numbers for each path instead of a vector for each pair. Paths share their halves: a vector is moved along the first
half of a path from its left end, another along the second half from its right end, and a path is a product of the two.
"""

from __future__ import annotations

import numpy as np

from symveil.calibration.costs.blocks import Groups
from symveil.calibration.costs.boxes import Boxes
from symveil.calibration.costs.graph import CostGraph, Floats, Integers
from symveil.calibration.costs.nodes import box_row
from symveil.calibration.costs.outcome import at_once, slices
from symveil.calibration.costs.roots import comparable, limits, pair_cost
from symveil.calibration.costs.steps import step_backward, step_forward
from symveil.languages.compiling import compiled

COMPILED_FROM = "61fc845f9855ba98"

_MOST_BYTES = 400 << 20  # for the second halves of paths
_WORTH_A_THREAD = 64  # halves of paths


def numbered(columns: list[Integers]) -> tuple[Integers, Integers]:
    """(number, member): the same number for the same row of columns, and for each number one row that has it.

    >>> number, member = numbered([np.array([1, 1, 0]), np.array([5, 5, 5])])
    >>> number.tolist(), len(member)
    ([1, 1, 0], 2)
    """
    number = np.zeros(len(columns[0]), dtype=np.int64)
    member = np.zeros(0, dtype=np.int64)
    for column in columns:
        span = int(column.max(initial=0)) + 1
        _, member, number = np.unique(number * span + column, return_index=True, return_inverse=True)
    return number.astype(np.int64), member.astype(np.int64)


def weights_of_paths(
    graph: CostGraph, left: Boxes, right: Boxes, groups: Groups, begin: int, slots: tuple[tuple[int, int], ...]
) -> Floats | None:
    """The least and the most of every path, a row each; None where their halves would take too much memory.

    `begin` is the step of the first symbol, `slots` where the boxes at both ends are taken from.
    """
    kappa, following, _ = graph.automaton
    automaton = (graph.symbol, graph.levels, kappa, following, graph.metric_at)
    paths, half, rows = groups.paths, groups.paths.shape[1] // 2, groups.row_of
    suffix, member = numbered([*paths.T[half:], groups.end])
    prefix, _ = numbered([rows, *paths.T[:half]])
    if 8 * len(member) * left.low.shape[2] > _MOST_BYTES:
        return None
    order = np.argsort(prefix, kind="stable")
    prefix_first = np.concatenate([[0], np.cumsum(np.bincount(prefix))]).astype(np.int64)
    least = np.zeros((len(member), left.low.shape[2]), dtype=np.float32)
    most = np.zeros_like(least)

    def followed(part: slice) -> None:
        second_halves(
            graph.first, graph.other, graph.weight, *automaton, right.low, right.high, right.valid, *slots[1],
            paths[member[part]], groups.end[member[part]], begin, half, least[part], most[part],
        )  # fmt: skip

    def weighed(part: slice) -> Floats:
        return path_weights(  # type: ignore[no-any-return]
            graph.back, graph.earlier, graph.earlier_weight, *automaton, left.low, left.high, left.valid, *slots[0],
            rows, paths, begin, half, prefix_first[part.start : part.stop + 1], order, suffix, least, most,
            graph.rounding,
        )  # fmt: skip

    at_once(followed, slices(len(member), fewest=_WORTH_A_THREAD))
    weights = np.empty((len(paths), 2))
    weights[order] = np.concatenate(at_once(weighed, slices(len(prefix_first) - 1, fewest=_WORTH_A_THREAD)))
    return weights


@compiled
def second_halves(
    first, other, ahead, symbol, levels, kappa, following, metric_at,
    right_low, right_high, right_valid, begin_slot, end_slot, paths, end_state, begin, half, least, most,
):  # fmt: skip
    """least, most = what can follow each state before the second half of a path, a row for each path; in place.

    Rounded to 32 bits, downwards and upwards. Rows whose end has no box stay 0: no word goes there.
    """
    width = right_low.shape[2]
    now, wide, before, spare = np.empty(width), np.empty(width), np.empty(width), np.empty(width)
    for i in range(len(paths)):
        if not box_row(right_low, right_high, right_valid, begin_slot, end_slot, end_state[i], now, wide):
            continue
        for k in range(width):
            wide[k] += now[k]
        for k in range(paths.shape[1] - 1, half - 1, -1):
            metric, own = metric_at[begin + k], paths[i, k]
            step_backward(first, other, ahead, symbol, levels, kappa, following, metric, own, now, before, spare)
            now, before = before, now
            step_backward(first, other, ahead, symbol, levels, kappa, following, metric, own, wide, before, spare)
            wide, before = before, wide
        for k in range(width):
            low, high = now[k] * (1.0 - 2.0**-22), wide[k] * (1.0 + 2.0**-22)
            least[i, k] = min(low, 2.0**120) if low > 2.0**-100 else 0.0
            if high > 0.0:
                most[i, k] = max(high, 2.0**-100) if high < 2.0**120 else np.inf


@compiled
def path_weights(
    back, earlier, behind, symbol, levels, kappa, following, metric_at,
    left_low, left_high, left_valid, begin_slot, end_slot, row, paths, begin, half,
    prefix_first, order, suffix, least, most, step_rounding,
):  # fmt: skip
    """(least, most) of some paths, order[prefix_first[g]] … having the same first half; in the order of `order`.

    Both are 0 where no word takes the path.
    """
    width = left_low.shape[2]
    gamma = (paths.shape[1] + 2) * step_rounding + (width + 64) * 2.0**-53
    now, wide, after = np.empty(width), np.empty(width), np.empty(width)
    offset = prefix_first[0]
    results = np.zeros((prefix_first[len(prefix_first) - 1] - offset, 2))
    for g in range(len(prefix_first) - 1):
        if prefix_first[g] == prefix_first[g + 1]:
            continue
        i = order[prefix_first[g]]
        if not box_row(left_low, left_high, left_valid, begin_slot, end_slot, row[i], now, wide):
            continue
        for k in range(width):
            wide[k] += now[k]
        for k in range(half):
            metric, own = metric_at[begin + k], paths[i, k]
            step_forward(back, earlier, behind, symbol, levels, kappa, following, metric, own, now, after)
            now, after = after, now
            step_forward(back, earlier, behind, symbol, levels, kappa, following, metric, own, wide, after)
            wide, after = after, wide
        for index in range(prefix_first[g], prefix_first[g + 1]):
            number = suffix[order[index]]
            low, high = 0.0, 0.0
            for k in range(width):
                low += now[k] * least[number, k]
                high += wide[k] * most[number, k]
            if high == 0.0:  # no word comes here
                continue
            # what products lost to underflow is less than is added here; not a number: 0 times infinity, proves nothing
            results[index - offset, 0] = low * (1.0 - 4.0 * gamma)
            results[index - offset, 1] = high * (1.0 + 4.0 * gamma) + 2.0**-450
    return results


@compiled
def not_yet_proved(
    levels, value, metric_at, begin, differ, rate, period, target, weights,
    group_first, paths, end_state, end_high,
):  # fmt: skip
    """(open, worst): the paths that belong to a pair whose bound is above the target; the pair with the largest bound.

    `worst` is (path of w, path of v, bound on Z(v)/Z(w)), −1 for both where there is no pair.
    `end_high[i, j]`: at most so much is β at the end of path j where it is 1 at that of path i (in their group).
    """
    open_paths, worst = np.zeros(len(paths), dtype=np.bool_), np.array([-1.0, -1.0, 0.0])
    none = np.zeros((1, 1), dtype=np.int64)
    for group in range(len(group_first) - 1):
        for i in range(group_first[group], group_first[group + 1]):
            for j in range(group_first[group], group_first[group + 1]):
                if weights[i, 1] == 0.0 or weights[j, 1] == 0.0:
                    continue
                if i == j or not comparable(paths[i], paths[j], differ, end_state[i], end_state[j], none, 0):
                    continue
                more = 1.0 if end_state[i] == end_state[j] else end_high[end_state[i], end_state[j]]
                least = weights[i, 0]
                bound = weights[j, 1] * more * (1.0 + 2.0**-48) / least if least > 2.0**-400 else np.inf
                if worst[0] < 0.0 or bound > worst[2]:
                    worst[0], worst[1], worst[2] = i, j, bound
                if open_paths[i] and open_paths[j]:
                    continue
                cost = pair_cost(levels, value, metric_at, begin, differ, paths[i], paths[j])
                floor, largest = limits(rate, period, cost, target)
                if floor >= largest:
                    continue
                if not bound <= floor * (1.0 - 2.0**-50):
                    open_paths[i] = True
                    open_paths[j] = True
    return open_paths, worst
