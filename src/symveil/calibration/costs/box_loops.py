"""Boxes: one step of those over all states, the hull of several, and how they are kept.

See docs/theory/certificates.md, *Boxes*. A row is a word's own state, with what is known beside it; its box has a lower
and an upper end for each state of its support and each phase: all states, or those of a ball. `tail` bounds what lies
outside the support.
"""

from __future__ import annotations

import cython
import numpy as np

from symveil.numbers.compiled import built_from

if not cython.compiled:
    from numpy.typing import NDArray

    from symveil.calibration.costs.step_loops import Arcs, EveryState, compared, largest_fraction, summed
    from symveil.numbers.compiled import (
        INFINITY,
        Bools,
        Floats,
        FloatTable,
        Ints,
        NewBools,
        NewBoolTable,
        NewFloats,
        NewFloatTable,
        NewInts,
        NewSingleTable,
    )

built_from("", __name__)


@cython.cclass
class Slots:
    """Boxes kept in 32 bits, a line for each slot: row r has the entries first[r] … first[r + 1] − 1."""

    def __init__(
        self, first: Ints, low: NewSingleTable, high: NewSingleTable, tail: NewFloatTable, valid: NewBoolTable
    ) -> None:
        self.first, self.low, self.high, self.tail, self.valid = first, low, high, tail, valid

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        ends = np.asarray(self.low), np.asarray(self.high), np.asarray(self.tail)
        return Slots, (np.asarray(self.first), *ends, np.asarray(self.valid))


def hull(
    slots: Slots,
    begin: cython.longlong,
    end: cython.longlong,
    row: cython.longlong,
    least: NewFloats,
    width: NewFloats,
) -> bool:
    """least = the lower ends of a row over some slots, width = how far the upper ends lie above it; False: no box."""
    base, count = slots.first[row], slots.first[row + 1] - slots.first[row]
    is_inside = False
    for slot in range(begin, end):
        if not slots.valid[slot, row]:
            continue
        if not is_inside:
            is_inside = True
            for k in range(count):
                least[k] = slots.low[slot, base + k]
                width[k] = slots.high[slot, base + k]
        else:
            for k in range(count):
                least[k] = min(least[k], slots.low[slot, base + k])
                width[k] = max(width[k], slots.high[slot, base + k])
    for k in range(count):
        if is_inside and width[k] > least[k]:
            width[k] = (width[k] - least[k]) * (1.0 + 2.0**-50)
        else:
            width[k] = 0.0
    return is_inside


def largest_tail(slots: Slots, begin: cython.longlong, end: cython.longlong, row: cython.longlong) -> float:
    """What lies outside a row's support at most, over some slots."""
    outside: cython.double = 0.0
    for slot in range(begin, end):
        if slots.valid[slot, row]:
            outside = max(outside, slots.tail[slot, row])
    return outside


def _mark_sharing(arcs: Arcs, reverse: Arcs, t: cython.longlong, mark: NewInts, stamp: cython.longlong) -> None:
    """Mark the states that have a neighbour along `arcs` in common with t."""
    for e in range(arcs.first[t], arcs.first[t + 1]):
        for r in range(reverse.first[arcs.other[e]], reverse.first[arcs.other[e] + 1]):
            mark[reverse.other[r]] = stamp


