"""The tables of an event log: lengths of cases, activities that a case has twice, and moves by position.

A case that is longer than the longest public length counts with its first events and without an end; one that is
shorter than the shortest does not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from symveil.central.contributions import cell_name
from symveil.central.support import Support
from symveil.estimation.batches import Batch, Indices


@dataclass(frozen=True, eq=False)
class LogLengths:
    """A cell for each public length; longer cases are in the last one."""

    support: Support

    def __len__(self) -> int:
        return self.support.longest - self.support.shortest + 1

    def names(self, symbols: Sequence[str]) -> list[bytes]:
        """The length of each cell; the last one also has longer cases."""
        del symbols
        shortest, longest = self.support.shortest, self.support.longest
        return [cell_name([str(length)]) for length in range(shortest, longest)] + [cell_name([str(longest), "more"])]

    def of(self, batch: Batch) -> tuple[Indices, Indices]:
        """The length of each case that counts, and which case it is."""
        cases = np.flatnonzero(batch.lengths >= self.support.shortest)
        lengths = np.minimum(batch.lengths[cases], self.support.longest)
        return lengths.astype(np.int64) - self.support.shortest, cases


@dataclass(frozen=True, eq=False)
class LogRepeats:
    """A cell for each activity: the cases that have it at least twice."""

    support: Support

    def __len__(self) -> int:
        return self.support.symbols

    def names(self, symbols: Sequence[str]) -> list[bytes]:
        """The activity of each cell."""
        return [cell_name([symbol]) for symbol in symbols]

    def of(self, batch: Batch) -> tuple[Indices, Indices]:
        """Each repeated activity, and which case repeats it."""
        events = np.flatnonzero(_counted(self.support, batch))
        pairs, times = np.unique(
            batch.word[events] * self.support.symbols + batch.codes[events].astype(np.int64), return_counts=True
        )
        cases, activities = np.divmod(pairs[times >= 2], self.support.symbols)
        return activities, cases


@dataclass(frozen=True, eq=False)
class LogMoves:
    """A cell for each start, each move and each end; moves and ends by phase, where the support has a split.

    They stand in the order of the parameters of a law: starts, moves of each phase, ends of each phase.
    """

    support: Support

    def __len__(self) -> int:
        support = self.support
        return support.symbols + support.phases * (len(support.source) + support.symbols)

    def names(self, symbols: Sequence[str]) -> list[bytes]:
        """What each cell counts: which positions, and the activities."""
        support = self.support
        split = str(support.split)
        phases = [["all"]] if support.split is None else [["up to", split], ["after", split]]
        pairs = list(zip(support.source.tolist(), support.target.tolist(), strict=True))
        starts = [cell_name(["start", symbol]) for symbol in symbols]
        moves = [cell_name(["move", *phase, symbols[a], symbols[b]]) for phase in phases for a, b in pairs]
        return starts + moves + [cell_name(["end", *phase, symbol]) for phase in phases for symbol in symbols]

    def of(self, batch: Batch) -> tuple[Indices, Indices]:
        """The cell of every start, move and end, and which case it is in."""
        support, counted = self.support, _counted(self.support, batch)
        codes, late = batch.codes.astype(np.int64), np.zeros(len(batch.codes), dtype=np.int64)
        if support.split is not None:
            late = (batch.position >= support.split).astype(np.int64)
        starts = np.flatnonzero(counted & (batch.position == 0))
        last = batch.position + 1 == batch.lengths[batch.word]
        moves = np.flatnonzero(counted & ~last & (batch.position + 1 < support.longest))
        ends = np.flatnonzero(counted & last)
        listed = support.source * support.symbols + support.target  # increasing
        number = np.searchsorted(listed, codes[moves] * support.symbols + codes[moves + 1])
        cells = [
            codes[starts],
            support.symbols + late[moves] * len(listed) + number,
            support.symbols + support.phases * len(listed) + late[ends] * support.symbols + codes[ends],
        ]
        return np.concatenate(cells), batch.word[np.concatenate([starts, moves, ends])]


LogTable = LogLengths | LogRepeats | LogMoves
"""A table of an event log, with the names of its cells."""


def _counted(support: Support, batch: Batch) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """For each event, whether it counts: in a case that is long enough, and not behind the longest length."""
    long_enough = batch.lengths >= support.shortest
    return np.asarray(long_enough[batch.word] & (batch.position < support.longest))
