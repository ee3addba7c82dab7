"""The edit channel: its exact loss, with a proof for outputs of every length, and the best channel at a given loss.

See docs/theory/hidden-lengths.md.

In each gap of a word the channel inserts t uniform symbols with probability g(t) ∝ ρ^t/(1+t)^q; it
deletes a symbol with probability δ, substitutes another one with σ and keeps it with κ = 1−δ−σ.
With G = g*g, and u a stretch of L output symbols, a gap yields u with probability g(L)/m^L, and
gap–symbol–gap yields it with probability between (deletion, or the worst and the best symbol)

    δG(L)/m^L + σ/(m−1)·G(L−1)/m^{L−1}    and    δG(L)/m^L + κ·G(L−1)/m^{L−1}.

Two words one edit apart differ by exactly such a stretch, so the loss is the largest of
  inserting or deleting a symbol:  ln sup_L [δG(L) + mκG(L−1)]/g(L)  and  −ln δg(0),
  substituting a symbol:           ln sup_L [δG(L) + mκG(L−1)]/[δG(L) + mσ/(m−1)·G(L−1)].
They are attained by the words a and (empty), or a and b, and the outputs aaa…: no bound is better.

With a_L = Σ_j ((1+L)/((1+j)(1+L−j)))^q:  G(L)/g(L) = g(0)a_L,  G(L−1)/g(L) = (g(0)/ρ)((L+1)/L)^q a_{L−1}.
a_L is not monotone, so all L < L₀ are looked at, and the rest is bounded. With M = L+2,
a_L = ((M−1)/M)^q Σ_{x=1}^{M−1} (1/x + 1/(M−x))^q, and from (1+s)^q ≤ 1 + (2^q−1)s on [0, 1],

    2 Σ_{x<M/2} x^{−q}·((M−1)/M)^q  ≤  a_L  ≤  2ζ(q) + 4(2^q−1)(1 + ln(M/2))/M,

the right side falling and the left side growing with M. Everything is in ball arithmetic.

*The search.* For fixed (ρ, q) every condition on the loss is linear in (δ, σ), and so is the expected number of edits
n(δ+σ) + (n+1)E[t]. Raising δ always costs more than it saves in σ, so the best δ is the least one that −ln δg(0) ≤ ε
allows, or, where no σ would do for it, the least one for which some σ does; then σ is the least that the other
conditions allow. What is left is a search over (ρ, q): a grid, then finer grids around its best point. The winner is
rounded to a few digits, so that it can be read, and only then its loss is computed, in ball arithmetic: the search may
err, the certificate does not. It sees ε, the number of symbols and a public nominal length n, never a word.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce

import numpy as np
from flint import arb, arb_poly, ctx
from numpy.typing import NDArray

from symveil.calibration.answers import Answers, Entry, question_digest
from symveil.calibration.limits import LIMITS
from symveil.errors import InputError, ParameterError
from symveil.numbers.conversions import STANDARD_PRECISION, ball, precision, upper_bound
from symveil.numbers.once import begin_search
from symveil.numbers.rationals import Number, exact

SCANNED = 1024
"""L₀: outputs of fewer symbols in one stretch are looked at one by one, longer ones are bounded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelParameters:
    """The parameters of an edit channel: ρ, q, δ and σ, exact; `of` reads them from numbers as they are typed.

    Parameters
    ----------
    ratio
        ρ, from 0 to below 1: t symbols are inserted into a gap with a probability like ρ^t/(t+1)^q. 0 inserts nothing;
        that is private only if everything is deleted.
    power
        q, at least 2.
    deletion
        δ, the probability that a symbol is deleted, above 0.
    substitution
        σ, the probability that it is replaced by another one, at most 1 − δ.

    >>> own = ChannelParameters.of(ratio="0.25", power=2, deletion="0.06", substitution="0.04")
    >>> own.keep
    Fraction(9, 10)
    """

    ratio: Fraction
    power: Fraction
    deletion: Fraction
    substitution: Fraction

    def __post_init__(self) -> None:
        for name in ("ratio", "power", "deletion", "substitution"):
            object.__setattr__(self, name, exact(getattr(self, name), name=name))
        if not 0 <= self.ratio < 1:
            raise ParameterError("ratio", expected="a number from 0 to below 1", found=self.ratio)
        if not 2 <= self.power <= _LARGEST_POWER:
            # below 2 the proof of the tail does not hold (and long insertions become frequent)
            raise ParameterError("power", expected=f"a number from 2 to {_LARGEST_POWER}", found=self.power)
        if not 0 < self.deletion <= 1:
            raise ParameterError("deletion", expected="a probability above 0", found=self.deletion)
        if not 0 <= self.substitution <= 1 - self.deletion:
            raise ParameterError(
                "substitution", expected="a probability, at most 1 − deletion", found=self.substitution
            )
        if self.ratio == 0 and self.deletion < 1:
            raise ParameterError("ratio", expected="above 0 unless everything is deleted", found=self.ratio)

    @classmethod
    def of(cls, *, ratio: Number, power: Number, deletion: Number, substitution: Number) -> ChannelParameters:
        """The parameters from numbers as they are typed."""
        return cls(
            ratio=exact(ratio, name="ratio"),
            power=exact(power, name="power"),
            deletion=exact(deletion, name="deletion"),
            substitution=exact(substitution, name="substitution"),
        )

    @property
    def keep(self) -> Fraction:
        """κ = 1 − δ − σ."""
        return 1 - self.deletion - self.substitution

    @property
    def tells_nothing(self) -> bool:
        """Whether what is released does not depend on the word at all."""
        return self.deletion == 1 and self.ratio == 0


