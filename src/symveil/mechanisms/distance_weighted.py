"""Mechanisms whose law depends on the word only through distances: P(w'|w) = r(d(w,w')) / Z(w).

A subclass gives the weights r(0), r(1) …; counting the words at each distance does the rest:
draw ℓ with probability N(ℓ)r(ℓ)/Z, then a uniform word at distance ℓ (docs/theory/losses.md). On Σⁿ the
counts, and with them the table of the draw, are the same for every word.

Also J19 §V as printed, which is NOT PRIVATE: kept to reproduce the paper and to show its error (docs/errata.md, E1).
Equation 18 draws the distance with probability ρ(ℓ) ∝ exp(εa(b+a)/(2b(ℓ+a))) and leaves out N(ℓ), the
number of words at that distance. So each of the N(ℓ) words gets ρ(ℓ)/N(ℓ): one word at distance 0
weighs as much as all words at distance n together. (The printed sum starts at ℓ = 1; we let ℓ run
over 0..n and normalise, else the loss would be infinite at every ε.)
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import ClassVar, Final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symveil.errors import ParameterError
from symveil.languages.free import at_distance
from symveil.languages.language import Language, Neighbours
from symveil.laws.guarantee import Guarantee
from symveil.laws.law import WEIGHT_PRECISION, DistanceLaw, ErrorBounds, Moves, State, rounded_weight
from symveil.laws.parameters import Adjacency, read_offset
from symveil.mechanisms.chains import trellis_moves
from symveil.mechanisms.mechanism import Mechanism
from symveil.models.alphabet import FAR, Codes, Lengths, as_rows
from symveil.numbers.conversions import STANDARD_PRECISION, ball, nearest_float, precision
from symveil.numbers.once import computed_once
from symveil.numbers.rationals import Number
from symveil.randomness import BitSource, Boundaries

Counts = Callable[[], Sequence[arb]]
"""N(0), N(1) … at the working precision."""


class DistanceWeighted(Mechanism):
    """A mechanism on words of one length, given by weights r(ℓ)."""

    def __init__(
        self, language: Language, *, epsilon: Number, adjacency: Adjacency | None = None, calibration: str = "tight"
    ) -> None:
        super().__init__(language, epsilon=epsilon, adjacency=adjacency, calibration=calibration)
        if language.length is None:
            raise ParameterError("language", expected="words of one length", found=repr(language))
        self._length = language.length

    @abstractmethod
    def weight_balls(self, counts: Sequence[arb]) -> list[arb]:
        """r(0), r(1) …, one for each count, up to a common factor, at the working precision."""

    def _error_bounds(self, counts: Sequence[arb]) -> ErrorBounds | None:
        """Proved bounds on the expected error, where a theorem gives them."""
        del counts
        return None

    @computed_once
    def _around_any(self) -> Neighbours:
        """The words around any word, where all words look alike."""
        return self.language.around(ANY_WORD)

    # --- drawing -------------------------------------------------------------------------------

    def _draw(self, codes: Codes, lengths: Lengths, bits: BitSource) -> tuple[Codes, Lengths]:
        return self._draw_rows(as_rows(codes, lengths, self._length), bits).reshape(-1), lengths

    def _draw_rows(self, rows: Codes, bits: BitSource) -> Codes:
        """A private word for each row."""
        if not self.language.homogeneous:
            return self._draw_one_by_one(rows, bits)
        if self.language.largest_distance == 0:
            return rows.copy()
        distances = self._common_choice.pick(bits.words(len(rows)), bits)
        return at_distance(rows, distances, len(self.alphabet), bits)

    @computed_once
    def _common_choice(self) -> Boundaries:
        """Which distance, where all words look alike."""
        return self._distance_choice(self._around_any.count_balls)

    def _distance_choice(self, counts: Counts) -> Boundaries:
        return Boundaries(lambda: _cumulative(_masses(counts(), self.weight_balls(counts()))))

    def _draw_one_by_one(self, rows: Codes, bits: BitSource) -> Codes:
        released = rows.copy()
        different, number = np.unique(rows, axis=0, return_inverse=True)
        for index, word in enumerate(different):
            near = self.language.around(word)
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

    def _log_probabilities(self, word: Codes, released: Codes) -> NDArray[np.float64]:
        """ln P(row | word) for every row of `released`, all given as codes."""
        alike = self.language.homogeneous
        by_distance = self._common_log_weights if alike else self._log_weights(self.language.around(word).count_balls)
        distances = self.language.distance(word, released)
        # a word with another public start cannot be released
        return np.where(distances == FAR, -np.inf, by_distance[np.minimum(distances, len(by_distance) - 1)])

    @computed_once
    def _common_log_weights(self) -> NDArray[np.float64]:
        return self._log_weights(self._around_any.count_balls)

    def _log_weights_by_distance(self) -> NDArray[np.float64] | None:
        """ln P of one released word at distance 0, 1 … n, on Σⁿ."""
        return self._common_log_weights if self.language.homogeneous and len(self.alphabet) > 1 else None

    def _log_weights(self, counts: Counts) -> NDArray[np.float64]:
        """ln P(w'|w) of one word w' at each distance from w."""
        with precision(STANDARD_PRECISION):
            balls = counts()
            weights = self.weight_balls(balls)
            log_total = sum(_masses(balls, weights), start=arb(0)).log()
            return np.array([nearest_float(weight.log() - log_total) for weight in weights])

    def _law(self, codes: Codes | None) -> DistanceLaw:
        if codes is None or self.language.homogeneous:
            return self._common_law
        return self._law_around(self.language.around(codes))

    @computed_once
    def _common_law(self) -> DistanceLaw:
        return self._law_around(self._around_any)

    def _law_around(self, near: Neighbours) -> DistanceLaw:
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
                length=self._length,
                bounds=self._error_bounds(counts),
            )

    # --- for verifiers -------------------------------------------------------------------------

    def _moves(self, codes: Codes, shown: int) -> tuple[State, Moves, Fraction]:
        del shown
        alike = self.language.homogeneous
        weights, error = self._common_rationals if alike else self._rational_weights(self.language.around(codes))
        # an error of that size in a weight, and another one in the normaliser
        return *trellis_moves(self.language, codes, weights), 2 * error

    def _rational_weights(self, near: Neighbours) -> tuple[list[Fraction], Fraction]:
        """r(0), r(1) … up to a common factor as rationals, and a bound on the error of their logarithms."""
        with precision(WEIGHT_PRECISION):
            rounded = [rounded_weight(weight) for weight in self.weight_balls(near.count_balls())]
        return [weight for weight, _ in rounded], max(error for _, error in rounded)

    @computed_once
    def _common_rationals(self) -> tuple[list[Fraction], Fraction]:
        return self._rational_weights(self._around_any)


ANY_WORD: Codes = np.empty(0, dtype=np.int32)  # where all words look alike it does not matter which


def _masses(counts: Sequence[arb], weights: Sequence[arb]) -> list[arb]:
    return [count * weight for count, weight in zip(counts, weights, strict=True)]


def _cumulative(masses: Sequence[arb]) -> list[arb]:
    """The cut points between consecutive shares of the whole."""
    sums = [masses[0]]
    for mass in masses[1:]:
        sums.append(sums[-1] + mass)
    total = sums.pop()
    return [partial / total for partial in sums]


class Jones2019Printed(DistanceWeighted):
    """The mechanism of J19 §V exactly as its equation 18 prints it. Not ε-private.

    >>> from symveil.languages.free import words
    >>> printed = Jones2019Printed(words("ab", 4), epsilon=0)
    >>> printed.guarantee          # nominally 0; really ln(n(m−1)) = ln 4
    Guarantee(epsilon=1.3862943611198908, how='exact')
    """

    name = "jones2019-printed"
    label: ClassVar[str] = "as printed in J19 (not private)"
    private: ClassVar[bool] = False
    _zero_epsilon_allowed: ClassVar[bool] = True

    def __init__(
        self,
        language: Language,
        *,
        epsilon: Number,
        adjacency: Adjacency | None = None,
        offset: Number = 1,
    ) -> None:
        super().__init__(language, epsilon=epsilon, adjacency=adjacency, calibration="classic")
        if not language.homogeneous:
            raise ParameterError("language", expected="words(alphabet, length), for reproduction only", found="a model")
        self.offset: Final = read_offset(offset)

    @property
    def _proved_loss(self) -> Guarantee:
        """The largest |ln r(d)/r(d')| over |d−d'| ≤ b: what the printed law really gives away."""
        with precision(STANDARD_PRECISION):
            weights = self.weight_balls(self._around_any.count_balls())
            return Guarantee.of_loss(largest_log_ratio(weights, self.reach), "exact")

    def weight_balls(self, counts: Sequence[arb]) -> list[arb]:
        """ρ(ℓ)/N(ℓ), up to the normaliser of ρ."""
        a, b = self.offset, self.adjacency
        weights = []
        for distance, count in enumerate(counts):
            # ln ρ(ℓ)/ρ(0): the exponents themselves are huge for an extreme offset, their difference is not
            exponent = -self.epsilon * (b + a) * distance / (2 * b * (distance + a))
            weights.append(ball(exponent).exp() / count)
        return weights


def largest_log_ratio(weights: Sequence[arb], reach: int) -> arb:
    """max ln r(d)/r(d') over all distances with |d−d'| ≤ reach: the exact loss on Σⁿ.

    See docs/theory/losses.md.
    """
    logs = [weight.log() for weight in weights]
    largest = arb(0)
    for distance, value in enumerate(logs):
        for other in logs[distance + 1 : distance + 1 + reach]:
            largest = largest.max(abs(value - other))
    return largest
