"""Iterated release: privatise the private words again, and see from that what the first time has done.

Where words are those of a model the noise has no inverse that looks at one place at a time. But for any statistic g,
with x₀ the released words and x_{j+1} a release of x_j, h_k = Σ_j (−1)^j C(k+1, j+1) g(x_j) has the bias
−((I−P)^{k+1} g)(w): the sum telescopes (docs/theory/central.md). k = 1 is 2g(x₀) − g(x₁). Where P may have negative
eigenvalues every other iterate is taken, which puts P² in the place of P.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from symveil.errors import InputError, ParameterError
from symveil.estimation.limits import LIMITS
from symveil.estimation.statistics import Statistic
from symveil.estimation.table import (
    Batch,
    EstimatedTable,
    Floats,
    Indices,
    RowShares,
    Variances,
    WordSums,
    group_variance,
    projected,
    shares_of_rows,
    windows,
)
from symveil.models.alphabet import Codes, split_words
from symveil.numbers.rationals import percent
from symveil.randomness import NotPrivateSeededBits

CHAINS = 2
"""How often words are released again: the mean of several is less noisy."""
Steps = Callable[[Batch], Iterator[Codes]]
"""The words of a batch, a release of them, and a release of that."""
OwnStatistic = Callable[[list[tuple[str, ...]]], Sequence[float]]
"""A statistic of one's own: from a list of words to numbers that add up over words."""


class IteratedTables(WordSums):
    """The table of a statistic of words, of a release of them and of a release of that, by group: cells that occur.

    Parameters
    ----------
    statistic
        What is counted.
    shape
        The axes of its table; the last one are symbols.
    steps
        The releases.
    groups
        As in `WordSums`.
    """

    def __init__(self, statistic: Statistic, shape: tuple[int, ...], steps: Steps, *, groups: int) -> None:
        super().__init__(groups)
        self._statistic, self._symbols, self._steps = statistic, shape[-1], steps
        self._index = np.full(int(np.prod(shape, dtype=np.int64)), -1, dtype=np.int64)
        self._sums, self._used = np.zeros((3, len(self.sizes), 64)), 0

    def _add(self, batch: Batch) -> None:
        for _ in range(CHAINS):
            for step, codes in enumerate(self._steps(batch)):
                counted = windows(self._statistic, Batch(codes, batch.lengths, batch.groups))
                self._count(step, counted.cells(self._symbols), batch.groups[counted.word])

    def _count(self, step: int, cells: Indices, groups: Indices) -> None:
        new = np.unique(cells)
        new = new[self._index[new] < 0]
        self._index[new] = np.arange(self._used, self._used + len(new))
        self._used += len(new)
        if self._used > self._sums.shape[2]:
            grown = np.zeros((3, len(self.sizes), max(self._used, 2 * self._sums.shape[2])))
            grown[:, :, : self._sums.shape[2]] = self._sums
            self._sums = grown
        table = self._sums[step]
        counts = np.bincount(groups * table.shape[1] + self._index[cells], minlength=table.size)
        table += counts.reshape(table.shape) / CHAINS

    @property
    def occurring(self) -> Indices:
        """The cells that occur, as numbers."""
        return np.flatnonzero(self._index >= 0)

    def iterates(self, *, agreement: float, seed: int) -> Iterates:
        """The sums of these cells."""
        sums = self._sums[:, :, self._index[self.occurring]]
        return Iterates(sums=sums, sizes=self.sizes, agreement=agreement, seed=seed)


class IteratedVectors(WordSums):
    """The same for a statistic of one's own, which is asked for the words of each group; symbols have these names."""

    def __init__(self, statistic: OwnStatistic, names: Sequence[str], steps: Steps, *, groups: int) -> None:
        super().__init__(groups)
        self._statistic, self._names, self._steps = statistic, np.array(names, dtype=object), steps
        self._sums: Floats | None = None

    def _add(self, batch: Batch) -> None:
        for step, codes in enumerate(self._steps(batch)):
            words = [tuple(self._names[word].tolist()) for word in split_words(codes, batch.lengths)]
            for group in np.unique(batch.groups).tolist():
                own = _vector(self._statistic([words[index] for index in np.flatnonzero(batch.groups == group)]))
                if self._sums is None:
                    self._sums = np.zeros((3, len(self.sizes), len(own)))
                if len(own) != self._sums.shape[2]:
                    raise ParameterError("statistic", expected="as many numbers for all words", found="more or fewer")
                self._sums[step, group] += own

    def iterates(self, *, agreement: float, seed: int) -> Iterates:
        """The sums of all numbers."""
        sums = np.zeros((3, len(self.sizes), 0)) if self._sums is None else self._sums
        return Iterates(sums=sums, sizes=self.sizes, agreement=agreement, seed=seed)


