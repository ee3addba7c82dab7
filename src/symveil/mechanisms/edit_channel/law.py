"""The law of the edit channel: P(released | word) by a forward pass, and how many edits are made.

All probabilities are taken relative to a uniform word of the same length, m^{−L}: then a gap of t
symbols weighs g(t), a kept symbol mκ, a substituted one mσ/(m−1), a deleted one δ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from flint import arb, arb_poly
from numpy.typing import NDArray

from symveil.calibration.edit_channel_loss import ChannelParameters, inserted_above, none_inserted
from symveil.laws.law import DistanceLaw
from symveil.models.alphabet import Codes
from symveil.numbers.conversions import STANDARD_PRECISION, ball, nearest_float, precision
from symveil.numbers.once import computed_once
from symveil.trellis.semirings import FLOATS, LOGARITHMS, Numbers

# No product that a float pass meets may come near the ends of the range of doubles, 10^±308.
_SAFE_LOGARITHM = 600.0
_MOST_ROWS = 200
_NEGLIGIBLE = 1e-12

Floats = NDArray[np.float64]


class ChannelForward:
    """P(w'|w) for one channel: in floats where nothing can leave their range, by logarithms otherwise."""

    def __init__(self, parameters: ChannelParameters, symbols: int) -> None:
        self.parameters = parameters
        self.symbols = symbols

    def log_probabilities(self, word: Codes, released: Codes) -> Floats:
        """ln P(row | word) for rows of one length."""
        if self.parameters.tells_nothing:
            return np.full(len(released), 0.0 if released.shape[1] == 0 else -np.inf)
        if self._floats_suffice(len(word), released.shape[1]):
            with np.errstate(divide="ignore"):
                logs = np.log(self._passed(word, released, FLOATS))
        else:  # logarithms have no range to leave
            logs = self._passed(word, released, LOGARITHMS)
        return np.asarray(logs - released.shape[1] * math.log(self.symbols))

    def _floats_suffice(self, length: int, released: int) -> bool:
        """Whether even the unlikeliest way for a word to arise is far inside the range of doubles."""
        own, other, delta, log_g0, log_rho = self._logarithms
        smallest = length * min(own, other, delta) + (length + 1) * log_g0
        smallest += released * (log_rho - float(self.parameters.power) * math.log(2))  # (1+t)^q ≤ 2^{qt}
        return smallest > -_SAFE_LOGARITHM and length * max(own, 0.0) < _SAFE_LOGARITHM

    @computed_once
    def _logarithms(self) -> tuple[float, float, float, float, float]:
        with precision(STANDARD_PRECISION):
            own, other, delta = self._weights()
            values = (own, other if not other.is_zero() else own, delta, none_inserted(self.parameters))
            logs = [nearest_float(value.log()) if not value.is_zero() else 0.0 for value in values]
            return logs[0], logs[1], logs[2], logs[3], nearest_float(ball(self.parameters.ratio).log())

    def _weights(self) -> tuple[arb, arb, arb]:
        """What a kept, a substituted and a deleted symbol weigh."""
        parameters, m = self.parameters, self.symbols
        other = m * ball(parameters.substitution) / (m - 1) if m > 1 else arb(0)
        return m * ball(parameters.keep), other, ball(parameters.deletion)

    def _gap_balls(self, most: int) -> list[arb]:
        """g(0) … g(most)."""
        weights, total = inserted_above(self.parameters, 0, most + 1)
        return [weight / total for weight in weights]

    def _passed(self, word: Codes, released: Codes, numbers: Numbers) -> Floats:
        """What all ways from the word to each row weigh, in numbers of one kind."""
        count, length = released.shape
        number, multiply = _log if numbers is LOGARITHMS else nearest_float, numbers.multiply
        with precision(STANDARD_PRECISION):
            gap = np.array([number(weight) for weight in self._gap_balls(length)])
            own, other, delta = (number(weight) for weight in self._weights())
        shift = np.subtract.outer(np.arange(length + 1), np.arange(length + 1))
        insert = np.where(shift <= 0, gap[np.abs(shift)], numbers.zero)  # insert[i, j] = g(j − i)
        product = _product_of_logarithms if numbers is LOGARITHMS else np.matmul
        ways = np.broadcast_to(gap, (count, length + 1))
        for symbol in word.tolist():
            after = multiply(delta, ways)
            step = multiply(ways[:, :-1], np.where(released == symbol, own, other))
            after[:, 1:] = numbers.add(after[:, 1:], step)
            ways = product(after, insert)
        return ways[:, -1]


def _product_of_logarithms(rows: Floats, matrix: Floats) -> Floats:
    """ln of the product of matrices whose logarithms these are: row by row, so that little memory is needed."""
    results = np.empty((len(rows), matrix.shape[1]))
    for number, row in enumerate(rows):
        terms = row[:, None] + matrix
        top = terms.max(axis=0)
        results[number] = top + np.log(np.exp(terms - top).sum(axis=0))
    return results


def _log(weight: arb) -> float:
    return -math.inf if weight.is_zero() else nearest_float(weight.log())


def _padded(poly: arb_poly, size: int) -> list[arb]:
    """The first `size` coefficients, zeros included."""
    coefficients = list(poly.coeffs()[:size])
    return coefficients + [arb(0)] * (size - len(coefficients))


@dataclass(frozen=True, slots=True)
class EditCounts:
    """P(exactly e edits) for e = 0, 1, …; the last chance is that of so many or more, where there can be more."""

    chances: list[arb]
    or_more: bool

    def with_words(self, words: list[int], mean: float, length: int) -> DistanceLaw:
        """The law, with the number of words at each distance as far as they are known."""
        values = [nearest_float(chance) for chance in self.chances]
        with precision(STANDARD_PRECISION):
            logs = [nearest_float(chance.log()) if chance > 0 else -np.inf for chance in self.chances]
        known: list[int | None] = [*words, *([None] * len(self.chances))]
        return DistanceLaw(
            distances=np.arange(len(values)),
            all_counts=lambda: known[: len(values)],
            probabilities=np.array([max(value, 0.0) for value in values]),
            log_probabilities=np.array(logs),
            expected_error=mean,
            length=length,
            measured="edits",
            or_more=self.or_more,
            metric="levenshtein",
        )


def edits_law(parameters: ChannelParameters, length: int) -> EditCounts:
    """How many edits are made in a word: a binomial number of deletions and substitutions, and n+1 gaps.

    Its generating function is (1−p+px)ⁿ·g(x)^{n+1}, p = δ+σ, multiplied out by repeated squaring.
    """
    if parameters.tells_nothing:
        return EditCounts([arb(0)] * length + [arb(1)], or_more=False)
    with precision(4 * STANDARD_PRECISION):
        weights, total = inserted_above(parameters, 0, _MOST_ROWS)
        edited = ball(parameters.deletion + parameters.substitution)
        gaps = arb_poly([weight / total for weight in weights])
        law = _power(arb_poly([1 - edited, edited]), length)
        law = _short(law * _power(gaps, length + 1))
        chances, left = [], arb(1)
        for chance in _padded(law, _MOST_ROWS):
            chances.append(chance)
            left -= chance
            if left < _NEGLIGIBLE:
                break
        return EditCounts([*chances, left], or_more=True)


def _short(poly: arb_poly) -> arb_poly:
    return arb_poly(poly.coeffs()[:_MOST_ROWS])


def _power(base: arb_poly, exponent: int) -> arb_poly:
    result, square = arb_poly([1]), base
    while exponent:
        if exponent & 1:
            result = _short(result * square)
        square = _short(square * square)
        exponent >>= 1
    return result