_LARGEST_POWER = 20
_BITS_LOST = 24

NOTHING = ChannelParameters(ratio=Fraction(0), power=Fraction(2), deletion=Fraction(1), substitution=Fraction(0))
"""Delete everything, insert nothing: perfectly private, and useless."""


def check_symbols(parameters: ChannelParameters, symbols: int) -> None:
    """Refuse what the formulas do not cover: a true symbol must be the likeliest to be seen."""
    if symbols == 1 and parameters.substitution:
        raise ParameterError("substitution", expected="0 with an alphabet of one symbol", found=parameters.substitution)
    if symbols > 1 and parameters.keep * (symbols - 1) < parameters.substitution:
        raise ParameterError(
            "substitution",
            expected="at most (m−1)·(1−deletion)/m, so that a symbol is likelier kept than replaced by any one other",
            found=parameters.substitution,
        )


@dataclass(frozen=True, slots=True)
class ChannelLoss:
    """The loss by kind of edit, rounded upwards, and what is proved of long outputs."""

    insertion: Fraction
    """Seeing that there is a symbol more: attained by an output of aaa…"""
    deletion: Fraction
    """Seeing that there is a symbol less: attained by the empty output."""
    substitution: Fraction
    tail: Fraction
    """A bound on what stretches of `SCANNED` or more output symbols can tell."""

    @property
    def worst(self) -> Fraction:
        """The loss of one edit."""
        return max(self._shorter, self.tail)

    @property
    def attained(self) -> bool:
        """Whether the bound on long outputs plays no part: then `worst` is the loss itself, not a bound."""
        return self.tail <= self._shorter

    @property
    def _shorter(self) -> Fraction:
        return max(self.insertion, self.deletion, self.substitution)


def channel_loss(parameters: ChannelParameters, symbols: int) -> ChannelLoss:
    """The loss of one edit under a channel over an alphabet of that many symbols.

    >>> parameters = ChannelParameters.of(ratio="0.25", power=2, deletion="0.06", substitution="0.04")
    >>> loss = channel_loss(parameters, 2)
    >>> f"{float(loss.worst):.5f}", loss.attained
    ('3.42747', True)
    """
    check_symbols(parameters, symbols)
    if parameters.tells_nothing:
        return ChannelLoss(Fraction(0), Fraction(0), Fraction(0), Fraction(0))
    with precision(STANDARD_PRECISION):
        delta, kappa, sigma, rho = (
            ball(each) for each in (parameters.deletion, parameters.keep, parameters.substitution, parameters.ratio)
        )
        table = _sequences(parameters.power)
        g0 = none_inserted(parameters)
        other = symbols * sigma / (symbols - 1) if symbols > 1 else symbols * kappa
        grown = [g0 * (delta * a + symbols * kappa / rho * s) for a, s in zip(table.a, table.s, strict=True)]
        grown_tail = g0 * (delta * table.a_tail + symbols * kappa / rho * table.s_tail)

        def distinguished(x: arb) -> arb:
            return (delta + symbols * kappa * x / rho) / (delta + other * x / rho)

        swapped = [distinguished(s / a) for a, s in zip(table.a, table.s, strict=True)]
        # grows with x, because κ ≥ σ/(m−1)
        swapped_tail = distinguished(table.s_tail / table.a_least)
        return ChannelLoss(
            insertion=upper_bound(reduce(arb.max, grown).log()),
            deletion=upper_bound(-(delta * g0).log()),
            substitution=upper_bound(reduce(arb.max, swapped).log()) if symbols > 1 else Fraction(0),
            tail=max(upper_bound(grown_tail.log()), upper_bound(swapped_tail.log())),
        )


