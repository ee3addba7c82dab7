"""How much work and memory models take: beyond it they refuse, sample, or go another way."""

from __future__ import annotations

from dataclasses import dataclass

from symveil.numbers.limits import Adjustable


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelLimits:
    """The most of each."""

    cells: int = 20_000_000
    """Inputs × outputs of a channel."""
    moves: int = 5_000_000
    """Moves between the epochs of a system."""
    states: int = 200_000
    """States of a program."""
    steps: int = 100_000
    """Steps of one run between two functions."""
    draws: int = 200
    """Draws of one run between two functions, of values that are not certain."""
    all_steps: int = 10_000_000
    """Steps of all runs of one function; a draw counts as many as it has values."""


LIMITS = Adjustable(ModelLimits())
