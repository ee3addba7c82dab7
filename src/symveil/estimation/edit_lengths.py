"""How many true words have each length, behind an edit channel: exactly unbiased, for short words.

The released length ℓ of a word of n symbols has E[x^ℓ] = G(x)·s(x)^n, s(x) = G(x)·(δ + (1−δ)x). Written as a function
of s, the coefficient of s^k in x(s)^ℓ/G(x(s)) is therefore a function of ℓ whose expectation is [n = k]: exactly
unbiased, since x(s) is the inverse of s around x₀, where s is 0. Its variance grows with k, so only the first lengths
are estimated.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from flint import arb, arb_series, ctx
from numpy.typing import NDArray

from symveil.calibration.edit_channel import ChannelParameters, inserted_above
from symveil.estimation.presence import USEFUL
from symveil.estimation.statistics import Batch
from symveil.estimation.table import EstimatedTable, TableEstimator, Target, Variances, factors
from symveil.numbers.conversions import ball, nearest_float, precision
from symveil.numbers.once import computed_once

Floats = NDArray[np.float64]
_MOST_LENGTHS = 24
_BITS = 512
_NEGLIGIBLE = 2.0**-400


def length_indicators(parameters: ChannelParameters, longest: int, lengths: int = _MOST_LENGTHS) -> Floats:
    """A row for each released length ℓ = 0 … longest, a column for each true length k: what estimates [n = k].

    Parameters
    ----------
    parameters
        The channel, with δ below 1/2.
    longest
        The longest released word.
    lengths
        How many true lengths, from 0 on.
    """
    with precision(_BITS):
        cap, ctx.cap = ctx.cap, lengths + 1
        try:
            inverse, over = _inverse(parameters, lengths)
            rows = []
            power = arb_series([1])
            for _ in range(longest + 1):
                product = power * over
                rows.append([nearest_float(product[k]) for k in range(lengths)])
                power *= inverse
        finally:
            ctx.cap = cap
    return np.array(rows)


def _inverse(parameters: ChannelParameters, lengths: int) -> tuple[arb_series, arb_series]:
    """x(s) and 1/G(x(s)) as series in s."""
    delta = ball(parameters.deletion)
    root = -delta / (1 - delta)
    total = inserted_above(parameters, 0, 1)[1]
    rho, q = ball(parameters.ratio), ball(parameters.power)
    coefficients = [arb(0)] * (lengths + 1)  # of G around x₀
    weight, t = arb(1), 0
    while True:
        own = weight * (-q * arb(t + 1).log()).exp() / total
        binomial, power = arb(1), root**t if t else arb(1)
        largest = arb(0)
        for j in range(min(t, lengths) + 1):
            term = own * binomial * power
            coefficients[j] += term
            largest = max(largest, abs(term), key=lambda each: float(each.mid()))
            binomial = binomial * (t - j) / (j + 1)
            power = power / root
        if t > lengths and largest < _NEGLIGIBLE:
            break
        weight, t = weight * rho, t + 1
    around = arb_series(coefficients)
    away = (arb_series([0, 1]) * around * (1 - delta)).reversion()  # x − x₀ as a series in s
    shifted = arb_series([away[k + 1] for k in range(lengths)]) * (1 - delta)
    return arb_series([root]) + away, shifted


def lengths_can_be_estimated(parameters: ChannelParameters, released: Floats, confidence: float) -> bool:
    """Whether the channel would tell something of lengths, if words came out of it as long as these.

    Parameters
    ----------
    parameters
        The channel.
    released
        How many words there are of each length.
    confidence
        How often intervals are to cover.
    """
    if parameters.deletion >= Fraction(1, 2):
        return False
    indicators = length_indicators(parameters, len(released) - 1, lengths=1)
    return bool(_of_use(released, indicators, confidence)[0])


def _of_use(released: Floats, indicators: Floats, confidence: float) -> NDArray[np.bool_]:
    """Which lengths have an interval of some use: from 0 on, as long as none is too wide."""
    half = factors(confidence, cells=1, freedom=None)[0] * np.sqrt(released @ indicators**2)
    return np.asarray(np.cumsum(half > USEFUL * released.sum()) == 0)


class EditLengths(TableEstimator):
    """The table of true lengths."""

    def __init__(self, parameters: ChannelParameters, *, target: Target, groups: int) -> None:
        super().__init__(target=target, groups=groups)
        self._parameters = parameters
        self._counts = np.zeros((len(self._sizes), 1))

    def _add(self, batch: Batch) -> None:
        longest = max(int(batch.lengths.max(initial=0)) + 1, self._counts.shape[1])
        grown = np.zeros((len(self._sizes), longest))
        grown[:, : self._counts.shape[1]] = self._counts
        grown += np.bincount(batch.groups * longest + batch.lengths, minlength=grown.size).reshape(grown.shape)
        self._counts = grown

    @property
    def released(self) -> Floats:
        """How many released words have each length."""
        return np.asarray(self._counts.sum(axis=0))

    @computed_once
    def _indicators(self) -> Floats:
        return length_indicators(self._parameters, self._counts.shape[1] - 1)

    def _group_sums(self) -> list[Floats]:
        return list(self._counts @ self._indicators)

    def finish(self, confidence: float) -> EstimatedTable:
        """The table, with the lengths whose interval is of some use, if any (`lengths_can_be_estimated`)."""
        indicators, words = self._indicators, float(self._counts.sum())
        estimate = (self._counts @ indicators).sum(axis=0)
        if self._target == "population":
            variances = self._by_groups(len(estimate))
        else:
            variances = Variances.from_squares(self.released @ indicators**2, estimate)
        listed = _of_use(self.released, indicators, confidence)
        released = np.zeros(len(estimate))
        shown = self.released[: len(estimate)]
        released[: len(shown)] = shown
        listed_total = int(listed.sum())
        return EstimatedTable(
            released=released,
            estimate=estimate,
            variances=variances,
            consistent=np.clip(estimate, 0.0, words),
            most=words,
            listed=listed,
            leading="length",
            notes=(f"lengths of {listed_total} and more are left out: their intervals would be of no use",),
        )
