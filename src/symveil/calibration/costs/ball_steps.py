"""One step of vectors that are kept over balls, and of their boxes: the compiled part of `balls`.

See docs/theory/certificates.md, *Balls*. A vector over the ball of t has the entry k·F + φ for the k-th state of the
ball
in phase φ. What lies outside is bounded, never dropped: on the left by the sum of all weight there (`tail`), on the
right by the largest value there. States that no edge leads to are empty after the first step and are not counted.
"""

from __future__ import annotations

import numpy as np

from symveil.calibration.costs.steps import largest_fraction
from symveil.languages.compiling import compiled

COMPILED_FROM = "6974b653fb849bf1"

_MANY_EDGES = 64  # from one state: then all of them are counted as leaving the ball


@compiled
def mark(ball_first, ball_state, t, index):
    """place[y] = where y is in t's ball."""
    for k in range(ball_first[t], ball_first[t + 1]):
        index[ball_state[k]] = k - ball_first[t]


@compiled
def unmark(ball_first, ball_state, t, index):
    """Undo `mark`."""
    for k in range(ball_first[t], ball_first[t + 1]):
        index[ball_state[k]] = -1


@compiled
def leaving_ball(first, other, ahead, leaving, x, index):
    """The weight of all edges from x to states that are not marked, or more."""
    if first[x + 1] - first[x] > _MANY_EDGES:
        return leaving[x]
    total = 0.0
    for e in range(first[x], first[x + 1]):
        if index[other[e]] < 0:
            total += ahead[e]
    return total


@compiled
def move_forward(
    back, earlier, behind, first, other, ahead, ball_first, ball_state, ball_level, kappa, following, far, leaving,
    metric, s, t, now, after, index, target,
):  # fmt: skip
    """after = what reaches the ball of t from `now`, over the ball of s; the weight that reaches states outside it."""
    phases = kappa.shape[1]
    mark(ball_first, ball_state, s, index)
    mark(ball_first, ball_state, t, target)
    for k in range(ball_first[t + 1] - ball_first[t]):
        y, level = ball_state[ball_first[t] + k], ball_level[metric, ball_first[t] + k]
        for phase in range(phases):
            if level < 0:
                after[k * phases + phase] = 0.0
                continue
            total = 0.0
            for e in range(back[y], back[y + 1]):
                p = index[earlier[e]]
                if p >= 0:
                    total += behind[e] * now[p * phases + phase]
            after[k * phases + following[level, phase]] = total * kappa[level, phase]
    lost = 0.0
    for k in range(ball_first[s + 1] - ball_first[s]):
        outside = leaving_ball(first, other, ahead, leaving, ball_state[ball_first[s] + k], target)
        if outside > 0.0:
            for phase in range(phases):
                lost += now[k * phases + phase] * outside * far[phase]
    unmark(ball_first, ball_state, s, index)
    unmark(ball_first, ball_state, t, target)
    return lost


@compiled
def move_smaller(
    back, earlier, behind, ball_first, ball_state, ball_level, kappa, following, metric, s, t, u, now, after, index,
    target,
):  # fmt: skip
    """As `move_forward` to the ball of t, with the smaller of the weights against t and u; nothing outside theirs."""
    phases = kappa.shape[1]
    mark(ball_first, ball_state, s, index)
    mark(ball_first, ball_state, u, target)
    for k in range(ball_first[t + 1] - ball_first[t]):
        y = ball_state[ball_first[t] + k]
        for phase in range(phases):
            after[k * phases + phase] = 0.0
        if target[y] < 0:
            continue
        one, two = ball_level[metric, ball_first[u] + target[y]], ball_level[metric, ball_first[t] + k]
        if one < 0 or two < 0:
            continue
        for phase in range(phases):
            if following[one, phase] != following[two, phase]:
                continue
            total = 0.0
            for e in range(back[y], back[y + 1]):
                p = index[earlier[e]]
                if p >= 0:
                    total += behind[e] * now[p * phases + phase]
            after[k * phases + following[two, phase]] = total * min(kappa[one, phase], kappa[two, phase])
    unmark(ball_first, ball_state, s, index)
    unmark(ball_first, ball_state, u, target)


