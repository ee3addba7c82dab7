"""Tables of the true words where noise substitutes symbols: exactly unbiased, in one pass.

A table is split into parts that depend on r = 0, 1, … k symbols, and each part is divided by what the noise has
multiplied it with, λ_r(n) (`substitution_noise`, `cell_sums`).

How many sequences have each length, where lengths are public: exact for the file, sampled from a population.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from symveil.estimation.pair_terms import NeighbourTerms, VisitTerms
from symveil.estimation.statistics import Batch, Statistic, windows
from symveil.estimation.substitution_noise import Floats, Orders, SubstitutionNoise, WeighedTables, cell_sums, part
from symveil.estimation.table import (
    FEWEST,
    EstimatedTable,
    RowShares,
    TableEstimator,
    Target,
    Variances,
    group_variance,
    projected,
    shares_of_rows,
)

_ONE_WINDOW = ("first", "last", "positions", "od")
"""Statistics that count each word at most once in a cell."""
CONSERVATIVE = "standard errors are from random groups of sequences, which for the file itself are too large on average"


class SubstitutionTables(TableEstimator):
    """The table of one statistic, from words that are added batch by batch.

    Parameters
    ----------
    statistic
        visits, first, last, positions, ngrams:K, od or transitions.
    noise
        What the release did to words of each length.
    target
        "file": these words; "population": what they are a sample of.
    groups
        How many random groups words are in.
    longest
        The longest word, for positions.
    """

    def __init__(
        self, statistic: Statistic, noise: SubstitutionNoise, *, target: Target, groups: int, longest: int = 0
    ) -> None:
        super().__init__(target=target, groups=groups)
        self._statistic, self._noise = statistic, noise
        self._order, m = statistic.order, noise.symbols
        self._shape = ((longest,) if statistic.kind == "positions" else ()) + (m,) * self._order
        self._size = int(np.prod(self._shape, dtype=np.int64))
        self._linear: tuple[Orders, ...] = tuple(_weight(degree) for degree in range(self._order + 1))
        weights = set(self._linear)
        self._pairs: VisitTerms | NeighbourTerms | None = None
        if target == "file" and statistic.kind in _ONE_WINDOW:
            weights |= {_weight(s, t) for s in range(self._order + 1) for t in range(self._order + 1)}
        elif target == "file" and statistic.kind != "transitions" and self._order <= 2:
            self._pairs = VisitTerms(noise) if self._order == 1 else NeighbourTerms(noise)
            weights |= {_weight(degree) for degree in range(2 * self._order + 1)}
        self._tables = WeighedTables(self._size, noise, tuple(sorted(weights)))
        self._by_group = WeighedTables(groups * self._size, noise, self._linear)

    @staticmethod
    def numbers_per_group(statistic: Statistic, noise: SubstitutionNoise, *, longest: int) -> int:
        """How many numbers the tables of a group have."""
        cells = int(noise.symbols**statistic.order) * (longest if statistic.kind == "positions" else 1)
        return cells * WeighedTables.stored_numbers(
            noise, tuple(_weight(degree) for degree in range(statistic.order + 1))
        )

    def _add(self, batch: Batch) -> None:
        counted = windows(self._statistic, batch)
        cells, lengths = counted.cells(self._noise.symbols), batch.lengths[counted.word]

        def weigh(weight: Orders) -> Floats:
            return self._noise.inverses(weight, lengths)

        self._tables.add(cells, weigh)
        if self.groups:
            self._by_group.add(batch.groups[counted.word] * self._size + cells, weigh)
        if self._pairs is not None:
            self._pairs.add(batch)

    # --- estimates -----------------------------------------------------------------------------

    def _estimate(self, tables: WeighedTables, group: int | None = None) -> Floats:
        m, total = self._noise.symbols, np.zeros(self._shape)
        for degree, weight in enumerate(self._linear):
            table = tables.table(weight) if group is None else tables.table_slice(weight, group, self._size)
            total += cell_sums(table.reshape(self._shape), part(degree, self._order, m))
        return total

    def finish(self) -> EstimatedTable:
        """The table."""
        estimate = self._estimate(self._tables)
        counts = self._tables.counts.reshape(self._shape).astype(np.float64)
        axes = tuple(range(-self._order, 0))
        most = counts.sum(axis=axes, keepdims=True)
        if self._statistic.kind == "transitions":
            return self._transitions(estimate, counts)
        variances, notes = self._variances(estimate)
        return EstimatedTable(
            released=counts,
            estimate=estimate,
            variances=variances,
            consistent=projected(estimate, axes=self._order),
            most=np.broadcast_to(most, self._shape),
            leading="position" if self._statistic.kind == "positions" else None,
            notes=notes,
        )

    def _group_sums(self) -> list[Floats]:
        return [self._estimate(self._by_group, group) for group in range(self.groups)]

    def _variances(self, estimate: Floats) -> tuple[Variances, tuple[str, ...]]:
        if self._target == "population":
            return self._by_groups(self._size), ()
        if self._statistic.kind in _ONE_WINDOW:
            closed = self._squares() - estimate
        elif self._pairs is not None and self._pairs.excess.known:
            closed = self._window_terms() - estimate + self._pairs.total()
        else:
            return self._by_groups(self._size), (CONSERVATIVE,)
        noisy = self._pairs is not None and self._pairs.excess.noisy
        wanting = ~(closed > 0) | noisy
        if not wanting.any():
            return Variances(values=closed, freedom=None), ()
        if self.groups >= FEWEST:
            grouped = group_variance(self._group_sums(), self._sizes)
            values = np.where(wanting, np.maximum(closed, grouped), closed)
            return Variances(values=values, freedom=self.groups - 1, by_group=wanting & (grouped >= closed)), ()
        # without a mean to compare with, squares themselves: too large on average, never too small
        bound = sum((own**2 for own in self._group_sums()), np.zeros(self._shape))
        return Variances(values=np.where(wanting, np.maximum(closed, bound), closed), freedom=None), ()

    def _squares(self) -> Floats:
        """Σ ĥ² over the windows."""
        m, total = self._noise.symbols, np.zeros(self._shape)
        parts = [part(degree, self._order, m) for degree in range(self._order + 1)]
        for s, first in enumerate(parts):
            for t, second in enumerate(parts):
                total += cell_sums(self._tables.table(_weight(s, t)).reshape(self._shape), first * second)
        return total

    def _window_terms(self) -> Floats:
        """Σ over windows of Σ_{s,t} U^s·U^t/λ_{s+t}."""
        m, total = self._noise.symbols, np.zeros(self._shape)
        parts = [part(degree, self._order, m) for degree in range(self._order + 1)]
        for s, first in enumerate(parts):
            for t, second in enumerate(parts):
                total += cell_sums(self._tables.table(_weight(s + t)).reshape(self._shape), first * second)
        return total

    # --- transitions ---------------------------------------------------------------------------

    def _transitions(self, estimate: Floats, counts: Floats) -> EstimatedTable:
        """Ĉ(a,b)/Ĉ(a,·), by the delta method: the variance of C(a,b) − T(a,b)·C(a,·) over Ĉ(a,·)²."""
        self._require_groups(self._size)
        return transition_table(estimate, counts, self._group_sums(), self._sizes)


def transition_table(estimate: Floats, counts: Floats, sums: list[Floats], sizes: NDArray[np.int64]) -> EstimatedTable:
    """Shares of pairs among the pairs with the same first symbol; no row where their number is not sure to be above 0.

    Parameters
    ----------
    estimate, counts
        How often each pair occurs, estimated and as released.
    sums, sizes
        The estimates from random groups of words, and how many words each has.
    """
    shares = RowShares.of(estimate, sums, sizes)
    unlisted = int((~shares.listed).sum())
    return EstimatedTable(
        released=shares_of_rows(counts),
        estimate=shares.share,
        variances=shares.variances,
        consistent=shares_of_rows(projected(estimate)),
        most=1.0,
        listed=np.broadcast_to(shares.listed, estimate.shape),
        notes=(f"{unlisted} symbols occur too rarely for their transitions to be estimated",) if unlisted else (),
    )


def _weight(*degrees: int) -> Orders:
    return tuple(sorted(degree for degree in degrees if degree))


class LengthTable(TableEstimator):
    """The number of sequences of each length that occurs."""

    def __init__(self, *, target: Target, groups: int) -> None:
        super().__init__(target=target, groups=groups)
        self._counts: dict[int, NDArray[np.int64]] = {}

    def _add(self, batch: Batch) -> None:
        for length in np.unique(batch.lengths).tolist():
            own = np.bincount(batch.groups[batch.lengths == length], minlength=len(self._sizes))
            self._counts[length] = self._counts.get(length, 0) + own

    def _group_sums(self) -> list[Floats]:
        counts = np.zeros((max(self._counts, default=0) + 1, len(self._sizes)))
        for length, own in self._counts.items():
            counts[length] = own
        return list(counts.T)

    def finish(self) -> EstimatedTable:
        """The table."""
        total = np.asarray(sum(self._group_sums()))
        exact = Variances(values=np.zeros(len(total)), freedom=None)
        return EstimatedTable(
            released=total,
            estimate=total,
            variances=exact if self._target == "file" else self._by_groups(len(total)),
            consistent=total,
            most=float(self._sizes.sum()),
            listed=total > 0,
            leading="length",
        )