def none_inserted(parameters: ChannelParameters) -> arb:
    """g(0) = ρ/Li_q(ρ), at the working precision."""
    if parameters.ratio == 0:
        return arb(1)
    return ball(parameters.ratio) / _polylog(parameters.power, parameters.ratio)


def mean_inserted(parameters: ChannelParameters) -> arb:
    """E[t] = Li_{q−1}(ρ)/Li_q(ρ) − 1, at the working precision."""
    if parameters.ratio == 0:
        return arb(0)
    ratio, power = parameters.ratio, parameters.power
    return _polylog(power - 1, ratio) / _polylog(power, ratio) - 1


def _polylog(order: Fraction, ratio: Fraction) -> arb:
    """Li_order(ratio), nearly as good as the working precision.

    For large orders and ratios beyond 1/2 the library's balls are wide (of order 20: 10 good bits of 128), which
    would be read as a loss that no output attains: it is asked again with more bits until the ball is narrow.
    """
    return _narrow(lambda: ball(ratio).polylog(ball(order)), ratio)


def _narrow(compute: Callable[[], arb], ratio: Fraction) -> arb:
    """What `compute` finds, with enough bits that the ball is nearly as narrow as the working precision allows."""
    wanted = ctx.prec - _BITS_LOST
    for factor in (1, 2, 4, 8, 16):
        with precision(factor * ctx.prec):
            result = compute()
        if result.is_finite() and result.rel_accuracy_bits() >= wanted:
            return result
    raise ParameterError("ratio", expected="one that is not so close to 1", found=ratio)


def inserted_above(parameters: ChannelParameters, start: int, count: int) -> tuple[list[arb], arb]:
    """g(start), g(start+1) … (`count` of them) and g(start) + g(start+1) + … to the end, up to a common factor.

    At the working precision. The sum is taken term by term, so that it is as good far out as at the start;
    what is left out after the last term t is at most its weight/(1−ρ).
    """
    if parameters.ratio == 0:
        return [arb(1 if start + index == 0 else 0) for index in range(count)], arb(1)
    rho, q = ball(parameters.ratio), ball(parameters.power)
    power, weights, total = arb(1), [], arb(0)
    for index in range(count):
        weights.append(power * (-q * arb(1 + start + index).log()).exp())
        total += weights[-1]
        power *= rho
    if start == 0:
        return weights, _polylog(parameters.power, parameters.ratio) / rho
    index, wanted = count, total * arb(2) ** -ctx.prec
    while True:
        weight = power * (-q * arb(1 + start + index).log()).exp()
        rest = weight / (1 - rho)
        if rest < wanted:
            # between nothing and `rest`
            return weights, total + rest / 2 + arb(0, (rest / 2).upper())
        if (
            index == LIMITS.now.series_terms
        ):  # ρ is close to 1: the series would take for ever, and a difference loses little
            return weights, _narrow(lambda: _all_from(parameters, start), parameters.ratio)
        total += weight
        power *= rho
        index += 1


def _all_from(parameters: ChannelParameters, start: int) -> arb:
    """Σ_{t≥start} ρ^{t−start}/(1+t)^q: the whole sum less its beginning."""
    rho, q = ball(parameters.ratio), ball(parameters.power)
    begin = sum((rho**count * (-q * arb(1 + count).log()).exp() for count in range(start)), start=arb(0))
    return (_polylog(parameters.power, parameters.ratio) / rho - begin) / rho**start


@dataclass(frozen=True, slots=True)
class _Sequences:
    """a_L and s_L = ((L+1)/L)^q a_{L−1} for L < L₀ (s_0 = 0), and what is proved of them for L ≥ L₀."""

    a: tuple[arb, ...]
    s: tuple[arb, ...]
    a_tail: arb
    s_tail: arb
    a_least: arb


@lru_cache(maxsize=64)
def _sequences(power: Fraction) -> _Sequences:
    with precision(STANDARD_PRECISION):
        q = ball(power)
        falling = [(-q * arb(x).log()).exp() for x in range(1, SCANNED + 2)]
        sums = (arb_poly(falling) * arb_poly(falling)).coeffs()
        a = tuple(sums[length] / falling[length] for length in range(SCANNED))
        s = (arb(0), *(falling[length - 1] / falling[length] * a[length - 1] for length in range(1, SCANNED)))
        half = (SCANNED + 1) // 2  # the largest x below (L₀ + 2)/2
        least = 2 * sum(falling[:half], start=arb(0))
        shrunk = arb(SCANNED + 1) / (SCANNED + 2)
        return _Sequences(
            a=a,
            s=s,
            a_tail=_tail(q, SCANNED),
            s_tail=(q * (arb(SCANNED + 1) / SCANNED).log()).exp() * _tail(q, SCANNED - 1),
            a_least=(q * shrunk.log()).exp() * least,
        )


