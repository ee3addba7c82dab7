"""The chain of a mechanism whose weights come from a cost automaton: a walk along states × phases.

β(i, y, φ) is the total weight of all completions from state y in phase φ after i symbols; the next symbol has
probability (its weight)·β(after it)/β(now) (docs/theory/near-optimal.md). With rational weights all of that is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cache
from math import lcm

from symveil.languages.costs import INFINITE
from symveil.languages.run_weights import RunWeights
from symveil.laws.release_chain import WEIGHT_PRECISION, Moves, State, rounded_weight
from symveil.models.word import Codes
from symveil.numbers.conversions import ball, precision

_MOST_POWERS = 64  # of one rational: beyond it every weight is rounded for itself


def cost_moves(weights: RunWeights, word: Codes) -> tuple[State, Moves, Fraction]:
    """The first state, the moves, and a bound on the error of ln P, of P(u|word) ∝ prior(u)·κ(word, u)."""
    graph, costs, language = weights.graph, weights.costs, weights.language
    length = len(word)
    step_weight, step_error = _step_weights(weights)
    edge_weight, end_weight, prior_error = _prior_weights(weights)
    levels = [costs.levels(position, word[position], graph.symbol).tolist() for position in range(length)]
    following, symbol, target = costs.next_phase.tolist(), graph.symbol.tolist(), graph.target.tolist()
    begins_public = language.public_start and length > 0

    @cache
    def total(position: int, state: int, phase: int) -> Fraction:
        if position == length:
            return end_weight[state]
        return sum((weight for _, weight, _ in options(position, state, phase)), start=Fraction(0))

    def options(position: int, state: int, phase: int) -> Iterator[tuple[int, Fraction, State]]:
        if position == 0 and begins_public:
            first = int(weights.first_states[word[0]])
            yield int(word[0]), total(1, first, phase), (1, first, phase)
            return
        for edge in graph.edges(state):
            level = levels[position][edge]
            if level == INFINITE:
                continue
            after, now = target[edge], following[level][phase]
            share = edge_weight[edge] * step_weight[level][phase]
            yield symbol[edge], share * total(position + 1, after, now), (position + 1, after, now)

    def moves(state: State) -> Iterable[tuple[int, State, Fraction]]:
        position, place, phase = (int(str(part)) for part in state)
        whole = total(position, place, phase)
        for released, weight, after in options(position, place, phase):
            if weight:
                yield released, after, weight / whole

    # an error in a word's weight, and one as large in the normaliser
    return (0, graph.start, costs.start_phase), moves, 2 * (length * step_error + (length + 1) * prior_error)


def _step_weights(weights: RunWeights) -> tuple[list[list[Fraction]], Fraction]:
    """κ of each level in each phase as a rational, and a bound on the error of its logarithm."""
    drops = weights.costs.drops
    unit = lcm(*(drop.denominator for row in drops for drop in row))
    most = max(int(drop * unit) for row in drops for drop in row)
    with precision(WEIGHT_PRECISION):
        if most <= _MOST_POWERS:
            # powers of one rational: what is equally likely by the costs is exactly equally likely
            base, error = rounded_weight((-ball(weights.rate / unit)).exp())
            return [[base ** int(drop * unit) for drop in row] for row in drops], most * error
        rounded = [[rounded_weight(weight) for weight in row] for row in weights.step_weight_balls()]
    return [[near for near, _ in row] for row in rounded], max(error for row in rounded for _, error in row)


def _prior_weights(weights: RunWeights) -> tuple[list[Fraction], list[Fraction], Fraction]:
    """The prior of every edge and of every end as rationals, and a bound on the error of their logarithms."""
    if weights.balance is None:
        prior = weights.language.graph.prior if weights.is_weighted else None
        edges = [Fraction(1)] * weights.graph.edge_count if prior is None else list(prior)
        return edges, [Fraction(int(each)) for each in weights.graph.accepting.tolist()], Fraction(0)
    with precision(WEIGHT_PRECISION):
        edge_balls = [rounded_weight(weight) for weight in weights.edge_weight_balls()]
        end_balls = [
            rounded_weight(weight) if not weight.is_zero() else (Fraction(0), Fraction(0))
            for weight in weights.final_weight_balls()
        ]
    error = max(error for _, error in edge_balls + end_balls)
    return [near for near, _ in edge_balls], [near for near, _ in end_balls], error
