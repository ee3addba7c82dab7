"""Price A: one price for all words of a window whose words are all adjacent to each other.

For an output x let m(t) be the weight of the words at distance t from it. λ is a price if Σ m(t)·φ(t − λ) ≥ 0 with
φ(s) = s for s < 0 and e^{−ε}s otherwise, for every x. φ is the smaller of two lines, so the largest such λ is the
smallest, over k, of the mean distance when the words farther than k count e^{−ε} only (docs/theory/lower-bounds.md,
Theorem 3).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from symveil.bounds.prior import Floats
from symveil.bounds.spread_price import Pattern

# Windows with more outputs × words than this are left to other prices; where all words weigh the same, with more
# outputs × distances.
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
    weights, (size, length) = pattern.weights, pattern.words.shape
    alike = bool((weights == weights[0]).all())
    outputs = float(np.prod(pattern.words.max(axis=0) + 1, dtype=np.float64))
    if outputs * (length + 1 if alike else size) > MOST_CELLS:
        return 0.0
    mass = _counts(pattern) if alike else _masses(pattern)
    loss = mass * np.arange(length + 1)
    near_mass, near_loss = np.cumsum(mass, axis=1), np.cumsum(loss, axis=1)
    far_mass, far_loss = (np.cumsum(each[:, ::-1], axis=1)[:, ::-1] for each in (mass, loss))
    # entry k: the words at distance up to k count fully, those beyond it e^{−ε}
    means = (near_loss[:, :-1] + decay * far_loss[:, 1:]) / (near_mass[:, :-1] + decay * far_mass[:, 1:])
    # where k = the length all words count fully, and the mean is that of k = −1
    all_alike = near_loss[:, -1] / near_mass[:, -1]
    least = min(float(means.min(initial=np.inf)), float(all_alike.min()))
    return float(least * (1 - (4 * size + 4 * length + 32) * 2.0**-53))


def _masses(pattern: Pattern) -> Floats:
    """For each output, the weight of the words at each distance from it."""
    words, weights = pattern.words, pattern.weights
    size, length = words.shape
    distances = np.zeros((1, size), dtype=np.int16)
    for column in range(length):
        differs = np.arange(words[:, column].max() + 1)[:, None] != words[None, :, column]
        distances = (distances[:, None, :] + differs[None, :, :]).reshape(-1, size)
    return np.stack([(distances == distance) @ weights for distance in range(length + 1)], axis=1)


def _counts(pattern: Pattern) -> Floats:
    """For each output, the number of words at each distance from it.

    Position by position: words that agree with the output there keep their distance, the others are one farther.
    Whole numbers, so that nothing is rounded, and the work does not depend on how many words there are.
    """
    length = pattern.words.shape[1]
    counts = np.zeros((length + 1, *(pattern.words.max(axis=0) + 1)))
    np.add.at(counts[0], tuple(pattern.words.T), 1.0)
    for axis in range(1, length + 1):
        others = counts.sum(axis=axis, keepdims=True) - counts
        counts[1:] += others[:-1]
    return np.ascontiguousarray(counts.reshape(length + 1, -1).T)
