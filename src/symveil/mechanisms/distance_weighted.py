"""Mechanisms whose law depends on the word only through distances: P(w'|w) = r(d(w,w')) / Z(w).

A subclass gives the weights r(0), r(1) …; counting the words at each distance does the rest:
draw ℓ with probability N(ℓ)r(ℓ)/Z, then a uniform word at distance ℓ (docs/theory/tight-calibration.md). On Σⁿ the
counts, and with them the table of the draw, are the same for every word.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symveil.languages.free import FreeLanguage
from symveil.languages.neighbours import at_distance
from symveil.languages.run_counts import RunNeighbours
from symveil.mechanisms.mechanism import WordMechanism
from symveil.mechanisms.trellis_chain import trellis_moves
from symveil.models.word import Codes
from symveil.numerics.balls import STANDARD_PRECISION, nearest_float, precision
from symveil.numerics.once import computed_once
from symveil.privacy.law import DistanceLaw, ErrorBounds
from symveil.privacy.release_chain import WEIGHT_PRECISION, Moves, State, rounded_weight
from symveil.randomness import BitSource, Boundaries

Counts = Callable[[], Sequence[arb]]
"""N(0), N(1) … at the working precision."""


class DistanceWeighted(WordMechanism):
    """A mechanism given by weights r(ℓ)."""

    @abstractmethod
    def weight_balls(self, counts: Sequence[arb]) -> list[arb]:
        """r(0), r(1) …, one for each count, up to a common factor, at the working precision."""

    def _error_bounds(self, counts: Sequence[arb]) -> ErrorBounds | None:
        """Proved bounds on the expected error, where a theorem gives them."""
        del counts
        return None

    def _around(self, word: Codes) -> FreeLanguage | RunNeighbours:
        """What counts the words around `word`: on Σⁿ the language itself, since all words are alike."""
        return self.language if isinstance(self.language, FreeLanguage) else RunNeighbours(self.language, word)

    # --- drawing -------------------------------------------------------------------------------

    def _draw(self, codes: Codes, bits: BitSource) -> Codes:
        if not isinstance(self.language, FreeLanguage):
            return self._draw_on_model(codes, bits)
        if self.language.largest_distance == 0:
            return codes.copy()
        distances = self._free_choice.pick(bits.words(len(codes)), bits)
        return at_distance(codes, distances, len(self.language.alphabet), bits)

    @computed_once
    def _free_choice(self) -> Boundaries:
        return self._distance_choice(self._around(ANY_WORD).count_balls)

    def _distance_choice(self, counts: Counts) -> Boundaries:
        return Boundaries(lambda: _cumulative(_masses(counts(), self.weight_balls(counts()))))

    def _draw_on_model(self, codes: Codes, bits: BitSource) -> Codes:
        released = codes.copy()
        different, number = np.unique(codes, axis=0, return_inverse=True)
        for index, word in enumerate(different):
            near = RunNeighbours(self.language, word)  # type: ignore[arg-type]  # not the free language
            pick = self._picker(near.count_balls)
            for row in np.flatnonzero(number.reshape(-1) == index):
                own = bits.of_row(int(row))
                released[row] = near.draw(pick(own), own)
        return released

    def _picker(self, counts: Counts) -> Callable[[BitSource], int]:
        """How the distance is drawn when words are drawn one by one."""
        choice = self._distance_choice(counts)
        return lambda bits: int(choice.pick(bits.words(1), bits)[0])

    # --- the law -------------------------------------------------------------------------------

    def log_probabilities(self, word: Codes, released: Codes) -> NDArray[np.float64]:
        """ln P(row | word) for every row of `released`, all given as codes."""
        if isinstance(self.language, FreeLanguage):
            return np.asarray(self._free_log_weights[np.count_nonzero(released != word, axis=1)])
        by_distance = self._log_weights(RunNeighbours(self.language, word).count_balls)
        distances = np.count_nonzero(released != word, axis=1)
        # a word with another public start cannot be released
        possible = self.language.comparable(word, released)
        return np.where(possible, by_distance[np.minimum(distances, len(by_distance) - 1)], -np.inf)

    @computed_once
    def _free_log_weights(self) -> NDArray[np.float64]:
        return self._log_weights(self._around(ANY_WORD).count_balls)

    def _log_weights(self, counts: Counts) -> NDArray[np.float64]:
        """ln P(w'|w) of one word w' at each distance from w."""
        with precision(STANDARD_PRECISION):
            balls = counts()
            weights = self.weight_balls(balls)
            log_total = sum(_masses(balls, weights), start=arb(0)).log()
            return np.array([nearest_float(weight.log() - log_total) for weight in weights])

    def _law(self, codes: Codes | None) -> DistanceLaw:
        if codes is None or isinstance(self.language, FreeLanguage):
            return self._free_law
        return self._law_around(self._around(codes))

    @computed_once
    def _free_law(self) -> DistanceLaw:
        return self._law_around(self._around(ANY_WORD))

    def _law_around(self, near: FreeLanguage | RunNeighbours) -> DistanceLaw:
        with precision(STANDARD_PRECISION):
            counts = near.count_balls()
            masses = _masses(counts, self.weight_balls(counts))
            total = sum(masses, start=arb(0))
            chances = {distance: mass / total for distance, mass in enumerate(masses) if not counts[distance].is_zero()}
            expected = sum((distance * chance for distance, chance in chances.items()), start=arb(0))
            return DistanceLaw(
                distances=np.array(list(chances)),
                all_counts=near.counts,
                probabilities=np.array([nearest_float(chance) for chance in chances.values()]),
                log_probabilities=np.array([nearest_float(chance.log()) for chance in chances.values()]),
                expected_error=nearest_float(expected),
                length=self.language.length,
                bounds=self._error_bounds(counts),
            )

    # --- for verifiers -------------------------------------------------------------------------

    def _moves(self, codes: Codes) -> tuple[State, Moves, Fraction]:
        if isinstance(self.language, FreeLanguage):
            weights, error = self._free_rational_weights
        else:
            weights, error = self._rational_weights(self._around(codes))
        # an error of that size in a weight, and another one in the normaliser
        return *trellis_moves(self.language, codes, weights, prior=self._edge_prior), 2 * error

    def _rational_weights(self, near: FreeLanguage | RunNeighbours) -> tuple[list[Fraction], Fraction]:
        """r(0), r(1) … up to a common factor as rationals, and a bound on the error of their logarithms."""
        with precision(WEIGHT_PRECISION):
            rounded = [rounded_weight(weight) for weight in self.weight_balls(near.count_balls())]
        return [weight for weight, _ in rounded], max(error for _, error in rounded)

    @computed_once
    def _free_rational_weights(self) -> tuple[list[Fraction], Fraction]:
        return self._rational_weights(self._around(ANY_WORD))

    @property
    def _edge_prior(self) -> Sequence[Fraction] | None:
        """The public prior of every edge of the model, where words are weighted by it."""
        return None


ANY_WORD: Codes = np.empty(0, dtype=np.int32)  # on Σⁿ it does not matter which


def _masses(counts: Sequence[arb], weights: Sequence[arb]) -> list[arb]:
    return [count * weight for count, weight in zip(counts, weights, strict=True)]


def _cumulative(masses: Sequence[arb]) -> list[arb]:
    """The cut points between consecutive shares of the whole."""
    sums = [masses[0]]
    for mass in masses[1:]:
        sums.append(sums[-1] + mass)
    total = sums.pop()
    return [partial / total for partial in sums]
