"""A guarantee: the privacy loss a mechanism really has, and how that is known."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, Self

from flint import arb

from symveil.numerics.conversions import upper_bound
from symveil.numerics.rationals import at_least, exact

How = Literal["exact", "certified", "classic"]


@dataclass(frozen=True, slots=True)
class Guarantee:
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
        Above 0 it is another promise, (ε, δ): what is said of ε may fail with a probability of at most δ.

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

    def _repr_html_(self) -> str:
        delta = f", δ = {at_least(self.delta):.6g}" if self.delta else ""
        return f"<p>ε = {self.epsilon:.6g}{delta} <small>({self.how})</small></p>"

    def document(self) -> dict[str, object]:
        """The JSON form of the contract."""
        delta = {"delta": at_least(self.delta)} if self.delta else {}
        return {"epsilon": self.epsilon, **delta, "how": self.how}
