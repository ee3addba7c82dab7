"""Price A: one price for all words of a window whose words are all adjacent to each other.

For an output x let m(t) be the weight of the words at distance t from it. λ is a price if Σ m(t)·φ(t − λ) ≥ 0 with
φ(s) = s for s < 0 and e^{−ε}s otherwise, for every x. φ is the smaller of two lines, so the largest such λ is the
smallest, over k, of the mean distance when the words farther than k count e^{−ε} only (docs/theory/lower-bounds.md,
Theorem 3).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from symveil.privacy.lower_bounds.prior import Floats
from symveil.privacy.lower_bounds.spread_price import Pattern

# Windows with more outputs × words than this are left to other prices.
MOST_CELLS = 2_000_000


def constant_prices(patterns: Sequence[Pattern], decay: float) -> Floats:
    """For each window, whose words must all be adjacent, a price rounded down; 0 where it is too large to look at.

    Parameters
    ----------
    patterns
        The windows.
    decay
        A lower bound of e^{−ε}.

    >>> pair = Pattern(np.array([[0], [1], [2]]), np.ones(3))
    >>> constant_prices([pair], decay=0.5)[0].round(6)          # (K−1)/(e^ε+K−1) for K = 3, e^ε = 2
    np.float64(0.5)
    """
    return np.array([_price(pattern, decay) for pattern in patterns])


def _price(pattern: Pattern, decay: float) -> float:
    words, weights = pattern.words, pattern.weights
    size, length = words.shape
    symbols = words.max(axis=0) + 1
    if size * float(np.prod(symbols, dtype=np.float64)) > MOST_CELLS:
        return 0.0
    distances = np.zeros((1, size), dtype=np.int16)
    for column in range(length):
        differs = np.arange(symbols[column])[:, None] != words[None, :, column]
        distances = (distances[:, None, :] + differs[None, :, :]).reshape(-1, size)
    mass = np.stack([(distances == distance) @ weights for distance in range(length + 1)], axis=1)
    loss = mass * np.arange(length + 1)
    near_mass, near_loss = np.cumsum(mass, axis=1), np.cumsum(loss, axis=1)
    far_mass, far_loss = (np.cumsum(each[:, ::-1], axis=1)[:, ::-1] for each in (mass, loss))
    # entry k: the words at distance up to k count fully, those beyond it e^{−ε}
    means = (near_loss[:, :-1] + decay * far_loss[:, 1:]) / (near_mass[:, :-1] + decay * far_mass[:, 1:])
    # where k = the length all words count fully, and the mean is that of k = −1
    all_alike = near_loss[:, -1] / near_mass[:, -1]
    least = min(float(means.min(initial=np.inf)), float(all_alike.min()))
    return float(least * (1 - (4 * size + 4 * length + 32) * 2.0**-53))
