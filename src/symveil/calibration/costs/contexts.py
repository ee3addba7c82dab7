"""Many contexts of one block at once: every way to go on for a few symbols before it and after it.

See docs/theory/certificates.md, *Mean-value bound*. The box at an anchor a few symbols away, moved to the block along
known symbols, is a box again: l and ω are moved by the same non-negative matrix. With such boxes for all left contexts
i and all right contexts j of a block, f(R) of all pairs (i, j) at one R is three products of matrices and a few touched
states. Pairs with f ≤ 0 are proved; the others get a bound of their own and go on to the search one by one. Rounding
is that of `nodes`: f + 4γ·F ≤ 0, with F replaced by the largest that any pair can have.
"""

from __future__ import annotations

import numpy as np

from symveil.calibration.costs.nodes import box_row, smallest_passing
from symveil.calibration.costs.steps import step_backward, step_forward
from symveil.languages.compiling import compiled

COMPILED_FROM = "9e7cec6e7e284f25"


@compiled
def extended(first, other, root, paths, remaining):
    """The kept paths from a row, each with every row that knows one state more; also where each comes from."""
    total, steps = 0, paths.shape[1]
    for i in range(len(paths)):
        if remaining[i]:
            now = root if steps == 0 else paths[i, steps - 1]
            total += first[now + 1] - first[now]
    longer, source = np.empty((total, steps + 1), dtype=np.int64), np.empty(total, dtype=np.int64)
    index = 0
    for i in range(len(paths)):
        if remaining[i]:
            now = root if steps == 0 else paths[i, steps - 1]
            for e in range(first[now], first[now + 1]):
                longer[index, :steps] = paths[i]
                longer[index, steps] = other[e]
                source[index] = i
                index += 1
    return longer, source


@compiled
def left_contexts(
    back, earlier, behind, symbol, levels, kappa, following, metric_at, low, high, valid, begin_slot, end_slot,
    row_state, longest, step, state, paths,
):  # fmt: skip
    """(there, l, ω) at `state`, which words are in at `step`, for each way to have come there; a column each.

    A path lists rows that know more and more; the last one is the anchor, and rows beyond the longest window have moved
    away from `state`. there: whether it has a box.
    """
    width, moves = low.shape[2], max(0, paths.shape[1] - longest)
    least, wide = np.zeros((width, len(paths))), np.zeros((width, len(paths)))
    there = np.zeros(len(paths), dtype=np.bool_)
    now, extra, after = np.empty(width), np.empty(width), np.empty(width)
    for i in range(len(paths)):
        anchor = state if paths.shape[1] == 0 else paths[i, paths.shape[1] - 1]
        there[i] = box_row(low, high, valid, begin_slot, end_slot, anchor, now, extra)
        if not there[i]:
            continue
        for k in range(moves - 1, -1, -1):
            own = symbol[state] if k == 0 else symbol[row_state[paths[i, longest + k - 1]]]
            metric = metric_at[step - k]
            step_forward(back, earlier, behind, symbol, levels, kappa, following, metric, own, now, after)
            now, after = after, now
            step_forward(back, earlier, behind, symbol, levels, kappa, following, metric, own, extra, after)
            extra, after = after, extra
        least[:, i] = now
        wide[:, i] = extra
    return there, least, wide


