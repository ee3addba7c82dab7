"""The largest rate whose proved loss stays within the budget (docs/theory/certificates.md).

For P(w'|w) = T(w')·z^{d(w,w')}/Z(w), z = e^{−η}, the loss of two words is exactly
η·d(w,v) + ln Z(v)/Z(w). How it is known, by what the language allows:

* at most 10⁴ words: every pair is compared (`enumeration`): exact;
* a Markov chain of up to 2500 states: boxes and blocks (`block_bounds`): certified. Block lengths
  with too many pairs of paths (dense graphs, large b) get a looser bound, or the classic one;
* small systems of any kind: windows (`windows`): certified;
* anything: the largest Z over the smallest (`spread`), useful at large rates only;
* always: the classic 2bη. Each answer is the smallest of those that apply.

On a chain of 100,000 states the boxes would take 1.3 TB and an hour per rate, so such graphs get the
last two at once.

A cheap proved bound on ln Z(v)/Z(w) for any graph of any size: the largest Z over the smallest.

See docs/theory/certificates.md.
With k symbols left, the weight of everything that can follow is at most V_k(y) and, in the word's own
state t, at least W_k(t):

    V_k(y) = z·Σ T V_{k−1}(y') + (1−z)·max T V_{k−1}(y')          one symbol at most matches,
    W_k(t) = min over the word's next edge t → t' of T W_{k−1}(t') + z·Σ_{others} T B_{k−1}(y'),
    B_k(y) = z·Σ T B_{k−1}(y')                                      nothing matches.

The bound does not ask how far w and v are apart, so it grows with the length of the words; it wins
over the classic ηd where η is large. One pass over the edges per symbol.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from symveil.calibration import kept
from symveil.calibration.block_bounds import ChainSearch, chain_bounds, chain_search
from symveil.calibration.certificate import CertifiedRate
from symveil.calibration.enumeration import MOST_WORDS, Enumeration, enumeration
from symveil.calibration.search import SearchedRate, largest_rate, rounded_down
from symveil.calibration.weighting import Weighting, covering_length
from symveil.calibration.windows import WindowSearch, window_loss, window_search
from symveil.errors import ParameterError
from symveil.languages.costs import hamming
from symveil.languages.graph import WordGraph
from symveil.languages.run_weights import RunWeights
from symveil.languages.runs import RunLanguage, endless
from symveil.laws.guarantee import How
from symveil.numbers.once import computed_once
from symveil.numbers.progress import Progress, named, silent
from symveil.numbers.rationals import exact

Floats = NDArray[np.float64]

_SMALLEST, _LARGEST = 2.0**-600, 2.0**600


def spread_bound(language: RunLanguage, *, rate: Fraction, with_prior: bool) -> float:
    """A bound on ln Z(v)/Z(w) over all pairs of words, adjacent or not; infinite where floats give none."""
    weights = RunWeights(language=language, rate=rate, with_prior=with_prior)
    graph, decay, excess, weight = language.graph, weights.mismatch, weights.match_excess, weights.edge_weights
    most = graph.accepting.astype(np.float64)
    least, blank = most.copy(), most.copy()
    symbols = language.largest_distance
    for left in range(1, symbols + 1):
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            reached = weight * most[graph.target]
            most = decay * _per_state(graph, reached, np.add, 0.0) + excess * _per_state(
                graph, reached, np.maximum, 0.0
            )
            unmatched = decay * weight * blank[graph.target]
            all_unmatched = _per_state(graph, unmatched, np.add, 0.0)
            source = np.repeat(np.arange(graph.state_count), np.diff(graph.first))
            # the other edges' weight is positive: what cancels is rounded down, to 0 at worst
            others = np.maximum(all_unmatched[source] * (1 - 1e-9) - unmatched, 0.0)
            own = weight * least[graph.target] + others
            own[~language.alive[left - 1][graph.target]] = np.inf
            least = _per_state(graph, own, np.minimum, np.inf)
            least[np.isinf(least)] = 0.0
            blank = all_unmatched
        scale = math.frexp(float(most.max()))[1]
        most = np.ldexp(most, -scale)
        least, blank = np.ldexp(least, -scale), np.ldexp(blank, -scale)
    ratio = 1.0
    for state in language.secret_starts:
        if not (least[state] > _SMALLEST and most[state] < _LARGEST):
            return math.inf
        ratio = max(ratio, most[state] / least[state])
    rounded = (symbols + 1) * (graph.widest + 16) * 2.0**-50
    return math.log(ratio) * (1 + 2.0**-50) + 2 * rounded


def _per_state(graph: WordGraph, values: Floats, operation: np.ufunc, empty: float) -> Floats:
    """For each state the sum, the largest or the smallest of `values` (one per edge) over its edges."""
    result = np.full(graph.state_count, empty)
    filled = np.flatnonzero(np.diff(graph.first))
    result[filled] = operation.reduceat(
        values, graph.first[filled]
    )  # where words have a symbol, some state has an edge
    return result


_EXACT_TOLERANCE, _EXACT_EVALUATIONS = Fraction(1, 10**6), 40
_TOLERANCE, _EVALUATIONS = Fraction(1, 2000), 8
_SHORTEST_SHARED = 16  # symbols: a proof for so many serves all shorter words
MOST_BALANCED_WORDS = 5000
"""Up to so many words graceful rates are proved with a balance, which takes all pairs twice for each rate."""


def certified_rate(
    language: RunLanguage,
    *,
    epsilon: Fraction,
    adjacency: int,
    with_prior: bool = False,
    progress: Progress | None = None,
    claimed: Fraction | None = None,
) -> CertifiedRate:
    """The largest rate found whose proved loss is at most `epsilon`; never below the classic ε/2b.

    A rate that is `claimed` is proved in one evaluation instead; the classic rate is the answer where it loses more.

    Answers are kept in memory and, where they took long, on disk (`kept`). What comes from the disk is proved once
    more before it is used: one evaluation instead of a search.

    >>> from symveil.models.markov_chain import MarkovChain
    >>> from symveil.languages.runs import runs
    >>> chain = MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> found = certified_rate(runs(chain, length=6), epsilon=Fraction(2), adjacency=1)
    >>> round(float(found.rate), 3), round(float(found.loss), 3), found.how
    (1.782, 2.0, 'exact')
    """
    question = _shared(_question_about(language, adjacency, with_prior))
    if claimed is not None:
        return _searched(question, epsilon, progress or silent, claimed=claimed)
    return _answered(question, epsilon, progress or silent)


def certified_loss(
    language: RunLanguage, *, rate: Fraction, adjacency: int, with_prior: bool = False
) -> tuple[Fraction, How]:
    """A proved bound on the loss at a given rate, and how it is known."""
    return _proved(_question_about(language, adjacency, with_prior), rate)


def graceful_rate(
    language: RunLanguage,
    *,
    per_position: Fraction,
    adjacency: int,
    with_prior: bool = False,
    balanced: bool = False,
    claimed: Fraction | None = None,
) -> CertifiedRate | None:
    """A rate at which any two words lose at most `per_position` for every place in which they differ.

    None where the language has too many words to compare them all, or no rate above the classic one is proved. The loss
    may fall where the rate rises, so that each rate is proved itself (docs/theory/beyond-b.md).

    Parameters
    ----------
    language
        The feasible words, of one length.
    per_position
        ρ = ε/b.
    adjacency
        Up to which distance the loss is reported.
    with_prior
        Whether words are weighted by the model's probabilities.
    balanced
        Whether words are balanced, for each rate anew.
    claimed
        A rate to be proved, in one evaluation; None: the largest is searched for.
    """
    farthest = language.largest_distance
    if farthest == 0:
        return None
    weighting = Weighting(
        language=language, cost=hamming(language), adjacency=farthest, with_prior=with_prior, balanced=balanced
    )
    if not language.has_at_most(MOST_BALANCED_WORDS if balanced else MOST_WORDS):
        return None
    words = Enumeration(weighting)
    if not balanced and words.loss(Fraction(1)) is None:
        return None

    def losses_at(rate: Fraction, apart: int) -> dict[int, Fraction]:
        found = words.loss(rate, apart)
        if found is None:  # a prior that floats cannot hold: nothing above the classic bound is known
            return {each: 2 * rate * each for each in range(1, apart + 1)}
        return found.by_distance

    def per_position_at(rate: Fraction) -> Fraction:
        return max((loss / distance for distance, loss in losses_at(rate, farthest).items()), default=Fraction(0))

    result = largest_rate(
        per_position_at,
        epsilon=per_position,
        safe=per_position / 2,
        slope=1,
        limit=per_position,
        tolerance=_EXACT_TOLERANCE,
        evaluations=_EXACT_EVALUATIONS,
        claimed=claimed,
    )
    if result is None:
        return None
    loss = max(losses_at(result.rate, min(adjacency, farthest)).values(), default=Fraction(0))
    return _certified(SearchedRate(result.rate, loss), "exact", min(adjacency, farthest))


@dataclass(frozen=True)
class _Question:
    """A language and an adjacency; equal languages are the same question."""

    digest: str
    adjacency: int
    with_prior: bool
    language: RunLanguage = field(compare=False, repr=False)
    for_shorter_words_too: bool = False

    @computed_once
    def farthest(self) -> int:
        """No two adjacent words are farther apart than this."""
        return min(self.adjacency, self.language.largest_distance)

    @computed_once
    def words(self) -> Enumeration | None:
        """Every word, where they are few and floats can hold their prior."""
        language = self.language
        adjacency, cost = max(self.adjacency, 1), hamming(language)
        every = enumeration(Weighting(language=language, cost=cost, adjacency=adjacency, with_prior=self.with_prior))
        return None if every is None or every.loss(Fraction(1)) is None else every

    @computed_once
    def windows(self) -> WindowSearch | None:
        """Windows, where they are affordable and, for a chain, wide enough to beat blocks."""
        search = window_search(self.language, adjacency=self.adjacency, with_prior=self.with_prior)
        if search is not None and self.language.graph.state_is_symbol and search.width <= self.farthest:
            return None
        return search

    @computed_once
    def blocks(self) -> ChainSearch | None:
        """Boxes and blocks, where the language is that of a chain and they are affordable."""
        return chain_search(self.language, adjacency=self.adjacency, with_prior=self.with_prior)

    def loss(self, rate: Fraction) -> tuple[Fraction, How]:
        """The smallest bound there is."""
        classic = 2 * self.farthest * rate
        if classic == 0:
            return classic, "exact"
        exactly = None if self.words is None else self.words.loss(rate)
        if exactly is not None:
            return min(exactly.loss, classic), "exact"
        bounds = [classic]
        if self.for_shorter_words_too and self.blocks is not None:
            bound = chain_bounds(self.blocks, rate, self.adjacency).loss(rate, self.adjacency)
            return min(bound, classic), "certified" if bound < classic else "classic"
        spread = spread_bound(self.language, rate=rate, with_prior=self.with_prior)
        if spread < math.inf:
            bounds.append(self.farthest * rate + Fraction(spread))
        if self.windows is not None:
            bounds.append(window_loss(self.windows, rate))
        if self.blocks is not None:
            bounds.append(chain_bounds(self.blocks, rate, self.adjacency).loss(rate, self.adjacency))
        best = min(bounds)
        return best, "certified" if best < classic else "classic"


def _shared(question: _Question) -> _Question:
    """The same question for a rounder, larger length, where its answer serves all shorter words as well.

    Boxes are hulls over all positions and blocks are looked at between any two of them, so what
    blocks prove for words of one length holds for every shorter one, as long as a block cannot be
    the whole word and no state is a dead end (else shorter words could begin where longer ones cannot).
    A file with trips of forty lengths then needs a handful of certificates.
    """
    language = question.language
    # the other methods speak of one length only
    if question.words is not None or question.blocks is None or question.windows is not None:
        return question
    if language.length <= question.adjacency + 1:
        return question
    length = covering_length(max(language.length, _SHORTEST_SHARED))
    if not endless(language.graph).all():
        return question
    longer = RunLanguage(graph=language.graph, length=length, public_start=language.public_start)
    requested = _question_about(longer, question.adjacency, question.with_prior)
    return _known(replace(requested, for_shorter_words_too=True)) if requested.blocks is not None else question


def _question_about(language: RunLanguage, adjacency: int, with_prior: bool) -> _Question:
    """The question, with all that was already prepared for it."""
    return _known(_Question(kept.language_digest(language, with_prior=with_prior), adjacency, with_prior, language))


@lru_cache(maxsize=8)
def _known(question: _Question) -> _Question:
    return question


@lru_cache(maxsize=64)
def _proved(question: _Question, rate: Fraction) -> tuple[Fraction, How]:
    return question.loss(rate)


_answers: dict[str, CertifiedRate] = {}


def _answered(question: _Question, epsilon: Fraction, progress: Progress) -> CertifiedRate:
    served = "+" if question.for_shorter_words_too else ""
    key = kept.question_digest(
        question.digest + served, epsilon=epsilon, adjacency=question.adjacency, with_prior=question.with_prior
    )
    quick = question.words is not None  # such answers are not kept
    answer = _answers.get(key) or (None if quick else _proved_anew(kept.load(key), question, epsilon, progress))
    if answer is None:
        answer = _searched(question, epsilon, progress)
        if not quick:
            kept.keep(key, _written(answer))  # in the place of an entry that failed
    _answers[key] = answer
    for oldest in list(_answers)[:-512]:  # in one step each: other threads add and take out too
        _answers.pop(oldest, None)
    return answer


def _searched(
    question: _Question, epsilon: Fraction, progress: Progress, *, claimed: Fraction | None = None
) -> CertifiedRate:
    farthest = max(1, question.farthest)
    ways: dict[Fraction, How] = {}
    exact = question.words is not None
    evaluations = _EXACT_EVALUATIONS if exact else _EVALUATIONS

    named(progress, "calibrating: the first rate")(0, evaluations)  # which may take as long as all others

    def loss_at(rate: Fraction) -> Fraction:
        loss, ways[rate] = _proved(question, rate)
        what = f"calibrating: rate {float(rate):.4g} loses {float(loss):.4g} of {float(epsilon):.4g}"
        named(progress, what)(min(len(ways), evaluations), evaluations)
        return loss

    classic = epsilon / (2 * farthest)
    result = largest_rate(
        loss_at,
        epsilon=epsilon,
        safe=classic,
        slope=farthest,
        limit=epsilon,
        tolerance=_EXACT_TOLERANCE if exact else _TOLERANCE,
        evaluations=evaluations,
        claimed=claimed,
    )
    if result is None:
        result = SearchedRate(classic, min(epsilon, loss_at(classic)))
    return _certified(result, ways[result.rate], question.farthest)


def _certified(result: SearchedRate, how: How, farthest: int) -> CertifiedRate:
    bound = max(0.0, float(result.loss - farthest * result.rate))
    return CertifiedRate(result.rate, result.loss, how, bound)


def _written(answer: CertifiedRate) -> kept.Entry:
    return {"rate": str(answer.rate), "loss": str(answer.loss), "how": answer.how}


def _proved_anew(
    entry: kept.Entry | None, question: _Question, epsilon: Fraction, progress: Progress
) -> CertifiedRate | None:
    """A kept rate with the loss that is proved for it here and now; None where it is none, or loses too much.

    Of what was kept only the rate is taken, and that as a proposal: it must be one that the search could have
    ended with, and pass the search's own test, once.
    """
    try:
        rate = exact(entry["rate"]) if entry is not None else Fraction(0)
    except (KeyError, ParameterError):
        return None
    classic = epsilon / (2 * max(1, question.farthest))
    if not classic <= rate <= epsilon or rate not in (classic, rounded_down(rate)):
        return None
    named(progress, f"proving a kept rate: {float(rate):.4g}")(0, 1)
    loss, how = _proved(question, rate)
    return _certified(SearchedRate(rate, loss), how, question.farthest) if loss <= epsilon else None
