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
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from symveil.calibration.answers import Rates
from symveil.calibration.block_bounds import ChainSearch, chain_loss, chain_search
from symveil.calibration.certificate import CertifiedRate, ProvedLoss
from symveil.calibration.enumeration import Enumeration, enumeration
from symveil.calibration.search import EXACT_EVALUATIONS, EXACT_TOLERANCE, largest_rate
from symveil.calibration.weighting import Weighting, covering_length
from symveil.calibration.windows import WindowSearch, window_loss, window_search
from symveil.languages.costs import hamming
from symveil.languages.run_weights import RunWeights
from symveil.languages.runs import RunLanguage, endless
from symveil.laws.guarantee import How
from symveil.numbers.once import LastFew, computed_once
from symveil.numbers.progress import Progress, named, silent

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
            most = decay * graph.sum_over(reached) + excess * graph.sum_over(reached, np.maximum)
            unmatched = decay * weight * blank[graph.target]
            all_unmatched = graph.sum_over(unmatched)
            # the other edges' weight is positive: what cancels is rounded down, to 0 at worst
            others = np.maximum(all_unmatched[graph.source] * (1 - 1e-9) - unmatched, 0.0)
            own = weight * least[graph.target] + others
            own[~language.alive[left - 1][graph.target]] = np.inf
            least = graph.sum_over(own, np.minimum, np.inf)
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


