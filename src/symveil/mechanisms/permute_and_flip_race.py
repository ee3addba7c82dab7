"""Permute-and-flip as a race: the distance of the released word without any integral.

Permute-and-flip reports the word with the largest utility plus exponential noise. Among the N(ℓ)
words at distance ℓ the best noise is distributed as −ln(1 − U^{1/N(ℓ)}), so one uniform number
per distance decides: the smallest V_ℓ = e^{ηℓ}(1 − U_ℓ^{1/N(ℓ)}) wins (docs/theory/losses.md).

Each U is known by its first bits and is drawn further only while it could still win; balls make
every comparison a proof. So the winner has exactly the law N(ℓ) p_ℓ Φ(ℓ).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from flint import arb, fmpz
from numpy.typing import NDArray

from symveil.mechanisms.limits import LIMITS
from symveil.numbers.conversions import STANDARD_PRECISION, ball, nearest_float, precision
from symveil.randomness import BitSource

_FIRST_BITS = 64

_LN2 = 0.6931471805599453  # correctly rounded
_ARTANH_TERMS = 20  # of t ≤ 1/3: what follows is below 2⁻⁶⁴ of the sum
_EXP_TERMS = 14  # of x ≤ 0.34: what follows is below 2⁻⁶⁰ of the sum
_FEW_BITS = np.uint64(1 << 33)
_MARGIN = 2.0**-30
_LARGEST_HANDICAP = 2.0**1000  # a larger one is written as this: 1 − U^{1/N} is above 2⁻⁹⁴, so that its value is …
_LARGEST_VALUE = 2.0**900  # … still beyond this, and beyond that nothing is left to floats


def race(counts: Callable[[], Sequence[arb]], rate: Callable[[], arb], bits: BitSource) -> int:
    """The winning distance. `counts()` and `rate()` give N(0), N(1) … and η at the working precision.

    >>> from symveil.randomness import NotPrivateSeededBits
    >>> race(lambda: [arb(1), arb(2), arb(1)], lambda: arb(50), NotPrivateSeededBits(3))
    0
    """
    present = [distance for distance, count in enumerate(counts()) if not count.is_zero()]
    runners = {distance: int(word) for distance, word in zip(present, bits.words(len(present)), strict=True)}
    return _finish(runners, counts, rate, bits)


def _finish(
    runners: dict[int, int], counts: Callable[[], Sequence[arb]], rate: Callable[[], arb], bits: BitSource
) -> int:
    """The winner, given the first bits of each runner's number."""
    width = _FIRST_BITS
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


# --- many races --------------------------------------------------------------------------------


def races(counts: NDArray[np.int64], rate: Fraction, bits: BitSource) -> NDArray[np.int64]:
    """The winning distance of each row's race; from a record's own stream, the one that `race` finds.

    Floats decide where the two smallest values are farther apart than their errors, which are proved
    (docs/theory/hidden-lengths.md, *Races*), and balls elsewhere, from the same bits.

    Each row of `counts`, N(0), N(1) …, has at least one number above 0; `bits` has a stream for each row.

    >>> from symveil.randomness import NotPrivateSeededBits
    >>> races(np.array([[1, 2, 1], [0, 0, 4]]), Fraction(50), NotPrivateSeededBits(3)).tolist()
    [0, 2]
    """
    with precision(STANDARD_PRECISION):
        handicaps = [(ball(rate) * distance).exp() for distance in range(counts.shape[1])]
        handicap = np.array([min(nearest_float(each), _LARGEST_HANDICAP) for each in handicaps])
    winners = np.empty(len(counts), dtype=np.int64)
    at_once = max(LIMITS.now.runners // counts.shape[1], 1)
    for start in range(0, len(counts), at_once):
        rows = np.arange(start, min(start + at_once, len(counts)))
        winners[rows] = _races(counts[rows], handicap, rate, bits.for_rows(rows))
    return winners


def _races(
    counts: NDArray[np.int64], handicap: NDArray[np.float64], rate: Fraction, bits: BitSource
) -> NDArray[np.int64]:
    present = counts > 0
    words = np.zeros(counts.shape, dtype=np.uint64)
    words[present] = bits.ragged_words(present.sum(axis=1))
    values = np.where(present, handicap * _floats_below(words, counts), np.inf)
    row = np.arange(len(counts))
    winner = np.argmin(values, axis=1)
    best = values[row, winner]
    values[row, winner] = np.inf
    # numbers so near 0 or 1 that 64 bits are few of them are left to balls
    unsure = (present & ((words < _FEW_BITS) | (~words < _FEW_BITS))).any(axis=1)
    unsure |= (best * (1 + _MARGIN) >= values.min(axis=1)) | (best > _LARGEST_VALUE)
    for index in np.flatnonzero(unsure).tolist():
        winner[index] = _decided(counts[index], words[index], rate, bits.of_row(index))
    return np.asarray(winner, dtype=np.int64)


def _decided(counts: NDArray[np.int64], words: NDArray[np.uint64], rate: Fraction, bits: BitSource) -> int:
    """The winner of one race that floats do not decide, from the bits that they looked at."""
    runners = {distance: int(words[distance]) for distance in np.flatnonzero(counts).tolist()}
    return _finish(runners, lambda: [ball(count) for count in counts.tolist()], lambda: ball(rate), bits)


def _floats_below(words: NDArray[np.uint64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """1 − U^{1/N} with a relative error below 2⁻³², for U that begins with the 64 bits of a word.

    By the four operations alone, whose errors are known: −ln U as a series of 2·artanh, and 1 − e^{−x} as a series at
    x/64, then six times by 1 − e^{−2x} = (1 − e^{−x})(2 − (1 − e^{−x})). Nothing cancels.
    """
    # U = (1 − d)/2^halvings with 0 ≤ d ≤ 1/2; where U is above 1/2, d comes from the other end
    part, exponent = np.frexp(words.astype(np.float64))
    upper = words >= np.uint64(1 << 63)
    d = np.where(upper, (~words).astype(np.float64) * 2.0**-64, 1.0 - part)
    halvings = np.where(upper, 0, 64 - exponent)
    t = d / (2.0 - d)
    square = t * t
    series = np.full(words.shape, 1.0 / (2 * _ARTANH_TERMS - 1))
    for term in range(_ARTANH_TERMS - 2, -1, -1):
        series *= square
        series += 1.0 / (2 * term + 1)
    x = (2.0 * t * series + halvings * _LN2) / np.maximum(counts, 1) / 64.0
    below = np.ones(words.shape)
    for term in range(_EXP_TERMS, 1, -1):
        below *= x / -float(term)
        below += 1.0
    below *= x
    for _ in range(6):
        below *= 2.0 - below
    return below
