"""Counting a model's words by their distance from a given word, exactly, and drawing one at a distance.

V(i, ℓ, y) is the number of ways to finish from state y after i symbols with ℓ errors still to make
(J19 Algorithm 2 and B26 Algorithm 2, with one layer per symbol). It is kept as integers, of 64 bits as
long as they hold it and then as Python's, so a draw compares integers and is exactly uniform
(docs/theory/exact-sampling.md).

The words at one distance from a word, in alphabetical order: the one of a given rank.

What is decided on the way is kept, so that drawing again costs a look-up for each real choice: a
stretch in which only one symbol can follow is one step.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symveil.errors import TooLargeError
from symveil.languages.graph import WordGraph
from symveil.languages.language import Language
from symveil.models.word import Codes
from symveil.numbers.conversions import ball
from symveil.numbers.once import computed_once
from symveil.randomness import BitSource, uniform_integer

if TYPE_CHECKING:
    from symveil.languages.runs import RunLanguage

Node = tuple[int, int, int]
"""(position, state, errors still to make)."""

# Stretches are kept in pieces: the memory of long words must not grow with the square of their length.
_LONGEST_STRETCH = 32


class _Crossing:
    """A stretch without a choice, then the choices: symbols, where they lead, how many words come up to each."""

    __slots__ = ("following", "stretch", "symbols", "targets", "up_to")

    def __init__(self, stretch: list[int], choices: list[tuple[int, Node, int]]) -> None:
        self.stretch = stretch
        self.symbols = [symbol for symbol, _, _ in choices]
        self.targets = [target for _, target, _ in choices]
        self.up_to = list(accumulate(ways for _, _, ways in choices))
        self.following: list[_Crossing | None] = [None] * len(choices)


class RunRanks:
    """Words by rank; `ways(position, errors, state)` says how many words finish from there."""

    def __init__(self, graph: WordGraph, codes: Codes, ways: Callable[[int, int, int], int]) -> None:
        self._graph, self._ways = graph, ways
        self._codes: list[int] = codes.tolist()
        self._crossings: dict[Node, _Crossing] = {}

    def word(self, begin: Node, rank: int) -> list[int]:
        """What follows from `begin` in word number `rank`, counted from 0, of those that finish from there."""
        codes: list[int] = []
        crossing = self._crossing(begin)
        while True:
            codes += crossing.stretch
            if not crossing.symbols:
                return codes
            choice = bisect_right(crossing.up_to, rank)
            codes.append(crossing.symbols[choice])
            if choice:
                rank -= crossing.up_to[choice - 1]
            following = crossing.following[choice]
            if following is None:
                following = crossing.following[choice] = self._crossing(crossing.targets[choice])
            crossing = following

    def _crossing(self, position: Node) -> _Crossing:
        if position not in self._crossings:
            self._crossings[position] = self._explored(position)
        return self._crossings[position]

    def _explored(self, node: Node) -> _Crossing:
        stretch: list[int] = []
        choices = self._choices(node)
        while len(choices) == 1 and len(stretch) < _LONGEST_STRETCH:
            ((symbol, node, _),) = choices
            stretch.append(symbol)
            choices = self._choices(node)
        return _Crossing(stretch, choices)

    def _choices(self, node: Node) -> list[tuple[int, Node, int]]:
        """The symbols with which a word can go on, in order."""
        position, state, errors = node
        if position == len(self._codes):
            return []
        own, choices = self._codes[position], []
        low, high = int(self._graph.first[state]), int(self._graph.first[state + 1])
        edges = zip(self._graph.symbol[low:high].tolist(), self._graph.target[low:high].tolist(), strict=True)
        for symbol, target in edges:
            left = errors - (symbol != own)
            ways = self._ways(position + 1, left, target)
            if ways:
                choices.append((symbol, (position + 1, target, left), ways))
        return choices


# V has n·n/2·S entries; beyond this many, counting by distance is no longer a matter of seconds.
MOST_ENTRIES = 20_000_000

_LARGEST = 2**62  # what a count of 64 bits is never beyond

Layer = NDArray[Any]
"""V(i, ·, ·): a row per state, a column per number of errors still to make."""


def _entries(language: Language) -> int:
    states = 1 if language.graph is None else language.graph.state_count
    return (language.length or 0) ** 2 // 2 * states


def can_count(language: Language) -> bool:
    """Whether the words around a word can be counted by distance in seconds."""
    return _entries(language) <= MOST_ENTRIES


@lru_cache(maxsize=8)
def ways_to_finish(language: RunLanguage) -> NDArray[np.int64] | None:
    """(k, s): how many words of k symbols finish from s, for the symbols that may be altered; None: beyond 64 bits.

    A state that no word passes, as the hidden start where the first symbol is public, has none here.
    """
    graph = language.graph
    passed = np.zeros(graph.state_count, dtype=np.bool_)
    passed[graph.target] = True
    passed[graph.start] |= not language.public_start
    ways = np.empty((language.largest_distance + 1, graph.state_count), dtype=np.int64)
    ways[0] = graph.accepting & passed
    for symbols in range(language.largest_distance):
        following = ways[symbols][graph.target]
        # floats first: they do not overflow, and are nearly right
        if (graph.sum_over(following.astype(np.float64)) * passed).max(initial=0.0) > _LARGEST / 2:
            return None
        ways[symbols + 1] = graph.sum_over(following) * passed
    return ways


class RunNeighbours:
    """The words of a language around one of its words, by distance.

    With `edge_weights` (a public prior) words are not counted but weighed; then nothing can be drawn.
    With `farthest` only the words up to that distance are counted.
    """

    def __init__(
        self,
        language: RunLanguage,
        codes: Codes,
        *,
        edge_weights: tuple[Fraction, ...] | None = None,
        farthest: int | None = None,
    ) -> None:
        if not can_count(language):
            entries = _entries(language)
            raise TooLargeError(
                f"counting by distance: expected at most {MOST_ENTRIES} counts, found {entries}; use a shorter "
                "word or a smaller model (releasing by the exponential mechanism needs no counts)",
            )
        self._language = language
        self._codes = codes
        self._farthest = len(codes) if farthest is None else farthest
        self._edge_weights = None if edge_weights is None else np.array(edge_weights, dtype=object)

    @computed_once
    def _layers(self) -> list[Layer]:
        graph = self._language.graph
        layers: list[Layer] = [graph.accepting.astype(np.int64)[:, None]]
        for own in self._codes[::-1]:
            layer = _step_back(graph, layers[-1], int(own), self._edge_weights)
            layers.append(layer[:, : self._farthest + 1])
        return layers[::-1]

    @property
    def _begin(self) -> tuple[int, int]:
        """Where drawing starts: (position, state). A public first symbol is not drawn."""
        if self._language.public_start and len(self._codes):
            return 1, int(self._codes[0])
        return 0, self._language.graph.start

    @computed_once
    def _weights(self) -> list[Any]:
        position, state = self._begin
        return list(self._layers[position][state].tolist())

    def counts(self) -> list[int]:
        """N(0), N(1) … up to the largest possible distance."""
        return self._counts

    @computed_once
    def _counts(self) -> list[int]:
        if self._edge_weights is not None:
            return RunNeighbours(self._language, self._codes, farthest=self._farthest).counts()
        return [int(count) for count in self._weights]

    def count(self, distance: int) -> int:
        """How many words lie at exactly this distance."""
        return self._counts[distance] if 0 <= distance < len(self._counts) else 0

    def ways(self, position: int, errors: int, state: int) -> int:
        """V(position, errors, state): ways to finish from a state with this many errors still to make."""
        row = self._layers[position][state]
        return int(row[errors]) if 0 <= errors < len(row) else 0

    def count_balls(self) -> list[arb]:
        """The counts as balls at the working precision."""
        return [ball(weight) for weight in self._weights]

    def draw(self, distance: int, bits: BitSource) -> Codes:
        """A uniform word at exactly this distance, which must have one."""
        position, state = self._begin
        released = self._codes.copy()
        # one integer decides everything: the rank of the word among all at this distance
        rank = uniform_integer(self._counts[distance], bits)
        released[position:] = self._ranks.word((position, state, distance), rank)
        return released

    @computed_once
    def _ranks(self) -> RunRanks:
        return RunRanks(self._language.graph, self._codes, self.ways)


def _step_back(graph: WordGraph, layer: Layer, own: int, edge_weights: Layer | None) -> Layer:
    """V(i, ·, ·) from V(i+1, ·, ·): an edge with another symbol than the word's makes one error."""
    if layer.dtype != object and (edge_weights is not None or int(layer.max(initial=0)) * graph.widest > _LARGEST):
        layer = layer.astype(object)
    after = layer[graph.target] if edge_weights is None else layer[graph.target] * edge_weights[:, None]
    values = np.zeros((graph.edge_count, layer.shape[1] + 1), dtype=layer.dtype)
    match = graph.symbol == own
    values[match, :-1] = after[match]
    values[~match, 1:] = after[~match]
    return graph.sum_over(values)
