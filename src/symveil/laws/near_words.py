"""How many words of a model lie near given words, and at which positions they differ: passes over the model's graph.

All given words are looked at together. Each pass goes once over positions and edges, forwards and backwards, and meets
at an edge that reads another symbol than the word has there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symveil.languages.runs import RunLanguage
from symveil.models.word import Codes

NEVER = int(np.iinfo(np.int32).max // 4)
"""The least distance where no word differs at a position."""
MOST_WORDS = 1e300
"""Numbers of words are not counted beyond this: they are at least that many."""
_MOST_NUMBERS = 2_000_000
"""Numbers held at a time."""
_EXACT = 1e9
"""Numbers of words below it are whole in spite of rounding."""


@dataclass(frozen=True, slots=True)
class NearWords:
    """The words near each of some words of a language.

    Parameters
    ----------
    language
        All words, of one length.
    words
        Rows of codes, words of the language.

    >>> import symveil as sv
    >>> rows = [("a", "b", "1/2"), ("a", "c", "1/2"), ("b", "d", 1), ("c", "d", 1), ("d", "a", 1)]
    >>> language = sv.runs(sv.MarkovChain.from_transitions(rows, initial="d"), length=3)
    >>> near = NearWords(language, np.array([language.encode("abd")]))
    >>> near.least_distances().tolist() == [[NEVER, 1, NEVER]]
    True
    >>> near.counts(1)[0].tolist(), near.counts(1)[1][:, :, 1].tolist()
    ([[0.0, 1.0]], [[0.0, 1.0, 0.0]])
    """

    language: RunLanguage
    words: Codes

    def least_distances(self) -> NDArray[np.int64]:
        """For each word and position the least distance of a word that differs there; NEVER where none does."""
        graph, length = self.language.graph, self.language.length
        source, into = graph.source, _Into.of(graph.target, graph.state_count)
        found = np.full(self.words.shape, NEVER, dtype=np.int64)
        for rows in self._blocks(1):
            words = self.words[rows]
            back = [np.where(graph.accepting, 0, NEVER)[:, None].repeat(len(words), axis=1).astype(np.int32)]
            for position in range(length - 1, -1, -1):
                steps = back[-1][graph.target] + self._step_costs(words, position)
                back.append(_minimum_by_source(graph.first, np.minimum(steps, NEVER)))
            forward = np.full((graph.state_count, len(words)), NEVER, dtype=np.int32)
            forward[graph.start] = 0
            for position in range(length):
                steps = forward[source] + self._step_costs(words, position)
                differs = graph.symbol[:, None] != words[:, position]
                whole = np.where(differs, steps + back[length - position - 1][graph.target], NEVER)
                found[rows, position] = np.minimum(whole.min(axis=0, initial=NEVER), NEVER)
                forward = into.minimum(np.minimum(steps, NEVER))
        return found

    def counts(self, reach: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How many words lie within 0 … reach of each word, itself not counted, and how many of them differ where.

        The first result is by word and distance, the second by word, position and distance.

        Parameters
        ----------
        reach
            The largest distance that is looked at.
        """
        graph, length = self.language.graph, self.language.length
        source, into = graph.source, _Into.of(graph.target, graph.state_count)
        totals = np.zeros((len(self.words), reach + 1))
        at = np.zeros((len(self.words), length, reach + 1))
        for rows in self._blocks(reach + 1):
            words = self.words[rows]
            last = np.zeros((graph.state_count, len(words), reach + 1))
            last[graph.accepting, :, 0] = 1.0
            back = [last]
            for position in range(length - 1, -1, -1):
                steps = self._one_more(back[-1][graph.target], words, position)
                back.append(np.minimum(graph.sum_over_edges(steps), MOST_WORDS))
            forward = np.zeros((graph.state_count, len(words), reach + 1))
            forward[graph.start, :, 0] = 1.0
            for position in range(length):
                before = forward[source]
                if not self._is_fixed(position):
                    here = before * (graph.symbol[:, None] != words[:, position])[:, :, None]
                    after = back[length - position - 1][graph.target]
                    for errors in range(reach):
                        met = np.einsum("ew,ewd->wd", here[:, :, errors], after[:, :, : reach - errors])
                        at[rows, position, errors + 1 :] += met
                forward = np.minimum(into.add(self._one_more(before, words, position)), MOST_WORDS)
            totals[rows, 1:] = forward[graph.accepting, :, 1:].sum(axis=0)
        return (
            np.minimum(np.cumsum(totals, axis=1), MOST_WORDS),
            np.minimum(np.cumsum(at, axis=2), MOST_WORDS),
        )

    def counts_of_all(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The same for all words of the language, however far: how many others there are, and how many differ where."""
        graph, length = self.language.graph, self.language.length
        back, scale = [graph.accepting.astype(np.float64)], [0.0]
        for _ in range(length):
            sums = graph.sum_over_edges(back[-1][graph.target])
            largest_sum = float(sums.max(initial=0.0)) or 1.0
            back.append(sums / largest_sum)
            scale.append(scale[-1] + math.log(largest_sum))
        source, into = graph.source, _Into.of(graph.target, graph.state_count)
        others, at = np.zeros(len(self.words)), np.zeros(self.words.shape)
        for rows in self._blocks(1):
            words = self.words[rows]
            forward = np.zeros((graph.state_count, len(words)))
            forward[graph.start] = 1.0
            size = np.zeros(len(words))
            for position in range(length):
                through = forward[source]
                same = graph.symbol[:, None] == words[:, position]
                if self._is_fixed(position):
                    through = through * same
                after = through * back[length - position - 1][graph.target][:, None]
                all_of_them = np.maximum(after.sum(axis=0), np.finfo(np.float64).tiny)
                grown = size + scale[length - position - 1]
                at[rows, position] = _grown((after * ~same).sum(axis=0), grown)
                others[rows] = np.maximum(_grown(all_of_them, grown) - 1.0, 0.0)
                forward = into.add(through)
                largest = np.maximum(forward.max(axis=0), np.finfo(np.float64).tiny)
                forward, size = forward / largest, size + np.log(largest)
        return others, at

    def _is_fixed(self, position: int) -> bool:
        """Whether the symbol there is public and kept."""
        return position == 0 and self.language.public_start

    def _step_costs(self, words: Codes, position: int) -> NDArray[np.int32]:
        """What each edge adds to the distance from each word: 1 where it reads another symbol; NEVER if it may not."""
        differs = self.language.graph.symbol[:, None] != words[:, position]
        return np.asarray(differs * np.int32(NEVER if self._is_fixed(position) else 1), dtype=np.int32)

    def _one_more(self, values: NDArray[np.float64], words: Codes, position: int) -> NDArray[np.float64]:
        """Counts by distance, carried over each edge: one more where it reads another symbol than the word has."""
        differs = self.language.graph.symbol[:, None] != words[:, position]
        if self._is_fixed(position):
            return np.asarray(values * ~differs[:, :, None])
        moved = np.zeros_like(values)
        moved[:, :, 1:] = values[:, :, :-1]
        return np.where(differs[:, :, None], moved, values)

    def _blocks(self, levels: int) -> Iterator[slice]:
        """As many words at a time as fit."""
        graph = self.language.graph
        held = max((self.language.length + 1) * graph.state_count, graph.edge_count, 1) * levels
        size = max(_MOST_NUMBERS // held, 1)
        for begin in range(0, len(self.words), size):
            yield slice(begin, min(begin + size, len(self.words)))


@dataclass(frozen=True, slots=True)
class _Into:
    """Edges in the order of the states that they lead to, for sums and minima over them."""

    order: NDArray[np.int64]
    begin: NDArray[np.int64]
    entered: NDArray[np.int64]
    states: int

    @classmethod
    def of(cls, target: NDArray[np.int32], states: int) -> _Into:
        order = np.argsort(target, kind="stable")
        entered, begin = np.unique(target[order], return_index=True)
        return cls(order, begin, entered.astype(np.int64), states)

    def add(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        sums = np.zeros((self.states, *values.shape[1:]))
        if len(self.begin):
            sums[self.entered] = np.add.reduceat(values[self.order], self.begin, axis=0)
        return sums

    def minimum(self, values: NDArray[np.int32]) -> NDArray[np.int32]:
        least = np.full((self.states, *values.shape[1:]), NEVER, dtype=np.int32)
        if len(self.begin):
            least[self.entered] = np.minimum.reduceat(values[self.order], self.begin, axis=0)
        return least


def _minimum_by_source(first: NDArray[np.int64], values: NDArray[np.int32]) -> NDArray[np.int32]:
    least = np.full((len(first) - 1, *values.shape[1:]), NEVER, dtype=np.int32)
    filled = np.flatnonzero(np.diff(first))
    if len(filled):
        least[filled] = np.minimum.reduceat(values, first[filled], axis=0)
    return least


def _grown(shares: NDArray[np.float64], logarithm: NDArray[np.float64]) -> NDArray[np.float64]:
    """shares · e^logarithm, at most `MOST_WORDS`."""
    with np.errstate(divide="ignore"):
        size = np.log(shares) + logarithm
    words = np.exp(np.minimum(size, np.log(MOST_WORDS)))
    return np.where(words < _EXACT, np.rint(words), words)
