"""Intervals of quantiles and of means from noisy sums: proved (docs/theory/central.md), and narrower than bounds that
hold for all cells at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symveil.numbers.conversions import ball, dyadic, precision, upper_bound

_BITS = 256
_MEAN_CELLS = 1 << 14
"""How finely the interval of a mean is searched for, as parts of the cap."""
_TINY = 1e-9


def quantile_bins(noisy: Sequence[int], wanted: Fraction, widths: Sequence[int]) -> tuple[int, int]:
    """The first and the last bin, counted from 1, between which the bin of a quantile is, as often as widths promise.

    With Ĝ_k = Σ_{j≤k} y_j − p Σ_j y_j the bin of the quantile is the first k with G_k ≥ 0. It is at least the first k
    with Ĝ_k + h_k ≥ 0, and at most 1 + the last k with Ĝ_k − h_k < 0 (docs/theory/central.md).

    Parameters
    ----------
    noisy
        The noisy sums of the bins.
    wanted
        The quantile p, a fraction.
    widths
        For each k below the number of bins: c·h_k, where c is the denominator of p.

    >>> quantile_bins([0, 10, 0, 0], Fraction(1, 2), [0, 0, 0])
    (2, 2)
    """
    over, under = wanted.denominator, wanted.numerator
    total, running = sum(noisy), 0
    low, high = len(noisy), 1
    for k, value in enumerate(noisy[:-1], start=1):
        running += value
        above = over * running - under * total
        if above + widths[k - 1] >= 0:
            low = min(low, k)
        if above - widths[k - 1] < 0:
            high = k + 1
    return min(low, high), max(low, high)


def quantile_widths(bins: int, wanted: Fraction, scale: Fraction, confidence: float) -> list[int]:
    """c·h_k for k from 1 to `bins` − 1: the noise of Ĝ_k is above h_k with a chance of at most (1 − confidence)/2.

    By Chernoff: e^{−xh}·Π E e^{x w Z} with weights w = 1 − p for the first k bins and p for the others. Any x below
    1/(scale·max w) is valid: one is searched for with floats, and the bound is evaluated with balls, upwards.

    Parameters
    ----------
    bins
        How many bins there are.
    wanted
        The quantile p.
    scale
        Of the noise, in steps of the grid.
    confidence
        How often the interval is to cover.
    """
    p = float(wanted)
    widths = []
    for k in range(1, bins):
        weights = ((wanted, bins - k), (1 - wanted, k))

        def height(t: float, k: int = k) -> float:
            first, second = -k * math.log1p(-(((1 - p) * t) ** 2)), -(bins - k) * math.log1p(-((p * t) ** 2))
            return (first + second + math.log(2 / (1 - confidence))) / t

        least, most = 1e-6, (1 - 1e-9) / max(p, 1 - p)
        for _ in range(80):  # the bound has one minimum
            one, other = least + (most - least) * 0.382, least + (most - least) * 0.618
            least, most = (least, other) if height(one) < height(other) else (one, most)
        at = Fraction((least + most) / 2)
        with precision(_BITS):
            step = 1 / ball(scale)
            spread = arb(0)
            for weight, times in weights:
                rate = ball(weight * at) * step
                up, down = 1 - (rate - step).exp(), 1 - (-rate - step).exp()
                spread += times * (2 * (1 - (-step).exp()).log() - up.log() - down.log())
            outside = (1 - arb(dyadic(confidence))) / 2
            width = upper_bound((spread - outside.log()) / (ball(at) * step) * wanted.denominator)
        widths.append(-(-width.numerator // width.denominator))
    return widths


def mean_widths(confidence: float, scale: Fraction) -> NDArray[np.float64]:
    """h(u) in steps of the grid, at the ends of `_MEAN_CELLS` equal parts of [0, 1], rounded upwards.

    P(|(1 − u)Z₁ − uZ₂| > h) for continuous Laplace noise of scales s₁ ≥ s₂ = scale·(max, min)(u, 1 − u) is
    (s₁²e^{−h/s₁} − s₂²e^{−h/s₂})/(s₁² − s₂²); discrete noise is within one step of it.
    """
    u = np.arange(_MEAN_CELLS // 2 + 1) / _MEAN_CELLS
    large, small = 1 - u, u
    low, high = np.zeros(len(u)), np.full(len(u), 60.0)
    for _ in range(200):
        middle = (low + high) / 2
        too_likely = _tail(middle, large, small) > (1 - confidence) * (1 - _TINY)
        low, high = np.where(too_likely, middle, low), np.where(too_likely, high, middle)
    half = np.maximum.accumulate(high[::-1])[::-1] * (1 + _TINY)  # from the middle outwards it does not fall
    widths = np.concatenate([half, half[-2::-1]]) * float(scale) * (1 + _TINY) + 1
    return np.asarray(widths)


def _tail(height: NDArray[np.float64], large: NDArray[np.float64], small: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        second = np.where(small > 0, small**2 * np.exp(-height / np.maximum(small, 1e-300)), 0.0)
        apart = (large**2 * np.exp(-height / large) - second) / (large**2 - small**2)
    alike = (1 + height / (2 * large)) * np.exp(-height / large)
    # where scales nearly agree the difference quotient loses digits; the tail of two scales that agree is above it
    return np.asarray(np.where(large - small < 1e-4, alike, apart))


def mean_interval(waited: int, total: int, widths: NDArray[np.float64]) -> tuple[float, float]:
    """The hull of the u in [0, 1] with |â − u·(â + b̂)| ≤ h(u), outwards; where there is none, the nearer end.

    Parameters
    ----------
    waited, total
        â and â + b̂ in steps of the grid.
    widths
        What `mean_widths` returns.
    """
    u = np.arange(_MEAN_CELLS + 1) / _MEAN_CELLS
    apart = np.array([float(waited - 0)]) - u * float(total)
    slack = _TINY * (abs(float(waited)) + abs(float(total)))
    one, other = apart[:-1], apart[1:]
    least = np.where((one <= 0) != (other <= 0), 0.0, np.minimum(np.abs(one), np.abs(other)))
    inside = np.flatnonzero(least <= np.maximum(widths[:-1], widths[1:]) + slack)
    if not len(inside):
        end = 1.0 if abs(float(waited - total)) < abs(float(waited)) else 0.0
        return end, end
    return float(u[inside[0]]), float(u[inside[-1] + 1])
