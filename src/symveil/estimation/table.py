"""An estimated table, before it has names: numbers for every cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symveil.estimation.intervals import factors, skewness

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Variances:
    """A variance for every cell, and how it is known."""

    values: Floats
    freedom: int | None
    """Degrees of freedom where it comes from groups; None: a closed form."""
    by_group: NDArray[np.bool_] | None = None
    """Where a closed form gave nothing and groups did: `freedom` is for these cells."""

    def half_widths(self, confidence: float) -> tuple[Floats, Floats]:
        """Half of an interval, for each cell and for all at once."""
        error, cells = np.sqrt(np.maximum(self.values, 0.0)), self.values.size
        if self.by_group is None and self.freedom is not None:
            each, everything = factors(confidence, cells=cells, freedom=self.freedom)
            return each * error, everything * error
        closed, grouped = (factors(confidence, cells=cells, freedom=each) for each in (None, self.freedom))
        used = np.zeros(self.values.shape, dtype=np.bool_) if self.by_group is None else self.by_group
        halves = [np.where(used, grouped[i], closed[i]) * error + skewness(closed[i], error) for i in range(2)]
        return halves[0], halves[1]


@dataclass(frozen=True, kw_only=True, eq=False)
class EstimatedTable:
    """Estimates for the cells of a table: its last axes are symbols, one before them is a position or a length."""

    released: Floats
    estimate: Floats
    variances: Variances
    consistent: Floats
    most: Floats | float
    """What no true count can exceed; infinite where nothing is known."""
    least: float = 0.0
    """What no true number can be below."""
    listed: NDArray[np.bool_] | None = None
    """Which cells can be told; None: all."""
    leading: str | None = None
    """What the first axis counts: "position" or "length"; None: there is none but symbols."""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    """Without which the table would be misread."""
    centre: Floats | None = None
    """What intervals are around, where that is not the estimate; they are widened to contain it."""
    allowance: Floats | float = 0.0
    """What intervals are wider by on each side, for a bias that is not known."""
    bounded: bool = True
    """Whether there are intervals; without them their ends are not numbers."""

    def intervals(self, confidence: float) -> tuple[Floats, Floats, Floats, Floats]:
        """Low and high for each cell, low and high for all at once, within what is possible."""
        if not self.bounded:
            unknown = np.full(self.estimate.shape, np.nan)
            return unknown, unknown, unknown, unknown
        ends = []
        centre = self.estimate if self.centre is None else self.centre
        for half in self.variances.half_widths(confidence):
            low, high = centre - half - self.allowance, centre + half + self.allowance
            if self.centre is not None:
                low, high = np.minimum(low, self.estimate), np.maximum(high, self.estimate)
            ends += [np.clip(low, self.least, self.most), np.clip(high, self.least, self.most)]
        return ends[0], ends[1], ends[2], ends[3]
