"""A guarantee: the privacy loss a mechanism really has, and how that is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, Self

from flint import arb

from symveil.errors import ParameterError
from symveil.laws.limits import LIMITS
from symveil.numbers.conversions import upper_bound
from symveil.numbers.rationals import at_least, epsilon_text, exact, shown_at_least
from symveil.reports.page import Reported
from symveil.reports.report import Headline, Report, Section

How = Literal["exact", "certified", "classic"]


@dataclass(frozen=True, slots=True)
class LossCurve:
    """The loss at every distance: how far apart adjacent words are, how far any two can be, and a proved bound."""

    adjacency: int
    largest: int | None
    """The largest distance between two words; None where there is no bound."""
    bound: Callable[[int], float]
    """The proved upper bound for words at most so far apart, rounded upwards; infinite where there is none."""

    def landmarks(self) -> list[int]:
        """The distances that people ask about: 1, b, b + 1, 2b and the largest, without repetition.

        >>> LossCurve(3, 10, float).landmarks(), LossCurve(1, 1, float).landmarks()
        ([1, 3, 4, 6, 10], [1])
        """
        b, last = self.adjacency, self.largest
        wanted = {1, b, b + 1, 2 * b} | (set() if last is None else {last})
        return sorted(each for each in wanted if each > 0 and (last is None or each <= last))

    def rows(self) -> list[dict[str, object]]:
        """The JSON form: every distance of short words, the landmarks of long ones."""
        short = self.largest is not None and self.largest <= LIMITS.now.curve_rows
        distances = range(1, (self.largest or 0) + 1) if short else self.landmarks()
        return [{"distance": each, "epsilon": shown_loss(self.bound(each))} for each in distances]


def shown_loss(loss: float) -> float | str:
    """A loss as JSON has it: a number, or "infinity"."""
    return loss if math.isfinite(loss) else "infinity"


@dataclass(frozen=True, slots=True)
class Guarantee(Reported):
    """No two adjacent words make any released word more than e^ε times as likely.

    `how` is "exact" when some pair of adjacent words attains ε, "certified" when ε is a proved
    bound, "classic" when it is the bound of the papers. `epsilon` is rounded upwards, for anyone who reads it;
    decisions are taken with `loss`, which is not: 0.33333333333333337 is more than an ε of 1/3 that is kept.

    Parameters
    ----------
    epsilon
        The loss, rounded upwards.
    how
        "exact", "certified" or "classic".
    loss
        The proved loss before it was rounded; None where it is infinite.
    delta
        Above 0 it is another promise, (ε, δ): the bound ε may fail with a probability of at most δ.
    curve
        The loss at every distance; mechanisms add it.

    >>> Guarantee(epsilon=5.0, how="exact")
    Guarantee(epsilon=5.0, how='exact')
    >>> third = Guarantee.of_loss(Fraction(1, 3), "exact")
    >>> third.epsilon, third.loss, third.within(Fraction(1, 3))
    (0.33333333333333337, Fraction(1, 3), True)
    """

    epsilon: float
    how: How
    loss: Fraction | None = field(default=None, repr=False, compare=False)
    """The proved loss before it was rounded; None where it is infinite."""
    delta: Fraction = Fraction(0)
    curve: LossCurve | None = field(default=None, repr=False, compare=False)
    """The loss at every distance, where a mechanism with its words is known."""

    def __post_init__(self) -> None:
        if self.loss is None and math.isfinite(self.epsilon):
            object.__setattr__(self, "loss", exact(self.epsilon))

    def __repr__(self) -> str:
        delta = f", delta={at_least(self.delta)!r}" if self.delta else ""
        return f"Guarantee(epsilon={self.epsilon!r}{delta}, how={self.how!r})"

    @classmethod
    def of_loss(cls, loss: Fraction | arb, how: How, *, delta: Fraction = Fraction(0)) -> Self:
        """The guarantee of a loss known as a rational or as a ball, rounded against the claim."""
        rational = loss if isinstance(loss, Fraction) else max(upper_bound(loss), Fraction(0))
        return cls(epsilon=at_least(rational), how=how, loss=rational, delta=delta)

    def within(self, epsilon: Fraction) -> bool:
        """Whether the loss is at most `epsilon`, exact against exact; with a δ it is no such promise.

        Parameters
        ----------
        epsilon
            The budget, as an exact rational.
        """
        return self.loss is not None and self.loss <= epsilon and not self.delta

    def loss_at(self, distance: int) -> float:
        """The proved upper bound on the loss of two words that differ in `distance` places, rounded upwards.

        Infinite where nothing is proved. Only the guarantee of a mechanism knows it.

        Parameters
        ----------
        distance
            How far apart the words are, by what adjacency counts.

        >>> import symveil as sv
        >>> guarantee = sv.Exponential(sv.words("abc", 6), epsilon=4, adjacency=2).guarantee
        >>> [round(guarantee.loss_at(distance), 6) for distance in (1, 2, 3, 6)]
        [2.0, 4.0, 6.0, 12.0]
        """
        if self.curve is None:
            raise ParameterError("distance", expected="the guarantee of a mechanism with its words", found=distance)
        return self.curve.bound(distance)

    def report(self) -> Report:
        """The loss, and how it is known."""
        delta = f", δ = {shown_at_least(self.delta)}" if self.delta else ""
        promised = Headline(f"ε = {epsilon_text(self.epsilon)}{delta}", "is what adjacent words lose at most", self.how)
        return Report(title="Guarantee", sections=(Section("Guarantee", (promised,)),))

    def document(self) -> dict[str, object]:
        """The JSON form of the contract."""
        delta = {"delta": at_least(self.delta)} if self.delta else {}
        curve = {} if self.curve is None else {"loss_at": self.curve.rows()}
        return {"epsilon": self.epsilon, **delta, "how": self.how, **curve}
