"""Many contexts of one block at once: every way to go on for a few symbols before it and after it.

See docs/theory/certificates.md, *Mean-value bound*. The box at an anchor a few symbols away, moved to the block along
known symbols, is a box again: l and ω are moved by the same non-negative matrix. With such boxes for all left contexts
i and all right contexts j of a block, f(R) of all pairs (i, j) at one R is three products of matrices and a few touched
states. Pairs with f ≤ 0 are proved; the others get a bound of their own and go on to the search one by one. Rounding
is that of `block_loops`: f + 4γ·F ≤ 0, with F replaced by the largest that any pair can have.
"""

from __future__ import annotations

import cython
import numpy as np

from symveil.numbers.compiled import built_from

if not cython.compiled:
    from numpy.typing import NDArray

    from symveil.calibration.costs.block_loops import let_through, smallest_passing
    from symveil.calibration.costs.box_loops import Slots, hull
    from symveil.calibration.costs.step_loops import Arcs, EveryState, step_backward, step_forward
    from symveil.numbers.compiled import (
        BoolTable,
        FloatTable,
        Ints,
        IntTable,
        NewBools,
        NewFloatBox,
        NewFloats,
        NewFloatTable,
    )

built_from("", __name__)


def context_boxes(
    moves: EveryState,
    forwards: cython.bint,
    slots: Slots,
    begin_slot: cython.longlong,
    end_slot: cython.longlong,
    row_state: Ints,
    longest: cython.longlong,
    step: cython.longlong,
    state: cython.longlong,
    paths: IntTable,
) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]:
    """(there, l, ω) at `state`, which words are in at `step`, for each way there or onwards; a column each.

    A path lists rows that know more and more; the last one is the anchor, and rows beyond the longest window have moved
    away from `state`. there: whether it has a box.
    """
    width, known = moves.width, paths.shape[1]
    count, away = len(paths), max(0, known - longest)
    every = np.zeros(count, dtype=np.bool_)
    there: NewBools = every
    least: NewFloatTable = np.zeros((width, count))
    wide: NewFloatTable = np.zeros((width, count))
    now: NewFloats = np.empty(width)
    extra: NewFloats = np.empty(width)
    after: NewFloats = np.empty(width)
    spare: NewFloats = np.empty(width)
    own: cython.longlong
    metric: cython.longlong
    anchor: cython.longlong
    with cython.nogil:
        for i in range(count):
            anchor = state
            if known > 0:
                anchor = paths[i, known - 1]
            there[i] = hull(slots, begin_slot, end_slot, anchor, now, extra)
            if not there[i]:
                continue
            for k in range(away, 0, -1):  # forwards into the states of paths[k − 2], and of k = 1 into `state`
                own = state
                if not forwards:
                    own, metric = row_state[paths[i, longest + k - 1]], moves.metric_at[step + k]
                elif k > 1:
                    own, metric = row_state[paths[i, longest + k - 2]], moves.metric_at[step - k + 1]
                else:
                    metric = moves.metric_at[step]
                own = moves.symbol[own]
                if forwards:
                    step_forward(moves, metric, own, now, after)
                    now, after = after, now
                    step_forward(moves, metric, own, extra, after)
                else:
                    step_backward(moves, metric, own, now, after, spare)
                    now, after = after, now
                    step_backward(moves, metric, own, extra, after, spare)
                extra, after = after, extra
            for k in range(width):
                least[k, i] = now[k]
                wide[k, i] = extra[k]
    return every, np.asarray(least), np.asarray(wide)


def _many_forward(
    moves: EveryState, metric: cython.longlong, own: cython.longlong, now: NewFloatTable, after: NewFloatTable
) -> None:
    """`step_forward` of many vectors, a column each."""
    phases, count = moves.phases, now.shape[1]
    to: cython.longlong
    for y in range(moves.size):
        level = moves.levels[metric, own, moves.symbol[y]]
        for phase in range(phases):
            to = y * phases + phase
            if level >= 0:
                to = y * phases + moves.following[level, phase]
            for c in range(count):
                after[to, c] = 0.0
            if level < 0:
                continue
            for e in range(moves.behind.first[y], moves.behind.first[y + 1]):
                scale = moves.behind.weight[e] * moves.kappa[level, phase]
                row = moves.behind.other[e] * phases + phase
                for c in range(count):
                    after[to, c] += scale * now[row, c]


