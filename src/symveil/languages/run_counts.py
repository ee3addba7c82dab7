"""Counting a model's words by their distance from a given word, exactly, and drawing one at a distance.

V(i, ℓ, y) is the number of ways to finish from state y after i symbols with ℓ errors still to make
(J19 Algorithm 2 and B26 Algorithm 2, with one layer per symbol). It is kept as integers, of 64 bits as
long as they hold it and then as Python's, so a draw compares integers and is exactly uniform
(docs/theory/hidden-lengths.md).

The words at one distance from a word are drawn by their rank in alphabetical order.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symveil.errors import TooLargeError
from symveil.languages.graph import WordGraph
from symveil.languages.limits import LIMITS
from symveil.models.alphabet import Codes
from symveil.numbers.conversions import ball
from symveil.numbers.once import computed_once
from symveil.randomness import BitSource, uniform_integer
from symveil.trellis.passes import RankedWalks, Trellis, backward
from symveil.trellis.semirings import COUNTS, ByDistance

Node = tuple[int, int, int]
"""(position, state, errors still to make)."""


_LARGEST = 2**62  # what a count of 64 bits is never beyond

Layer = NDArray[Any]
"""V(i, ·, ·): a row per state, a column per number of errors still to make."""


class _Words(Protocol):
    """What counting reads of any language."""

    @property
    def graph(self) -> WordGraph | None: ...
    @property
    def length(self) -> int | None: ...


class _ModelWords(Protocol):
    """What counting reads of the words of a model."""

    @property
    def graph(self) -> WordGraph: ...
    @property
    def length(self) -> int: ...
    @property
    def public_start(self) -> bool: ...
    @property
    def largest_distance(self) -> int: ...


def _entries(language: _Words) -> int:
    states = 1 if language.graph is None else language.graph.state_count
    return (language.length or 0) ** 2 // 2 * states


def can_count(language: _Words) -> bool:
    """Whether the words around a word can be counted by distance in seconds."""
    return _entries(language) <= LIMITS.now.counted_entries


@lru_cache(maxsize=8)
def ways_to_finish(language: _ModelWords) -> NDArray[np.int64] | None:
    """(k, s): how many words of k symbols finish from s, for the symbols that may be altered; None: beyond 64 bits.

    A state that no word passes, as the hidden start where the first symbol is public, has none here.
    """
    graph = language.graph
    passed = np.zeros(graph.state_count, dtype=np.bool_)
    passed[graph.target] = True
    passed[graph.start] |= not language.public_start
    ways = graph.completions(language.largest_distance, COUNTS)
    if max(int((layer * passed).max(initial=0)) for layer in ways) > _LARGEST / 2:
        return None
    return np.stack([layer * passed for layer in ways]).astype(np.int64)


class RunNeighbours:
    """The words of a language around one of its words, by distance.

    With `edge_weights` (a public prior) words are not counted but weighed; then nothing can be drawn.
    With `farthest` only the words up to that distance are counted.
    """

    def __init__(
        self,
        language: _ModelWords,
        codes: Codes,
        *,
        edge_weights: tuple[Fraction, ...] | None = None,
        farthest: int | None = None,
    ) -> None:
        if not can_count(language):
            raise TooLargeError(
                f"counting by distance: expected at most {LIMITS.now.counted_entries} counts, found "
                f"{_entries(language)}; use a shorter word or a smaller model (releasing by the exponential mechanism "
                "needs no counts)",
            )
        self._language = language
        self._codes = codes
        self._farthest = len(codes) if farthest is None else farthest
        self._edge_weights = None if edge_weights is None else np.array(edge_weights, dtype=object)

    @computed_once
    def _layers(self) -> list[Layer]:
        graph, near = self._language.graph, ByDistance(COUNTS, self._farthest)
        return backward(
            Trellis(
                edges=graph,
                length=len(self._codes),
                semiring=near,
                final=near.ends(graph.accepting),
                worth=lambda position: (graph.symbol != self._codes[position], self._edge_weights),
            )
        )

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
        released[position:] = self._ranks.walk((position, state, distance), rank)
        return released

    @computed_once
    def _ranks(self) -> RankedWalks[Node]:
        return RankedWalks(self.choices)

    def choices(self, node: Node) -> list[tuple[int, Node, int]]:
        """The symbols with which a word can go on from a node, in order: where they lead, how many words finish there.

        A node is a position, a state and how many errors are still to make.
        """
        position, state, errors = node
        if position == len(self._codes):
            return []
        graph, own, choices = self._language.graph, int(self._codes[position]), []
        low, high = int(graph.first[state]), int(graph.first[state + 1])
        for symbol, target in zip(graph.symbol[low:high].tolist(), graph.target[low:high].tolist(), strict=True):
            left = errors - (symbol != own)
            ways = self.ways(position + 1, left, target)
            if ways:
                choices.append((symbol, (position + 1, target, left), ways))
        return choices
