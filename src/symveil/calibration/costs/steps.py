"""Vectors over states × phases, one step of a word at a time: the compiled part that all certificates share.

See docs/theory/certificates.md. A vector has the entry x·F + φ for state x in phase φ. At a step the word has the
symbol `own`; what the costs make of every other state's symbol is looked up in `levels[metric, own, symbol[x]]`.
All numbers are sums of products of non-negative numbers, so their errors stay relative.
"""

from __future__ import annotations

import numpy as np

from symveil.languages.compiling import compiled


@compiled
def largest_fraction(first, other, weight, low, high, y, t, least, slack):
    """A number that Σ T(y,·)g / Σ T(t,·)g does not exceed for any g in the box; at least `least`.

    R is such a number as soon as Σ (T(y,s) − R·T(t,s))·g(s) ≤ 0 for every g: high where the bracket is positive, low
    elsewhere. The test is made with T(y,·) rounded up and T(t,·) rounded down, and R climbs (Dinkelbach) until it
    passes; should it not pass in time, infinity is the answer.
    """
    ratio = least
    for _ in range(60):
        above, below, positive, negative = 0.0, 0.0, 0.0, 0.0
        i, j = first[y], first[t]
        while i < first[y + 1] or j < first[t + 1]:
            of_y, of_t = 0.0, 0.0
            if j == first[t + 1] or (i < first[y + 1] and other[i] <= other[j]):
                state = other[i]
                of_y = weight[i] * (1.0 + slack)
                if j < first[t + 1] and other[j] == state:
                    of_t = weight[j] * (1.0 - slack)
                    j += 1
                i += 1
            else:
                state = other[j]
                of_t = weight[j] * (1.0 - slack)
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
        if not (below > 0.0 and above < np.inf):
            return np.inf
        ratio = max(ratio, above / below) * (1.0 + 4.0 * slack)
    return np.inf


@compiled
def step_forward(back, earlier, weight, symbol, levels, kappa, following, metric, own, now, after):
    """after = what reaches each state one step later, its mismatch against `own` included."""
    phases = kappa.shape[1]
    for y in range(len(symbol)):
        level = levels[metric, own, symbol[y]]
        for phase in range(phases):
            total = 0.0
            if level >= 0:
                for e in range(back[y], back[y + 1]):
                    total += weight[e] * now[earlier[e] * phases + phase]
                after[y * phases + following[level, phase]] = total * kappa[level, phase]
            else:
                after[y * phases + phase] = 0.0


@compiled
def compared(symbol, levels, kappa, following, metric, own, values, least, result):
    """result = what each state is worth before its mismatch against `own` is paid; not below `least` unless 0."""
    phases = kappa.shape[1]
    for y in range(len(symbol)):
        level = levels[metric, own, symbol[y]]
        for phase in range(phases):
            result[y * phases + phase] = 0.0
            if level >= 0:
                value = values[y * phases + following[level, phase]]
                if value > 0.0:
                    result[y * phases + phase] = max(kappa[level, phase] * value, least)


@compiled
def step_backward(first, other, weight, symbol, levels, kappa, following, metric, own, now, before, spare):
    """before = what follows each state one step earlier, if the word's symbol at this step is `own`."""
    phases = kappa.shape[1]
    compared(symbol, levels, kappa, following, metric, own, now, 0.0, spare)
    for x in range(len(symbol)):
        for phase in range(phases):
            total = 0.0
            for e in range(first[x], first[x + 1]):
                total += weight[e] * spare[other[e] * phases + phase]
            before[x * phases + phase] = total


@compiled
def total_of_word(
    back, earlier, weight, symbol, levels, kappa, following, metric_at, word, start, phase, final, limit
):  # fmt: skip
    """ln Z of a word given by its symbols after the start, in floats: for lower bounds, which need no rounding."""
    phases = kappa.shape[1]
    now, after = np.zeros(len(symbol) * phases), np.zeros(len(symbol) * phases)
    now[start * phases + phase] = 1.0
    logarithm = 0.0
    for step in range(limit):
        step_forward(
            back, earlier, weight, symbol, levels, kappa, following, metric_at[step + 1], word[step], now, after
        )
        top = after.max()
        if not top > 0.0:
            return -np.inf
        logarithm += np.log(top)
        for k in range(len(now)):
            now[k] = after[k] / top
    total = 0.0
    for x in range(len(symbol)):
        for each in range(phases):
            total += now[x * phases + each] * final[x]
    return logarithm + np.log(total) if total > 0.0 else -np.inf


