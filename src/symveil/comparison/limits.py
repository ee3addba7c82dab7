"""How much work metrics of two files take: beyond it they are computed another way, or not at all."""

from __future__ import annotations

from dataclasses import dataclass

from symveil.numbers.limits import Adjustable


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparisonLimits:
    """The most of each. What a metric is, its buckets and squares, is written beside it."""

    points: int = 64
    """Positions of a word between which all distances are computed; of more, those between the corners of the hull."""
    variant_pairs: int = 4_000_000
    """Pairs of variants: beyond it distances and transport take minutes."""
    assigned_units: int = 3000
    assigned_copies: int = 4
    """Units of a transport, and of them per variant, that are assigned one by one; of more, paths are augmented."""


LIMITS = Adjustable(ComparisonLimits())
