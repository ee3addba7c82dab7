"""J19 §V as printed. NOT PRIVATE: kept to reproduce the paper and to show its error (docs/errata.md, E1).

Equation 18 draws the distance with probability ρ(ℓ) ∝ exp(εa(b+a)/(2b(ℓ+a))) and leaves out N(ℓ), the
number of words at that distance. So each of the N(ℓ) words gets ρ(ℓ)/N(ℓ): one word at distance 0
weighs as much as all words at distance n together. (The printed sum starts at ℓ = 1; we let ℓ run
over 0..n and normalise, else the loss would be infinite at every ε.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from flint import arb

from symveil.errors import ParameterError
from symveil.languages.language import Language
from symveil.laws.guarantee import Guarantee
from symveil.laws.parameters import Adjacency, read_offset
from symveil.mechanisms.distance_weighted import DistanceWeighted
from symveil.numbers.conversions import STANDARD_PRECISION, ball, precision
from symveil.numbers.rationals import Number


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
    zero_epsilon_allowed: ClassVar[bool] = True

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
    def proved_loss(self) -> Guarantee:
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
