"""The policy `safe` (Z25 Algorithm 2): a sensitive string becomes a uniform *safe* observation at an exact distance.

The modified Levenshtein automaton is the automaton of the strings at distance exactly ω times the
graph of safe observations, trimmed. (Z25 multiplies with the observer and asserts that the secret
is then avoided; restricting it to safe observations makes it true: docs/errata.md, E5.)
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from symveil.drawing.diagram import Diagram
from symveil.enforcement.policy import MOST_OUTCOMES, unsafe_rows
from symveil.enforcement.safe_observations import Events, SafeObservations
from symveil.errors import ParameterError, TooLargeError
from symveil.languages.observer_diagram import estimate_label
from symveil.languages.run_counts import RunNeighbours
from symveil.languages.run_product import product_diagram
from symveil.models.word import Codes
from symveil.randomness import BitSource


class Safe:
    """Uniform over the safe observations at distance exactly ω."""

    name = "safe"
    changes_everything = False

    def __init__(self, safe: SafeObservations, omega: int) -> None:
        self._safe, self._omega = safe, omega
        self._near: dict[Events, RunNeighbours | None] = {}

    def can_replace(self, events: Events) -> bool:
        """Whether there is a safe observation at that distance."""
        near = self._neighbours(events)
        return near is not None and near.count(self._omega) > 0

    def _neighbours(self, events: Events) -> RunNeighbours | None:
        if events not in self._near:
            language = self._safe.language(len(events))
            codes = np.array(events, dtype=np.int32)
            self._near[events] = None if language is None else RunNeighbours(language, codes, farthest=self._omega)
        return self._near[events]

    def law(self, events: Events) -> Mapping[Events, Fraction]:
        """A safe observation is shown as it is."""
        if self._safe.is_safe(events):
            return {events: Fraction(1)}
        near, graph = self._neighbours(events), self._safe.graph
        if near is None or graph is None:
            return {}
        count = near.count(self._omega)
        if count > MOST_OUTCOMES:
            raise TooLargeError(
                f"safe: expected at most {MOST_OUTCOMES} substitutes to write out, found {count}; use a smaller omega "
                "or length"
            )
        words: list[tuple[Events, int, int]] = [((), graph.start, self._omega)] if count else []
        for position, own in enumerate(events):
            words = [
                ((*word, symbol), target, errors - (symbol != own))
                for word, state, errors in words
                for symbol, target in ((int(graph.symbol[e]), int(graph.target[e])) for e in graph.edges(state))
                if near.ways(position + 1, errors - (symbol != own), target)
            ]
        return {word: Fraction(1, count) for word, _, _ in words}

    def draw(self, codes: Codes, bits: BitSource) -> Codes:
        """What is shown for each row."""
        shown = codes.copy()
        for row in unsafe_rows(self._safe, codes):
            near = self._neighbours(tuple(codes[row].tolist()))
            if near is None:
                raise AssertionError("whoever draws has asked whether there is anything to draw")
            shown[row] = near.draw(self._omega, bits)
        return shown

    def diagram(self, events: Events) -> Diagram:
        """The modified Levenshtein automaton (Z25 Algorithm 2, Fig. 7 and 10): estimates beside distances."""
        language = self._safe.language(len(events))
        if language is None or not self.can_replace(events):
            raise ParameterError("draw", expected="an observation that can be replaced", found="none")
        codes = np.array(events, dtype=np.int32)
        return product_diagram(language, codes, exactly=self._omega, state_label=self._estimate)

    def _estimate(self, state: int) -> str:
        return "\n".join(estimate_label(self._safe.seen.names(self._safe.explored.states[state][0])))
