"""The exponential mechanism for words (J19 §IV–V; B26 [21]).

A word is released with a probability that falls with its distance from the true word:
r(ℓ) = e^{−ηℓ} for the utility −d, r(ℓ) = e^{c/(ℓ+a)} for the utility 1/(d+a) of J19 Definition 12.

The papers divide the budget by two, to pay for a normaliser that might vary with the word. On
Σⁿ it does not vary (mathematics §5), so the tight calibration spends all of it:
the loss is exactly max over |d−d'| ≤ b of ln r(d)/r(d'), which is r(0)/r(b).
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Final

from flint import arb

from symveil.errors import ParameterError
from symveil.languages.free import FreeLanguage
from symveil.languages.neighbours import resample_symbols
from symveil.mechanisms.mechanism import WordMechanism
from symveil.models.word import Codes
from symveil.numerics.balls import ball
from symveil.numerics.rationals import Number
from symveil.privacy.guarantee import Guarantee
from symveil.privacy.parameters import Adjacency, read_offset, read_utility
from symveil.randomness import BitSource, Boundaries


class Exponential(WordMechanism):
    """The exponential mechanism, utility −d ("distance") or 1/(d + offset) ("inverse").

    >>> import symveil as sv
    >>> mechanism = sv.Exponential(sv.words("abc", 5), epsilon=2)
    >>> mechanism.guarantee
    Guarantee(epsilon=2.0, how='exact')
    >>> private = mechanism.release("abcab")
    >>> len(private)
    5
    >>> round(mechanism.distances("abcab").expected_error, 6)
    1.06507
    """

    name: ClassVar[str] = "exponential"

    def __init__(
        self,
        language: FreeLanguage,
        *,
        epsilon: Number,
        adjacency: Adjacency = 1,
        calibration: str = "tight",
        prior: str = "uniform",
        utility: str = "distance",
        offset: Number = 1,
    ) -> None:
        super().__init__(language, epsilon=epsilon, adjacency=adjacency, calibration=calibration)
        if prior != "uniform":
            raise ParameterError("prior", expected="uniform, the only prior of the free language", found=prior)
        self.utility: Final = read_utility(utility)
        self.offset: Final = read_offset(offset)

    @cached_property
    def rate(self) -> Fraction:
        """η of r(ℓ) = e^{−ηℓ}, or c of r(ℓ) = e^{c/(ℓ+a)}."""
        if self.calibration == "classic":
            spent, adjacency = self.epsilon / 2, self.adjacency
        else:
            spent, adjacency = self.epsilon, max(self.reach, 1)
        return spent / self._log_ratio_per_rate(adjacency)

    def _log_ratio_per_rate(self, distance: int) -> Fraction:
        """ln(r(0)/r(distance)) for rate 1: the sensitivity of the utility (J19 Lemma 1)."""
        if self.utility == "distance":
            return Fraction(distance)
        return distance / (self.offset * (distance + self.offset))

    @property
    def guarantee(self) -> Guarantee:
        """ln r(0)/r(b): attained where the released word is one of the two words."""
        return Guarantee.of_loss(self.rate * self._log_ratio_per_rate(self.reach), "exact")

    def weight_balls(self) -> list[arb]:
        """r(0), r(1), …, scaled to r(0) = 1."""
        return [
            (-ball(self.rate * self._log_ratio_per_rate(distance))).exp()
            for distance in range(self.language.largest_distance + 1)
        ]

    def _draw(self, codes: Codes, bits: BitSource) -> Codes:
        if self.utility == "inverse" or self.language.largest_distance == 0:
            return super()._draw(codes, bits)
        # e^{−ηd} is a product over the symbols: they are independent of each other
        return resample_symbols(codes, len(self.language.alphabet), self._resample_choice, bits)

    @cached_property
    def _resample_choice(self) -> Boundaries:
        return Boundaries(self._resample_chance, width=32)

    def _resample_chance(self) -> list[arb]:
        """λ = mz/(1+(m−1)z), z = e^{−η}: then a symbol stays with probability 1/(1+(m−1)z)."""
        size = len(self.language.alphabet)
        kept = (-ball(self.rate)).exp()
        return [size * kept / (1 + (size - 1) * kept)]
