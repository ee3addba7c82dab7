"""Permute-and-flip as a race: the distance of the released word without any integral.

Permute-and-flip reports the word with the largest utility plus exponential noise. Among the N(ℓ)
words at distance ℓ the best noise is distributed as −ln(1 − U^{1/N(ℓ)}), so one uniform number
per distance decides: the smallest V_ℓ = e^{ηℓ}(1 − U_ℓ^{1/N(ℓ)}) wins (docs/theory/tight-calibration.md).

Each U is known by its first bits and is drawn further only while it could still win; balls make
every comparison a proof. So the winner has exactly the law N(ℓ) p_ℓ Φ(ℓ).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flint import arb, fmpz

from symveil.numerics.conversions import precision
from symveil.randomness import BitSource

_FIRST_BITS = 64


def race(counts: Callable[[], Sequence[arb]], rate: Callable[[], arb], bits: BitSource) -> int:
    """The winning distance. `counts()` and `rate()` give N(0), N(1) … and η at the working precision.

    >>> from symveil.randomness import NotPrivateSeededBits
    >>> race(lambda: [arb(1), arb(2), arb(1)], lambda: arb(50), NotPrivateSeededBits(3))
    0
    """
    width = _FIRST_BITS
    present = [distance for distance, count in enumerate(counts()) if not count.is_zero()]
    runners = {distance: int(word) for distance, word in zip(present, bits.words(len(present)), strict=True)}
    while True:
        with precision(2 * width + 64):
            count, eta = counts(), rate()
            spans = {
                distance: _span(prefix, width, count[distance], (eta * distance).exp())
                for distance, prefix in runners.items()
            }
            best = min((high for _, high in spans.values()), key=lambda high: high.upper())
            # a runner whose lowest value lies above the best highest value has lost for certain
            runners = {distance: prefix for distance, prefix in runners.items() if not spans[distance][0] > best}
        if len(runners) == 1:
            return next(iter(runners))
        runners = {distance: bits.extend(prefix) for distance, prefix in runners.items()}
        width += 64


def _span(prefix: int, width: int, count: arb, handicap: arb) -> tuple[arb, arb]:
    """The least and the greatest V that a uniform number starting with `prefix` can give."""
    return (
        handicap * _one_minus_root(prefix + 1, width, count),
        handicap * _one_minus_root(prefix, width, count),
    )


def _one_minus_root(numerator: int, width: int, count: arb) -> arb:
    """1 − U^{1/N} for U = numerator/2^width: falls from 1 at U = 0 to 0 at U = 1."""
    if numerator == 0:
        return arb(1)
    uniform = arb(fmpz(numerator)) * arb(2) ** -width
    return -(uniform.log() / count).expm1()
