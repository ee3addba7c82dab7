"""What moves and pairs of zones have in common by the public map: how sharp a turn is, how far zones are apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from symveil.central.fit import Classes
from symveil.central.support import Support
from symveil.pictures.road_map import Road

TURNS = 8
"""Into how many sectors directions are divided."""
RINGS = 8
"""Into how many classes distances between zones are divided, up to the largest."""


def map_classes(support: Support, roads: Mapping[str, Road], symbols: Sequence[str]) -> Classes:
    """The classes of moves and of pairs of zones on a map; none where places are not known.

    Parameters
    ----------
    support
        The moves and the zones.
    roads
        Where symbols lie, as the two ends of a road or twice the same point.
    symbols
        The names of the symbols.
    """
    if not roads:
        return {}
    ends = np.array([roads[symbol] for symbol in symbols], dtype=np.float64)  # symbol, end, coordinate
    middle = ends.mean(axis=1)
    # a degree of longitude is shorter than one of latitude; metres need no such care, and are far beyond 90
    flat = np.cos(np.radians(middle[:, 1].mean())) if np.abs(ends[:, :, 1]).max() <= 90 else 1.0
    shape = np.array([flat, 1.0])
    way = (ends[:, 1] - ends[:, 0]) * shape
    there = (middle[support.target] - middle[support.source]) * shape
    heading = np.where(np.abs(way).sum(axis=1, keepdims=True) > 0, way, np.nan)
    direction = np.arctan2(heading[:, 1], heading[:, 0])
    turned = direction[support.target] - direction[support.source]
    turned = np.where(np.isnan(turned), np.arctan2(there[:, 1], there[:, 0]), turned)
    sector = np.round(turned / (2 * np.pi) * TURNS).astype(np.int64) % TURNS
    centres = np.zeros((support.zones, 2))
    np.add.at(centres, support.zone, middle * shape)
    centres /= np.maximum(np.bincount(support.zone, minlength=support.zones), 1)[:, None]
    apart = np.hypot(*(centres[:, None] - centres[None]).transpose(2, 0, 1))
    ring = np.minimum((apart / max(float(apart.max()), 1e-300) * RINGS).astype(np.int64), RINGS - 1)
    return {"moves": sector, "od": ring.reshape(-1)}
