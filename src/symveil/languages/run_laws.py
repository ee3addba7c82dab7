"""The law of a released word of a model, from its weights: log-probabilities, expected errors, the law of the distance.

Sums run over edges × phases, forwards and backwards, in floats scaled layer by layer: sums of positive numbers, so
that twelve digits are right; Z(w) inside a log-probability is a ball.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symveil.languages.costs import INFINITE
from symveil.languages.run_draws import moved_back, total_weight, worth
from symveil.languages.run_weights import RunWeights
from symveil.models.word import Codes
from symveil.numbers.conversions import STANDARD_PRECISION, ball, nearest_float, precision

Floats = NDArray[np.float64]

_MOST_VALUES = 1 << 22


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

    Parameters
    ----------
    weights
        What words weigh around each row.
    codes
        Rows of codes, words of the language.
    more
        Further words, as many rows each: words weigh the product of what they weigh around each of them. With costs of
        one phase only.

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
        for position, _, flow in _flows(weights, codes[rows], [each[rows] for each in more]):
            by_symbol = np.zeros((size, flow.shape[1]))
            np.add.at(by_symbol, own, flow)
            symbols[rows, position] = np.argmax(by_symbol, axis=0)
            shares[rows, position] = np.max(by_symbol, axis=0)
    return symbols, shares


def _rows_at_once(weights: RunWeights, codes: Codes) -> int:
    graph, phases = weights.graph, weights.costs.phases
    values = max(1, graph.edge_count * phases, (codes.shape[1] + 1) * graph.state_count * phases)
    return max(1, int(_MOST_VALUES // values))


def _expected(weights: RunWeights, codes: Codes) -> Errors:
    value = np.array([float(cost) for cost in weights.costs.values])
    wrong, dear = np.zeros(len(codes)), np.zeros(len(codes))
    for position, levels, flow in _flows(weights, codes):
        wrong += (flow * (weights.arrivals.symbol[:, None] != codes[:, position])).sum(axis=0)
        dear += (flow * np.where(levels == INFINITE, 0.0, value[levels])).sum(axis=0)
    return Errors(wrong, dear)


def _flows(
    weights: RunWeights, codes: Codes, more: Sequence[Codes] = ()
) -> Iterator[tuple[int, NDArray[np.int64], Floats]]:
    """For every position that is drawn: the level of each arrival, and the share of the drawn words that take it."""
    graph, costs, language, arrivals = weights.graph, weights.costs, weights.language, weights.arrivals
    count, length = codes.shape
    begin = 1 if language.public_start and length else 0
    lane = np.arange(count)[None, :]
    after = np.broadcast_to(weights.final_weights[:, None, None], (graph.state_count, costs.phases, count)).copy()
    behind = [after]
    for position in reversed(range(begin, length)):
        if more:
            reached = behind[-1][arrivals.target] * _worth_of_all(weights, (codes, *more), position)[:, None, :]
            after = graph.sum_over(reached[arrivals.of_edge] * weights.edge_weights[:, None, None])
        else:
            after = moved_back(weights, codes[:, position], position, behind[-1])
        behind.append(after / after.max(axis=(0, 1)))
    behind.reverse()
    now = np.zeros((graph.state_count, costs.phases, count))
    start = weights.first_states[codes[:, 0]] if begin else np.full(count, graph.start)
    now[start, costs.start_phase, np.arange(count)] = 1.0
    met_once = arrivals.one_for_each_state  # two phases never become one
    for position in range(begin, length):
        own = codes[:, position]
        levels = costs.levels(position, own[None, :], arrivals.symbol[:, None])
        arriving = arrivals.edges.sum_over(now[weights.edge_sources] * weights.edge_weights[:, None, None])
        flow, following = np.zeros((len(arrivals.target), count)), np.zeros_like(now)
        for phase in range(costs.phases):
            to = costs.next_phase[levels, phase]
            factor = _worth_of_all(weights, (codes, *more), position) if more else worth(weights, levels, phase)
            share = arriving[:, phase, :] * factor
            flow += share * behind[position - begin + 1][arrivals.target[:, None], to, lane]
            if met_once:
                following[arrivals.target[:, None], to, lane] = share
            else:
                np.add.at(following, (arrivals.target[:, None], to, lane), share)
        yield position, levels, flow / flow.sum(axis=0)
        now = following / following.max(axis=(0, 1))


def _worth_of_all(weights: RunWeights, rows: Sequence[Codes], position: int) -> Floats:
    """What each arrival is worth beside several words at once: the product, with costs of one phase."""
    symbol = weights.arrivals.symbol[:, None]
    worths = [worth(weights, weights.costs.levels(position, each[None, :, position], symbol), 0) for each in rows]
    return np.asarray(np.prod(worths, axis=0))


def _shares(weights: RunWeights, levels: NDArray[np.int64], phase: int) -> Floats:
    """T·κ of every edge for every word in one phase."""
    return worth(weights, levels, phase) * weights.edge_weights[:, None]


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
    graph, costs, language = weights.graph, weights.costs, weights.language
    count, length = codes.shape
    begin = 1 if language.public_start and length else 0
    now = np.broadcast_to(weights.final_weights[:, None, None], (graph.state_count, costs.phases, count)).copy()
    logs = np.zeros(count)
    start = weights.first_states[codes[:, 0]] if begin else np.full(count, graph.start)
    with np.errstate(divide="ignore", invalid="ignore"):
        for position in reversed(range(begin, length)):
            now = moved_back(weights, codes[:, position], position, now)
            top = now.max(axis=(0, 1))
            logs += np.log(top)
            now /= top
        return np.asarray(logs + np.log(now[start, costs.start_phase, np.arange(count)]))


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
    most = language.largest_distance + 1
    now = np.zeros((graph.state_count, costs.phases, most))
    now[weights.first_states[word[0]] if begin else graph.start, costs.start_phase, 0] = 1.0
    scale = np.full(most, -np.inf)  # each distance has a scale of its own, so that unlikely ones do not vanish
    scale[0] = 0.0
    alive = language.alive
    for position in range(begin, len(word)):
        levels = costs.levels(position, word[position], graph.symbol)
        right = graph.symbol == word[position]
        same, other = np.zeros_like(now), np.zeros_like(now)
        for phase in range(costs.phases):
            share = now[weights.edge_sources, phase, :] * _shares(weights, levels[:, None], phase)
            to = costs.next_phase[levels, phase]
            np.add.at(same, (graph.target[right], to[right]), share[right])
            np.add.at(other, (graph.target[~right], to[~right]), share[~right])
        shifted = np.concatenate([[-np.inf], scale[:-1]])
        top = np.maximum(scale, shifted)
        usable = np.where(np.isfinite(top), top, 0.0)
        now = same * np.exp(scale - usable)
        now[:, :, 1:] += other[:, :, :-1] * np.exp(shifted - usable)[1:]
        if weights.balance is None:
            now[~alive[language.length - position - 1]] = 0.0
        largest = now.max(axis=(0, 1))
        scale = np.where(largest > 0, usable + np.log(np.where(largest > 0, largest, 1.0)), -np.inf)
        now /= np.where(largest > 0, largest, 1.0)
    total = (now * weights.final_weights[:, None, None]).sum(axis=(0, 1))
    with np.errstate(divide="ignore"):
        logs = scale + np.log(total)
    return np.asarray(logs - np.logaddexp.reduce(logs))
