"""The chain of a mechanism whose weights come from a cost automaton: a walk along states × phases.

β(i, y, φ) is the total weight of all completions from state y in phase φ after i symbols; the next symbol has
probability (its weight)·β(after it)/β(now) (docs/theory/certificates.md). With rational weights all of that is exact.

The chain of a mechanism whose weights depend on the distance: a walk along the trellis of its language.

β(i, e, y) is the total weight of all completions from state y after i symbols, e of them changed; the next
symbol has probability β(after it)/β(now) (docs/theory/hidden-lengths.md). With rational weights all of that is exact,
so the chain's law is exactly r(d)/Z. Where r(ℓ) = r(0)·z^ℓ, the probabilities do not depend on e, and e is left out.

The chain of the truncated Levenshtein mechanism: a walk along the words of up to N symbols.

What is left to come depends on the word read so far through one row of the table of edit distances, cut off at
k+1, on the state of the model and on the number of symbols. β(that) is the total weight of all completions, the
empty one included; the next symbol has probability β(after it)/β(now), and the word ends here with the rest.
With rational weights all of that is exact.

The chain of the edit channel: gaps and symbols of a word in turn, what is released as labels.

Released words have no longest one, and g(t) ∝ ρ^t/(1+t)^q is the law of no finite chain. So the chain shows the
first M symbols, and then whether the word ends or goes on. That is the channel with its output cut: whatever is
proved of it is proved of the channel for all words of up to M symbols and for "longer than that" taken together.

A state is (how many symbols were released, how many of the own word are behind, how many were inserted in this
gap): several of them may follow the same label, because who sees an `a` cannot tell where it comes from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from math import lcm
from typing import cast

from symveil.calibration.edit_channel import ChannelParameters, inserted_above
from symveil.languages.costs import INFINITE
from symveil.languages.language import Language
from symveil.languages.open import BoundedLanguage
from symveil.languages.run_weights import RunWeights
from symveil.laws.law import ENDS, GOES_ON, WEIGHT_PRECISION, Moves, State, rounded_weight
from symveil.mechanisms.limits import LIMITS
from symveil.models.alphabet import Codes
from symveil.numbers.conversions import ball, precision
from symveil.trellis.passes import WeightedWalk


def cost_moves(weights: RunWeights, word: Codes) -> tuple[State, Moves, Fraction]:
    """The first state, the moves, and a bound on the error of ln P, of P(u|word) ∝ prior(u)·κ(word, u)."""
    graph, costs, language = weights.graph, weights.costs, weights.language
    length = len(word)
    step_weight, step_error = _step_weights(weights)
    edge_weight, end_weight, prior_error = _prior_weights(weights)
    levels = [costs.levels(position, word[position], graph.symbol).tolist() for position in range(length)]
    following, symbol, target = costs.next_phase.tolist(), graph.symbol.tolist(), graph.target.tolist()
    begins_public = language.public_start and length > 0

    def steps(node: Triple) -> Iterator[tuple[int, Fraction, Triple]]:
        position, state, phase = node
        if position == 0 and begins_public:
            yield int(word[0]), Fraction(1), (1, int(weights.first_states[word[0]]), phase)
        elif position < length:
            for edge in graph.edges(state):
                level = levels[position][edge]
                if level != INFINITE:
                    share = edge_weight[edge] * step_weight[level][phase]
                    yield symbol[edge], share, (position + 1, target[edge], following[level][phase])

    walk = WeightedWalk(steps, lambda node: end_weight[node[1]] if node[0] == length else Fraction(0))
    # an error in a word's weight, and one as large in the normaliser
    return (0, graph.start, costs.start_phase), _moves(walk), 2 * (length * step_error + (length + 1) * prior_error)


Triple = tuple[int, int, int]
"""(position, state, phase), or (position, errors, state)."""


def _moves(walk: WeightedWalk[Triple]) -> Moves:
    return lambda state: walk.moves(cast(Triple, state))


def _step_weights(weights: RunWeights) -> tuple[list[list[Fraction]], Fraction]:
    """κ of each level in each phase as a rational, and a bound on the error of its logarithm."""
    drops = weights.costs.drops
    unit = lcm(*(drop.denominator for row in drops for drop in row))
    most = max(int(drop * unit) for row in drops for drop in row)
    with precision(WEIGHT_PRECISION):
        if most <= LIMITS.now.exact_powers:
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


def trellis_moves(language: Language, word: Codes, weights: Sequence[Fraction]) -> tuple[State, Moves]:
    """The first state and the moves of P(u|word) ∝ weights[d(u, word)]."""
    own = word.tolist()
    length = len(own)
    geometric = all(a * c == b * b for a, b, c in zip(weights, weights[1:], weights[2:], strict=False))
    ratio = weights[1] / weights[0] if len(weights) > 1 else Fraction(1)

    def steps(node: Triple) -> Iterator[tuple[int, Fraction, Triple]]:
        position, errors, state = node
        if position < length:
            for symbol, after in _edges(language, position, state, own[position]):
                wrong = symbol != own[position]
                step = ratio if geometric and wrong else Fraction(1)
                yield symbol, step, (position + 1, 0 if geometric else errors + wrong, after)

    def ending(node: Triple) -> Fraction:
        position, errors, _ = node
        return Fraction(0) if position < length else Fraction(1) if geometric else weights[errors]

    start = 0 if language.graph is None else language.graph.start
    return (0, 0, start), _moves(WeightedWalk(steps, ending))


def _edges(language: Language, position: int, state: int, own: int) -> Iterator[tuple[int, int]]:
    """(symbol, state after it) for every symbol after which a word can still be completed."""
    runs = language.runs
    if runs is None:
        yield from ((symbol, 0) for symbol in range(len(language.alphabet)))
        return
    graph, alive = runs.graph, runs.alive[runs.length - position - 1]
    for edge in graph.edges(state):
        symbol, after = int(graph.symbol[edge]), int(graph.target[edge])
        if alive[after] and not (position == 0 and language.public_start and symbol != own):
            yield symbol, after


Row = tuple[int, ...]


def truncated_moves(language: BoundedLanguage, word: Codes, weights: Sequence[Fraction]) -> tuple[State, Moves]:
    """The first state and the moves of P(u|word) ∝ weights[min(d(u, word), k+1)], u any word of the language."""
    own = word.tolist()
    most = len(weights) - 1
    graph = language.graph

    def longer(row: Row, symbol: int) -> Row:
        """The distances of the word read so far and `symbol` to each beginning of the own word."""
        after = [min(row[0] + 1, most)]
        for number, letter in enumerate(own, start=1):
            after.append(min(row[number - 1] + (letter != symbol), row[number] + 1, after[-1] + 1, most))
        return tuple(after)

    def edges(state: int) -> Iterator[tuple[int, int]]:
        if graph is None:
            yield from ((symbol, 0) for symbol in range(len(language.alphabet)))
        else:
            yield from ((int(graph.symbol[edge]), int(graph.target[edge])) for edge in graph.edges(state))

    def ending(node: tuple[int, Row, int]) -> Fraction:
        _, row, state = node
        return weights[row[-1]] if graph is None or graph.accepting[state] else Fraction(0)

    def steps(node: tuple[int, Row, int]) -> Iterator[tuple[int, Fraction, tuple[int, Row, int]]]:
        position, row, state = node
        if position < language.max_length:
            for symbol, after in edges(state):
                yield symbol, Fraction(1), (position + 1, longer(row, symbol), after)

    walk = WeightedWalk(steps, ending)

    def moves(state: State) -> Iterable[tuple[int, State, Fraction]]:
        node = cast("tuple[int, Row, int]", state)
        if ending(node):
            yield ENDS, (), ending(node) / walk.total(node)
        yield from walk.moves(node)

    first = tuple(min(number, most) for number in range(len(own) + 1))
    return (0, first, 0 if graph is None else graph.start), moves


class GapStops:
    """The chance that nothing more is inserted in a gap after t symbols, and that something is: rationals, sum 1.

    The smaller of the two is rounded, to a factor e^±r. Being at most about 1/2, it moves the other by less than
    a factor e^±2r.
    """

    def __init__(self, parameters: ChannelParameters, longest: int) -> None:
        self.chances: list[tuple[Fraction, Fraction]] = []
        self.log_error = Fraction(0)
        for inserted in range(longest + 1):
            if parameters.ratio == 0:
                self.chances.append((Fraction(1), Fraction(0)))
                continue
            with precision(WEIGHT_PRECISION):
                (weight,), total = inserted_above(parameters, inserted, 1)
                _, rest = inserted_above(parameters, inserted + 1, 1)
                stop, go = weight / total, ball(parameters.ratio) * rest / total
                near, error = rounded_weight(go if go < stop else stop)
            self.chances.append((1 - near, near) if go < stop else (near, 1 - near))
            self.log_error = max(self.log_error, 2 * error)


def channel_moves(
    parameters: ChannelParameters, symbols: int, word: Codes, stops: GapStops, output_length: int
) -> tuple[State, Moves]:
    """The first state and the moves of the channel for one word, cut after `output_length` released symbols."""
    own = word.tolist()
    other = parameters.substitution / (symbols - 1) if symbols > 1 else Fraction(0)

    def ways(behind: int, inserted: int) -> Iterator[tuple[int | None, tuple[int, int], Fraction]]:
        """(next symbol, or None for the end; place after it; chance) for every way to get there."""
        reached = Fraction(1)
        while True:
            stop, go = stops.chances[inserted]
            for symbol in range(symbols):
                yield symbol, (behind, inserted + 1), reached * go / symbols
            reached *= stop
            if behind == len(own):
                yield None, (behind, 0), reached
                return
            letter, behind, inserted = own[behind], behind + 1, 0
            for symbol in range(symbols):
                yield symbol, (behind, 0), reached * (parameters.keep if symbol == letter else other)
            reached *= parameters.deletion

    def moves(state: State) -> Iterable[tuple[int, State, Fraction]]:
        released, behind, inserted = (int(str(part)) for part in state)
        together: dict[tuple[int, State], Fraction] = defaultdict(Fraction)
        for symbol, number, chance in ways(behind, inserted):
            if symbol is None:
                together[ENDS, ()] += chance
            elif released == output_length:
                together[GOES_ON, ()] += chance
            else:
                together[symbol, (released + 1, *number)] += chance
        return [(symbol, after, chance) for (symbol, after), chance in together.items() if chance]

    return (0, 0, 0), moves


def channel_log_error(stops: GapStops, word: Codes, output_length: int) -> Fraction:
    """A way to a released word asks at most once for each symbol that is inserted, and once for each gap."""
    return (output_length + 1 + len(word) + 1) * stops.log_error
