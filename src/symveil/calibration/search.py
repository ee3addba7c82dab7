"""What a calibration proves, and the search for the largest rate whose proved loss stays within the budget.

See docs/theory/certificates.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Generic, Protocol, TypeVar

from symveil.laws.guarantee import How
from symveil.models.alphabet import Codes
from symveil.numbers.once import begin_search
from symveil.numbers.rationals import at_least

_DIGITS = 7
_FIRST = Fraction(9, 10)  # of the largest rate that can be of use
EXACT_TOLERANCE, EXACT_EVALUATIONS = Fraction(1, 10**6), 40
"""Where all words are compared: a rate takes milliseconds."""


@dataclass(frozen=True, slots=True)
class SearchedRate:
    """A rate and the loss proved for it."""

    rate: Fraction
    loss: Fraction


class Proved(Protocol):
    """What is proved of a rate."""

    @property
    def loss(self) -> Fraction:
        """No less than what the rate loses."""


Proof = TypeVar("Proof", bound=Proved)


class RateSearch(ABC, Generic[Proof]):
    """The largest rate that is proved to keep a budget: a bracket, and one loop for every prover.

    A rate is tried, what is proved of it is remembered, and the next one lies between the largest rate that was proved
    and the smallest one that was not. Nothing is assumed about how the loss depends on the rate: the answer was itself
    proved. What a failed proof says, and when another one is not worth its time, differs from prover to prover: that is
    `next_rate`. Rates up to `classic` need no search, and none above `limit` is of use.
    """

    what = "a rate"

    def __init__(self, *, epsilon: Fraction, classic: Fraction, limit: Fraction) -> None:
        self.epsilon, self.classic, self.limit = epsilon, classic, limit
        self.best: tuple[Fraction, Proof] | None = None
        self.failed: tuple[Fraction, Proof] | None = None
        self.tried: list[tuple[Fraction, Proof]] = []

    @abstractmethod
    def proved(self, rate: Fraction) -> Proof:
        """What is proved of a rate."""

    @abstractmethod
    def next_rate(self) -> Fraction | None:
        """The rate to try after those that were tried; None where the search ends."""

    def begin(self) -> None:
        """What is learned before the first rate is tried."""

    def learn(self, rate: Fraction, proof: Proof) -> None:
        """Remember what is proved of a rate."""
        if proof.loss <= self.epsilon:
            self.succeed(rate, proof)
        else:
            self.fail(rate, proof)

    def run(self) -> tuple[Fraction, Proof] | None:
        """The largest rate that was proved, with its proof; None where none above the classic one was."""
        begin_search(self.what)
        self.begin()
        rate = self.next_rate()
        while rate is not None:
            proof = self.proved(rate)
            self.tried.append((rate, proof))
            self.learn(rate, proof)
            rate = self.next_rate()
        return self.best

    def succeed(self, rate: Fraction, proof: Proof) -> None:
        """Remember what is proved of a rate that keeps the budget, if it is the largest one."""
        if self.best is None or rate >= self.best[0]:
            self.best = (rate, proof)

    def fail(self, rate: Fraction, proof: Proof) -> None:
        """Remember a rate that was not proved to keep the budget, if it is the smallest one."""
        if self.failed is None or rate <= self.failed[0]:
            self.failed = (rate, proof)

    @property
    def lowest(self) -> Fraction:
        """The largest rate that is proved."""
        return self.classic if self.best is None else self.best[0]

    @property
    def highest(self) -> Fraction:
        """The smallest rate that was not proved, or is of no use."""
        return self.limit if self.failed is None else min(self.limit, self.failed[0])

    def inside(self, rate: Fraction) -> Fraction:
        """A rate to seven digits; between what is proved and what could not be, where it lies outside."""
        rate, lowest, highest = rounded_down(rate), self.lowest, self.highest
        return rate if lowest < rate < highest else rounded_down((lowest + highest) / 2)


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
    best = _LossSearch(loss_at, slope, tolerance, evaluations, epsilon=epsilon, classic=safe, limit=limit).run()
    return None if best is None else best[1]


class FalsePosition(RateSearch[Proof]):
    """A search whose next rate is where the line through the two ends of the bracket reaches the budget."""

    slope: int
    tolerance: Fraction
    evaluations: int
    _weight = Fraction(1)  # the Illinois rule: halve the end that stays

    def learn(self, rate: Fraction, proof: Proof) -> None:
        """As for the others; with how much the end counts that stays."""
        super().learn(rate, proof)
        self._weight = self._weight / 2 if proof.loss <= self.epsilon and self.failed is not None else Fraction(1)

    def next_rate(self) -> Fraction | None:
        """At first nine tenths of what the slope allows; None too where the line leads out of the bracket."""
        if len(self.tried) >= self.evaluations or (self.tried and self._is_over()):
            return None
        rate = rounded_down(self._candidate() if self.tried else min(self.epsilon / self.slope * _FIRST, self.limit))
        return rate if self.lowest < rate and (self.failed is None or rate < self.failed[0]) else None

    def _is_over(self) -> bool:
        if self.best is None and len(self.tried) > 1 and self._is_hopeless():
            return True
        if self.best is not None:
            rate, proof = self.best
            if proof.loss >= self.epsilon * (1 - self.tolerance) or rate >= rounded_down(self.limit):
                return True
        return self.failed is not None and self.failed[0] - self.lowest <= self.lowest * self.tolerance / 4

    def _is_hopeless(self) -> bool:
        """A bound that gets no better as the rate falls, or is the classic one twice, is not worth more time."""
        last = self.tried[-2:]
        classic = all(proof.loss >= 2 * self.slope * rate * Fraction(999, 1000) for rate, proof in last)
        return classic or last[1][1].loss >= last[0][1].loss

    def _candidate(self) -> Fraction:
        """With one end, a step towards the target; between the two ends otherwise, never too close to one."""
        target = self.epsilon * (1 - self.tolerance / 3)
        if self.failed is None:
            assert self.best is not None  # noqa: S101 - one of them was found
            rate, proof = self.best
            return min(self.limit, rate * target / proof.loss if proof.loss > 0 else self.limit)
        above, failed = self.failed
        if self.best is None:
            step = (failed.loss - target) / self.slope * Fraction(4, 3)
            return max(above - step, (self.classic * 7 + above) / 8)
        rate, proof = self.best
        miss, excess = target - proof.loss, (failed.loss - target) * self._weight
        share = miss / (miss + excess) if miss > 0 and miss + excess > 0 else Fraction(1, 2)
        return rate + (above - rate) * min(max(share, Fraction(1, 50)), Fraction(49, 50))


class _LossSearch(FalsePosition[SearchedRate]):
    def __init__(
        self, loss_at: Callable[[Fraction], Fraction], slope: int, tolerance: Fraction, evaluations: int,
        **ends: Fraction,
    ) -> None:  # fmt: skip
        super().__init__(**ends)
        self._loss_at, self.slope, self.tolerance, self.evaluations = loss_at, slope, tolerance, evaluations

    def proved(self, rate: Fraction) -> SearchedRate:
        return SearchedRate(rate, self._loss_at(rate))


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


def unreported(_: float) -> None:
    """Reports no share of the work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofEffort:
    """How much work a proof of one rate may take. Every choice is sound; a larger effort proves more."""

    within: Fraction | None = None
    """ε: the proof ends as soon as the loss is proved to be at most that, or a pair of words above it is found."""
    nodes: int | None = None
    """How many nodes may be split for each kind of block, 0 or more; None: as many as take some seconds."""
    patient: bool = False
    """Whether boxes may take half a minute, to know more of the words around a block."""
    window: int | None = None
    """How many symbols around a block boxes know; None: as many as can be afforded."""
    radius: int | None = None
    """How far the balls reach that vectors are kept over; None: over all states, where that can be afforded."""
    report: Callable[[float], None] = unreported
    """Gets the share of the work that is done."""


ANY = ProofEffort()
"""As much as takes some seconds."""


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
