"""Blocks over balls: the most and the least of paths from their halves, and the bound of a pair with its contexts.

See docs/theory/certificates.md, *Balls*. The bounds are those of `half_loops` and `block_loops`, with one more term:
what the weight outside the balls, or that leaves them on the way, can at most become. It is added to Z(v) and never to
Z(w).
"""

from __future__ import annotations

import cython
import numpy as np

from symveil.numbers.compiled import built_from

if not cython.compiled:
    from numpy.typing import NDArray

    from symveil.calibration.costs.ball_loops import Marks, NearStates, move_backward, move_forward, move_smaller
    from symveil.calibration.costs.block_loops import Paths, Prices, comparable, limits, smallest_passing
    from symveil.calibration.costs.box_loops import Slots, hull, largest_tail
    from symveil.numbers.compiled import (
        INFINITY,
        BoolTable,
        Floats,
        FloatTable,
        Ints,
        IntTable,
        NewFloats,
        NewFloatTable,
        NewInts,
        NewIntTable,
        NewSingles,
    )

built_from("", __name__)


def path_extremes(
    moves: NearStates, left: Slots, right: Slots, left_slots: Ints, right_slots: Ints, begin: cython.longlong,
    half: cython.longlong, prefix_first: Ints, order: Ints, row: Ints, paths: IntTable, suffix_first: Ints,
    suffix_of: Ints, suffix_member: Ints, widest: cython.longlong, step_rounding: cython.double,
) -> NDArray[np.float64]:  # fmt: skip
    """(least, most) of all paths; both are 0 where no word takes the path.

    order[prefix_first[g]] … have the same first half; suffix_of[i] is the second half of path i, which
    suffix_member[…] has too and whose vectors begin at suffix_first[…]: from its last state of the first half on.
    """
    width, steps, suffixes = widest * moves.phases, paths.shape[1], len(suffix_member)
    entries = suffix_first[len(suffix_first) - 1]
    now: NewFloats = np.empty(width)
    wide: NewFloats = np.empty(width)
    after: NewFloats = np.empty(width)
    least: NewSingles = np.zeros(entries, dtype=np.float32)
    most: NewSingles = np.zeros(entries, dtype=np.float32)
    beyond: NewFloats = np.zeros(suffixes)
    weights: NewFloatTable = np.zeros((len(paths), 2))
    marks: Marks = Marks(moves.size)
    outside: cython.double
    lost: cython.double
    top: cython.double
    low: cython.double
    high: cython.double
    s: cython.longlong
    with cython.nogil:
        gamma = (steps + 2) * step_rounding + (width + 64) * 2.0**-53
        for number in range(suffixes):
            path = suffix_member[number]
            end = paths[path, steps - 1]
            if not hull(right, right_slots[0], right_slots[1], end, now, wide):
                continue
            outside = 0.0
            if moves.far[0] != 0.0:
                outside = largest_tail(right, right_slots[0], right_slots[1], end)
            for k in range((moves.ball_first[end + 1] - moves.ball_first[end]) * moves.phases):
                wide[k] += now[k]
            for k in range(steps - 1, half - 1, -1):
                metric, t = moves.metric_at[begin + k], paths[path, k]
                s = paths[path, k - 1]
                move_backward(moves, metric, s, t, now, 0.0, after, marks)
                now, after = after, now
                outside = move_backward(moves, metric, s, t, wide, outside, after, marks)
                wide, after = after, wide
            top = outside
            base = suffix_first[number]
            for k in range(suffix_first[number + 1] - base):
                low, high = now[k] * (1.0 - 2.0**-22), wide[k] * (1.0 + 2.0**-22)
                top = max(top, high)
                least[base + k] = min(low, 2.0**120) if low > 2.0**-100 else 0.0
                if high > 0.0:
                    most[base + k] = max(high, 2.0**-100) if high < 2.0**120 else INFINITY
            beyond[number] = top
        for g in range(len(prefix_first) - 1):
            i = order[prefix_first[g]]
            if not hull(left, left_slots[0], left_slots[1], row[i], now, wide):
                continue
            lost = largest_tail(left, left_slots[0], left_slots[1], row[i])
            for k in range((moves.ball_first[row[i] + 1] - moves.ball_first[row[i]]) * moves.phases):
                wide[k] += now[k]
            s = row[i]
            for k in range(half):
                metric, t = moves.metric_at[begin + k], paths[i, k]
                move_forward(moves, metric, s, t, now, after, marks)
                now, after = after, now
                more = move_forward(moves, metric, s, t, wide, after, marks)
                lost = lost * moves.spread + more
                wide, after = after, wide
                s = t
            for q in range(prefix_first[g], prefix_first[g + 1]):
                number = suffix_of[order[q]]
                low, high = 0.0, 0.0
                base = suffix_first[number]
                for k in range(suffix_first[number + 1] - base):
                    low += now[k] * least[base + k]
                    high += wide[k] * most[base + k]
                if high == 0.0:
                    continue
                if lost > 0.0:
                    high += lost * beyond[number]
                weights[order[q], 0] = low * (1.0 - 4.0 * gamma)
                weights[order[q], 1] = high * (1.0 + 4.0 * gamma) + 2.0**-450
    return np.asarray(weights)


