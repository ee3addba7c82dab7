"""The most and the least that each path of a block can weigh, from its two halves: the compiled part of `halves`."""

from __future__ import annotations

import cython
import numpy as np

from symveil.numbers.compiled import built_from

if not cython.compiled:
    from numpy.typing import NDArray

    from symveil.calibration.costs.block_loops import Paths, Prices, comparable, limits, pair_cost
    from symveil.calibration.costs.box_loops import Slots, hull
    from symveil.calibration.costs.step_loops import EveryState, step_backward, step_forward
    from symveil.numbers.compiled import (
        INFINITY,
        FloatTable,
        Ints,
        IntTable,
        NewBools,
        NewFloats,
        NewFloatTable,
        NewSingleTable,
        SingleTable,
    )

built_from("", __name__)


def second_halves(
    moves: EveryState,
    right: Slots,
    begin_slot: cython.longlong,
    end_slot: cython.longlong,
    paths: IntTable,
    end_state: Ints,
    begin: cython.longlong,
    half: cython.longlong,
    least: NewSingleTable,
    most: NewSingleTable,
) -> None:
    """least, most = what can follow each state before the second half of a path, a row for each path; in place.

    Rounded to 32 bits, downwards and upwards. Rows whose end has no box stay 0: no word goes there.
    """
    width = moves.width
    now: NewFloats = np.empty(width)
    wide: NewFloats = np.empty(width)
    before: NewFloats = np.empty(width)
    spare: NewFloats = np.empty(width)
    with cython.nogil:
        for i in range(len(paths)):
            if not hull(right, begin_slot, end_slot, end_state[i], now, wide):
                continue
            for k in range(width):
                wide[k] += now[k]
            for k in range(paths.shape[1] - 1, half - 1, -1):
                metric, own = moves.metric_at[begin + k], paths[i, k]
                step_backward(moves, metric, own, now, before, spare)
                now, before = before, now
                step_backward(moves, metric, own, wide, before, spare)
                wide, before = before, wide
            for k in range(width):
                low, high = now[k] * (1.0 - 2.0**-22), wide[k] * (1.0 + 2.0**-22)
                least[i, k] = min(low, 2.0**120) if low > 2.0**-100 else 0.0
                if high > 0.0:
                    most[i, k] = max(high, 2.0**-100) if high < 2.0**120 else INFINITY


def path_weights(
    moves: EveryState,
    left: Slots,
    begin_slot: cython.longlong,
    end_slot: cython.longlong,
    row: Ints,
    paths: IntTable,
    begin: cython.longlong,
    half: cython.longlong,
    prefix_first: Ints,
    order: Ints,
    suffix: Ints,
    least: SingleTable,
    most: SingleTable,
    step_rounding: cython.double,
) -> NDArray[np.float64]:
    """(least, most) of some paths, order[prefix_first[g]] … having the same first half; in the order of `order`.

    Both are 0 where no word takes the path.
    """
    width = moves.width
    now: NewFloats = np.empty(width)
    wide: NewFloats = np.empty(width)
    after: NewFloats = np.empty(width)
    groups = len(prefix_first) - 1
    offset = prefix_first[0]
    results: NewFloatTable = np.zeros((prefix_first[groups] - offset, 2))
    low: cython.double
    high: cython.double
    with cython.nogil:
        gamma = (paths.shape[1] + 2) * step_rounding + (width + 64) * 2.0**-53
        for g in range(groups):
            if prefix_first[g] == prefix_first[g + 1]:
                continue
            i = order[prefix_first[g]]
            if not hull(left, begin_slot, end_slot, row[i], now, wide):
                continue
            for k in range(width):
                wide[k] += now[k]
            for k in range(half):
                metric, own = moves.metric_at[begin + k], paths[i, k]
                step_forward(moves, metric, own, now, after)
                now, after = after, now
                step_forward(moves, metric, own, wide, after)
                wide, after = after, wide
            for index in range(prefix_first[g], prefix_first[g + 1]):
                number = suffix[order[index]]
                low, high = 0.0, 0.0
                for k in range(width):
                    low += now[k] * least[number, k]
                    high += wide[k] * most[number, k]
                if high == 0.0:  # no word comes here
                    continue
                # what products lost to underflow is less than is added here; not a number (0 times infinity)
                # proves nothing
                results[index - offset, 0] = low * (1.0 - 4.0 * gamma)
                results[index - offset, 1] = high * (1.0 + 4.0 * gamma) + 2.0**-450
    return np.asarray(results)


def not_yet_proved(
    moves: EveryState,
    prices: Prices,
    paths: Paths,
    begin: cython.longlong,
    differ: cython.longlong,
    weights: FloatTable,
    end_high: FloatTable,
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """(open, worst): the paths that belong to a pair whose bound is above the target; the pair with the largest bound.

    `worst` is (path of w, path of v, bound on Z(v)/Z(w)), −1 for both where there is no pair.
    `end_high[i, j]`: at most so much is β at the end of path j where it is 1 at that of path i (in their group).
    """
    every = np.zeros(len(paths.steps), dtype=np.bool_)
    open_paths: NewBools = every
    worst: NewFloats = np.array([-1.0, -1.0, 0.0])
    more: cython.double
    bound: cython.double
    with cython.nogil:
        for group in range(len(paths.first) - 1):
            for i in range(paths.first[group], paths.first[group + 1]):
                for j in range(paths.first[group], paths.first[group + 1]):
                    if weights[i, 1] == 0.0 or weights[j, 1] == 0.0 or i == j or not comparable(paths, i, j, differ):
                        continue
                    more = 1.0
                    if paths.end[i] != paths.end[j]:
                        more = end_high[paths.end[i], paths.end[j]]
                    least = weights[i, 0]
                    bound = weights[j, 1] * more * (1.0 + 2.0**-48) / least if least > 2.0**-400 else INFINITY
                    if worst[0] < 0.0 or bound > worst[2]:
                        worst[0], worst[1], worst[2] = i, j, bound
                    if open_paths[i] and open_paths[j]:
                        continue
                    cost = pair_cost(moves, prices, begin, differ, paths.steps, i, j)
                    floor, largest = limits(prices, cost)
                    if floor >= largest:
                        continue
                    if not bound <= floor * (1.0 - 2.0**-50):
                        open_paths[i] = True
                        open_paths[j] = True
    return every, np.asarray(worst)
