"""One step of vectors that are kept over balls, and of their boxes: the compiled part of `local`.

See docs/theory/certificates.md, *Balls*. A vector over the ball of t has the entry k·F + φ for the k-th state of the
ball in phase φ. What lies outside is bounded, never dropped: on the left by the sum of all weight there (`tail`), on
the right by the largest value there. States that no edge leads to are empty after the first step and are not counted.
"""

from __future__ import annotations

import cython
import numpy as np

from symveil.numbers.compiled import built_from

if not cython.compiled:
    from numpy.typing import NDArray

    from symveil.calibration.costs.box_loops import settle
    from symveil.calibration.costs.step_loops import Arcs, Moves, largest_fraction
    from symveil.numbers.compiled import (
        INFINITY,
        Bools,
        Floats,
        FloatTable,
        Ints,
        IntTable,
        NewBools,
        NewFloats,
        NewInts,
        ShortTable,
    )

built_from("", __name__)

_MANY_EDGES = cython.declare(cython.longlong, 64)  # from one state: then all of them are counted as leaving the ball


@cython.cclass
class NearStates(Moves):
    """Moves of vectors over balls: see `balls.Balls`."""

    def __init__(
        self, ahead: Arcs, behind: Arcs, kappa: FloatTable, following: IntTable, metric_at: Ints, ball_first: Ints,
        ball_state: Ints, ball_own: Ints, ball_level: ShortTable, far: Floats, leaving: Floats, spread: cython.double,
    ) -> None:  # fmt: skip
        super().__init__(ahead, behind, kappa, following, metric_at)
        self.ball_first, self.ball_state, self.ball_own, self.ball_level = ball_first, ball_state, ball_own, ball_level
        self.far, self.leaving, self.spread = far, leaving, spread

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        balls = np.asarray(self.ball_first), np.asarray(self.ball_state), np.asarray(self.ball_own)
        outside = np.asarray(self.ball_level), np.asarray(self.far), np.asarray(self.leaving), self.spread
        return NearStates, (*super().__reduce__()[1], *balls, *outside)


@cython.cclass
class Marks:
    """index[y], target[y]: where y is in the ball that a vector is over, and in the one that it moves to, or −1."""

    def __init__(self, size: cython.longlong) -> None:
        self.index, self.target = np.full(size, -1), np.full(size, -1)


def mark(moves: NearStates, t: cython.longlong, index: NewInts) -> None:
    """index[y] = where y is in t's ball."""
    for k in range(moves.ball_first[t], moves.ball_first[t + 1]):
        index[moves.ball_state[k]] = k - moves.ball_first[t]


def unmark(moves: NearStates, t: cython.longlong, index: NewInts) -> None:
    """Undo `mark`."""
    for k in range(moves.ball_first[t], moves.ball_first[t + 1]):
        index[moves.ball_state[k]] = -1


def leaving_ball(moves: NearStates, x: cython.longlong, index: NewInts) -> float:
    """The weight of all edges from x to states that are not marked, or more."""
    if moves.ahead.first[x + 1] - moves.ahead.first[x] > _MANY_EDGES:
        return float(moves.leaving[x])
    total: cython.double = 0.0
    for e in range(moves.ahead.first[x], moves.ahead.first[x + 1]):
        if index[moves.ahead.other[e]] < 0:
            total += moves.ahead.weight[e]
    return total


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _sum_over_marked(
    arcs: Arcs, x: cython.longlong, phases: cython.longlong, phase: cython.longlong, values: Floats, index: NewInts
) -> cython.double:
    """As `step_loops.sum_over_edges`, over the edges to states that are marked, of values over a ball."""
    total: cython.double = 0.0
    for e in range(arcs.first[x], arcs.first[x + 1]):
        p = index[arcs.other[e]]
        if p >= 0:
            total += arcs.weight[e] * values[p * phases + phase]
    return total


