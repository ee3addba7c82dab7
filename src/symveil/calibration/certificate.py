"""What a calibration proves; how it does is apart, because that needs heavier libraries."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from symveil.laws.guarantee import How
from symveil.models.alphabet import Codes
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
