"""Where a search for a rate stands: what is proved, what could not be proved, and what pairs of words rule out.

See docs/theory/certificates.md, *Refinement*. Nothing is assumed about how the loss depends on the rate. Pairs of words
say how much can be left: their losses are computed at other rates in floats, and the smallest rate at which one of them
exceeds ε is a limit for any proof.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from symveil.calibration.certificate import CertifiedRate, ProvedLoss
from symveil.calibration.costs.pairs import Pair, pair_losses, rate_ruled_out
from symveil.calibration.weighting import Weighting


class Bracket:
    """The rates between which the largest one lies that keeps a budget, as far as it is known.

    Parameters
    ----------
    weighting
        The language with its costs, prior and adjacency.
    epsilon
        The budget.
    """

    def __init__(self, weighting: Weighting, epsilon: Fraction) -> None:
        self.weighting, self.epsilon = weighting, epsilon
        self.classic = epsilon / (2 * weighting.drops)
        self.limit = epsilon / weighting.drops
        """No rate above it is of use: some adjacent words differ by that much, unless they are found not to."""
        self.pairs: list[Pair] = []
        self.best: tuple[Fraction, ProvedLoss] | None = None
        self.failed: Fraction | None = None
        self._last_limit: tuple[Fraction, list[Pair], Fraction] | None = None  # from these pairs

    def succeed(self, rate: Fraction, proved: ProvedLoss) -> None:
        """Remember what is proved of a rate that keeps the budget, if it is the largest one."""
        if self.best is None or rate >= self.best[0]:
            self.best = (rate, proved)

    def fail(self, rate: Fraction) -> None:
        """Remember a rate that was not proved to keep the budget."""
        self.failed = rate if self.failed is None else min(self.failed, rate)

    @property
    def lowest(self) -> Fraction:
        """The largest rate that is proved."""
        return self.classic if self.best is None else self.best[0]

    @property
    def highest(self) -> Fraction:
        """The smallest rate that was not proved, or is ruled out."""
        return self.ruled_out() if self.failed is None else min(self.ruled_out(), self.failed)

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

    def certificate(self, rate: Fraction, proved: ProvedLoss) -> CertifiedRate:
        """What is proved of a rate, with the worst of the known pairs."""
        losses = self.losses_at(rate)
        worst = max(range(len(losses)), key=lambda k: losses[k]) if losses else None
        return CertifiedRate(
            rate=rate,
            loss=proved.loss,
            how=proved.how,
            ratio_bound=max(0.0, float(proved.loss - self.weighting.drops * rate)),
            worst_found=proved.worst_found if worst is None else max(losses[worst], proved.worst_found),
            ruled_out=float(self.ruled_out()),
            worst_pair=None if worst is None else self.pairs[worst],
        )
