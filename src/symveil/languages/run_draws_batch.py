"""Drawing private versions of many words at once, by the compiled loop of `draw_loops`, in threads."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symveil.graphs.csr import offsets
from symveil.languages.draw_loops import LANES, Edges, Levels, Sums, draw_part
from symveil.languages.run_draws import draw_undecided
from symveil.languages.run_weights import RunWeights
from symveil.models.alphabet import Codes
from symveil.randomness import BitSource

# what a thread takes at once: enough to be worth handing over, and little enough that long words are shared out too
_WORDS_AT_ONCE = 4096
_SYMBOLS_AT_ONCE = 1 << 16


def draw_many(weights: RunWeights, codes: Codes, bits: BitSource) -> Codes:
    """A private version of each row."""
    # the loop is compiled for one kind of array
    codes = np.require(codes, dtype=np.int32, requirements=["C", "W"])
    words = np.ascontiguousarray(bits.word_rows(*codes.shape))
    if weights.smallest_total is None:
        released, decided = codes.copy(), np.zeros(len(codes), dtype=np.bool_)
    else:
        released, decided = _draw_by_floats(weights, codes, words, weights.smallest_total)
    draw_undecided(weights, codes, words, released, decided, bits)
    return released


def _draw_by_floats(
    weights: RunWeights, codes: Codes, words: NDArray[np.uint64], smallest: float
) -> tuple[Codes, NDArray[np.bool_]]:
    language, graph, costs, arrivals = weights.language, weights.graph, weights.costs, weights.arrivals
    released = codes.copy()
    decided = np.zeros(len(codes), dtype=np.bool_)
    by_symbol = weights.edges_by_symbol
    begins = offsets(np.array([len(metric.symbol) for metric in costs.metrics]))
    near_first = np.stack([metric.first + offset for metric, offset in zip(costs.metrics, begins[:-1], strict=True)])
    edges: Any = Edges(
        graph.first, graph.symbol, graph.target, weights.edge_weights, weights.is_weighted, weights.final_weights,
        graph.start, language.public_start, weights.first_states,
    )  # fmt: skip
    near_symbol = np.concatenate([metric.symbol for metric in costs.metrics])
    near_level = np.concatenate([metric.level for metric in costs.metrics])
    levels: Any = Levels(
        np.array(costs.metric_of, dtype=np.int64), near_first, near_symbol, near_level, costs.far,
        weights.step_weights, costs.next_phase, costs.start_phase,
    )  # fmt: skip
    sums: Any = Sums(
        weights.by_excess, weights.excess, by_symbol.first, by_symbol.number, weights.edge_sources, arrivals.target,
        arrivals.symbol, arrivals.of_edge,
    )  # fmt: skip

    fitting = _SYMBOLS_AT_ONCE // max(codes.shape[1], 1) // LANES * LANES
    at_once = max(4 * LANES, min(_WORDS_AT_ONCE, fitting))

    def run(start: int) -> None:
        part = slice(start, start + at_once)
        draw_part(
            codes[part], words[part], released[part], decided[part], edges, levels, sums, weights.margin, smallest
        )

    starts = range(0, len(codes), at_once)
    if len(starts) <= 1:  # threads would take longer to start than a few words take
        for start in starts:
            run(start)
        return released, decided
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        for _ in pool.map(run, starts):
            pass
    return released, decided
