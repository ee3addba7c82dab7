"""From an estimate and its variance to intervals, each and all at once; and the nearest table that could be true."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

Floats = NDArray[np.float64]


def factors(confidence: float, *, cells: int, freedom: int | None) -> tuple[float, float]:
    """How many standard errors an interval has on each side: for each cell, and for all cells at once.

    Parameters
    ----------
    confidence
        How often intervals are to cover.
    cells
        How many cells all at once are.
    freedom
        The degrees of freedom of an estimated variance: Student's law, and Bonferroni's bound for all at once. None:
        the normal law, and Šidák's bound, which holds for any correlation of Gaussian estimates.

    >>> each, everything = factors(0.95, cells=100, freedom=None)
    >>> round(each, 3), round(everything, 3)
    (1.96, 3.474)
    """
    if freedom is None:
        return float(ndtri((1 + confidence) / 2)), float(ndtri((1 + confidence ** (1 / max(cells, 1))) / 2))
    outside = (1 - confidence) / 2
    return float(stdtrit(freedom, 1 - outside)), float(stdtrit(freedom, 1 - outside / max(cells, 1)))


def skewness(factor: float, errors: Floats) -> Floats:
    """By how much intervals of so many standard errors are wider on each side, because counts change by jumps of one.

    With little noise few words decide about a cell, and its estimate has more of a Poisson law than of a normal one:
    (c² − 1)/6 is the first correction of its quantiles (Cornish and Fisher 1938), some two sequences. Nearer to the
    middle what one side needs the other can spare, as soon as errors are of one sequence or more: it fades.

    Parameters
    ----------
    factor
        How many standard errors an interval has on each side.
    errors
        The standard error of each cell; where it is 0 nothing is added.

    >>> skewness(1.96, np.array([0.0, 0.2, 1.0])).round(2).tolist()
    [0.0, 0.38, 0.0]
    >>> skewness(3.5, np.array([0.2, 9.0])).round(2).tolist()
    [1.88, 1.88]
    """
    most = max(0.0, (factor**2 - 1) / 6)
    return np.where(errors > 0, most * np.clip(1 - errors * max(0.0, 3 - factor), 0.0, 1.0), 0.0)


def projected(values: Floats, *, axes: int | None = None) -> Floats:
    """The nearest table without a negative cell and with the same total, or 0 where that is negative.

    With `axes`, tables are the last so many axes, each with its own total.

    >>> projected(np.array([3.0, -1.0, 1.0])).tolist()
    [2.5, 0.0, 0.5]
    """
    if axes is None:
        axes = values.ndim
    if not values.size:  # a table without a cell
        return values.copy()
    shape = values.shape[: values.ndim - axes]
    rows = values.reshape(int(np.prod(shape, dtype=np.int64)), -1)
    totals = np.maximum(rows.sum(axis=1), 0.0)
    falling = -np.sort(-rows, axis=1)
    excess = (np.cumsum(falling, axis=1) - totals[:, None]) / np.arange(1, rows.shape[1] + 1)
    kept = np.maximum((falling > excess).sum(axis=1), 1)
    level = excess[np.arange(len(rows)), kept - 1]
    return np.asarray(np.maximum(rows - level[:, None], 0.0).reshape(values.shape))
