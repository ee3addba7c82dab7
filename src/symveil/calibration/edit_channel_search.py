"""The edit channel with the fewest expected edits at a given loss: the search, and its certificate.

See docs/theory/hidden-lengths.md.
For fixed (ρ, q) every condition of `edit_channel_loss` is linear in (δ, σ), and so is the expected
number of edits n(δ+σ) + (n+1)E[t]. Raising δ always costs more than it saves in σ, so the best δ is the
least one that −ln δg(0) ≤ ε allows, or, where no σ would do for it, the least one for which some σ does;
then σ is the least that the other conditions allow. What is left is a search over (ρ, q): a grid, then
finer grids around its best point. The winner is rounded to a few digits, so that it can be read,
and only then its loss is computed, in ball arithmetic: the search may err, the certificate does not.

The search sees ε, the number of symbols and a public nominal length n, never a word. Its answer is
cached in memory and on disk (`answers`). Floating point decides the last digits only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from symveil.calibration.answers import Answers, Entry, question_digest
from symveil.calibration.edit_channel_loss import (
    NOTHING,
    ChannelLoss,
    ChannelParameters,
    channel_loss,
    mean_inserted,
)
from symveil.calibration.search import begin_search
from symveil.errors import InputError
from symveil.numbers.conversions import STANDARD_PRECISION, precision, upper_bound
from symveil.numbers.rationals import exact

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
    """a_L and s_L of `edit_channel_loss` for L = 1 … 63."""
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