_TOLERANCE, _EVALUATIONS = Fraction(1, 2000), 8
_SHORTEST_SHARED = 16  # symbols: a proof for so many serves all shorter words
_MOST_PROVED = 64  # rates, of each language


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

    Answers are cached (`answers`); what comes from the disk is proved once more before it is used: one evaluation
    instead of a search.

    >>> from symveil.models.markov_chain import MarkovChain
    >>> from symveil.languages.runs import runs
    >>> chain = MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> found = certified_rate(runs(chain, length=6), epsilon=Fraction(2), adjacency=1)
    >>> round(float(found.rate), 3), round(float(found.loss), 3), found.how
    (1.782, 2.0, 'exact')
    """
    proof = quick_proof(_by_hamming(language, adjacency, with_prior)).shared
    result = _answers.best(
        (proof.weighting.digest, str(epsilon)),
        least=epsilon / (2 * max(1, proof.weighting.farthest)),
        most=epsilon,
        search=lambda: _searched(proof, epsilon, progress or silent),
        prove=lambda rate, _: _proved(proof, rate, epsilon, progress or silent),
        claimed=claimed,
        on_disk=proof.words is None,
        written=lambda answer: {"rate": str(answer.rate)},  # the classic one too, or it would be searched for again
    )
    return _classic(proof, epsilon) if result is None else result


def certified_loss(
    language: RunLanguage, *, rate: Fraction, adjacency: int, with_prior: bool = False
) -> tuple[Fraction, How]:
    """A proved bound on the loss at a given rate, and how it is known."""
    proved = quick_proof(_by_hamming(language, adjacency, with_prior)).loss(rate)
    return proved.loss, proved.how


class QuickProof:
    """What a rate of exponential weights by Hamming distance is proved by in seconds, for one language."""

    def __init__(self, weighting: Weighting) -> None:
        self.weighting = weighting
        self._proved: LastFew[Fraction, ProvedLoss] = LastFew(_MOST_PROVED)

    @computed_once
    def words(self) -> Enumeration | None:
        """Every word, where they are few and floats can hold their prior."""
        every = enumeration(self.weighting)
        return None if every is None or every.loss(Fraction(1)) is None else every

    @computed_once
    def windows(self) -> WindowSearch | None:
        """Windows, where they are affordable and, for a chain, wide enough to beat blocks."""
        weighting = self.weighting
        search = window_search(weighting.language, adjacency=weighting.adjacency, with_prior=weighting.with_prior)
        narrow = search is not None and search.width <= weighting.farthest
        return None if narrow and weighting.language.graph.state_is_symbol else search

    @computed_once
    def blocks(self) -> ChainSearch | None:
        """Boxes and blocks, where the language is that of a chain and they are affordable."""
        weighting = self.weighting
        return chain_search(weighting.language, adjacency=weighting.adjacency, with_prior=weighting.with_prior)

    def loss(self, rate: Fraction) -> ProvedLoss:
        """The smallest bound there is."""
        return self._proved.of(rate, lambda: self._loss(rate))

    def _loss(self, rate: Fraction) -> ProvedLoss:
        weighting = self.weighting
        classic = 2 * weighting.farthest * rate
        if classic == 0:
            return ProvedLoss(classic, "exact")
        exactly = None if self.words is None else self.words.loss(rate)
        if exactly is not None:
            return ProvedLoss(min(exactly.loss, classic), "exact")
        bounds = [classic]
        alone = weighting.with_shorter  # the others speak of one length only
        spread = math.inf if alone else spread_bound(weighting.language, rate=rate, with_prior=weighting.with_prior)
        if spread < math.inf:
            bounds.append(weighting.farthest * rate + Fraction(spread))
        if not alone and self.windows is not None:
            bounds.append(window_loss(self.windows, rate))
        if self.blocks is not None:
            bounds.append(chain_loss(self.blocks, rate, weighting.adjacency))
        best = min(bounds)
        return ProvedLoss(best, "certified" if best < classic else "classic")

    @property
    def shared(self) -> QuickProof:
        """The proof of a rounder, larger length, where it serves all shorter words as well.

        Boxes are hulls over all positions and blocks are looked at between any two of them, so what
        blocks prove for words of one length holds for every shorter one, as long as a block cannot be
        the whole word and no state is a dead end (else shorter words could begin where longer ones cannot).
        A file with trips of forty lengths then needs a handful of certificates.
        """
        language = self.weighting.language
        if self.words is not None or self.blocks is None or self.windows is not None:
            return self
        if language.length <= self.weighting.adjacency + 1 or not endless(language.graph).all():
            return self
        longer = replace(language, length=covering_length(max(language.length, _SHORTEST_SHARED)))
        proof = quick_proof(replace(self.weighting, language=longer, cost=hamming(longer), with_shorter=True))
        return self if proof.blocks is None else proof


def quick_proof(weighting: Weighting) -> QuickProof:
    """The proof of a weighting, with all that was already prepared for it."""
    return _prepared.of(weighting.digest, lambda: QuickProof(weighting))


def _by_hamming(language: RunLanguage, adjacency: int, with_prior: bool) -> Weighting:
    return Weighting(language=language, cost=hamming(language), adjacency=max(adjacency, 1), with_prior=with_prior)


_prepared: LastFew[str, QuickProof] = LastFew(8)
_answers = Rates(512)


def _searched(proof: QuickProof, epsilon: Fraction, progress: Progress) -> CertifiedRate:
    farthest = max(1, proof.weighting.farthest)
    tried = 0
    exact = proof.words is not None
    evaluations = EXACT_EVALUATIONS if exact else _EVALUATIONS

    named(progress, "calibrating: the first rate")(0, evaluations)  # which may take as long as all others

    def loss_at(rate: Fraction) -> Fraction:
        nonlocal tried
        loss, tried = proof.loss(rate).loss, tried + 1
        what = f"calibrating: rate {float(rate):.4g} loses {float(loss):.4g} of {float(epsilon):.4g}"
        named(progress, what)(min(tried, evaluations), evaluations)
        return loss

    result = largest_rate(
        loss_at,
        epsilon=epsilon,
        safe=epsilon / (2 * farthest),
        slope=farthest,
        limit=epsilon,
        tolerance=EXACT_TOLERANCE if exact else _TOLERANCE,
        evaluations=evaluations,
    )
    return _classic(proof, epsilon) if result is None else _certificate(proof, result.rate)


def _certificate(proof: QuickProof, rate: Fraction) -> CertifiedRate:
    proved = proof.loss(rate)
    bound = max(0.0, float(proved.loss - proof.weighting.farthest * rate))
    return CertifiedRate(rate, proved.loss, proved.how, bound)


def _classic(proof: QuickProof, epsilon: Fraction) -> CertifiedRate:
    """The rate that needs no proof, with what is proved of it."""
    return _certificate(proof, epsilon / (2 * max(1, proof.weighting.farthest)))


def _proved(proof: QuickProof, rate: Fraction, epsilon: Fraction, progress: Progress) -> CertifiedRate | None:
    """A rate with the loss that is proved for it here and now; None where it loses too much."""
    named(progress, f"proving a cached rate: {float(rate):.4g}")(0, 1)
    return _certificate(proof, rate) if proof.loss(rate).loss <= epsilon else None