@compiled
def right_contexts(
    first, other, ahead, symbol, levels, kappa, following, metric_at, low, high, valid, begin_slot, end_slot,
    row_state, longest, step, state, paths,
):  # fmt: skip
    """(there, l', ω') at `state`, which words are in at `step`, for each way to go on from there; a column each."""
    width, moves = low.shape[2], max(0, paths.shape[1] - longest)
    least, wide = np.zeros((width, len(paths))), np.zeros((width, len(paths)))
    there = np.zeros(len(paths), dtype=np.bool_)
    now, extra, before, spare = np.empty(width), np.empty(width), np.empty(width), np.empty(width)
    for i in range(len(paths)):
        anchor = state if paths.shape[1] == 0 else paths[i, paths.shape[1] - 1]
        there[i] = box_row(low, high, valid, begin_slot, end_slot, anchor, now, extra)
        if not there[i]:
            continue
        for k in range(moves, 0, -1):
            own, metric = symbol[row_state[paths[i, longest + k - 1]]], metric_at[step + k]
            step_backward(first, other, ahead, symbol, levels, kappa, following, metric, own, now, before, spare)
            now, before = before, now
            step_backward(first, other, ahead, symbol, levels, kappa, following, metric, own, extra, before, spare)
            extra, before = before, extra
        least[:, i] = now
        wide[:, i] = extra
    return there, least, wide


@compiled
def _many_forward(back, earlier, weight, symbol, levels, kappa, following, metric, own, now, after):
    """`step_forward` of many vectors, a column each."""
    phases, count = kappa.shape[1], now.shape[1]
    for y in range(len(symbol)):
        level = levels[metric, own, symbol[y]]
        for phase in range(phases):
            to = y * phases + (following[level, phase] if level >= 0 else phase)
            for c in range(count):
                after[to, c] = 0.0
            if level < 0:
                continue
            for e in range(back[y], back[y + 1]):
                scale, row = weight[e] * kappa[level, phase], earlier[e] * phases + phase
                for c in range(count):
                    after[to, c] += scale * now[row, c]


@compiled
def _many_arrived(back, earlier, weight, phases, now, after):
    count = now.shape[1]
    for y in range(len(back) - 1):
        for phase in range(phases):
            to = y * phases + phase
            for c in range(count):
                after[to, c] = 0.0
            for e in range(back[y], back[y + 1]):
                row = earlier[e] * phases + phase
                for c in range(count):
                    after[to, c] += weight[e] * now[row, c]


@compiled
def _many_backward(first, other, weight, symbol, levels, kappa, following, metric, own, now, before):
    """`step_backward` of many vectors, a column each."""
    phases, count = kappa.shape[1], now.shape[1]
    for x in range(len(symbol)):
        for phase in range(phases):
            row = x * phases + phase
            for c in range(count):
                before[row, c] = 0.0
            for e in range(first[x], first[x + 1]):
                y = other[e]
                level = levels[metric, own, symbol[y]]
                if level < 0:
                    continue
                scale, reached = weight[e] * kappa[level, phase], y * phases + following[level, phase]
                for c in range(count):
                    before[row, c] += scale * now[reached, c]


@compiled
def _add_second_order(
    symbol, levels, kappa, following, metric, own, other, arrived, suffix, result
):  # fmt: skip
    """result[i, j] += what v's symbol lets through at this step that w's does not."""
    phases = kappa.shape[1]
    for y in range(len(symbol)):
        two = levels[metric, other, symbol[y]]
        one = levels[metric, own, symbol[y]]
        if two < 0 or one == two:
            continue
        for phase in range(phases):
            to = following[two, phase]
            more = kappa[two, phase]
            if one >= 0 and following[one, phase] == to:
                more -= kappa[one, phase]
            if more > 0.0:
                more += 4.0 * 2.0**-53 * kappa[two, phase]
                row, reached = y * phases + phase, y * phases + to
                for i in range(result.shape[0]):
                    scale = more * arrived[row, i]
                    if scale > 0.0:
                        for j in range(result.shape[1]):
                            result[i, j] += scale * suffix[reached, j]


@compiled
def _add_product(left, right, product, result):
    """result[i, j] += Σ_k left[k, i]·right[k, j]; `product` has room for a row."""
    for i in range(left.shape[1]):
        product[:] = 0.0
        for k in range(left.shape[0]):
            for j in range(right.shape[1]):
                product[j] += left[k, i] * right[k, j]
        for j in range(right.shape[1]):
            result[i, j] += product[j]