def _tail(q: arb, length: int) -> arb:
    """A bound on a_L for all L ≥ `length`."""
    terms = length + 2
    return 2 * q.zeta() + 4 * ((q * arb(2).log()).exp() - 1) * (1 + (arb(terms) / 2).log()) / terms


# Beyond this, probabilities of an edit are below 10⁻⁸⁰: nothing is gained by even smaller ones.
_LARGEST_EPSILON = Fraction(200)
_SCANNED = 64
_POWERS = np.arange(2.0, 6.01, 0.25)
_ROUNDS = 4
_VERSION = "edit-channel-1"
_NAMES = ("ratio", "power", "deletion", "substitution")

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ChosenChannel:
    """Parameters and the loss of one edit that is proved for them."""

    parameters: ChannelParameters
    loss: ChannelLoss


def best_channel(*, epsilon: Fraction, symbols: int, nominal_length: int) -> ChosenChannel:
    """The channel whose loss per edit is at most `epsilon`, with the fewest expected edits found.

    >>> chosen = best_channel(epsilon=Fraction(5), symbols=3, nominal_length=100)
    >>> float(chosen.loss.worst) <= 5, chosen.parameters.tells_nothing
    (True, False)
    >>> best_channel(epsilon=Fraction(1, 4), symbols=26, nominal_length=100).parameters.tells_nothing
    True
    """
    most, length = min(epsilon, _LARGEST_EPSILON), max(nominal_length, 1)
    return _answers.of(
        question_digest(_VERSION, str(most), symbols, length),
        lambda: _searched(most, symbols, length),
        prove=lambda entry: _believable(entry, most, symbols, length),
        written=lambda chosen: {name: str(getattr(chosen.parameters, name)) for name in _NAMES},
    )


_answers: Answers[ChosenChannel] = Answers(256)


def _believable(entry: Entry, epsilon: Fraction, symbols: int, nominal_length: int) -> ChosenChannel | None:
    """The channel of an entry, if there is one, its loss, computed again, is within the budget, and it is of some use.

    Of no use, and never found by the search, is one that makes more edits than a word has symbols: with ρ close to
    1 it inserts millions of them.
    """
    try:
        parameters = ChannelParameters.of(**{name: entry[name] for name in _NAMES})
        loss = channel_loss(parameters, symbols)
        with precision(STANDARD_PRECISION):
            changed, inserted = parameters.deletion + parameters.substitution, upper_bound(mean_inserted(parameters))
    except (KeyError, InputError):
        return None
    useful = parameters == NOTHING or nominal_length * changed + (nominal_length + 1) * inserted < nominal_length
    return ChosenChannel(parameters, loss) if useful and loss.worst <= epsilon else None


def _searched(epsilon: Fraction, symbols: int, nominal_length: int) -> ChosenChannel:
    begin_search("an edit channel")
    nothing = ChosenChannel(NOTHING, channel_loss(NOTHING, symbols))
    point = _best_point(float(epsilon), symbols, nominal_length)
    if point is None:
        return nothing
    power, ratio = point
    budget = float(epsilon)
    for margin in (1e-9, 1e-8, 1e-7, 1e-6):
        edits = _fewest_edits(budget * (1 - margin), symbols, nominal_length, power, np.array([ratio]))
        if not edits.total[0] < nominal_length:
            return nothing  # deleting everything costs as much
        deletion = _rounded(float(edits.deletion[0]))
        # floats may end a hair beyond the largest substitution that is allowed, which is 0 for one symbol
        largest = (1 - deletion) * Fraction(symbols - 1, symbols)
        parameters = ChannelParameters(
            ratio=exact(ratio),
            power=exact(power),
            deletion=deletion,
            substitution=min(_rounded(float(edits.substitution[0])), largest),
        )
        loss = channel_loss(parameters, symbols)
        if loss.worst <= epsilon:
            return ChosenChannel(parameters, loss)
    return nothing


def _rounded(value: float) -> Fraction:
    """To twelve digits, as a decimal that can be read."""
    return exact(f"{value:.12g}")


