"""What adjacency protects on a model: how many feasible words lie near a typical one (docs/models.md).

Adjacency compares feasible words only. On a road network two trips can hardly differ in one link, so
b = 1 promises little there; b should cover the detours one wants to hide. The average is over words
of the public model, drawn from a fixed seed: it says nothing about any secret word.
"""

from __future__ import annotations

from collections.abc import Mapping
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
from symveil.laws.near_words import NearWords
from symveil.laws.parameters import Adjacency, read_adjacency
from symveil.models.word import Codes
from symveil.randomness import NotPrivateSeededBits

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
