"""Drawing words near given words, many at once, exactly.

Two draws cover every mechanism on the free language: symbols that change independently of each
other, and a uniform word at an exact distance. Both take rows of codes and return new rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from symveil.models.word import Codes
from symveil.randomness import BitSource, Boundaries, uniform_below

# Rows are treated in pieces whose temporary arrays stay in the processor's cache.
_SYMBOLS_AT_ONCE = 1 << 15
# Sorting keys beats throwing at positions up to about this length.
_LONGEST_SORTED = 512


def _pieces(rows: int, length: int) -> Iterator[slice]:
    step = max(1, _SYMBOLS_AT_ONCE // max(length, 1))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def resample_symbols(codes: Codes, alphabet_size: int, chance: Boundaries, bits: BitSource) -> Codes:
    """Each symbol, independently, with the chance of piece 0 of `chance`, becomes a uniform symbol.

    The uniform symbol may be the old one; so with chance λ a symbol really changes with
    probability λ(m−1)/m, and every other symbol is equally likely.
    """
    undecided_from, undecided_to = chance.first[0], chance.last[0]
    released = codes.copy()
    for piece in _pieces(*codes.shape):
        target = released[piece]
        lanes = bits.lanes(2 * target.size).reshape(2, *target.shape)
        drawn = uniform_below(alphabet_size, lanes[1], bits)
        resample = lanes[0] < undecided_from
        undecided = lanes[0] <= undecided_to
        undecided ^= resample
        if undecided.any():
            for place in zip(*np.nonzero(undecided), strict=True):
                resample[place] = chance.resolve(int(lanes[0][place]), bits) == 0
        np.copyto(target, drawn, where=resample)
    return released


def at_distance(codes: Codes, distances: NDArray[np.int64], alphabet_size: int, bits: BitSource) -> Codes:
    """For each row a uniform word at exactly the given Hamming distance from it."""
    released = codes.copy()
    moving = np.flatnonzero(distances)
    for piece in _pieces(len(moving), codes.shape[1]):
        rows = moving[piece]
        target = codes[rows]
        changed = uniform_subsets(target.shape[1], distances[rows], bits)
        other = uniform_below(alphabet_size - 1, bits.lanes(target.size).reshape(target.shape), bits)
        np.add(other, other >= target, out=other)  # skip over the old symbol
        np.copyto(target, other, where=changed)
        released[rows] = target
    return released


def uniform_subsets(length: int, sizes: NDArray[np.int64], bits: BitSource) -> NDArray[np.bool_]:
    """For each row a uniform subset of `sizes[row]` of its positions, as a mask."""
    by = _subsets_by_keys if length <= _LONGEST_SORTED else _subsets_by_throws
    return by(length, sizes, bits)


def _subsets_by_keys(length: int, sizes: NDArray[np.int64], bits: BitSource) -> NDArray[np.bool_]:
    """Every position gets a random key and the smallest keys win.

    Keys are exchangeable, so the subset is exactly uniform whatever the keys are, as long as the
    last winner and the first loser differ; a row where they do not is drawn again.
    """
    keys = bits.lanes(len(sizes) * length).reshape(len(sizes), length)
    in_order = np.sort(keys, axis=1)
    rows = np.arange(len(sizes))
    last_winner = in_order[rows, np.maximum(sizes - 1, 0)]
    chosen = keys <= last_winner[:, None]
    chosen[sizes == 0] = False
    first_loser = in_order[rows, np.minimum(sizes, length - 1)]
    tied = (sizes > 0) & (sizes < length) & (last_winner == first_loser)
    if tied.any():
        chosen[tied] = _subsets_by_keys(length, sizes[tied], bits)
    return chosen


def _subsets_by_throws(length: int, sizes: NDArray[np.int64], bits: BitSource) -> NDArray[np.bool_]:
    """Throw at positions until enough different ones are hit: linear in the length, for long words.

    No position is special, so neither is any subset of the size that is reached; each round
    throws only as often as positions are missing, so that it is never exceeded. Where more than
    half of the positions are wanted, the others are drawn.
    """
    inverted = 2 * sizes > length
    wanted = np.where(inverted, length - sizes, sizes)
    chosen = np.zeros((len(sizes), length), dtype=np.bool_)
    missing = wanted
    while missing.any():
        throws = uniform_below(length, bits.lanes(int(missing.sum())), bits)
        chosen[np.repeat(np.arange(len(sizes)), missing), throws] = True
        missing = wanted - np.count_nonzero(chosen, axis=1)
    chosen[inverted] ^= True
    return chosen