def move_forward(
    moves: NearStates,
    metric: cython.longlong,
    s: cython.longlong,
    t: cython.longlong,
    now: Floats,
    after: NewFloats,
    marks: Marks,
) -> float:
    """after = what reaches the ball of t from `now`, over the ball of s; the weight that reaches states outside it."""
    phases = moves.phases
    mark(moves, s, marks.index)
    mark(moves, t, marks.target)
    for k in range(moves.ball_first[t + 1] - moves.ball_first[t]):
        y, level = moves.ball_state[moves.ball_first[t] + k], moves.ball_level[metric, moves.ball_first[t] + k]
        for phase in range(phases):
            if level < 0:
                after[k * phases + phase] = 0.0
                continue
            total = _sum_over_marked(moves.behind, y, phases, phase, now, marks.index)
            after[k * phases + moves.following[level, phase]] = total * moves.kappa[level, phase]
    lost: cython.double = 0.0
    for k in range(moves.ball_first[s + 1] - moves.ball_first[s]):
        outside = leaving_ball(moves, moves.ball_state[moves.ball_first[s] + k], marks.target)
        if outside > 0.0:
            for phase in range(phases):
                lost += now[k * phases + phase] * outside * moves.far[phase]
    unmark(moves, s, marks.index)
    unmark(moves, t, marks.target)
    return lost


def move_smaller(
    moves: NearStates,
    metric: cython.longlong,
    s: cython.longlong,
    t: cython.longlong,
    u: cython.longlong,
    now: Floats,
    after: NewFloats,
    marks: Marks,
) -> None:
    """As `move_forward` to the ball of t, with the smaller of the weights against t and u; nothing outside theirs."""
    phases = moves.phases
    mark(moves, s, marks.index)
    mark(moves, u, marks.target)
    for k in range(moves.ball_first[t + 1] - moves.ball_first[t]):
        y = moves.ball_state[moves.ball_first[t] + k]
        for phase in range(phases):
            after[k * phases + phase] = 0.0
        if marks.target[y] < 0:
            continue
        one = moves.ball_level[metric, moves.ball_first[u] + marks.target[y]]
        two = moves.ball_level[metric, moves.ball_first[t] + k]
        if one < 0 or two < 0:
            continue
        for phase in range(phases):
            if moves.following[one, phase] != moves.following[two, phase]:
                continue
            total = _sum_over_marked(moves.behind, y, phases, phase, now, marks.index)
            after[k * phases + moves.following[two, phase]] = total * min(
                moves.kappa[one, phase], moves.kappa[two, phase]
            )
    unmark(moves, s, marks.index)
    unmark(moves, u, marks.target)


def move_backward(
    moves: NearStates,
    metric: cython.longlong,
    s: cython.longlong,
    t: cython.longlong,
    now: Floats,
    beyond: cython.double,
    before: NewFloats,
    marks: Marks,
) -> float:
    """before = what follows the ball of s, if `now` follows that of t and no more than `beyond` the states outside.

    Returns the most that can follow a state outside the ball of s.
    """
    phases = moves.phases
    total: cython.double
    mark(moves, s, marks.index)
    mark(moves, t, marks.target)
    for k in range(moves.ball_first[s + 1] - moves.ball_first[s]):
        x = moves.ball_state[moves.ball_first[s] + k]
        for phase in range(phases):
            total = 0.0
            for e in range(moves.ahead.first[x], moves.ahead.first[x + 1]):
                p = marks.target[moves.ahead.other[e]]
                if p < 0:
                    if beyond > 0.0:
                        total += moves.ahead.weight[e] * moves.far[phase] * beyond
                    continue
                level = moves.ball_level[metric, moves.ball_first[t] + p]
                if level >= 0:
                    worth = now[p * phases + moves.following[level, phase]]
                    total += moves.ahead.weight[e] * moves.kappa[level, phase] * worth
            before[k * phases + phase] = total
    most: cython.double = 0.0
    if beyond > 0.0:
        for phase in range(phases):
            most = max(most, moves.far[phase] * beyond)
    for p in range(moves.ball_first[t + 1] - moves.ball_first[t]):
        y, level = moves.ball_state[moves.ball_first[t] + p], moves.ball_level[metric, moves.ball_first[t] + p]
        if level < 0 or not _has_outside(moves.behind, y, marks.index):
            continue
        for phase in range(phases):
            most = max(most, moves.kappa[level, phase] * now[p * phases + moves.following[level, phase]])
    unmark(moves, s, marks.index)
    unmark(moves, t, marks.target)
    return most * moves.spread


def _has_outside(behind: Arcs, y: cython.longlong, index: NewInts) -> bool:
    """Whether a state that is not marked leads to y, of those that some edge leads to."""
    for e in range(behind.first[y], behind.first[y + 1]):
        x = behind.other[e]
        if index[x] < 0 and behind.first[x] < behind.first[x + 1]:
            return True
    return False