@compiled
def summed(first, other, weight, phases, values, result):
    """Σ T(x,·)·values for every state x and phase."""
    for x in range(len(first) - 1):
        for phase in range(phases):
            total = 0.0
            for e in range(first[x], first[x + 1]):
                total += weight[e] * values[other[e] * phases + phase]
            result[x * phases + phase] = total


@compiled
def _mark_sharing(first, other, back, earlier, t, mark, stamp):
    """Mark the states that have a neighbour (in `first`, `other`) in common with t."""
    for e in range(first[t], first[t + 1]):
        for r in range(back[other[e]], back[other[e] + 1]):
            mark[earlier[r]] = stamp


@compiled
def next_left_boxes(
    first, other, back, earlier, weight, symbol, levels, kappa, following, metric, start_phase,
    row_state, next_first, next_row, low, high, valid, live, slack,
):  # fmt: skip
    """Boxes of α(y)/α(own) one step later. `first`, `other`: edges forwards; `back`, `earlier`, `weight`: backwards.

    Words in the row r (a state and what is known before it) can be in the rows next_row[next_first[r]] … afterwards.
    Where y and the word's next state have no state before them in common, sums above and below are independent;
    else what they share takes one value (`largest_fraction`).
    """
    size, phases = len(symbol), kappa.shape[1]
    width = size * phases
    new_low, new_high = np.full((len(row_state), width), np.inf), np.zeros((len(row_state), width))
    new_valid = np.zeros(len(row_state), dtype=np.bool_)
    sum_low, sum_high = np.empty(width), np.empty(width)
    own_low, own_high = np.empty(size), np.empty(size)
    mark = np.full(size, -1)
    stamp = -1
    up, down = 1.0 + slack, 1.0 - slack
    for r in range(len(row_state)):
        if not valid[r]:
            continue
        summed(back, earlier, weight, phases, low[r], sum_low)
        summed(back, earlier, weight, phases, high[r], sum_high)
        for y in range(size):
            own_low[y] = low[r, y * phases + start_phase]
            own_high[y] = high[r, y * phases + start_phase]
        for e in range(next_first[r], next_first[r + 1]):
            after = next_row[e]
            t = row_state[after]
            if not live[t]:
                continue
            new_valid[after] = True
            stamp += 1
            _mark_sharing(back, earlier, first, other, t, mark, stamp)
            below_low, below_high = sum_low[t * phases + start_phase], sum_high[t * phases + start_phase]
            for y in range(size):
                level = levels[metric, symbol[t], symbol[y]]
                for phase in range(phases):
                    if level < 0:
                        new_low[after, y * phases + phase] = 0.0
                        continue
                    most = sum_high[y * phases + phase] / below_low
                    least = sum_low[y * phases + phase] / below_high
                    if phase == start_phase and mark[y] == stamp:
                        most = min(most, largest_fraction(back, earlier, weight, own_low, own_high, y, t, 0.0, slack))
                        inverse = largest_fraction(back, earlier, weight, own_low, own_high, t, y, 0.0, slack)
                        if inverse < np.inf:
                            least = max(least, 1.0 / inverse)
                    entry = y * phases + following[level, phase]
                    # no weight is below 2⁻³⁰⁰ here: an upper end may not underflow to 0
                    worth = most * max(kappa[level, phase], 2.0**-300) * up
                    new_high[after, entry] = max(new_high[after, entry], worth)
                    new_low[after, entry] = min(new_low[after, entry], least * kappa[level, phase] * down)
    _settle(new_low, new_high, new_valid, row_state, phases, start_phase)
    return new_low, new_high, new_valid


