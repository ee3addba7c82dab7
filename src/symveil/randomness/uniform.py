"""Exactly uniform integers from 32-bit words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ParameterError
from symveil.randomness.bits import BitSource

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
