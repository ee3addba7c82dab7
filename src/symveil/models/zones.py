"""Zones: which part of a map a symbol lies in, by a grid over all places."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from symveil.errors import ParameterError

_MOST_CELLS = 1_000_000

Point = tuple[float, float]


def grid_zones(points: Mapping[str, Point], *, columns: int, rows: int) -> dict[str, str]:
    """The cell of an equal grid over the box of all points that each lies in, named "column,row" from 0 on.

    A point on the border of two cells is in the upper or right one; those on the far border are in the last.

    >>> grid_zones({"a": (0.0, 0.0), "b": (1.0, 2.0), "c": (0.5, 2.0)}, columns=2, rows=3)
    {'a': '0,0', 'b': '1,2', 'c': '1,2'}
    """
    if min(columns, rows) < 1 or columns * rows > _MOST_CELLS:
        raise ParameterError(
            "zones", expected=f"a grid of 1 to {_MOST_CELLS} cells, such as 6 or 6x4", found=f"{columns}x{rows}"
        )
    places = np.array(list(points.values()), dtype=np.float64)
    low, high = places.min(axis=0), places.max(axis=0)
    cells = np.array([columns, rows])
    extent = np.where(high > low, high - low, 1.0)
    found = np.clip(np.floor((places - low) / extent * cells).astype(np.int64), 0, cells - 1)
    return {name: f"{column},{row}" for name, (column, row) in zip(points, found.tolist(), strict=True)}
