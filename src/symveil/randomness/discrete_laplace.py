"""Exact discrete Laplace noise: whole numbers from whole numbers, without a float anywhere.

Canonne, Kamath and Steinke, *The Discrete Gaussian for Differential Privacy* (2020), algorithms 1 and 2.
"""

from __future__ import annotations

from fractions import Fraction

from symveil.errors import ParameterError
from symveil.randomness.bits import BitSource
from symveil.randomness.uniform import uniform_integer


def discrete_laplace(scale: Fraction | int, bits: BitSource) -> int:
    """A whole number z, drawn with probability proportional to exp(−|z|/scale), exactly.

    Write the scale as t/s. U + t·V, with U below t kept with chance exp(−U/t) and V geometric of ratio 1/e, is
    geometric of ratio exp(−1/t); s of its values make one of a geometric number of ratio exp(−s/t); a fair sign, where
    −0 is drawn again, makes it two-sided. How long a draw takes depends on what is drawn.

    Parameters
    ----------
    scale
        Above 0, and rational: the loss of a number that changes by d is then d/scale, exactly.
    bits
        Where random bits come from.

    >>> from symveil.randomness import NotPrivateSeededBits
    >>> source = NotPrivateSeededBits(7)
    >>> [discrete_laplace(Fraction(10, 3), source) for _ in range(8)]
    [0, 2, 1, -4, 4, -4, 4, 2]
    """
    wanted = Fraction(scale)
    if wanted <= 0:
        raise ParameterError("scale", expected="a number above 0", found=scale)
    whole, parts = wanted.numerator, wanted.denominator
    while True:
        rest = uniform_integer(whole, bits)
        if not _with_chance_exp(rest, whole, bits):
            continue
        rounds = 0
        while _with_chance_exp(1, 1, bits):
            rounds += 1
        size = (rest + whole * rounds) // parts
        negative = uniform_integer(2, bits) == 1
        if size or not negative:
            return -size if negative else size


def _with_chance_exp(above: int, below: int, bits: BitSource) -> bool:
    """True with probability exp(−above/below), for a fraction from 0 to 1.

    A run of successes with chances γ/1, γ/2, γ/3 … has an even length with probability 1 − γ + γ²/2 − … = exp(−γ).
    """
    step = 1
    while uniform_integer(below * step, bits) < above:
        step += 1
    return step % 2 == 1
