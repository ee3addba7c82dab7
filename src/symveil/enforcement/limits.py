"""How much work and memory policies take: beyond it they refuse, sample, or go another way."""

from __future__ import annotations

from dataclasses import dataclass

from symveil.numbers.limits import Adjustable


@dataclass(frozen=True, kw_only=True, slots=True)
class EnforcementLimits:
    """The most of each."""

    positions: int = 3_000
    """Positions of a game whose costs are compared."""
    replies: int = 200_000
    """Replies of such a game."""
    refuting: int = 1_000
    """Observations that show why nothing can be enforced: a list for people."""
    spared: int = 50
    """Replies that are left out one by one."""
    outputs: int = 4_000_000
    """Safe observations of one length."""
    judged: int = 2_000
    """Observations that a mechanism is judged by."""
    judged_pairs: int = 200_000_000
    """The same × safe observations."""
    numbers_at_once: int = 2_000_000
    """Numbers of such a table at once."""
    pairs: int = 5_000_000
    """Pairs of observations whose losses are compared exactly."""
    substitutes: int = 1_000_000
    """Substitutes of one string that are written out."""
    outcomes: int = 5_000_000
    """Pairs of what happens and what is shown."""


LIMITS = Adjustable(EnforcementLimits())
