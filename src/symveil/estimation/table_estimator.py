"""Tables from words that are added batch by batch, in random groups: variances of anything that is a sum over words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

import numpy as np

from symveil.estimation.statistics import Batch
from symveil.estimation.table import FEWEST, Floats, Variances, refusal_of_few

Target = Literal["file", "population"]


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
