"""What a calibration proves: kept apart from how, which needs heavier libraries."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from symveil.privacy.guarantee import How


@dataclass(frozen=True, slots=True)
class CertifiedRate:
    """A rate η, the loss it is proved to stay within, how, and the bound on ln Z(v)/Z(w) behind it."""

    rate: Fraction
    loss: Fraction
    how: How
    ratio_bound: float
