"""Words of a model weighted by a cost and a public prior: what the loops need, and when floats may be trusted.

V(i,y,φ) = Σ over edges y→σ y' of T·κ·V(i+1,y',φ') adds and multiplies positive numbers only, κ and φ' being what the
cost automaton makes of the pair (w_{i+1}, σ) in phase φ (`costs`). So its relative error is known beforehand
(docs/theory/hidden-lengths.md): at most (1+u)^K − 1, u = 2⁻⁵³. A decision that lies farther from every boundary than
`margin` is the decision of exact arithmetic. With the Hamming distance and one phase, κ = e^{−η[σ≠w_{i+1}]}.

Local balance: a public prior on the words of a chain that keeps their total weight nearly constant.

A certificate pays for Z varying with the word. With the prior

    s(o) = Π_i 1/(1 + (k_i − 1)·z),     k_i = #{y : o_{i−1} → y → o_{i+1}},     z = e^{−rate},

Z = 1 + O(z²): the words at cost 1 from o are those that differ in one position, Σ(k_i − 1) of them
(docs/theory/certificates.md, *Balance*). At a hidden start k_0 counts the first symbols before o_1, at the end
k_{n−1} the last ones after o_{n−2}; a public first symbol has no factor. Any prior is sound: the certificate is
computed with it.

A factor reads three symbols in a row, so the graph's states become its edges (`PairGraph`): the weight sits on pairs
of edges, and on the last edge for the last factor. Everything that runs on a word graph with edge weights runs on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symveil.errors import ParameterError, TooLargeError
from symveil.graphs.csr import Reordered, offsets
from symveil.languages.costs import INFINITE, Cost, hamming
from symveil.languages.draw_loops import Edges, Levels, Sums
from symveil.languages.draw_rooms import DrawLoops
from symveil.languages.graph import Arrivals, WordGraph
from symveil.languages.limits import LIMITS
from symveil.languages.near_loops import Behind, count_near
from symveil.languages.run_counts import RunNeighbours
from symveil.languages.runs import RunLanguage
from symveil.models.alphabet import Codes
from symveil.numbers.conversions import STANDARD_PRECISION, ball, nearest_float, precision
from symveil.numbers.once import computed_once


@dataclass(frozen=True, slots=True, eq=False)
class PairGraph:
    """The graph of a chain's edges, and for each step and each end how many symbols could stand where one stands.

    State 0 is the start. States 1 … are first symbols, `first_state[symbol]`; then one for each edge of the chain.
    `ways[e]` is k of the symbol that a step leaves behind (0: no factor), `last_ways[s]` of the last symbol.
    """

    graph: WordGraph
    first_state: NDArray[np.int32] = field(repr=False)
    ways: NDArray[np.int64] = field(repr=False)
    last_ways: NDArray[np.int64] = field(repr=False)


def pair_graph(language: RunLanguage) -> PairGraph:
    """The graph of edges of a chain's words.

    >>> import symveil as sv
    >>> chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> pair_graph(sv.runs(chain, length=5)).graph.state_count       # the start, two first symbols, three edges
    6
    """
    graph = language.graph
    if not graph.is_chain:
        raise ParameterError("balance", expected="a Markov chain, whose symbols are states", found="actions")
    beginning = np.array(graph.edges(graph.start), dtype=np.int64)
    first_symbols = graph.symbol[beginning]
    edges = np.flatnonzero(graph.source != graph.start) if _never_entered(graph) else np.arange(graph.edge_count)
    number = np.full(graph.edge_count, -1)
    number[edges] = 1 + len(beginning) + np.arange(len(edges))
    # the edge behind each state, the first symbols' included
    edge_of = np.concatenate([beginning, edges])
    degree = graph.degrees[graph.target[edge_of]]
    if degree.sum() > LIMITS.now.balanced_edges:
        raise TooLargeError(
            f"balance: expected at most {LIMITS.now.balanced_edges} pairs of edges, found {int(degree.sum())}"
        )
    row, following = graph.expand(graph.target[edge_of])
    before, after = graph.source[edge_of[row]], graph.target[following].astype(np.int64)
    ways = _ways_between(graph, before, after)
    last_ways = np.concatenate([[0], _ways_to_end(graph)[graph.source[edge_of]]])
    if language.public_start:
        ways[row < len(beginning)] = 0
        last_ways[: 1 + len(beginning)] = 0
    first_state = np.full(len(language.alphabet), -1, dtype=np.int32)
    first_state[first_symbols] = 1 + np.arange(len(beginning))
    targets = np.concatenate([first_state[first_symbols], number[following]]).astype(np.int32)
    counts = np.concatenate([[len(beginning)], degree])
    return PairGraph(
        graph=WordGraph(
            alphabet=graph.alphabet,
            start=0,
            first=offsets(counts),
            symbol=np.concatenate([first_symbols, graph.symbol[following]]).astype(np.int32),
            target=targets,
            accepting=np.concatenate([[graph.accepting[graph.start]], graph.accepting[graph.target[edge_of]]]),
        ),
        first_state=first_state,
        ways=np.concatenate([np.zeros(len(beginning), dtype=np.int64), ways]),
        last_ways=last_ways,
    )


def balance_weight(ways: int, rate: Fraction) -> arb:
    """1/(1 + (k − 1)e^{−rate}) at the working precision; 1 where there is no choice."""
    return arb(1) if ways <= 1 else 1 / (1 + (ways - 1) * (-ball(rate)).exp())


def _never_entered(graph: WordGraph) -> bool:
    return not bool((graph.target == graph.start).any())


def _ways_between(graph: WordGraph, before: NDArray[np.int64], after: NDArray[np.int64]) -> NDArray[np.int64]:
    """#{y : before → y → after} of every pair."""
    size = graph.state_count
    edge, following = graph.expand(graph.target)
    keys, counts = np.unique(graph.source[edge] * size + graph.target[following], return_counts=True)
    return np.asarray(counts[np.searchsorted(keys, before * size + after)], dtype=np.int64)


