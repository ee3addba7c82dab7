"""What adjacency protects on a model: how many feasible words lie near a typical one (docs/models.md).

Adjacency compares feasible words only. On a road network two trips can hardly differ in one link, so
b = 1 promises little there; b should cover the detours one wants to hide. The average is over words
of the public model, drawn from a fixed seed: it says nothing about any secret word.

How many words of a model lie near given words, and at which positions they differ: passes over the model's graph.

All given words are looked at together. Each pass goes once over positions and edges, forwards and backwards, and meets
at an edge that reads another symbol than the word has there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ParameterError
from symveil.languages.language import Language, require_language
from symveil.languages.open import OpenRuns
from symveil.languages.run_draws import draw_rows
from symveil.languages.run_weights import RunWeights
from symveil.languages.runs import RunLanguage
from symveil.laws.limits import LIMITS
from symveil.laws.parameters import Adjacency, read_adjacency
from symveil.models.alphabet import Codes
from symveil.numbers.rationals import percent
from symveil.randomness import NotPrivateSeededBits
from symveil.trellis.passes import Trellis, backward, drawn_paths, scaled_backward, scaled_forward, through_edges
from symveil.trellis.semirings import FLOATS, LENGTHS, NEVER, ByDistance, Numbers

MOST_WORDS = 1e300
"""Numbers of words are not counted beyond this: they are at least that many."""
_EXACT = 1e9
"""Numbers of words below it are whole in spite of rounding."""


@dataclass(frozen=True, slots=True)
class NearWords:
    """The words near each of some words of a language.

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
        results = np.full(self.words.shape, NEVER, dtype=np.int64)
        for rows in self._blocks(1):
            paths, start = self._paths(self.words[rows], LENGTHS)
            for position, lengths in enumerate(through_edges(paths, start)):
                elsewhere = np.where(self._differs(self.words[rows], position), lengths, NEVER)
                results[rows, position] = elsewhere.min(axis=0, initial=NEVER)
        return results

    def counts(self, reach: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How many words lie within 0 … reach of each word, itself not counted, and how many of them differ where.

        The first result is by word and distance, the second by word, position and distance.
        """
        totals = np.zeros((len(self.words), reach + 1))
        at = np.zeros((*self.words.shape, reach + 1))
        for rows in self._blocks(reach + 1):
            words = self.words[rows]
            paths, start = self._paths(words, ByDistance(replace(FLOATS, most=MOST_WORDS), reach))
            behind = backward(paths)
            whole = behind[0][self.language.graph.start]
            totals[rows, 1 : whole.shape[-1]] = whole[:, 1:]
            for position, near in enumerate(through_edges(paths, start, behind)):
                at[rows, position, : near.shape[-1]] = np.einsum("ew,ewd->wd", self._differs(words, position), near)
        return (
            np.minimum(np.cumsum(totals, axis=1), MOST_WORDS),
            np.minimum(np.cumsum(at, axis=2), MOST_WORDS),
        )

    def counts_of_all(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The same for all words of the language, however far: how many others there are, and how many differ where."""
        graph, length = self.language.graph, self.language.length
        plain = Trellis(edges=graph, length=length, semiring=FLOATS, final=FLOATS.ends(graph.accepting))
        behind, sizes = scaled_backward(plain, None)
        others, at = np.zeros(len(self.words)), np.zeros(self.words.shape)
        for rows in self._blocks(1):
            words = self.words[rows]
            paths, start = self._paths(words, FLOATS)
            for position, (before, size) in zip(range(length), scaled_forward(paths, start, 0), strict=False):
                after = paths.along(position, before) * behind[position + 1][graph.target][:, None]
                all_of_them = np.maximum(after.sum(axis=0), np.finfo(np.float64).tiny)
                grown = size + sizes[position + 1]
                at[rows, position] = _grown((after * self._differs(words, position)).sum(axis=0), grown)
                others[rows] = np.maximum(_grown(all_of_them, grown) - 1.0, 0.0)
        return others, at

    def _differs(self, words: Codes, position: int) -> NDArray[np.bool_]:
        """Whether each edge reads another symbol than each word has."""
        return np.asarray(self.language.graph.symbol[:, None] != words[:, position])

    def _paths(self, words: Codes, semiring: Numbers | ByDistance) -> tuple[Trellis, NDArray[Any]]:
        """The words of the language around each of some words, a lane for each, and where they begin.

        A step costs 1, and counts, where it reads another symbol than the word has; it is impossible where that is
        public. In plain floats it is worth 1.
        """
        graph = self.language.graph
        numbers = semiring.numbers if isinstance(semiring, ByDistance) else semiring

        def worth(position: int) -> Any:
            differs = self._differs(words, position)
            only_own = numbers.ends(~differs) if position == 0 and self.language.public_start else None
            if isinstance(semiring, ByDistance):
                return differs, only_own
            return differs.astype(np.int32) if semiring is LENGTHS and only_own is None else only_own

        is_start = np.arange(graph.state_count) == graph.start
        ends, begins = (np.repeat(each[:, None], len(words), axis=1) for each in (graph.accepting, is_start))
        paths = Trellis(
            edges=graph, length=self.language.length, semiring=semiring, final=semiring.ends(ends), worth=worth
        )
        return paths, semiring.ends(begins)

    def _blocks(self, levels: int) -> Iterator[slice]:
        """As many words at a time as fit."""
        graph = self.language.graph
        held = max((self.language.length + 1) * graph.state_count, graph.edge_count, 1) * levels
        size = max(LIMITS.now.counted_numbers // held, 1)
        for begin in range(0, len(self.words), size):
            yield slice(begin, min(begin + size, len(self.words)))


def _grown(shares: NDArray[np.float64], logarithm: NDArray[np.float64]) -> NDArray[np.float64]:
    """shares · e^logarithm, at most `MOST_WORDS`."""
    with np.errstate(divide="ignore"):
        size = np.log(shares) + logarithm
    words = np.exp(np.minimum(size, np.log(MOST_WORDS)))
    return np.where(words < _EXACT, np.rint(words), words)


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
        where = "" if share is None else f"; {percent(share)} of its positions have an alternative"
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
    near = NearWords(language, typical_words(language, LIMITS.now.sampled_words))
    if adjacency < language.largest_distance:
        totals, positions = (counts[..., adjacency] for counts in near.counts(adjacency))
    else:
        totals, positions = near.counts_of_all()
    share = float((near.least_distances() <= adjacency).mean()) if language.length else 1.0
    return Protection(float(totals.mean()), tuple(positions.mean(axis=0).tolist()), share)


@lru_cache(maxsize=16)
def _by_edits(language: OpenRuns, adjacency: int) -> Protection:
    bits = NotPrivateSeededBits(_SEED)
    within = min(adjacency, LIMITS.now.counted_edits, max(language.max_length, 1))
    total = sum(
        sum(language.around(language.uniform(bits), within=within).counts()) - 1
        for _ in range(LIMITS.now.fewer_sampled_words)
    )
    return Protection(total / LIMITS.now.fewer_sampled_words, ())


def typical_words(language: RunLanguage, count: int) -> Codes:
    """Words of the public model, from a fixed seed: by its probabilities, or uniform steps where it has none."""
    bits = NotPrivateSeededBits(_SEED)
    points = bits.fractions(count * language.length).reshape(count, language.length)
    graph = language.graph
    return graph.symbol[drawn_paths(graph, _step_weights(language), graph.start, points)]


def typical_shares(language: RunLanguage, words: Codes) -> NDArray[np.float64]:
    """How often `typical_words` draws each of some words.

    >>> import symveil as sv
    >>> language = sv.runs(sv.MarkovChain.from_transitions([("a", "a", "1/4"), ("a", "b", "3/4"), ("b", "a", 1)]), 2)
    >>> typical_shares(language, language.enumerate_codes(at_most=10)).tolist()              # aa ab ba
    [0.125, 0.375, 0.5]
    """
    graph, edges = language.graph, language.walk_edges(words)
    shares = np.ones(len(words))
    for position, weights in enumerate(_step_weights(language)):
        edge = edges[:, position]
        shares *= weights[edge] / graph.sum_over(weights)[graph.source[edge]]
    return shares


def _step_weights(language: RunLanguage) -> Iterator[NDArray[np.float64]]:
    """For each position how likely each edge is to be taken by a word that can still be completed.

    By the model's probabilities; all alike without them, and where all of a state are less likely than floats can say.
    """
    graph = language.graph
    own = np.ones(graph.edge_count) if graph.prior is None else np.array([float(p) for p in graph.prior])
    for position in range(language.length):
        useful = language.alive[language.length - position - 1][graph.target]
        weights = own * useful
        nothing = ~(graph.sum_over(weights) > 0)
        yield np.where(nothing[graph.source], useful, weights)


# --- public words: what mechanisms are compared by, drawn from fixed seeds; nothing secret is read ------

_SEED_OF_FEW, _SEED_OF_MANY = 11, 13


def public_words(language: RunLanguage, count: int, *, prior: str = "uniform") -> Codes:
    """`count` words of a model, always the same ones.

    A public start is drawn too. With prior "uniform" each word is as likely as any other; with "chain" as the Markov
    chain has it.

    >>> import symveil as sv
    >>> chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> words = public_words(sv.runs(chain, length=3), 4000)
    >>> np.unique(words, axis=0).shape                           # aaa aab aba baa bab
    (5, 3)
    """
    hidden = replace(language, public_start=False)
    # weights that do not depend on the word: what is drawn around any word has the law of the prior
    weights = RunWeights(language=hidden, rate=Fraction(0), with_prior=prior == "chain")
    around = np.repeat(any_word(language)[None, :], count, axis=0)
    return draw_rows(weights, around, NotPrivateSeededBits(_SEED_OF_FEW))


def uniform_words(language: RunLanguage, count: int) -> Codes:
    """`count` words of a model, each as likely as any other, always the same ones: many of them at once.

    Steps are chosen by the number of words that complete them, in floats: the chance of each step is right to ten
    digits. `public_words` is exact, and passes over the whole model for each word.

    A public start is drawn too.

    >>> import symveil as sv
    >>> chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> words = uniform_words(sv.runs(chain, length=3), 4000)
    >>> np.unique(words, axis=0, return_counts=True)[1].min() > 700          # of 800 each
    np.True_
    """
    graph, length = language.graph, language.length
    behind, _ = scaled_backward(
        Trellis(edges=graph, length=length, semiring=FLOATS, final=FLOATS.ends(graph.accepting)), None
    )
    bits = NotPrivateSeededBits(_SEED_OF_MANY)
    values = (layer[graph.target] for layer in behind[1:])
    return graph.symbol[drawn_paths(graph, values, graph.start, bits.fractions(count * length).reshape(count, length))]


def any_word(language: RunLanguage) -> Codes:
    """The first word of a language, by the order of codes.

    >>> import symveil as sv
    >>> chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> any_word(sv.runs(chain, length=3)).tolist()
    [0, 0, 0]
    """
    graph, state = language.graph, language.graph.start
    word = np.empty(language.length, dtype=np.int32)
    for position in range(language.length):
        alive = language.alive[language.length - position - 1]
        edge = next(edge for edge in graph.edges(state) if alive[graph.target[edge]])
        word[position], state = graph.symbol[edge], int(graph.target[edge])
    return word
