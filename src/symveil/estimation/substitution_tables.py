"""Tables of the true words where noise substitutes symbols: exactly unbiased, in one pass.

A table is split into parts that depend on r = 0, 1, … k symbols, and each part is divided by what the noise has
multiplied it with, λ_r(n) (`substitution_noise`, `cell_sums`).

How many sequences have each length, where lengths are public: exact for the file, sampled from a population.

In how many sequences a symbol occurs, by length: only where symbols are drawn independently of each other.
Π u(w'_i) with u = −(1−p)/(p−q) where a symbol is a and p/(p−q) elsewhere has the expectation [a is not in w], and it is
the only function of w' that has. Its variance grows like (E u²)ⁿ: beyond some length nothing useful can be estimated.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import ndtri

from symveil.estimation.limits import LIMITS
from symveil.estimation.statistics import Statistic, read_statistic
from symveil.estimation.substitution_noise import (
    NeighbourTerms,
    Orders,
    SubstitutionNoise,
    VisitTerms,
    WeighedTables,
    cell_sums,
    part,
)
from symveil.estimation.table import (
    Batch,
    EstimatedTable,
    Floats,
    TableEstimator,
    Target,
    Variances,
    group_variance,
    windows,
)

_ONE_WINDOW = ("first", "last", "positions", "od")
"""Statistics that count each word at most once in a cell."""
LENGTHS, PRESENCE = read_statistic("lengths"), read_statistic("presence")


class SubstitutionTables(TableEstimator):
    """The table of one statistic, from words that are added batch by batch.

    The longest word is for positions.
    """

    def __init__(
        self, statistic: Statistic, noise: SubstitutionNoise, *, target: Target, groups: int, longest: int = 0
    ) -> None:
        super().__init__(statistic, target=target, groups=groups)
        self._noise, self._order = noise, statistic.order
        self._shape = statistic.shape(noise.symbols, longest)
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
        return math.prod(statistic.shape(noise.symbols, longest)) * WeighedTables.stored_numbers(
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
        counts = self._tables.counts.reshape(self._shape).astype(np.float64)
        most = counts.sum(axis=tuple(range(-self._order, 0)), keepdims=True)
        return self._table(counts, self._estimate(self._tables), most=np.broadcast_to(most, self._shape))

    def _group_sums(self) -> list[Floats]:
        return [self._estimate(self._by_group, group) for group in range(self.groups)]

    def _unbiased(self, estimate: Floats) -> Floats | None:
        """The variances for the file itself, exactly unbiased, so that some may be negative; None where not known."""
        if self._statistic.kind in _ONE_WINDOW:
            return self._products(_weight) - estimate
        if self._pairs is not None and self._pairs.excess.known:
            return self._products(lambda s, t: _weight(s + t)) - estimate + self._pairs.total()
        return None

    def _closed(self, estimate: Floats) -> Variances | None:
        closed = self._unbiased(estimate)
        if closed is None:
            return None
        noisy = self._pairs is not None and self._pairs.excess.noisy
        wanting = ~(closed > 0) | noisy
        if not wanting.any():
            return Variances(values=closed, freedom=None)
        if self.groups >= LIMITS.now.fewest_groups:
            grouped = group_variance(self._group_sums(), self.sizes)
            values = np.where(wanting, np.maximum(closed, grouped), closed)
            return Variances(values=values, freedom=self.groups - 1, by_group=wanting & (grouped >= closed))
        # without a mean to compare with, squares themselves: too large on average, never too small
        bound = sum((own**2 for own in self._group_sums()), np.zeros(self._shape))
        return Variances(values=np.where(wanting, np.maximum(closed, bound), closed), freedom=None)

    def _products(self, weight: Callable[[int, int], Orders]) -> Floats:
        """Σ over windows of Σ_{s,t} U^s·U^t times a weight: Σ ĥ² by 1/(λ_s·λ_t), estimates of squares by 1/λ_{s+t}."""
        m, total = self._noise.symbols, np.zeros(self._shape)
        parts = [part(degree, self._order, m) for degree in range(self._order + 1)]
        for s, first in enumerate(parts):
            for t, second in enumerate(parts):
                total += cell_sums(self._tables.table(weight(s, t)).reshape(self._shape), first * second)
        return total


def _weight(*degrees: int) -> Orders:
    return tuple(sorted(degree for degree in degrees if degree))


class LengthCounts(TableEstimator):
    """How many released words have each length, by group."""

    def __init__(self, *, target: Target, groups: int) -> None:
        super().__init__(LENGTHS, target=target, groups=groups)
        self._counts = np.zeros((len(self.sizes), 1))

    def _add(self, batch: Batch) -> None:
        longest = max(int(batch.lengths.max(initial=0)) + 1, self._counts.shape[1])
        grown = np.zeros((len(self.sizes), longest))
        grown[:, : self._counts.shape[1]] = self._counts
        grown += np.bincount(batch.groups * longest + batch.lengths, minlength=grown.size).reshape(grown.shape)
        self._counts = grown

    @property
    def released(self) -> Floats:
        """How many released words have each length."""
        return np.asarray(self._counts.sum(axis=0))

    def _group_sums(self) -> list[Floats]:
        return list(self._counts)


class LengthTable(LengthCounts):
    """The number of sequences of each length that occurs."""

    def finish(self) -> EstimatedTable:
        """The table."""
        total = self.released
        return self._table(total, total, most=float(self.sizes.sum()), consistent=total, listed=total > 0)

    def _closed(self, estimate: Floats) -> Variances:
        return Variances(values=np.zeros(len(estimate)), freedom=None)


def growth(noise: SubstitutionNoise, length: int) -> float:
    """E u² of a symbol that is not a: the variance of one word is about its n-th power."""
    absent, present, p, q = _factors(noise, length)
    del p
    return float(q * present**2 + (1 - q) * absent**2)


def useful_length(noise: SubstitutionNoise, length: int, words: int, confidence: float) -> bool:
    """Whether so many words of a length, none of which has the symbol, give an interval of some use."""
    if length == 0:
        return True
    spread = growth(noise, length) ** length - 1
    return float(ndtri((1 + confidence) / 2)) * math.sqrt(max(spread, 0.0) * words) <= LIMITS.now.useful * words


def _factors(noise: SubstitutionNoise, length: int) -> tuple[float, float, float, float]:
    """u of another symbol, u of the symbol itself, p and q."""
    eigenvalue, m = noise.eigenvalue(1, length), noise.symbols
    q = (1 - eigenvalue) / m
    p = eigenvalue + q
    return p / (p - q), -(1 - p) / (p - q), p, q


class Presence(TableEstimator):
    """For each length up to `longest` and each symbol: in how many of the sequences it occurs.

    Lengths are listed where an interval that covers with the confidence is of some use.
    """

    def __init__(
        self, noise: SubstitutionNoise, *, target: Target, groups: int, longest: int, confidence: float
    ) -> None:
        super().__init__(PRESENCE, target=target, groups=groups)
        self._noise, self._m, self._longest, self._confidence = noise, noise.symbols, longest, confidence
        shape = PRESENCE.shape(self._m, longest)
        self._released, self._sum, self._squares = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self._words = np.zeros(longest + 1, dtype=np.int64)
        self._by_group = np.zeros((groups, *shape))

    def add(self, batch: Batch) -> None:
        """Some more words; longer ones are passed over."""
        super().add(batch.only(batch.lengths <= self._longest))

    def _add(self, batch: Batch) -> None:
        m, n = self._m, batch.lengths
        lengths = np.unique(n)
        constants = {length: _factors(self._noise, length)[:2] for length in lengths.tolist()}
        table = np.zeros((self._longest + 1, 2))
        for length, pair in constants.items():
            table[length] = pair
        absent, present = table[n].T
        without = absent ** n.astype(np.float64)  # a word that shows no a
        self._words += np.bincount(n, minlength=self._longest + 1)
        keys, counts = np.unique(batch.word * m + batch.codes, return_counts=True)
        word, symbol = keys // m, keys % m
        shown = 1 - present[word] ** counts * absent[word] ** (n[word] - counts)
        cells, size = n[word] * m + symbol, self._sum.size
        hidden = 1 - without

        def total(of_shown: Floats, of_hidden: Floats) -> Floats:
            """Over the words that show a symbol, and over those that do not."""
            own = np.bincount(cells, weights=of_shown - of_hidden[word], minlength=size).reshape(self._sum.shape)
            return np.asarray(own + np.bincount(n, weights=of_hidden, minlength=self._longest + 1)[:, None])

        self._released += np.bincount(cells, minlength=size).reshape(self._sum.shape)
        self._sum += total(shown, hidden)
        self._squares += total(shown**2, hidden**2)
        if self.groups:
            own = batch.groups[word] * size + cells
            by_group = np.bincount(own, weights=shown - hidden[word], minlength=self._by_group.size)
            every = np.bincount(batch.groups * (self._longest + 1) + n, weights=hidden,
                                minlength=self.groups * (self._longest + 1))  # fmt: skip
            self._by_group += by_group.reshape(self._by_group.shape)
            self._by_group += every.reshape(self.groups, self._longest + 1)[:, :, None]

    def _group_sums(self) -> list[Floats]:
        return list(self._by_group)

    def finish(self) -> EstimatedTable:
        """The table, a row for each length that can be estimated."""
        listed = np.zeros(self._sum.shape, dtype=np.bool_)
        for length, words in enumerate(self._words.tolist()):
            listed[length] = words and length and useful_length(self._noise, length, words, self._confidence)
        most = np.broadcast_to(self._words[:, None].astype(np.float64), self._sum.shape)
        consistent = np.clip(self._sum, 0.0, most)
        return self._table(self._released, self._sum, most=most, consistent=consistent, listed=listed)

    def _closed(self, estimate: Floats) -> Variances:
        return Variances.from_squares(self._squares, estimate)
