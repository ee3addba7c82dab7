"""The words around a word by Levenshtein distance: counted exactly, and drawn uniformly at a distance.

A forward pass over (profile of the universal automaton, state of the model), a layer per symbol read.
Every word has exactly one path, so the number of paths into a node is a number of words; at the layer
of a word's length its profile says its distance. One pass gives the counts for all distances up to k
and all lengths; walking it backwards draws a uniform word (docs/theory/hidden-lengths.md).

The universal Levenshtein automaton: the determinisation that serves every word (Mitankin; Schulz and Mihov).

After j symbols have been read, all that matters for distances up to k is a *profile*: the cheapest
way to have matched the word's first j+δ symbols, for δ = −k … k, capped at k+1. (Farther from the
diagonal the length alone costs more than k.) It is the band of row j of the textbook's table. The
next profile depends on the last one and on one number, the *pattern* of the symbol read: bit δ+k
says whether it equals the word's symbol j+δ+1. Neither mentions the word, so steps are computed
once per process and k, however many words are looked at; an NFA has several runs for a word, a
profile is reached by exactly one.

How much work counting words by Levenshtein distance is, bounded for every word at once.

See docs/theory/hidden-lengths.md.
Whether a mechanism answers must not depend on the secret word, so what `EditNeighbours` will do is bounded
beforehand, from the language, the public bound N on the length and the distance k alone.

A profile after j symbols holds e(δ), δ = −min(j, k) … k: the least edits that lead to the word's first j+δ
symbols, capped at k+1. Neighbouring entries of a row of the textbook's table differ by at most 1, |δ| ≤ e(δ),
and e(−j) = j where j ≤ k. The sequences with these properties, one entry at most k, are counted below: no
word has more profiles in layer j. A node is a profile and a state of the model, and no state has more nodes
than words of j symbols lead to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from flint import arb

from symveil.errors import TooLargeError
from symveil.languages.graph import WordGraph
from symveil.languages.limits import LIMITS
from symveil.models.alphabet import Codes
from symveil.numbers.conversions import ball
from symveil.numbers.once import computed_once
from symveil.randomness import BitSource, uniform_integer
from symveil.trellis.passes import Trellis, forward
from symveil.trellis.semirings import FLOATS

Profile = tuple[int, ...]


class UniversalAutomaton:
    """Profiles and the steps between them, found as they are needed.

    >>> automaton = universal_automaton(1)
    >>> automaton.start
    (2, 0, 1)
    >>> automaton.step(automaton.start, 0b010)          # the word's first symbol is read
    (1, 0, 1)
    """

    def __init__(self, within: int) -> None:
        self.within = within
        self.width = 2 * within + 1
        self.start: Profile = tuple(within + 1 if shift < 0 else shift for shift in range(-within, within + 1))
        self._steps: dict[tuple[Profile, int], Profile | None] = {}

    def step(self, profile: Profile, pattern: int) -> Profile | None:
        """The profile after a symbol with this pattern; None where every distance exceeds k for good."""
        key = (profile, pattern)
        result = self._steps.get(key, _UNKNOWN)
        if result is _UNKNOWN:
            if len(self._steps) >= LIMITS.now.cached_steps:
                self._steps.clear()  # another thread may be reading: it works its step out again
            result = self._steps[key] = self._work_out(profile, pattern)
        return result

    def _work_out(self, profile: Profile, pattern: int) -> Profile | None:
        cap = self.within + 1
        after: list[int] = []
        left = cap
        for index, diagonal in enumerate(profile):
            same_or_substituted = diagonal if pattern >> index & 1 else diagonal + 1
            inserted = profile[index + 1] + 1 if index + 1 < self.width else cap
            left = min(same_or_substituted, inserted, left + 1, cap)
            after.append(left)
        return tuple(after) if min(after) < cap else None

    def distance(self, profile: Profile, ahead: int) -> int | None:
        """The distance to a word that is `ahead` symbols longer than what was read; None beyond k."""
        if abs(ahead) > self.within:
            return None
        result = profile[self.within + ahead]
        return result if result <= self.within else None


_UNKNOWN: Profile = ()


@lru_cache(maxsize=8)
def universal_automaton(within: int) -> UniversalAutomaton:
    """The automaton for distances up to `within`: one per process, shared by all words."""
    return UniversalAutomaton(within)


def patterns_at(codes: tuple[int, ...], position: int, within: int) -> dict[int, int]:
    """The pattern of every symbol of the word near a position; the pattern of any other symbol is 0.

    >>> patterns_at((0, 1, 0), 1, 1)
    {0: 5, 1: 2}
    """
    patterns: dict[int, int] = {}
    for offset in range(2 * within + 1):
        index = position + offset - within
        if 0 <= index < len(codes):
            patterns[codes[index]] = patterns.get(codes[index], 0) | 1 << offset
    return patterns


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
    are refused (without a number, more than `LanguageLimits.edit_edges`), which depends on the word: where it is
    secret, `math.inf` leaves out the limit.

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
        at_most: float | None = None,
    ) -> None:
        self._codes = tuple(int(code) for code in codes)
        self._symbols = symbols
        self._graph = graph
        self._at_most = LIMITS.now.edit_edges if at_most is None else at_most
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
            if edges > self._at_most:
                raise TooLargeError(
                    f"counting by distance: expected at most {self._at_most} edges, found more; use a smaller "
                    "distance, a shorter word or a smaller model"
                )
            layers.append(following)
        return layers

    def _step(self, layer: _Layer, position: int) -> _Layer:
        """The next layer. Its nodes are known only when they are reached, so there are no arrays of edges to pass over.

        The order in which they are reached is that of the ranks that `draw` walks by: it decides which word bits draw.
        """
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
                index = number.get(node)
                if index is None:
                    index = number[node] = len(following.nodes)
                    following.nodes.append(node)
                    following.words.append(0)
                    following.arriving.append([])
                following.words[index] += words * len(symbols)
                following.arriving[index].append((source, symbols))
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


_MANY = 10.0**18
# beyond this distance there are more profiles than `_MANY`
_FAR = 24


def most_edges(*, symbols: int, within: int, max_length: int, graph: WordGraph | None = None) -> float:
    """No `EditNeighbours` has more edges, whatever its word of up to `max_length` symbols; ∞ for very many.

    >>> most_edges(symbols=2, within=1, max_length=3)       # 2 from the start, 4 from two words, 8 from four
    14.0
    """
    total = 0.0
    if graph is None:
        # a group of symbols is one edge: each symbol near in the word, and all others together
        groups, words = min(symbols, 2 * within + 2), 1.0
        for position in range(max_length):
            total += min(most_profiles(within, position), words) * groups
            words = min(words * symbols, _MANY)
    else:
        numbers = replace(FLOATS, most=_MANY)
        start, final = (numbers.ends(each) for each in (np.arange(graph.state_count) == graph.start, graph.accepting))
        paths = Trellis(edges=graph, length=max(max_length - 1, 0), semiring=numbers, final=final)
        for position, ways in zip(range(max_length), forward(paths, start), strict=False):
            total += float(np.minimum(ways, most_profiles(within, position)) @ graph.degrees)
    return total if total < _MANY else math.inf


def most_profiles(within: int, position: int) -> float:
    """No word has more profiles of the universal automaton after `position` symbols are read.

    >>> [most_profiles(within, 10) for within in range(5)]
    [1.0, 8.0, 50.0, 322.0, 2187.0]
    """
    return _most_profiles(within, min(position, within + 1))


@lru_cache(maxsize=1024)
def _most_profiles(within: int, position: int) -> float:
    if within > _FAR:
        return _MANY  # the number of words may still be small
    cap = within + 1
    begin = -min(within, position)
    first = [position] if position <= within else [within, cap]
    ways = dict.fromkeys(first, 1)
    for shift in range(begin + 1, within + 1):
        ways = {
            value: sum(ways.get(before, 0) for before in (value - 1, value, value + 1))
            for value in range(abs(shift), cap + 1)
        }
    everywhere_far = 1 if cap in first else 0  # the sequence of caps alone is no profile
    return float(min(sum(ways.values()) - everywhere_far, int(_MANY)))
