"""Compiled loops over words and windows, which `enumeration`, `halves.tables` and `detours` explain."""

from __future__ import annotations

from typing import Any

import cython
import numpy as np
from numpy.typing import NDArray

from symveil.numbers.compiled import built_from

if not cython.compiled:
    from symveil.numbers.compiled import (
        INFINITY,
        AnyFloatTable,
        Codes,
        CodeTable,
        Floats,
        IntBox,
        Ints,
        NewAnyFloatTable,
        NewFloatBox,
        NewFloats,
        NewFloatTable,
        NewInts,
        exp,
    )

built_from("", __name__)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _cost_between(
    codes: CodeTable, i: cython.longlong, j: cython.longlong, units: IntBox, metric_of: Ints, begin: cython.longlong
) -> cython.longlong:
    """D of two words in units; −1 where it is infinite."""
    total: cython.longlong = 0
    for k in range(begin, codes.shape[1]):
        if codes[i, k] != codes[j, k]:
            unit = units[metric_of[k], codes[i, k], codes[j, k]]
            if unit < 0:
                return -1
            total += unit
    return total


def weights_by_drop(
    codes: CodeTable, group: Codes, prior: Floats, units: IntBox, metric_of: Ints, begin: cython.longlong,
    start: cython.longlong, period: cython.longlong, count: cython.longlong,
) -> NDArray[np.float64]:  # fmt: skip
    """N_w(k) of every word: the sum of the weights of the words whose κ against it is e^{−rate·k}."""
    summed = np.zeros((len(codes), count))
    sums: NewFloatTable = summed
    with cython.nogil:
        for i in range(len(codes)):
            for j in range(len(codes)):
                if group[i] == group[j]:
                    total = _cost_between(codes, i, j, units, metric_of, begin)
                    if total >= 0:
                        sums[i, (total + start) // period] += prior[j]
    return summed


def totals_of(
    codes: CodeTable, group: Codes, prior: Floats, units: IntBox, metric_of: Ints, begin: cython.longlong,
    start: cython.longlong, period: cython.longlong, rate: cython.double,
) -> NDArray[np.float64]:  # fmt: skip
    """Z of every word."""
    summed = np.zeros(len(codes))
    totals: NewFloats = summed
    with cython.nogil:
        for i in range(len(codes)):
            for j in range(len(codes)):
                if group[i] == group[j]:
                    total = _cost_between(codes, i, j, units, metric_of, begin)
                    if total >= 0:
                        totals[i] += prior[j] * exp(-rate * ((total + start) // period))
    return summed


def largest_losses(
    codes: CodeTable, group: Codes, totals: Floats, units: IntBox, metric_of: Ints, begin: cython.longlong,
    start: cython.longlong, period: cython.longlong, rate: cython.double, farthest: cython.longlong,
    exactly: cython.bint, symmetric: cython.bint, plain: cython.bint,
) -> tuple[NDArray[np.float64], float, int, int]:  # fmt: skip
    """(most, least, its two words): the largest loss at each distance up to `farthest`, and what a pair loses at least.

    With several phases and not `exactly`, the first term is a whole step for every period that D covers, at most, and
    what the released word that is one of the two shows, at least. Infinite where supports differ. `plain`: the largest
    ln Z(v)/Z(w) alone, to which rate·D is the same at each distance.
    """
    size, length = codes.shape[0], codes.shape[1]
    made = np.full(farthest + 1, -np.inf)
    most: NewFloats = made
    least, first_word, second_word = -1.0, 0, 0
    distance: cython.longlong
    at_least: cython.double
    at_most: cython.double
    steps: cython.double
    more: cython.double
    with cython.nogil:
        for i in range(size):
            for j in range(size):
                if i == j or group[i] != group[j] or (symmetric and totals[j] < totals[i]):
                    continue
                distance = 0
                for k in range(begin, length):
                    if codes[i, k] != codes[j, k]:
                        distance += 1
                        if distance > farthest:
                            break
                if distance > farthest:
                    continue
                cost = _cost_between(codes, i, j, units, metric_of, begin)
                if cost < 0:
                    most[distance] = INFINITY
                    continue
                change = totals[j] - totals[i]
                if period == 1:
                    at_least = rate * cost + change
                    at_most = change if plain else at_least
                elif exactly:
                    steps = -1.0
                    for k in range(size):
                        if group[k] == group[i]:
                            one = _cost_between(codes, i, k, units, metric_of, begin)
                            two = _cost_between(codes, j, k, units, metric_of, begin)
                            if one >= 0 and two < 0:
                                steps = INFINITY
                            elif one >= 0:
                                more = (two + start) // period - (one + start) // period
                                steps = max(steps, more)
                    at_most = rate * steps + change
                    at_least = at_most
                else:
                    at_most = rate * ((cost + period - 1) // period) + change
                    at_least = rate * ((cost + start) // period) + change
                most[distance] = max(most[distance], at_most)
                if at_least > least:
                    least, first_word, second_word = at_least, i, j
    return made, least, first_word, second_word


# A number of 32 bits is read as a product with 1.0: as one of 64 bits, in C as in Python.


def largest_ratio(high: AnyFloatTable, low: AnyFloatTable, order: Ints, first: Ints) -> tuple[float, int, int]:
    """The quotient with its group and column; group g is first[g] … first[g + 1] − 1."""
    best, group_of, column_of = 0.0, 0, 0
    columns: cython.longlong = high.shape[1]
    most: NewFloats = np.empty(512)  # as many as stay at hand while the rows of a group are looked through
    least: NewFloats = np.empty(512)
    width: cython.longlong
    left: cython.longlong
    top: cython.double
    ratio: cython.double
    large: cython.double
    small: cython.double
    with cython.nogil:
        for group in range(len(first) - 1):
            left = 0
            while left < columns:
                width = min(512, columns - left)
                row = order[first[group]]
                for c in range(width):
                    most[c] = high[row, left + c] * 1.0
                    least[c] = low[row, left + c] * 1.0
                for k in range(first[group] + 1, first[group + 1]):
                    row = order[k]
                    for c in range(width):
                        large, small = high[row, left + c] * 1.0, low[row, left + c] * 1.0
                        upper, lower = most[c], least[c]
                        most[c] = large if large > upper else upper
                        least[c] = small if small < lower else lower
                top = 0.0
                for c in range(width):
                    ratio = most[c] / least[c]
                    top = ratio if ratio > top else top
                if top > best:
                    best, group_of = top, group
                    for c in range(width):
                        if most[c] / least[c] == top:
                            column_of = left + c
                left += 512
    return best, group_of, column_of


def spread(table: AnyFloatTable, order: Ints, first: Ints, most: NewAnyFloatTable, least: NewAnyFloatTable) -> None:
    """Widen each group's extremes, which begin as its first row, by its other rows."""
    columns: cython.longlong = table.shape[1]
    with cython.nogil:
        for group in range(len(first) - 1):
            for k in range(first[group] + 1, first[group + 1]):
                row = order[k]
                for c in range(columns):
                    value, large, small = table[row, c] * 1.0, most[group, c] * 1.0, least[group, c] * 1.0
                    most[group, c] = value if value > large else large
                    least[group, c] = value if value < small else small


@cython.cclass
class Windows:
    """Windows as a graph, with bounds on the logarithms of its edges; the state, step and symbol of each."""

    first: Ints
    other: Ints
    low: Floats
    high: Floats
    state: Ints
    at_step: Ints
    symbol: Ints

    def __init__(
        self, first: Ints, other: Ints, low: Floats, high: Floats, state: Ints, at_step: Ints, symbol: Ints
    ) -> None:
        self.first, self.other, self.low, self.high = first, other, low, high
        self.state, self.at_step, self.symbol = state, at_step, symbol

    def __reduce__(self) -> tuple[Any, ...]:
        edges = np.asarray(self.first), np.asarray(self.other), np.asarray(self.low), np.asarray(self.high)
        return Windows, (*edges, np.asarray(self.state), np.asarray(self.at_step), np.asarray(self.symbol))


@cython.cclass
class Ends:
    """What follows a window where two paths meet, and where the word ends there."""

    meet_first: Ints
    meet_low: Floats
    meet_high: Floats
    low: Floats
    high: Floats

    def __init__(self, meet_first: Ints, meet_low: Floats, meet_high: Floats, low: Floats, high: Floats) -> None:
        self.meet_first, self.meet_low, self.meet_high, self.low, self.high = meet_first, meet_low, meet_high, low, high

    def __reduce__(self) -> tuple[Any, ...]:
        meets = np.asarray(self.meet_first), np.asarray(self.meet_low), np.asarray(self.meet_high)
        return Ends, (*meets, np.asarray(self.low), np.asarray(self.high))


@cython.cclass
class Sums:
    """The largest and the smallest sum to each window that paths have reached, and room for what is found there."""

    most: NewFloats
    least: NewFloats
    most_next: NewFloats
    least_next: NewFloats
    active: NewInts
    active_next: NewInts
    top: NewFloatTable
    bottom: NewFloatTable
    met: NewInts
    is_met: NewInts
    top_of: NewFloats
    bottom_of: NewFloats

    def __init__(
        self, size: cython.longlong, states: cython.longlong, widest: cython.longlong, letters: cython.longlong
    ) -> None:
        self.most, self.least = np.full(size, -np.inf), np.full(size, np.inf)
        self.most_next, self.least_next = np.full(size, -np.inf), np.full(size, np.inf)
        self.active, self.active_next = np.zeros(size, np.int64), np.zeros(size, np.int64)
        self.top, self.bottom = np.full((states, widest), -np.inf), np.full((states, widest), np.inf)
        self.met, self.is_met = np.zeros(states, np.int64), np.zeros(states, np.int64)
        self.top_of, self.bottom_of = np.full(letters, -np.inf), np.full(letters, np.inf)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _step(
    windows: Windows, sums: Sums, count: cython.longlong, padding: cython.longlong, is_first: cython.bint
) -> cython.longlong:
    """One symbol more, on all paths; how many windows they reach then."""
    most: NewFloats = sums.most
    least: NewFloats = sums.least
    most_next: NewFloats = sums.most_next
    least_next: NewFloats = sums.least_next
    reached: cython.longlong = 0
    for i in range(count):
        u = sums.active[i]
        if is_first or windows.state[u] != padding:  # blocks are of real symbols
            for e in range(windows.first[u], windows.first[u + 1]):
                t = windows.other[e]
                if most_next[t] == -INFINITY:
                    sums.active_next[reached] = t
                    reached += 1
                most_next[t] = max(most_next[t], most[u] + windows.high[e])
                least_next[t] = min(least_next[t], least[u] + windows.low[e])
        most[u] = -INFINITY
        least[u] = INFINITY
    for i in range(reached):
        t = sums.active_next[i]
        sums.active[i] = t
        most[t] = most_next[t]
        least[t] = least_next[t]
        most_next[t] = -INFINITY
        least_next[t] = INFINITY
    return reached


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _span_of_meetings(windows: Windows, ends: Ends, sums: Sums, count: cython.longlong) -> cython.double:
    """The largest sum minus the smallest, to one state with the same window after it; −∞ without a meeting."""
    top: NewFloatTable = sums.top
    bottom: NewFloatTable = sums.bottom
    span: cython.double = -INFINITY
    met: cython.longlong = 0
    for i in range(count):
        u = sums.active[i]
        c = windows.state[u]
        begin = ends.meet_first[u]
        for m in range(ends.meet_first[u + 1] - begin):
            if sums.is_met[c] == 0:
                sums.is_met[c] = 1
                sums.met[met] = c
                met += 1
            top[c, m] = max(top[c, m], sums.most[u] + ends.meet_high[begin + m])
            bottom[c, m] = min(bottom[c, m], sums.least[u] + ends.meet_low[begin + m])
    for i in range(met):
        c = sums.met[i]
        sums.is_met[c] = 0
        for m in range(top.shape[1]):
            if top[c, m] > -INFINITY:
                span = max(span, top[c, m] - bottom[c, m])
                top[c, m] = -INFINITY
                bottom[c, m] = INFINITY
    return span


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _span_of_ends(
    windows: Windows, ends: Ends, sums: Sums, count: cython.longlong, any_symbol: cython.bint
) -> cython.double:
    """The same where the word ends, in the same symbol, or in any one; −∞ where it does not."""
    top_of: NewFloats = sums.top_of
    bottom_of: NewFloats = sums.bottom_of
    span: cython.double = -INFINITY
    for a in range(len(top_of)):
        top_of[a] = -INFINITY
        bottom_of[a] = INFINITY
    for i in range(count):
        u = sums.active[i]
        if ends.high[u] > -INFINITY:
            a = 0 if any_symbol else windows.symbol[windows.state[u]]
            top_of[a] = max(top_of[a], sums.most[u] + ends.high[u])
            bottom_of[a] = min(bottom_of[a], sums.least[u] + ends.low[u])
    for a in range(len(top_of)):
        if top_of[a] > -INFINITY:
            span = max(span, top_of[a] - bottom_of[a])
    return span


def worst_spans(
    windows: Windows, ends: Ends, letters: cython.longlong, padding: cython.longlong, virtual: cython.longlong,
    longest: cython.longlong, steps: cython.longlong, tail: cython.longlong, begin: cython.longlong,
    end: cython.longlong,
) -> NDArray[np.float64]:  # fmt: skip
    """[hidden start, ends the word, length]: the largest sum minus the smallest, from each of some nodes; −∞ for none.

    Both paths have the same first node. They meet in one state, with the same window after it, `tail` steps after the
    block; where the word ends before that, in the same symbol.
    """
    size: cython.longlong = len(windows.first) - 1
    widest: cython.longlong = 1
    count: cython.longlong
    for u in range(size):
        widest = max(widest, ends.meet_first[u + 1] - ends.meet_first[u])
    made = np.full((2, 2, steps + 1), -np.inf)
    worst: NewFloatBox = made
    sums = Sums(size, len(windows.symbol), widest, letters)
    with cython.nogil:
        for start in range(begin, end):
            hidden = 1 if windows.state[start] == virtual else 0
            exactly = 0 if hidden == 1 else windows.at_step[start]
            left = steps - (exactly if exactly >= 0 else longest)  # no word has a window of that length before
            count = 1
            sums.active[0] = start
            sums.most[start] = 0.0
            sums.least[start] = 0.0
            for step in range(1, left + 1):
                count = _step(windows, sums, count, padding, step == 1)
                if step > tail:
                    span = _span_of_meetings(windows, ends, sums, count)
                    worst[hidden, 0, step - tail] = max(worst[hidden, 0, step - tail], span)
                if exactly >= 0 and step < left:
                    continue
                for after in range(tail):  # so many symbols after the block end the word
                    if step - after < 1:
                        continue
                    span = _span_of_ends(windows, ends, sums, count, after == 0)
                    ending = 1 if after == 0 else 0
                    worst[hidden, ending, step - after] = max(worst[hidden, ending, step - after], span)
            for i in range(count):
                sums.most[sums.active[i]] = -INFINITY
                sums.least[sums.active[i]] = INFINITY
    return made
