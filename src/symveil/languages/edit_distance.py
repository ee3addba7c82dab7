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

    The textbook recursion, a row of its table at a time for all of `others` together.

    >>> edit_distances(np.array([0, 1], dtype=np.int32), np.array([[0, 1], [1, 0], [2, 2]], dtype=np.int32)).tolist()
    [0, 2, 2]
    """
    length = others.shape[1]
    before = np.broadcast_to(np.arange(length + 1), (len(others), length + 1))
    for read, symbol in enumerate(word.tolist(), start=1):
        row = np.empty_like(before)
        row[:, 0] = read
        kept_or_put = before[:, :-1] + (others != symbol)
        np.minimum(kept_or_put, before[:, 1:] + 1, out=kept_or_put)
        for column in range(length):
            row[:, column + 1] = np.minimum(kept_or_put[:, column], row[:, column] + 1)
        before = row
    return np.asarray(before[:, -1], dtype=np.int64)
