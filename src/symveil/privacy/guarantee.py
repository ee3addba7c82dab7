"""A guarantee: the privacy loss a mechanism really has, and how that is known."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Self

from flint import arb

from symveil.numerics.balls import upper_bound
from symveil.numerics.rationals import at_least

How = Literal["exact", "certified", "classic"]


@dataclass(frozen=True, slots=True)
class Guarantee:
    """No two adjacent words make any released word more than e^ε times as likely.

    `how` is "exact" when some pair of adjacent words attains ε, "certified" when ε is a proved
    bound, "classic" when it is the bound of the papers. `epsilon` is rounded upwards.

    >>> Guarantee(epsilon=5.0, how="exact")
    Guarantee(epsilon=5.0, how='exact')
    """

    epsilon: float
    how: How

    @classmethod
    def of_loss(cls, loss: Fraction | arb, how: How) -> Self:
        """The guarantee of a loss known as a rational or as a ball, rounded against the claim."""
        rational = loss if isinstance(loss, Fraction) else max(upper_bound(loss), Fraction(0))
        return cls(epsilon=at_least(rational), how=how)

    def _repr_html_(self) -> str:
        return f"<p>ε = {self.epsilon:.6g} <small>({self.how})</small></p>"

    def document(self) -> dict[str, object]:
        """The JSON form of the contract."""
        return {"epsilon": self.epsilon, "how": self.how}
