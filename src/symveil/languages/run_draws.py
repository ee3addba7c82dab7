"""Drawing feasible words by floats that know when they cannot decide, and by balls where they cannot.

Two compiled loops draw: one follows the states near a word (`near_loops`), the other takes sixteen words at once and
all states of the model (`draw_loops`). A draw that lies within `margin` of a boundary, at any position, sends its row
to the slow path with the same random bits. So all draws take the same decisions from the same bits, and the choice
between them is one of time only.

The slow path draws a word in ball arithmetic, which never rounds. It is used when floats cannot decide, and for words
whose weights leave the range of doubles.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from symveil.languages.costs import INFINITE, CostSteps
from symveil.languages.draw_loops import LANES, draw_part
from symveil.languages.limits import LIMITS
from symveil.languages.near_loops import draw_near
from symveil.languages.run_weights import RunWeights
from symveil.models.alphabet import Codes
from symveil.randomness import BitSource, Boundaries
from symveil.trellis.passes import Trellis, backward
from symveil.trellis.semirings import BALLS


def backward_balls(weights: RunWeights, codes: Codes) -> list[NDArray[Any]]:
    """V(i, y, φ) for every layer i, at the working precision."""
    graph, costs = weights.graph, weights.costs
    edge_weights = np.array(weights.edge_weight_balls(), dtype=object) if weights.is_weighted else None
    ends = np.array(weights.final_weight_balls(), dtype=object)
    trellis = Trellis(
        edges=graph,
        length=len(codes),
        semiring=CostSteps(costs, BALLS, np.array(weights.step_weight_balls(), dtype=object)),
        final=np.repeat(ends[:, None], costs.phases, axis=1),
        worth=lambda position: (costs.levels(position, codes[position], graph.symbol), edge_weights),
    )
    return backward(trellis)


def total_weight(weights: RunWeights, codes: Codes) -> arb:
    """Z(w): the weight of all words together, at the working precision."""
    language, phase = weights.language, weights.costs.start_phase
    layers = backward_balls(weights, codes)
    if language.public_start and language.length:
        return arb(layers[1][int(weights.first_states[codes[0]])][phase])
    return arb(layers[0][weights.graph.start][phase])


class ExactDraw:
    """Draws of one word's private versions; the weights are kept for the precision last asked for."""

    def __init__(self, weights: RunWeights, codes: Codes) -> None:
        self._weights = weights
        self._codes = codes
        self._layers: list[NDArray[Any]] = []
        self._at_precision = 0

    def draw(self, words: Sequence[int], bits: BitSource) -> Codes:
        """One private word; `words` holds 64 random bits for each symbol, `bits` more where they do not decide."""
        language, graph, costs = self._weights.language, self._weights.graph, self._weights.costs
        released = self._codes.copy()
        state, phase = graph.start, costs.start_phase
        begin = 0
        if language.public_start and language.length:
            state, begin = int(self._weights.first_states[self._codes[0]]), 1
        for position in range(begin, language.length):
            # an edge that can never be taken has no share: it is left out, not cut off
            options = self._options(position, state)
            choice = Boundaries(
                lambda at=position, among=options, now=phase: self._cut_points(at, among, now)  # type: ignore[misc]
            )
            edge, level = options[choice.resolve(int(words[position]), bits)]
            released[position] = graph.symbol[edge]
            state, phase = int(graph.target[edge]), int(costs.next_phase[level, phase])
        return released

    def _options(self, position: int, state: int) -> list[tuple[int, int]]:
        """The edges that may be taken, and the level of what they read."""
        graph = self._weights.graph
        edges = np.array(graph.edges(state), dtype=np.int64)
        levels = self._weights.costs.levels(position, self._codes[position], graph.symbol[edges])
        return [pair for pair in zip(edges.tolist(), levels.tolist(), strict=True) if pair[1] != INFINITE]

    def _cut_points(self, position: int, options: list[tuple[int, int]], phase: int) -> list[arb]:
        graph, costs = self._weights.graph, self._weights.costs
        layers = self._layers_at_working_precision()
        step_weight, edge_weight = self._weights.step_weight_balls(), self._weights.edge_weight_balls()
        sums = [arb(0)]
        for edge, level in options:
            after = layers[position + 1][int(graph.target[edge])][int(costs.next_phase[level, phase])]
            sums.append(sums[-1] + edge_weight[edge] * step_weight[level][phase] * after)
        total = sums.pop()
        return [partial / total for partial in sums[1:]]

    def _layers_at_working_precision(self) -> list[NDArray[Any]]:
        if self._at_precision < ctx.prec:
            self._layers = backward_balls(self._weights, self._codes)
            self._at_precision = ctx.prec
        return self._layers


