"""Φ of permute-and-flip as a certified integral (docs/theory/tight-calibration.md), for languages beyond enumeration.

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

from flint import acb, acb_poly, arb, ctx

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
