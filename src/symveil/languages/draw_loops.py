"""Drawing private versions of many words at once: the compiled loop.

Words are taken sixteen at a time: the backward pass then adds short vectors, one lane a word,
which the processor does in a few instructions. With one phase and few symbols near the word's (with the Hamming
distance: its own) all are summed as if they were far ones, and the excess of the near ones is added lane by lane
afterwards: V(i,·) = κ_far·(A V(i+1,·)) + Σ (κ − κ_far)·(the edges that read them). With several phases a difference of
two weights would cancel, and where many symbols are near, it is no gain: then it is computed for every *arrival*, a
state with the symbol that leads there, what it is worth to each lane, and that is summed over edges.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np

from symveil.numbers.compiled import built_from

if not cython.compiled:
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
        NewFloatTable,
        NewInts,
        NewIntTable,
    )

    LANES = 16

built_from("", __name__)


@cython.cclass
class Edges:
    """The edges of each state of a word graph, with weights, and where words begin and end."""

    def __init__(
        self, first: Ints, symbol: Codes, target: Codes, weight: Floats, is_weighted: cython.bint,
        final_weight: Floats, start: cython.longlong, public_start: cython.bint, first_state: Codes,
    ) -> None:  # fmt: skip
        self.first, self.symbol, self.target, self.weight, self.is_weighted = first, symbol, target, weight, is_weighted
        self.final_weight, self.start, self.public_start = final_weight, start, public_start
        self.first_state = first_state

    def __reduce__(self) -> tuple[Any, ...]:
        lists = np.asarray(self.first), np.asarray(self.symbol), np.asarray(self.target), np.asarray(self.weight)
        ends = np.asarray(self.final_weight), self.start, self.public_start, np.asarray(self.first_state)
        return Edges, (*lists, self.is_weighted, *ends)


@cython.cclass
class Levels:
    """How far symbols are, and what that weighs: of each metric the near symbols of each symbol, all others are far."""

    def __init__(
        self, metric_of: Ints, near_first: IntTable, near_symbol: Codes, near_level: Codes, far: cython.longlong,
        step_weight: FloatTable, next_phase: IntTable, start_phase: cython.longlong,
    ) -> None:  # fmt: skip
        self.metric_of, self.near_first, self.near_symbol = metric_of, near_first, near_symbol
        self.near_level, self.far, self.step_weight = near_level, far, step_weight
        self.next_phase, self.start_phase = next_phase, start_phase

    def __reduce__(self) -> tuple[Any, ...]:
        near = np.asarray(self.near_first), np.asarray(self.near_symbol), np.asarray(self.near_level)
        steps = np.asarray(self.step_weight), np.asarray(self.next_phase)
        return Levels, (np.asarray(self.metric_of), *near, self.far, *steps, self.start_phase)


@cython.cclass
class Sums:
    """How a layer is summed: by the excess of near symbols, with the edges that read each symbol, or over arrivals."""

    def __init__(
        self, by_excess: cython.bint, excess: Floats, symbol_first: Ints, symbol_edge: Ints, source: Ints,
        arrival_target: Ints, arrival_symbol: Ints, arrival_of: Ints,
    ) -> None:  # fmt: skip
        self.by_excess, self.excess, self.symbol_first, self.symbol_edge = by_excess, excess, symbol_first, symbol_edge
        self.source, self.arrival_target, self.arrival_symbol = source, arrival_target, arrival_symbol
        self.arrival_of = arrival_of

    def __reduce__(self) -> tuple[Any, ...]:
        read = np.asarray(self.symbol_first), np.asarray(self.symbol_edge), np.asarray(self.source)
        reached = np.asarray(self.arrival_target), np.asarray(self.arrival_symbol), np.asarray(self.arrival_of)
        return Sums, (self.by_excess, np.asarray(self.excess), *read, *reached)


@cython.cclass
class Values:
    """What walks read: the values of a position are a row of `value`, with a lane for each word.

    `state_of` and `phase_of` say for each walk where it begins.
    """

    def __init__(
        self, length: cython.longlong, rows: cython.longlong, lanes: cython.longlong, walks: cython.longlong,
        edges: Edges, levels: Levels,
    ) -> None:  # fmt: skip
        widest: cython.longlong = 1
        for index in range(len(edges.final_weight)):
            widest = max(widest, edges.first[index + 1] - edges.first[index])
        self.value = np.zeros((rows, len(edges.final_weight) * levels.step_weight.shape[1], lanes))
        self.row_at = np.arange(length + 1)
        self.share_of, self.level_at = np.empty(widest), np.empty(widest, np.int64)
        self.state_of, self.phase_of = np.empty(walks, np.int64), np.empty(walks, np.int64)


@cython.cclass
class Layers(Values):
    """Room for the values of sixteen words at every position, and for one step of each."""

    def __init__(self, length: cython.longlong, edges: Edges, levels: Levels, sums: Sums) -> None:
        super().__init__(length, length + 1, LANES, LANES, edges, levels)
        phases = levels.step_weight.shape[1]
        self.level_of = np.full((len(sums.symbol_first) - 1, LANES), levels.far, np.int64)
        self.worth = np.zeros((len(sums.arrival_target) * phases, LANES))
        self.row_of = np.empty((phases, len(edges.target)), np.int64)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _summed_over_edges(
    first: Ints, reached: IntTable, edge_weight: Floats, is_weighted: cython.bint, weight: cython.double,
    after: FloatTable, layer: NewFloatTable, phases: cython.longlong, phase: cython.longlong,
) -> cython.void:  # fmt: skip
    """In one phase, `weight` times the sum over edges, for every state and lane; `reached[phase]` has rows of edges."""
    total_of = cython.declare(cython.double[16])  # type: ignore[misc,valid-type]
    row = phase
    for state in range(len(first) - 1):
        for lane in range(LANES):
            total_of[lane] = 0.0
        for edge in range(first[state], first[state + 1]):
            to = reached[phase, edge]
            if is_weighted:
                scale = edge_weight[edge]
                for lane in range(LANES):
                    total_of[lane] += scale * after[to, lane]
            else:
                for lane in range(LANES):
                    total_of[lane] += after[to, lane]
        for lane in range(LANES):
            layer[row, lane] = total_of[lane] * weight
        row += phases


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _worth_of_arrivals(
    arrival_target: Ints, arrival_symbol: Ints, level_of: IntTable, step_weight: FloatTable, next_phase: IntTable,
    after: FloatTable, worth: NewFloatTable,
) -> cython.void:  # fmt: skip
    """What arriving in a state by a symbol is worth to each lane: κ times what follows, 0 where it is impossible."""
    phases = step_weight.shape[1]
    for arrival in range(len(arrival_target)):
        row, to, read = arrival * phases, arrival_target[arrival] * phases, arrival_symbol[arrival]
        for lane in range(LANES):
            level = level_of[read, lane]
            for phase in range(phases):
                if level >= 0:
                    worth[row + phase, lane] = step_weight[level, phase] * after[to + next_phase[level, phase], lane]
                else:
                    worth[row + phase, lane] = 0.0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _level(
    near_symbol: Codes, near_level: Codes, begin: cython.longlong, end: cython.longlong, wanted: cython.longlong,
    far: cython.longlong,
) -> cython.longlong:  # fmt: skip
    """The level of a symbol: that of the list begin … end − 1, whose symbols rise, or `far`."""
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if near_symbol[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    level: cython.longlong = far
    if low < end and near_symbol[low] == wanted:
        level = near_level[low]
    return level


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _begin(edges: Edges, levels: Levels, sums: Sums, layers: Layers) -> cython.void:
    """Rows of values that edges lead to, and the last layer."""
    phases = levels.step_weight.shape[1]
    layer: NewFloatTable = layers.value[layers.value.shape[0] - 1]
    row_of: NewIntTable = layers.row_of
    target: Codes = edges.target
    arrival_of: Ints = sums.arrival_of
    by_excess: cython.bint = sums.by_excess
    for phase in range(phases):
        for edge in range(len(target)):
            row_of[phase, edge] = target[edge] if by_excess else arrival_of[edge] * phases + phase
    for state in range(len(edges.final_weight)):
        weight = edges.final_weight[state]
        for phase in range(phases):
            for lane in range(LANES):
                layer[state * phases + phase, lane] = weight


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sum_back(
    codes: CodeTable, begin: cython.longlong, edges: Edges, levels: Levels, sums: Sums, layers: Layers
) -> cython.void:
    """The values of all layers but the last, for the words from `begin` on, one in each lane."""
    used = min(LANES, codes.shape[0] - begin)
    near_first: IntTable = levels.near_first
    near_symbol: Codes = levels.near_symbol
    near_level: Codes = levels.near_level
    level_of: NewIntTable = layers.level_of
    after: NewFloatTable
    layer: NewFloatTable
    far, phases = levels.far, levels.step_weight.shape[1]
    for position in range(codes.shape[1] - 1, -1, -1):
        after = layers.value[position + 1]
        layer = layers.value[position]
        metric = levels.metric_of[position]
        if sums.by_excess:
            _summed_over_edges(
                edges.first, layers.row_of, edges.weight, edges.is_weighted, levels.step_weight[far, 0], after, layer,
                phases, 0,
            )  # fmt: skip
            for lane in range(used):
                own = codes[begin + lane, position]
                for near in range(near_first[metric, own], near_first[metric, own + 1]):
                    gain = sums.excess[near_level[near]]
                    read = near_symbol[near]
                    for index in range(sums.symbol_first[read], sums.symbol_first[read + 1]):
                        edge = sums.symbol_edge[index]
                        layer[sums.source[edge], lane] += gain * edges.weight[edge] * after[edges.target[edge], lane]
            continue
        for lane in range(used):
            own = codes[begin + lane, position]
            for near in range(near_first[metric, own], near_first[metric, own + 1]):
                level_of[near_symbol[near], lane] = near_level[near]
        _worth_of_arrivals(
            sums.arrival_target, sums.arrival_symbol, level_of, levels.step_weight, levels.next_phase, after,
            layers.worth,
        )  # fmt: skip
        for phase in range(phases):
            _summed_over_edges(
                edges.first, layers.row_of, edges.weight, edges.is_weighted, 1.0, layers.worth, layer, phases, phase
            )
        for lane in range(used):
            own = codes[begin + lane, position]
            for near in range(near_first[metric, own], near_first[metric, own + 1]):
                level_of[near_symbol[near], lane] = far


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def walk(
    codes: CodeTable, words: BitTable, released: NewCodeTable, decided: NewBools, begin: cython.longlong,
    end: cython.longlong, first_position: cython.longlong, edges: Edges, levels: Levels, values: Values,
    margin: cython.double, smallest: cython.double,
) -> cython.void:  # fmt: skip
    """Draw the words begin … end − 1, as far as floats can decide: each from its lane, or all from the only one.

    Where a walk begins in no state, it was not decided before.
    """
    value: NewFloatBox = values.value
    row_at: NewInts = values.row_at
    state_of: NewInts = values.state_of
    phase_of: NewInts = values.phase_of
    share_of: NewFloats = values.share_of
    level_at: NewInts = values.level_at
    first: Ints = edges.first
    symbol: Codes = edges.symbol
    target: Codes = edges.target
    weight: Floats = edges.weight
    near_symbol: Codes = levels.near_symbol
    near_level: Codes = levels.near_level
    step_weight: FloatTable = levels.step_weight
    next_phase: IntTable = levels.next_phase
    far, length, phases = levels.far, codes.shape[1], step_weight.shape[1]
    sure: cython.bint
    total: cython.double
    share: cython.double
    state: cython.longlong
    phase: cython.longlong
    chosen: cython.longlong
    point: cython.double
    running: cython.double
    position: cython.longlong
    lanes: cython.longlong = value.shape[2]
    for word in range(begin, end):
        lane = word - begin if lanes > 1 else 0
        state, phase, position = state_of[word - begin], phase_of[word - begin], first_position
        sure = state >= 0
        while sure and position < length:
            row = row_at[position + 1]
            own, metric = codes[word, position], levels.metric_of[position]
            near_begin, near_end = levels.near_first[metric, own], levels.near_first[metric, own + 1]
            out, degree = first[state], first[state + 1] - first[state]
            total = 0.0
            for index in range(degree):
                level = _level(near_symbol, near_level, near_begin, near_end, symbol[out + index], far)
                level_at[index] = level
                share = 0.0
                if level >= 0:
                    to = target[out + index] * phases + next_phase[level, phase]
                    share = weight[out + index] * step_weight[level, phase] * value[row, to, lane]
                total += share
                share_of[index] = share
            sure = total > smallest
            point = (words[word, position] >> 11) * 2.0**-53 * total
            slack = margin * total
            running = 0.0
            chosen = out + degree - 1
            for index in range(degree - 1):
                running += share_of[index]
                if abs(point - running) <= slack:
                    sure = False
                    break
                if point < running:
                    chosen = out + index
                    break
            if not sure:
                break
            released[word, position] = symbol[chosen]
            state = target[chosen]
            phase = next_phase[level_at[chosen - out], phase]
            position += 1
        decided[word] = sure


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def begin_walks(
    codes: CodeTable, begin: cython.longlong, end: cython.longlong, edges: Edges, levels: Levels, values: Values
) -> cython.longlong:
    """The first position that is drawn; writes down the state and phase of the words begin … end − 1 before it."""
    is_given: cython.bint = edges.public_start and codes.shape[1] > 0
    for word in range(begin, end):
        values.state_of[word - begin] = edges.first_state[codes[word, 0]] if is_given else edges.start
        values.phase_of[word - begin] = levels.start_phase
    return 1 if is_given else 0


def draw_part(
    codes: CodeTable, words: BitTable, released: NewCodeTable, decided: NewBools, edges: Edges, levels: Levels,
    sums: Sums, margin: cython.double, smallest: cython.double,
) -> None:  # fmt: skip
    """Private versions of some words; `decided` says which of them floats could decide."""
    layers = Layers(codes.shape[1], edges, levels, sums)
    with cython.nogil:
        _begin(edges, levels, sums, layers)
        begin: cython.longlong = 0
        while begin < codes.shape[0]:
            _sum_back(codes, begin, edges, levels, sums, layers)
            end = min(begin + LANES, codes.shape[0])
            first = begin_walks(codes, begin, end, edges, levels, layers)
            walk(codes, words, released, decided, begin, end, first, edges, levels, layers, margin, smallest)
            begin += LANES
