"""Blocks over balls: the most and the least of paths from their halves, and the bound of a pair with its contexts.

See docs/theory/certificates.md, *Balls*. The bounds are those of `halves` and `nodes`, with one more term: what the
weight outside the balls, or that leaves them on the way, can at most become. It is added to Z(v) and never to Z(w).
"""

from __future__ import annotations

import numpy as np

from symveil.calibration.costs.ball_steps import move_backward, move_forward, move_smaller
from symveil.calibration.costs.nodes import smallest_passing
from symveil.calibration.costs.roots import comparable, limits
from symveil.languages.compiling import compiled

COMPILED_FROM = "9a4db3d9d6f6650d"


@compiled
def ball_row(ball_first, phases, low, high, tail, valid, begin_slot, end_slot, t, least, width):
    """(found, tail): the hull of the boxes of t over some slots; least = lower ends, width = upper ends above them."""
    base, count = ball_first[t] * phases, (ball_first[t + 1] - ball_first[t]) * phases
    is_inside, outside = False, 0.0
    for slot in range(begin_slot, end_slot):
        if not valid[slot, t]:
            continue
        for k in range(count):
            if not is_inside:
                least[k], width[k] = low[slot, base + k], high[slot, base + k]
            else:
                least[k], width[k] = min(least[k], low[slot, base + k]), max(width[k], high[slot, base + k])
        outside = max(outside, tail[slot, t])
        is_inside = True
    for k in range(count):
        if is_inside and width[k] > least[k]:
            width[k] = (width[k] - least[k]) * (1.0 + 2.0**-50)
        else:
            width[k] = 0.0
    return is_inside, outside


@compiled
def largest_of(least, width, count):
    """The largest upper end."""
    most = 0.0
    for k in range(count):
        most = max(most, least[k] + width[k])
    return most * (1.0 + 2.0**-50)


@compiled
def path_extremes(
    back, earlier, behind, first, other, ahead, ball_first, ball_state, ball_level, kappa, following, far, leaving,
    spread, metric_at, left_low, left_high, left_tail, left_valid, right_low, right_high, right_tail, right_valid,
    left_slots, right_slots, begin, half, prefix_first, order, row, paths, suffix_first, suffix_of, suffix_member,
    widest, step_rounding,
):  # fmt: skip
    """(least, most) of all paths; both are 0 where no word takes the path.

    order[prefix_first[g]] … have the same first half; suffix_of[i] is the second half of path i, which
    suffix_member[…] has too and whose vectors begin at suffix_first[…]: from its last state of the first half on.
    """
    size, phases = len(back) - 1, kappa.shape[1]
    width, steps = widest * phases, paths.shape[1]
    gamma = (steps + 2) * step_rounding + (width + 64) * 2.0**-53
    index, target = np.full(size, -1), np.full(size, -1)
    now, wide, after = np.empty(width), np.empty(width), np.empty(width)
    least, most = np.zeros(suffix_first[-1], dtype=np.float32), np.zeros(suffix_first[-1], dtype=np.float32)
    beyond = np.zeros(len(suffix_member))
    for number in range(len(suffix_member)):
        path = paths[suffix_member[number]]
        end = path[steps - 1]
        is_inside, outside = ball_row(
            ball_first,
            phases,
            right_low,
            right_high,
            right_tail,
            right_valid,
            right_slots[0],
            right_slots[1],
            end,
            now,
            wide,
        )
        if not is_inside:
            continue
        if far[0] == 0.0:
            outside = 0.0
        for k in range((ball_first[end + 1] - ball_first[end]) * phases):
            wide[k] += now[k]
        for k in range(steps - 1, half - 1, -1):
            metric, s, t = metric_at[begin + k], path[k - 1], path[k]
            move_backward(
                back, earlier, first, other, ahead, ball_first, ball_state, ball_level, kappa, following, far, spread,
                metric, s, t, now, 0.0, after, index, target,
            )  # fmt: skip
            now, after = after, now
            outside = move_backward(
                back, earlier, first, other, ahead, ball_first, ball_state, ball_level, kappa, following, far, spread,
                metric, s, t, wide, outside, after, index, target,
            )  # fmt: skip
            wide, after = after, wide
        top = outside
        for k in range(suffix_first[number + 1] - suffix_first[number]):
            low, high = now[k] * (1.0 - 2.0**-22), wide[k] * (1.0 + 2.0**-22)
            top = max(top, high)
            least[suffix_first[number] + k] = min(low, 2.0**120) if low > 2.0**-100 else 0.0
            if high > 0.0:
                most[suffix_first[number] + k] = max(high, 2.0**-100) if high < 2.0**120 else np.inf
        beyond[number] = top
    weights = np.zeros((len(paths), 2))
    for g in range(len(prefix_first) - 1):
        i = order[prefix_first[g]]
        is_inside, lost = ball_row(
            ball_first,
            phases,
            left_low,
            left_high,
            left_tail,
            left_valid,
            left_slots[0],
            left_slots[1],
            row[i],
            now,
            wide,
        )
        if not is_inside:
            continue
        for k in range((ball_first[row[i] + 1] - ball_first[row[i]]) * phases):
            wide[k] += now[k]
        for k in range(half):
            metric, s, t = metric_at[begin + k], row[i] if k == 0 else paths[i, k - 1], paths[i, k]
            move_forward(
                back, earlier, behind, first, other, ahead, ball_first, ball_state, ball_level, kappa, following, far,
                leaving, metric, s, t, now, after, index, target,
            )  # fmt: skip
            now, after = after, now
            more = move_forward(
                back, earlier, behind, first, other, ahead, ball_first, ball_state, ball_level, kappa, following, far,
                leaving, metric, s, t, wide, after, index, target,
            )  # fmt: skip
            lost = lost * spread + more
            wide, after = after, wide
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
    return weights


