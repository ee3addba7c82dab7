"""The Levenshtein distance: the least number of insertions, deletions and substitutions between two words.

Levenshtein distances between all words of two lists, sixty-four entries of the textbook's table at a time.

Down a column of that table neighbouring entries differ by −1, 0 or 1, so a column is two bits an entry, and the next
column follows from a few operations on whole machine words (Myers, J. ACM 1999; longer words in blocks: Hyyrö 2003).
numpy does them for many pairs at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symveil.languages.limits import LIMITS
from symveil.models.alphabet import Codes

Distances = NDArray[np.int64]


def edit_distance(first: Sequence[int] | Codes, second: Sequence[int] | Codes) -> int:
    """The distance between two words given as codes.

    >>> edit_distance([0, 1, 2], [1, 2, 2, 0])
    3
    """
    return int(edit_distances(np.asarray(first, dtype=np.int32), np.asarray(second, dtype=np.int32)[None, :])[0])


def edit_distances(word: Codes, others: Codes) -> Distances:
    """The distances from one word to each row of `others`, which all have one length.

    >>> edit_distances(np.array([0, 1], dtype=np.int32), np.array([[0, 1], [1, 0], [2, 2]], dtype=np.int32)).tolist()
    [0, 2, 2]
    """
    return np.asarray(all_edit_distances(word[None, :], others)[0])


def all_edit_distances(words: Codes, others: Codes) -> Distances:
    """The distance between every row of `words` and every row of `others`.

    The textbook's table, one of its entries at a time for all pairs together.

    >>> rows = np.array([[0, 1], [1, 0]], dtype=np.int32)
    >>> all_edit_distances(rows, rows).tolist()
    [[0, 2], [2, 0]]
    """
    kind = np.int16 if max(words.shape[1], others.shape[1]) < 2**14 else np.int64
    row: list[NDArray[Any]] = [
        np.full((len(words), len(others)), column, dtype=kind) for column in range(others.shape[1] + 1)
    ]
    for read in range(words.shape[1]):
        row = _next_row(row, words[:, read], others, read + 1)
    return row[-1].astype(np.int64)


def distance_table(by_length: list[Codes]) -> Distances:
    """The distance between all pairs of words, given by their lengths 0, 1, 2 …, in that order.

    Words are padded to one length: an entry of the textbook's table depends on what comes before it only, so
    the distance of two words is found in the table of the padded ones, at their own lengths.

    >>> distance_table([np.zeros((1, 0), dtype=np.int32), np.array([[0], [1]], dtype=np.int32)]).tolist()
    [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    """
    longest = len(by_length) - 1
    sizes = [len(rows) for rows in by_length]
    ends = np.cumsum(sizes)
    padded = np.full((int(ends[-1]), longest), -1, dtype=np.int32)
    for length, rows in enumerate(by_length):
        padded[ends[length] - sizes[length] : ends[length], :length] = rows
    table = np.zeros((len(padded), len(padded)), dtype=np.int64)
    kind = np.int16 if longest < 2**14 else np.int64
    row = [np.full((len(padded), len(padded)), column, dtype=kind) for column in range(longest + 1)]
    for read in range(longest + 1):
        begin = ends[read] - sizes[read]  # shorter words are done with
        done = 0 if read == 0 else sizes[read - 1]
        row = [each[done:] for each in row]
        if read:
            row = _next_row(row, padded[begin:, read - 1], padded, read)
        for length in range(longest + 1):
            columns = slice(ends[length] - sizes[length], ends[length])
            table[begin : ends[read], columns] = row[length][: sizes[read], columns]
    return table


def _next_row(row: list[NDArray[Any]], symbols: Codes, others: Codes, read: int) -> list[NDArray[Any]]:
    """The entries after one more symbol of the words, for all pairs together."""
    following = [np.full_like(row[0], read)]
    for column in range(others.shape[1]):
        best = np.minimum(row[column + 1], following[column])
        best += 1
        np.minimum(best, row[column] + (symbols[:, None] != others[None, :, column]), out=best)
        following.append(best)
    return following


_BITS = 64

_ONE, _LAST = np.uint64(1), np.uint64(_BITS - 1)


def edit_distances_between(words: Sequence[Codes], others: Sequence[Codes]) -> NDArray[np.int32]:
    """The distance between each of `words` and each of `others`; codes are 0 or more.

    >>> rows = [np.array(word, dtype=np.int32) for word in ([0, 1], [1, 0, 2], [])]
    >>> edit_distances_between(rows, rows).tolist()
    [[0, 2, 2], [2, 0, 3], [2, 3, 0]]
    """
    results = np.zeros((len(words), len(others)), dtype=np.int32)
    lengths = np.array([len(word) for word in words], dtype=np.int64)
    order = np.argsort(np.array([-len(word) for word in others], dtype=np.int64), kind="stable")
    texts = [others[index] for index in order]
    longest = max((len(text) for text in texts), default=0)
    padded = np.zeros((len(texts), longest), dtype=np.int64)
    for row, text in enumerate(texts):
        padded[row, : len(text)] = text
    going_on = np.array([sum(len(text) > position for text in texts) for position in range(longest)], dtype=np.int64)
    symbols = 1 + max((int(word.max()) for word in (*words, *others) if len(word)), default=0)
    for length in np.unique(lengths).tolist():
        rows = np.flatnonzero(lengths == length)
        if length == 0:
            results[rows[:, None], order] = [len(text) for text in texts]
            continue
        blocks = -(-length // _BITS)
        at_once = max(
            1,
            min(
                LIMITS.now.edit_pairs_at_once // max(1, len(texts)),
                LIMITS.now.edit_mask_bytes // (8 * symbols * blocks),
            ),
        )
        for begin in range(0, len(rows), at_once):
            some = rows[begin : begin + at_once]
            patterns = np.stack([words[index] for index in some.tolist()]).astype(np.int64)
            results[some[:, None], order] = _distances(patterns, padded, going_on, symbols)
    return results


def _distances(patterns: NDArray[np.int64], texts: NDArray[np.int64], going_on: NDArray[np.int64], symbols: int
) -> NDArray[np.int32]:  # fmt: skip
    """From each pattern, all of one length, to each text; of the texts, longest first, so many have each place."""
    count, length = patterns.shape
    blocks = -(-length // _BITS)
    masks = np.zeros((blocks, count, symbols), dtype=np.uint64)  # where in the pattern a symbol stands
    for index in range(length):
        masks[index // _BITS, np.arange(count), patterns[:, index]] |= _ONE << np.uint64(index % _BITS)
    ups = [np.full((count, len(texts)), ~np.uint64(0)) for _ in range(blocks)]
    downs = [np.zeros((count, len(texts)), dtype=np.uint64) for _ in range(blocks)]
    distances = np.full((count, len(texts)), length, dtype=np.int32)
    last = np.uint64((length - 1) % _BITS)
    for index, active in enumerate(going_on.tolist()):
        read = texts[:active, index]
        up_in = np.broadcast_to(_ONE, (count, active))  # in the row of the empty pattern each symbol costs 1
        down_in = np.broadcast_to(np.uint64(0), (count, active))
        for block in range(blocks):
            up, down = ups[block][:, :active], downs[block][:, :active]
            equal = masks[block][:, read]
            vertical = equal | down
            equal |= down_in
            horizontal = (((equal & up) + up) ^ up) | equal
            rises, falls = down | ~(horizontal | up), up & horizontal
            bit = last if block == blocks - 1 else _LAST
            up_out, down_out = (rises >> bit) & _ONE, (falls >> bit) & _ONE
            rises, falls = (rises << _ONE) | up_in, (falls << _ONE) | down_in
            ups[block][:, :active] = falls | ~(vertical | rises)
            downs[block][:, :active] = rises & vertical
            up_in, down_in = up_out, down_out
        distances[:, :active] += up_in.astype(np.int32)
        distances[:, :active] -= down_in.astype(np.int32)
    return distances