def next_boxes(
    moves: EveryState,
    forwards: cython.bint,
    metric: cython.longlong,
    start_phase: cython.longlong,
    row_state: Ints,
    next_first: Ints,
    next_row: Ints,
    low: FloatTable,
    high: FloatTable,
    valid: Bools,
    live: Bools,
    slack: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """(low, high, valid): boxes of α(y)/α(own) one step later, or of β(y)/β(own) one step earlier.

    Words in the row r (a state and what is known beside it) can be in the rows next_row[next_first[r]] … then.
    Forwards the mismatch is paid where an edge leads to, backwards before: else one side is the other one on the
    reversed graph. Where y and the word's next state have no neighbour in common, sums above and below are independent;
    else what they share takes one value (`largest_fraction`).
    """
    arcs: Arcs = moves.behind if forwards else moves.ahead
    reverse: Arcs = moves.ahead if forwards else moves.behind
    size, phases, width, rows = moves.size, moves.phases, moves.width, len(row_state)
    results = np.full((rows, width), np.inf), np.zeros((rows, width)), np.zeros(rows, dtype=np.bool_)
    new_low: NewFloats = results[0].reshape(-1)
    new_high: NewFloats = results[1].reshape(-1)
    new_valid: NewBools = results[2]
    first: Ints = np.arange(rows + 1) * width
    own: Ints = np.arange(rows) * width + np.asarray(row_state) * phases + start_phase
    tail: NewFloats = np.zeros(rows)
    worth_low: NewFloats = np.empty(width)
    worth_high: NewFloats = np.empty(width)
    sum_low: NewFloats = np.empty(width)
    sum_high: NewFloats = np.empty(width)
    own_low: NewFloats = np.empty(size)
    own_high: NewFloats = np.empty(size)
    mark: NewInts = np.full(size, -1)
    with cython.nogil:
        stamp: cython.longlong = -1
        level: cython.longlong = 0
        entry: cython.longlong
        most: cython.double
        least: cython.double
        up, down = 1.0 + slack, 1.0 - slack
        for r in range(rows):
            if not valid[r]:
                continue
            if forwards:
                worth_low[:] = low[r]
                worth_high[:] = high[r]
            else:
                compared(moves, metric, moves.symbol[row_state[r]], low[r], 0.0, worth_low)
                compared(moves, metric, moves.symbol[row_state[r]], high[r], 2.0**-600, worth_high)
            summed(arcs, phases, worth_low, sum_low)
            summed(arcs, phases, worth_high, sum_high)
            for y in range(size):
                # κ is rounded once: a factor that the bounds are pushed outwards by below
                own_low[y] = worth_low[y * phases + start_phase]
                own_high[y] = worth_high[y * phases + start_phase]
            for e in range(next_first[r], next_first[r + 1]):
                after = next_row[e]
                t = row_state[after]
                if not live[t]:
                    continue
                new_valid[after] = True
                stamp += 1
                _mark_sharing(arcs, reverse, t, mark, stamp)
                below_low, below_high = sum_low[t * phases + start_phase], sum_high[t * phases + start_phase]
                for y in range(size):
                    if forwards:
                        level = moves.levels[metric, moves.symbol[t], moves.symbol[y]]
                    for phase in range(phases):
                        entry = y * phases + phase
                        if level < 0:
                            new_low[after * width + entry] = 0.0
                            continue
                        most = sum_high[entry] / below_low
                        least = sum_low[entry] / below_high
                        if phase == start_phase and mark[y] == stamp:
                            most = min(most, largest_fraction(arcs, own_low, own_high, y, t, 0.0, slack))
                            inverse = largest_fraction(arcs, own_low, own_high, t, y, 0.0, slack)
                            if inverse < INFINITY:
                                least = max(least, 1.0 / inverse)
                        if forwards:
                            entry = y * phases + moves.following[level, phase]
                            # no weight is below 2⁻³⁰⁰ here: an upper end may not underflow to 0
                            most *= max(moves.kappa[level, phase], 2.0**-300)
                            least *= moves.kappa[level, phase]
                        entry += after * width
                        new_high[entry] = max(new_high[entry], most * up)
                        new_low[entry] = min(new_low[entry], least * down)
        settle(first, own, new_low, new_high, tail, new_valid)
    return results


def settle(first: Ints, own: Ints, low: NewFloats, high: NewFloats, tail: NewFloats, valid: NewBools) -> None:
    """Small and large numbers out of the way of underflow; 1 at own[t], the word's own state in its own phase."""
    for t in range(len(valid)):
        if not valid[t]:
            for k in range(first[t], first[t + 1]):
                low[k] = 0.0
            continue
        for k in range(first[t], first[t + 1]):
            if not low[k] > 2.0**-200:
                low[k] = 0.0
            if 0.0 < high[k] < 2.0**-200:
                high[k] = 2.0**-200
            low[k] = min(low[k], 2.0**200)
            if not high[k] <= 2.0**200:
                high[k] = INFINITY
        if 0.0 < tail[t] < 2.0**-200:
            tail[t] = 2.0**-200
        if not tail[t] <= 2.0**200:
            tail[t] = INFINITY
        low[own[t]] = 1.0
        high[own[t]] = 1.0


def enclose_longer(
    first: Ints,
    other: Ints,
    begin: cython.longlong,
    end: cython.longlong,
    low: NewFloatTable,
    high: NewFloatTable,
    valid: NewBools,
) -> None:
    """Boxes of the rows begin … end − 1: those that hold the boxes of all rows that know one state more, in place."""
    with cython.nogil:
        for r in range(begin, end):
            valid[r] = False
            for e in range(first[r], first[r + 1]):
                longer = other[e]
                if not valid[longer]:
                    continue
                if not valid[r]:
                    valid[r] = True
                    for k in range(low.shape[1]):
                        low[r, k] = low[longer, k]
                        high[r, k] = high[longer, k]
                else:
                    for k in range(low.shape[1]):
                        low[r, k] = min(low[r, k], low[longer, k])
                        high[r, k] = max(high[r, k], high[longer, k])


def enclose(
    slots: Slots, slot: cython.longlong, more_low: Floats, more_high: Floats, more_tail: Floats, more_valid: Bools
) -> None:
    """Enlarge the boxes of a slot so that they hold others too, in place.

    Rounding to 32 bits has a relative error below 2⁻²³, and none of these numbers but 0 is below 2⁻¹²⁶ afterwards.
    """
    with cython.nogil:
        for t in range(len(more_valid)):
            if not more_valid[t]:
                continue
            is_first: cython.bint = not slots.valid[slot, t]
            least: cython.double
            most: cython.double
            for k in range(slots.first[t], slots.first[t + 1]):
                least = more_low[k] * (1.0 - 2.0**-23)
                most = more_high[k] * (1.0 + 2.0**-23)
                if more_low[k] == more_high[k] and (most == 0.0 or more_low[k] == 1.0):
                    least = most = more_high[k]
                if least < 2.0**-100:
                    least = 0.0
                if 0.0 < most < 2.0**-100:
                    most = 2.0**-100
                if most > 2.0**120:
                    most = INFINITY
                least = min(least, 2.0**120)
                slots.low[slot, k] = least if is_first else min(slots.low[slot, k], least)
                slots.high[slot, k] = most if is_first else max(slots.high[slot, k], most)
            tail = more_tail[t]
            slots.tail[slot, t] = tail if is_first else max(slots.tail[slot, t], tail)
            slots.valid[slot, t] = True
