"""The policy `safe` (Z25 Algorithm 2): a sensitive string becomes a uniform *safe* observation at an exact distance.

The modified Levenshtein automaton is the automaton of the strings at distance exactly ω times the
graph of safe observations, trimmed. (Z25 multiplies with the observer and asserts that the secret
is then avoided; restricting it to safe observations makes it true: docs/errata.md, E5.)

The policy `substitution` (Z25 §5): a sensitive string becomes a uniform string at an exact distance.

The strings at that distance need not be strings of the system; an observer recognises those that
are not, so they count as violations (docs/opacity.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, product

import numpy as np

from symveil.errors import ParameterError
from symveil.languages.free import at_distance
from symveil.languages.hamming_automaton import hamming_automaton
from symveil.languages.run_counts import RunNeighbours
from symveil.languages.run_product import product_diagram
from symveil.languages.runs import RunLanguage
from symveil.models.alphabet import Alphabet
from symveil.models.word import Codes
from symveil.numbers.once import Memo
from symveil.pictures.diagram import Diagram
from symveil.randomness import BitSource
from symveil.verification.opacity.observation import estimate_label
from symveil.verification.opacity.safe_observations import Events, SafeObservations


class SafeSubstitutes:
    """The safe observations at distance exactly ω."""

    name = "safe"
    are_safe = True

    def __init__(self, safe: SafeObservations, omega: int) -> None:
        self._safe, self.omega = safe, omega
        self._near = Memo(self._neighbours)

    def count(self, events: Events) -> int:
        """How many there are."""
        near = self._near[events]
        return 0 if near is None else near.count(self.omega)

    def _neighbours(self, events: Events) -> RunNeighbours | None:
        language = self._safe.language(len(events))
        codes = np.array(events, dtype=np.int32)
        return None if language is None else RunNeighbours(language, codes, farthest=self.omega)

    def listed(self, events: Events) -> list[Events]:
        """All of them, along the graph of safe observations."""
        near, graph = self._near[events], self._safe.graph
        if near is None or graph is None or not near.count(self.omega):
            return []
        words: list[tuple[Events, int, int]] = [((), graph.start, self.omega)]
        for position, own in enumerate(events):
            words = [
                ((*word, symbol), target, errors - (symbol != own))
                for word, state, errors in words
                for symbol, target in self._safe.moves[state].items()
                if near.ways(position + 1, errors - (symbol != own), target)
            ]
        return [word for word, _, _ in words]

    def draw(self, codes: Codes, bits: BitSource) -> Codes:
        """A uniform one for each row."""
        drawn = codes.copy()
        for row, events in enumerate(codes.tolist()):
            near = self._near[tuple(events)]
            if near is None:
                raise AssertionError("only strings with a substitute are replaced")
            drawn[row] = near.draw(self.omega, bits)
        return drawn

    def diagram(self, events: Events) -> Diagram:
        """The modified Levenshtein automaton (Z25 Algorithm 2, Fig. 7 and 10): estimates beside distances."""
        language = self._safe.language(len(events))
        if language is None or not self.count(events):
            raise ParameterError("draw", expected="an observation that can be replaced", found="none")
        return safe_diagram(self._safe, language, events, self.omega)


def safe_diagram(safe: SafeObservations, language: RunLanguage, events: Events, distance: int) -> Diagram:
    """The safe observations at exactly this distance, with what is estimated after each of their events."""

    def estimate(state: int) -> str:
        return "\n".join(estimate_label(safe.observed.names(safe.explored.states[state][0])))

    return product_diagram(language, np.array(events, dtype=np.int32), exactly=distance, state_label=estimate)


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