@compiled
def cost_over_balls(ball_first, ball_state, ball_level, value, metric_at, begin, differ, own, other, largest_step):
    """At most so much do two blocks cost each other: outside a ball adjacent words' symbols cost no more than that."""
    total = 0.0
    for k in range(differ):
        low, high = ball_first[own[k]], ball_first[own[k] + 1]
        while low < high - 1:
            middle = (low + high) // 2
            if ball_state[middle] <= other[k]:
                low = middle
            else:
                high = middle
        level = ball_level[metric_at[begin + k], low] if ball_state[low] == other[k] else -1
        total += value[level] if level >= 0 else largest_step
    return total


@compiled
def open_pairs(
    ball_first, ball_state, ball_level, value, metric_at, begin, differ, largest_step, rate, period, target,
    group_first, paths, final, weights, at_end,
):  # fmt: skip
    """(pairs, worst): rows (i, j, bound on Z(v)/Z(w), cost) above the target, and the one with the largest bound.

    `at_end`: paths end words, possibly in different states.
    """
    pairs, count = np.empty((64, 4)), 0
    worst = np.array([-1.0, -1.0, 0.0, 0.0])
    none = np.zeros((1, 1), dtype=np.int64)
    for group in range(len(group_first) - 1):
        for i in range(group_first[group], group_first[group + 1]):
            if weights[i, 1] == 0.0:
                continue
            for j in range(group_first[group], group_first[group + 1]):
                if i == j or weights[j, 1] == 0.0 or not comparable(paths[i], paths[j], differ, 0, 0, none, 0):
                    continue
                more = 1.0
                if at_end:
                    more = final[paths[j, len(paths[j]) - 1]] / final[paths[i, len(paths[i]) - 1]]
                least = weights[i, 0]
                bound = weights[j, 1] * more * (1.0 + 2.0**-48) / least if least > 2.0**-400 else np.inf
                if not bound >= 0.0:  # 0 times infinity
                    bound = np.inf
                if worst[0] >= 0.0 and bound <= worst[2] and bound <= 1.0:
                    continue
                cost = cost_over_balls(
                    ball_first,
                    ball_state,
                    ball_level,
                    value,
                    metric_at,
                    begin,
                    differ,
                    paths[i],
                    paths[j],
                    largest_step,
                )
                if worst[0] < 0.0 or bound > worst[2]:
                    worst[0], worst[1], worst[2], worst[3] = i, j, bound, cost
                floor, largest = limits(rate, period, cost, target)
                if floor >= largest or bound <= floor * (1.0 - 2.0**-50):
                    continue
                if count == len(pairs):
                    pairs = np.concatenate((pairs, np.empty_like(pairs)))
                pairs[count, 0], pairs[count, 1], pairs[count, 2], pairs[count, 3] = i, j, min(bound, largest), cost
                count += 1
    return pairs[:count].copy(), worst