def _vector(numbers: Sequence[float]) -> Floats:
    try:
        own = np.asarray(numbers, dtype=np.float64)
    except (TypeError, ValueError):
        own = np.empty((0, 0))
    if own.ndim != 1 or not np.isfinite(own).all():
        raise ParameterError("statistic", expected="a function from words to a list of numbers", found="another one")
    return own


@dataclass(frozen=True, kw_only=True, eq=False)
class Iterates:
    """A statistic of the released words, of their release, and of the release of that, by random groups of words."""

    sums: Floats
    """Three tables for each group: an axis of 3, one for the groups, one for the cells."""
    sizes: NDArray[np.int64]
    agreement: float
    """The share of symbols that the second release left as they were."""
    seed: int

    def __post_init__(self) -> None:
        if len(self.sizes) < LIMITS.now.fewest_groups:
            raise InputError(
                f"estimate: expected at least {LIMITS.now.fewest_groups} sequences or clusters to compare with each "
                f"other, found {int(self.sizes.sum())}"
            )

    @property
    def first_steps(self) -> Floats:
        """δ₀ = g(x₀) − g(x₁), by group."""
        return np.asarray(self.sums[0] - self.sums[1])

    @property
    def second_steps(self) -> Floats:
        """δ₁ = g(x₀) − 2g(x₁) + g(x₂), by group."""
        return np.asarray(self.sums[0] - 2 * self.sums[1] + self.sums[2])

    def theta(self, scale: Floats) -> float:
        """‖δ₁‖/‖δ₀‖, by products of two halves of the words, in which noise cancels; 0.4 where that is noise."""
        sizes = [self._square(each, scale) for each in (self.first_steps, self.second_steps)]
        if any(size is None for size in sizes):
            return LIMITS.now.theta
        return float(np.sqrt((sizes[1] or 0.0) / (sizes[0] or 1.0)))

    def _square(self, steps: Floats, scale: Floats) -> float | None:
        """Σ δ^A·δ^B/c over random halves A and B of the groups; None where it is not surely above 0."""
        results, total = [], steps.sum(axis=0)
        bits = NotPrivateSeededBits(self.seed + 1)
        for _ in range(LIMITS.now.splits):
            half = np.argsort(bits.words(len(steps)), kind="stable")[: len(steps) // 2]
            one = steps[half].sum(axis=0)
            results.append(4 * float((one * (total - one) / scale).sum()))
        mean = float(np.mean(results))
        return mean if mean > 2 * float(np.std(results)) and mean > 0 else None

    def shrinkage(self, scale: Floats) -> float:
        """α: which share of the first step is signal."""
        step = self.first_steps.sum(axis=0)
        size = float((step**2 / scale).sum())
        noise = float((group_variance(list(self.first_steps), self.sizes) / scale).sum())
        return max(0.0, 1 - noise / size) if size else 0.0

    @property
    def warnings(self) -> tuple[str, ...]:
        """Where next to nothing of the first step is signal, and noise is not small either: it stays as it is."""
        alpha = self.shrinkage(np.maximum(self.sums[0].sum(axis=0), 1.0))
        if alpha >= LIMITS.now.least_signal or self.agreement >= LIMITS.now.sure_agreement:
            return ()
        return (
            f"the noise could not be undone (shrinkage {alpha:.2f}): these are the numbers of the private file as it "
            f"is, and about {percent(1 - self.agreement)} of its symbols are noise; they are no estimates of the true "
            "sequences, and their order is that of the noise too; more sequences or a larger epsilon would say more",
        )

    def _known(self) -> tuple[Floats, Floats, Floats, bool, tuple[str, ...]]:
        """The point estimate, h₁ by group, the bias allowance, whether intervals may be given, and what to say."""
        released = self.sums[0].sum(axis=0)
        scale = np.maximum(released, 1.0)
        theta, alpha = self.theta(scale), self.shrinkage(scale)
        point = released + alpha * self.first_steps.sum(axis=0)
        bounded = self.agreement >= LIMITS.now.sure_agreement and theta <= LIMITS.now.theta
        text = f"a second release left {percent(self.agreement, 3)} of the symbols as they were; shrinkage {alpha:.2f}"
        if bounded:
            more = f"intervals have a bias allowance, a heuristic (theta {theta:.2f}): no proof bounds the bias"
        else:
            more = (
                f"no intervals: they need an agreement of {LIMITS.now.sure_agreement} and theta of at most "
                f"{LIMITS.now.theta} (found {self.agreement:.2f} and {theta:.2f})"
            )
        allowance = 2 * self.second_steps / max(1 - theta, 1e-9)
        return point, self.sums[0] + self.first_steps, allowance, bounded, (text, more)

    def table(self) -> EstimatedTable:
        """The released numbers plus a shrunken first step, and intervals around the whole step."""
        point, whole, allowance, bounded, notes = self._known()
        return EstimatedTable(
            released=self.sums[0].sum(axis=0),
            estimate=point,
            variances=Variances.from_groups(list(whole), self.sizes),
            consistent=projected(point),
            most=np.inf,
            notes=notes,
            warnings=self.warnings,
            centre=whole.sum(axis=0),
            allowance=np.abs(allowance.sum(axis=0)),
            bounded=bounded,
        )

    def shares(self, rows: NDArray[np.int64]) -> EstimatedTable:
        """The same as shares of all cells in the same row: transitions, by the delta method.

        `rows` has the row of each cell.
        """
        point, whole, allowance, bounded, notes = self._known()
        different, number = np.unique(rows, return_inverse=True)
        cells = np.arange(len(rows))
        which = sparse.csr_array((np.ones(len(rows)), (cells, number)), shape=(len(rows), len(different)))

        def of_row(values: Floats) -> Floats:
            """For each cell the sum over its row."""
            return np.asarray((values @ which)[..., number], dtype=np.float64)

        shares = RowShares.of(whole.sum(axis=0), list(whole), self.sizes, of_row)
        share, steps = shares.share, allowance.sum(axis=0)
        return EstimatedTable(
            released=shares_of_rows(self.sums[0].sum(axis=0), of_row),
            estimate=point / np.where(of_row(point) > 0, of_row(point), 1.0),
            variances=shares.variances,
            consistent=shares_of_rows(projected(point), of_row),
            most=1.0,
            listed=shares.listed,
            notes=notes,
            warnings=self.warnings,
            centre=share,
            allowance=(np.abs(steps) + share * np.abs(of_row(steps))) / shares.below,
            bounded=bounded,
        )

    def whole(self, statistic: Statistic, shape: tuple[int, ...], occurring: Indices) -> EstimatedTable:
        """The table of a statistic with all its cells, of which only those that occur are listed."""

        def full(values: NDArray[np.bool_] | Floats) -> Floats:
            """Numbers of cells that occur, and 0 for the others."""
            every = np.zeros(int(np.prod(shape, dtype=np.int64)))
            every[occurring] = values
            return every.reshape(shape)

        of_rows, by_length = statistic.kind == "transitions", statistic.kind == "presence"
        small = self.shares(occurring // shape[-1]) if of_rows else self.table()
        axes, estimate = 1 if statistic.leading else statistic.order, full(small.estimate)
        most: Floats | float = 1.0 if of_rows else np.inf
        consistent = full(small.consistent) if of_rows else np.clip(estimate, 0.0, None)
        if not of_rows and not by_length:
            total = full(self.sums[0].sum(axis=0)).sum(axis=tuple(range(-axes, 0)), keepdims=True)
            most, consistent = np.broadcast_to(total, shape), projected(estimate, axes=axes)
        return replace(
            small,
            released=full(small.released),
            estimate=estimate,
            variances=replace(small.variances, values=full(small.variances.values)),
            consistent=consistent,
            most=most,
            listed=full(np.ones(len(occurring)) if small.listed is None else small.listed) > 0,
            leading=statistic.leading,
            centre=full(small.estimate if small.centre is None else small.centre),
            allowance=full(np.broadcast_to(small.allowance, len(occurring))),
        )
