"""What adjacency protects on a model: how many feasible words lie near a typical one (docs/models.md).

Adjacency compares feasible words only. On a road network two trips can hardly differ in one link, so
b = 1 promises little there; b should cover the detours one wants to hide. The average is over words
of the public model, drawn from a fixed seed: it says nothing about any secret word.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ParameterError
from symveil.languages.language import Language, require_language
from symveil.languages.open import OpenRuns
from symveil.languages.runs import RunLanguage
from symveil.models.word import Codes
from symveil.privacy.parameters import Adjacency, read_adjacency
from symveil.randomness import NotPrivateSeededBits

SAMPLED_WORDS = 100
_FEWER_WORDS = 20
# Counting farther would take long, and a promise with so many neighbours is not thin.
_MOST_EDITS = 3
_SEED = 7
# Below these numbers of neighbours the promise is thin.
_FEW_NEIGHBOURS = 2.0
_FEW_AT_A_POSITION = 0.5


@dataclass(frozen=True, slots=True)
class Protection:
    """How many other feasible words lie within the adjacency of a typical word, and at which positions they differ."""

    neighbours_within_adjacency: float
    by_position: tuple[float, ...]

    @property
    def thin(self) -> bool:
        """Whether most positions of a typical word are hardly protected."""
        bare = sum(count < _FEW_AT_A_POSITION for count in self.by_position)
        return self.neighbours_within_adjacency < _FEW_NEIGHBOURS or 2 * bare > len(self.by_position)

    def document(self) -> dict[str, object]:
        """The JSON form of the contract."""
        return {
            "neighbours_within_adjacency": self.neighbours_within_adjacency,
            "by_position": list(self.by_position),
        }


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
    adjacency = min(adjacency, language.largest_distance)
    words = typical_words(language, SAMPLED_WORDS)
    totals, positions = np.zeros(len(words)), np.zeros((len(words), language.length))
    for index, word in enumerate(words):
        totals[index], positions[index] = _neighbours(language, word, adjacency)
    return Protection(float(totals.mean()), tuple(positions.mean(axis=0).tolist()))


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
    weights = np.ones(graph.edge_count) if graph.prior is None else np.array([float(p) for p in graph.prior])
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


def _neighbours(language: RunLanguage, word: Codes, adjacency: int) -> tuple[float, NDArray[np.float64]]:
    """How many words differ from `word` in 1 … adjacency positions, and how many of them at each position.

    Forward and backward counts by errors, meeting at an edge that differs.
    """
    graph, length = language.graph, language.length
    source = np.repeat(np.arange(graph.state_count), np.diff(graph.first))
    back = [np.zeros((graph.state_count, adjacency + 1))]
    back[0][graph.accepting, 0] = 1.0
    for own in word[::-1]:
        values = back[-1][graph.target]
        differs = graph.symbol != own
        values[differs, 1:] = values[differs, :-1]
        values[differs, 0] = 0.0
        back.append(graph.sum_over_edges(values))
    back.reverse()
    forward = np.zeros((graph.state_count, adjacency + 1))
    forward[graph.start, 0] = 1.0
    by_position = np.zeros(length)
    total = 0.0
    for position, own in enumerate(word):
        differs = graph.symbol != own
        fixed = position == 0 and language.public_start
        if not fixed:
            for before in range(adjacency):
                after = back[position + 1][graph.target[differs], : adjacency - before].sum(axis=1)
                by_position[position] += float(forward[source[differs], before] @ after)
        following = np.zeros_like(forward)
        np.add.at(following, graph.target[~differs], forward[source[~differs]])
        if not fixed:
            np.add.at(following[:, 1:], graph.target[differs], forward[source[differs], :-1])
        forward = following
    total = float(forward[graph.accepting, 1:].sum())
    return total, by_position
