"""Vectors over states × phases, one step of a word at a time: the compiled part that all certificates share.

See docs/theory/certificates.md. A vector has the entry x·F + φ for state x in phase φ. At a step the word has the
symbol `own`; what the costs make of every other state's symbol is looked up in `levels[metric, own, symbol[x]]`.
All numbers are sums of products of non-negative numbers, so their errors stay relative.
"""

from __future__ import annotations

import cython
import numpy as np

from symveil.numbers.compiled import built_from

if not cython.compiled:
    from symveil.numbers.compiled import INFINITY, Floats, FloatTable, Ints, IntTable, NewFloats, ShortBox, log

built_from("", __name__)


@cython.cclass
class Arcs:
    """The edges of a graph in one direction: other[first[x]] … are the states that x's lead to, rising."""

    def __init__(self, first: Ints, other: Ints, weight: Floats) -> None:
        self.first, self.other, self.weight = first, other, weight

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return Arcs, (np.asarray(self.first), np.asarray(self.other), np.asarray(self.weight))


@cython.cclass
class Moves:
    """The edges in both directions, and what the cost automaton does: κ and the next phase of each level and phase."""

    def __init__(self, ahead: Arcs, behind: Arcs, kappa: FloatTable, following: IntTable, metric_at: Ints) -> None:
        self.ahead, self.behind = ahead, behind
        self.kappa, self.following, self.metric_at = kappa, following, metric_at
        self.size, self.phases = len(ahead.first) - 1, kappa.shape[1]

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        automaton = np.asarray(self.kappa), np.asarray(self.following), np.asarray(self.metric_at)
        return Moves, (self.ahead, self.behind, *automaton)


@cython.cclass
class EveryState(Moves):
    """Moves of vectors over all states: the symbol of each, and the level of each symbol against each other one."""

    def __init__(
        self, ahead: Arcs, behind: Arcs, kappa: FloatTable, following: IntTable, metric_at: Ints, symbol: Ints,
        levels: ShortBox,
    ) -> None:  # fmt: skip
        super().__init__(ahead, behind, kappa, following, metric_at)
        self.symbol, self.levels = symbol, levels
        self.width = self.size * self.phases

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return EveryState, (*super().__reduce__()[1], np.asarray(self.symbol), np.asarray(self.levels))


def largest_fraction(
    arcs: Arcs, low: Floats, high: Floats, y: cython.longlong, t: cython.longlong, least: float, slack: float
) -> float:
    """A number that Σ T(y,·)g / Σ T(t,·)g does not exceed for any g in the box; at least `least`.

    R is such a number as soon as Σ (T(y,s) − R·T(t,s))·g(s) ≤ 0 for every g: high where the bracket is positive, low
    elsewhere. The test is made with T(y,·) rounded up and T(t,·) rounded down, and R climbs (Dinkelbach) until it
    passes; should it not pass in time, infinity is the answer.
    """
    ratio = least
    for _ in range(60):
        above, below, positive, negative = 0.0, 0.0, 0.0, 0.0
        i, j = arcs.first[y], arcs.first[t]
        while i < arcs.first[y + 1] or j < arcs.first[t + 1]:
            of_y, of_t = 0.0, 0.0
            if j == arcs.first[t + 1] or (i < arcs.first[y + 1] and arcs.other[i] <= arcs.other[j]):
                state = arcs.other[i]
                of_y = arcs.weight[i] * (1.0 + slack)
                if j < arcs.first[t + 1] and arcs.other[j] == state:
                    of_t = arcs.weight[j] * (1.0 - slack)
                    j += 1
                i += 1
            else:
                state = arcs.other[j]
                of_t = arcs.weight[j] * (1.0 - slack)
                j += 1
            bracket = of_y - ratio * of_t
            if bracket > 0:
                worth = high[state]
                positive += worth * bracket
            else:
                worth = low[state]
                negative -= worth * bracket
            above += worth * of_y
            below += worth * of_t
        if positive * (1.0 + slack) <= negative * (1.0 - slack):
            return ratio
        if not (below > 0.0 and above < INFINITY):
            return INFINITY
        ratio = max(ratio, above / below) * (1.0 + 4.0 * slack)
    return INFINITY