def _ways_to_end(graph: WordGraph) -> NDArray[np.int64]:
    """#{y accepting : x → y} of every state x."""
    return np.bincount(graph.source, weights=graph.accepting[graph.target], minlength=graph.state_count).astype(
        np.int64
    )


# Doubles reach from 2^−1074 to 2^1023; both ends are kept well away from.
_SAFE_EXPONENT = 900.0


@dataclass(frozen=True, eq=False, kw_only=True)
class RunWeights:
    """A language, a rate, what symbols cost, and a public prior.

    `with_prior`: words are also weighted by the model's public probabilities. `balance`: by the prior of
    `balance_weight` at that rate instead. `cost`: the Hamming distance where none is given.
    """

    language: RunLanguage
    rate: Fraction
    with_prior: bool = False
    cost: Cost | None = None
    balance: Fraction | None = None
    widen: float = field(default=0.0, repr=False)  # tests enlarge the margin to force the slow path

    @computed_once
    def costs(self) -> Cost:
        """What symbols cost."""
        return hamming(self.language) if self.cost is None else self.cost

    # --- the graph that words are drawn on ------------------------------------------------------

    @computed_once
    def _pairs(self) -> PairGraph | None:
        return None if self.balance is None else pair_graph(self.language)

    @property
    def graph(self) -> WordGraph:
        """The language's graph, or that of its edges where the prior reads three symbols in a row."""
        return self.language.graph if self._pairs is None else self._pairs.graph

    @computed_once
    def first_states(self) -> NDArray[np.int32]:
        """The state after a public first symbol."""
        if self._pairs is not None:
            return self._pairs.first_state
        return np.arange(len(self.language.alphabet), dtype=np.int32)

    # --- weights of steps -----------------------------------------------------------------------

    @computed_once
    def step_weights(self) -> NDArray[np.float64]:
        """κ of each level in each phase, correctly rounded up to one unit."""
        with precision(STANDARD_PRECISION):
            return np.array([[nearest_float(weight) for weight in row] for row in self.step_weight_balls()])

    def step_weight_balls(self) -> list[list[arb]]:
        """κ of each level in each phase, at the working precision."""
        rate = ball(self.rate)
        return [[(-rate * ball(drop)).exp() for drop in row] for row in self.costs.drops]

    @computed_once
    def mismatch(self) -> float:
        """z = e^{−η}, correctly rounded up to one unit."""
        with precision(STANDARD_PRECISION):
            return nearest_float(self.mismatch_ball())

    @computed_once
    def match_excess(self) -> float:
        """1 − z, without cancellation."""
        with precision(STANDARD_PRECISION):
            return nearest_float(-(-ball(self.rate)).expm1())

    @computed_once
    def excess(self) -> NDArray[np.float64]:
        """With one phase: by how much κ of each level exceeds that of the symbols that are not listed."""
        far = self.costs.far
        with precision(STANDARD_PRECISION):
            if far == INFINITE:
                return np.array([nearest_float(row[0]) for row in self.step_weight_balls()])
            least, rate = self.costs.values[far], ball(self.rate)
            return np.array(
                [
                    nearest_float(-(-rate * ball(value)).exp() * (-rate * ball(least - value)).expm1())
                    for value in self.costs.values
                ]
            )

    @computed_once
    def by_excess(self) -> bool:
        """Whether to sum all symbols as if they were far ones and add the excess of the near ones, which are few.

        With several phases a difference of two weights would cancel; where many symbols are near it is no gain.
        """
        near = max((metric.widest for metric in self.costs.metrics), default=1)
        return self.costs.phases == 1 and self.costs.far != INFINITE and near <= LIMITS.now.near_symbols

    def mismatch_ball(self) -> arb:
        """z at the working precision."""
        return (-ball(self.rate)).exp()

    # --- weights of edges and ends --------------------------------------------------------------

    @property
    def is_weighted(self) -> bool:
        """Whether edges have weights of their own."""
        return (self.with_prior and self.language.graph.prior is not None) or self.balance is not None

    @computed_once
    def edge_weights(self) -> NDArray[np.float64]:
        """T of every edge: 1 without a prior."""
        if not self.is_weighted:
            return np.ones(self.graph.edge_count)
        if self._pairs is not None:
            return self._balance_floats(self._pairs.ways)
        return np.array([float(chance) for chance in self.language.graph.prior or ()])

    def edge_weight_balls(self) -> list[arb]:
        """T of every edge at the working precision."""
        if not self.is_weighted:
            return [arb(1)] * self.graph.edge_count
        if self._pairs is not None:
            return self._balance_balls(self._pairs.ways)
        return [ball(chance) for chance in self.language.graph.prior or ()]

    @computed_once
    def final_weights(self) -> NDArray[np.float64]:
        """What ending in a state is worth: 1 where words may end, times the last factor of a balanced prior."""
        accepting = self.graph.accepting.astype(np.float64)
        return accepting if self._pairs is None else accepting * self._balance_floats(self._pairs.last_ways)

    def final_weight_balls(self) -> list[arb]:
        """The same at the working precision."""
        ends = [arb(1) if accepting else arb(0) for accepting in self.graph.accepting.tolist()]
        if self._pairs is None:
            return ends
        return [end * share for end, share in zip(ends, self._balance_balls(self._pairs.last_ways), strict=True)]

    def _balance_balls(self, ways: NDArray[np.int64]) -> list[arb]:
        rate = self.balance or Fraction(0)
        known = {count: balance_weight(count, rate) for count in np.unique(ways).tolist()}
        return [known[count] for count in ways.tolist()]

    def _balance_floats(self, ways: NDArray[np.int64]) -> NDArray[np.float64]:
        with precision(STANDARD_PRECISION):
            different, number = np.unique(ways, return_inverse=True)
            return np.array([nearest_float(each) for each in self._balance_balls(different)])[number.reshape(-1)]

    @computed_once
    def arrivals(self) -> Arrivals:
        """Where edges arrive (see `WordGraph.arrivals`)."""
        return self.graph.arrivals()

    @computed_once
    def edge_sources(self) -> NDArray[np.int64]:
        """The state that each edge leaves."""
        return self.graph.source

    @computed_once
    def edges_by_symbol(self) -> Reordered:
        """Which edges read which symbol (see `WordGraph.edges_by_symbol`)."""
        return self.graph.edges_by_symbol()

    @computed_once
    def loops(self) -> DrawLoops:
        """What compiled draws read."""
        graph, costs, arrivals, by_symbol = self.graph, self.costs, self.arrivals, self.edges_by_symbol
        begins = offsets(np.array([len(metric.symbol) for metric in costs.metrics]))
        near_first = [metric.first + begin for metric, begin in zip(costs.metrics, begins[:-1], strict=True)]
        into, source = graph.reversed(), self.edge_sources.astype(np.int32)
        return DrawLoops(
            edges=Edges(
                graph.first, graph.symbol, graph.target, self.edge_weights, self.is_weighted, self.final_weights,
                graph.start, self.language.public_start, self.first_states,
            ),
            levels=Levels(
                np.array(costs.metric_of, dtype=np.int64), np.stack(near_first),
                np.concatenate([metric.symbol for metric in costs.metrics]),
                np.concatenate([metric.level for metric in costs.metrics]), costs.far, self.step_weights,
                costs.next_phase, costs.start_phase,
            ),
            sums=Sums(
                self.by_excess, self.excess, by_symbol.first, by_symbol.number, self.edge_sources, arrivals.target,
                arrivals.symbol, arrivals.of_edge,
            ),
            behind=Behind(
                into.first, into.target.astype(np.int32), into.number.astype(np.int32), by_symbol.first,
                source[by_symbol.number], by_symbol.number.astype(np.int32),
            ),
            length=self.language.length,
            states=graph.state_count,
            phases=costs.phases,
        )  # fmt: skip

    @computed_once
    def near_states(self) -> tuple[float, float]:
        """About how many states are near a word, and at how many positions most are: on average over public words."""
        graph, count = self.graph, LIMITS.now.probes
        words = np.zeros((count, self.language.length), dtype=np.int32)
        state = np.full(count, graph.start)
        for position in range(self.language.length):
            ends = graph.degrees[state] == 0
            state[ends] = graph.start
            # steps that differ from word to word and from position to position
            turn = (np.arange(count) * 2_654_435_761 + position * 40_503) >> 8
            edge = graph.first[state] + turn % graph.degrees[state]
            words[:, position], state = graph.symbol[edge], graph.target[edge].astype(np.int64)
        room = self.loops.take_room()
        few, most = count_near(words, room)
        self.loops.give_back(room)
        return few / count, most / count

    @computed_once
    def margin(self) -> float:
        """How far from a boundary, relative to the whole, a draw must lie to be decided by floats."""
        return 4 * self._error(self._start_degree) + 2.0**-50 + self.widen

    @computed_once
    def start_margin(self) -> float:
        """The same for the first symbol, where the edges of the start are summed in blocks (`near_loops`)."""
        return 12 * self._error(4 * (math.isqrt(self._start_degree) + 4)) + 2.0**-50 + self.widen

    def _error(self, more: int) -> float:
        """The relative error of a computed number, if so many operations lead to it beside those of every layer."""
        length, widest = self.language.length, self._widest
        # one sum, then what the listed symbols add to it, one product with κ, one with T, two roundings of κ and T
        # and of the excess over the far symbols, per layer
        near = min(widest, max((metric.widest for metric in self.costs.metrics), default=1))
        operations = (length + 1) * (max(widest + near, 3) + 5) + more
        return math.expm1(operations * 2.0**-53)

    @computed_once
    def _start_degree(self) -> int:
        """How many edges leave the start: a hidden start has as many as there are states, but is left once."""
        return len(self.graph.edges(self.graph.start))

    @computed_once
    def _widest(self) -> int:
        """D: the largest number of edges from one state, the start aside where nothing leads back to it."""
        graph = self.graph
        degrees = graph.degrees
        if not (graph.target == graph.start).any():
            degrees = np.delete(degrees, graph.start)
        return int(degrees.max(initial=0))

    @computed_once
    def smallest_total(self) -> float | None:
        """Down to which weight of a state its decisions may be left to floats; None: not at all.

        Every step multiplies by at least the smallest κ·T and by at most 1+(D−1)κ₁, κ₁ the largest κ of a wrong
        symbol, since one symbol at most matches. If no product of n such factors leaves the range of doubles, floats
        are right everywhere. If only the small ones do, and there is no prior, what is lost to underflow is
        at most n·D·(1+(D−1)κ₁)ⁿ·2⁻¹⁰⁷⁴, nothing beside the word's own weight, which is at least 1;
        then floats are right wherever the weight is not itself very small.
        """
        length, widest = self.language.length, max(self._widest, 1)
        wrong = float(self.step_weights[1:].max(initial=0.0))
        growth = length * math.log2(1 + (widest - 1) * wrong) + math.log2(1 + self._start_degree)
        least = float(self.step_weights.min()) * float(self.edge_weights.min(initial=1.0))
        ends = self.final_weights[self.final_weights > 0].min(initial=1.0)
        if least > 0 and growth - length * math.log2(least) - math.log2(ends) < _SAFE_EXPONENT:
            return 0.0
        return 2.0**-60 if growth < _SAFE_EXPONENT and not self.is_weighted else None

    @property
    def fits_batches(self) -> bool:
        """Whether the weights of sixteen words at once fit into a quarter of a GiB."""
        return 16 * 8 * (self.language.length + 1) * self.graph.state_count * self.costs.phases <= 1 << 28

    def log_prior(self, codes: Codes) -> NDArray[np.float64]:
        """ln T of each row, the last factor of a balanced prior included: 0 without a prior."""
        if not self.is_weighted:
            return np.zeros(len(codes))
        edges = self._edges_of(codes)
        if self.language.public_start:
            edges = edges[:, 1:]  # the first symbol is given, not drawn
        total = np.asarray(self.log_edge_weights[edges].sum(axis=1))
        if self._pairs is not None and edges.shape[1]:
            total += self._log_last_weights[self.graph.target[edges[:, -1]]]
        return total

    def _edges_of(self, codes: Codes) -> NDArray[np.int64]:
        """The edges of `graph` that each row's word takes."""
        if self._pairs is None:
            return self.language.walk_edges(codes)
        self.language.check_codes(codes)
        graph, size = self.graph, len(self.language.alphabet)
        keys = graph.source * size + graph.symbol
        state = np.full(len(codes), graph.start, dtype=np.int64)
        edges = np.empty(codes.shape, dtype=np.int64)
        for position in range(codes.shape[1]):
            edges[:, position] = np.searchsorted(keys, state * size + codes[:, position])
            state = graph.target[edges[:, position]].astype(np.int64)
        return edges

    @computed_once
    def log_edge_weights(self) -> NDArray[np.float64]:
        """ln T of every edge, also of those that are too unlikely for a float."""
        with precision(STANDARD_PRECISION):
            return np.array([nearest_float(weight.log()) for weight in self.edge_weight_balls()])

    @computed_once
    def _log_last_weights(self) -> NDArray[np.float64]:
        """ln of the last factor of every state."""
        with precision(STANDARD_PRECISION):
            return np.log(
                self._balance_floats(np.zeros(0, dtype=np.int64) if self._pairs is None else self._pairs.last_ways)
            )

    def prior_neighbours(self, codes: Codes) -> RunNeighbours:
        """The words around a word, by distance, each counted with its prior weight."""
        return RunNeighbours(self.language, codes, edge_weights=self.language.graph.prior)
