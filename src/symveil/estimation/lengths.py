"""How many sequences have each length, where lengths are public: exact for the file, sampled from a population."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from symveil.estimation.batches import Batch
from symveil.estimation.groups import FEWEST, group_variance, refusal_of_few
from symveil.estimation.substitution_tables import Target
from symveil.estimation.table import EstimatedTable, Variances


class LengthTable:
    """The number of sequences of each length that occurs."""

    def __init__(self, *, target: Target, groups: int) -> None:
        self._target, self.groups = target, groups
        self._counts: dict[int, NDArray[np.int64]] = {}
        self._sizes = np.zeros(max(groups, 1), dtype=np.int64)

    def add(self, batch: Batch) -> None:
        """Some more words."""
        self._sizes += np.bincount(batch.groups, minlength=len(self._sizes))
        for length in np.unique(batch.lengths).tolist():
            own = np.bincount(batch.groups[batch.lengths == length], minlength=len(self._sizes))
            self._counts[length] = self._counts.get(length, 0) + own

    def finish(self) -> EstimatedTable:
        """The table."""
        longest = max(self._counts, default=0)
        counts = np.zeros((longest + 1, len(self._sizes)))
        for length, own in self._counts.items():
            counts[length] = own
        total = counts.sum(axis=1)
        if self._target == "file":
            variances = Variances(values=np.zeros(len(total)), freedom=None)
        elif self.groups < FEWEST:
            raise refusal_of_few(int(self._sizes.sum()), "sequences or clusters", cells=len(total))
        else:
            variances = Variances(values=group_variance(list(counts.T), self._sizes), freedom=self.groups - 1)
        return EstimatedTable(
            released=total,
            estimate=total,
            variances=variances,
            consistent=total,
            most=float(self._sizes.sum()),
            listed=total > 0,
            leading="length",
        )
