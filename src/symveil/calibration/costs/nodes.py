"""One node of the search: all pairs of words that differ in one block and have given symbols around it.

See docs/theory/certificates.md, *Mean-value bound*. Between the left anchor and the right one the symbols of w and of v
are known; l ≤ α ≤ l + ω holds at the left anchor and l' ≤ β ≤ l' + ω' at the right one. With U and V the exact
transfer matrices of v and of w between them and M = U − R·V,

    f(R) = l M l' + ω·(M l')⁺ + (l M)⁺·ω' + ω X ω',     X = U − V_min ≥ M⁺,

Z(v)/Z(w) ≤ R wherever f(R) ≤ 0. V_min takes the smaller weight of the two words at every step. Only vectors are moved.

Rounding. The vectors are sums of products of non-negative numbers with a relative error of at most γ; f is a
difference of such numbers, so R is accepted only if f + 4γ·F ≤ 0, F being the same sum with all signs positive.
Products are kept away from underflow, else the classic bound is the answer.
"""

from __future__ import annotations

import numpy as np

from symveil.calibration.costs.steps import step_backward, step_forward
from symveil.languages.compiling import compiled

COMPILED_FROM = "6974b653fb849bf1"

_SMALLEST, _LARGEST = 2.0**-400, 2.0**400


@compiled
def box_row(low, high, valid, begin, end, row, least, width):
    """least = the lower ends of a row over some slots, width = how far the upper ends lie above it; False: no box."""
    is_inside = False
    for slot in range(begin, end):
        if not valid[slot, row]:
            continue
        if not is_inside:
            is_inside = True
            for k in range(len(least)):
                least[k] = low[slot, row, k]
                width[k] = high[slot, row, k]
        else:
            for k in range(len(least)):
                least[k] = min(least[k], low[slot, row, k])
                width[k] = max(width[k], high[slot, row, k])
    for k in range(len(least)):
        if is_inside and width[k] > least[k]:
            width[k] = (width[k] - least[k]) * (1.0 + 2.0**-50)
        else:
            width[k] = 0.0
    return is_inside


@compiled
def smallest_passing(
    a, b, a_width, b_width, above, below, above_end, below_end, left_width, right_width, floor, largest, gamma
):  # fmt: skip
    """The smallest R ≥ `floor` found with f(R) ≤ 0, at most `largest`; also the two first-order terms there.

    a = l U l', b = l V l', a_width and b_width = ω U ω' and ω V_min ω'; above, below = U l', V l' at the left anchor,
    above_end, below_end = l U, l V at the right one. f is convex and falls, so Newton's steps from the left stay left.
    """
    ratio = floor
    left, right = 0.0, 0.0
    for _ in range(80):
        left, right, slope = 0.0, 0.0, b
        plain = a + a_width + b_width + ratio * b
        for k in range(len(left_width)):
            if left_width[k] > 0.0:
                gain = above[k] - ratio * below[k]
                plain += left_width[k] * (above[k] + ratio * below[k])
                if gain > 0.0:
                    left += left_width[k] * gain
                    slope += left_width[k] * below[k]
        for k in range(len(right_width)):
            if right_width[k] > 0.0:
                gain = above_end[k] - ratio * below_end[k]
                plain += right_width[k] * (above_end[k] + ratio * below_end[k])
                if gain > 0.0:
                    right += right_width[k] * gain
                    slope += right_width[k] * below_end[k]
        if not (b > _SMALLEST and plain < _LARGEST):
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