@compiled
def next_right_boxes(
    first, other, back, earlier, weight, symbol, levels, kappa, following, metric, start_phase,
    row_state, next_first, next_row, low, high, valid, live, slack,
):  # fmt: skip
    """Boxes of β(y)/β(own) one step earlier; `weight` belongs to the edges forwards. See `next_left_boxes`."""
    size, phases = len(symbol), kappa.shape[1]
    width = size * phases
    new_low, new_high = np.full((len(row_state), width), np.inf), np.zeros((len(row_state), width))
    new_valid = np.zeros(len(row_state), dtype=np.bool_)
    sum_low, sum_high = np.empty(width), np.empty(width)
    worth_low, worth_high = np.empty(width), np.empty(width)
    own_low, own_high = np.empty(size), np.empty(size)
    mark = np.full(size, -1)
    stamp = -1
    up, down = 1.0 + slack, 1.0 - slack
    for r in range(len(row_state)):
        if not valid[r]:
            continue
        x = row_state[r]
        compared(symbol, levels, kappa, following, metric, symbol[x], low[r], 0.0, worth_low)
        compared(symbol, levels, kappa, following, metric, symbol[x], high[r], 2.0**-600, worth_high)
        summed(first, other, weight, phases, worth_low, sum_low)
        summed(first, other, weight, phases, worth_high, sum_high)
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
            _mark_sharing(first, other, back, earlier, t, mark, stamp)
            below_low, below_high = sum_low[t * phases + start_phase], sum_high[t * phases + start_phase]
            for y in range(size):
                for phase in range(phases):
                    entry = y * phases + phase
                    most = sum_high[entry] / below_low
                    least = sum_low[entry] / below_high
                    if phase == start_phase and mark[y] == stamp:
                        most = min(most, largest_fraction(first, other, weight, own_low, own_high, y, t, 0.0, slack))
                        inverse = largest_fraction(first, other, weight, own_low, own_high, t, y, 0.0, slack)
                        if inverse < np.inf:
                            least = max(least, 1.0 / inverse)
                    new_high[after, entry] = max(new_high[after, entry], most * up)
                    new_low[after, entry] = min(new_low[after, entry], least * down)
    _settle(new_low, new_high, new_valid, row_state, phases, start_phase)
    return new_low, new_high, new_valid


@compiled
def enclose_longer(first, other, begin, end, low, high, valid):
    """Boxes of the rows begin … end − 1: those that hold the boxes of all rows that know one state more, in place."""
    for r in range(begin, end):
        valid[r] = False
        for e in range(first[r], first[r + 1]):
            longer = other[e]
            if not valid[longer]:
                continue
            if not valid[r]:
                valid[r] = True
                low[r] = low[longer]
                high[r] = high[longer]
            else:
                for k in range(low.shape[1]):
                    low[r, k] = min(low[r, k], low[longer, k])
                    high[r, k] = max(high[r, k], high[longer, k])


@compiled
def _settle(low, high, valid, row_state, phases, start_phase):
    """Small and large numbers out of the way of underflow, and 1 for the word's own state in its own phase."""
    for t in range(len(valid)):
        if not valid[t]:
            low[t, :] = 0.0
            continue
        for k in range(low.shape[1]):
            if not low[t, k] > 2.0**-200:
                low[t, k] = 0.0
            if 0.0 < high[t, k] < 2.0**-200:
                high[t, k] = 2.0**-200
            low[t, k] = min(low[t, k], 2.0**200)
            if not high[t, k] <= 2.0**200:
                high[t, k] = np.inf
        low[t, row_state[t] * phases + start_phase] = 1.0
        high[t, row_state[t] * phases + start_phase] = 1.0


@compiled
def enclose(low, high, valid, more_low, more_high, more_valid):
    """Enlarge boxes, kept in 32 bits, so that they hold others too, in place.

    Rounding to 32 bits has a relative error below 2⁻²³, and none of these numbers but 0 is below 2⁻¹²⁶ afterwards.
    """
    for t in range(len(valid)):
        if not more_valid[t]:
            continue
        for k in range(low.shape[1]):
            least = more_low[t, k] * (1.0 - 2.0**-23)
            most = more_high[t, k] * (1.0 + 2.0**-23)
            if more_low[t, k] == more_high[t, k] and (most == 0.0 or more_low[t, k] == 1.0):
                least = most = more_high[t, k]
            if least < 2.0**-100:
                least = 0.0
            if 0.0 < most < 2.0**-100:
                most = 2.0**-100
            if most > 2.0**120:
                most = np.inf
            least = min(least, 2.0**120)
            if valid[t]:
                low[t, k] = min(low[t, k], least)
                high[t, k] = max(high[t, k], most)
            else:
                low[t, k] = least
                high[t, k] = most
        valid[t] = True
