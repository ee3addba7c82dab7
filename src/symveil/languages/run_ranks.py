"""The words at one distance from a word, in alphabetical order: the one of a given rank.

What is decided on the way is kept, so that drawing again costs a look-up for each real choice: a
stretch in which only one symbol can follow is one step.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate

from symveil.languages.graph import WordGraph
from symveil.models.word import Codes

Place = tuple[int, int, int]
"""(position, state, errors still to make)."""

# Stretches are kept in pieces: the memory of long words must not grow with the square of their length.
_LONGEST_STRETCH = 32


class _Crossing:
    """A stretch without a choice, then the choices: symbols, where they lead, how many words come up to each."""

    __slots__ = ("following", "places", "stretch", "symbols", "up_to")

    def __init__(self, stretch: list[int], choices: list[tuple[int, Place, int]]) -> None:
        self.stretch = stretch
        self.symbols = [symbol for symbol, _, _ in choices]
        self.places = [place for _, place, _ in choices]
        self.up_to = list(accumulate(ways for _, _, ways in choices))
        self.following: list[_Crossing | None] = [None] * len(choices)


class RunRanks:
    """Words by rank; `ways(position, errors, state)` says how many words finish from there."""

    def __init__(self, graph: WordGraph, codes: Codes, ways: Callable[[int, int, int], int]) -> None:
        self._graph, self._ways = graph, ways
        self._codes: list[int] = codes.tolist()
        self._crossings: dict[Place, _Crossing] = {}

    def word(self, begin: Place, rank: int) -> list[int]:
        """What follows from `begin` in word number `rank`, counted from 0, of those that finish from there."""
        found: list[int] = []
        crossing = self._crossing(begin)
        while True:
            found += crossing.stretch
            if not crossing.symbols:
                return found
            choice = bisect_right(crossing.up_to, rank)
            found.append(crossing.symbols[choice])
            if choice:
                rank -= crossing.up_to[choice - 1]
            following = crossing.following[choice]
            if following is None:
                following = crossing.following[choice] = self._crossing(crossing.places[choice])
            crossing = following

    def _crossing(self, place: Place) -> _Crossing:
        if place not in self._crossings:
            self._crossings[place] = self._explored(place)
        return self._crossings[place]

    def _explored(self, place: Place) -> _Crossing:
        stretch: list[int] = []
        choices = self._choices(place)
        while len(choices) == 1 and len(stretch) < _LONGEST_STRETCH:
            ((symbol, place, _),) = choices
            stretch.append(symbol)
            choices = self._choices(place)
        return _Crossing(stretch, choices)

    def _choices(self, place: Place) -> list[tuple[int, Place, int]]:
        """The symbols with which a word can go on, in order."""
        position, state, errors = place
        if position == len(self._codes):
            return []
        own, found = self._codes[position], []
        low, high = int(self._graph.first[state]), int(self._graph.first[state + 1])
        edges = zip(self._graph.symbol[low:high].tolist(), self._graph.target[low:high].tolist(), strict=True)
        for symbol, target in edges:
            left = errors - (symbol != own)
            ways = self._ways(position + 1, left, target)
            if ways:
                found.append((symbol, (position + 1, target, left), ways))
        return found