def _many_arrived(arcs: Arcs, phases: cython.longlong, now: NewFloatTable, after: NewFloatTable) -> None:
    """`summed` of many vectors, a column each."""
    count = now.shape[1]
    for y in range(len(arcs.first) - 1):
        for phase in range(phases):
            to = y * phases + phase
            for c in range(count):
                after[to, c] = 0.0
            for e in range(arcs.first[y], arcs.first[y + 1]):
                row, weight = arcs.other[e] * phases + phase, arcs.weight[e]
                for c in range(count):
                    after[to, c] += weight * now[row, c]


def _many_backward(
    moves: EveryState, metric: cython.longlong, own: cython.longlong, now: NewFloatTable, before: NewFloatTable
) -> None:
    """`step_backward` of many vectors, a column each."""
    phases, count = moves.phases, now.shape[1]
    for x in range(moves.size):
        for phase in range(phases):
            row = x * phases + phase
            for c in range(count):
                before[row, c] = 0.0
            for e in range(moves.ahead.first[x], moves.ahead.first[x + 1]):
                y = moves.ahead.other[e]
                level = moves.levels[metric, own, moves.symbol[y]]
                if level < 0:
                    continue
                scale = moves.ahead.weight[e] * moves.kappa[level, phase]
                reached = y * phases + moves.following[level, phase]
                for c in range(count):
                    before[row, c] += scale * now[reached, c]


def _add_second_order(
    moves: EveryState,
    metric: cython.longlong,
    own: cython.longlong,
    other: cython.longlong,
    arrived: NewFloatTable,
    suffix: NewFloatTable,
    result: NewFloatTable,
) -> None:
    """result[i, j] += what v's symbol lets through at this step that w's does not."""
    phases = moves.phases
    more: cython.double
    for y in range(moves.size):
        two = moves.levels[metric, other, moves.symbol[y]]
        one = moves.levels[metric, own, moves.symbol[y]]
        if two < 0 or one == two:
            continue
        for phase in range(phases):
            more = let_through(moves, one, two, phase)
            if more > 0.0:
                row, reached = y * phases + phase, y * phases + moves.following[two, phase]
                for i in range(result.shape[0]):
                    scale = more * arrived[row, i]
                    if scale > 0.0:
                        for j in range(result.shape[1]):
                            result[i, j] += scale * suffix[reached, j]


def _add_product(left: FloatTable, right: FloatTable, product: NewFloats, result: NewFloatTable) -> None:
    """result[i, j] += Σ_k left[k, i]·right[k, j]; `product` has room for a row."""
    for i in range(left.shape[1]):
        product[:] = 0.0
        for k in range(left.shape[0]):
            scale = left[k, i]
            for j in range(right.shape[1]):
                product[j] += scale * right[k, j]
        for j in range(right.shape[1]):
            result[i, j] += product[j]


def _column(table: FloatTable, number: cython.longlong, room: NewFloatTable, row: cython.longlong) -> None:
    """A row of `room` = a column of a table."""
    for k in range(len(table)):
        room[row, k] = table[k, number]


