"""The best private law of a small language as a linear programme, solved in floats: a proposal, never a proof.

The unknowns are P(x|w); adjacent words must satisfy P(x|w) ≥ P(x|v)/c, rows add up to 1, and the expected loss is to be
least. What a solver finds satisfies this up to its tolerance; `optimal_law` makes an exact law of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symveil.errors import TooLargeError
from symveil.models.word import Codes
from symveil.numerics.once import computed_once

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_ROWS = 60_000
"""More inequalities (adjacent pairs × outputs) are not handed to the solver: it takes about 15 s for so many."""
# The least that HiGHS takes.
_TOLERANCE = 1e-10
# How far below 0 rounding may bring a weight of the closed form that is 0.
_SMALLEST_WEIGHT = 1e-13


@dataclass(frozen=True, eq=False, kw_only=True)
class Programme:
    """Words that may be released for each other: how far apart they are, how likely, and which are adjacent.

    Parameters
    ----------
    words
        Rows of codes, all of one length, with the same public start where one is public.
    distances
        How far apart they are by what adjacency counts.
    losses
        What it costs to release one word for another.
    shares
        How likely each word is; they need not add up to 1.
    reach
        b: words at most so far apart are adjacent.
    alike
        Whether all words look alike (Σⁿ). Averaged over the symmetries, a law keeps its error and its loss, and depends
        on the distance only.
    """

    words: Codes
    distances: Integers
    losses: Floats
    shares: Floats
    reach: int
    alike: bool

    @computed_once
    def adjacent(self) -> Integers:
        """Ordered pairs of numbers of adjacent words, both orders of each."""
        return np.argwhere((self.distances > 0) & (self.distances <= self.reach))

    @property
    def rows(self) -> int:
        """How many inequalities privacy makes."""
        return len(self.adjacent) * len(self.words)

    @computed_once
    def hops(self) -> Integers:
        """The least number of adjacent steps from each word to each other one; −1 where there is no way."""
        count = len(self.words)
        near = (self.distances <= self.reach).astype(np.float64)
        hops = np.full((count, count), -1, dtype=np.int64)
        reached = np.eye(count, dtype=np.bool_)
        for step in range(count):
            hops[reached & (hops < 0)] = step
            further = reached.astype(np.float64) @ near > 0
            if (further == reached).all():
                break
            reached = further
        return hops

    def decays(self, ratio: float) -> Floats:
        """c^−hops: how much of a probability at one word has to be there at another; 0 where there is no way."""
        return np.asarray(np.where(self.hops < 0, 0.0, ratio ** -self.hops.astype(np.float64)))

    @property
    def likelihoods(self) -> Floats:
        """How likely each word is, given that it is one of these."""
        return np.asarray(self.shares / self.shares.sum())

    def expected_loss(self, law: Floats) -> float:
        """Σ π(w)P(x|w)·loss(w, x), for shares that add up to 1 here."""
        return float((self.likelihoods[:, None] * law * self.losses).sum())

    # --- solutions -----------------------------------------------------------------------------

    def closed_form(self, ratio: float) -> Floats | None:
        """The best law where it is s(x)·c^−hops(w, x) (docs/mechanisms/optimal.md); None where that is not shown.

        Parameters
        ----------
        ratio
            c.
        """
        decays = self.decays(ratio)
        likely = self.likelihoods
        try:
            weights = np.linalg.solve(decays, np.ones(len(decays)))
            prices = np.linalg.solve(decays.T, (likely[:, None] * self.losses * decays).sum(axis=0)) / likely
        except np.linalg.LinAlgError:
            return None
        other = np.where(np.eye(len(decays), dtype=np.bool_), np.inf, self.losses).min(axis=1)
        if not (np.isfinite(weights).all() and weights.min() > _SMALLEST_WEIGHT and (prices <= other).all()):
            return None
        return np.asarray(decays * weights)

    def proposal(self, ratio: float) -> Floats:
        """A law that nearly satisfies everything, with nearly the least error.

        Parameters
        ----------
        ratio
            c.
        """
        if not len(self.adjacent):
            return np.eye(len(self.words))
        found = self.closed_form(ratio)
        found = self._solved(ratio) if found is None else found
        if self.alike:
            levels = self.distances.ravel()
            means = np.bincount(levels, found.ravel()) / np.maximum(np.bincount(levels), 1)
            found = means[self.distances]
        return found

    def _solved(self, ratio: float) -> Floats:
        """By linear programming.

        Chances of changed words are of the size 1/c, and so are the unknowns' units: the solver's tolerance is then
        relative to them, also where they are far below it.
        """
        # imported when needed: no other mechanism has to wait for it to load
        from scipy import sparse  # noqa: PLC0415
        from scipy.optimize import linprog  # noqa: PLC0415

        count, decay = len(self.words), 1 / ratio
        unit = np.where(np.eye(count, dtype=np.bool_), 1.0, decay)
        word, other = (np.repeat(self.adjacent[:, side], count) for side in (0, 1))
        output = np.tile(np.arange(count), len(self.adjacent))
        row = np.arange(len(word))
        private = sparse.csr_array(
            (
                np.concatenate([decay * unit[other, output] / unit[word, output], -np.ones(len(row))]),
                (np.tile(row, 2), np.concatenate([other * count + output, word * count + output])),
            ),
            shape=(len(row), count * count),
        )
        total = sparse.csr_array(
            (unit.ravel(), (np.repeat(np.arange(count), count), np.arange(count * count))), shape=(count, count * count)
        )
        # losses in the unknowns' units; divided by the largest, so that their size does not matter
        prices = self.likelihoods[:, None] * self.losses / self.losses.max()
        for method in ("highs-ipm", "highs-ds"):
            found = linprog(
                prices.ravel(),
                A_ub=private,
                b_ub=np.zeros(len(row)),
                A_eq=total,
                b_eq=np.ones(count),
                method=method,
                options={"primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE},
            )
            if found.status == 0:
                return np.asarray(np.maximum(found.x.reshape(count, count) * unit, 0.0))
        raise TooLargeError(
            "mechanism optimal: expected a language whose linear programme can be solved, found one that the solver "
            "gives up on; take mechanism auto, or a larger epsilon"
        )
