"""Counting the words around each of many words by distance, and taking the one of a given rank: all at once, exactly.

`run_counts` passes over the whole graph for every word. Here a word is looked at only where it can be *met*: a released
word hits position j if it reads the word's symbol there, and then it is in a known state. Let V_t(x) be the sum of
x^hits over all ways to finish from state t, P(t, j) the number of ways from t to a hit at position j, whatever
happens between, and W_t the number of all ways to finish. Writing x as 1 + (x−1) for every hit,

    V_t(x) = W_t + Σ_j P(t, j)·(x−1)·V_j(x),

V_j being that of the state after the hit. The P are the same for all words: a table of how many paths lead from where
to where. So a word costs n³/6 products of integers instead of a pass over the graph for each number of errors. Terms
cancel, but integers are not rounded: all of this is done modulo 2⁶⁴, and the counts themselves are below it
(`fits_batches`).
Where several states may follow a symbol (an automaton's), a hit is a symbol together with the state after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symveil.graphs.csr import spread
from symveil.languages.graph import WordGraph
from symveil.languages.limits import LIMITS
from symveil.languages.run_counts import can_count, ways_to_finish
from symveil.languages.runs import RunLanguage
from symveil.models.alphabet import Codes

Integers = NDArray[np.int64]
Residues = NDArray[np.uint64]
"""Integers modulo 2⁶⁴."""

_BLOCK = 16  # successors of a start that are first looked at together: cached tables are laid out by it


class Paths(NamedTuple):
    """How many paths lead to hits. In both tables a column of zeros stands for the hit that there is none of."""

    table: Residues
    """(k, t, c): paths of k+1 symbols from state t to hit c."""
    blocks: Residues
    """(k, b, c): the same from the targets of the start's edges together, those of block b."""


