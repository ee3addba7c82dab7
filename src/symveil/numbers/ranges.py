"""Consecutive ranges as flat arrays: where each begins, and what is in each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]


def offsets(counts: NDArray[np.integer[Any]] | NDArray[np.bool_]) -> Indices:
    """Where each of some consecutive ranges begins, and where the last one ends.

    >>> offsets(np.array([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def spread(counts: NDArray[np.integer[Any]], begin: NDArray[np.integer[Any]] | int = 0) -> tuple[Indices, Indices]:
    """The number of each range as often as its count, and beside it 0 … count − 1; with `begin`, from there on.

    >>> [each.tolist() for each in spread(np.array([2, 0, 3]))]
    [[0, 0, 2, 2, 2], [0, 1, 0, 1, 2]]
    >>> spread(np.array([2, 0, 3]), np.array([7, 8, 1]))[1].tolist()
    [7, 8, 1, 2, 3]
    """
    owner = np.repeat(np.arange(len(counts)), counts)
    return owner, np.repeat(begin - np.cumsum(counts) + counts, counts) + np.arange(len(owner))
