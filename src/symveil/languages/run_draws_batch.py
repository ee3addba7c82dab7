"""Drawing private versions of many words at once: the compiled loop.

Words are taken sixteen at a time: the backward pass then adds short vectors, one lane a word,
which the processor does in a few instructions. Matches are put right lane by lane afterwards:
V(i,·) = z·(A V(i+1,·)) + (1−z)·(the edges that read w_{i+1}).
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symveil.languages.kernels import compiled
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
    language = weights.language
    graph = language.graph
    released = codes.copy()
    decided = np.zeros(len(codes), dtype=np.bool_)
    by_symbol = weights.edges_by_symbol
    arguments: tuple[Any, ...] = (
        graph.first,
        graph.symbol,
        graph.target,
        weights.edge_weights,
        weights.with_prior,
        by_symbol[0],
        by_symbol[1],
        weights.edge_sources,
        graph.accepting,
        graph.start,
        language.public_start,
        weights.mismatch,
        weights.match_excess,
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
def _draw_part(
    codes, words, released, decided, first, symbol, target, edge_weight, with_prior, symbol_first, symbol_edge,
    source, accepting, start, public_start, mismatch, match_excess, margin, smallest,
):  # fmt: skip
    """Private versions of some words; `decided` says which of them floats could decide."""
    count, length = codes.shape
    size = len(accepting)
    value = np.zeros((length + 1, size, _LANES))
    total_of = np.empty(_LANES)
    for state in range(size):
        if accepting[state]:
            value[length, state, :] = 1.0
    for begin in range(0, count, _LANES):
        used = min(_LANES, count - begin)
        for position in range(length - 1, -1, -1):
            after, layer = value[position + 1], value[position]
            for state in range(size):
                for lane in range(_LANES):
                    total_of[lane] = 0.0
                for edge in range(first[state], first[state + 1]):
                    to = target[edge]
                    if with_prior:
                        scale = edge_weight[edge]
                        for lane in range(_LANES):
                            total_of[lane] += scale * after[to, lane]
                    else:
                        for lane in range(_LANES):
                            total_of[lane] += after[to, lane]
                for lane in range(_LANES):
                    layer[state, lane] = total_of[lane] * mismatch
            for lane in range(used):
                own = codes[begin + lane, position]
                for place in range(symbol_first[own], symbol_first[own + 1]):
                    edge = symbol_edge[place]
                    layer[source[edge], lane] += match_excess * edge_weight[edge] * after[target[edge], lane]
        for lane in range(used):
            word = begin + lane
            state = start
            position = 0
            if public_start and length > 0:
                state = codes[word, 0]
                position = 1
            sure = True
            while position < length:
                own = codes[word, position]
                total = 0.0
                for edge in range(first[state], first[state + 1]):
                    weight = edge_weight[edge] * value[position + 1, target[edge], lane]
                    total += weight if symbol[edge] == own else mismatch * weight
                if not total > smallest:
                    sure = False
                    break
                point = (words[word, position] >> np.uint64(11)) * 2.0**-53 * total
                slack = margin * total
                running = 0.0
                chosen = first[state + 1] - 1
                for edge in range(first[state], first[state + 1] - 1):
                    weight = edge_weight[edge] * value[position + 1, target[edge], lane]
                    running += weight if symbol[edge] == own else mismatch * weight
                    if abs(point - running) <= slack:
                        sure = False
                        break
                    if point < running:
                        chosen = edge
                        break
                if not sure:
                    break
                released[word, position] = symbol[chosen]
                state = target[chosen]
                position += 1
            decided[word] = sure


# the last name of the module: who finds it while another thread imports the module finds the loop too
def is_compiled() -> bool:
    """Whether this process has the loop's machine code, made or read from where it is kept."""
    return bool(getattr(_draw_part, "signatures", False))
