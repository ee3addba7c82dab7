"""The largest rate whose proved loss stays within the budget (docs/theory/certificates.md).

For P(w'|w) = T(w')·z^{d(w,w')}/Z(w), z = e^{−η}, the loss of two words is exactly
η·d(w,v) + ln Z(v)/Z(w). How it is known, by what the language allows:

* at most 10⁴ words: every pair is compared (`enumeration`): exact;
* a Markov chain of up to 2500 states: boxes and blocks (`block_bounds`): certified. Block lengths
  with too many pairs of paths (dense graphs, large b) get a looser bound, or the classic one;
* small systems of any kind: windows (`windows`): certified;
* anything: the largest Z over the smallest (`spread_bound`), useful at large rates only;
* always: the classic 2bη. Each answer is the smallest of those that apply.

On a chain of 100,000 states the boxes would take 1.3 TB and an hour per rate, so such graphs get the
last two at once.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from symveil.calibration.answers import Entry, remembered
from symveil.calibration.block_bounds import chain_boxes, loss_by_boxes
from symveil.calibration.enumeration import is_enumerable, loss_by_enumeration
from symveil.calibration.limits import LIMITS
from symveil.calibration.rates import CertifiedSearch
from symveil.calibration.search import (
    ANY,
    EXACT_EVALUATIONS,
    EXACT_TOLERANCE,
    CertifiedRate,
    FalsePosition,
    ProofEffort,
    ProvedLoss,
)
from symveil.calibration.weighting import Weighting
from symveil.calibration.windows import loss_by_windows, wide_windows
from symveil.languages.run_weights import RunWeights
from symveil.languages.runs import RunLanguage
from symveil.numbers.progress import Progress, named

_SMALLEST, _LARGEST = 2.0**-600, 2.0**600


def spread_bound(language: RunLanguage, *, rate: Fraction, with_prior: bool) -> float:
    """A bound on ln Z(v)/Z(w) over all pairs of words, adjacent or not; infinite where floats give none.

    With k symbols left, the weight of everything that can follow is at most V_k(y) and, in the word's own state t, at
    least W_k(t):

        V_k(y) = z·Σ T V_{k−1}(y') + (1−z)·max T V_{k−1}(y')          one symbol at most matches,
        W_k(t) = min over the word's next edge t → t' of T W_{k−1}(t') + z·Σ_{others} T B_{k−1}(y'),
        B_k(y) = z·Σ T B_{k−1}(y')                                      nothing matches.

    The bound does not ask how far w and v are apart, so it grows with the length of the words; it wins over the classic
    ηd where η is large. One pass over the edges per symbol.
    """
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


def loss_by_spread(weighting: Weighting, rate: Fraction, _: ProofEffort = ANY) -> ProvedLoss | None:
    """The loss at a rate of exponential weights by Hamming distance, for words of one length; None without a bound."""
    if weighting.with_shorter:
        return None
    bound = spread_bound(weighting.language, rate=rate, with_prior=weighting.with_prior)
    return ProvedLoss(weighting.farthest * rate + Fraction(bound), "certified") if bound < math.inf else None


_TOLERANCE, _EVALUATIONS = Fraction(1, 2000), 8
_MOST_PROVED = 512  # rates of all languages


def quick_rate(
    weighting: Weighting,
    *,
    epsilon: Fraction,
    progress: Progress | None = None,
    claimed: Fraction | None = None,
) -> CertifiedRate:
    """The largest rate found whose proved loss is at most `epsilon`; never below the classic ε/2b.

    The weights are exponential by Hamming distance, without a balance. A claimed rate is proved in one evaluation; the
    classic rate is the answer where it loses more.

    >>> import symveil as sv
    >>> from symveil.languages.costs import hamming
    >>> chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> words = sv.runs(chain, length=6)
    >>> found = quick_rate(Weighting(language=words, cost=hamming(words), adjacency=1), epsilon=Fraction(2))
    >>> round(float(found.rate), 3), round(float(found.loss), 3), found.how
    (1.782, 2.0, 'exact')
    """
    search = _QuickSearch(shared(weighting), epsilon, progress)
    return search.answer(claimed) or search.of_classic()


@remembered(_MOST_PROVED)
def quick_loss(weighting: Weighting, rate: Fraction) -> ProvedLoss:
    """What a rate of exponential weights by Hamming distance loses: the smallest bound that is proved in seconds."""
    classic = ProvedLoss(2 * weighting.farthest * rate, "classic")
    if classic.loss == 0:
        return replace(classic, how="exact")
    exactly = loss_by_enumeration(weighting, rate)
    if exactly is not None:
        return ProvedLoss(min(exactly.loss, classic.loss), "exact")
    known = [prover(weighting, rate) for prover in (loss_by_spread, loss_by_windows, loss_by_boxes)]
    return min([classic, *(each for each in known if each is not None)], key=lambda each: each.loss)


def is_listed(weighting: Weighting) -> bool:
    """Whether words are few, and floats can hold their prior: then every pair is compared."""
    return is_enumerable(weighting) and quick_loss(weighting, Fraction(1)).how == "exact"


def shared(weighting: Weighting) -> Weighting:
    """The same weights on words of a rounder, larger length, where a proof for those serves all shorter words as well.

    Boxes are hulls over all positions and blocks are looked at between any two of them, so what
    blocks prove for words of one length holds for every shorter one, as long as a block cannot be
    the whole word and no state is a dead end (else shorter words could begin where longer ones cannot).
    A file with trips of forty lengths then needs a handful of certificates.
    """
    language = weighting.language
    if is_listed(weighting) or language.length <= weighting.adjacency + 1:
        return weighting
    if chain_boxes(weighting) is None or wide_windows(weighting) is not None:
        return weighting
    covering = weighting.on_longer(at_least=LIMITS.now.shared_length)
    return weighting if chain_boxes(covering) is None else covering


class _QuickSearch(FalsePosition[ProvedLoss], CertifiedSearch):
    prover = "bounds"

    def __init__(self, weighting: Weighting, epsilon: Fraction, progress: Progress | None) -> None:
        super().__init__(weighting, epsilon, progress)
        self.limit = self.most = epsilon
        self.slope = max(1, weighting.farthest)
        self.takes_long = not is_listed(weighting)
        self.tolerance = _TOLERANCE if self.takes_long else EXACT_TOLERANCE
        self.evaluations = _EVALUATIONS if self.takes_long else EXACT_EVALUATIONS

    def begin(self) -> None:
        named(self.progress, "calibrating: the first rate")(0, self.evaluations)  # it may take as long as all others

    def proved(self, rate: Fraction) -> ProvedLoss:
        return quick_loss(self.weighting, rate)

    def learn(self, rate: Fraction, proof: ProvedLoss) -> None:
        super().learn(rate, proof)
        what = f"calibrating: rate {float(rate):.4g} loses {float(proof.loss):.4g} of {float(self.epsilon):.4g}"
        named(self.progress, what)(len(self.tried), self.evaluations)

    def of_classic(self) -> CertifiedRate:
        """It may lose less than ε, too."""
        return self.certificate(self.classic, self.proved(self.classic))

    def certificate(self, rate: Fraction, proof: ProvedLoss) -> CertifiedRate:
        """Without a pair of words: none was looked for."""
        return CertifiedRate(
            rate, proof.loss, proof.how, max(0.0, float(proof.loss - self.slope * rate)), proof=self.prover
        )

    def proved_anew(self, rate: Fraction, entry: Entry) -> CertifiedRate | None:
        """As for the others; with a word of what takes the time."""
        named(self.progress, f"proving a cached rate: {float(rate):.4g}")(0, 1)
        return super().proved_anew(rate, entry)

    def written(self, answer: CertifiedRate) -> Entry:
        """The classic rate too, or it would be searched for again."""
        return {"rate": str(answer.rate)}
