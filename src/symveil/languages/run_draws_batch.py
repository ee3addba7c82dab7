"""Drawing private versions of many words at once: the compiled loop.

Words are taken sixteen at a time: the backward pass then adds short vectors, one lane a word,
which the processor does in a few instructions. With one phase and few symbols near the word's (with the Hamming
distance: its own) all are summed as if they were far ones, and the excess of the near ones is added lane by lane
afterwards: V(i,·) = κ_far·(A V(i+1,·)) + Σ (κ − κ_far)·(the edges that read them). With several phases a difference of
two weights would cancel, and where many symbols are near, it is no gain: then it is computed for every *arrival*, a
state with the symbol that leads there, what it is worth to each lane, and that is summed over edges.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symveil.languages.compiling import compiled
from symveil.languages.run_draws import draw_undecided
from symveil.languages.run_weights import RunWeights
from symveil.models.word import Codes
from symveil.numbers.ranges import offsets
from symveil.randomness import BitSource

_LANES = 16
# what a thread takes at once: enough to be worth handing over, and little enough that long words are shared out too
_WORDS_AT_ONCE = 4096
_SYMBOLS_AT_ONCE = 1 << 16


def draw_many(weights: RunWeights, codes: Codes, bits: BitSource) -> Codes:
    """A private version of each row."""
    # the loop is compiled for one kind of array: anything else would have it compiled again
    codes = np.require(codes, dtype=np.int32, requirements=["C", "W"])
    words = np.ascontiguousarray(bits.word_rows(*codes.shape))
    if weights.smallest_total is None:
        released, decided = codes.copy(), np.zeros(len(codes), dtype=np.bool_)
    else:
        released, decided = _draw_by_floats(weights, codes, words)
    draw_undecided(weights, codes, words, released, decided, bits)
    return released


def _draw_by_floats(weights: RunWeights, codes: Codes, words: NDArray[np.uint64]) -> tuple[Codes, NDArray[np.bool_]]:
    language, graph, costs, arrivals = weights.language, weights.graph, weights.costs, weights.arrivals
    released = codes.copy()
    decided = np.zeros(len(codes), dtype=np.bool_)
    by_symbol = weights.edges_by_symbol
    begins = offsets(np.array([len(metric.symbol) for metric in costs.metrics]))
    near_first = np.stack([metric.first + offset for metric, offset in zip(costs.metrics, begins[:-1], strict=True)])
    arguments: tuple[Any, ...] = (
        graph.first,
        graph.symbol,
        graph.target,
        weights.edge_weights,
        weights.is_weighted,
        by_symbol.first,
        by_symbol.number,
        weights.edge_sources,
        weights.final_weights,
        graph.start,
        language.public_start,
        weights.first_states,
        np.array(costs.metric_of, dtype=np.int64),
        near_first,
        np.concatenate([metric.symbol for metric in costs.metrics]),
        np.concatenate([metric.level for metric in costs.metrics]),
        costs.far,
        weights.step_weights,
        costs.next_phase,
        weights.excess,
        weights.by_excess,
        arrivals.target,
        arrivals.symbol,
        arrivals.of_edge,
        costs.start_phase,
        weights.margin,
        weights.smallest_total,
    )

    fitting = _SYMBOLS_AT_ONCE // max(codes.shape[1], 1) // _LANES * _LANES
    at_once = max(4 * _LANES, min(_WORDS_AT_ONCE, fitting))

    def run(start: int) -> None:
        part = slice(start, start + at_once)
        _draw_part(codes[part], words[part], released[part], decided[part], *arguments)

    starts = range(0, len(codes), at_once)
    if len(starts) <= 1:  # threads would take longer to start than a few words take
        for start in starts:
            run(start)
        return released, decided
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        for _ in pool.map(run, starts):
            pass
    return released, decided


@compiled
def _summed_over_edges(first, reached, edge_weight, is_weighted, weight, after, layer, phases, phase):
    """For every state and lane in one phase `weight` times the sum over edges; `reached` is the row of each edge."""
    total_of = np.empty(_LANES)
    row = phase
    for state in range(len(first) - 1):
        for lane in range(_LANES):
            total_of[lane] = 0.0
        for edge in range(first[state], first[state + 1]):
            to = reached[edge]
            if is_weighted:
                scale = edge_weight[edge]
                for lane in range(_LANES):
                    total_of[lane] += scale * after[to, lane]
            else:
                for lane in range(_LANES):
                    total_of[lane] += after[to, lane]
        for lane in range(_LANES):
            layer[row, lane] = total_of[lane] * weight
        row += phases


@compiled
def _worth_of_arrivals(arrival_target, arrival_symbol, level_of, step_weight, next_phase, after, worth):
    """What arriving in a state by a symbol is worth to each lane: κ times what follows, 0 where it is impossible."""
    phases = step_weight.shape[1]
    for arrival in range(len(arrival_target)):
        row, to, read = arrival * phases, arrival_target[arrival] * phases, arrival_symbol[arrival]
        for lane in range(_LANES):
            level = level_of[read, lane]
            for phase in range(phases):
                if level >= 0:
                    worth[row + phase, lane] = step_weight[level, phase] * after[to + next_phase[level, phase], lane]
                else:
                    worth[row + phase, lane] = 0.0


@compiled
def _level(near_symbol, near_level, begin, end, wanted, far):
    """The level of a symbol: that of the list begin … end − 1, whose symbols rise, or `far`."""
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if near_symbol[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    level = far
    if low < end and near_symbol[low] == wanted:
        level = near_level[low]
    return level


@compiled
def _draw_part(
    codes, words, released, decided, first, symbol, target, edge_weight, is_weighted, symbol_first, symbol_edge,
    source, final_weight, start, public_start, first_state, metric_of, near_first, near_symbol, near_level, far,
    step_weight, next_phase, excess, by_excess, arrival_target, arrival_symbol, arrival_of, start_phase, margin,
    smallest,
):  # fmt: skip
    """Private versions of some words; `decided` says which of them floats could decide."""
    count, length = codes.shape
    size, phases = len(final_weight), step_weight.shape[1]
    value = np.zeros((length + 1, size * phases, _LANES))
    level_of = np.full((len(symbol_first) - 1, _LANES), far)
    worth = np.zeros((len(arrival_target) * phases, _LANES))
    widest = 1
    for state in range(size):
        widest = max(widest, first[state + 1] - first[state])
    share_of = np.empty(widest)
    level_at = np.empty(widest, dtype=np.int64)
    row_of = np.empty((phases, len(target)), dtype=np.int64)
    for phase in range(phases):
        for edge in range(len(target)):
            row_of[phase, edge] = arrival_of[edge] * phases + phase
    for state in range(size):
        for phase in range(phases):
            value[length, state * phases + phase, :] = final_weight[state]
    for begin in range(0, count, _LANES):
        used = min(_LANES, count - begin)
        for position in range(length - 1, -1, -1):
            after, layer = value[position + 1], value[position]
            metric = metric_of[position]
            if by_excess:
                _summed_over_edges(
                    first, target, edge_weight, is_weighted, step_weight[far, 0], after, layer, phases, 0
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
                _summed_over_edges(first, row_of[phase], edge_weight, is_weighted, 1.0, worth, layer, phases, phase)
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
                        share = edge_weight[edges + index] * step_weight[level, phase] * value[position + 1, to, lane]
                    total += share
                    share_of[index] = share
                sure = total > smallest
                point = (words[word, position] >> np.uint64(11)) * 2.0**-53 * total
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


# the last name of the module: who finds it while another thread imports the module finds the loop too
def is_compiled() -> bool:
    """Whether this process has the loop's machine code, made or read from where it is kept."""
    return bool(getattr(_draw_part, "signatures", False))
