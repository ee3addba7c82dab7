"""Tables with noise, and what is read from them alone: the shares of lengths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symveil.central.word_law import Floats
from symveil.estimation.intervals import projected

SMOOTH = (1, 2, 3, 4, 3, 2, 1)
"""How the table of lengths is smoothed: a length and its neighbours."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyTable:
    """A released table, and the deviation of the noise of its cells."""

    values: Floats
    deviation: float

    @property
    def total(self) -> float:
        """The sum of its cells."""
        return float(self.values.sum())

    @property
    def total_variance(self) -> float:
        """Of the noise of the sum."""
        return self.values.size * self.deviation**2


def smoothed(lengths: NoisyTable) -> Floats:
    """A table of lengths, each averaged with its neighbours as far as the noise explains how they differ.

    The part of the table that averaging takes away is put back to the share by which it is larger than noise alone
    would make it (as James and Stein shrink): lengths with little noise stay as they are.

    >>> peak = np.array([16.0, 0.0, 0.0, 0.0, 0.0])
    >>> smoothed(NoisyTable(values=peak, deviation=100.0)).round(1).tolist()
    [6.4, 3.7, 2.3, 1.2, 0.0]
    >>> smoothed(NoisyTable(values=peak, deviation=0.01)).round(1).tolist()
    [16.0, 0.0, 0.0, 0.0, 0.0]
    """
    kernel, sides = np.array(SMOOTH, dtype=np.float64), len(SMOOTH) // 2
    every = np.ones_like(lengths.values)
    sums, weights = (np.convolve(each, kernel)[sides:-sides] for each in (lengths.values, every))
    squares = np.convolve(every, kernel**2)[sides:-sides]
    rough = lengths.values - sums / weights
    own = kernel[sides] / weights  # of a length in its own average
    noise = lengths.deviation**2 * float(((1 - own) ** 2 + squares / weights**2 - own**2).sum())
    return np.asarray(lengths.values - min(1.0, noise / max(float(rough @ rough), 1e-300)) * rough)


def length_shares(lengths: NoisyTable, there: NDArray[np.bool_]) -> Floats:
    """The share of each length that words have: smoothed, without negative ones; all alike where nothing is left."""
    table = np.where(there, projected(smoothed(lengths)), 0.0)
    table = table if table.sum() > 0 else there.astype(np.float64)
    return np.asarray(table / table.sum())