@compiled
def move_backward(
    back, earlier, first, other, ahead, ball_first, ball_state, ball_level, kappa, following, far, spread,
    metric, s, t, now, beyond, before, index, target,
):  # fmt: skip
    """before = what follows the ball of s, if `now` follows that of t and no more than `beyond` the states outside.

    Returns the most that can follow a state outside the ball of s.
    """
    phases = kappa.shape[1]
    mark(ball_first, ball_state, s, index)
    mark(ball_first, ball_state, t, target)
    for k in range(ball_first[s + 1] - ball_first[s]):
        x = ball_state[ball_first[s] + k]
        for phase in range(phases):
            total = 0.0
            for e in range(first[x], first[x + 1]):
                p = target[other[e]]
                if p < 0:
                    if beyond > 0.0:
                        total += ahead[e] * far[phase] * beyond
                    continue
                level = ball_level[metric, ball_first[t] + p]
                if level >= 0:
                    total += ahead[e] * kappa[level, phase] * now[p * phases + following[level, phase]]
            before[k * phases + phase] = total
    most = 0.0
    if beyond > 0.0:
        for phase in range(phases):
            most = max(most, far[phase] * beyond)
    for p in range(ball_first[t + 1] - ball_first[t]):
        y, level = ball_state[ball_first[t] + p], ball_level[metric, ball_first[t] + p]
        if level < 0 or not _has_outside(back, earlier, y, index):
            continue
        for phase in range(phases):
            most = max(most, kappa[level, phase] * now[p * phases + following[level, phase]])
    unmark(ball_first, ball_state, s, index)
    unmark(ball_first, ball_state, t, target)
    return most * spread


@compiled
def _has_outside(back, earlier, y, index):
    """Whether a state that is not marked leads to y, of those that some edge leads to."""
    for e in range(back[y], back[y + 1]):
        x = earlier[e]
        if index[x] < 0 and back[x] < back[x + 1]:
            return True
    return False


@compiled
def left_box_step(
    back, earlier, behind, first, other, ahead, ball_first, ball_state, ball_level, kappa, following, far, leaving,
    spread, metric, start_phase, low, high, tail, valid, live, slack,
):  # fmt: skip
    """Boxes of α(y)/α(own) one step later, and of the sum over all states outside the ball."""
    size, phases = len(back) - 1, kappa.shape[1]
    new_low, new_high = np.full(len(low), np.inf), np.zeros(len(high))
    new_tail, new_valid = np.zeros(size), np.zeros(size, dtype=np.bool_)
    index, target, sharing = np.full(size, -1), np.full(size, -1), np.full(size, -1)
    own_low, own_high = np.zeros(size), np.zeros(size)
    up, down = 1.0 + slack, 1.0 - slack
    for t in range(size):
        if not live[t]:
            continue
        begin = ball_first[t] * phases
        for r in range(back[t], back[t + 1]):
            s = earlier[r]
            if not valid[s]:
                continue
            new_valid[t] = True
            mark(ball_first, ball_state, s, index)
            base = ball_first[s] * phases
            for k in range(ball_first[s + 1] - ball_first[s]):
                x = ball_state[ball_first[s] + k]
                own_low[x], own_high[x] = low[base + k * phases + start_phase], high[base + k * phases + start_phase]
            below_low, below_high, most_far = 0.0, 0.0, 0.0
            for e in range(back[t], back[t + 1]):
                x = earlier[e]
                if index[x] >= 0:
                    below_low += behind[e] * own_low[x]
                    below_high += behind[e] * own_high[x]
                elif back[x] < back[x + 1]:
                    own_low[x], own_high[x] = 0.0, tail[s]
                    most_far = max(most_far, behind[e])
                else:
                    own_low[x], own_high[x] = 0.0, 0.0
                if first[x + 1] - first[x] <= _MANY_EDGES:
                    for f in range(first[x], first[x + 1]):
                        sharing[other[f]] = r
            if most_far > 0.0 and tail[s] > 0.0:
                below_high += most_far * tail[s]
            for k in range(ball_first[t + 1] - ball_first[t]):
                y, level = ball_state[ball_first[t] + k], ball_level[metric, ball_first[t] + k]
                if level < 0:
                    for phase in range(phases):
                        new_low[begin + k * phases + phase] = 0.0
                    continue
                most_far = 0.0
                for e in range(back[y], back[y + 1]):
                    x = earlier[e]
                    if index[x] < 0:
                        own_low[x], own_high[x] = 0.0, 0.0
                        if back[x] < back[x + 1]:
                            own_high[x] = tail[s]
                            most_far = max(most_far, behind[e])
                for phase in range(phases):
                    above_low, above_high = 0.0, 0.0
                    for e in range(back[y], back[y + 1]):
                        p = index[earlier[e]]
                        if p >= 0:
                            above_low += behind[e] * low[base + p * phases + phase]
                            above_high += behind[e] * high[base + p * phases + phase]
                    if most_far > 0.0 and tail[s] > 0.0:
                        above_high += most_far * tail[s]
                    most, least = above_high / below_low, above_low / below_high
                    if phase == start_phase and sharing[y] == r:
                        most = min(most, largest_fraction(back, earlier, behind, own_low, own_high, y, t, 0.0, slack))
                        inverse = largest_fraction(back, earlier, behind, own_low, own_high, t, y, 0.0, slack)
                        if inverse < np.inf:
                            least = max(least, 1.0 / inverse)
                    entry = begin + k * phases + following[level, phase]
                    # an upper end may not underflow to 0
                    new_high[entry] = max(new_high[entry], most * max(kappa[level, phase], 2.0**-300) * up)
                    new_low[entry] = min(new_low[entry], least * kappa[level, phase] * down)
            mark(ball_first, ball_state, t, target)
            outside, most_far, terms = 0.0, 0.0, (ball_first[s + 1] - ball_first[s]) * phases + 8
            for phase in range(phases):
                most_far = max(most_far, far[phase])
            if most_far > 0.0:
                for k in range(ball_first[s + 1] - ball_first[s]):
                    edges = leaving_ball(first, other, ahead, leaving, ball_state[ball_first[s] + k], target)
                    if edges > 0.0:
                        for phase in range(phases):
                            outside += high[base + k * phases + phase] * edges * far[phase]
                if tail[s] > 0.0:
                    outside += tail[s] * spread * most_far
            new_tail[t] = max(new_tail[t], outside / below_low * (1.0 + 2.0 * slack + terms * 2.0**-50))
            unmark(ball_first, ball_state, t, target)
            unmark(ball_first, ball_state, s, index)
    settle(ball_first, ball_state, phases, start_phase, new_low, new_high, new_tail, new_valid)
    return new_low, new_high, new_tail, new_valid


