"""How much work and memory a release and its readers take: beyond it they cut, refuse, or leave an answer out."""

from __future__ import annotations

from dataclasses import dataclass

from symveil.numbers.limits import Adjustable


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleaseLimits:
    """The most of each."""

    released_at_once: int = 1 << 26
    """Bytes of released symbols that are made at once: a batch with more is cut."""
    sequences: int = 200_000_000
    """Sequences of a private file: a manifest that speaks of more is not believed, as each of them gets a group."""
    metric_symbols: int = 1500
    """Symbols up to which it is computed whether costs are positive definite."""
    names_at_once: int = 50_000
    """Persons of a cluster that are charged at once."""
    remembered_names: int = 1_000_000
    """Names of records that are compared in memory; more are compared by way of the disk."""
    protection_edges: int = 200_000
    """Symbols × edges of words up to which a manifest says how many others lie near a typical one."""
    protection_length: int = 500
    """Symbols of such a word."""


LIMITS = Adjustable(ReleaseLimits())
