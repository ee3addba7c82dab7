"""How much work and memory maps take: beyond it a grid is refused, or fewer links and paths are looked at."""

from __future__ import annotations

from dataclasses import dataclass

from symveil.numbers.limits import Adjustable


@dataclass(frozen=True, kw_only=True, slots=True)
class GeographyLimits:
    """The most of each."""

    cells: int = 1_000_000
    """Cells of a grid; links may lie in twenty times as many."""
    pairs_at_once: int = 1 << 22
    """Positions × pieces of links whose distances are computed together."""
    candidates: int = 16
    """Links near a position that are looked at."""
    skipped_positions: int = 3
    """Positions one after the other that are left out before a trip is matched in two parts."""
    remembered_distances: int = 2_000_000
    """Distances between links that searches leave behind for later ones."""


LIMITS = Adjustable(GeographyLimits())
