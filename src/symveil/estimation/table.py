"""Some words of a private file, the windows in them that a statistic counts, and a table of that before it has names.

From an estimate and its variance to intervals, each and all at once; and the nearest table that could be true.

Random groups of words: how many, and which word is in which. Words are added batch by batch (`TableEstimator`), so that
variances of anything that is a sum over words can be estimated from the groups.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from symveil.errors import InputError
from symveil.estimation.limits import LIMITS
from symveil.estimation.statistics import Statistic
from symveil.models.alphabet import Codes, Lengths
from symveil.models.times import Stamps
from symveil.numbers.once import computed_once
from symveil.randomness import NotPrivateSeededBits

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Batch:
    """Words one after the other, with their lengths and the group that each belongs to."""

    codes: Codes
    lengths: Lengths
    groups: Indices
    stamps: Stamps | None = None
    """The times of the symbols, where they were asked for."""
    attributes: tuple[Indices, ...] = ()
    """Other values of the symbols as codes, -1 where there is none that is public: an array for each attribute."""

    @computed_once
    def starts(self) -> Indices:
        """Where each word begins."""
        return np.asarray(np.cumsum(self.lengths) - self.lengths)

    @computed_once
    def word(self) -> Indices:
        """For each symbol, which word it is in."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @computed_once
    def position(self) -> Indices:
        """For each symbol, how many stand before it in its word."""
        return np.arange(len(self.codes)) - self.starts[self.word]

    def windows_of(self, order: int) -> Indices:
        """Where each run of `order` symbols of one word begins."""
        return np.flatnonzero(self.position + order <= self.lengths[self.word])

    def events_of(self, shortest: int, longest: int) -> NDArray[np.bool_]:
        """Which symbols count where words have public lengths: those of longer words as far as the longest goes."""
        return np.asarray((self.lengths >= shortest)[self.word] & (self.position < longest))

    def only(self, wanted: NDArray[np.bool_]) -> Batch:
        """Some of the words."""
        if wanted.all():
            return self
        symbols = wanted[self.word]
        return Batch(
            self.codes[symbols],
            self.lengths[wanted],
            self.groups[wanted],
            None if self.stamps is None else self.stamps.only(symbols),
            tuple(values[symbols] for values in self.attributes),
        )


@dataclass(frozen=True, slots=True)
class Windows:
    """What a statistic counts in a batch: the symbols of each window, its word, and its row of the table."""

    symbols: tuple[Codes, ...]
    word: Indices
    row: Indices | None = None
    """The position or the length, where they are distinguished."""

    @property
    def columns(self) -> tuple[NDArray[np.integer[Any]], ...]:
        """What tells cells apart: the row, where there are some, and the symbols."""
        return self.symbols if self.row is None else (self.row, *self.symbols)

    def cells(self, symbols: int) -> Indices:
        """The cell of each window in a table with `symbols` columns for each of its symbols."""
        total = np.zeros(len(self.word), dtype=np.int64)
        for each in self.columns:
            total = total * symbols + each
        return total


def windows(statistic: Statistic, batch: Batch) -> Windows:
    """The windows of a batch that a statistic counts.

    >>> from symveil.estimation.statistics import read_statistic
    >>> batch = Batch(np.array([2, 0, 1, 1], dtype=np.int32), np.array([3, 0, 1]), np.zeros(3, dtype=np.int64))
    >>> [each.tolist() for each in windows(read_statistic("ngrams:2"), batch).symbols]
    [[2, 0], [0, 1]]
    >>> [each.tolist() for each in windows(read_statistic("od"), batch).symbols]
    [[2], [1]]
    >>> windows(read_statistic("lengths"), batch).cells(3).tolist()
    [3, 0, 1]
    """
    codes, kind = batch.codes, statistic.kind
    if kind == "lengths":
        return Windows((), np.arange(len(batch.lengths)), batch.lengths)
    if kind == "presence":
        width = int(codes.max(initial=0)) + 1
        word, symbol = np.divmod(np.unique(batch.word * width + codes), width)
        return Windows((symbol.astype(codes.dtype),), word, batch.lengths[word])
    if kind in ("visits", "positions"):
        return Windows((codes,), batch.word, batch.position if kind == "positions" else None)
    if kind in ("ngrams", "transitions"):
        at = batch.windows_of(statistic.order)
        return Windows(tuple(codes[at + step] for step in range(statistic.order)), batch.word[at])
    words = np.flatnonzero(batch.lengths >= statistic.order)
    first, last = batch.starts[words], batch.starts[words] + batch.lengths[words] - 1
    ends = {"first": (first,), "last": (last,), "od": (first, last)}[kind]
    return Windows(tuple(codes[at] for at in ends), words)


