"""What a calibration proves: kept apart from how, which needs heavier libraries."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from symveil.laws.guarantee import How
from symveil.models.word import Codes
from symveil.numbers.rationals import at_least


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
    """What proved the loss: "bounds" (`certify`), "halves" (`meeting`), "blocks" or "long blocks" (`costs`)."""

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