@compiled
def right_box_step(
    back, earlier, first, other, ahead, ball_first, ball_state, ball_level, kappa, following, far,
    spread, metric, start_phase, low, high, tail, valid, live, slack,
):  # fmt: skip
    """Boxes of β(y)/β(own) one step earlier, and of the largest outside the ball."""
    size, phases = len(back) - 1, kappa.shape[1]
    new_low, new_high = np.full(len(low), np.inf), np.zeros(len(high))
    new_tail, new_valid = np.zeros(size), np.zeros(size, dtype=np.bool_)
    index, target, sharing = np.full(size, -1), np.full(size, -1), np.full(size, -1)
    own_low, own_high = np.zeros(size), np.zeros(size)
    up, down = 1.0 + slack, 1.0 - slack
    for s in range(size):
        if not live[s]:
            continue
        begin = ball_first[s] * phases
        for r in range(first[s], first[s + 1]):
            t = other[r]
            if not valid[t]:
                continue
            new_valid[s] = True
            base, beyond = ball_first[t] * phases, tail[t] if far[0] > 0.0 else 0.0
            mark(ball_first, ball_state, t, target)
            for p in range(ball_first[t + 1] - ball_first[t]):
                y, level = ball_state[ball_first[t] + p], ball_level[metric, ball_first[t] + p]
                own_low[y], own_high[y] = 0.0, 0.0
                if level >= 0:
                    entry, worth = base + p * phases + following[level, start_phase], kappa[level, start_phase]
                    own_low[y] = low[entry] * worth
                    if high[entry] > 0.0:
                        own_high[y] = max(high[entry] * worth, 2.0**-600)
            below_low, below_high = 0.0, 0.0
            for e in range(first[s], first[s + 1]):
                y = other[e]
                if target[y] < 0:
                    own_low[y], own_high[y] = 0.0, far[start_phase] * beyond if beyond > 0.0 else 0.0
                below_low += ahead[e] * own_low[y]
                below_high += ahead[e] * own_high[y]
                if back[y + 1] - back[y] <= _MANY_EDGES:
                    for f in range(back[y], back[y + 1]):
                        sharing[earlier[f]] = r
            for k in range(ball_first[s + 1] - ball_first[s]):
                x = ball_state[ball_first[s] + k]
                for phase in range(phases):
                    above_low, above_high = 0.0, 0.0
                    for e in range(first[x], first[x + 1]):
                        y = other[e]
                        p = target[y]
                        if p < 0:
                            own_low[y], own_high[y] = 0.0, 0.0
                            if beyond > 0.0:
                                own_high[y] = far[start_phase] * beyond
                                above_high += ahead[e] * far[phase] * beyond
                            continue
                        level = ball_level[metric, ball_first[t] + p]
                        if level >= 0:
                            entry, worth = base + p * phases + following[level, phase], kappa[level, phase]
                            above_low += ahead[e] * worth * low[entry]
                            if high[entry] > 0.0:
                                above_high += ahead[e] * max(worth * high[entry], 2.0**-600)
                    most, least = above_high / below_low, above_low / below_high
                    if phase == start_phase and sharing[x] == r:
                        most = min(most, largest_fraction(first, other, ahead, own_low, own_high, x, s, 0.0, slack))
                        inverse = largest_fraction(first, other, ahead, own_low, own_high, s, x, 0.0, slack)
                        if inverse < np.inf:
                            least = max(least, 1.0 / inverse)
                    entry = begin + k * phases + phase
                    new_high[entry] = max(new_high[entry], most * up)
                    new_low[entry] = min(new_low[entry], least * down)
            mark(ball_first, ball_state, s, index)
            outside = 0.0
            if beyond > 0.0:
                for phase in range(phases):
                    outside = max(outside, far[phase] * beyond)
            for p in range(ball_first[t + 1] - ball_first[t]):
                y, level = ball_state[ball_first[t] + p], ball_level[metric, ball_first[t] + p]
                if level < 0 or not _has_outside(back, earlier, y, index):
                    continue
                for phase in range(phases):
                    worth = high[base + p * phases + following[level, phase]]
                    if worth > 0.0:
                        outside = max(outside, kappa[level, phase] * worth, 2.0**-600)
            new_tail[s] = max(new_tail[s], outside * spread / below_low * (1.0 + 2.0 * slack))
            unmark(ball_first, ball_state, s, index)
            unmark(ball_first, ball_state, t, target)
    settle(ball_first, ball_state, phases, start_phase, new_low, new_high, new_tail, new_valid)
    return new_low, new_high, new_tail, new_valid