def factors(confidence: float, *, cells: int, freedom: int | None) -> tuple[float, float]:
    """How many standard errors an interval has on each side: for each cell, and for all cells at once.

    `freedom` is that of an estimated variance: Student's law, and Bonferroni's bound for all at once. None: the normal
    law, and Šidák's bound, which holds for any correlation of Gaussian estimates.

    >>> each, everything = factors(0.95, cells=100, freedom=None)
    >>> round(each, 3), round(everything, 3)
    (1.96, 3.474)
    """
    from scipy.special import ndtri, stdtrit  # noqa: PLC0415  # slow to import, and for intervals only

    if freedom is None:
        return float(ndtri((1 + confidence) / 2)), float(ndtri((1 + confidence ** (1 / max(cells, 1))) / 2))
    outside = (1 - confidence) / 2
    return float(stdtrit(freedom, 1 - outside)), float(stdtrit(freedom, 1 - outside / max(cells, 1)))


def skewness(factor: float, errors: Floats) -> Floats:
    """By how much intervals of so many standard errors are wider on each side, because counts change by jumps of one.

    With little noise few words decide about a cell, and its estimate has more of a Poisson law than of a normal one:
    (c² − 1)/6 is the first correction of its quantiles (Cornish and Fisher 1938), some two sequences. Nearer to the
    middle what one side needs the other can spare, as soon as errors are of one sequence or more: it fades.

    `factor`: how many standard errors an interval has on each side. Where the error of a cell is 0 nothing is added.

    >>> skewness(1.96, np.array([0.0, 0.2, 1.0])).round(2).tolist()
    [0.0, 0.38, 0.0]
    >>> skewness(3.5, np.array([0.2, 9.0])).round(2).tolist()
    [1.88, 1.88]
    """
    most = max(0.0, (factor**2 - 1) / 6)
    return np.where(errors > 0, most * np.clip(1 - errors * max(0.0, 3 - factor), 0.0, 1.0), 0.0)


def projected(values: Floats, *, axes: int | None = None) -> Floats:
    """The nearest table without a negative cell and with the same total, or 0 where that is negative.

    With `axes`, tables are the last so many axes, each with its own total.

    >>> projected(np.array([3.0, -1.0, 1.0])).tolist()
    [2.5, 0.0, 0.5]
    """
    if axes is None:
        axes = values.ndim
    if not values.size:  # a table without a cell
        return values.copy()
    shape = values.shape[: values.ndim - axes]
    rows = values.reshape(int(np.prod(shape, dtype=np.int64)), -1)
    totals = np.maximum(rows.sum(axis=1), 0.0)
    falling = -np.sort(-rows, axis=1)
    excess = (np.cumsum(falling, axis=1) - totals[:, None]) / np.arange(1, rows.shape[1] + 1)
    remaining = np.maximum((falling > excess).sum(axis=1), 1)
    level = excess[np.arange(len(rows)), remaining - 1]
    return np.asarray(np.maximum(rows - level[:, None], 0.0).reshape(values.shape))