@compiled
def node_bound(
    back, earlier, behind, first, other, ahead, symbol, levels, kappa, following, metric_at,
    own, other_word, begin, block_begin, block_end,
    left_low, left_width, right_low, right_width, floor, largest, step_rounding,
):  # fmt: skip
    """(R, nominal ratio, left and right first-order terms) of one node.

    `own` and `other_word` are the symbols of w and v from step `begin` on; they differ within block_begin … block_end
    (counted from the first of them) only.
    """
    width, count = len(left_low), len(own)
    spare = np.empty(width)
    # forwards: l along w and v, ω along v and along the smaller of the two
    along_w, along_v, next_w, next_v = left_low.copy(), left_low.copy(), np.empty(width), np.empty(width)
    wide_v, wide_min, next_wide, next_min = left_width.copy(), left_width.copy(), np.empty(width), np.empty(width)
    for k in range(count):
        metric = metric_at[begin + k]
        step_forward(back, earlier, behind, symbol, levels, kappa, following, metric, own[k], along_w, next_w)
        along_w, next_w = next_w, along_w
        if k < block_begin:
            along_v[:] = along_w
        else:
            step_forward(
                back, earlier, behind, symbol, levels, kappa, following, metric, other_word[k], along_v, next_v
            )
            along_v, next_v = next_v, along_v
        step_forward(back, earlier, behind, symbol, levels, kappa, following, metric, other_word[k], wide_v, next_wide)
        wide_v, next_wide = next_wide, wide_v
        if k < block_begin:
            wide_min[:] = wide_v
        elif k < block_end:
            _smaller_step(
                back,
                earlier,
                behind,
                symbol,
                levels,
                kappa,
                following,
                metric,
                own[k],
                other_word[k],
                wide_min,
                next_min,
            )
            wide_min, next_min = next_min, wide_min
        else:
            step_forward(back, earlier, behind, symbol, levels, kappa, following, metric, own[k], wide_min, next_min)
            wide_min, next_min = next_min, wide_min
    # backwards: l' along w and v
    after_w, after_v = right_low.copy(), right_low.copy()
    for k in range(count - 1, -1, -1):
        metric = metric_at[begin + k]
        step_backward(first, other, ahead, symbol, levels, kappa, following, metric, own[k], after_w, next_w, spare)
        after_w, next_w = next_w, after_w
        if k >= block_end:
            after_v[:] = after_w
        else:
            step_backward(
                first, other, ahead, symbol, levels, kappa, following, metric, other_word[k], after_v, next_v, spare
            )
            after_v, next_v = next_v, after_v
    a, b, a_width, b_width = 0.0, 0.0, 0.0, 0.0
    middle_a, middle_b = 0.0, 0.0
    for k in range(width):
        a += along_v[k] * right_low[k]
        b += along_w[k] * right_low[k]
        a_width += wide_v[k] * right_width[k]
        b_width += wide_min[k] * right_width[k]
        middle_a += (along_v[k] + 0.5 * wide_v[k]) * right_width[k] + left_width[k] * after_v[k]
        middle_b += (along_w[k] + 0.5 * wide_min[k]) * right_width[k] + left_width[k] * after_w[k]
    nominal = (a + 0.5 * middle_a) / (b + 0.5 * middle_b) if b > 0.0 else 0.0
    gamma = (count + 1) * step_rounding + (width + 16) * 2.0**-53
    ratio, left, right = smallest_passing(
        a, b, a_width, b_width, after_v, after_w, along_v, along_w, left_width, right_width, floor, largest, gamma
    )
    return ratio, nominal, left, right


@compiled
def _smaller_step(
    back, earlier, weight, symbol, levels, kappa, following, metric, own, other, now, after
):  # fmt: skip
    """As `step_forward`, with the smaller of the two words' weights where both lead to the same phase, else nothing."""
    phases = kappa.shape[1]
    for y in range(len(symbol)):
        one, two = levels[metric, own, symbol[y]], levels[metric, other, symbol[y]]
        for phase in range(phases):
            after[y * phases + phase] = 0.0
        if one < 0 or two < 0:
            continue
        for phase in range(phases):
            to = following[one, phase]
            if to == following[two, phase]:
                total = 0.0
                for e in range(back[y], back[y + 1]):
                    total += weight[e] * now[earlier[e] * phases + phase]
                after[y * phases + to] = total * min(kappa[one, phase], kappa[two, phase])


@compiled
def children_bounds(
    back, earlier, behind, first, other, ahead, symbol, levels, kappa, following, metric_at,
    left_low, left_high, left_valid, right_low, right_high, right_valid,
    own, other_word, begin, block_begin, block_end,
    left_rows, right_rows, left_slots, right_slots, floor, largest, step_rounding,
):  # fmt: skip
    """`node_bound` of several nodes at once, a row each; `own` and `other_word` have a row each too.

    A row without a box at one of its anchors has no words: R = 0.
    """
    count, width = len(own), left_low.shape[2]
    results = np.zeros((count, 4))
    least, wide, least_end, wide_end = np.empty(width), np.empty(width), np.empty(width), np.empty(width)
    for k in range(count):
        if not box_row(
            left_low, left_high, left_valid, left_slots[k, 0], left_slots[k, 1], left_rows[k], least, wide
        ) or not box_row(
            right_low, right_high, right_valid, right_slots[k, 0], right_slots[k, 1], right_rows[k], least_end, wide_end
        ):
            continue
        results[k] = node_bound(
            back, earlier, behind, first, other, ahead, symbol, levels, kappa, following, metric_at,
            own[k], other_word[k], begin[k], block_begin, block_end,
            least, wide, least_end, wide_end, floor, largest, step_rounding,
        )  # fmt: skip
    return results