@compiled
def ball_node(
    back, earlier, behind, first, other, ahead, ball_first, ball_state, ball_level, kappa, following, far, leaving,
    spread, metric_at, left_low, left_high, left_tail, left_valid, right_low, right_high, right_tail, right_valid,
    left_slots, right_slots, final, at_end, begin, block_begin, own, other_word, floor, largest,
    step_rounding, room, index, target,
):  # fmt: skip
    """(R, left and right first-order terms) of one node; R = 0 where it has no words.

    own[0] = other_word[0] is the state of the left anchor at step begin − 1, the others are the states of w and v from
    step `begin` on; they agree before block_begin. `room` has 16 rows as wide as the widest ball.
    """
    phases, count = kappa.shape[1], len(own)
    left_least, left_wide, right_least, right_wide = room[0], room[1], room[2], room[3]
    start, end, end_v = own[0], own[count - 1], other_word[count - 1]
    result, lost = ball_row(
        ball_first, phases, left_low, left_high, left_tail, left_valid, left_slots[0], left_slots[1], start, left_least,
        left_wide,
    )  # fmt: skip
    if not result:
        return 0.0, 0.0, 0.0
    result, outside = ball_row(
        ball_first, phases, right_low, right_high, right_tail, right_valid, right_slots[0], right_slots[1], end,
        right_least, right_wide,
    )  # fmt: skip
    if not result:
        return 0.0, 0.0, 0.0
    width = (ball_first[start + 1] - ball_first[start]) * phases
    width_end = (ball_first[end + 1] - ball_first[end]) * phases
    width_v = (ball_first[end_v + 1] - ball_first[end_v]) * phases
    top = max(outside, largest_of(right_least, right_wide, width_end))
    right_least_v = right_least
    if at_end:  # what follows is the end: exact, for v's last state as for w's
        right_least_v = room[14]
        for k in range(ball_first[end_v + 1] - ball_first[end_v]):
            for phase in range(phases):
                right_least_v[k * phases + phase] = final[ball_state[ball_first[end_v] + k]] / final[end]
        right_wide[:width_end] = 0.0
    along_w, along_v, wide_v, wide_min, spare = room[4], room[5], room[6], room[7], room[8]
    along_w[:width] = left_least[:width]
    along_v[:width] = left_least[:width]
    wide_v[:width] = left_wide[:width]
    wide_min[:width] = left_wide[:width]
    for k in range(1, count):
        metric = metric_at[begin + k - 1]
        move_forward(
            back, earlier, behind, first, other, ahead, ball_first, ball_state, ball_level, kappa, following, far,
            leaving, metric, own[k - 1], own[k], along_w, spare, index, target,
        )  # fmt: skip
        along_w, spare = spare, along_w
        more = move_forward(
            back, earlier, behind, first, other, ahead, ball_first, ball_state, ball_level, kappa, following, far,
            leaving, metric, other_word[k - 1], other_word[k], along_v, spare, index, target,
        )  # fmt: skip
        along_v, spare = spare, along_v
        if k < block_begin:
            move_forward(
                back, earlier, behind, first, other, ahead, ball_first, ball_state, ball_level, kappa, following, far,
                leaving, metric, own[k - 1], own[k], wide_min, spare, index, target,
            )  # fmt: skip
        else:
            move_smaller(
                back, earlier, behind, ball_first, ball_state, ball_level, kappa, following, metric,
                other_word[k - 1], other_word[k], own[k], wide_min, spare, index, target,
            )  # fmt: skip
        wide_min, spare = spare, wide_min
        more += move_forward(
            back, earlier, behind, first, other, ahead, ball_first, ball_state, ball_level, kappa, following, far,
            leaving, metric, other_word[k - 1], other_word[k], wide_v, spare, index, target,
        )  # fmt: skip
        wide_v, spare = spare, wide_v
        lost = lost * spread + more
    after_w, after_v = room[9], room[10]
    after_w[:width_end] = right_least[:width_end]
    after_v[:width_v] = right_least_v[:width_v]
    for k in range(count - 1, 0, -1):
        metric = metric_at[begin + k - 1]
        move_backward(
            back, earlier, first, other, ahead, ball_first, ball_state, ball_level, kappa, following, far, spread,
            metric, own[k - 1], own[k], after_w, 0.0, spare, index, target,
        )  # fmt: skip
        after_w, spare = spare, after_w
        move_backward(
            back, earlier, first, other, ahead, ball_first, ball_state, ball_level, kappa, following, far, spread,
            metric, other_word[k - 1], other_word[k], after_v, 0.0, spare, index, target,
        )  # fmt: skip
        after_v, spare = spare, after_v
    a, b, a_width, b_width = 0.0, 0.0, 0.0, 0.0
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
        a, b, a_width, b_width, after_v[:width], after_w[:width], along_v[:both], along_w[:both], left_wide[:width],
        right_wide[:both], floor, largest, gamma,
    )  # fmt: skip


