"""Random groups of words: variances of anything that is a sum over words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from symveil.errors import InputError
from symveil.randomness import NotPrivateSeededBits

MOST, FEWEST = 200, 20
_NUMBERS_KEPT = 20_000_000
"""How many numbers the tables of all groups may have: 160 MB."""


def random_groups(units: int, count: int, seed: int) -> NDArray[np.int64]:
    """A group for each of `units` words or clusters: at random, all groups as large as each other as far as possible.

    The seed is public (a digest of the private file), so that the same file has the same answer.

    >>> np.bincount(random_groups(10, 3, seed=1)).tolist()
    [4, 3, 3]
    """
    order = np.argsort(NotPrivateSeededBits(seed).words(units), kind="stable")
    groups = np.empty(units, dtype=np.int64)
    groups[order] = np.arange(units) % max(count, 1)
    return groups


def group_count(units: int, cells: int) -> int:
    """How many groups: as many as there are units, at most 200, and as their tables allow."""
    return min(MOST, units, _NUMBERS_KEPT // max(cells, 1))


def refusal_of_few(units: int, what: str, *, cells: int) -> InputError:
    """What is said where there are too few groups for a variance."""
    if units < FEWEST:
        return InputError(
            f"variance: expected at least {FEWEST} {what} to compare with each other, found {units}; "
            "use a statistic and a target that need no groups, such as visits with `target='file'`"
        )
    return InputError(
        f"statistic: expected a table of at most {_NUMBERS_KEPT // FEWEST:,} cells, found {cells:,}; use a smaller "
        "order, or a smaller alphabet"
    )


def group_variance(sums: list[NDArray[np.float64]], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """G/(G−1)·Σ_g (S_g − n_g·X̄)²: the variance of a total, from the sums of random groups of words.

    >>> group_variance([np.array([1.0]), np.array([3.0])], np.array([5, 5])).tolist()
    [4.0]
    """
    count = len(sums)
    mean = sum(sums, start=np.zeros(())) / max(int(sizes.sum()), 1)
    squares = sum(((own - size * mean) ** 2 for own, size in zip(sums, sizes.tolist(), strict=True)), np.zeros(()))
    return np.asarray(squares * (count / (count - 1)))