def next_ball_boxes(
    moves: NearStates,
    forwards: cython.bint,
    metric: cython.longlong,
    start_phase: cython.longlong,
    low: Floats,
    high: Floats,
    tail: Floats,
    valid: Bools,
    live: Bools,
    slack: cython.double,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """(low, high, tail, valid): boxes of α(y)/α(own) one step later, or of β(y)/β(own) one step earlier, over balls.

    As `box_loops.next_boxes`. `tail` is of what lies outside: forwards the sum of it all, backwards the largest.
    """
    arcs: Arcs = moves.behind if forwards else moves.ahead
    reverse: Arcs = moves.ahead if forwards else moves.behind
    size, phases = moves.size, moves.phases
    results = np.full(len(low), np.inf), np.zeros(len(high)), np.zeros(size), np.zeros(size, dtype=np.bool_)
    new_low: NewFloats = results[0]
    new_high: NewFloats = results[1]
    new_tail: NewFloats = results[2]
    new_valid: NewBools = results[3]
    index: NewInts = np.full(size, -1)
    target: NewInts = np.full(size, -1)
    sharing: NewInts = np.full(size, -1)
    entries: Ints = np.asarray(moves.ball_first) * phases
    own: Ints = np.asarray(moves.ball_own) * phases + start_phase
    own_low: NewFloats = np.zeros(size)
    own_high: NewFloats = np.zeros(size)
    widest = int(np.diff(moves.ball_first).max(initial=1))
    room_low: NewFloats = np.zeros(widest * phases)
    room_high: NewFloats = np.zeros(widest * phases)
    worth_low: Floats = room_low
    worth_high: Floats = room_high
    beyond: NewFloats = np.zeros(phases)
    level: cython.longlong = 0
    entry: cython.longlong
    below_low: cython.double
    below_high: cython.double
    above_low: cython.double
    above_high: cython.double
    outside: cython.double
    most: cython.double
    least: cython.double
    with cython.nogil:
        up, down = 1.0 + slack, 1.0 - slack
        for t in range(size):
            if not live[t]:
                continue
            begin = moves.ball_first[t] * phases
            mark(moves, t, target)
            for r in range(arcs.first[t], arcs.first[t + 1]):
                s = arcs.other[r]
                if not valid[s]:
                    continue
                new_valid[t] = True
                mark(moves, s, index)
                for phase in range(phases):
                    beyond[phase] = tail[s] if forwards else moves.far[phase] * tail[s] if moves.far[0] > 0.0 else 0.0
                base = moves.ball_first[s] * phases
                if forwards:
                    worth_low = low[base:]
                    worth_high = high[base:]
                else:
                    _pay_mismatches(moves, metric, s, low, high, room_low, room_high)
                for k in range(moves.ball_first[s + 1] - moves.ball_first[s]):
                    x = moves.ball_state[moves.ball_first[s] + k]
                    own_low[x] = worth_low[k * phases + start_phase]
                    own_high[x] = worth_high[k * phases + start_phase]
                outside = _outside(arcs, moves.behind, forwards, t, index, beyond[start_phase], own_low, own_high)
                below_low, below_high = 0.0, outside * beyond[start_phase] if outside > 0.0 else 0.0
                for e in range(arcs.first[t], arcs.first[t + 1]):
                    x = arcs.other[e]
                    if index[x] >= 0:
                        below_low += arcs.weight[e] * own_low[x]
                        below_high += arcs.weight[e] * own_high[x]
                    if reverse.first[x + 1] - reverse.first[x] <= _MANY_EDGES:
                        for f in range(reverse.first[x], reverse.first[x + 1]):
                            sharing[reverse.other[f]] = r
                for k in range(moves.ball_first[t + 1] - moves.ball_first[t]):
                    y = moves.ball_state[moves.ball_first[t] + k]
                    if forwards:
                        level = moves.ball_level[metric, moves.ball_first[t] + k]
                        if level < 0:
                            for phase in range(phases):
                                new_low[begin + k * phases + phase] = 0.0
                            continue
                    outside = _outside(arcs, moves.behind, forwards, y, index, beyond[start_phase], own_low, own_high)
                    for phase in range(phases):
                        above_low, above_high = 0.0, outside * beyond[phase] if outside > 0.0 else 0.0
                        for e in range(arcs.first[y], arcs.first[y + 1]):
                            p = index[arcs.other[e]]
                            if p >= 0:
                                above_low += arcs.weight[e] * worth_low[p * phases + phase]
                                above_high += arcs.weight[e] * worth_high[p * phases + phase]
                        most = above_high / below_low
                        least = above_low / below_high
                        if phase == start_phase and sharing[y] == r:
                            most = min(most, largest_fraction(arcs, own_low, own_high, y, t, 0.0, slack))
                            inverse = largest_fraction(arcs, own_low, own_high, t, y, 0.0, slack)
                            if inverse < INFINITY:
                                least = max(least, 1.0 / inverse)
                        entry = begin + k * phases + phase
                        if forwards:
                            entry = begin + k * phases + moves.following[level, phase]
                            # an upper end may not underflow to 0
                            most *= max(moves.kappa[level, phase], 2.0**-300)
                            least *= moves.kappa[level, phase]
                        new_high[entry] = max(new_high[entry], most * up)
                        new_low[entry] = min(new_low[entry], least * down)
                if forwards:
                    outside = _weight_outside(moves, s, high, tail[s], target)
                else:
                    outside = _most_outside(moves, s, worth_high, beyond, target)
                terms = (moves.ball_first[s + 1] - moves.ball_first[s]) * phases + 8
                new_tail[t] = max(new_tail[t], outside / below_low * (1.0 + 2.0 * slack + terms * 2.0**-50))
                unmark(moves, s, index)
            unmark(moves, t, target)
        settle(entries, own, new_low, new_high, new_tail, new_valid)
    return results


def _pay_mismatches(
    moves: NearStates,
    metric: cython.longlong,
    s: cython.longlong,
    low: Floats,
    high: Floats,
    worth_low: NewFloats,
    worth_high: NewFloats,
) -> None:
    """The box of s before mismatches against s are paid; its upper ends may not underflow."""
    begin = moves.ball_first[s]
    for k in range(moves.ball_first[s + 1] - begin):
        level = moves.ball_level[metric, begin + k]
        for phase in range(moves.phases):
            entry = k * moves.phases + phase
            worth_low[entry] = 0.0
            worth_high[entry] = 0.0
            if level >= 0:
                own = (begin + k) * moves.phases + moves.following[level, phase]
                worth_low[entry] = moves.kappa[level, phase] * low[own]
                if high[own] > 0.0:
                    worth_high[entry] = max(moves.kappa[level, phase] * high[own], 2.0**-600)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _outside(
    arcs: Arcs,
    behind: Arcs,
    forwards: cython.bint,
    y: cython.longlong,
    index: NewInts,
    beyond: cython.double,
    own_low: NewFloats,
    own_high: NewFloats,
) -> cython.double:
    """What the edges of y weigh that lead out of a ball: the largest of them (forwards) or all; their ends' own box."""
    result: cython.double = 0.0
    for e in range(arcs.first[y], arcs.first[y + 1]):
        x = arcs.other[e]
        if index[x] < 0:
            own_low[x], own_high[x] = 0.0, 0.0
            if behind.first[x] < behind.first[x + 1]:
                own_high[x] = beyond
                result = max(result, arcs.weight[e]) if forwards else result + arcs.weight[e]
    return result


def _weight_outside(moves: NearStates, s: cython.longlong, high: Floats, tail: cython.double, target: NewInts) -> float:
    """The most that reaches states outside a ball from s's ball and from outside it."""
    outside, most_far = 0.0, 0.0
    phases = moves.phases
    for phase in range(phases):
        most_far = max(most_far, moves.far[phase])
    if most_far > 0.0:
        for k in range(moves.ball_first[s], moves.ball_first[s + 1]):
            edges = leaving_ball(moves, moves.ball_state[k], target)
            if edges > 0.0:
                for phase in range(phases):
                    outside += high[k * phases + phase] * edges * moves.far[phase]
        if tail > 0.0:
            outside += tail * moves.spread * most_far
    return outside


def _most_outside(moves: NearStates, s: cython.longlong, worth: Floats, beyond: NewFloats, target: NewInts) -> float:
    """The most that follows a state outside a ball, if `worth` follows those of s's ball."""
    most: cython.double = 0.0
    for phase in range(moves.phases):
        most = max(most, beyond[phase])
    for k in range(moves.ball_first[s + 1] - moves.ball_first[s]):
        if _has_outside(moves.behind, moves.ball_state[moves.ball_first[s] + k], target):
            for phase in range(moves.phases):
                most = max(most, worth[k * moves.phases + phase])
    return most * moves.spread