@compiled
def settle(ball_first, ball_state, phases, start_phase, low, high, tail, valid):
    """Small and large numbers out of the way of underflow, 1 for the word's own state in its own phase, in place."""
    for t in range(len(valid)):
        begin, end = ball_first[t] * phases, ball_first[t + 1] * phases
        if not valid[t]:
            low[begin:end] = 0.0
            continue
        for k in range(begin, end):
            if not low[k] > 2.0**-200:
                low[k] = 0.0
            if 0.0 < high[k] < 2.0**-200:
                high[k] = 2.0**-200
            low[k] = min(low[k], 2.0**200)
            if not high[k] <= 2.0**200:
                high[k] = np.inf
        if 0.0 < tail[t] < 2.0**-200:
            tail[t] = 2.0**-200
        if not tail[t] <= 2.0**200:
            tail[t] = np.inf
        for k in range(ball_first[t], ball_first[t + 1]):
            if ball_state[k] == t:
                low[k * phases + start_phase] = 1.0
                high[k * phases + start_phase] = 1.0


@compiled
def enclose_balls(ball_first, phases, low, high, tail, valid, more_low, more_high, more_tail, more_valid):
    """Enlarge boxes, kept in 32 bits, so that they hold others too, in place; see `steps.enclose`."""
    for t in range(len(valid)):
        if not more_valid[t]:
            continue
        for k in range(ball_first[t] * phases, ball_first[t + 1] * phases):
            least, most = more_low[k] * (1.0 - 2.0**-23), more_high[k] * (1.0 + 2.0**-23)
            if more_low[k] == more_high[k] and (most == 0.0 or more_low[k] == 1.0):
                least = most = more_high[k]
            if least < 2.0**-100:
                least = 0.0
            if 0.0 < most < 2.0**-100:
                most = 2.0**-100
            if most > 2.0**120:
                most = np.inf
            least = min(least, 2.0**120)
            low[k] = min(low[k], least) if valid[t] else least
            high[k] = max(high[k], most) if valid[t] else most
        tail[t] = max(tail[t], more_tail[t]) if valid[t] else more_tail[t]
        valid[t] = True