def group_variance(sums: list[NDArray[np.float64]], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """G/(G−1)·Σ_g (S_g − n_g·X̄)²: the variance of a total, from the sums of random groups of words.

    >>> group_variance([np.array([1.0]), np.array([3.0])], np.array([5, 5])).tolist()
    [4.0]
    """
    count = len(sums)
    mean = sum(sums, start=np.zeros(())) / max(int(sizes.sum()), 1)
    squares = sum(((own - size * mean) ** 2 for own, size in zip(sums, sizes.tolist(), strict=True)), np.zeros(()))
    return np.asarray(squares * (count / (count - 1)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Variances:
    """A variance for every cell, and how it is known."""

    values: Floats
    freedom: int | None
    """Degrees of freedom where it comes from groups; None: a closed form."""
    by_group: NDArray[np.bool_] | None = None
    """Where a closed form gave nothing and groups did: `freedom` is for these cells."""

    @classmethod
    def from_squares(cls, squares: Floats, estimate: Floats) -> Variances:
        """Of a sum of numbers ĥ that are on average 0 or 1: Σ (ĥ² − ĥ), in closed form.

        Σ ĥ² is taken alone where a cell is empty and the closed form negative: too large on average.
        """
        closed = squares - estimate
        return cls(values=np.where(closed > 0, closed, squares), freedom=None)

    @classmethod
    def from_groups(cls, sums: list[Floats], sizes: NDArray[np.int64], *, per: Floats | float = 1.0) -> Variances:
        """Of a total, or of its quotient by a number that is known well.

        `sums` are those of random groups of words, and `sizes` how many words each has.
        """
        return cls(values=group_variance(sums, sizes) / per**2, freedom=len(sizes) - 1)

    def half_widths(self, confidence: float) -> tuple[Floats, Floats]:
        """Half of an interval, for each cell and for all at once."""
        error, cells = np.sqrt(np.maximum(self.values, 0.0)), self.values.size
        if self.by_group is None and self.freedom is not None:
            each, everything = factors(confidence, cells=cells, freedom=self.freedom)
            return each * error, everything * error
        closed, grouped = (factors(confidence, cells=cells, freedom=each) for each in (None, self.freedom))
        used = np.zeros(self.values.shape, dtype=np.bool_) if self.by_group is None else self.by_group
        halves = [np.where(used, grouped[i], closed[i]) * error + skewness(closed[i], error) for i in range(2)]
        return halves[0], halves[1]


OfRow = Callable[[Floats], Floats]
"""For each cell the sum over its row; tables may have more axes in front."""


def shares_of_rows(table: Floats, of_row: OfRow | None = None) -> Floats:
    """Each cell's share of its row; 0 where a row is empty.

    No number is negative. Without `of_row` rows are those of the last axis.

    >>> shares_of_rows(np.array([[1.0, 3.0], [0.0, 0.0]])).tolist()
    [[0.25, 0.75], [0.0, 0.0]]
    """
    rows = (of_row or along_last_axis)(table)
    return np.asarray(table / np.where(rows > 0, rows, 1.0))


def along_last_axis(table: Floats) -> Floats:
    """For each row of the last axis its sum, which stands for all of its cells."""
    return np.asarray(table.sum(axis=-1, keepdims=True))


@dataclass(frozen=True, kw_only=True, eq=False)
class RowShares:
    """Estimated numbers as shares of their rows, by the delta method: T = C/R has the variance of C − T·R over R².

    A row counts as above 0 where its sum is at least four standard errors.
    """

    share: Floats
    below: Floats
    """R; 1 where it is not sure to be above 0."""
    listed: NDArray[np.bool_]
    variances: Variances

    @classmethod
    def of(
        cls, total: Floats, sums: list[Floats], sizes: NDArray[np.int64], of_row: OfRow = along_last_axis
    ) -> RowShares:
        """The shares of a total.

        `sums` are what random groups of words add to it, and `sizes` how many words each has.
        """
        rows = of_row(total)
        error = np.sqrt(group_variance([of_row(each) for each in sums], sizes))
        listed = (rows >= 4 * error) & (rows > 0)
        below = np.where(listed, rows, 1.0)
        share = total / below
        apart = [each - share * of_row(each) for each in sums]
        return cls(share=share, below=below, listed=listed, variances=Variances.from_groups(apart, sizes, per=below))


@dataclass(frozen=True, kw_only=True, eq=False)
class EstimatedTable:
    """Estimates for the cells of a table: its last axes are symbols, one before them is a position or a length."""

    released: Floats
    estimate: Floats
    variances: Variances
    consistent: Floats
    most: Floats | float
    """What no true count can exceed; infinite where nothing is known."""
    least: float = 0.0
    """What no true number can be below."""
    listed: NDArray[np.bool_] | None = None
    """Which cells can be estimated; None: all."""
    leading: str | None = None
    """What the first axis counts: "position" or "length"; None: there is none but symbols."""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    """Without which the table would be misread."""
    centre: Floats | None = None
    """What intervals are around, where that is not the estimate; they are widened to contain it."""
    allowance: Floats | float = 0.0
    """What intervals are wider by on each side, for a bias that is not known."""
    bounded: bool = True
    """Whether there are intervals; without them their ends are not numbers."""

    def intervals(self, confidence: float) -> tuple[Floats, Floats, Floats, Floats]:
        """Low and high for each cell, low and high for all at once, within what is possible."""
        if not self.bounded:
            unknown = np.full(self.estimate.shape, np.nan)
            return unknown, unknown, unknown, unknown
        ends = []
        centre = self.estimate if self.centre is None else self.centre
        for half in self.variances.half_widths(confidence):
            low, high = centre - half - self.allowance, centre + half + self.allowance
            if self.centre is not None:
                low, high = np.minimum(low, self.estimate), np.maximum(high, self.estimate)
            ends += [np.clip(low, self.least, self.most), np.clip(high, self.least, self.most)]
        return ends[0], ends[1], ends[2], ends[3]


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
    return min(LIMITS.now.groups, units, LIMITS.now.numbers_stored // max(cells, 1))


def refusal_of_few(units: int, what: str, *, cells: int) -> InputError:
    """The error where there are too few groups for a variance."""
    if units < LIMITS.now.fewest_groups:
        return InputError(
            f"variance: expected at least {LIMITS.now.fewest_groups} {what} to compare with each other, found {units}; "
            "use a statistic and a target that need no groups, such as visits with `target='file'`"
        )
    most = LIMITS.now.numbers_stored // LIMITS.now.fewest_groups
    return InputError(
        f"statistic: expected a table of at most {most:,} cells, found {cells:,}; use a smaller order, or a smaller "
        "alphabet"
    )


Target = Literal["file", "population"]
CONSERVATIVE = "standard errors are from random groups of sequences, which for the file itself are too large on average"


class WordSums(ABC):
    """Sums over words that are added batch by batch, for all words and by random groups of them.

    Parameters
    ----------
    groups
        How many groups words are in; 0 where none are needed.
    """

    def __init__(self, groups: int) -> None:
        self.groups, self.sizes = groups, np.zeros(max(groups, 1), dtype=np.int64)

    def add(self, batch: Batch) -> None:
        """Some more words."""
        self.sizes += np.bincount(batch.groups, minlength=len(self.sizes))
        self._add(batch)

    @abstractmethod
    def _add(self, batch: Batch) -> None:
        """The same for the sums."""


class TableEstimator(WordSums):
    """Sums over words until a table is made of them; what a kind of noise needs of its own are the methods below.

    Parameters
    ----------
    statistic
        What is counted.
    target
        "file": these words; "population": what they are a sample of.
    groups
        As in `WordSums`.
    """

    def __init__(self, statistic: Statistic, *, target: Target, groups: int) -> None:
        super().__init__(groups)
        self._statistic, self._target = statistic, target

    @abstractmethod
    def finish(self) -> EstimatedTable:
        """The table."""

    @abstractmethod
    def _group_sums(self) -> list[Floats]:
        """What is estimated from each group of words."""

    def _closed(self, estimate: Floats) -> Variances | None:
        """The variances for the file itself, in closed form; None where there is none."""
        del estimate
        return None

    def _table(self, released: Floats, estimate: Floats, *, most: Floats | float, **more: Any) -> EstimatedTable:
        """The table with variances in closed form, or else by how much groups differ; transitions as shares.

        `more` are other fields of the table.
        """
        if self._statistic.kind == "transitions":
            self._require_groups(estimate.size)
            return transition_table(estimate, released, self._group_sums(), self.sizes)
        variances = self._closed(estimate) if self._target == "file" else None
        notes: tuple[str, ...] = more.pop("notes", ())
        if variances is None:
            self._require_groups(estimate.size)
            variances = Variances.from_groups(self._group_sums(), self.sizes)
            notes += (CONSERVATIVE,) if self._target == "file" else ()
        return EstimatedTable(
            released=released,
            estimate=estimate,
            variances=variances,
            most=most,
            notes=notes,
            **{
                "consistent": projected(estimate, axes=self._statistic.order),
                "leading": self._statistic.leading,
                **more,
            },
        )

    def _require_groups(self, cells: int) -> None:
        """Refuse a table of so many cells where groups are too few for a variance."""
        if self.groups < LIMITS.now.fewest_groups:
            raise refusal_of_few(int(self.sizes.sum()), "sequences or clusters", cells=cells)


def transition_table(estimate: Floats, counts: Floats, sums: list[Floats], sizes: NDArray[np.int64]) -> EstimatedTable:
    """Shares of pairs among those with the same first symbol; no row where their number is not sure to be above 0.

    Ĉ(a,b)/Ĉ(a,·), by the delta method: the variance of C(a,b) − T(a,b)·C(a,·) over Ĉ(a,·)².
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
