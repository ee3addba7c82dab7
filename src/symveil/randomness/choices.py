"""Exact choices between real boundaries, at the price of an integer comparison.

A choice cuts [0, 1) at real numbers and asks in which piece a uniform real number lies. The
uniform number is known by its first bits only; the boundaries are balls of any precision one
asks for. Nearly always the first bits decide, by comparing integers. When they do not (once in
2³² or 2⁶⁴ draws), more bits are drawn for the *same* number and the balls are made finer until
they do. So the pieces have exactly their real lengths: no rounding, and no piece is lost however
thin (docs/theory/hidden-lengths.md).

Exactly uniform integers from 32-bit words.

Exact discrete Laplace noise: whole numbers from whole numbers, without a float anywhere.

Canonne, Kamath and Steinke, *The Discrete Gaussian for Differential Privacy* (2020), algorithms 1 and 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from flint import arb, fmpz
from numpy.typing import NDArray

from symveil.errors import ParameterError
from symveil.numbers.conversions import precision, scaled_floor
from symveil.randomness.bits import BitSource
from symveil.randomness.limits import LIMITS


class Boundaries:
    """Cut points 0 ≤ c₁ ≤ … ≤ c_k ≤ 1 and the exact choice between the k+1 pieces.

    `cut_points()` returns them as balls at the working precision it is called under.
    `width` is the number of bits of each uniform word that will be offered: 32 or 64.

    >>> from fractions import Fraction
    >>> from symveil.numbers.conversions import ball
    >>> from symveil.randomness import NotPrivateSeededBits
    >>> thirds = Boundaries(lambda: [ball(Fraction(1, 3)), ball(Fraction(2, 3))])
    >>> source = NotPrivateSeededBits(1)
    >>> np.bincount(thirds.pick(source.words(3000), source)).tolist()
    [985, 997, 1018]
    """

    def __init__(self, cut_points: Callable[[], Sequence[arb]], *, width: int = 64) -> None:
        self._cut_points = cut_points
        self.width = width
        filter_bits = min(width, LIMITS.now.filter_bits)
        spare = width - filter_bits
        with precision(filter_bits + 64):
            ends = [scaled_floor(point, filter_bits) for point in cut_points()]
        top = (1 << width) - 1
        word_type = np.uint64 if width == 64 else np.uint32
        # first[i] … last[i]: the words that do not tell on which side of cut point i they lie
        self.first: NDArray[np.unsignedinteger] = np.array(
            [min(max(low, 0) << spare, top) for low, _ in ends], dtype=word_type
        )
        self.last: NDArray[np.unsignedinteger] = np.array(
            [min(((high + 1) << spare) - 1, top) for _, high in ends], dtype=word_type
        )

    def pick(self, words: NDArray[np.uint64], bits: BitSource) -> NDArray[np.int64]:
        """The piece in which each uniform word lies, one word a row; `bits` extends the words that do not tell."""
        passed = np.searchsorted(self.last, words, side="left")
        # the next cut point has not been passed for certain; undecided if the word could lie beyond it
        ahead = np.append(self.first, self.first.dtype.type(-1 % 2**self.width))[passed]
        undecided = (words >= ahead) & (passed < len(self.first))
        for index in np.flatnonzero(undecided):
            passed[index] = self.resolve(int(words[index]), bits.of_row(int(index)))
        return passed.astype(np.int64, copy=False)

    def resolve(self, prefix: int, bits: BitSource) -> int:
        """The piece of the uniform number that starts with `prefix`, however many bits it takes."""
        width = self.width
        while True:
            with precision(2 * width + 64):
                low = arb(fmpz(prefix)) * arb(2) ** -width
                high = arb(fmpz(prefix + 1)) * arb(2) ** -width
                points = self._cut_points()
                surely_passed = sum(1 for point in points if point <= low)
                surely_ahead = sum(1 for point in points if point >= high)
            if surely_passed + surely_ahead == len(points):
                return surely_passed
            prefix, width = bits.extend(prefix), width + 64


_LOW, _HIGH = (0, 1) if np.little_endian else (1, 0)


def uniform_below(
    bound: int, lanes: NDArray[np.uint32], bits: BitSource, *, row_of: NDArray[np.int64] | None = None
) -> NDArray[np.int32]:
    """One uniform integer in 0..bound−1 per 32-bit word; `bits` replaces the words that must be rejected.

    Words belong to the rows of the array, or to `row_of` where the array is flat.

    Lemire's method: the high half of lane·bound is the answer, the low half says whether the word
    belongs to the incomplete last round, which would favour some answers.

    >>> from symveil.randomness import NotPrivateSeededBits
    >>> source = NotPrivateSeededBits(1)
    >>> drawn = uniform_below(3, source.lanes(300), source)
    >>> sorted(set(drawn.tolist()))
    [0, 1, 2]
    """
    product = lanes.astype(np.uint64)
    product *= np.uint64(bound)
    halves = product.view(np.uint32).reshape(*lanes.shape, 2)
    answer = halves[..., _HIGH].view(np.int32)
    incomplete = (1 << 32) % bound
    if incomplete:
        rejected = halves[..., _LOW] < np.uint32(incomplete)
        if rejected.any():
            answer = answer.copy()
            rows = np.nonzero(rejected)[0] if row_of is None else row_of[rejected]
            answer[rejected] = uniform_below(bound, bits.lanes_of(rows), bits, row_of=rows)
    return answer


def uniform_integer(bound: int, bits: BitSource) -> int:
    """One uniform integer in 0..bound−1, however large the bound is.

    >>> from symveil.randomness import NotPrivateSeededBits
    >>> 0 <= uniform_integer(10**30, NotPrivateSeededBits(1)) < 10**30
    True
    """
    if bound < 1:
        raise ParameterError("bound", expected="a whole number, 1 or more", found=bound)
    width = (bound - 1).bit_length()
    size = (width + 7) // 8
    while True:
        drawn = int.from_bytes(bits.fill(size).tobytes(), "big") >> (8 * size - width)
        if drawn < bound:
            return drawn


def uniform_integers(bounds: NDArray[np.int64], bits: BitSource) -> NDArray[np.int64]:
    """A uniform integer in 0..bound−1 for each row; from a record's own stream the one that `uniform_integer` draws.

    Parameters
    ----------
    bounds
        The bound of each row, 1 or more.
    bits
        The source, with a row for each bound.

    >>> from symveil.randomness import NotPrivateSeededBits
    >>> uniform_integers(np.array([1, 2, 10**15]), NotPrivateSeededBits(1)).tolist()
    [0, 0, 409496019852296]
    """
    if len(bounds) and bounds.min() < 1:
        raise ParameterError("bounds", expected="whole numbers, 1 or more", found=int(bounds.min()))
    drawn = np.zeros(len(bounds), dtype=np.int64)
    spare = np.uint64(64) - _bit_lengths(bounds - 1).astype(np.uint64)
    rows = np.flatnonzero(bounds > 1)  # where there is no choice no bit is drawn
    while len(rows):
        words = np.ascontiguousarray(bits.for_rows(rows).word_rows(len(rows), 1))
        drawn[rows] = (words.view(">u8").astype(np.uint64)[:, 0] >> spare[rows]).astype(np.int64)
        rows = rows[drawn[rows] >= bounds[rows]]
    return drawn


def _bit_lengths(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many bits each number has, by halves of 32 bits, which are floats without rounding."""
    high, low = values >> 32, values & 0xFFFFFFFF
    length = np.where(high > 0, 32 + np.frexp(high)[1], np.frexp(low)[1])
    return np.asarray(length, dtype=np.int64)


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
