"""The largest rate of a weighting that a prover proves: what all searches share, and their answers.

See docs/theory/certificates.md, *Refinement*. Pairs of words that were found say how much can be left: at some rate one
of them loses the whole budget, and no proof reaches farther. Answers are kept in memory and on disk (`answers`); what
comes from the disk is proved once more before it is used: one evaluation instead of a search.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from symveil.calibration.answers import Answers, Entry, proposed_rate, question_digest
from symveil.calibration.costs.pairs import Pair, pair_losses, rate_ruled_out
from symveil.calibration.search import CertifiedRate, ProofEffort, ProvedLoss, RateSearch
from symveil.calibration.weighting import Weighting
from symveil.numbers.progress import Progress, silent

_MOST_ANSWERS = 512  # of all languages
_FAR_ABOVE = 1000

Prover = Callable[[Weighting, Fraction, ProofEffort], ProvedLoss | None]
"""What a weighting loses at a rate, proved with some effort; None where the prover does not apply."""

_answers: Answers[CertifiedRate] = Answers(_MOST_ANSWERS)


class CertifiedSearch(RateSearch[ProvedLoss]):
    """The search of one prover for the largest rate of a weighting."""

    prover = ""
    """Its name, in the digest of the question and in the answer (`CertifiedRate.proof`)."""
    takes_long = True
    """Whether answers are kept on disk too."""

    def __init__(self, weighting: Weighting, epsilon: Fraction, progress: Progress | None = None) -> None:
        drops = weighting.drops or 1
        super().__init__(epsilon=epsilon, classic=epsilon / (2 * drops), limit=epsilon / drops)
        self.weighting = weighting
        self.most = epsilon * _FAR_ABOVE
        """No search ends above it."""
        self.pairs: list[Pair] = []
        self.progress: Progress = progress or silent
        self.expected = 1
        """So many rates are tried, about: one, unless a search begins."""
        self._reported = 0
        self._last_limit: tuple[Fraction, list[Pair], Fraction] | None = None  # from these pairs

    @property
    def completed(self) -> int:
        """How many rates were tried so far."""
        return len(self.tried)

    def report(self, share: float) -> None:
        """Progress that never falls, of the rate that is tried now and of all that are expected."""
        done = min(self.completed, self.expected - 1) + share
        self._reported = max(self._reported, int(1000 * done))
        self.progress(self._reported, 1000 * self.expected)

    # --- what pairs of words say -------------------------------------------------------------------

    @property
    def highest(self) -> Fraction:
        """The smallest rate that was not proved, or is ruled out."""
        return self.ruled_out() if self.failed is None else min(self.ruled_out(), self.failed[0])

    def ruled_out(self) -> Fraction:
        """A rate at which a known pair loses ε, to four digits; the limit where no pair does below it."""
        if self._last_limit is not None:  # asked for at every step, and it takes some losses
            limit, pairs, result = self._last_limit
            if limit == self.limit and [*map(id, pairs)] == [*map(id, self.pairs)]:
                return result
        result = rate_ruled_out(self.weighting, self.epsilon, self.pairs, self.limit)
        self._last_limit = (self.limit, [*self.pairs], result)
        return result

    def losses_at(self, rate: Fraction) -> list[float]:
        """What each known pair loses at a rate, in floats."""
        if not self.pairs:
            return []
        words, others = (np.stack(each) for each in zip(*self.pairs, strict=True))
        return [float(loss) for loss in pair_losses(self.weighting, rate, words, others)]

    def rules_out(self, rate: Fraction) -> bool:
        """Whether a known pair loses more than the budget at a rate."""
        return max(self.losses_at(rate), default=0.0) > self.epsilon

    # --- answers ---------------------------------------------------------------------------------

    def answer(self, claimed: Fraction | None = None) -> CertifiedRate | None:
        """The largest rate that is proved; or a claimed one, proved in one evaluation, None where it loses more."""
        if claimed is not None:
            return self.proved_anew(claimed, {}) if self.classic <= claimed <= self.most else None

        def anew(entry: Entry) -> CertifiedRate | None:
            rate = proposed_rate(entry, self.classic, self.most)
            return None if rate is None else self.proved_anew(rate, entry)

        key = question_digest(*self.question)
        if not self.takes_long:
            return _answers.of(key, self.searched)
        return _answers.of(key, self.searched, prove=anew, written=self.written)

    @property
    def question(self) -> tuple[object, ...]:
        """All that the answer depends on, of public things only."""
        return (self.prover, self.weighting.digest, str(self.epsilon))

    def searched(self) -> CertifiedRate:
        """The answer of a search."""
        best = self.run()
        return self.of_classic() if best is None else self.certificate(*best)

    def of_classic(self) -> CertifiedRate:
        """What is known of the classic rate, where none above it is proved."""
        return self.weighting.classic(self.epsilon)

    def proved_anew(self, rate: Fraction, entry: Entry) -> CertifiedRate | None:  # noqa: ARG002 - some need it
        """A rate with the loss that is proved for it here and now; None where it loses too much.

        `entry` is what was written of it, if anything was.
        """
        result = self.proved(rate)
        if result.loss > self.epsilon:
            return None
        self.pairs += result.pairs
        return self.certificate(rate, result)

    def written(self, answer: CertifiedRate) -> Entry | None:
        """What is kept of an answer, enough to prove it once more; not the classic rate, which needs no proof."""
        return None if answer.how == "classic" else {"rate": str(answer.rate)}

    def certificate(self, rate: Fraction, proof: ProvedLoss) -> CertifiedRate:
        """What is proved of a rate, with the worst of the known pairs."""
        losses = self.losses_at(rate)
        worst = max(range(len(losses)), key=lambda k: losses[k]) if losses else None
        return CertifiedRate(
            rate=rate,
            loss=proof.loss,
            how=proof.how,
            ratio_bound=max(0.0, float(proof.loss - self.weighting.drops * rate)),
            worst_found=proof.worst_found if worst is None else max(losses[worst], proof.worst_found),
            ruled_out=float(self.ruled_out()),
            worst_pair=None if worst is None else self.pairs[worst],
            proof=self.prover,
        )


class ComparingSearch(CertifiedSearch):
    """The search of a prover that compares words: a few rates are tried to the end.

    Others end at the first pair that loses too much, which leads to worse ones, and they say which rate to try next.
    """

    evaluations = 5
    """Rates that are tried to the end."""
    most_stops = 1
    """Rates that a pair rules out before all words are compared."""

    def begin(self) -> None:
        """So many rates are tried, if a pair rules out none."""
        self.expected = self.evaluations

    @property
    def completed(self) -> int:
        """How many rates were tried to the end so far: one that a pair rules out is tried in the time of the next."""
        return sum(proof.reached == math.inf for _, proof in self.tried)

    @property
    def may_stop(self) -> bool:
        """Whether the first pair that loses too much ends the next comparison."""
        return len(self.tried) - self.completed < self.most_stops