@compiled
def prove_pairs(
    back, earlier, behind, first, other, ahead, ball_first, ball_state, ball_level, kappa, following, far, leaving,
    spread, metric_at, left_low, left_high, left_tail, left_valid, right_low, right_high, right_tail, right_valid,
    left_slot, right_slot, final, at_end, low, high, live, row, paths, pairs, rate, period, target, budget,
    farthest, widest, step_rounding,
):  # fmt: skip
    """For each pair (i, j, bound, cost) a bound on Z(v)/Z(w), 0 where it keeps within the target; and the nodes used.

    The block may begin at the steps low … high. Symbols are added on the side that is the less certain, all that there
    can be, until everything is proved, `farthest` of them are known on a side, or the budget of a pair is spent: then
    the largest bound of what is left is the answer.
    """
    size, steps, last = len(back) - 1, paths.shape[1], len(live) - 1
    index, target_index = np.full(size, -1), np.full(size, -1)
    room = np.zeros((16, widest * kappa.shape[1]))
    most = 2048
    begins, ends = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    known, known_after = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    inherited = np.empty(most)
    lead, tail = np.empty((most, farthest + 1), dtype=np.int64), np.empty((most, farthest + 1), dtype=np.int64)
    results, used = np.zeros(len(pairs)), 0
    for number in range(len(pairs)):
        i, j = int(pairs[number, 0]), int(pairs[number, 1])
        floor, largest = limits(rate, period, pairs[number, 3], target)
        waiting, spent, worst = 1, 0, 0.0
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
            own, other_word = np.empty(nl + steps + nr, dtype=np.int64), np.empty(nl + steps + nr, dtype=np.int64)
            for k in range(nl):
                own[k] = other_word[k] = lead[waiting, nl - 1 - k]
            for k in range(steps):
                own[nl + k], other_word[nl + k] = paths[i, k], paths[j, k]
            for k in range(nr):
                own[nl + steps + k] = other_word[nl + steps + k] = tail[waiting, k]
            left_slots = (left_slot[begin - nl], left_slot[end - nl] + 1)
            after = steps - 1 + nr
            right_slots = (right_slot[begin + after], right_slot[end + after] + 1)
            result, before_term, after_term = ball_node(
                back, earlier, behind, first, other, ahead, ball_first, ball_state, ball_level, kappa, following, far,
                leaving, spread, metric_at, left_low, left_high, left_tail, left_valid, right_low, right_high,
                right_tail, right_valid, left_slots, right_slots, final, at_end, begin - nl + 1, nl, own, other_word,
                floor, max(largest, floor), step_rounding, room, index, target_index,
            )  # fmt: skip
            ratio = min(ratio, result)
            if ratio <= max(floor, worst):
                continue
            one = begin == end or (left_slots[1] - left_slots[0] == 1 and right_slots[1] - right_slots[0] == 1)
            for k in range(begin - nl, begin + after + 2):
                if begin < end and (k < 0 or k + end - begin > last or metric_at[k] != metric_at[k + end - begin]):
                    one = False
            mine, theirs = own[0], own[len(own) - 1]
            before = begin - nl > 0 and nl <= farthest
            behind_it = end + after < last and nr < farthest and not at_end
            wide = (back[mine + 1] - back[mine]) if before else 0
            wide = max(wide, (first[theirs + 1] - first[theirs]) if behind_it else 0)
            if waiting + 2 + wide > most or (one and not before and not behind_it):
                worst = max(worst, ratio)
                continue
            if not one:
                middle = (begin + end) // 2
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
            begin_edge = back[mine] if backwards else first[theirs]
            end_edge = back[mine + 1] if backwards else first[theirs + 1]
            for e in range(begin_edge, end_edge):
                state = earlier[e] if backwards else other[e]
                there = False
                for k in range(begin, end + 1):
                    there = there or live[k - nl - 1 if backwards else k + after + 1, state]
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
    return results, used