def draw_undecided(
    weights: RunWeights,
    codes: Codes,
    words: NDArray[np.uint64],
    released: Codes,
    decided: NDArray[np.bool_],
    bits: BitSource,
) -> None:
    """Put exact draws into the rows of `released` that are not `decided`, from the bits that floats looked at."""
    rows = np.flatnonzero(~decided)
    if not len(rows):
        return
    # equal words one after the other: they share their weights, and only one word's are kept at a time
    different, number = np.unique(codes[rows], axis=0, return_inverse=True)
    for index, word in enumerate(different):
        slow = ExactDraw(weights, word)
        for row in rows[number.reshape(-1) == index]:
            released[row] = slow.draw(words[row].tolist(), bits.of_row(int(row)))


def draw_rows(weights: RunWeights, codes: Codes, bits: BitSource, *, in_lanes: bool | None = None) -> Codes:
    """A private version of each row.

    `in_lanes`: whether by the loop that takes sixteen words at once, or by the one that follows the states near a word;
    None: by the one that is quicker. Both take the decisions of exact arithmetic.
    """
    # the loops are compiled for one kind of array
    codes = np.require(codes, dtype=np.int32, requirements=["C", "W"])
    words = np.ascontiguousarray(bits.word_rows(*codes.shape))
    released, decided = codes.copy(), np.zeros(len(codes), dtype=np.bool_)
    smallest = weights.smallest_total
    if smallest is not None and len(codes):
        lanes = is_quicker_in_lanes(weights, codes) if in_lanes is None else in_lanes
        draw = _draw_in_lanes if lanes else _draw_near
        draw(weights, codes, words, released, decided, smallest)
    draw_undecided(weights, codes, words, released, decided, bits)
    return released


def is_quicker_in_lanes(weights: RunWeights, codes: Codes) -> bool:
    """Whether many different words are quicker sixteen at a time, all states of a model at once.

    The answer follows from how many rows there are and whether all are equal, and from the model: not from the words.
    """
    if not weights.fits_batches:
        return False
    limits, rows, phases = LIMITS.now, len(codes), weights.costs.phases
    lanes = (1.0 if weights.by_excess else limits.lane_phase * phases) * LANES * -(-rows // LANES)
    whole = limits.near_edge if weights.by_excess else limits.near_phase * phases
    different = 1 if (codes == codes[0]).all() else rows
    if whole * different <= lanes:  # even if all states are near
        return False
    edges, passes = weights.graph.edge_count, max(weights.language.length - 1, 1)
    states, positions = weights.near_states
    each = states * limits.near_state_edge * phases * edges / weights.graph.state_count + positions * whole * edges
    return lanes * passes * edges < each * different


def _draw_near(
    weights: RunWeights,
    codes: Codes,
    words: NDArray[np.uint64],
    released: Codes,
    decided: NDArray[np.bool_],
    smallest: float,
) -> None:
    """Each word by the states near it; equal rows, which share them, are put one after the other."""
    loops, margins = weights.loops, (weights.margin, weights.start_margin)
    if (codes == codes[:1]).all():
        sorted_codes, sorted_words, drawn, sure = codes, words, released, decided
    else:
        order = np.lexsort(codes.T[::-1])
        sorted_codes, sorted_words, drawn, sure = codes[order], words[order], codes[order], decided[order]

    def run(part: slice) -> None:
        room = loops.take_room()
        draw_near(sorted_codes[part], sorted_words[part], drawn[part], sure[part], room, *margins, smallest)
        loops.give_back(room)

    _in_threads(run, codes, most=LIMITS.now.layer_values_at_once // loops.values)
    if drawn is not released:
        released[order], decided[order] = drawn, sure


def _draw_in_lanes(
    weights: RunWeights,
    codes: Codes,
    words: NDArray[np.uint64],
    released: Codes,
    decided: NDArray[np.bool_],
    smallest: float,
) -> None:
    """Sixteen words at once, all states of a model for each position."""
    loops = weights.loops

    def run(part: slice) -> None:
        draw_part(
            codes[part], words[part], released[part], decided[part], loops.edges, loops.levels, loops.sums,
            weights.margin, smallest,
        )  # fmt: skip

    _in_threads(run, codes, most=LIMITS.now.layer_values_at_once)


def _in_threads(run: Callable[[slice], None], codes: Codes, *, most: int) -> None:
    """`run` for all rows, some at a time, in `most` threads at most."""
    fitting = LIMITS.now.thread_symbols // max(codes.shape[1], 1) // LANES * LANES
    at_once = max(4 * LANES, min(LIMITS.now.thread_words, fitting))
    if len(codes) <= at_once:  # threads would take longer to start than a few words take
        run(slice(None))
        return
    parts = [slice(start, start + at_once) for start in range(0, len(codes), at_once)]
    with ThreadPoolExecutor(max_workers=max(min(os.cpu_count() or 1, most), 1)) as pool:
        for _ in pool.map(run, parts):
            pass
