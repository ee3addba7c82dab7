"""How much work and memory tasks take: beyond it they refuse, cut, or leave an answer out."""

from __future__ import annotations

from dataclasses import dataclass

from symveil.numbers.limits import Adjustable


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskLimits:
    """The most of each."""

    table_bytes: int = 1 << 30
    """Bytes of a private table that is read again."""
    named_length: int = 10_000
    """Symbols of words that only a manifest speaks of, and whose guarantee is computed."""
    named_length_on_model: int = 2000
    """The same on a model: symbols × b²."""
    settings: int = 50
    """Values of epsilon that are explained at once."""
    substitutes: int = 1000
    """Substitutes of one string that a document lists, the likeliest first."""
    table_cells: int = 4_000_000
    """Cells of a table of estimates."""
    epsilon: int = 50
    """The largest epsilon that is tried to see with which one an answer would have been possible."""
    run_groups: int = 40
    """Groups of words that intervals of such a table rest on."""
    agreeing_words: int = 200
    """Words by which it is seen how much a release with another epsilon agrees with its words."""
    transitions: int = 10_000_000
    """Moves of a chain that is learned."""
    listed_symbols: int = 1_000_000
    """Symbols of a log that are listed."""
    list_bytes: int = 1 << 24
    """Bytes of a file of public values."""
    passed_records: int = 10_000
    """First records in which kept columns are looked at."""
    versions: int = 1_000_000
    """Private versions of one word."""
    curve_points: int = 1000
    """Points of a curve."""


LIMITS = Adjustable(TaskLimits())
