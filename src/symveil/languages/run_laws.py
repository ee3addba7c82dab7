"""The law of a released word of a model, from its weights: log-probabilities, expected errors, the law of the distance.

Sums run over edges × phases, forwards and backwards, in floats scaled layer by layer: sums of positive numbers, so
that twelve digits are right; Z(w) inside a log-probability is a ball.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symveil.languages.costs import INFINITE, CostSteps
from symveil.languages.limits import LIMITS
from symveil.languages.run_draws import total_weight
from symveil.languages.run_weights import RunWeights
from symveil.models.alphabet import Codes
from symveil.numbers.conversions import STANDARD_PRECISION, ball, nearest_float, precision
from symveil.trellis.passes import Trellis, backward, scaled_through_edges, scaled_total
from symveil.trellis.semirings import LOGARITHMS, ByDistance

Floats = NDArray[np.float64]


def log_probabilities(weights: RunWeights, word: Codes, released: Codes) -> Floats:
    """ln P(row | word) of every row; −∞ for words that can not be released.

    >>> import symveil as sv
    >>> from fractions import Fraction
    >>> chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> language = sv.runs(chain, length=3)
    >>> words = language.enumerate_codes(at_most=10)
    >>> logs = log_probabilities(RunWeights(language=language, rate=Fraction(1)), words[0], words)
    >>> round(float(np.exp(logs).sum()), 12)
    1.0
    """
    language = weights.language
    begin = 1 if language.public_start else 0
    drops = weights.costs.drop(word, released, begin=begin)
    with precision(STANDARD_PRECISION):
        log_total = total_weight(weights, word).log()
        rate = ball(weights.rate)
        known = {
            drop: -np.inf if drop is None else nearest_float(-rate * ball(drop) - log_total) for drop in set(drops)
        }
    logs = np.array([known[drop] for drop in drops]) + weights.log_prior(released)
    return np.where(language.comparable(word, released), logs, -np.inf)


@dataclass(frozen=True, slots=True, eq=False)
class RowSteps:
    """The floats' own passes: values by state, phase and row, for words that weigh as they do around each row."""

    weights: RunWeights
    words: Codes

    @property
    def length(self) -> int:
        """How many symbols a row has."""
        return int(self.words.shape[1])

    @property
    def final(self) -> NDArray[np.float64]:
        """What ending in each state is worth."""
        shape = (self.weights.graph.state_count, self.weights.costs.phases, len(self.words))
        return np.broadcast_to(self.weights.final_weights[:, None, None], shape).copy()

    @property
    def begin(self) -> int:
        """The first position that is drawn: a public first symbol is not."""
        return 1 if self.weights.language.public_start and self.length else 0

    @property
    def first_state(self) -> NDArray[np.integer[Any]]:
        """The state of each row before that position."""
        if self.begin:
            return self.weights.first_states[self.words[:, 0]]
        return np.full(len(self.words), self.weights.graph.start)

    def back(self, position: int, after: NDArray[np.float64]) -> NDArray[np.float64]:
        """V(i, ·) from V(i+1, ·)."""
        return moved_back(self.weights, self.words[:, position], position, after)


def moved_back(weights: RunWeights, own: Codes, position: int, after: NDArray[np.float64]) -> NDArray[np.float64]:
    """Any costs: V(i, ·) from V(i+1, ·), what each arrival is worth, summed over the edges that lead there.

    What a symbol costs depends on where an edge arrives, not on where it begins: it is looked up once for each
    *arrival*, a state with the symbol that led there.
    """
    graph, costs, arrivals = weights.graph, weights.costs, weights.arrivals
    levels, which = levels_of_arrivals(weights, own, position)
    lane = np.arange(len(own))[None, :]
    worths = np.empty((len(arrivals.target), *after.shape[1:]))
    for phase in range(costs.phases):
        if costs.phases == 1:
            reached = after[arrivals.target, 0]
        else:
            reached = after[arrivals.target[:, None], costs.next_phase[levels, phase][:, which], lane]
        worths[:, phase, :] = reached * worth(weights, levels, phase)[:, which]
    return graph.sum_over(worths[arrivals.of_edge] * weights.edge_weights[:, None, None])


