"""Tables of symbols and times from private events: what the law of an event did to them is undone, unbiased.

A law treats all symbols alike, so a table of symbols × bins has two parts that do not mix: its mean over symbols,
which one matrix multiplies, and the rest, which another one does (`laws.event_law`). Both are inverted. An
estimate of a cell is a sum over events of a number ĥ that is on average 1 where the true event is in the cell, and 0
elsewhere. Events are drawn independently, and such an indicator is its own square: Σ (ĥ² − ĥ) estimates the variance
under any law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from symveil.errors import InputError
from symveil.estimation.limits import LIMITS
from symveil.estimation.named_table import Estimate
from symveil.estimation.table import Batch, EstimatedTable, Variances, WordSums, projected
from symveil.laws.event_law import EventLaw
from symveil.models.times import spelled_duration


class TimedTables(WordSums):
    """The table of bins × symbols, or of bins alone, from private events that are added batch by batch.

    The bin of each event is the attribute of a batch, -1 where it has none. `leading` is what bins are called; without
    `by_symbol` symbols are not distinguished.

    >>> from fractions import Fraction
    >>> law = EventLaw.uniform(symbols=2, bins=3, circle=True, rate=Fraction(50))
    >>> tables = TimedTables(law, by_symbol=True, leading="hour")
    >>> word = (np.array([0, 0, 1], dtype=np.int32), np.array([3]), np.array([0]))
    >>> tables.add(Batch(*word, attributes=(np.array([2, 2, 0]),)))
    >>> abs(tables.finish().estimate.round(6)).tolist()
    [[0.0, 1.0], [0.0, 0.0], [2.0, 0.0]]
    """

    def __init__(self, law: EventLaw, *, by_symbol: bool, leading: str) -> None:
        super().__init__(groups=0)
        self._law, self._by_symbol, self._leading = law, by_symbol, leading
        self._counts = np.zeros((law.symbols, law.bins), dtype=np.int64)

    def _add(self, batch: Batch) -> None:
        (bins,) = batch.attributes
        codes = batch.codes.astype(np.int64) if self._by_symbol else np.zeros(len(bins), dtype=np.int64)
        cells = (codes * self._law.bins + bins)[bins >= 0]
        self._counts += np.bincount(cells, minlength=self._counts.size).reshape(self._counts.shape)

    @property
    def events(self) -> int:
        """How many events have a bin."""
        return int(self._counts.sum())

    @staticmethod
    def usable(law: EventLaw, events: int, *, by_symbol: bool) -> bool:
        """Whether noise leaves enough of every part of the table: a public rule."""
        return TimedTables.least_factor(law, by_symbol=by_symbol) * math.sqrt(events) >= LIMITS.now.large_enough

    @staticmethod
    def least_factor(law: EventLaw, *, by_symbol: bool) -> float:
        """The smallest factor by which noise multiplies a part of the table."""
        return law.least_factor() if by_symbol else float(law.factors()[0].min())

    def finish(self) -> EstimatedTable:
        """The table."""
        law, counts = self._law, self._counts.astype(np.float64)
        mean = np.linalg.inv(law.matrices()[0])
        if self._by_symbol and law.symbols > 1:
            rest = np.linalg.inv(law.matrices()[1])
            m = law.symbols
            # ĥ of a released bin, a row, for a true one: where the released symbol is the cell's, and where it is not
            equal, other = mean / m + (1 - 1 / m) * rest, (mean - rest) / m
            others = counts.sum(axis=0) - counts
            estimate = counts @ equal + others @ other
            squares = counts @ equal**2 + others @ other**2
            released, estimate, squares = counts.T, estimate.T, squares.T
        else:
            whole = counts.sum(axis=0)
            released, estimate, squares = whole, whole @ mean, whole @ mean**2
        return EstimatedTable(
            released=released,
            estimate=estimate,
            variances=Variances.from_squares(squares, estimate),
            consistent=projected(estimate),
            most=float(self.events),
            leading=self._leading,
        )


def refusal(law: EventLaw, events: int, advice: str, *, by_symbol: bool) -> InputError:
    """The message where nothing can be estimated: the public rule, and what would be enough."""
    least = TimedTables.least_factor(law, by_symbol=by_symbol)
    enough = LIMITS.now.large_enough
    needed = "no number of events is enough" if least == 0 else f"{math.ceil((enough / least) ** 2):,} events needed"
    return InputError(
        f"estimate: expected noise that leaves enough of the table (least factor × √events at least {enough:g}), "
        f"found {least:.2g} × √{events:,}: {needed}; {advice}"
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class WaitEstimate(Estimate):
    """Estimates of waits: rows have the public bin that they count.

    Parameters
    ----------
    edges
        Of the bins, in seconds; the last one is open.
    method, target, assumptions, warnings, statistic, confidence, symbols, leading, places, codes, numbers
        As in `Estimate`.
    """

    edges: tuple[int, ...]
    what: ClassVar[str] = "estimates of waits"

    def _bin(self, number: int) -> dict[str, Any]:
        low, last = self.edges[number], number == len(self.edges) - 2
        high = None if last else self.edges[number + 1]
        text = f"from {spelled_duration(low)}" if high is None else f"{spelled_duration(low)}..{spelled_duration(high)}"
        return {"wait": text, "from_seconds": low, "to_seconds": high}

    def row(self, index: int) -> dict[str, Any]:
        """One row, by its rank."""
        assert self.places is not None  # noqa: S101 - its first axis is that of bins
        return {**super().row(index), **self._bin(int(self.places[index]))}

    @property
    def table(self) -> pa.Table:
        """All rows as an Arrow table: the symbol, the bin and the numbers."""
        plain = super().table
        assert self.places is not None  # noqa: S101 - likewise
        bins = [self._bin(number) for number in self.places.tolist()]
        index = plain.column_names.index("wait")
        for name in ("wait", "from_seconds", "to_seconds"):
            values = pa.array([each[name] for each in bins])
            plain = plain.set_column(index, name, values) if name == "wait" else plain.add_column(index, name, values)
            index += 1
        return plain
