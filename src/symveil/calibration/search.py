"""What a calibration proves, and the search for the largest rate whose proved loss stays within the budget.

See docs/theory/certificates.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from symveil.laws.guarantee import How
from symveil.models.alphabet import Codes
from symveil.numbers.once import begin_search
from symveil.numbers.rationals import at_least

_DIGITS = 7
EXACT_TOLERANCE, EXACT_EVALUATIONS = Fraction(1, 10**6), 40
"""Where all words are compared: a rate takes milliseconds."""


@dataclass(frozen=True, slots=True)
class SearchedRate:
    """A rate and the loss proved for it."""

    rate: Fraction
    loss: Fraction


def largest_rate(
    loss_at: Callable[[Fraction], Fraction],
    *,
    epsilon: Fraction,
    safe: Fraction,
    slope: int,
    limit: Fraction,
    tolerance: Fraction,
    evaluations: int,
    claimed: Fraction | None = None,
) -> SearchedRate | None:
    """The best rate found above `safe` with a proved loss within `epsilon`; None where none was found.

    A rate that is `claimed` is proved in one evaluation, and nothing is searched for; None where it loses more.

    A regula falsi on the proved loss, which grows by almost `slope` per unit of the rate; any rate
    it returns was itself proved, so nothing is assumed about the shape of the loss. It stops when
    the budget is spent up to `tolerance`, or the bracket is that narrow. Rates above `limit` are
    of no use: two words differ somewhere or are equal.
    """
    if claimed is not None:
        proved = SearchedRate(claimed, loss_at(claimed))
        return proved if proved.loss <= epsilon else None
    begin_search("a rate")
    best: SearchedRate | None = None
    above: SearchedRate | None = None
    target = epsilon * (1 - tolerance / 3)
    candidate = min(epsilon / slope * Fraction(9, 10), limit)
    weight = Fraction(1)  # the Illinois rule: halve the end that stays
    for _ in range(evaluations):
        rate = rounded_down(candidate)
        lowest = safe if best is None else best.rate
        if rate <= lowest or (above is not None and rate >= above.rate):
            break
        result = SearchedRate(rate, loss_at(rate))
        if best is None and above is not None and result.loss > epsilon and _hopeless(result, above, slope):
            break
        if result.loss <= epsilon:
            best, weight = result, (weight / 2 if above is not None else weight)
        else:
            above, weight = result, Fraction(1)
        if best is not None and (best.loss >= epsilon * (1 - tolerance) or best.rate >= rounded_down(limit)):
            break
        lowest = safe if best is None else best.rate
        if above is not None and above.rate - lowest <= lowest * tolerance / 4:
            break
        candidate = _next(best, above, target, limit, safe, slope, weight)
    return best


def _hopeless(result: SearchedRate, above: SearchedRate, slope: int) -> bool:
    """Where a bound gets no better as the rate falls, or is the classic one twice, the rest is not worth the time."""
    classic = all(each.loss >= 2 * slope * each.rate * Fraction(999, 1000) for each in (result, above))
    return classic or result.loss >= above.loss


def _next(
    best: SearchedRate | None,
    above: SearchedRate | None,
    target: Fraction,
    limit: Fraction,
    safe: Fraction,
    slope: int,
    weight: Fraction,
) -> Fraction:
    """With one end, a step towards the target; between the two ends otherwise, never too close to one."""
    if above is None:
        assert best is not None  # noqa: S101 - one of them was found
        return min(limit, best.rate * target / best.loss if best.loss > 0 else limit)
    if best is None:
        step = (above.loss - target) / slope * Fraction(4, 3)
        return max(above.rate - step, (safe * 7 + above.rate) / 8)
    miss, excess = target - best.loss, (above.loss - target) * weight
    span = above.rate - best.rate
    share = miss / (miss + excess) if miss > 0 and miss + excess > 0 else Fraction(1, 2)
    return best.rate + span * min(max(share, Fraction(1, 50)), Fraction(49, 50))


def rounded_down(rate: Fraction) -> Fraction:
    """`rate` to seven digits, towards 0, so that it can be read and written."""
    if rate <= 0:
        return Fraction(0)
    digits = _DIGITS - 1 - math.floor(math.log10(rate.numerator) - math.log10(rate.denominator))
    unit = Fraction(10) ** -digits
    return (rate / unit).__floor__() * unit


@dataclass(frozen=True, slots=True)
class CertifiedRate:
    """A rate η, the loss it is proved to stay within, how, and the bound on ln Z(v)/Z(w) behind it.

    Where pairs of words were looked for: `worst_found` is what the worst of them loses at this rate, so that the truth
    lies between it and `loss`; at the rate `ruled_out` one of them loses ε, so that no proof reaches farther.
    """

    rate: Fraction
    loss: Fraction
    how: How
    ratio_bound: float
    worst_found: float | None = None
    ruled_out: float | None = None
    worst_pair: tuple[Codes, Codes] | None = field(default=None, repr=False, compare=False)
    proof: str = field(default="", compare=False)
    """What proved the loss: "bounds" (`certify`), "halves" (`halves`), "blocks" or "long blocks" (`costs`)."""

    def document(self) -> dict[str, object]:
        """The JSON form: η, the bound U on ln Z(v)/Z(w) and the loss that is proved from them.

        See docs/theory/certificates.md.
        """
        document: dict[str, object] = {
            "rate": float(self.rate),
            "ratio_bound": self.ratio_bound,
            "loss": at_least(self.loss),
            "how": self.how,
        }
        if self.worst_found is not None:
            document["worst_found"] = self.worst_found
        if self.ruled_out is not None:
            document["ruled_out"] = self.ruled_out
        return document


@dataclass(frozen=True, slots=True)
class ProvedLoss:
    """No pair of adjacent words loses more than `loss`; `worst_found` is what the worst pair found loses."""

    loss: Fraction
    how: How
    worst_found: float = 0.0
    pairs: tuple[tuple[Codes, Codes], ...] = field(default=(), repr=False, compare=False)  # the worst first
    nodes: int = 0
    farthest: int | None = None  # in how many symbols adjacent words differ at most, where that was found out
    by_distance: dict[int, Fraction] = field(default_factory=dict, repr=False, compare=False)
    """The largest loss of two words at each distance that occurs, where all words were compared."""
    reached: float = math.inf  # what a search that was given up would have had to come below, for the next guess
    stalled: bool = False  # whether that is no less than the triangle inequality gives, after all nodes were spent
