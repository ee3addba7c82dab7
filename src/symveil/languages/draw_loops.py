"""Drawing private versions of many words at once: the compiled loop.

Words are taken sixteen at a time: the backward pass then adds short vectors, one lane a word,
which the processor does in a few instructions. With one phase and few symbols near the word's (with the Hamming
distance: its own) all are summed as if they were far ones, and the excess of the near ones is added lane by lane
afterwards: V(i,·) = κ_far·(A V(i+1,·)) + Σ (κ − κ_far)·(the edges that read them). With several phases a difference of
two weights would cancel, and where many symbols are near, it is no gain: then it is computed for every *arrival*, a
state with the symbol that leads there, what it is worth to each lane, and that is summed over edges.
"""

from __future__ import annotations

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


def draw_part(
    codes: CodeTable, words: BitTable, released: NewCodeTable, decided: NewBools, first: Ints, symbol: Codes,
    target: Codes, edge_weight: Floats, is_weighted: cython.bint, symbol_first: Ints, symbol_edge: Ints, source: Ints,
    final_weight: Floats, start: cython.longlong, public_start: cython.bint, first_state: Codes, metric_of: Ints,
    near_first: IntTable, near_symbol: Codes, near_level: Codes, far: cython.longlong, step_weight: FloatTable,
    next_phase: IntTable, excess: Floats, by_excess: cython.bint, arrival_target: Ints, arrival_symbol: Ints,
    arrival_of: Ints, start_phase: cython.longlong, margin: cython.double, smallest: cython.double,
) -> None:  # fmt: skip
    """Private versions of some words; `decided` says which of them floats could decide."""
    count, length = codes.shape[0], codes.shape[1]
    size, phases = len(final_weight), step_weight.shape[1]
    widest: cython.longlong = 1
    for index in range(size):
        widest = max(widest, first[index + 1] - first[index])
    value: NewFloatBox = np.zeros((length + 1, size * phases, LANES))
    level_of: NewIntTable = np.full((len(symbol_first) - 1, LANES), far, np.int64)
    worth: NewFloatTable = np.zeros((len(arrival_target) * phases, LANES))
    share_of: NewFloats = np.empty(widest)
    level_at: NewInts = np.empty(widest, np.int64)
    row_of: NewIntTable = np.empty((phases, len(target)), np.int64)
    after: NewFloatTable
    layer: NewFloatTable
    sure: cython.bint
    used: cython.longlong
    total: cython.double
    share: cython.double
    state: cython.longlong
    phase: cython.longlong
    chosen: cython.longlong
    point: cython.double
    running: cython.double
    with cython.nogil:
        for phase in range(phases):
            for edge in range(len(target)):
                row_of[phase, edge] = target[edge] if by_excess else arrival_of[edge] * phases + phase
        for state in range(size):
            for phase in range(phases):
                for lane in range(LANES):
                    value[length, state * phases + phase, lane] = final_weight[state]
        begin: cython.longlong = 0
        while begin < count:
            used = min(LANES, count - begin)
            for position in range(length - 1, -1, -1):
                after = value[position + 1]
                layer = value[position]
                metric = metric_of[position]
                if by_excess:
                    _summed_over_edges(
                        first, row_of, edge_weight, is_weighted, step_weight[far, 0], after, layer, phases, 0
                    )
                    for lane in range(used):
                        own = codes[begin + lane, position]
                        for near in range(near_first[metric, own], near_first[metric, own + 1]):
                            gain = excess[near_level[near]]
                            read = near_symbol[near]
                            for index in range(symbol_first[read], symbol_first[read + 1]):
                                edge = symbol_edge[index]
                                layer[source[edge], lane] += gain * edge_weight[edge] * after[target[edge], lane]
                    continue
                for lane in range(used):
                    own = codes[begin + lane, position]
                    for near in range(near_first[metric, own], near_first[metric, own + 1]):
                        level_of[near_symbol[near], lane] = near_level[near]
                _worth_of_arrivals(arrival_target, arrival_symbol, level_of, step_weight, next_phase, after, worth)
                for phase in range(phases):
                    _summed_over_edges(first, row_of, edge_weight, is_weighted, 1.0, worth, layer, phases, phase)
                for lane in range(used):
                    own = codes[begin + lane, position]
                    for near in range(near_first[metric, own], near_first[metric, own + 1]):
                        level_of[near_symbol[near], lane] = far
            for lane in range(used):
                word = begin + lane
                state, phase = start, start_phase
                position = 0
                if public_start and length > 0:
                    state = first_state[codes[word, 0]]
                    position = 1
                sure = True
                while position < length:
                    own, metric = codes[word, position], metric_of[position]
                    near_begin, near_end = near_first[metric, own], near_first[metric, own + 1]
                    edges, degree = first[state], first[state + 1] - first[state]
                    total = 0.0
                    for index in range(degree):
                        level = _level(near_symbol, near_level, near_begin, near_end, symbol[edges + index], far)
                        level_at[index] = level
                        share = 0.0
                        if level >= 0:
                            to = target[edges + index] * phases + next_phase[level, phase]
                            share = (
                                edge_weight[edges + index] * step_weight[level, phase] * value[position + 1, to, lane]
                            )
                        total += share
                        share_of[index] = share
                    sure = total > smallest
                    point = (words[word, position] >> 11) * 2.0**-53 * total
                    slack = margin * total
                    running = 0.0
                    chosen = edges + degree - 1
                    for index in range(degree - 1):
                        running += share_of[index]
                        if abs(point - running) <= slack:
                            sure = False
                            break
                        if point < running:
                            chosen = edges + index
                            break
                    if not sure:
                        break
                    released[word, position] = symbol[chosen]
                    state = target[chosen]
                    phase = next_phase[level_at[chosen - edges], phase]
                    position += 1
                decided[word] = sure
            begin += LANES
