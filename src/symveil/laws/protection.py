"""What adjacency protects on a model: how many feasible words lie near a typical one (docs/models.md).

Adjacency compares feasible words only. On a road network two trips can hardly differ in one link, so
b = 1 promises little there; b should cover the detours one wants to hide. The average is over words
of the public model, drawn from a fixed seed: it says nothing about any secret word.

How many words of a model lie near given words, and at which positions they differ: passes over the model's graph.

All given words are looked at together. Each pass goes once over positions and edges, forwards and backwards, and meets
at an edge that reads another symbol than the word has there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ParameterError
from symveil.languages.graph import WordGraph
from symveil.languages.language import Language, require_language
from symveil.languages.open import OpenRuns
from symveil.languages.runs import RunLanguage
from symveil.laws.parameters import Adjacency, read_adjacency
from symveil.models.word import Codes
from symveil.randomness import NotPrivateSeededBits

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
        source, into = graph.source, graph.reversed()
        results = np.full(self.words.shape, NEVER, dtype=np.int64)
        for rows in self._blocks(1):
            words = self.words[rows]
            back = [np.where(graph.accepting, 0, NEVER)[:, None].repeat(len(words), axis=1).astype(np.int32)]
            for position in range(length - 1, -1, -1):
                steps = back[-1][graph.target] + self._step_costs(words, position)
                back.append(graph.sum_over(np.minimum(steps, NEVER), np.minimum, NEVER))
            forward = np.full((graph.state_count, len(words)), NEVER, dtype=np.int32)
            forward[graph.start] = 0
            for position in range(length):
                steps = forward[source] + self._step_costs(words, position)
                differs = graph.symbol[:, None] != words[:, position]
                whole = np.where(differs, steps + back[length - position - 1][graph.target], NEVER)
                results[rows, position] = np.minimum(whole.min(axis=0, initial=NEVER), NEVER)
                forward = into.sum_over(np.minimum(steps, NEVER), np.minimum, NEVER)
        return results

    def counts(self, reach: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How many words lie within 0 … reach of each word, itself not counted, and how many of them differ where.

        The first result is by word and distance, the second by word, position and distance.

        Parameters
        ----------
        reach
            The largest distance that is looked at.
        """
        graph, length = self.language.graph, self.language.length
        source, into = graph.source, graph.reversed()
        totals = np.zeros((len(self.words), reach + 1))
        at = np.zeros((len(self.words), length, reach + 1))
        for rows in self._blocks(reach + 1):
            words = self.words[rows]
            last = np.zeros((graph.state_count, len(words), reach + 1))
            last[graph.accepting, :, 0] = 1.0
            back = [last]
            for position in range(length - 1, -1, -1):
                steps = self._one_more(back[-1][graph.target], words, position)
                back.append(np.minimum(graph.sum_over(steps), MOST_WORDS))
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
                forward = np.minimum(into.sum_over(self._one_more(before, words, position)), MOST_WORDS)
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
            sums = graph.sum_over(back[-1][graph.target])
            largest_sum = float(sums.max(initial=0.0)) or 1.0
            back.append(sums / largest_sum)
            scale.append(scale[-1] + math.log(largest_sum))
        source, into = graph.source, graph.reversed()
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
                forward = into.sum_over(through)
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


def _grown(shares: NDArray[np.float64], logarithm: NDArray[np.float64]) -> NDArray[np.float64]:
    """shares · e^logarithm, at most `MOST_WORDS`."""
    with np.errstate(divide="ignore"):
        size = np.log(shares) + logarithm
    words = np.exp(np.minimum(size, np.log(MOST_WORDS)))
    return np.where(words < _EXACT, np.rint(words), words)


SAMPLED_WORDS = 100
_FEWER_WORDS = 20
# Counting farther would take long, and a promise with so many neighbours is not thin.
_MOST_EDITS = 3
_SEED = 7
# Where there are no positions to count by, the promise is thin below this number of neighbours.
_FEW_NEIGHBOURS = 2.0


@dataclass(frozen=True, slots=True)
class Protection:
    """How many other feasible words lie within the adjacency of a typical word, and at which positions they differ."""

    neighbours_within_adjacency: float
    by_position: tuple[float, ...]
    positions_with_alternatives: float | None = None
    """The share of positions at which at least one of those words differs; None where lengths are secret."""

    @property
    def thin(self) -> bool:
        """Whether more than half of the positions of a typical word have no alternative at all."""
        if self.positions_with_alternatives is None:
            return self.neighbours_within_adjacency < _FEW_NEIGHBOURS
        return 2 * self.positions_with_alternatives < 1

    def sentence(self) -> str:
        """As people read it.

        >>> Protection(3.6, (1.2, 0.1), 0.55).sentence()
        '3.6 feasible words within the adjacency of a typical word; 55 % of its positions have an alternative'
        """
        share = self.positions_with_alternatives
        where = "" if share is None else f"; {100 * share:.0f} % of its positions have an alternative"
        return f"{self.neighbours_within_adjacency:.4g} feasible words within the adjacency of a typical word{where}"

    def document(self) -> dict[str, object]:
        """The JSON form of the contract."""
        return {
            "neighbours_within_adjacency": self.neighbours_within_adjacency,
            "by_position": list(self.by_position),
            "positions_with_alternatives": self.positions_with_alternatives,
        }