def fraction_bound(
    arcs: Arcs, low: Floats, high: Floats, y: cython.longlong, t: cython.longlong, least: float, slack: float
) -> float:
    """`largest_fraction`, for tests."""
    return largest_fraction(arcs, low, high, y, t, least, slack)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def sum_over_edges(
    arcs: Arcs, x: cython.longlong, phases: cython.longlong, phase: cython.longlong, values: Floats
) -> cython.double:
    """Σ T(x,·)·values in a phase."""
    total: cython.double = 0.0
    for e in range(arcs.first[x], arcs.first[x + 1]):
        total += arcs.weight[e] * values[arcs.other[e] * phases + phase]
    return total


def step_forward(
    moves: EveryState, metric: cython.longlong, own: cython.longlong, now: Floats, after: NewFloats
) -> None:
    """after = what reaches each state one step later, its mismatch against `own` included."""
    phases = moves.phases
    for y in range(moves.size):
        level = moves.levels[metric, own, moves.symbol[y]]
        for phase in range(phases):
            if level >= 0:
                total = sum_over_edges(moves.behind, y, phases, phase, now)
                after[y * phases + moves.following[level, phase]] = total * moves.kappa[level, phase]
            else:
                after[y * phases + phase] = 0.0


def smaller_step(
    moves: EveryState,
    metric: cython.longlong,
    own: cython.longlong,
    other: cython.longlong,
    now: Floats,
    after: NewFloats,
) -> None:
    """As `step_forward`, with the smaller of the two words' weights where both lead to the same phase, else nothing."""
    phases = moves.phases
    for y in range(moves.size):
        one, two = moves.levels[metric, own, moves.symbol[y]], moves.levels[metric, other, moves.symbol[y]]
        for phase in range(phases):
            after[y * phases + phase] = 0.0
        if one < 0 or two < 0:
            continue
        for phase in range(phases):
            to = moves.following[one, phase]
            if to == moves.following[two, phase]:
                total = sum_over_edges(moves.behind, y, phases, phase, now)
                after[y * phases + to] = total * min(moves.kappa[one, phase], moves.kappa[two, phase])


def compared(
    moves: EveryState, metric: cython.longlong, own: cython.longlong, values: Floats, least: float, result: NewFloats
) -> None:
    """result = what each state is worth before its mismatch against `own` is paid; not below `least` unless 0."""
    phases = moves.phases
    for y in range(moves.size):
        level = moves.levels[metric, own, moves.symbol[y]]
        for phase in range(phases):
            result[y * phases + phase] = 0.0
            if level >= 0:
                value = values[y * phases + moves.following[level, phase]]
                if value > 0.0:
                    result[y * phases + phase] = max(moves.kappa[level, phase] * value, least)


def step_backward(
    moves: EveryState, metric: cython.longlong, own: cython.longlong, now: Floats, before: NewFloats, spare: NewFloats
) -> None:
    """before = what follows each state one step earlier, if the word's symbol at this step is `own`."""
    compared(moves, metric, own, now, 0.0, spare)
    summed(moves.ahead, moves.phases, spare, before)


def summed(arcs: Arcs, phases: cython.longlong, values: Floats, result: NewFloats) -> None:
    """Σ T(x,·)·values for every state x and phase."""
    for x in range(len(arcs.first) - 1):
        for phase in range(phases):
            result[x * phases + phase] = sum_over_edges(arcs, x, phases, phase, values)


def total_of_word(
    moves: EveryState,
    word: Ints,
    start: cython.longlong,
    phase: cython.longlong,
    final: Floats,
    limit: cython.longlong,
) -> float:
    """ln Z of a word given by its symbols after the start, in floats: for lower bounds, which need no rounding."""
    now: NewFloats = np.zeros(moves.width)
    after: NewFloats = np.zeros(moves.width)
    now[start * moves.phases + phase] = 1.0
    logarithm, total = 0.0, 0.0
    with cython.nogil:
        for step in range(limit):
            step_forward(moves, moves.metric_at[step + 1], word[step], now, after)
            top = 0.0
            for k in range(moves.width):
                top = max(top, after[k])
            if not top > 0.0:
                break
            logarithm += log(top)
            for k in range(moves.width):
                now[k] = after[k] / top
        else:
            for x in range(moves.size):
                for each in range(moves.phases):
                    total += now[x * moves.phases + each] * final[x]
    return logarithm + log(total) if total > 0.0 else -INFINITY
