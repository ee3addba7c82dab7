"""The chain of a mechanism whose weights depend on the distance: a walk along the trellis of its language.

β(i, e, y) is the total weight of all completions from state y after i symbols, e of them changed; the next
symbol has probability β(after it)/β(now) (docs/theory/exact-sampling.md). With rational weights all of that is exact,
so the chain's law is exactly r(d)/Z. Where r(ℓ) = r(0)·z^ℓ, the probabilities do not depend on e, and e is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache

from symveil.languages.language import Language
from symveil.laws.release_chain import Moves, State
from symveil.models.word import Codes


def trellis_moves(
    language: Language,
    word: Codes,
    weights: Sequence[Fraction],
    *,
    prior: Sequence[Fraction] | None = None,
) -> tuple[State, Moves]:
    """The first state and the moves of P(u|word) ∝ prior(u)·weights[d(u, word)]."""
    own = word.tolist()
    length = len(own)
    geometric = all(a * c == b * b for a, b, c in zip(weights, weights[1:], weights[2:], strict=False))
    ratio = weights[1] / weights[0] if len(weights) > 1 else Fraction(1)

    @cache
    def total(position: int, errors: int, state: int) -> Fraction:
        if position == length:
            return Fraction(1) if geometric else weights[errors]
        return sum((weight for _, weight, _ in options(position, errors, state)), start=Fraction(0))

    def options(position: int, errors: int, state: int) -> Iterator[tuple[int, Fraction, State]]:
        for symbol, after, share in _edges(language, position, state, own[position], prior):
            wrong = symbol != own[position]
            now = 0 if geometric else errors + wrong
            step = ratio if geometric and wrong else Fraction(1)
            yield symbol, share * step * total(position + 1, now, after), (position + 1, now, after)

    def moves(state: State) -> Iterable[tuple[int, State, Fraction]]:
        position, errors, place = (int(str(part)) for part in state)
        whole = total(position, errors, place)
        for symbol, weight, after in options(position, errors, place):
            if weight:
                yield symbol, after, weight / whole

    start = 0 if language.graph is None else language.graph.start
    return (0, 0, start), moves


def _edges(
    language: Language, position: int, state: int, own: int, prior: Sequence[Fraction] | None
) -> Iterator[tuple[int, int, Fraction]]:
    """(symbol, state after it, prior) for every symbol after which a word can still be completed."""
    runs = language.runs
    if runs is None:
        yield from ((symbol, 0, Fraction(1)) for symbol in range(len(language.alphabet)))
        return
    graph, alive = runs.graph, runs.alive[runs.length - position - 1]
    for edge in graph.edges(state):
        symbol, after = int(graph.symbol[edge]), int(graph.target[edge])
        if alive[after] and not (position == 0 and language.public_start and symbol != own):
            yield symbol, after, Fraction(1) if prior is None else prior[edge]
