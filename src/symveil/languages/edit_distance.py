"""The Levenshtein distance: the least number of insertions, deletions and substitutions between two words."""

from __future__ import annotations

from collections.abc import Sequence

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
    shape, width = (len(words), len(others)), others.shape[1]
    kind = np.int16 if max(words.shape[1], width) < 2**14 else np.int64
    row = [np.full(shape, column, dtype=kind) for column in range(width + 1)]
    for read in range(words.shape[1]):
        diagonal = row[0]
        row[0] = np.full(shape, read + 1, dtype=kind)
        for column in range(width):
            best = np.minimum(row[column + 1], row[column])
            best += 1
            differs = words[:, read, None] != others[None, :, column]
            np.minimum(best, diagonal + differs, out=best)
            diagonal, row[column + 1] = row[column + 1], best
    return row[-1].astype(np.int64)