def protection_from_document(document: Mapping[str, Any]) -> Protection:
    """What a manifest has under `protection`; older ones do not have the share of positions.

    >>> protection_from_document({"neighbours_within_adjacency": 1.0, "by_position": [0.0, 0.0, 1.0]}).thin
    True
    """
    share = document.get("positions_with_alternatives")
    if share is None and document["by_position"]:  # at least those have none that no sampled word differs at
        share = float(np.mean([count > 0 for count in document["by_position"]]))
    return Protection(document["neighbours_within_adjacency"], tuple(document["by_position"]), share)


def protection(language: Language, adjacency: Adjacency) -> Protection | None:
    """The protection of a model's language, averaged over its public words; None where every word has all neighbours.

    Under the Levenshtein metric insertions move positions, so there is no count by position; beyond 3 edits words
    are not counted: it is then a lower bound. It is kept, because it does not depend on ε.

    Parameters
    ----------
    language
        The words, all of one length or of lengths up to a bound.
    adjacency
        How far apart adjacent words may be; "all": any two.

    >>> from symveil.languages.runs import runs
    >>> from symveil.models.markov_chain import MarkovChain
    >>> rows = [("a", "b", "1/2"), ("a", "c", "1/2"), ("b", "d", 1), ("c", "d", 1), ("d", "a", 1)]
    >>> near = protection(runs(MarkovChain.from_transitions(rows, initial="d"), length=3), adjacency=1)
    >>> near.by_position                     # only the detour over b or c can be hidden
    (0.0, 1.0, 0.0)
    """
    require_language(language)
    if language.graph is None:
        return None
    reach = read_adjacency(adjacency, length=language.max_length or 0)
    if isinstance(language, OpenRuns):
        return _by_edits(language, reach)
    if language.runs is None:
        raise ParameterError("language", expected="words of one length, or up to a bound", found=repr(language))
    return _by_substitutions(language.runs, reach)


@lru_cache(maxsize=16)
def _by_substitutions(language: RunLanguage, adjacency: int) -> Protection:
    near = NearWords(language, typical_words(language, SAMPLED_WORDS))
    if adjacency < language.largest_distance:
        totals, positions = (counts[..., adjacency] for counts in near.counts(adjacency))
    else:
        totals, positions = near.counts_of_all()
    share = float((near.least_distances() <= adjacency).mean()) if language.length else 1.0
    return Protection(float(totals.mean()), tuple(positions.mean(axis=0).tolist()), share)


@lru_cache(maxsize=16)
def _by_edits(language: OpenRuns, adjacency: int) -> Protection:
    bits = NotPrivateSeededBits(_SEED)
    within = min(adjacency, _MOST_EDITS, max(language.max_length, 1))
    total = sum(sum(language.around(language.uniform(bits), within=within).counts()) - 1 for _ in range(_FEWER_WORDS))
    return Protection(total / _FEWER_WORDS, ())


def typical_words(language: RunLanguage, count: int) -> Codes:
    """Words of the public model, from a fixed seed: by its probabilities, or uniform steps where it has none."""
    graph = language.graph
    bits = NotPrivateSeededBits(_SEED)
    uniform = (bits.words(count * language.length) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    weights = _step_weights(graph)
    words = np.empty((count, language.length), dtype=np.int32)
    for row in range(count):
        state = graph.start
        for position in range(language.length):
            edges = np.array(graph.edges(state))
            edges = edges[language.alive[language.length - position - 1][graph.target[edges]]]
            share = weights[edges]
            if not share.sum() > 0:  # all of them less likely than floats can say
                share = np.ones(len(edges))
            point = uniform[row * language.length + position] * share.sum()
            edge = edges[min(int(np.searchsorted(np.cumsum(share), point, side="right")), len(edges) - 1)]
            words[row, position] = graph.symbol[edge]
            state = int(graph.target[edge])
    return words


def typical_shares(language: RunLanguage, words: Codes) -> NDArray[np.float64]:
    """How often `typical_words` draws each of some words.

    Parameters
    ----------
    language
        The words, all of one length.
    words
        Rows of codes, words of the language.

    >>> import symveil as sv
    >>> language = sv.runs(sv.MarkovChain.from_transitions([("a", "a", "1/4"), ("a", "b", "3/4"), ("b", "a", 1)]), 2)
    >>> typical_shares(language, language.enumerate_codes(at_most=10)).tolist()              # aa ab ba
    [0.125, 0.375, 0.5]
    """
    graph = language.graph
    weights = _step_weights(graph)
    shares = np.ones(len(words))
    for row, word in enumerate(words):
        state = graph.start
        for position, code in enumerate(word):
            edges = np.array(graph.edges(state))
            edges = edges[language.alive[language.length - position - 1][graph.target[edges]]]
            share = weights[edges]
            if not share.sum() > 0:
                share = np.ones(len(edges))
            taken = int(np.flatnonzero(graph.symbol[edges] == code)[0])
            shares[row] *= share[taken] / share.sum()
            state = int(graph.target[edges[taken]])
    return shares


def _step_weights(graph: WordGraph) -> NDArray[np.float64]:
    """How likely each edge is to be taken: by the model's probabilities, or all alike."""
    return np.ones(graph.edge_count) if graph.prior is None else np.array([float(p) for p in graph.prior])
