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
    released = codes.copy()
    for piece in _pieces(*codes.shape):
        target = released[piece]
        part = bits.for_rows(np.arange(piece.start, piece.stop))
        words = part.word_rows(*target.shape)
        _resample(target, words, alphabet_size, chance, part, None)
    return released


def resample_ragged(
    codes: Codes, lengths: NDArray[np.int64], alphabet_size: int, chance: Boundaries, bits: BitSource
) -> Codes:
    """The same for words of any lengths that stand one after the other; from the same bits the same words."""
    released = codes.copy()
    row_of = np.repeat(np.arange(len(lengths)), lengths)
    _resample(released, bits.ragged_words(lengths), alphabet_size, chance, bits, row_of)
    return released


def _resample(
    target: Codes,
    words: NDArray[np.uint64],
    alphabet_size: int,
    chance: Boundaries,
    bits: BitSource,
    row_of: NDArray[np.int64] | None,
) -> None:
    """Resample in place: half of each symbol's 64-bit word decides whether, the other half what becomes of it."""
    lanes = np.ascontiguousarray(words).view(np.uint32).reshape(*target.shape, 2)
    deciding = lanes[..., 0]
    drawn = uniform_below(alphabet_size, lanes[..., 1], bits, row_of=row_of)
    resample = deciding < chance.first[0]
    undecided = deciding <= chance.last[0]
    undecided ^= resample
    if undecided.any():
        for place in zip(*np.nonzero(undecided), strict=True):
            row = int(place[0] if row_of is None else row_of[place[0]])
            resample[place] = chance.resolve(int(deciding[place]), bits.of_row(row)) == 0
    np.copyto(target, drawn, where=resample)


def at_distance(codes: Codes, distances: NDArray[np.int64], alphabet_size: int, bits: BitSource) -> Codes:
    """For each row a uniform word at exactly the given Hamming distance from it."""
    released = codes.copy()
    moving = np.flatnonzero(distances)
    for piece in _pieces(len(moving), codes.shape[1]):
        rows = moving[piece]
        target = codes[rows]
        part = bits.for_rows(rows)
        changed = uniform_subsets(target.shape[1], distances[rows], part)
        other = uniform_below(alphabet_size - 1, part.lane_rows(*target.shape), part)
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
    keys = bits.lane_rows(len(sizes), length)
    in_order = np.sort(keys, axis=1)
    rows = np.arange(len(sizes))
    last_winner = in_order[rows, np.maximum(sizes - 1, 0)]
    chosen = keys <= last_winner[:, None]
    chosen[sizes == 0] = False
    first_loser = in_order[rows, np.minimum(sizes, length - 1)]
    tied = (sizes > 0) & (sizes < length) & (last_winner == first_loser)
    if tied.any():
        chosen[tied] = _subsets_by_keys(length, sizes[tied], bits.for_rows(np.flatnonzero(tied)))
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
        row_of = np.repeat(np.arange(len(sizes)), missing)
        throws = uniform_below(length, bits.lanes_of(row_of), bits, row_of=row_of)
        chosen[row_of, throws] = True
        missing = wanted - np.count_nonzero(chosen, axis=1)
    chosen[inverted] ^= True
    return chosen
