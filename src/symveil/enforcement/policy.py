"""What every policy says: which observation is shown instead, and with which probability."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Protocol

from symveil.drawing.diagram import Diagram
from symveil.enforcement.safe_observations import Events, SafeObservations
from symveil.errors import ParameterError
from symveil.models.word import Codes
from symveil.randomness import BitSource

# Laws with more outcomes than this are not written out.
MOST_OUTCOMES = 1_000_000


class Policy(Protocol):
    """A way to keep the secret. Observations are numbers of events."""

    @property
    def name(self) -> str:
        """The policy's public name."""

    @property
    def changes_everything(self) -> bool:
        """Whether every observation goes through it, or only those that give a secret away."""

    def can_replace(self, events: Events) -> bool:
        """Whether there is anything to show instead of an observation."""

    def law(self, events: Events) -> Mapping[Events, Fraction | float]:
        """What is shown for an observation, with its probability."""

    def draw(self, codes: Codes, bits: BitSource) -> Codes:
        """What is shown for each row, all of one length; a random draw."""

    def diagram(self, events: Events) -> Diagram:
        """The automaton of what may be shown instead of an observation."""


def read_omega(omega: int | None) -> int:
    """ω: the exact distance of a substitute."""
    if omega is None or isinstance(omega, bool) or not isinstance(omega, int) or omega < 1:
        raise ParameterError(
            "omega", expected="the exact distance of substitutes, a whole number, 1 or more", found=omega
        )
    return omega


def unsafe_rows(safe: SafeObservations, codes: Codes) -> list[int]:
    """The numbers of the rows that give a secret away."""
    rows = list(map(tuple, codes.tolist()))
    is_safe = {events: safe.is_safe(events) for events in set(rows)}
    return [number for number, events in enumerate(rows) if not is_safe[events]]
