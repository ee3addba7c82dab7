"""The words around a word by Levenshtein distance: counted exactly, and drawn uniformly at a distance.

A forward pass over (profile of the universal automaton, state of the model), a layer per symbol read.
Every word has exactly one path, so the number of paths into a node is a number of words; at the layer
of a word's length its profile says its distance. One pass gives the counts for all distances up to k
and all lengths; walking it backwards draws a uniform word (docs/theory/levenshtein-balls.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from flint import arb

from symveil.errors import TooLargeError
from symveil.languages.graph import WordGraph
from symveil.languages.universal_levenshtein import Profile, patterns_at, universal_automaton
from symveil.models.word import Codes
from symveil.numbers.conversions import ball
from symveil.numbers.once import computed_once
from symveil.randomness import BitSource, uniform_integer

_MOST_EDGES = 5_000_000
"""More are refused where the word is no secret; a mechanism asks `edit_work.most_edges` before it sees a word."""

Node = tuple[Profile, int]
"""(profile, state of the model)."""


@dataclass(frozen=True, slots=True)
class _Layer:
    """The nodes after some symbols; how many words lead to each; and the edges that lead into each."""

    nodes: list[Node]
    words: list[int]
    # (index in the layer before, symbols that lead here): a group of symbols is counted at once
    arriving: list[list[tuple[int, tuple[int, ...] | range]]]


class EditNeighbours:
    """The words within Levenshtein distance `within` of a word, of up to `max_length` symbols.

    With a `graph` only its words count; without one all words over `symbols` symbols. More than `at_most` edges
    are refused, which depends on the word: where it is secret, None leaves out the limit.

    >>> near = EditNeighbours((0, 1, 2), symbols=3, within=1)
    >>> near.counts()                                       # abc; 3 shorter, 6 of its length, 9 longer words
    [1, 18]
    >>> near.count(1, length=4)
    9
    """

    def __init__(
        self,
        codes: Iterable[int],
        *,
        symbols: int,
        within: int,
        max_length: int | None = None,
        graph: WordGraph | None = None,
        at_most: int | None = _MOST_EDGES,
    ) -> None:
        self._codes = tuple(int(code) for code in codes)
        self._symbols = symbols
        self._graph = graph
        self._at_most = at_most
        self._universal = universal_automaton(within)
        self.within = within
        longest = len(self._codes) + within
        self.longest = longest if max_length is None else min(longest, max_length)

    # --- the pass ------------------------------------------------------------------------------

    @computed_once
    def _layers(self) -> list[_Layer]:
        start = (self._universal.start, 0 if self._graph is None else self._graph.start)
        layers = [_Layer([start], [1], [[]])]
        edges = 0
        for position in range(self.longest):
            following = self._step(layers[-1], position)
            edges += sum(map(len, following.arriving))
            if self._at_most is not None and edges > self._at_most:
                raise TooLargeError(
                    f"counting by distance: expected at most {self._at_most} edges, found more; use a smaller "
                    "distance, a shorter word or a smaller model"
                )
            layers.append(following)
        return layers

    def _step(self, layer: _Layer, position: int) -> _Layer:
        step = self._universal.step
        patterns = patterns_at(self._codes, position, self.within)
        groups = self._free_groups(patterns) if self._graph is None else None
        number: dict[Node, int] = {}
        following = _Layer([], [], [])
        for source, ((profile, state), words) in enumerate(zip(layer.nodes, layer.words, strict=True)):
            for pattern, symbols, target in groups or self._model_edges(state, patterns):
                after = step(profile, pattern)
                if after is None:
                    continue
                node = (after, target)
                place = number.get(node)
                if place is None:
                    place = number[node] = len(following.nodes)
                    following.nodes.append(node)
                    following.words.append(0)
                    following.arriving.append([])
                following.words[place] += words * len(symbols)
                following.arriving[place].append((source, symbols))
        return following

    def _free_groups(self, patterns: dict[int, int]) -> list[tuple[int, tuple[int, ...] | range, int]]:
        """The symbols by their pattern: each of the word's near symbols, and all others together."""
        groups: list[tuple[int, tuple[int, ...] | range, int]] = [
            (pattern, (symbol,), 0) for symbol, pattern in patterns.items()
        ]
        if not patterns:
            return [(0, range(self._symbols), 0)]
        others = tuple(symbol for symbol in range(self._symbols) if symbol not in patterns)
        return [*groups, (0, others, 0)] if others else groups

    def _model_edges(self, state: int, patterns: dict[int, int]) -> Iterator[tuple[int, tuple[int, ...], int]]:
        graph = self._graph
        assert graph is not None  # noqa: S101 - only called on a model
        for edge in graph.edges(state):
            symbol = int(graph.symbol[edge])
            yield patterns.get(symbol, 0), (symbol,), int(graph.target[edge])

    # --- counting ------------------------------------------------------------------------------

    @computed_once
    def _ends(self) -> dict[tuple[int, int], list[int]]:
        """(distance, length) → the nodes of that layer where words at that distance end."""
        ends: dict[tuple[int, int], list[int]] = {}
        for length, layer in enumerate(self._layers):
            for index, (profile, state) in enumerate(layer.nodes):
                distance = self._universal.distance(profile, len(self._codes) - length)
                if distance is not None and (self._graph is None or self._graph.accepting[state]):
                    ends.setdefault((distance, length), []).append(index)
        return ends

    @computed_once
    def _table(self) -> dict[tuple[int, int], int]:
        return {
            (distance, length): sum(self._layers[length].words[index] for index in nodes)
            for (distance, length), nodes in self._ends.items()
        }

    def table(self) -> dict[tuple[int, int], int]:
        """(distance, length) → how many words there are; pairs without a word are left out."""
        return {key: count for key, count in sorted(self._table.items()) if count}

    def count(self, distance: int, *, length: int | None = None) -> int:
        """How many words lie at exactly this distance, of one length or of all."""
        if length is not None:
            return self._table.get((distance, length), 0)
        return sum(count for (at, _), count in self._table.items() if at == distance)

    def counts(self) -> list[int]:
        """The number of words at distance 0, 1 … `within`."""
        return [self.count(distance) for distance in range(self.within + 1)]

    def count_balls(self) -> list[arb]:
        """The counts as balls at the working precision."""
        return [ball(count) for count in self.counts()]

    @property
    def state_count(self) -> int:
        """How many nodes the deterministic automaton has, over all layers."""
        return sum(len(layer.nodes) for layer in self._layers)

    @property
    def edge_count(self) -> int:
        """How many edges it has; on the free language the symbols far from the word are one edge."""
        return sum(len(arriving) for layer in self._layers for arriving in layer.arriving)

    # --- drawing words -------------------------------------------------------------------------

    def draw(self, distance: int, bits: BitSource) -> Codes:
        """A uniform word at exactly this distance, which must have one."""
        # one integer decides everything: the rank of the word among all at this distance
        rank = uniform_integer(self.count(distance), bits)
        for (at, length), nodes in self._ends.items():
            if at != distance:
                continue
            for index in nodes:
                words = self._layers[length].words[index]
                if rank < words:
                    return self._walk_back(length, index, rank)
                rank -= words
        raise AssertionError("a rank lies below the number of words")

    def _walk_back(self, length: int, index: int, rank: int) -> Codes:
        word = np.empty(length, dtype=np.int32)
        for position in range(length - 1, -1, -1):
            before = self._layers[position].words
            for source, symbols in self._layers[position + 1].arriving[index]:
                words = before[source] * len(symbols)
                if rank < words:
                    which, rank = divmod(rank, before[source])
                    word[position] = symbols[which]
                    index = source
                    break
                rank -= words
        return word