def context_bounds(
    moves: EveryState,
    own: Ints,
    other: Ints,
    begin: cython.longlong,
    differ: cython.longlong,
    least: FloatTable,
    wide: FloatTable,
    end_least: FloatTable,
    end_wide: FloatTable,
    open_pairs: BoolTable,
    floor: cython.double,
    largest: cython.double,
    step_rounding: cython.double,
) -> NDArray[np.float64]:
    """R of all pairs of contexts of one block that are above the floor: rows of (i, j, R, nominal, left, right).

    `least`, `wide` have a column for each left context, `end_least`, `end_wide` for each right one. Only pairs that are
    `open_pairs` are looked at.
    """
    width, lefts, rights, steps = moves.width, least.shape[1], end_least.shape[1], len(own)
    forward_w: NewFloatTable = np.array(least)
    forward_v: NewFloatTable = np.array(least)
    next_left: NewFloatTable = np.empty((width, lefts))
    moved: NewFloatTable = np.array(wide)
    arrived: NewFloatBox = np.empty((differ, width, lefts))
    backward_w: NewFloatTable = np.array(end_least)
    backward_v: NewFloatTable = np.array(end_least)
    next_right: NewFloatTable = np.empty((width, rights))
    moved_back: NewFloatTable = np.array(end_wide)
    values: NewFloatTable = np.zeros((lefts, rights))
    square: NewFloatTable = np.empty((lefts, rights))
    gain_left: NewFloatTable = np.empty((width, rights))
    gain_right: NewFloatTable = np.empty((width, lefts))
    product: NewFloats = np.empty(rights)
    columns: NewFloatTable = np.empty((6, width))
    results: NewFloatTable = np.empty((16, 6))
    count: cython.longlong = 0
    largest_left: cython.double = 0.0
    largest_right: cython.double = 0.0
    plain: cython.double = 0.0
    most: cython.double
    most_end: cython.double
    worth: cython.double
    worth_end: cython.double
    a: cython.double
    b: cython.double
    middle_a: cython.double
    middle_b: cython.double
    with cython.nogil:
        gamma = (steps + 12) * step_rounding + (width * (steps + 2) + 64) * 2.0**-53
        for k in range(steps):
            metric = moves.metric_at[begin + k]
            _many_forward(moves, metric, own[k], forward_w, next_left)
            forward_w, next_left = next_left, forward_w
            _many_forward(moves, metric, other[k], forward_v, next_left)
            forward_v, next_left = next_left, forward_v
            if k < differ:
                _many_arrived(moves.behind, moves.phases, moved, arrived[k])
                if k + 1 < differ:
                    _many_forward(moves, metric, other[k], moved, next_left)
                    moved, next_left = next_left, moved
        for k in range(steps - 1, -1, -1):
            metric = moves.metric_at[begin + k]
            if k < differ:
                _add_second_order(moves, metric, own[k], other[k], arrived[k], moved_back, values)
            _many_backward(moves, metric, own[k], backward_w, next_right)
            backward_w, next_right = next_right, backward_w
            _many_backward(moves, metric, other[k], backward_v, next_right)
            backward_v, next_right = next_right, backward_v
            if k > 0:
                _many_backward(moves, metric, own[k], moved_back, next_right)
                moved_back, next_right = next_right, moved_back
        square[:, :] = values
        for i in range(lefts):
            for j in range(rights):
                plain = max(plain, square[i, j])
        for k in range(width):
            for j in range(rights):
                gain_left[k, j] = backward_v[k, j] - floor * backward_w[k, j]
            for i in range(lefts):
                gain_right[k, i] = forward_v[k, i] - floor * forward_w[k, i]
        _add_product(least, gain_left, product, values)
        for k in range(width):
            most, most_end, worth, worth_end = 0.0, 0.0, 0.0, 0.0
            for i in range(lefts):
                most = max(most, least[k, i] + wide[k, i])
                worth_end = max(worth_end, forward_v[k, i] + floor * forward_w[k, i])
                gain_right[k, i] = max(gain_right[k, i], 0.0)
            for j in range(rights):
                worth = max(worth, backward_v[k, j] + floor * backward_w[k, j])
                most_end = max(most_end, end_wide[k, j])
                gain_left[k, j] = max(gain_left[k, j], 0.0)
            plain += most * worth + worth_end * most_end
            largest_left = max(largest_left, most)
            largest_right = max(largest_right, most_end)
        _add_product(wide, gain_left, product, values)
        _add_product(gain_right, end_wide, product, values)
        sure: cython.bint = 2.0**-400 < plain < 2.0**200 and largest_left < 2.0**200 and largest_right < 2.0**200
        for i in range(lefts):
            for j in range(rights):
                if not open_pairs[i, j]:
                    continue
                if sure and values[i, j] + 4.0 * gamma * plain <= 0.0:
                    continue
                a, b, middle_a, middle_b = 0.0, 0.0, 0.0, 0.0
                for k in range(width):
                    a += forward_v[k, i] * end_least[k, j]
                    b += forward_w[k, i] * end_least[k, j]
                    middle_a += wide[k, i] * backward_v[k, j] + forward_v[k, i] * end_wide[k, j]
                    middle_b += wide[k, i] * backward_w[k, j] + forward_w[k, i] * end_wide[k, j]
                _column(backward_v, j, columns, 0)
                _column(backward_w, j, columns, 1)
                _column(forward_v, i, columns, 2)
                _column(forward_w, i, columns, 3)
                _column(wide, i, columns, 4)
                _column(end_wide, j, columns, 5)
                ratio, left, right = smallest_passing(
                    a, b, square[i, j], 0.0, columns[0], columns[1], columns[2], columns[3], columns[4], columns[5],
                    width, width, floor, largest, gamma,
                )  # fmt: skip
                if ratio <= floor:
                    continue
                if count == len(results):
                    with cython.gil:
                        results = np.concatenate((results, np.empty_like(results)))
                results[count, 0] = i
                results[count, 1] = j
                results[count, 2] = ratio
                results[count, 3] = (a + 0.5 * middle_a) / (b + 0.5 * middle_b) if b > 0.0 else 0.0
                results[count, 4] = left
                results[count, 5] = right
                count += 1
    return np.asarray(results)[:count].copy()
