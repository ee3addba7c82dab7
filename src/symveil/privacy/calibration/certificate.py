"""What a calibration proves: kept apart from how, which needs heavier libraries."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from symveil.numerics.rationals import at_least
from symveil.privacy.guarantee import How


@dataclass(frozen=True, slots=True)
class CertifiedRate:
    """A rate η, the loss it is proved to stay within, how, and the bound on ln Z(v)/Z(w) behind it."""

    rate: Fraction
    loss: Fraction
    how: How
    ratio_bound: float

    def document(self) -> dict[str, object]:
        """The JSON form: η, the bound U on ln Z(v)/Z(w) and the loss that is proved from them.

        See docs/theory/certified-calibration.md.
        """
        return {
            "rate": float(self.rate),
            "ratio_bound": self.ratio_bound,
            "loss": at_least(self.loss),
            "how": self.how,
        }