def levels_of_arrivals(weights: RunWeights, own: Codes, position: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The level of each arrival beside each of the symbols that occur, and which of these each row has."""
    known, which = np.unique(own, return_inverse=True)  # many words have few symbols: each is looked up once
    return weights.costs.levels(position, known[None, :], weights.arrivals.symbol[:, None]), which


def worth(weights: RunWeights, levels: NDArray[np.int64], phase: int) -> NDArray[np.float64]:
    """κ of every level in one phase; 0 where it is infinite."""
    return np.where(levels == INFINITE, 0.0, weights.step_weights[levels, phase])


@dataclass(frozen=True, slots=True, eq=False)
class Errors:
    """What is expected for each word: how many symbols are wrong, and what they cost together."""

    symbols: Floats
    costs: Floats


def expected_errors(weights: RunWeights, codes: Codes) -> Errors:
    """E[d(w, W)] and E[D(w, W)] for every row w, W its private version.

    >>> import symveil as sv
    >>> from fractions import Fraction
    >>> chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> language = sv.runs(chain, length=6)
    >>> word = language.encode("aabaab")
    >>> exponential = sv.Exponential(language, epsilon=2, adjacency=1, calibration="classic")
    >>> found = expected_errors(RunWeights(language=language, rate=Fraction(1)), word[None, :]).symbols
    >>> abs(float(found[0]) - exponential.distances("aabaab").expected_error) < 1e-12
    True
    """
    step = _rows_at_once(weights, codes)
    parts = [_expected(weights, codes[start : start + step]) for start in range(0, len(codes), step)]
    return Errors(
        np.concatenate([part.symbols for part in parts] or [np.empty(0)]),
        np.concatenate([part.costs for part in parts] or [np.empty(0)]),
    )


def likeliest_symbols(weights: RunWeights, codes: Codes, more: Sequence[Codes] = ()) -> tuple[Codes, Floats]:
    """For every row w and every position, the symbol that the word drawn around w is likeliest to have there.

    And how likely it is. By one pass forwards and one backwards, all rows at once; a public first symbol is certain.

    With `more`, further words, as many rows each, words weigh the product of what they weigh around each of them: with
    costs of one phase only.

    >>> import symveil as sv
    >>> from fractions import Fraction
    >>> chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> language = sv.runs(chain, length=3)                              # aaa aab aba baa bab
    >>> weights = RunWeights(language=language, rate=Fraction(0))
    >>> symbols, shares = likeliest_symbols(weights, language.encode("aba")[None, :])
    >>> symbols.tolist(), shares.round(3).tolist()
    ([[0, 0, 0]], [[0.6, 0.8, 0.6]])
    """
    symbols, shares = codes.copy(), np.ones(codes.shape)
    own, size = weights.arrivals.symbol, len(weights.language.alphabet)
    step = _rows_at_once(weights, codes)
    for start in range(0, len(codes), step):
        rows = slice(start, start + step)
        for position, flow in _shares(_Flows(weights, codes[rows], [each[rows] for each in more])):
            by_symbol = np.zeros((size, flow.shape[1]))
            np.add.at(by_symbol, own, flow)
            symbols[rows, position] = np.argmax(by_symbol, axis=0)
            shares[rows, position] = np.max(by_symbol, axis=0)
    return symbols, shares


def _rows_at_once(weights: RunWeights, codes: Codes) -> int:
    graph, phases = weights.graph, weights.costs.phases
    values = max(1, graph.edge_count * phases, (codes.shape[1] + 1) * graph.state_count * phases)
    return max(1, int(LIMITS.now.law_values_at_once // values))


def _expected(weights: RunWeights, codes: Codes) -> Errors:
    value = np.array([float(cost) for cost in weights.costs.values])
    wrong, dear = np.zeros(len(codes)), np.zeros(len(codes))
    steps = _Flows(weights, codes)
    for position, flow in _shares(steps):
        levels = steps.levels(position)
        wrong += (flow * (weights.arrivals.symbol[:, None] != codes[:, position])).sum(axis=0)
        dear += (flow * np.where(levels == INFINITE, 0.0, value[levels])).sum(axis=0)
    return Errors(wrong, dear)


def _shares(steps: _Flows) -> Iterator[tuple[int, Floats]]:
    """For every position that is drawn the share of the drawn words that take each arrival."""
    begin, start = steps.begin, np.zeros(steps.final.shape)
    start[steps.first_state, steps.weights.costs.start_phase, np.arange(len(steps.words))] = 1.0
    for position, flow in enumerate(scaled_through_edges(steps, start, (0, 1), begin=begin), start=begin):
        yield position, flow / flow.sum(axis=0)


@dataclass(frozen=True, slots=True, eq=False)
class _Flows(RowSteps):
    """Passes both ways, with arrivals in the place of edges; words may weigh what they weigh around `more` words too.

    What came before at an arrival has an axis for arrivals, one for the phase after it, and one for rows.
    """

    more: Sequence[Codes] = ()

    def back(self, position: int, after: Floats) -> Floats:
        """V(i, ·) from V(i+1, ·)."""
        if not self.more:
            return RowSteps.back(self, position, after)
        arrivals, levels = self.weights.arrivals, self.levels(position)
        reached = after[arrivals.target] * self._worth(position, levels, 0)[:, None, :]
        return self.weights.graph.sum_over(reached[arrivals.of_edge] * self.weights.edge_weights[:, None, None])

    def along(self, position: int, before: Floats) -> Floats:
        """What came before at each arrival."""
        weights, levels = self.weights, self.levels(position)
        arriving = weights.arrivals.edges.sum_over(before[weights.edge_sources] * weights.edge_weights[:, None, None])
        for phase in range(weights.costs.phases):
            arriving[:, phase] *= self._worth(position, levels, phase)
        if weights.costs.phases == 1:
            return arriving
        moved, arrival, row = np.empty_like(arriving), np.arange(len(levels))[:, None], np.arange(levels.shape[1])
        for phase in range(weights.costs.phases):  # two phases never become one
            moved[arrival, weights.costs.next_phase[levels, phase], row] = arriving[:, phase]
        return moved

    def into(self, position: int, arriving: Floats) -> Floats:
        """What came before in each state."""
        del position
        return self.weights.arrivals.into.sum_over(arriving)

    def meet(self, position: int, arriving: Floats, after: Floats) -> Floats:
        """What all words together are worth that take each arrival."""
        del position
        return np.asarray((arriving * after[self.weights.arrivals.target]).sum(axis=1))

    def levels(self, position: int) -> NDArray[np.int64]:
        """The level of each arrival beside each row."""
        return self._levels_beside(self.words, position)

    def _levels_beside(self, words: Codes, position: int) -> NDArray[np.int64]:
        levels, which = levels_of_arrivals(self.weights, words[:, position], position)
        return levels[:, which]

    def _worth(self, position: int, levels: NDArray[np.int64], phase: int) -> Floats:
        """What each arrival is worth; the product beside several words, with costs of one phase."""
        own = worth(self.weights, levels, phase)
        for each in self.more:
            own *= worth(self.weights, self._levels_beside(each, position), 0)
        return own


def log_totals(weights: RunWeights, codes: Codes) -> Floats:
    """ln Z(w) of every row, in floats; −∞ or not a number where floats cannot hold its weights.

    >>> import symveil as sv
    >>> from fractions import Fraction
    >>> chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> language = sv.runs(chain, length=3)
    >>> weights = RunWeights(language=language, rate=Fraction(1))
    >>> word = language.encode("aba")
    >>> abs(float(total_weight(weights, word).log()) - float(log_totals(weights, word[None, :])[0])) < 1e-12
    True
    """
    steps = RowSteps(weights, codes)
    first, logs = scaled_total(steps, (0, 1), begin=steps.begin)
    with np.errstate(divide="ignore"):
        return np.asarray(logs + np.log(first[steps.first_state, weights.costs.start_phase, np.arange(len(codes))]))


def log_distances(weights: RunWeights, word: Codes) -> Floats:
    """ln P(d(word, W) = ℓ) for ℓ = 0 … n; −∞ where no word lies there.

    >>> import symveil as sv
    >>> from fractions import Fraction
    >>> chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> language = sv.runs(chain, length=3)
    >>> logs = log_distances(RunWeights(language=language, rate=Fraction(1)), language.encode("aba"))
    >>> np.exp(logs).round(4).tolist()
    [0.5923, 0.2179, 0.1603, 0.0295]
    """
    graph, costs, language = weights.graph, weights.costs, weights.language
    begin = 1 if language.public_start and len(word) else 0
    with np.errstate(divide="ignore"):
        ends = np.log(weights.final_weights)
    drops = np.array([[-float(weights.rate * drop) for drop in row] for row in costs.drops])
    edge_weights = weights.log_edge_weights if weights.is_weighted else None
    trellis = Trellis(
        edges=graph,
        length=len(word),
        semiring=ByDistance(CostSteps(costs, LOGARITHMS, drops)),
        final=np.repeat(ends[:, None, None], costs.phases, axis=1),
        worth=lambda position: (
            graph.symbol != word[position],
            (costs.levels(position, word[position], graph.symbol), edge_weights),
        ),
    )
    start = int(weights.first_states[word[0]]) if begin else graph.start
    logs = backward(trellis, begin=begin)[0][start, costs.start_phase]
    return np.asarray(logs - np.logaddexp.reduce(logs))
