"""Exact choices between real boundaries, at the price of an integer comparison.

A choice cuts [0, 1) at real numbers and asks in which piece a uniform real number lies. The
uniform number is known by its first bits only; the boundaries are balls of any precision one
asks for. Nearly always the first bits decide, by comparing integers. When they do not (once in
2³² or 2⁶⁴ draws), more bits are drawn for the *same* number and the balls are made finer until
they do. So the pieces have exactly their real lengths: no rounding, and no piece is lost however
thin (docs/theory/exact-sampling.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from flint import arb, fmpz
from numpy.typing import NDArray

from symveil.numbers.conversions import precision, scaled_floor
from symveil.randomness.bits import BitSource

# How many leading bits the fast comparison may use; tests lower it to force the slow path.
FILTER_BITS = 64


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
        kept = min(width, FILTER_BITS)
        spare = width - kept
        with precision(kept + 64):
            ends = [scaled_floor(point, kept) for point in cut_points()]
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