class Hits:
    """Symbols with the states that they may lead to: hit c reads `symbol[c]` and is in `state[c]` afterwards.

    `of[σ]` has those of symbol σ; where they are fewer than for other symbols, the number of all stands instead.
    """

    def __init__(self, graph: WordGraph) -> None:
        self.graph = graph
        pairs = np.unique(np.stack([graph.symbol, graph.target], axis=1), axis=0)
        self.symbol, self.state = pairs[:, 0].astype(np.int64), np.append(pairs[:, 1], 0).astype(np.int64)
        counts = np.bincount(self.symbol, minlength=len(graph.alphabet))
        self.of = np.full((len(graph.alphabet), int(counts.max())), len(self.symbol), dtype=np.int64)
        self.of[spread(counts)] = np.arange(len(self.symbol))
        self._count_requested = 0
        self._cached: Paths | None = None

    def to(self, own: Integers, language: RunLanguage) -> tuple[Paths, Integers]:
        """The table of paths to some hits, and where in it they stand.

        That to all hits is made, and kept, once as many have been asked for as there are: single words need not wait.
        """
        number, steps = len(self.symbol), _steps(language)
        occurring = np.unique(own[own < number])
        self._count_requested += len(occurring)
        if self._count_requested >= number and _keeps_all(language):
            if self._cached is None or len(self._cached.table) < steps:  # a table for longer words serves shorter ones
                self._cached = self.paths(np.arange(number), steps)
            return self._cached, own
        table = self.paths(occurring, language.largest_distance)
        return table, np.where(own < number, np.searchsorted(occurring, own), len(occurring))

    def paths(self, hits: Integers, steps: int) -> Paths:
        """Paths of up to `steps` symbols to some hits.

        The layers are one table that later look-ups index, filled in its own memory: a list of layers from
        `trellis.passes.backward`, copied into it, takes a tenth more time.
        """
        graph = self.graph
        table = np.zeros((steps, graph.state_count, len(hits) + 1), dtype=np.uint64)
        number = np.full(len(self.symbol) + 1, len(hits))
        number[hits] = np.arange(len(hits))
        key = self.symbol * graph.state_count + self.state[:-1]
        edge_hit = number[np.searchsorted(key, graph.symbol * np.int64(graph.state_count) + graph.target)]
        table[0, graph.source, edge_hit] = 1
        table[0, :, -1] = 0
        leaving = np.flatnonzero(np.diff(graph.first))
        width = max(LIMITS.now.batch_products // max(graph.edge_count, 1), _BLOCK)
        for step in range(1, steps):
            # a few hits at a time: the values of all edges stay small
            for begin in range(0, len(hits), width):
                part = slice(begin, min(begin + width, len(hits)))
                values = table[step - 1, :, part][graph.target]
                table[step, leaving, part] = np.add.reduceat(values, graph.first[leaving], axis=0)
        first = graph.edges(graph.start)
        targets, begins = graph.target[first.start : first.stop], np.arange(0, len(first), _BLOCK)
        blocks = np.stack([np.add.reduceat(layer[targets], begins, axis=0) for layer in table])
        return Paths(table, blocks)


@lru_cache(maxsize=2)
def _hits(graph: WordGraph) -> Hits:
    return Hits(graph)  # words of all lengths of a model share it


def _steps(language: RunLanguage) -> int:
    return -(-language.length // LIMITS.now.batch_lengths) * LIMITS.now.batch_lengths


def fits_batches(language: RunLanguage) -> bool:
    """Whether the counts fit into 64 bits, and the tables into memory."""
    graph, altered = language.graph, language.largest_distance
    if not altered or not can_count(language) or ways_to_finish(language) is None:
        return False
    each = _hits(graph).of.shape[1]
    fits = altered * each * graph.state_count * altered <= LIMITS.now.batch_paths
    return fits and each <= LIMITS.now.batch_successors and altered * each * (altered + 1) <= LIMITS.now.batch_counts


def pieces(language: RunLanguage, words: Codes) -> Iterator[slice]:
    """The words, which are in order, in pieces that can be counted together."""
    hits, altered = _hits(language.graph), language.largest_distance
    each = hits.of.shape[1]
    at_once = max(LIMITS.now.batch_counts // (altered * each * (altered + 1)), 1)
    room = LIMITS.now.batch_paths // (language.graph.state_count * altered * each)
    start = 0
    while start < len(words):
        symbols = words[start : start + at_once, language.length - altered :]
        # the word with which there would be more symbols than paths to them have room
        first = np.sort(np.unique(symbols, return_index=True)[1] // altered)
        stop = start + (int(first[room]) if len(first) > room and not _keeps_all(language) else len(symbols))
        yield slice(start, max(stop, start + 1))
        start = max(stop, start + 1)


def _keeps_all(language: RunLanguage) -> bool:
    """Whether the table of the paths to all hits has room."""
    graph = language.graph
    return len(_hits(graph).symbol) * graph.state_count * _steps(language) <= LIMITS.now.batch_paths


class RunNeighboursBatch:
    """The words of a language around each word of one of the `pieces`, by distance."""

    def __init__(self, language: RunLanguage, words: Codes) -> None:
        ways = ways_to_finish(language)
        assert ways is not None  # noqa: S101 - `fits_batches` has been asked
        self._language, self._graph, self._words = language, language.graph, words
        self._altered = language.largest_distance
        self._begin = language.length - self._altered
        self._ways = ways.astype(np.uint64)
        hits = _hits(language.graph)
        own = hits.of[words[:, self._begin :]]
        self._paths, self._hit = hits.to(own, language)
        self._start = np.full(len(words), language.graph.start, dtype=np.int64)
        if self._begin:
            self._start = language.graph.target[language.edge_numbers(self._start, words[:, 0])].astype(np.int64)
        gains = self._count(hits.state[own])
        self.counts: Integers = self._from_start(gains)
        """N(0), N(1) … around each word, up to the largest possible distance."""
        # (word, power of x, hits of all positions): what a step of a walk needs stands together
        self._gains = np.ascontiguousarray(gains.transpose(0, 3, 1, 2)).reshape(len(words), self._altered + 1, -1)

    def _count(self, state: Integers) -> Residues:
        """(x−1)·V_j(x) for the hits at each position of each word: (word, position, hit, power of x).

        No pass over a trellis: a step leads from a hit to every later one, not to the next position.
        """
        count, altered, each = self._hit.shape
        gains = np.zeros((count, altered, each, altered + 1), dtype=np.uint64)
        for position in reversed(range(altered)):
            after = altered - 1 - position
            values = np.zeros((count, each, altered + 1), dtype=np.uint64)
            values[:, :, 0] = self._ways[after][state[:, position]]
            if after:
                steps, hit = np.arange(after)[None, None, :, None], self._hit[:, None, position + 1 :, :]
                paths = self._paths.table[steps, state[:, position, :, None, None], hit]
                values[:, :, : after + 1] += np.matmul(
                    paths.reshape(count, each, after * each),
                    gains[:, position + 1 :, :, : after + 1].reshape(count, after * each, after + 1),
                )
            gains[:, position, :, 1:] = values[:, :, :-1]
            gains[:, position] -= values
        return gains

    def _from_start(self, gains: Residues) -> Integers:
        count, altered, each = self._hit.shape
        paths = self._paths.table[np.arange(altered)[None, :, None], self._start[:, None, None], self._hit]
        by_hits = np.matmul(paths.reshape(count, 1, -1), gains.reshape(count, altered * each, altered + 1))[:, 0]
        by_hits[:, 0] += self._ways[altered][self._start]
        return np.asarray(by_hits[:, ::-1], dtype=np.int64)

    # --- the word of a rank --------------------------------------------------------------------

    def words_of_rank(self, word: Integers, distances: Integers, ranks: Integers) -> Codes:
        """For each row the word number `rank`, in alphabetical order from 0, of those at a distance from `word`.

        Rows name a word and one of its distances that has neighbours; ranks go from 0 up to how many these are.
        """
        released = self._words[word]
        degrees = np.diff(self._graph.first)
        if not (self._graph.target == self._graph.start).any():
            degrees = np.delete(degrees, self._graph.start)  # it is left once, and by blocks
        widest = max(int(degrees.max(initial=0)), _BLOCK)
        at_once = max(LIMITS.now.batch_products // (self._gains.shape[2] * widest), 1)
        for begin in range(0, len(word), at_once):
            part = slice(begin, begin + at_once)
            self._walk(released[part], word[part], self._altered - distances[part], ranks[part].astype(np.uint64))
        return released

    def _walk(self, released: Codes, word: Integers, hits: Integers, rank: Residues) -> None:
        """Put the words of some ranks among those with some hits into `released`, which holds the words themselves.

        It is `trellis.passes.RankedWalks` for many words at once, one position after the other, which is many times
        as quick as a pass and a walk for each.
        """
        graph, (table, blocks) = self._graph, self._paths
        each, row = self._hit.shape[2], np.arange(len(word))
        hit = self._hit[word].reshape(len(word), -1)
        step = np.repeat(np.arange(self._altered), each)
        state = self._start[word]
        for position in range(self._altered):
            later = slice((position + 1) * each, None)
            plain = self._ways[self._altered - 1 - position]
            # the steps to the later hits, and what these are worth if the symbol here is, or is not, one of them
            steps = step[: hit.shape[1] - later.start]
            missed = _Finishing(table, steps, hit[:, later], self._gains[word, hits, later], hits == 0, plain)
            own = self._language.edge_numbers(state, released[:, self._begin + position])
            met = _Finishing(table, steps, hit[:, later], self._gains[word, hits - 1, later], hits == 1, plain)
            own_ways = np.where((own >= 0) & (hits > 0), met.ways(graph.target[own][None, :])[0], np.uint64(0))
            first, stop = graph.first[state], graph.first[state + 1]
            if position == 0 and self._begin == 0 and len(graph.edges(graph.start)) > 2 * _BLOCK:
                targets = graph.target[graph.first[graph.start] : graph.first[graph.start + 1]]
                together = np.add.reduceat(plain[targets], np.arange(0, len(targets), _BLOCK))
                in_block = missed._replace(paths=blocks, plain=together)
                sums = in_block.ways(np.arange(blocks.shape[1])[:, None])
                instead = own_ways - missed.ways(graph.target[own][None, :])[0]
                sums[np.where(own >= 0, own - first, 0) // _BLOCK, row] += np.where(own >= 0, instead, np.uint64(0))
                block, rank = _chosen(sums, rank)
                first = first + block * _BLOCK
                stop = np.minimum(first + _BLOCK, stop)
            index = np.arange(int((stop - first).max()))[:, None]
            edge = np.minimum(first + index, stop - 1)
            ways = np.where(edge == own, own_ways, missed.ways(graph.target[edge]))
            ways[index >= stop - first] = 0
            chosen, rank = _chosen(ways, rank)
            edge = first + chosen
            released[:, self._begin + position] = graph.symbol[edge]
            state = graph.target[edge].astype(np.int64)
            hits = hits - (edge == own)


class _Finishing(NamedTuple):
    """For some rows: how many words finish from a state, each with the hits that it still needs."""

    paths: Residues
    """(k, t, c), as in `Paths`."""
    steps: Integers
    """k of each later hit."""
    hit: Integers
    """Their c, for each row."""
    gains: Residues
    """What each later hit is worth."""
    is_last: NDArray[np.bool_]
    """Whether no hit is needed any more, so that it is possible to meet none."""
    plain: Residues
    """How many words finish from t in all."""

    def ways(self, targets: NDArray[np.integer]) -> Residues:
        """(d, r): from the states of a column of `targets` for each row."""
        _, states, width = self.paths.shape
        index = self.steps * (states * width) + self.hit + (targets * np.int64(width))[:, :, None]
        met = np.einsum("drm,rm->dr", self.paths.reshape(-1).take(index), self.gains)
        return np.asarray(met + np.where(self.is_last, self.plain[targets], np.uint64(0)), dtype=np.uint64)


def _chosen(ways: Residues, rank: Residues) -> tuple[Integers, Residues]:
    """Which row of `ways` the rank in each column falls into, and its rank there."""
    sums = np.cumsum(ways, axis=0, dtype=np.uint64)
    chosen = (rank >= sums).sum(axis=0)
    at = np.arange(len(rank))
    return chosen, rank - (sums[chosen, at] - ways[chosen, at])
