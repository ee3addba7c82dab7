"""What certificates run on: a language, its costs and its prior as arrays, with a symbol for each state.

See docs/theory/certificates.md. A word is a path of states s₀, s₁ … s_m; s₀ is where it starts, and the symbol of s_j
is compared with the released one at step j by the costs of that position. Where a state can be entered with several
symbols (automata, actions) it is split into one for each of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symveil.calibration.costs.step_loops import Arcs, EveryState
from symveil.graphs.csr import Csr
from symveil.languages.run_weights import RunWeights
from symveil.languages.swap_costs import live_states
from symveil.numbers.once import computed_once
from symveil.trellis.passes import Trellis, backward, forward
from symveil.trellis.semirings import BOOLEANS

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

_SMALLEST_WEIGHT = 2.0**-100
_SMALLEST_STEP = 2.0**-900


@dataclass(frozen=True, eq=False)
class CostGraph:
    """States 0 … K−1, their edges in both directions, and what the cost automaton does at each step.

    other[first[x]] … are the states after x, earlier[back[x]] … those before it, both rising. `levels[metric, a, σ]`
    is −1 where a pair may not stand for each other. `is_chain`: swapping one block of a word for another keeps it
    feasible.
    """

    weights: RunWeights
    steps: int
    first: Integers
    other: Integers
    weight: Floats
    back: Integers
    earlier: Integers
    earlier_weight: Floats
    symbol: Integers
    final: Floats
    starts: Integers
    live: Booleans
    metric_at: Integers
    is_chain: bool
    padding: int | None = None
    """The state of a symbol that fills up words shorter than `steps`: before them, or after a public start's."""

    @property
    def size(self) -> int:
        """K."""
        return len(self.final)

    @computed_once
    def ahead(self) -> Csr:
        """The edges, by the states that they leave."""
        return Csr(first=self.first, target=self.other)

    @property
    def phases(self) -> int:
        """F."""
        return self.weights.costs.phases

    @computed_once
    def levels(self) -> NDArray[np.int16]:
        """What each symbol costs against each other one in every metric, written out: for some thousand symbols."""
        costs = self.weights.costs
        result = np.stack([costs.table(metric).astype(np.int16) for metric in range(len(costs.metrics))])
        if self.padding is not None:  # what stands before a word stands for nothing else
            result = np.pad(result, ((0, 0), (0, 1), (0, 1)), constant_values=-1)
            result[:, -1, -1] = 0
        return result

    @computed_once
    def moves(self) -> EveryState:
        """As the loops over all states take it."""
        kappa, following, _ = self.automaton
        return EveryState(*self.arcs, kappa, following, self.metric_at, self.symbol, self.levels)

    @property
    def arcs(self) -> tuple[Arcs, Arcs]:
        """The edges as loops take them: ahead, and backwards."""
        return Arcs(self.first, self.other, self.weight), Arcs(self.back, self.earlier, self.earlier_weight)

    @computed_once
    def widest(self) -> int:
        """D: the largest number of edges into or out of one state."""
        return int(max(np.diff(self.first).max(initial=1), np.diff(self.back).max(initial=1)))

    @computed_once
    def rounding(self) -> float:
        """A bound on the relative error of one step of a vector: D products and sums, the weights' own roundings."""
        return (self.widest + 8) * 2.0**-53

    def walked(self, *, forwards: bool) -> Iterator[tuple[int, int, int]]:
        """All steps from one end on: how many moves it takes to each, the step, the metric of the last of them."""
        for moves in range(self.steps + 1):
            step = moves if forwards else self.steps - moves
            yield moves, step, int(self.metric_at[step if forwards else min(step + 1, self.steps)])

    @property
    def is_bounded(self) -> bool:
        """Whether all weights are far enough from 0 for the rounding of floats to be known beforehand."""
        smallest, largest = float(self.weight.min(initial=1.0)), float(self.weight.max(initial=0.0))
        ends = self.final[self.final > 0]
        smallest, largest = min(smallest, float(ends.min(initial=1.0))), max(largest, float(ends.max(initial=0.0)))
        return (
            smallest >= _SMALLEST_WEIGHT and largest <= 1.0 and float(self.weights.step_weights.min()) >= _SMALLEST_STEP
        )

    @computed_once
    def longest_node(self) -> int:
        """Over so many steps a vector grows by less than 2³⁰⁰: what underflows on the way is less than roundings."""
        return int(300 / math.log2(self.widest * self.phases + 1))

    @computed_once
    def automaton(self) -> tuple[Floats, Integers, int]:
        """κ and the next phase of each level in each phase, and the phase of a word itself."""
        costs = self.weights.costs
        return np.ascontiguousarray(self.weights.step_weights), costs.next_phase, costs.start_phase