@compiled
def context_bounds(
    back, earlier, behind, first, other, ahead, symbol, levels, kappa, following, metric_at,
    own, other_word, begin, differ, least, wide, end_least, end_wide, open_pairs, floor, largest, step_rounding,
):  # fmt: skip
    """R of all pairs of contexts of one block that are above the floor: rows of (i, j, R, nominal, left, right).

    `least`, `wide` have a column for each left context, `end_least`, `end_wide` for each right one. Only pairs that are
    `open_pairs` are looked at.
    """
    width, lefts = least.shape
    rights, steps = end_least.shape[1], len(own)
    phases = kappa.shape[1]
    gamma = (steps + 12) * step_rounding + (width * (steps + 2) + 64) * 2.0**-53
    forward_w, forward_v, next_left = least.copy(), least.copy(), np.empty((width, lefts))
    moved, arrived = wide.copy(), np.empty((differ, width, lefts))
    for k in range(steps):
        metric = metric_at[begin + k]
        _many_forward(back, earlier, behind, symbol, levels, kappa, following, metric, own[k], forward_w, next_left)
        forward_w, next_left = next_left, forward_w
        _many_forward(
            back, earlier, behind, symbol, levels, kappa, following, metric, other_word[k], forward_v, next_left
        )
        forward_v, next_left = next_left, forward_v
        if k < differ:
            _many_arrived(back, earlier, behind, phases, moved, arrived[k])
            if k + 1 < differ:
                _many_forward(
                    back, earlier, behind, symbol, levels, kappa, following, metric, other_word[k], moved, next_left
                )
                moved, next_left = next_left, moved
    backward_w, backward_v, next_right = end_least.copy(), end_least.copy(), np.empty((width, rights))
    moved = end_wide.copy()
    values = np.zeros((lefts, rights))
    for k in range(steps - 1, -1, -1):
        metric = metric_at[begin + k]
        if k < differ:
            _add_second_order(
                symbol, levels, kappa, following, metric, own[k], other_word[k], arrived[k], moved, values
            )
        _many_backward(first, other, ahead, symbol, levels, kappa, following, metric, own[k], backward_w, next_right)
        backward_w, next_right = next_right, backward_w
        _many_backward(
            first, other, ahead, symbol, levels, kappa, following, metric, other_word[k], backward_v, next_right
        )
        backward_v, next_right = next_right, backward_v
        if k > 0:
            _many_backward(first, other, ahead, symbol, levels, kappa, following, metric, own[k], moved, next_right)
            moved, next_right = next_right, moved
    square = values.copy()
    gain_left, gain_right = np.empty((width, rights)), np.empty((width, lefts))
    for k in range(width):
        for j in range(rights):
            gain_left[k, j] = backward_v[k, j] - floor * backward_w[k, j]
        for i in range(lefts):
            gain_right[k, i] = forward_v[k, i] - floor * forward_w[k, i]
    product = np.empty(rights)
    _add_product(least, gain_left, product, values)
    largest_left, largest_right = 0.0, 0.0
    plain = square.max()
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
    sure = 2.0**-400 < plain < 2.0**200 and largest_left < 2.0**200 and largest_right < 2.0**200
    results, count = np.empty((16, 6)), 0
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
            ratio, left, right = smallest_passing(
                a, b, square[i, j], 0.0, backward_v[:, j], backward_w[:, j], forward_v[:, i], forward_w[:, i],
                wide[:, i], end_wide[:, j], floor, largest, gamma,
            )  # fmt: skip
            if ratio <= floor:
                continue
            if count == len(results):
                results = np.concatenate((results, np.empty_like(results)))
            results[count, 0] = i
            results[count, 1] = j
            results[count, 2] = ratio
            results[count, 3] = (a + 0.5 * middle_a) / (b + 0.5 * middle_b) if b > 0.0 else 0.0
            results[count, 4] = left
            results[count, 5] = right
            count += 1
    return results[:count].copy()