def _cost_over_balls(
    moves: NearStates,
    prices: Prices,
    begin: cython.longlong,
    differ: cython.longlong,
    steps: IntTable,
    i: cython.longlong,
    j: cython.longlong,
    largest_step: cython.double,
) -> float:
    """At most so much do two blocks cost each other: outside a ball adjacent words' symbols cost no more than that."""
    total: cython.double = 0.0
    low: cython.longlong
    high: cython.longlong
    for k in range(differ):
        low, high = moves.ball_first[steps[i, k]], moves.ball_first[steps[i, k] + 1]
        while low < high - 1:
            middle = (low + high) >> 1
            if moves.ball_state[middle] <= steps[j, k]:
                low = middle
            else:
                high = middle
        level: cython.longlong = -1
        if moves.ball_state[low] == steps[j, k]:
            level = moves.ball_level[moves.metric_at[begin + k], low]
        if level >= 0:
            total += prices.value[level]
        else:
            total += largest_step
    return total


def open_pairs(
    moves: NearStates,
    prices: Prices,
    paths: Paths,
    begin: cython.longlong,
    differ: cython.longlong,
    largest_step: cython.double,
    final: Floats,
    weights: FloatTable,
    at_end: cython.bint,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(pairs, worst): rows (i, j, bound on Z(v)/Z(w), cost) above the target, and the one with the largest bound.

    `at_end`: paths end words, possibly in different states.
    """
    pairs: NewFloatTable = np.empty((64, 4))
    worst: NewFloats = np.array([-1.0, -1.0, 0.0, 0.0])
    count: cython.longlong = 0
    last = paths.steps.shape[1] - 1
    more: cython.double
    bound: cython.double
    with cython.nogil:
        for group in range(len(paths.first) - 1):
            for i in range(paths.first[group], paths.first[group + 1]):
                if weights[i, 1] == 0.0:
                    continue
                for j in range(paths.first[group], paths.first[group + 1]):
                    if i == j or weights[j, 1] == 0.0 or not comparable(paths, i, j, differ):
                        continue
                    more = 1.0
                    if at_end:
                        more = final[paths.steps[j, last]] / final[paths.steps[i, last]]
                    least = weights[i, 0]
                    bound = weights[j, 1] * more * (1.0 + 2.0**-48) / least if least > 2.0**-400 else INFINITY
                    if not bound >= 0.0:  # 0 times infinity
                        bound = INFINITY
                    if worst[0] >= 0.0 and bound <= worst[2] and bound <= 1.0:
                        continue
                    cost = _cost_over_balls(moves, prices, begin, differ, paths.steps, i, j, largest_step)
                    if worst[0] < 0.0 or bound > worst[2]:
                        worst[0], worst[1], worst[2], worst[3] = i, j, bound, cost
                    floor, largest = limits(prices, cost)
                    if floor >= largest or bound <= floor * (1.0 - 2.0**-50):
                        continue
                    if count == len(pairs):
                        with cython.gil:
                            pairs = np.concatenate((pairs, np.empty_like(pairs)))
                    pairs[count, 0] = i
                    pairs[count, 1] = j
                    pairs[count, 2] = min(bound, largest)
                    pairs[count, 3] = cost
                    count += 1
    return np.asarray(pairs)[:count].copy(), np.asarray(worst)


def _largest_of(least: NewFloats, width: NewFloats, count: cython.longlong) -> float:
    """The largest upper end."""
    most: cython.double = 0.0
    for k in range(count):
        most = max(most, least[k] + width[k])
    return most * (1.0 + 2.0**-50)


def _ball_node(
    moves: NearStates, left: Slots, right: Slots, left_begin: cython.longlong, left_end: cython.longlong,
    right_begin: cython.longlong, right_end: cython.longlong, final: Floats, at_end: cython.bint,
    begin: cython.longlong, block_begin: cython.longlong, own: NewInts, other: NewInts, count: cython.longlong,
    floor: cython.double, largest: cython.double, step_rounding: cython.double, room: NewFloatTable, marks: Marks,
) -> tuple[float, float, float]:  # fmt: skip
    """(R, left and right first-order terms) of one node; R = 0 where it has no words.

    own[0] = other[0] is the state of the left anchor at step begin − 1, the others are the states of w and v from
    step `begin` on; they agree before block_begin. `room` has 12 rows as wide as the widest ball.
    """
    phases = moves.phases
    left_least, left_wide, right_least, right_wide, right_least_v = room[0], room[1], room[2], room[3], room[4]
    start, end, end_v = own[0], own[count - 1], other[count - 1]
    if not hull(left, left_begin, left_end, start, left_least, left_wide):
        return 0.0, 0.0, 0.0
    if not hull(right, right_begin, right_end, end, right_least, right_wide):
        return 0.0, 0.0, 0.0
    lost: cython.double = largest_tail(left, left_begin, left_end, start)
    outside = largest_tail(right, right_begin, right_end, end)
    width = (moves.ball_first[start + 1] - moves.ball_first[start]) * phases
    width_end = (moves.ball_first[end + 1] - moves.ball_first[end]) * phases
    width_v = (moves.ball_first[end_v + 1] - moves.ball_first[end_v]) * phases
    top = max(outside, _largest_of(right_least, right_wide, width_end))
    if at_end:  # what follows is the end: exact, for v's last state as for w's
        for k in range(moves.ball_first[end_v + 1] - moves.ball_first[end_v]):
            for phase in range(phases):
                right_least_v[k * phases + phase] = final[moves.ball_state[moves.ball_first[end_v] + k]] / final[end]
        for k in range(width_end):
            right_wide[k] = 0.0
    else:
        for k in range(width_v):
            right_least_v[k] = right_least[k]
    along_w, along_v, wide_v, wide_min, spare = room[5], room[6], room[7], room[8], room[9]
    for k in range(width):
        along_w[k], along_v[k], wide_v[k], wide_min[k] = left_least[k], left_least[k], left_wide[k], left_wide[k]
    more: cython.double
    for k in range(1, count):
        metric = moves.metric_at[begin + k - 1]
        move_forward(moves, metric, own[k - 1], own[k], along_w, spare, marks)
        along_w, spare = spare, along_w
        more = move_forward(moves, metric, other[k - 1], other[k], along_v, spare, marks)
        along_v, spare = spare, along_v
        if k < block_begin:
            move_forward(moves, metric, own[k - 1], own[k], wide_min, spare, marks)
        else:
            move_smaller(moves, metric, other[k - 1], other[k], own[k], wide_min, spare, marks)
        wide_min, spare = spare, wide_min
        more += move_forward(moves, metric, other[k - 1], other[k], wide_v, spare, marks)
        wide_v, spare = spare, wide_v
        lost = lost * moves.spread + more
    after_w, after_v = room[10], room[11]
    for k in range(width_end):
        after_w[k] = right_least[k]
    for k in range(width_v):
        after_v[k] = right_least_v[k]
    for k in range(count - 1, 0, -1):
        metric = moves.metric_at[begin + k - 1]
        move_backward(moves, metric, own[k - 1], own[k], after_w, 0.0, spare, marks)
        after_w, spare = spare, after_w
        move_backward(moves, metric, other[k - 1], other[k], after_v, 0.0, spare, marks)
        after_v, spare = spare, after_v
    a: cython.double = 0.0
    b: cython.double = 0.0
    a_width: cython.double = 0.0
    b_width: cython.double = 0.0
    for k in range(width_end):
        b += along_w[k] * right_least[k]
    for k in range(width_v):
        a += along_v[k] * right_least_v[k]
        if not at_end:
            a_width += wide_v[k] * right_wide[k]
            b_width += wide_min[k] * right_wide[k]
    if lost > 0.0:
        a_width += lost * top
    gamma = (count + 2) * step_rounding + (room.shape[1] * (count + 1) + 64) * 2.0**-53
    both = min(width_end, width_v)  # at the end of words nothing is left open there
    return smallest_passing(
        a, b, a_width, b_width, after_v, after_w, along_v, along_w, left_wide, right_wide, width, both, floor, largest,
        gamma,
    )  # fmt: skip


def prove_pairs(
    moves: NearStates, left: Slots, right: Slots, left_slot: Ints, right_slot: Ints, final: Floats,
    at_end: cython.bint, low: cython.longlong, high: cython.longlong, live: BoolTable, row: Ints, paths: IntTable,
    pairs: FloatTable, prices: Prices, budget: cython.longlong, farthest: cython.longlong, widest: cython.longlong,
    step_rounding: cython.double,
) -> tuple[NDArray[np.float64], int]:  # fmt: skip
    """For each pair (i, j, bound, cost) a bound on Z(v)/Z(w), 0 where it keeps within the target; and the nodes used.

    The block may begin at the steps low … high. Symbols are added on the side that is the less certain, all that there
    can be, until everything is proved, `farthest` of them are known on a side, or the budget of a pair is spent: then
    the largest bound of what is left is the answer.
    """
    steps, last, most = paths.shape[1], len(live) - 1, 2048
    marks: Marks = Marks(moves.size)
    room: NewFloatTable = np.zeros((12, widest * moves.phases))
    begins: NewInts = np.empty(most, dtype=np.int64)
    ends: NewInts = np.empty(most, dtype=np.int64)
    known: NewInts = np.empty(most, dtype=np.int64)
    known_after: NewInts = np.empty(most, dtype=np.int64)
    inherited: NewFloats = np.empty(most)
    lead: NewIntTable = np.empty((most, farthest + 1), dtype=np.int64)
    tail: NewIntTable = np.empty((most, farthest + 1), dtype=np.int64)
    own: NewInts = np.empty(2 * farthest + 2 + steps, dtype=np.int64)
    other: NewInts = np.empty(2 * farthest + 2 + steps, dtype=np.int64)
    results: NewFloats = np.zeros(len(pairs))
    used: cython.longlong = 0
    waiting: cython.longlong
    spent: cython.longlong
    wide: cython.longlong
    first: cython.longlong
    worst: cython.double
    ratio: cython.double
    one: cython.bint
    there: cython.bint
    before: cython.bint
    behind_it: cython.bint
    backwards: cython.bint
    with cython.nogil:
        for number in range(len(pairs)):
            i, j = cython.cast(cython.longlong, pairs[number, 0]), cython.cast(cython.longlong, pairs[number, 1])
            floor, largest = limits(prices, pairs[number, 3])
            waiting, spent = 1, 0
            worst = 0.0
            begins[0], ends[0], known[0], known_after[0], inherited[0] = low, high, 1, 0, pairs[number, 2]
            lead[0, 0] = row[i]
            while waiting > 0:
                if spent >= budget:
                    for k in range(waiting):
                        worst = max(worst, inherited[k])
                    break
                waiting -= 1
                spent += 1
                begin, end, nl, nr = begins[waiting], ends[waiting], known[waiting], known_after[waiting]
                ratio = inherited[waiting]
                if ratio <= max(floor, worst):
                    continue
                for k in range(nl):
                    own[k] = other[k] = lead[waiting, nl - 1 - k]
                for k in range(steps):
                    own[nl + k], other[nl + k] = paths[i, k], paths[j, k]
                for k in range(nr):
                    own[nl + steps + k] = other[nl + steps + k] = tail[waiting, k]
                count, after = nl + steps + nr, steps - 1 + nr
                left_begin, left_end = left_slot[begin - nl], left_slot[end - nl] + 1
                right_begin, right_end = right_slot[begin + after], right_slot[end + after] + 1
                result, before_term, after_term = _ball_node(
                    moves, left, right, left_begin, left_end, right_begin, right_end, final, at_end, begin - nl + 1,
                    nl, own, other, count, floor, max(largest, floor), step_rounding, room, marks,
                )  # fmt: skip
                ratio = min(ratio, result)
                if ratio <= max(floor, worst):
                    continue
                one = begin == end or (left_end - left_begin == 1 and right_end - right_begin == 1)
                for k in range(begin - nl, begin + after + 2):
                    if begin < end and (
                        k < 0 or k + end - begin > last or moves.metric_at[k] != moves.metric_at[k + end - begin]
                    ):
                        one = False
                mine, theirs = own[0], own[count - 1]
                before = begin - nl > 0 and nl <= farthest
                behind_it = end + after < last and nr < farthest and not at_end
                wide = moves.behind.first[mine + 1] - moves.behind.first[mine] if before else 0
                if behind_it:
                    wide = max(wide, moves.ahead.first[theirs + 1] - moves.ahead.first[theirs])
                if waiting + 2 + wide > most or (one and not before and not behind_it):
                    worst = max(worst, ratio)
                    continue
                if not one:
                    middle = (begin + end) >> 1
                    for part in range(2):
                        begins[waiting] = begin if part == 0 else middle + 1
                        ends[waiting] = middle if part == 0 else end
                        known[waiting], known_after[waiting], inherited[waiting] = nl, nr, ratio
                        for k in range(nl):
                            lead[waiting, k] = own[nl - 1 - k]
                        for k in range(nr):
                            tail[waiting, k] = own[nl + steps + k]
                        waiting += 1
                    continue
                backwards = before and (before_term >= after_term or not behind_it)
                begin_edge = moves.behind.first[mine] if backwards else moves.ahead.first[theirs]
                end_edge = moves.behind.first[mine + 1] if backwards else moves.ahead.first[theirs + 1]
                for e in range(begin_edge, end_edge):
                    state = moves.behind.other[e] if backwards else moves.ahead.other[e]
                    there = False
                    for k in range(begin, end + 1):
                        first = k - nl - 1 if backwards else k + after + 1
                        there = there or live[first, state]
                    if not there:
                        continue
                    begins[waiting], ends[waiting], inherited[waiting] = begin, end, ratio
                    known[waiting], known_after[waiting] = nl, nr
                    for k in range(nl):
                        lead[waiting, k] = own[nl - 1 - k]
                    for k in range(nr):
                        tail[waiting, k] = own[nl + steps + k]
                    if backwards:
                        lead[waiting, nl] = state
                        known[waiting] = nl + 1
                    else:
                        tail[waiting, nr] = state
                        known_after[waiting] = nr + 1
                    waiting += 1
            results[number] = worst
            used += spent
    return np.asarray(results), used
