"""The policy `substitution` (Z25 §5): a sensitive string becomes a uniform string at an exact distance.

The strings at that distance need not be strings of the system; an observer recognises those that
are not, so they count as violations (docs/mechanisms/opacity-policies.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, product

import numpy as np

from symveil.languages.hamming_automaton import hamming_automaton
from symveil.languages.neighbours import at_distance
from symveil.models.alphabet import Alphabet
from symveil.models.word import Codes
from symveil.pictures.diagram import Diagram
from symveil.randomness import BitSource
from symveil.verification.opacity.safe_observations import Events


class AnySubstitutes:
    """The strings of observable events at distance exactly ω."""

    name = "substitution"
    are_safe = False

    def __init__(self, alphabet: Alphabet, omega: int) -> None:
        self._alphabet, self.omega = alphabet, omega

    def count(self, events: Events) -> int:
        """How many there are."""
        if self.omega > len(events):
            return 0  # before the power, which takes for ever where ω is very large
        return int(math.comb(len(events), self.omega) * (len(self._alphabet) - 1) ** self.omega)

    def listed(self, events: Events) -> Iterator[Events]:
        """All of them: ω positions, and another event in each."""
        for positions in combinations(range(len(events)), self.omega):
            for shifts in product(range(1, len(self._alphabet)), repeat=self.omega):
                changed = list(events)
                for position, shift in zip(positions, shifts, strict=True):
                    changed[position] = (changed[position] + shift) % len(self._alphabet)
                yield tuple(changed)

    def draw(self, codes: Codes, bits: BitSource) -> Codes:
        """A uniform one for each row."""
        return at_distance(codes, np.full(len(codes), self.omega), len(self._alphabet), bits)

    def diagram(self, events: Events) -> Diagram:
        """The distance-limited Levenshtein automaton (Z25 Definition 10, Fig. 6)."""
        word = tuple(self._alphabet.symbols[event] for event in events)
        return hamming_automaton(word, alphabet=self._alphabet, exactly=self.omega).to_diagram()
