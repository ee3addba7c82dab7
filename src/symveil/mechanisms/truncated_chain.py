"""The chain of the truncated Levenshtein mechanism: a walk along the words of up to N symbols.

What is left to come depends on the word read so far through one row of the table of edit distances, cut off at
k+1, on the state of the model and on the number of symbols. β(that) is the total weight of all completions, the
empty one included; the next symbol has probability β(after it)/β(now), and the word ends here with the rest.
With rational weights all of that is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache

from symveil.languages.open import BoundedLanguage
from symveil.laws.release_chain import ENDS, Moves, State
from symveil.models.word import Codes

Row = tuple[int, ...]


def truncated_moves(language: BoundedLanguage, word: Codes, weights: Sequence[Fraction]) -> tuple[State, Moves]:
    """The first state and the moves of P(u|word) ∝ weights[min(d(u, word), k+1)], u any word of the language."""
    own = word.tolist()
    most = len(weights) - 1
    graph = language.graph

    def longer(row: Row, symbol: int) -> Row:
        """The distances of the word read so far and `symbol` to each beginning of the own word."""
        after = [min(row[0] + 1, most)]
        for place, letter in enumerate(own, start=1):
            after.append(min(row[place - 1] + (letter != symbol), row[place] + 1, after[-1] + 1, most))
        return tuple(after)

    def edges(state: int) -> Iterator[tuple[int, int]]:
        if graph is None:
            yield from ((symbol, 0) for symbol in range(len(language.alphabet)))
        else:
            yield from ((int(graph.symbol[edge]), int(graph.target[edge])) for edge in graph.edges(state))

    def ending(row: Row, state: int) -> Fraction:
        return weights[row[-1]] if graph is None or graph.accepting[state] else Fraction(0)

    @cache
    def total(position: int, row: Row, state: int) -> Fraction:
        return ending(row, state) + sum((weight for *_, weight in options(position, row, state)), start=Fraction(0))

    def options(position: int, row: Row, state: int) -> Iterator[tuple[int, State, Fraction]]:
        if position < language.max_length:
            for symbol, after in edges(state):
                here = longer(row, symbol)
                yield symbol, (position + 1, here, after), total(position + 1, here, after)

    def moves(state: State) -> Iterable[tuple[int, State, Fraction]]:
        position, row, place = state
        assert isinstance(position, int) and isinstance(row, tuple) and isinstance(place, int)  # noqa: S101
        whole, end = total(position, row, place), ending(row, place)
        if end:
            yield ENDS, (), end / whole
        for symbol, after, weight in options(position, row, place):
            if weight:
                yield symbol, after, weight / whole

    first = tuple(min(place, most) for place in range(len(own) + 1))
    return (0, first, 0 if graph is None else graph.start), moves