def _best_point(epsilon: float, symbols: int, nominal_length: int) -> tuple[float, float] | None:
    """(q, ρ) with the fewest edits, to a few digits; None where no channel is within the budget."""
    powers = _POWERS
    # at large ε insertions are as rare as e^{−ε}
    ratios = np.exp(np.linspace(min(math.log(1e-3), math.log(symbols) - epsilon), math.log(0.995), 64))
    width = math.log(ratios[1] / ratios[0])
    step = float(powers[1] - powers[0])
    best: tuple[float, float, float] | None = None
    for turn in range(_ROUNDS):
        for power in powers.tolist():
            total = _fewest_edits(epsilon, symbols, nominal_length, power, ratios).total
            index = int(np.argmin(total))
            if math.isfinite(total[index]) and (best is None or total[index] < best[0]):
                best = (float(total[index]), power, float(ratios[index]))
        if best is None or turn == _ROUNDS - 1:
            break
        _, power, ratio = best
        step, width = step / 4, width / 6
        powers = np.array([round(power + shift * step, 4) for shift in range(-4, 5)])
        powers = powers[powers >= 2]
        ratios = np.array([float(f"{ratio * math.exp(shift * width):.5g}") for shift in range(-8, 9)])
        ratios = ratios[ratios < 1]
        if turn == 0:
            best = None  # the grid's own points are not rounded: they are looked at again among the finer ones
    return (best[1], best[2]) if best else None


@dataclass(frozen=True, slots=True)
class _Edits:
    """For each ρ the best (δ, σ), and the expected edits; ∞ where the budget allows none."""

    deletion: Floats
    substitution: Floats
    total: Floats


def _fewest_edits(epsilon: float, symbols: int, nominal_length: int, power: float, ratios: Floats) -> _Edits:
    a, s = _float_sequences(power)
    m, grown = symbols, math.exp(epsilon)
    rho = ratios[:, None]
    g0, mean = _inserted(power, ratios)
    # σ ≥ over[L] − slope[L]·δ for every L, from insertions; the last column from substitutions
    room = grown / g0[:, None]
    over = 1 - rho * room / (m * s)
    slope = 1 - rho * a / (m * s)
    if m > 1:
        x = (s / a).max() * m / rho
        scale = x * (1 + grown / (m - 1))
        over = np.concatenate([over, x / scale], axis=1)
        slope = np.concatenate([slope, (grown - 1 + x) / scale], axis=1)
    most_share = (m - 1) / m  # σ ≤ (1−δ)(m−1)/m, so that a symbol is its own likeliest image
    with np.errstate(divide="ignore", invalid="ignore"):
        # where over − slope·δ ≤ (1−δ)·most_share begins to hold
        crossing = np.where(over > most_share, (over - most_share) / (slope - most_share), 0.0)
    crossing = np.where((over > most_share) & (slope <= most_share), np.inf, crossing)
    deletion = np.maximum(1 / (grown * g0), crossing.max(axis=1, initial=0.0))
    substitution = np.maximum((over - slope * deletion[:, None]).max(axis=1, initial=0.0), 0.0)
    total = nominal_length * (deletion + substitution) + (nominal_length + 1) * mean
    # δ also adds to what an output of L symbols tells: δ a_L g(0) ≤ e^ε with κ = 0 in the worst case
    possible = (deletion < 1) & (substitution <= (1 - deletion) * most_share + 1e-15)
    kappa = 1 - deletion - substitution
    expected_edits = g0[:, None] * (deletion[:, None] * a + (m * kappa / ratios)[:, None] * s)
    possible &= (expected_edits <= grown * (1 + 1e-9)).all(axis=1)
    return _Edits(deletion, substitution, np.where(possible, total, np.inf))


@lru_cache(maxsize=512)
def _float_sequences(power: float) -> tuple[Floats, Floats]:
    """a_L and s_L of the module's text for L = 1 … 63."""
    falling = np.arange(1.0, _SCANNED + 1) ** -power
    a = np.convolve(falling, falling)[:_SCANNED] / falling
    s = falling[:-1] / falling[1:] * a[:-1]
    return a[1:], s


def _inserted(power: float, ratios: Floats) -> tuple[Floats, Floats]:
    """g(0) and E[t] for each ρ, by their series."""
    largest = float(ratios.max())
    terms = int(min(6000, 60 + 40 / -math.log(largest)))
    count = np.arange(terms)
    weights = np.exp(np.outer(np.log(ratios), count) - power * np.log1p(count))
    total = weights.sum(axis=1)
    return 1 / total, weights @ count / total
