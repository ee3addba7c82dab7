"""Tables from words that are added batch by batch, in random groups: variances of anything that is a sum over words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from symveil.errors import InputError
from symveil.estimation.statistics import Batch
from symveil.estimation.table import Floats, Variances
from symveil.randomness import NotPrivateSeededBits

Target = Literal["file", "population"]
MOST, FEWEST = 200, 20
_NUMBERS_STORED = 20_000_000
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
    return min(MOST, units, _NUMBERS_STORED // max(cells, 1))


def refusal_of_few(units: int, what: str, *, cells: int) -> InputError:
    """The error where there are too few groups for a variance."""
    if units < FEWEST:
        return InputError(
            f"variance: expected at least {FEWEST} {what} to compare with each other, found {units}; "
            "use a statistic and a target that need no groups, such as visits with `target='file'`"
        )
    return InputError(
        f"statistic: expected a table of at most {_NUMBERS_STORED // FEWEST:,} cells, found {cells:,}; use a smaller "
        "order, or a smaller alphabet"
    )


class TableEstimator(ABC):
    """Sums over words, all of them and by group, until a table is made of them.

    Parameters
    ----------
    target
        "file": these words; "population": what they are a sample of.
    groups
        How many random groups words are in; 0 where none are needed.
    """

    def __init__(self, *, target: Target, groups: int) -> None:
        self._target, self.groups = target, groups
        self._sizes = np.zeros(max(groups, 1), dtype=np.int64)

    def add(self, batch: Batch) -> None:
        """Some more words."""
        self._sizes += np.bincount(batch.groups, minlength=len(self._sizes))
        self._add(batch)

    @abstractmethod
    def _add(self, batch: Batch) -> None:
        """The same for the sums."""

    @abstractmethod
    def _group_sums(self) -> list[Floats]:
        """What is estimated from each group of words."""

    def _require_groups(self, cells: int) -> None:
        """Refuse a table of so many cells where groups are too few for a variance."""
        if self.groups < FEWEST:
            raise refusal_of_few(int(self._sizes.sum()), "sequences or clusters", cells=cells)

    def _by_groups(self, cells: int) -> Variances:
        """The variances of a table of so many cells, from how much groups differ."""
        self._require_groups(cells)
        return Variances.from_groups(self._group_sums(), self._sizes)
