"""Permute-and-flip for words (B26 §III–IV), for any length and alphabet, with a tight guarantee on Σⁿ.

Words are looked at in random order; one at distance ℓ is accepted with probability p_ℓ = e^{−ηℓ};
the first accepted one is released. Then P(w'|w) = p_ℓ Φ(ℓ) with Φ of `flip_integral`.

B26 takes η = ε/2b. On Σⁿ the loss is exactly bη + ln Φ(0)/Φ(b), the worst pair being (w, w at
distance b), because 1/(e^{ηℓ} − t) is log-convex in ℓ (docs/theory/losses.md); it grows with η, so the
tight calibration takes the largest η whose certified loss is at most ε. On the words of a model
(B26 Mechanism 2) no tight analysis is known, and the calibration is the classic one.

Φ of permute-and-flip as a certified integral (docs/theory/losses.md), for languages beyond enumeration.

B26 equation 5 is a sum over all subsets of the language. Expanding a product shows that it equals

    Φ(ℓ) = ∫₀¹ F(t)/(1 − p_ℓ t) dt,   F(t) = Π_λ (1 − p_λ t)^{N(λ)},   p_λ = e^{−ηλ}.

Legend: N(λ) words lie at distance λ, N(0) = 1; z = e^{−η}.

With the power sums S_k = Σ_λ N(λ) p_λ^k (on Σⁿ they are (1+(m−1)z^k)ⁿ) the product needs no logarithms:

    F(t) = (1−t)·e^{L(t)},   L(t) = −Σ_{k≥1} (S_k − 1) t^k/k,

and the terms from k on are at most (S_k − 1)|t|^k/(k(1−|t|z)), because each power sum without its
first word is at most z times the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
from flint import acb, acb_poly, arb, ctx

from symveil.languages.free import FreeLanguage, at_distance
from symveil.languages.run_counts_batch import RunNeighboursBatch, fits_batches, pieces
from symveil.languages.runs import RunLanguage
from symveil.laws.guarantee import Guarantee
from symveil.laws.law import ErrorBounds
from symveil.mechanisms.distance_weighted import Counts, DistanceWeighted
from symveil.mechanisms.law import Law
from symveil.mechanisms.limits import LIMITS
from symveil.mechanisms.permute_and_flip_race import race, races
from symveil.models.alphabet import Codes
from symveil.numbers.conversions import (
    STANDARD_PRECISION,
    ball,
    float_bounds,
    nearest_float,
    precision,
    upper_bound,
)
from symveil.numbers.once import begin_search
from symveil.numbers.rationals import at_least, spelled
from symveil.randomness import BitSource, uniform_integers

Integrand = Callable[[acb], acb]

# Below this value of |t|·z the series for L is shorter than the product over all distances.
_SERIES_RADIUS = arb("0.75")


class FlipIntegral:
    """Φ(0) … Φ(n) for counts N(0) = 1, N(1) … N(n) and a rate η, as balls at the working precision."""

    def __init__(self, counts: Sequence[arb], rate: arb) -> None:
        self._counts = counts
        self._length = len(counts) - 1
        self._decay = (-rate).exp()
        first = self._power_sum_less_one(1)
        if first.is_zero():  # no other word: F(t) = 1 − t
            self._end, self._beyond_end = arb(1), arb(0)
        else:
            # F(t) ≤ e^{−(S₁−1)t}: beyond t = end nothing is left that this precision could see.
            # (The moments below divide by 1 − z, so as much is asked for beyond that.)
            spare = ctx.prec + 16
            negligible = spare * arb.const_log2() + (2 + first).log() - (1 - self._decay).log()
            end = negligible / first
            self._end = end.upper() if end < 1 else arb(1)
            self._beyond_end = (-first * self._end).exp() if end < 1 else arb(0)
        self._by_series = bool(self._end * self._decay < _SERIES_RADIUS)
        self._series = self._log_series() if self._by_series else acb_poly()

    def _power_sum_less_one(self, k: int) -> arb:
        """S_k − 1: the power sum of all words but the true one."""
        factor = self._decay**k
        total, power = arb(0), arb(1)
        for count in self._counts[1:]:
            power = power * factor
            total += count * power
        return total

    def _log_series(self) -> acb_poly:
        """L up to t^K, with coefficients −(S_k−1)/k; the rest no longer matters on the path of integration."""
        tiny = arb(2) ** -ctx.prec
        coefficients = [arb(0)]
        power = arb(1)
        while True:
            k = len(coefficients)
            power_sum = self._power_sum_less_one(k)
            power = power * self._end
            if k > 1 and power_sum * power < tiny:
                self._next_power_sum, self._next_power = power_sum, k
                return acb_poly(coefficients)
            coefficients.append(-power_sum / k)

    def phi(self, distance: int) -> arb:
        """Φ(distance)."""
        if self._by_series:
            if distance == 0:
                return self._integrate(self._exp_l)
            ratio = self._decay**distance
            return self._integrate(lambda t: self._exp_l(t) * (1 - t) / (1 - ratio * t))
        return self._integrate(lambda t: self._product(t, without=distance))

    def all_phi(self) -> list[arb]:
        """Φ(0) … Φ(n). By moments where these converge before n integrals are done:
        Φ(ℓ) = Σ_j M_j p_ℓ^j with M_j = ∫ t^j F(t) dt."""
        phis = [self.phi(0)]
        moments = self._moments()
        if moments is None:
            # where no word lies Φ has a pole at 1/p_ℓ, which no precision tells from 1 at a tiny rate; nothing needs it
            rest = range(1, self._length + 1)
            return phis + [arb(0) if self._counts[d].is_zero() else self.phi(d) for d in rest]
        ratio = arb(1)
        for _ in range(self._length):
            ratio = ratio * self._decay
            # M_j falls with j, so what is left out is at most M_J p^J/(1−p)
            left_out = moments[-1] * ratio ** (len(moments) - 1) / (1 - ratio)
            total = arb(0).union(left_out)
            for power, moment in enumerate(moments[:-1]):
                total += moment * ratio**power
            phis.append(total)
        return phis

    def _moments(self) -> list[arb] | None:
        """M_0 … M_J, enough for every Φ(ℓ), ℓ ≥ 1; None where n integrals are the shorter way."""
        if not self._by_series:
            return None
        moments = [self._moment(0)]
        enough = moments[0] * arb(2) ** (8 - ctx.prec)
        decay_power = arb(1)
        while len(moments) <= self._length + 1:
            moments.append(self._moment(len(moments)))
            decay_power = decay_power * self._decay
            if moments[-1] * decay_power / (1 - self._decay) < enough:
                return moments
        return None

    def _moment(self, power: int) -> arb:
        return self._integrate(lambda t: t**power * (1 - t) * self._exp_l(t))

    def _integrate(self, integrand: Integrand) -> arb:
        """∫₀¹ with a proved error; every integrand here lies between 0 and e^{L(t)} on the real line."""
        end = self._end

        interrupted: list[BaseException] = []

        def scaled(s: acb, _analytic: bool) -> acb:
            # An exception must not pass through the integrator, which would go on calling: it waits here.
            if not interrupted:
                try:
                    return integrand(s * end)
                except BaseException as error:
                    interrupted.append(error)
            return acb("nan")

        inner = acb.integral(scaled, acb(0), acb(1)).real * end
        if interrupted:
            raise interrupted[0]
        return inner + arb(0).union(self._beyond_end)

    def _exp_l(self, t: acb) -> acb:
        """e^{L(t)} by the series, with its remainder as part of the ball."""
        size = abs(t)
        if not size * self._decay < 1:
            return acb("nan")
        k = self._next_power
        remainder = (self._next_power_sum * size**k / (k * (1 - size * self._decay))).upper()
        slack = arb(0, remainder)
        return (self._series(t) + acb(slack, slack)).exp()

    def _product(self, t: acb, *, without: int) -> acb:
        """F(t)/(1 − p_ℓ t) as a product of integer powers: analytic everywhere.

        Only small languages come here, so each count is exact and has its integer.
        """
        total = acb(1)
        ratio = arb(1)
        for distance in range(self._length + 1):
            exponent = (self._counts[distance] - (distance == without)).unique_fmpz()
            if exponent is None:
                return acb("nan")  # a count too large for this precision; the series is used long before
            total = total * (1 - ratio * t) ** exponent
            ratio = ratio * self._decay
        return total


class PermuteAndFlip(DistanceWeighted):
    """Permute-and-flip with the utility −d.

    Parameters
    ----------
    language
        The words, such as `words(...)` or `runs(...)`.
    epsilon
        Privacy budget: a number, a decimal or a fraction as text, above 0.
    adjacency
        How far apart words may be that are to look alike: a whole number, or "all". None: 1 over an alphabet; on a
        model it has to be given.
    calibration
        "tight" spends the whole budget; "classic" is the papers' factor 2.

    >>> import symveil as sv
    >>> mechanism = sv.PermuteAndFlip(sv.words("ab", 5), epsilon=5)
    >>> round(mechanism.distances("ababa").expected_error, 4), mechanism.guarantee.how
    (0.0343, 'exact')
    >>> classic = sv.PermuteAndFlip(sv.words("ab", 5), epsilon=5, calibration="classic")
    >>> round(classic.distances("ababa").expected_error, 6)
    0.245088
    """

    name = "permute-and-flip"
    label: ClassVar[str] = "permute-and-flip"

    def _calibrated(self, claimed: Law | None) -> Law:
        """On Σⁿ bη + ln Φ(0)/Φ(b), attained by a word and a neighbour at distance b."""
        rate = self._largest_rate() if claimed is None or claimed.rate is None else claimed.rate
        if self.reach == 0:
            proved = Guarantee.of_loss(Fraction(0), "exact")
        elif not self.language.homogeneous:
            proved = Guarantee.of_loss(max(2 * rate * self.reach, self.epsilon), "classic")
        else:
            with precision(enough_precision(self.epsilon)):
                proved = Guarantee.of_loss(loss(self._free, self.reach, rate), "exact")
        return self._law_with(proved, rate=rate)

    def _largest_rate(self) -> Fraction:
        if self.calibration == "classic" or self.reach == 0:
            return self.epsilon / (2 * self.adjacency)
        if self.language.homogeneous:
            return largest_rate(self._free, self.reach, self.epsilon)
        return self.epsilon / (2 * self.reach)

    @property
    def rate(self) -> Fraction:
        """η of the acceptance probabilities p_ℓ = e^{−ηℓ}."""
        assert self.law.rate is not None  # noqa: S101 - every such law has one
        return self.law.rate

    @property
    def _free(self) -> FreeLanguage:
        """Σⁿ itself, where that is the language."""
        return FreeLanguage(self.alphabet, self._length)

    def _loss_beyond(self, distance: int) -> float:
        """2η for every place: scores of one released word differ by no more than the distance (B26, its proof)."""
        return min(super()._loss_beyond(distance), at_least(2 * self.rate * distance))

    def weight_balls(self, counts: Sequence[arb]) -> list[arb]:
        """P(w'|w) = p_ℓ Φ(ℓ) itself: its total over the language is 1."""
        eta = ball(self.rate)
        if len(counts) == 1:
            return [arb(1)]
        phis = FlipIntegral(counts, eta).all_phi()
        return [(-eta * distance).exp() * phi for distance, phi in enumerate(phis)]

    def parameters_document(self) -> dict[str, object]:
        """The rate."""
        return {"rate": spelled(self.rate)}

    # --- drawing -------------------------------------------------------------------------------

    def _draw_rows(self, rows: Codes, bits: BitSource) -> Codes:
        runs = self.language.runs
        if runs is not None and len(rows) >= LIMITS.now.flipped_together and fits_batches(runs):
            return self._draw_together(runs, rows, bits)
        few = len(rows) < LIMITS.now.flipped_by_table and "_common_choice" not in self.__dict__ and not bits.per_record
        if not (few and self.language.homogeneous and self.language.largest_distance):
            return super()._draw_rows(rows, bits)
        pick = self._picker(self._around_any.count_balls)
        distances = np.array([pick(bits) for _ in range(len(rows))], dtype=np.int64)
        return at_distance(rows, distances, len(self.alphabet), bits)

    def _draw_together(self, runs: RunLanguage, rows: Codes, bits: BitSource) -> Codes:
        """What `_draw_one_by_one` draws, for many words of a model at once."""
        released = rows.copy()
        different, number = np.unique(rows, axis=0, return_inverse=True)
        order = np.argsort(number.reshape(-1), kind="stable")
        word = number.reshape(-1)[order]
        for piece in pieces(runs, different):
            near = RunNeighboursBatch(runs, different[piece])
            low, high = np.searchsorted(word, [piece.start, piece.stop]).tolist()
            # a few words may have very many rows
            for begin in range(low, high, LIMITS.now.flipped_at_once):
                part = slice(begin, min(begin + LIMITS.now.flipped_at_once, high))
                own, its = bits.for_rows(order[part]), word[part] - piece.start
                distances = races(near.counts[its], self.rate, own)
                ranks = uniform_integers(near.counts[its, distances], own)
                released[order[part]] = near.words_of_rank(its, distances, ranks)
        return released

    def _picker(self, counts: Counts) -> Callable[[BitSource], int]:
        return lambda bits: race(counts, lambda: ball(self.rate), bits)

    # --- accuracy ------------------------------------------------------------------------------

    def _error_bounds(self, counts: Sequence[arb]) -> ErrorBounds:
        """B26 Theorem 2, with its sums from ℓ = 0 (docs/errata.md, E3); E_Exp[Φ] is then 1/Z."""
        farthest = max(distance for distance, count in enumerate(counts) if not count.is_zero())
        if farthest == 0:
            return ErrorBounds(lower=0.0, upper=0.0)
        eta = ball(self.rate)
        masses = [count * (-eta * distance).exp() for distance, count in enumerate(counts)]
        normaliser = sum(masses, start=arb(0))
        exponential_error = sum((d * mass for d, mass in enumerate(masses)), start=arb(0)) / normaliser
        integral = FlipIntegral(counts, eta)
        slack = farthest * (integral.phi(0) - integral.phi(farthest)) * normaliser / 4
        return ErrorBounds(lower=float_bounds(exponential_error - slack)[0], upper=float_bounds(exponential_error)[1])


def loss(language: FreeLanguage, reach: int, rate: Fraction) -> arb:
    """The exact loss bη + ln Φ(0)/Φ(b) as a ball at the working precision."""
    eta = ball(rate)
    integral = FlipIntegral(language.count_balls(), eta)
    return reach * eta + (integral.phi(0) / integral.phi(reach)).log()


def enough_precision(epsilon: Fraction) -> int:
    """Bits that show a loss of this size: Φ(0)/Φ(b) differs from 1 by less than ε."""
    return STANDARD_PRECISION + 2 * max(0, epsilon.denominator.bit_length() - epsilon.numerator.bit_length())


@lru_cache(maxsize=1024)
def largest_rate(language: FreeLanguage, reach: int, epsilon: Fraction) -> Fraction:
    """A rate whose certified loss is at most ε, as large as floats can find it.

    The search runs on floats and need not be right; the rate it proposes is made smaller until
    the ball of its loss lies below ε, at the latest at the classic ε/2b. The rate is a rational
    that defines the mechanism, so nothing is rounded afterwards.
    """
    begin_search("a rate of permute-and-flip")
    classic = epsilon / (2 * reach)
    with precision(enough_precision(epsilon)):
        proposal = _fraction_of_budget(language, reach, epsilon) * epsilon / reach
        step = Fraction(1, 2**52)
        while proposal > classic and upper_bound(loss(language, reach, proposal)) > epsilon:
            proposal *= 1 - step
            step *= 2
    return max(proposal, classic)


def _fraction_of_budget(language: FreeLanguage, reach: int, epsilon: Fraction) -> Fraction:
    """The x in [1/2, 1] where loss(x·ε/b) crosses ε, by regula falsi with the Illinois correction."""

    def excess(x: float) -> float:
        return nearest_float(loss(language, reach, Fraction(x) * epsilon / reach) / ball(epsilon) - 1)

    low, high = 0.5, 1.0
    at_low, at_high = excess(low), excess(high)
    x = low
    for _ in range(60):
        if abs(high - low) <= 2e-16 or at_high - at_low == 0:
            break
        x = (low * at_high - high * at_low) / (at_high - at_low)
        at_x = excess(x)
        if at_x == 0:
            break
        # keep the root between the ends; halve the value of an end that stays twice
        if at_x * at_high < 0:
            low, at_low = high, at_high
        else:
            at_low /= 2
        high, at_high = x, at_x
    return Fraction(x)
