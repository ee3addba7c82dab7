"""Drawing private versions of a word in time that follows the states near it: the compiled loop.

A path meets a word where it reads a symbol near the word's at its position. A state from which no path does is worth
what it would be worth beside no word: a public number that depends on the state, the steps that are left and the phase.
These numbers are computed once. For a word only the near states are looked at: from the end on, those that read a
symbol near the word's, and those that lead to near states. Their values are put into the public table, the word is
drawn from it, and they are taken out again. Where most states are near, a position is computed as a whole, in a row of
its own.

A hidden start leads to every state. Its edges are summed in blocks: ΣB beside no word, once, and for a word Σ(V − B)
over the edges to near states. Theorem 4.3 (docs/theory/hidden-lengths.md) needs a bound on the error of the partial
sums c_j. If at most K operations lead from each V and B into c_j and Θ = (1+u)^K − 1, the sum of B, that of V and that
of the B that are taken away have errors of at most Θ times themselves. Near symbols weigh more than far ones, so B ≤ V,
and each of the three is at most c_j: its error is at most 3Θc_j, and the margin of this step is 12Θ + 2⁻⁵⁰. In a block
of √d of d edges each edge is added once by its B and once by what it is worth more; then come the blocks, and the edges
of the chosen one: K is that of any step and 4√d more (`RunWeights.start_margin`).
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np

from symveil.numbers.compiled import built_from

if not cython.compiled:
    from symveil.languages.draw_loops import Edges, Levels, Sums, Values, begin_walks, walk
    from symveil.numbers.compiled import (
        BitTable,
        Codes,
        CodeTable,
        Floats,
        FloatTable,
        Ints,
        IntTable,
        NewBools,
        NewCodeTable,
        NewFloatBox,
        NewFloats,
        NewInts,
    )

    FEW_EDGES = 64  # so many edges of a start are summed one by one
    WALKS = 1024  # rows of one word that are drawn together

built_from("", __name__)

_NEVER = 1 << 62  # the mark of a state that is never near: no edge leads there


@cython.cclass
class Behind:
    """Which edges lead to each state, and which read each symbol: their sources and their numbers."""

    def __init__(
        self, first: Ints, source: Codes, edge: Codes, symbol_first: Ints, symbol_source: Codes, symbol_edge: Codes
    ) -> None:
        self.first, self.source, self.edge = first, source, edge
        self.symbol_first, self.symbol_source, self.symbol_edge = symbol_first, symbol_source, symbol_edge

    def __reduce__(self) -> tuple[Any, ...]:
        states = np.asarray(self.first), np.asarray(self.source), np.asarray(self.edge)
        symbols = np.asarray(self.symbol_first), np.asarray(self.symbol_source), np.asarray(self.symbol_edge)
        return Behind, (*states, *symbols)


@cython.cclass
class Room(Values):
    """The values of all states beside no word, as far as they are known, and room for one word's.

    Row r of `value` is what states are worth with r steps left, for r up to `depth`; row n + 1 + i has all values of
    position i, where most states are near. `node` has the near states of one position after the other, from the end
    on, those of position i up to `end_of[i]`, and `known` what they are worth beside no word.
    """

    def __init__(
        self,
        length: cython.longlong,
        most_near: cython.longlong,
        edges: Edges,
        levels: Levels,
        sums: Sums,
        behind: Behind,
    ) -> None:
        super().__init__(length, 2 * (length + 1), 1, WALKS, edges, levels)
        phases = levels.step_weight.shape[1]
        self.length, self.most_near, self.edges, self.levels, self.sums, self.behind = (
            length,
            most_near,
            edges,
            levels,
            sums,
            behind,
        )
        self.depth, self.stamp = 0, 0
        self.seen = np.zeros(len(edges.final_weight), np.int64)
        if behind.first[edges.start] == behind.first[edges.start + 1]:
            self.seen[edges.start] = _NEVER
        self.node = np.zeros(length * most_near + 1, np.int64)
        self.known = np.zeros((length * most_near + 1) * phases)
        self.level_of = np.full(len(behind.symbol_first) - 1, levels.far, np.int64)
        self.near_begin = self.near_end = 0
        self.end_of = np.zeros(length + 2, np.int64)
        degree = edges.first[edges.start + 1] - edges.first[edges.start]
        self.width = int(np.sqrt(degree)) + 1
        self.by_blocks = degree > FEW_EDGES and length > 0 and not edges.public_start
        self.has_blocks = False
        self.blocks_far = np.zeros((degree + self.width - 1) // self.width)
        self.blocks = np.zeros(len(self.blocks_far))
        for state in range(len(edges.final_weight)):
            for phase in range(phases):
                self.value[0, state * phases + phase, 0] = edges.final_weight[state]

    def __reduce__(self) -> tuple[Any, ...]:
        return Room, (self.length, self.most_near, self.edges, self.levels, self.sums, self.behind)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find_near(codes: CodeTable, word: cython.longlong, begin: cython.longlong, room: Room) -> cython.longlong:
    """The near states of all positions behind `begin`; returns from which position on they are few."""
    first: Ints = room.behind.first
    source: Codes = room.behind.source
    symbol_first: Ints = room.behind.symbol_first
    symbol_source: Codes = room.behind.symbol_source
    near_symbol: Codes = room.levels.near_symbol
    seen: NewInts = room.seen
    node: NewInts = room.node
    end_of: NewInts = room.end_of
    length: cython.longlong = codes.shape[1]
    end_of[length] = end_of[length + 1] = 0
    room.stamp += 1
    for position in range(length - 1, begin, -1):
        room.stamp += 1
        stamp, count, most = room.stamp, end_of[position + 1], end_of[position + 1] + room.most_near
        own, metric = codes[word, position], room.levels.metric_of[position]
        for near in range(room.levels.near_first[metric, own], room.levels.near_first[metric, own + 1]):
            read = near_symbol[near]
            for index in range(symbol_first[read], symbol_first[read + 1]):
                state = symbol_source[index]
                if seen[state] < stamp:
                    if count == most:
                        return position + 1
                    seen[state] = stamp
                    node[count] = state
                    count += 1
        if room.levels.far >= 0:
            for slot in range(end_of[position + 2], end_of[position + 1]):
                after = node[slot]
                for index in range(first[after], first[after + 1]):
                    state = source[index]
                    if seen[state] < stamp:
                        if count == most:
                            return position + 1
                        seen[state] = stamp
                        node[count] = state
                        count += 1
        end_of[position] = count
    return begin + 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _read_beside(codes: CodeTable, word: cython.longlong, position: cython.longlong, room: Room) -> cython.void:
    """From now on levels are those beside the symbol that a word has at a position; beside none where that is −1."""
    level_of: NewInts = room.level_of
    near_symbol: Codes = room.levels.near_symbol
    near_level: Codes = room.levels.near_level
    for near in range(room.near_begin, room.near_end):
        level_of[near_symbol[near]] = room.levels.far
    room.near_begin = room.near_end = 0
    if position >= 0:
        own, metric = codes[word, position], room.levels.metric_of[position]
        room.near_begin = room.levels.near_first[metric, own]
        room.near_end = room.levels.near_first[metric, own + 1]
        for near in range(room.near_begin, room.near_end):
            level_of[near_symbol[near]] = near_level[near]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sum_back(
    room: Room, after: cython.longlong, into: cython.longlong, low: cython.longlong, high: cython.longlong
) -> cython.void:
    """Row `into` of the values from row `after`: of the states that stand in `node` from `low` to `high`.

    Of all states where `low` is negative.
    """
    first: Ints = room.edges.first
    symbol: Codes = room.edges.symbol
    target: Codes = room.edges.target
    weight: Floats = room.edges.weight
    level_of: NewInts = room.level_of
    step_weight: FloatTable = room.levels.step_weight
    next_phase: IntTable = room.levels.next_phase
    value: NewFloatBox = room.value
    node: NewInts = room.node
    known: NewFloats = room.known
    phases = step_weight.shape[1]
    everywhere: cython.bint = low < 0
    total: cython.double
    for slot in range(0 if everywhere else low, len(room.edges.final_weight) if everywhere else high):
        state = slot if everywhere else node[slot]
        for phase in range(phases):
            total = 0.0
            for edge in range(first[state], first[state + 1]):
                level = level_of[symbol[edge]]
                if level >= 0:
                    to = target[edge] * phases + next_phase[level, phase]
                    total += weight[edge] * step_weight[level, phase] * value[after, to, 0]
            if not everywhere:
                known[slot * phases + phase] = value[into, state * phases + phase, 0]
            value[into, state * phases + phase, 0] = total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sum_all_back(room: Room, after: cython.longlong, into: cython.longlong) -> cython.void:
    """The same of all states, by the excess of near symbols where that is quicker."""
    if not room.sums.by_excess:
        _sum_back(room, after, into, -1, 0)
        return
    first: Ints = room.edges.first
    target: Codes = room.edges.target
    weight: Floats = room.edges.weight
    value: NewFloatBox = room.value
    is_weighted: cython.bint = room.edges.is_weighted
    far: cython.double = room.levels.step_weight[room.levels.far, 0]
    total: cython.double
    for state in range(len(room.edges.final_weight)):
        total = 0.0
        if is_weighted:
            for edge in range(first[state], first[state + 1]):
                total += weight[edge] * value[after, target[edge], 0]
        else:
            for edge in range(first[state], first[state + 1]):
                total += value[after, target[edge], 0]
        value[into, state, 0] = total * far
    for near in range(room.near_begin, room.near_end):
        read, gain = room.levels.near_symbol[near], room.sums.excess[room.levels.near_level[near]]
        for index in range(room.behind.symbol_first[read], room.behind.symbol_first[read + 1]):
            edge, state = room.behind.symbol_edge[index], room.behind.symbol_source[index]
            value[into, state, 0] += gain * weight[edge] * value[after, target[edge], 0]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sum_near(codes: CodeTable, word: cython.longlong, begin: cython.longlong, room: Room) -> cython.longlong:
    """The values near a word, of all positions behind `begin`; returns from which position on states are few.

    Levels are then those beside the symbol at `begin`.
    """
    length: cython.longlong = codes.shape[1]
    few_from = _find_near(codes, word, begin, room)
    _read_beside(codes, word, -1, room)
    while room.depth < length - few_from:
        _sum_all_back(room, room.depth, room.depth + 1)
        room.depth += 1
    if few_from == 1 and room.by_blocks and not room.has_blocks:
        _sum_far_blocks(room)
    room.row_at[length] = 0
    for position in range(length - 1, begin, -1):
        _read_beside(codes, word, position, room)
        if position >= few_from:
            row = length - position
            _sum_back(room, room.row_at[position + 1], row, room.end_of[position + 1], room.end_of[position])
        else:
            row = length + 1 + position
            _sum_all_back(room, room.row_at[position + 1], row)
        room.row_at[position] = row
    if begin < length:
        _read_beside(codes, word, begin, room)
    return few_from


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _forget(few_from: cython.longlong, room: Room) -> cython.void:
    """Put back what the near states of a word are worth beside no word."""
    node: NewInts = room.node
    value: NewFloatBox = room.value
    known: NewFloats = room.known
    phases = room.levels.step_weight.shape[1]
    for position in range(few_from, room.length):
        row = room.length - position
        for slot in range(room.end_of[position + 1], room.end_of[position]):
            for phase in range(phases):
                value[row, node[slot] * phases + phase, 0] = known[slot * phases + phase]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _share(edge: cython.longlong, level: cython.longlong, after: cython.double, room: Room) -> cython.double:
    """T·κ·V of an edge of the start."""
    share: cython.double = 0.0
    if level >= 0:
        share = room.edges.weight[edge] * room.levels.step_weight[level, room.levels.start_phase] * after
    return share


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _after(edge: cython.longlong, level: cython.longlong, room: Room) -> cython.longlong:
    """Where an edge of the start leads to: the number of the state's value, of the phase that a level leads to."""
    phases = room.levels.step_weight.shape[1]
    number: cython.longlong = room.edges.target[edge] * phases
    if level >= 0:
        number += room.levels.next_phase[level, room.levels.start_phase]
    return number


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sum_far_blocks(room: Room) -> cython.void:
    """What the blocks of the start's edges are worth beside no word."""
    begin, far = room.edges.first[room.edges.start], room.levels.far
    for edge in range(begin, room.edges.first[room.edges.start + 1]):
        after = room.value[room.length - 1, _after(edge, far, room), 0]
        room.blocks_far[(edge - begin) // room.width] += _share(edge, far, after, room)
    room.has_blocks = True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _more(edge: cython.longlong, known: cython.double, room: Room) -> cython.void:
    """Add to its block what an edge of the start is worth more beside a word.

    `known`: what follows it beside no word.
    """
    level, row = room.level_of[room.edges.symbol[edge]], room.length - 1
    more = _share(edge, level, room.value[row, _after(edge, level, room), 0], room)
    block = (edge - room.edges.first[room.edges.start]) // room.width
    room.blocks[block] += more - _share(edge, room.levels.far, known, room)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sum_blocks(room: Room) -> cython.double:
    """What the blocks of the start's edges are worth beside a word, and all of them together."""
    start, far = room.edges.start, room.levels.far
    phases = room.levels.step_weight.shape[1]
    far_phase = room.levels.next_phase[far, room.levels.start_phase] if far >= 0 else 0
    for block in range(len(room.blocks)):
        room.blocks[block] = room.blocks_far[block]
    for slot in range(room.end_of[2], room.end_of[1]):
        state = room.node[slot]
        for index in range(room.behind.first[state], room.behind.first[state + 1]):
            if room.behind.source[index] == start:
                _more(room.behind.edge[index], room.known[slot * phases + far_phase], room)
    for near in range(room.near_begin, room.near_end):
        read = room.levels.near_symbol[near]
        for index in range(room.behind.symbol_first[read], room.behind.symbol_first[read + 1]):
            edge = room.behind.symbol_edge[index]
            if room.behind.symbol_source[index] == start and room.seen[room.edges.target[edge]] != room.stamp:
                _more(edge, room.value[room.length - 1, _after(edge, far, room), 0], room)
    total: cython.double = 0.0
    for block in range(len(room.blocks)):
        total += room.blocks[block]
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _first_edge(point: cython.double, slack: cython.double, room: Room) -> cython.longlong:
    """The edge of the start that a point of the whole falls into; −1 where it is too close to a boundary."""
    begin, end = room.edges.first[room.edges.start], room.edges.first[room.edges.start + 1]
    block: cython.longlong = 0
    last: cython.longlong = len(room.blocks) - 1
    running: cython.double = 0.0
    while block < last and point >= running + room.blocks[block]:
        running += room.blocks[block]
        if point - running <= slack:
            return -1
        block += 1
    if block < last and running + room.blocks[block] - point <= slack:
        return -1
    low = begin + block * room.width
    high: cython.longlong = min(low + room.width, end)
    edge: cython.longlong
    for edge in range(low, high - 1):
        level = room.level_of[room.edges.symbol[edge]]
        running += _share(edge, level, room.value[room.length - 1, _after(edge, level, room), 0], room)
        if abs(point - running) <= slack:
            return -1
        if point < running:
            return edge
    return high - 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _leave_start(
    words: BitTable, released: NewCodeTable, begin: cython.longlong, end: cython.longlong,
    room: Room, total: cython.double, start_margin: cython.double, smallest: cython.double,
) -> cython.void:  # fmt: skip
    """Draw the first symbol of the rows begin … end − 1, which have one word, by blocks; no state: undecided."""
    for row in range(begin, end):
        edge: cython.longlong = -1
        if total > smallest:
            edge = _first_edge((words[row, 0] >> 11) * 2.0**-53 * total, start_margin * total, room)
        if edge < 0:
            room.state_of[row - begin] = -1
            continue
        released[row, 0] = room.edges.symbol[edge]
        room.state_of[row - begin] = room.edges.target[edge]
        level = room.level_of[room.edges.symbol[edge]]
        room.phase_of[row - begin] = room.levels.next_phase[level, room.levels.start_phase]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _draw_equal(
    codes: CodeTable, words: BitTable, released: NewCodeTable, decided: NewBools, begin: cython.longlong,
    end: cython.longlong, room: Room, margin: cython.double, start_margin: cython.double, smallest: cython.double,
) -> cython.void:  # fmt: skip
    """Draw the rows begin … end − 1, which have one word."""
    low = begin
    first = begin_walks(codes, begin, begin, room.edges, room.levels, room)
    few_from = _sum_near(codes, begin, first, room)
    by_blocks: cython.bint = few_from == 1 and room.by_blocks
    total: cython.double = 0.0
    if by_blocks:
        total = _sum_blocks(room)
    while low < end:
        high = min(low + WALKS, end)
        begin_walks(codes, low, high, room.edges, room.levels, room)
        if by_blocks:
            _leave_start(words, released, low, high, room, total, start_margin, smallest)
        skipped = 1 if by_blocks else first
        walk(codes, words, released, decided, low, high, skipped, room.edges, room.levels, room, margin, smallest)
        low = high
    _forget(few_from, room)


def draw_near(
    codes: CodeTable, words: BitTable, released: NewCodeTable, decided: NewBools, room: Room, margin: cython.double,
    start_margin: cython.double, smallest: cython.double,
) -> None:  # fmt: skip
    """Private versions of rows, equal ones one after the other; `decided` says which of them floats could decide."""
    with cython.nogil:
        begin: cython.longlong = 0
        while begin < codes.shape[0]:
            end = begin + 1
            equal: cython.bint = True
            while equal and end < codes.shape[0]:
                for position in range(codes.shape[1]):
                    if codes[end, position] != codes[begin, position]:
                        equal = False
                        break
                if equal:
                    end += 1
            _draw_equal(codes, words, released, decided, begin, end, room, margin, start_margin, smallest)
            begin = end


def count_near(codes: CodeTable, room: Room) -> tuple[int, int]:
    """How many states are near some words, at all positions together, and at how many positions most states are."""
    few: cython.longlong = 0
    most: cython.longlong = 0
    with cython.nogil:
        for word in range(codes.shape[0]):
            few_from = _find_near(codes, word, 0, room)
            few += room.end_of[few_from]
            most += few_from - 1
    return few, most
