"""Drawing private versions of many words at once: the compiled loop.

Words are taken sixteen at a time: the backward pass then adds short vectors, one lane a word,
which the processor does in a few instructions, as if every symbol were a far one. Symbols that are near the word's
(with the Hamming distance: its own) are put right lane by lane afterwards. With one phase their excess is added,
V(i,·) = κ_far·(A V(i+1,·)) + Σ (κ − κ_far)·(the edges that read them); with several the phases differ too, and
a difference of two weights would cancel, so that the states which such an edge leaves are summed anew.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symveil.languages.compiling import compiled
from symveil.languages.run_draws_exact import draw_undecided
from symveil.languages.run_weights import RunWeights
from symveil.models.word import Codes
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
    language, graph, costs = weights.language, weights.graph, weights.costs
    released = codes.copy()
    decided = np.zeros(len(codes), dtype=np.bool_)
    by_symbol = weights.edges_by_symbol
    offsets = np.cumsum([0, *(len(metric.symbol) for metric in costs.metrics)])
    near_first = np.stack([metric.first + offset for metric, offset in zip(costs.metrics, offsets[:-1], strict=True)])
    arguments: tuple[Any, ...] = (
        graph.first,
        graph.symbol,
        graph.target,
        weights.edge_weights,
        weights.is_weighted,
        by_symbol[0],
        by_symbol[1],
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
def _far_layer(first, reached, edge_weight, is_weighted, weight, after, layer, phases, phase):
    """V of every state and lane in one phase if all symbols were far ones; `reached` is where each edge leads."""
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
def _near_states(
    lane, begin, end, near_symbol, first, symbol, target, edge_weight, symbol_first, symbol_edge, source,
    step_weight, next_phase, level_of, stamp, done, after, layer,
):  # fmt: skip
    """Several phases: sum the states anew that an edge with a listed symbol leaves; `level_of` is set for them."""
    phases = step_weight.shape[1]
    for near in range(begin, end):
        for place in range(symbol_first[near_symbol[near]], symbol_first[near_symbol[near] + 1]):
            state = source[symbol_edge[place]]
            if done[state] == stamp:
                continue
            done[state] = stamp
            for phase in range(phases):
                total = 0.0
                for edge in range(first[state], first[state + 1]):
                    level = level_of[symbol[edge]]
                    if level >= 0:
                        reached = after[target[edge] * phases + next_phase[level, phase], lane]
                        total += edge_weight[edge] * step_weight[level, phase] * reached
                layer[state * phases + phase, lane] = total


@compiled
def _draw_part(
    codes, words, released, decided, first, symbol, target, edge_weight, is_weighted, symbol_first, symbol_edge,
    source, final_weight, start, public_start, first_state, metric_of, near_first, near_symbol, near_level, far,
    step_weight, next_phase, excess, start_phase, margin, smallest,
):  # fmt: skip
    """Private versions of some words; `decided` says which of them floats could decide."""
    count, length = codes.shape
    size, phases = len(final_weight), step_weight.shape[1]
    value = np.zeros((length + 1, size * phases, _LANES))
    level_of = np.full(len(symbol_first) - 1, far)
    done = np.full(size, -1)
    widest = 1
    for state in range(size):
        widest = max(widest, first[state + 1] - first[state])
    share_of = np.empty(widest)
    far_target = np.empty((phases, len(target)), dtype=target.dtype)
    for phase in range(phases):
        reached = next_phase[far, phase] if far >= 0 else 0
        for edge in range(len(target)):
            far_target[phase, edge] = target[edge] * phases + reached
    stamp = 0
    for state in range(size):
        for phase in range(phases):
            value[length, state * phases + phase, :] = final_weight[state]
    for begin in range(0, count, _LANES):
        used = min(_LANES, count - begin)
        for position in range(length - 1, -1, -1):
            after, layer = value[position + 1], value[position]
            metric = metric_of[position]
            if far < 0:
                layer[:, :] = 0.0
            else:
                for phase in range(phases):
                    _far_layer(
                        first, far_target[phase], edge_weight, is_weighted, step_weight[far, phase], after, layer,
                        phases, phase,
                    )  # fmt: skip
            for lane in range(used):
                own = codes[begin + lane, position]
                near_begin, near_end = near_first[metric, own], near_first[metric, own + 1]
                if phases == 1:
                    for near in range(near_begin, near_end):
                        gain = excess[near_level[near]]
                        read = near_symbol[near]
                        for place in range(symbol_first[read], symbol_first[read + 1]):
                            edge = symbol_edge[place]
                            layer[source[edge], lane] += gain * edge_weight[edge] * after[target[edge], lane]
                else:
                    for near in range(near_begin, near_end):
                        level_of[near_symbol[near]] = near_level[near]
                    stamp += 1
                    _near_states(
                        lane, near_begin, near_end, near_symbol, first, symbol, target, edge_weight,
                        symbol_first, symbol_edge, source, step_weight, next_phase, level_of, stamp, done, after,
                        layer,
                    )  # fmt: skip
                    for near in range(near_begin, near_end):
                        level_of[near_symbol[near]] = far
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
                for near in range(near_begin, near_end):
                    level_of[near_symbol[near]] = near_level[near]
                edges, degree = first[state], first[state + 1] - first[state]
                total = 0.0
                for place in range(degree):
                    level = level_of[symbol[edges + place]]
                    share = 0.0
                    if level >= 0:
                        to = target[edges + place] * phases + next_phase[level, phase]
                        share = edge_weight[edges + place] * step_weight[level, phase] * value[position + 1, to, lane]
                    total += share
                    share_of[place] = share
                sure = total > smallest
                point = (words[word, position] >> np.uint64(11)) * 2.0**-53 * total
                slack = margin * total
                running = 0.0
                chosen = edges + degree - 1
                for place in range(degree - 1):
                    running += share_of[place]
                    if abs(point - running) <= slack:
                        sure = False
                        break
                    if point < running:
                        chosen = edges + place
                        break
                level = level_of[symbol[chosen]]
                for near in range(near_begin, near_end):
                    level_of[near_symbol[near]] = far
                if not sure:
                    break
                released[word, position] = symbol[chosen]
                state = target[chosen]
                phase = next_phase[level, phase]
                position += 1
            decided[word] = sure


# the last name of the module: who finds it while another thread imports the module finds the loop too
def is_compiled() -> bool:
    """Whether this process has the loop's machine code, made or read from where it is kept."""
    return bool(getattr(_draw_part, "signatures", False))
