"""How much a picture shows: beyond it a drawing is refused, shortened or made of fewer marks.

Sizes and distances in a picture stand beside what is drawn with them.
"""

from __future__ import annotations

from dataclasses import dataclass

from symveil.numbers.limits import Adjustable


@dataclass(frozen=True, kw_only=True, slots=True)
class PictureLimits:
    """The most of each."""

    states: int = 100
    """States of a model that is drawn …"""
    arrows: int = 300
    """… and arrows between them: more are too many to read."""
    sweeps: int = 12
    """Passes over the columns that remove crossings."""
    relaxations: int = 40
    """Passes over the columns that bring neighbours level."""

    bars: int = 160
    """Bars of a chart that are drawn one by one; of more, the outline is drawn …"""
    faint_bar: float = 1e-4
    """… without those that are lower than this share of the highest."""

    map_numbers: int = 40
    """Roads of a map that are numbered."""
    map_flows: int = 80
    """Flows of a map of a town."""
    map_names: int = 25
    """Symbols with a name on a map of a town."""

    symbol_length: int = 20
    """Characters of a symbol."""
    listed_symbols: int = 4
    listed_length: int = 24
    """Symbols of a label that are listed, and their characters; of more, the label says which one is missing."""
    joined_texts: int = 16
    line_length: int = 20
    """Texts of an arrow, and characters of one of its lines."""
    set_texts: int = 8
    """Texts of a set."""


LIMITS = Adjustable(PictureLimits())
