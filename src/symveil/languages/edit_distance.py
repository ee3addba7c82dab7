"""The Levenshtein distance: the least number of insertions, deletions and substitutions between two words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symveil.models.word import Codes

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
