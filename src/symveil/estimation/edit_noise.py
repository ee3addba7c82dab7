"""The numbers of an edit channel that its estimators need (docs/theory/estimation.md).

In each gap t uniform symbols are inserted with probability g(t), G(x) = Σ g(t)x^t; a symbol is deleted with probability
δ, substituted with σ, kept with κ. Symbols k apart in the true word have, for what lands between them, the generating
function G(x)·s(x)^{k−1}, s(x) = G(x)·(δ + (1−δ)x). At x₀ = −δ/(1−δ), s is 0: only true neighbours are left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from symveil.calibration.edit_channel_loss import ChannelParameters, inserted_above, mean_inserted
from symveil.numbers.conversions import STANDARD_PRECISION, nearest_float, precision

SMALLEST_KEPT = 0.02
"""κ − σ/(m−1) below which nothing can be said about symbols."""
_NEGLIGIBLE = 1e-18


@dataclass(frozen=True, slots=True)
class EditNoise:
    """δ, τ = E[t], λ = κ − σ/(m−1), x₀, G(x₀) and G'(x₀)."""

    symbols: int
    deletion: float
    inserted: float
    kept: float
    root: float
    gap: float
    slope: float

    @classmethod
    def of(cls, parameters: ChannelParameters, symbols: int) -> EditNoise:
        """The numbers of a channel; δ must be below 1.

        >>> channel = ChannelParameters.of(ratio="0.1", power=2, deletion="0.25", substitution="0.05")
        >>> noise = EditNoise.of(channel, 6)
        >>> round(noise.kept, 3), round(noise.root, 4)
        (0.69, -0.3333)
        """
        delta = float(parameters.deletion)
        root = -delta / (1 - delta)
        with precision(STANDARD_PRECISION):
            total = nearest_float(inserted_above(parameters, 0, 1)[1])
            inserted = nearest_float(mean_inserted(parameters))
        rho, q = float(parameters.ratio), float(parameters.power)
        if rho * abs(root) >= 1:
            terms = 1  # unusable, which `usable` says
        else:
            terms = 2 + int(math.log(_NEGLIGIBLE) / math.log(max(rho * abs(root), 1e-300)))
        t = np.arange(terms, dtype=np.float64)
        weights = (1 + t) ** -q / total
        gap = math.fsum((weights * (rho * root) ** t).tolist())
        slope = math.fsum((weights[1:] * t[1:] * rho * (rho * root) ** (t[1:] - 1)).tolist())
        others = max(symbols - 1, 1)
        kept = float(parameters.keep - parameters.substitution / others)
        return cls(symbols, delta, inserted, kept, root, gap, slope)

    @property
    def usable(self) -> bool:
        """Whether symbols can be told: not too many are deleted, and enough of them is kept."""
        return self.deletion < 0.5 and self.kept >= SMALLEST_KEPT

    @property
    def farthest(self) -> int:
        """From how many symbols apart on powers of x₀ are nothing."""
        return 1 + int(math.log(_NEGLIGIBLE) / math.log(abs(self.root))) if self.root else 1
