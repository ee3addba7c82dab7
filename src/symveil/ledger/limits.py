"""How much of a ledger is looked at together, and how finely losses are composed."""

from __future__ import annotations

from dataclasses import dataclass

from symveil.numbers.limits import Adjustable


@dataclass(frozen=True, kw_only=True, slots=True)
class LedgerLimits:
    """One number for each."""

    points: int = 1 << 20
    """About how many points of the grid of losses are used; it is coarser where losses are large."""
    most_points: int = 1 << 22
    """With more the losses are added: composing would take too much memory and time."""
    direct_points: int = 1 << 12
    """Up to so many points sums are computed without a Fourier transform, whose error is too large for a tiny δ."""
    kinds: int = 64
    """How many kinds of losses are composed; the smaller rest is added."""
    largest_composed: int = 20
    """The largest loss that is composed: larger ones are added."""
    persons_at_once: int = 500
    """Whose histories are read together."""
    rows_at_once: int = 10_000
    """Of a table."""
    patience: int = 600
    """Seconds that a transaction waits for another one to finish."""
    names_at_once: int = 50_000
    """Of persons who are charged or left out."""
    names_compared: int = 200
    """With letters that the database does not fold: compared with those who are charged."""


LIMITS = Adjustable(LedgerLimits())
