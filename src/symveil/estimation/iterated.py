"""Iterated release: privatise the private words again, and see from that what the first time has done.

Where words are those of a model the noise has no inverse that looks at one place at a time. But for any statistic g,
with x₀ the released words and x_{j+1} a release of x_j, h_k = Σ_j (−1)^j C(k+1, j+1) g(x_j) has the bias
−((I−P)^{k+1} g)(w): the sum telescopes (docs/theory/central.md). k = 1 is 2g(x₀) − g(x₁). Where P may have negative
eigenvalues every other iterate is taken, which puts P² in the place of P.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from symveil.errors import InputError
from symveil.estimation.limits import LIMITS
from symveil.estimation.table import EstimatedTable, RowShares, Variances, group_variance, projected, shares_of_rows
from symveil.numbers.rationals import percent
from symveil.randomness import NotPrivateSeededBits

Floats = NDArray[np.float64]


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
