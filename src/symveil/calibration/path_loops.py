"""Blocks: the largest Z(v)/Z(w) of two words that differ in one block of positions.

See docs/theory/certificates.md.
For one block p → q of length L, between the word's states a (before) and c (after; none at the end
of the word),

    Z ∝ Σ_{y,y'} γ(y|a) · P(y,y') · γ(y'|c),   P_p(y,y') = Σ over paths r from y to y' of T(r)·z^{d(r,p)},

and the boxes bound both γ. So Z(v)/Z(w) ≤ R as soon as Σ λ(y,y')(P_q − R·P_p)(y,y') ≤ 0 for every
λ in the product of the boxes: high where the bracket is positive, low where it is negative.

Only pairs (y,y') joined by a path that touches p or q at the right time need a look: on all others
P_q = P_p = z^L·A^{L+1}, the bracket is (1−R) times that and, as R ≥ 1, at most (1−R) times its value
at low, of which a lower bound is known for all pairs together. With the plain weight as a start,

    P_p(y,y') = z^L A^{L+1}(y,y') + Σ_i (1−z) z^{i−1} A^i(y,p_i) · G_i(y'),

where G_i(y') is the weight of everything from p_i at time i to y': the i-th term is what the match
at time i adds. All terms are positive, so float errors stay relative: `slack` is larger than four
times their bound, P_q is rounded up by it and P_p down.

This file is longer than 500 lines because its loops call each other, and calls across compiled modules cost time.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np

from symveil.numbers.compiled import built_from

if not cython.compiled:
    from symveil.calibration.costs.step_loops import Arcs
    from symveil.numbers.compiled import (
        INFINITY,
        Bools,
        Floats,
        FloatTable,
        Ints,
        IntTable,
        NewFloatBox,
        NewFloats,
        NewFloatTable,
        NewInts,
        NewIntTable,
    )

    MIDDLE, FROM_START, FINAL = 0, 1, 2

built_from("", __name__)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _power(base: cython.double, exponent: cython.longlong) -> cython.double:
    """base to the power of a small number ≥ 0, by squares."""
    result = 1.0
    while exponent > 0:
        if exponent % 2 == 1:
            result *= base
        base *= base
        exponent //= 2
    return result


@cython.cclass
class Ways:
    """The arcs of a graph in both directions; the virtual start, or −1; where words may end."""

    ahead: Arcs
    behind: Arcs
    start: cython.longlong
    accepting: Bools

    def __init__(self, ahead: Arcs, behind: Arcs, start: cython.longlong, accepting: Bools) -> None:
        self.ahead, self.behind, self.start, self.accepting = ahead, behind, start, accepting

    def __reduce__(self) -> tuple[Any, ...]:
        return Ways, (self.ahead, self.behind, self.start, np.asarray(self.accepting))


@cython.cclass
class Powers:
    """The columns of A¹, A², …: the states that reach one in i steps; and the rows of A^{L+1}.

    ends[0] is where a word may end (1 or 0), ends[1] is A^L applied to it.
    """

    column_first: IntTable
    column_row: Ints
    column_value: Floats
    row_first: Ints
    row_column: Ints
    row_value: Floats
    ends: FloatTable

    def __init__(
        self, column_first: IntTable, column_row: Ints, column_value: Floats, row_first: Ints, row_column: Ints,
        row_value: Floats, ends: FloatTable,
    ) -> None:  # fmt: skip
        self.column_first, self.column_row, self.column_value = column_first, column_row, column_value
        self.row_first, self.row_column, self.row_value, self.ends = row_first, row_column, row_value, ends

    def __reduce__(self) -> tuple[Any, ...]:
        columns = np.asarray(self.column_first), np.asarray(self.column_row), np.asarray(self.column_value)
        rows = np.asarray(self.row_first), np.asarray(self.row_column), np.asarray(self.row_value)
        return Powers, (*columns, *rows, np.asarray(self.ends))


@cython.cclass
class Boxes:
    """The boxes before a block and after it; everything[a, c] is a lower bound on Σ low·plain."""

    low_before: FloatTable
    high_before: FloatTable
    low_after: FloatTable
    high_after: FloatTable
    valid_after: Bools
    everything: FloatTable

    def __init__(
        self, low_before: FloatTable, high_before: FloatTable, low_after: FloatTable, high_after: FloatTable,
        valid_after: Bools, everything: FloatTable,
    ) -> None:  # fmt: skip
        self.low_before, self.high_before, self.low_after, self.high_after = (
            low_before,
            high_before,
            low_after,
            high_after,
        )
        self.valid_after, self.everything = valid_after, everything

    def __reduce__(self) -> tuple[Any, ...]:
        before = np.asarray(self.low_before), np.asarray(self.high_before)
        after = np.asarray(self.low_after), np.asarray(self.high_after), np.asarray(self.valid_after)
        return Boxes, (*before, *after, np.asarray(self.everything))


@cython.cclass
class Blocks:
    """The blocks of one kind and length: how they weigh, the boxes beside them, and room to work in.

    `keys` and `results` hold what paths touch, one after the other; `joined_keys` and `joined` what the last one does.
    """

    ways: Ways
    powers: Powers
    boxes: Boxes
    decay: cython.double
    excess: cython.double
    slack: cython.double
    final: cython.bint
    size: cython.longlong
    length: cython.longlong
    values: NewFloats
    seen: NewFloats
    states: NewInts
    spare: NewInts
    room: cython.longlong
    raw_keys: NewInts
    raw: NewFloats
    order: NewInts
    next_order: NewInts
    joined_keys: NewInts
    joined: NewFloatTable
    stored_room: cython.longlong
    keys: NewInts
    results: NewFloatTable
    least: cython.double
    most: cython.double

    def __init__(
        self, ways: Ways, powers: Powers, boxes: Boxes, decay: cython.double, excess: cython.double,
        slack: cython.double, final: cython.bint, length: cython.longlong,
    ) -> None:  # fmt: skip
        self.ways, self.powers, self.boxes = ways, powers, boxes
        self.decay, self.excess, self.slack, self.final, self.length = decay, excess, slack, final, length
        size = len(ways.ahead.first) - 1
        self.size = size
        self.values, self.seen = np.zeros(size), np.full(size, -1.0)
        self.states, self.spare = np.empty(size, np.int64), np.empty(size, np.int64)
        self.keys, self.results, self.stored_room = np.empty(0, np.int64), np.empty((0, 2)), 0
        self.raw_keys, self.raw, self.room = np.empty(0, np.int64), np.empty(0), 0

    @cython.cfunc
    def _take_room(self, needed: cython.longlong) -> cython.longlong:
        """Room for so many entries of one path; what it has so far stays."""
        room: cython.longlong = max(256, 2 * needed)
        keys, values = np.empty(room, np.int64), np.empty(room)
        keys[: self.room], values[: self.room] = self.raw_keys, self.raw
        self.raw_keys, self.raw, self.room = keys, values, room
        self.order, self.next_order = np.empty(room, np.int64), np.empty(room, np.int64)
        self.joined_keys, self.joined = np.empty(room, np.int64), np.empty((room, 2))
        return 0

    @cython.cfunc
    def _keep_room(self, needed: cython.longlong) -> cython.longlong:
        """Room for so many entries of all paths; what they have so far stays."""
        room: cython.longlong = max(4096, 2 * needed)
        keys, results = np.empty(room, np.int64), np.empty((room, 2))
        keys[: self.stored_room], results[: self.stored_room] = self.keys, self.results
        self.keys, self.results, self.stored_room = keys, results, room
        return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sort(blocks: Blocks, count: cython.longlong) -> cython.void:
    """`order`: how the first `count` keys rise; equal ones stay in theirs (merging runs of 1, 2, 4, …)."""
    keys: NewInts = blocks.raw_keys
    order: NewInts = blocks.order
    spare: NewInts = blocks.next_order
    middle: cython.longlong
    end: cython.longlong
    for k in range(count):
        order[k] = k
    run = 1
    while run < count:
        begin = 0
        while begin < count:
            middle, end = min(begin + run, count), min(begin + 2 * run, count)
            left, right = begin, middle
            for k in range(begin, end):
                if right >= end or (left < middle and keys[order[left]] <= keys[order[right]]):
                    spare[k] = order[left]
                    left += 1
                else:
                    spare[k] = order[right]
                    right += 1
            begin = end
        order, spare = spare, order
        run *= 2
    blocks.order, blocks.next_order = order, spare


@cython.cfunc
def _paths_from(
    first: Ints, other: Ints, state: cython.longlong, length: cython.longlong, avoided: cython.longlong
) -> Any:
    """All paths of `length` steps from a state, a row each; none through `avoided`."""
    made = np.full((1, length), state, np.int64)
    rows: NewIntTable = made
    longer: NewIntTable
    count = 1
    for step in range(length):
        total = 0
        for i in range(count):
            last = rows[i, step - 1] if step > 0 else state
            total += first[last + 1] - first[last]
        made = np.empty((total, length), np.int64)
        longer = made
        index: cython.longlong = 0
        with cython.nogil:
            for i in range(count):
                last = rows[i, step - 1] if step > 0 else state
                for e in range(first[last], first[last + 1]):
                    if other[e] == avoided:
                        continue
                    for j in range(step):
                        longer[index, j] = rows[i, j]
                    longer[index, step] = other[e]
                    index += 1
        rows, count = longer, index
    return made[:count]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _weights_after(
    blocks: Blocks, paths: IntTable, row: cython.longlong, index: cython.longlong, steps: cython.longlong
) -> cython.longlong:
    """Fill states[:width] and values[state]: the weight from path[index] to each state `steps` later.

    The last step of an inner block leads out of it and is not compared with the path.
    """
    first: Ints = blocks.ways.ahead.first
    other: Ints = blocks.ways.ahead.other
    weight: Floats = blocks.ways.ahead.weight
    values: NewFloats = blocks.values
    seen: NewFloats = blocks.seen
    states: NewInts = blocks.states
    spare: NewInts = blocks.spare
    length, decay = blocks.length, blocks.decay
    states[0] = paths[row, index]
    values[paths[row, index]] = 1.0
    width = 1
    for step in range(steps):
        at = index + 1 + step
        wide = 0
        for k in range(width):
            mass = values[states[k]]
            for e in range(first[states[k]], first[states[k] + 1]):
                target = other[e]
                factor = decay if at < length and target != paths[row, at] else 1.0
                if seen[target] < 0.0:
                    seen[target] = 0.0
                    spare[wide] = target
                    wide += 1
                seen[target] += mass * weight[e] * factor
        for k in range(width):
            values[states[k]] = 0.0
        for k in range(wide):
            states[k] = spare[k]
        for k in range(wide):
            values[states[k]] = seen[states[k]]
            seen[states[k]] = -1.0
        width = wide
    return width


@cython.cfunc
@cython.nogil
@cython.exceptval(-1)
def _touched(blocks: Blocks, paths: IntTable, row: cython.longlong) -> cython.longlong:
    """How many (y, y') a path joins that touches this one: `joined_keys`, rising, and P and plain P in `joined`.

    A key is y·S + y', and y for a final block, where there is no y'; `ends` is then A^L·1.
    """
    size, length = blocks.size, blocks.length
    final: cython.bint = blocks.final
    states: NewInts = blocks.states
    values: NewFloats = blocks.values
    column_row: Ints = blocks.powers.column_row
    column_value: Floats = blocks.powers.column_value
    keys: NewInts
    raw: NewFloats
    total: cython.double
    count: cython.longlong = 0
    for i in range(length):
        gain = blocks.excess * _power(blocks.decay, i)
        width = _weights_after(blocks, paths, row, i, length - 1 - i + (0 if final else 1))
        total = 0.0
        if final:
            for k in range(width):
                total += values[states[k]] * blocks.powers.ends[0, states[k]]
        begin, end = blocks.powers.column_first[i, paths[row, i]], blocks.powers.column_first[i, paths[row, i] + 1]
        needed = count + (end - begin) * (1 if final else width)
        if needed > blocks.room:
            with cython.gil:
                blocks._take_room(needed)
        keys = blocks.raw_keys
        raw = blocks.raw
        for r in range(begin, end):
            if final:
                keys[count] = column_row[r]
                raw[count] = gain * column_value[r] * total
                count += 1
            else:
                for k in range(width):
                    keys[count] = column_row[r] * size + states[k]
                    raw[count] = gain * column_value[r] * values[states[k]]
                    count += 1
        for k in range(width):
            values[states[k]] = 0.0
    if count == 0:
        return 0
    _sort(blocks, count)
    keys = blocks.raw_keys
    raw = blocks.raw
    order: NewInts = blocks.order
    joined_keys: NewInts = blocks.joined_keys
    joined: NewFloatTable = blocks.joined
    row_column: Ints = blocks.powers.row_column
    unique: cython.longlong = 0
    untouched = _power(blocks.decay, length)
    index: cython.longlong = 0
    plain: cython.double
    for k in range(count):
        key = keys[order[k]]
        if unique > 0 and joined_keys[unique - 1] == key:
            joined[unique - 1, 0] += raw[order[k]]
            continue
        if final:
            plain = untouched * blocks.powers.ends[1, key]
        else:
            y, target = key // size, key % size
            if unique == 0 or joined_keys[unique - 1] // size != y:
                index = blocks.powers.row_first[y]
            while row_column[index] < target:
                index += 1
            plain = untouched * blocks.powers.row_value[index]
        joined_keys[unique] = key
        joined[unique, 0] = plain + raw[order[k]]
        joined[unique, 1] = plain
        unique += 1
    return unique


@cython.cfunc
@cython.nogil
def _raised(
    blocks: Blocks, ratio: cython.double, begin_p: cython.longlong, end_p: cython.longlong, begin_q: cython.longlong,
    end_q: cython.longlong, a: cython.longlong, c: cython.longlong, everything: cython.double,
) -> cython.double:  # fmt: skip
    """`ratio` ≥ 1, or a number that the block's Z(v)/Z(w) does not exceed if that is larger.

    `everything` is a lower bound on Σ low·plain over all pairs (y, y'), touched or not.
    """
    keys: NewInts = blocks.keys
    results: NewFloatTable = blocks.results
    low_before: FloatTable = blocks.boxes.low_before
    high_before: FloatTable = blocks.boxes.high_before
    low_after: FloatTable = blocks.boxes.low_after
    high_after: FloatTable = blocks.boxes.high_after
    final: cython.bint = blocks.final
    size, slack = blocks.size, blocks.slack
    low: cython.double
    high: cython.double
    of_p: cython.double
    of_q: cython.double
    plain: cython.double
    worth: cython.double
    key: cython.longlong
    rounded_sum = (end_p - begin_p + end_q - begin_q + 8) * 2.0**-51
    for _ in range(60):
        above, below, positive, negative, touched = 0.0, 0.0, 0.0, 0.0, 0.0
        i, j = begin_p, begin_q
        while i < end_p or j < end_q:
            if j == end_q or (i < end_p and keys[i] < keys[j]):
                key, of_p, of_q, plain = keys[i], results[i, 0], results[i, 1], results[i, 1]
                i += 1
            elif i == end_p or keys[j] < keys[i]:
                key, of_p, of_q, plain = keys[j], results[j, 1], results[j, 0], results[j, 1]
                j += 1
            else:
                key, of_p, of_q, plain = keys[i], results[i, 0], results[j, 0], results[i, 1]
                i += 1
                j += 1
            if final:
                low, high = low_before[a, key], high_before[a, key]
            else:
                y, after = key // size, key % size
                low, high = low_before[a, y] * low_after[c, after], high_before[a, y] * high_after[c, after]
            if high == 0.0:
                continue
            of_q *= 1.0 + slack
            of_p *= 1.0 - slack
            bracket = of_q - ratio * of_p
            if bracket > 0:
                worth = high
                positive += worth * bracket
            else:
                worth = low
                negative -= worth * bracket
            above += worth * of_q
            below += worth * of_p
            touched += low * plain
        rest = everything * (1.0 - slack - rounded_sum) - touched * (1.0 + slack + rounded_sum)
        if rest > 0:
            negative += (ratio - 1.0) * rest * (1.0 - slack)
            above += rest
            below += rest
        if positive * (1.0 + rounded_sum) <= negative * (1.0 - rounded_sum):
            return ratio
        if not (below > 0.0 and above < INFINITY):
            return INFINITY
        ratio = max(ratio, above / below) * (1.0 + 4.0 * (slack + rounded_sum))
    return INFINITY


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _spread(
    blocks: Blocks, keys: Ints, results: FloatTable, begin: cython.longlong, end: cython.longlong,
    a: cython.longlong, c: cython.longlong,
) -> cython.void:  # fmt: skip
    """Bounds on what the matches of one path add to Z: Σ λ·(P − plain) at low and at high, rounded outwards."""
    low_before: FloatTable = blocks.boxes.low_before
    high_before: FloatTable = blocks.boxes.high_before
    low_after: FloatTable = blocks.boxes.low_after
    high_after: FloatTable = blocks.boxes.high_after
    final: cython.bint = blocks.final
    size, slack = blocks.size, blocks.slack
    low: cython.double
    high: cython.double
    least: cython.double = 0.0
    most: cython.double = 0.0
    rounded_sum = (end - begin + 8) * 2.0**-51
    for k in range(begin, end):
        if final:
            low, high = low_before[a, keys[k]], high_before[a, keys[k]]
        else:
            y, after = keys[k] // size, keys[k] % size
            low, high = low_before[a, y] * low_after[c, after], high_before[a, y] * high_after[c, after]
        if high > 0.0:
            least += low * max(0.0, results[k, 0] * (1.0 - slack) - results[k, 1] * (1.0 + slack))
            most += high * (results[k, 0] * (1.0 + slack) - results[k, 1] * (1.0 - slack))
    blocks.least, blocks.most = least * (1.0 - rounded_sum), most * (1.0 + rounded_sum)


@cython.cfunc
@cython.nogil
def _largest_of(
    blocks: Blocks, paths: IntTable, count: cython.longlong, a: cython.longlong, only: cython.longlong,
    begin: NewInts, end: NewInts, bounds: NewFloatBox, ratio: cython.double,
) -> cython.double:  # fmt: skip
    """`ratio`, raised by each pair of these paths after a; before the state `only`, if that is not −1."""
    first: Ints = blocks.ways.ahead.first
    other: Ints = blocks.ways.ahead.other
    accepting: Bools = blocks.ways.accepting
    valid_after: Bools = blocks.boxes.valid_after
    everything: FloatTable = blocks.boxes.everything
    length, slack, size = blocks.length, blocks.slack, blocks.size
    final: cython.bint = blocks.final
    apart: cython.bint
    used: cython.longlong = 0
    path: cython.longlong
    slot: cython.longlong
    e: cython.longlong
    f: cython.longlong
    c: cython.longlong
    for i in range(count):
        last_i = paths[i, length - 1]
        if final and not accepting[last_i]:
            continue
        for j in range(count):
            last_j = paths[j, length - 1]
            apart = not final or accepting[last_j]
            for k in range(length):
                if paths[i, k] == paths[j, k]:
                    apart = False
                    break
            if not apart:
                continue
            e, f = first[last_i], first[last_j]
            while final or (e < first[last_i + 1] and f < first[last_j + 1]):
                if not final:
                    if other[e] < other[f]:
                        e += 1
                        continue
                    if other[f] < other[e]:
                        f += 1
                        continue
                c = 0 if final else other[e]
                slot_i, slot_j = e - first[last_i], f - first[last_j]
                e += 1
                f += 1
                if not final and (not valid_after[c] or (only >= 0 and c != only)):
                    continue
                if ratio == 0.0:
                    ratio = 1.0
                for turn in range(2):
                    path, slot = i, slot_i
                    if turn == 1:
                        path, slot = j, slot_j
                    if begin[path] < 0:
                        many = _touched(blocks, paths, path)
                        if used + many > blocks.stored_room:
                            with cython.gil:
                                blocks._keep_room(used + many)
                        begin[path] = used
                        for k in range(many):
                            y = blocks.joined_keys[k] if final else blocks.joined_keys[k] // size
                            if blocks.boxes.high_before[a, y] > 0.0:
                                blocks.keys[used] = blocks.joined_keys[k]
                                blocks.results[used, 0] = blocks.joined[k, 0]
                                blocks.results[used, 1] = blocks.joined[k, 1]
                                used += 1
                        end[path] = used
                    if bounds[path, slot, 1] < 0.0:
                        _spread(blocks, blocks.keys, blocks.results, begin[path], end[path], a, c)
                        bounds[path, slot, 0], bounds[path, slot, 1] = blocks.least, blocks.most
                common = everything[a, c] * (1.0 - slack)
                most = (common + bounds[j, slot_j, 1]) * (1.0 + slack)
                if most > ratio * (common + bounds[i, slot_i, 0]) * (1.0 - slack):
                    ratio = _raised(blocks, ratio, begin[i], end[i], begin[j], end[j], a, c, everything[a, c])
                    if ratio == INFINITY:
                        return ratio
                if final:
                    break
    return ratio


@cython.cfunc
@cython.nogil
@cython.exceptval(-1)
def _glance(
    blocks: Blocks, paths: IntTable, count: cython.longlong, a: cython.longlong, only: cython.longlong,
    most: NewFloats, least: NewFloats, reached: NewInts,
) -> cython.longlong:  # fmt: skip
    """For each state after these paths: the largest and the smallest of what they add, and how many there are."""
    first: Ints = blocks.ways.ahead.first
    other: Ints = blocks.ways.ahead.other
    accepting: Bools = blocks.ways.accepting
    valid_after: Bools = blocks.boxes.valid_after
    final: cython.bint = blocks.final
    e: cython.longlong
    c: cython.longlong
    for c in range(blocks.size):
        most[c], least[c], reached[c] = 0.0, INFINITY, 0
    for i in range(count):
        last = paths[i, blocks.length - 1]
        if final and not accepting[last]:
            continue
        many = _touched(blocks, paths, i)
        e = first[last]
        while final or e < first[last + 1]:
            c = 0 if final else other[e]
            e += 1
            if not final and (not valid_after[c] or (only >= 0 and c != only)):
                continue
            _spread(blocks, blocks.joined_keys, blocks.joined, 0, many, a, c)
            most[c] = max(most[c], blocks.most)
            least[c] = min(least[c], blocks.least)
            reached[c] += 1
            if final:
                break
    return 0


@cython.cfunc
def _paths_beside(kind: cython.longlong, ways: Ways, state: cython.longlong, length: cython.longlong) -> Any:
    """The paths of blocks that begin after this state; FROM_START: that end before it."""
    if kind == FROM_START:
        return _paths_from(ways.behind.first, ways.behind.other, state, length, ways.start)[:, ::-1].copy()
    return _paths_from(ways.ahead.first, ways.ahead.other, state, length, ways.start)


def largest_ratio(
    kind: cython.longlong, group: Ints, ways: Ways, powers: Powers, boxes: Boxes, decay: cython.double,
    excess: cython.double, length: cython.longlong, slack: cython.double,
) -> float:  # fmt: skip
    """The largest Z(v)/Z(w) over a group of blocks; 0 where there are none.

    MIDDLE: `group` holds the states a before the block. FROM_START: the states c after a block that
    begins at the virtual start: from there paths are too many to list, towards c they are not.
    FINAL: the states a before a block that ends the word.

    Most pairs need no more than a glance: Z = E + X with E ≥ `everything` common to both, so the
    ratio is at most (E + X_q)/(E + X_p) at the smallest E, if it is above 1 at all.
    """
    blocks = Blocks(ways, powers, boxes, decay, excess, slack, kind == FINAL, length)
    ratio: cython.double = 0.0
    widest: cython.longlong = 1
    for state in range(blocks.size):
        if state != ways.start:
            widest = max(widest, ways.ahead.first[state + 1] - ways.ahead.first[state])
    for h in range(len(group)):
        paths: IntTable = _paths_beside(kind, ways, group[h], length)
        a: cython.longlong = ways.start if kind == FROM_START else group[h]
        only: cython.longlong = group[h] if kind == FROM_START else -1
        count: cython.longlong = len(paths)
        begin: NewInts = np.full(count, -1)
        end: NewInts = np.full(count, -1)
        bounds: NewFloatBox = np.full((count, widest, 2), -1.0)
        with cython.nogil:
            ratio = _largest_of(blocks, paths, count, a, only, begin, end, bounds, ratio)
        if ratio == INFINITY:
            break
    return ratio


def glanced_ratio(
    kind: cython.longlong, group: Ints, ways: Ways, powers: Powers, boxes: Boxes, decay: cython.double,
    excess: cython.double, length: cython.longlong, slack: cython.double,
) -> float:  # fmt: skip
    """As `largest_ratio`, without looking at pairs: the largest E + X over the smallest, between the same ends.

    Looser, but in proportion to the number of paths and not to its square: for long blocks.
    """
    blocks = Blocks(ways, powers, boxes, decay, excess, slack, kind == FINAL, length)
    size = blocks.size
    ratio: cython.double = 0.0
    most: NewFloats = np.empty(size)
    least: NewFloats = np.empty(size)
    reached: NewInts = np.empty(size, np.int64)
    for h in range(len(group)):
        paths: IntTable = _paths_beside(kind, ways, group[h], length)
        a: cython.longlong = ways.start if kind == FROM_START else group[h]
        only: cython.longlong = group[h] if kind == FROM_START else -1
        with cython.nogil:
            _glance(blocks, paths, len(paths), a, only, most, least, reached)
        for c in range(size):
            if reached[c] > 1:
                common = boxes.everything[a, c] * (1.0 - slack)
                ratio = max(ratio, 1.0)
                if most[c] > least[c]:
                    below = (common + least[c]) * (1.0 - slack)
                    ratio = max(ratio, (common + most[c]) * (1.0 + slack) / below if below > 0.0 else INFINITY)
    return ratio


def raised_ratio(
    ratio: cython.double, keys_p: Ints, values_p: FloatTable, keys_q: Ints, values_q: FloatTable, low: FloatTable,
    high: FloatTable, everything: cython.double, slack: cython.double,
) -> float:  # fmt: skip
    """`ratio`, raised for one pair of paths of a final block, for tests."""
    none, nothing, table = np.zeros(0, np.int64), np.zeros(0), np.zeros((0, 0))
    starts = np.zeros(low.shape[1] + 1, np.int64)
    nowhere = np.zeros(0, np.bool_)
    arcs = Arcs(starts, none, nothing)
    ways = Ways(arcs, arcs, -1, nowhere)
    powers = Powers(np.zeros((0, 0), np.int64), none, nothing, none, none, nothing, table)
    blocks = Blocks(ways, powers, Boxes(low, high, table, table, nowhere, table), 1.0, 0.0, slack, True, 0)
    blocks.keys, blocks.results = np.concatenate([keys_p, keys_q]), np.concatenate([values_p, values_q])
    many: cython.longlong = len(keys_p)
    return _raised(blocks, ratio, 0, many, many, many + len(keys_q), 0, 0, everything)