def cost_graph(weights: RunWeights, *, with_shorter: bool = False) -> CostGraph:
    """The arrays of a language with its costs and prior.

    Words of all smaller lengths (`with_shorter`) wait for as many steps as they are shorter: in their start, where that
    is none of the chain's states, or, with a public start, in a state of its own after their end. Costs must then be
    the same at all positions.

    >>> import symveil as sv
    >>> from fractions import Fraction
    >>> chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> graph = cost_graph(RunWeights(language=sv.runs(chain, length=4), rate=Fraction(1)))
    >>> graph.size, graph.steps, graph.starts.tolist(), graph.is_chain
    (3, 4, [2], True)
    """
    language, graph, costs = weights.language, weights.graph, weights.costs
    letters = len(language.alphabet)
    is_chain = language.graph.is_chain
    source, target, symbol = graph.source, graph.target.astype(np.int64), graph.symbol.astype(np.int64)
    weight, final = weights.edge_weights, weights.final_weights
    begin = 1 if language.public_start and language.length else 0
    if begin and with_shorter:
        starts = np.unique(graph.target[graph.source == graph.start]).astype(np.int64)  # some have shorter words only
    elif begin:
        starts = weights.first_states[np.flatnonzero(_first_symbols(weights))].astype(np.int64)
    else:
        starts = np.array([graph.start], dtype=np.int64)
    entered = np.unique(target * letters + symbol)
    if len(np.unique(entered // letters)) < len(entered):  # split states by the symbol that enters them
        state_of = np.append(entered // letters, graph.start)
        source, edge = graph.expand(state_of)
        target = np.searchsorted(entered, target[edge] * letters + symbol[edge])
        symbol, weight, final = symbol[edge], weight[edge], final[state_of]
        starts = np.array([len(entered)], dtype=np.int64)
    if with_shorter and begin:
        ends = np.flatnonzero(final > 0)
        assert (final[ends] == 1).all()  # noqa: S101 - `Weighting.covering` sees to it: no prior
        padding, final = len(final), np.append(final, 1.0)
        ends = np.append(ends, padding)
        source, target = np.append(source, ends), np.append(target, np.full(len(ends), padding))
        symbol, weight = np.append(symbol, np.full(len(ends), letters)), np.append(weight, np.ones(len(ends)))
    elif with_shorter:
        padding = int(starts[0])
        assert not (target == padding).any()  # noqa: S101 - `Weighting.covering` sees to it
        source, target = np.append(source, padding), np.append(target, padding)
        symbol, weight = np.append(symbol, letters), np.append(weight, 1.0)
    else:
        padding = None
    size = len(final)
    own = np.zeros(size, dtype=np.int64)
    own[target] = symbol
    rising = np.argsort(target, kind="stable")
    ahead = Csr.from_edges(source[rising], target[rising], size)
    behind, weight = ahead.reversed(), weight[rising].astype(np.float64)
    steps = language.largest_distance
    return CostGraph(
        weights=weights,
        steps=steps,
        first=ahead.first,
        other=ahead.target.astype(np.int64),
        weight=ahead.in_order(weight),
        back=behind.first,
        earlier=behind.target.astype(np.int64),
        earlier_weight=behind.in_order(weight),
        symbol=own,
        final=np.ascontiguousarray(final, dtype=np.float64),
        starts=starts,
        live=_live(Csr(first=ahead.first, target=ahead.target), final > 0, starts, steps),
        metric_at=np.array([0, *costs.metric_of[begin:]], dtype=np.int64),
        is_chain=is_chain,
        padding=padding,
    )


def differences_after(now: Integers, source: Integers, target: Integers, differ: Integers, beyond: int) -> Integers:
    """How many differences two words need at least to be in x and in y one step later; no more than `beyond`.

    `differ[e, f]` is 1 where the edges e and f, from `source` to `target`, have different symbols.
    """
    after = np.full_like(now, beyond)
    cost = np.minimum(now[source[:, None], source[None, :]] + differ, beyond)
    np.minimum.at(after, (target[:, None], target[None, :]), cost)
    return after


def _first_symbols(weights: RunWeights) -> Booleans:
    """Which symbols a word with a public start may begin with."""
    live = live_states(weights.language)[0]
    return live[: len(weights.language.alphabet)]


def _live(edges: Csr, accepting: Booleans, starts: Integers, steps: int) -> Booleans:
    """live[j, x]: some word of the language is in x after j steps."""
    words = Trellis(edges=edges, length=steps, semiring=BOOLEANS, final=accepting)
    begins = np.isin(np.arange(edges.state_count), starts)
    return np.asarray(np.stack(list(forward(words, begins))) & np.stack(backward(words)))
