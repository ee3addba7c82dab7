"""The policy `substitution` (Z25 §5): a sensitive string becomes a uniform string at an exact distance.

The strings at that distance need not be strings of the system; an observer recognises those that
are not, so they count as violations (docs/mechanisms/opacity-policies.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations, product

import numpy as np

from symveil.drawing.diagram import Diagram
from symveil.enforcement.policy import MOST_OUTCOMES, unsafe_rows
from symveil.enforcement.safe_observations import Events, SafeObservations
from symveil.errors import TooLargeError
from symveil.languages.hamming_automaton import hamming_automaton
from symveil.languages.neighbours import at_distance
from symveil.models.word import Codes
from symveil.randomness import BitSource


class Substitution:
    """Uniform over the strings of observable events at distance exactly ω."""

    name = "substitution"
    changes_everything = False

    def __init__(self, safe: SafeObservations, omega: int) -> None:
        self._safe, self._omega = safe, omega
        self._events = len(safe.alphabet)

    def can_replace(self, events: Events) -> bool:
        """Whether there is a string at that distance at all."""
        return self._count(len(events)) > 0

    def _count(self, length: int) -> int:
        if self._omega > length:
            return 0  # without the power, which an absurd ω would make endless
        return int(math.comb(length, self._omega) * (self._events - 1) ** self._omega)

    def law(self, events: Events) -> Mapping[Events, Fraction]:
        """A safe observation is shown as it is."""
        if self._safe.is_safe(events):
            return {events: Fraction(1)}
        count = self._count(len(events))
        if count > MOST_OUTCOMES:
            raise TooLargeError(
                f"substitution: expected at most {MOST_OUTCOMES} substitutes to write out, found {count}; use a "
                "smaller omega or length"
            )
        each = Fraction(1, max(count, 1))
        return {self._changed(events, places, others): each for places, others in self._choices(len(events))}

    def _choices(self, length: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        shifts = range(1, self._events)
        return [
            (places, others)
            for places in combinations(range(length), self._omega)
            for others in product(shifts, repeat=self._omega)
        ]

    def _changed(self, events: Events, places: tuple[int, ...], shifts: tuple[int, ...]) -> Events:
        changed = list(events)
        for place, shift in zip(places, shifts, strict=True):
            changed[place] = (changed[place] + shift) % self._events
        return tuple(changed)

    def draw(self, codes: Codes, bits: BitSource) -> Codes:
        """What is shown for each row."""
        shown = codes.copy()
        rows = unsafe_rows(self._safe, codes)
        if rows:
            shown[rows] = at_distance(codes[rows], np.full(len(rows), self._omega), self._events, bits)
        return shown

    def diagram(self, events: Events) -> Diagram:
        """The distance-limited Levenshtein automaton (Z25 Definition 10, Fig. 6)."""
        word = self._safe.seen.spelled(events)
        return hamming_automaton(word, alphabet=self._safe.alphabet, exactly=self._omega).to_diagram()
