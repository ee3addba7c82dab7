"""The largest rate found whose proved loss stays within the budget, and the rate that a found pair rules out.

See docs/theory/cost-certificates.md, *Rates*. Nothing is assumed about how the loss depends on the rate: the rate that is
returned was proved by itself. Pairs of words that were found on the way say how much can be left: their losses are
computed at other rates in floats, and the smallest rate at which one of them exceeds ε is a limit for any proof.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from symveil.models.word import Codes
from symveil.privacy.calibration.costs.loss import MOST_NODES, ProvedLoss, Setting, pair_loss, proved_loss
from symveil.privacy.calibration.search import rounded_down
from symveil.privacy.guarantee import How

_CLOSE = Fraction(1, 250)
_FARTHER = Fraction(3)  # how much farther away the next rate is tried when a proof fails
_EVALUATIONS = 12

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class CostRate:
    """A rate, the loss that is proved for it, the loss of the worst pair found, and the rate that pair rules out."""

    rate: Fraction
    loss: Fraction
    how: How
    worst_found: float
    ruled_out: Fraction
    worst_pair: tuple[Codes, Codes] | None = field(default=None, repr=False, compare=False)

    def document(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "rate": float(self.rate),
            "loss": float(self.loss),
            "how": self.how,
            "worst_found": self.worst_found,
            "ruled_out": float(self.ruled_out),
        }


def largest_cost_rate(
    setting: Setting,
    *,
    epsilon: Fraction,
    nodes: int = MOST_NODES,
    evaluations: int = _EVALUATIONS,
    progress: Progress | None = None,
) -> CostRate:
    """The largest rate found whose proved loss is at most `epsilon`; never below the classic one.

    Parameters
    ----------
    setting
        The language with its costs, prior and adjacency.
    epsilon
        The budget.
    nodes
        How many nodes of the search may be split for each kind of block at each rate.
    evaluations
        How many rates may be tried.
    progress
        Is told in a line how far the search is; may raise an exception to end it.

    >>> import symveil as sv
    >>> from symveil.languages.costs import hamming
    >>> rows = [(a, b, "1/2") for a in "ab" for b in "ab"]
    >>> words = sv.runs(sv.MarkovChain.from_transitions(rows), length=6)
    >>> found = largest_cost_rate(Setting(language=words, cost=hamming(words), adjacency=2), epsilon=Fraction(3))
    >>> round(float(found.rate), 4), found.how                                # ε/b, on Σⁿ
    (1.5, 'exact')
    """
    search = _RateSearch(setting, epsilon, nodes, progress or (lambda _: None))
    return search.run(evaluations)


class _RateSearch:
    def __init__(self, setting: Setting, epsilon: Fraction, nodes: int, progress: Progress) -> None:
        self._setting = setting
        self._epsilon = epsilon
        self._nodes = nodes
        self._progress = progress
        drops = setting.drops or Fraction(1)
        self._classic = epsilon / (2 * drops)
        self._limit = epsilon / drops  # no rate above it is of use: adjacent words differ by that much, or are found not to
        self._pairs: list[tuple[Codes, Codes]] = []
        self._best: tuple[Fraction, ProvedLoss] | None = None
        self._failed: Fraction | None = None

    def run(self, evaluations: int) -> CostRate:
        away = _CLOSE
        for _ in range(evaluations):
            limit = self._ruled_out()
            lowest = self._best[0] if self._best else self._classic
            highest = limit if self._failed is None else min(limit, self._failed)
            if highest <= lowest * (1 + _CLOSE * Fraction(3, 2)):
                break
            rate = rounded_down(limit * (1 - away))
            if rate >= highest or rate <= lowest:  # between what is proved and what could not be
                rate = rounded_down((lowest + highest) / 2)
            found = self._evaluate(rate)
            if found.loss <= self._epsilon:
                self._best = (rate, found)
                if self._failed is None:
                    away /= 8
            elif found.worst_found <= self._epsilon:  # not proved; a pair that was found lowers the limit instead
                self._failed = rate
                away = min(away * _FARTHER, Fraction(1, 2))
        return self._result()

    def _evaluate(self, rate: Fraction) -> ProvedLoss:
        found = proved_loss(
            self._setting, rate, epsilon=self._epsilon, nodes=self._nodes, progress=self._progress
        )
        if found.farthest is not None and 0 < found.farthest < self._setting.farthest and self._setting.cost.period == 1:
            self._limit = max(self._limit, self._epsilon / (found.farthest * self._setting.largest_step))
        if found.worst_pair is not None:
            self._pairs.append(found.worst_pair)
        self._progress(f"rate {float(rate):.5g} loses at most {float(found.loss):.5g} of {float(self._epsilon):.5g}")
        return found

    def _ruled_out(self) -> Fraction:
        """A rate at which a known pair loses ε, to four digits; the limit where no pair does below it."""
        limit = self._limit
        for pair in self._pairs:
            if pair_loss(self._setting, limit, *pair) <= self._epsilon:
                continue
            low, high = self._classic, limit
            while high - low > low / 10_000:
                middle = (low + high) / 2
                if pair_loss(self._setting, rounded_down(middle), *pair) > self._epsilon:
                    high = middle
                else:
                    low = middle
            limit = min(limit, high)
        return limit

    def _result(self) -> CostRate:
        if self._best is None:
            found = self._evaluate(self._classic)
            return CostRate(
                self._classic, min(found.loss, self._epsilon), found.how, found.worst_found, self._ruled_out(),
                found.worst_pair,
            )  # fmt: skip
        rate, found = self._best
        worst = max([found.worst_found, *(pair_loss(self._setting, rate, *pair) for pair in self._pairs)])
        return CostRate(rate, found.loss, found.how, worst, self._ruled_out(), found.worst_pair)
