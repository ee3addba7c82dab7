"""The linear programme of the best private law of a small language, solved in floats: a proposal, never a proof.

The unknowns are P(x|w); adjacent words must satisfy P(x|w) ≥ P(x|v)/c, rows add up to 1, and the expected Hamming error
is to be least. What a solver finds satisfies this up to its tolerance; `optimal_law` makes an exact law of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symveil.errors import TooLargeError
from symveil.models.word import Codes

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# The least that HiGHS takes.
_TOLERANCE = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class Programme:
    """Words that may be released for each other: how far apart they are, how likely, and which are adjacent.

    `alike` says that all words look alike (Σⁿ). Averaged over the symmetries, a law keeps its error and its loss and
    depends on the distance only: there is one unknown for each distance.
    """

    words: Codes
    distances: Integers
    shares: Floats
    reach: int
    alike: bool

    @property
    def adjacent(self) -> Integers:
        """Ordered pairs of numbers of adjacent words, both orders of each."""
        return np.argwhere((self.distances > 0) & (self.distances <= self.reach))

    @property
    def unknown_of(self) -> Integers:
        """The number of the unknown in each cell (w, x)."""
        count = len(self.words)
        return self.distances if self.alike else np.arange(count * count, dtype=np.int64).reshape(count, count)

    def hops(self) -> Floats:
        """The least number of adjacent steps from each word to each other one; infinite where there is no way."""
        count = len(self.words)
        near = (self.distances <= self.reach).astype(np.float64)
        hops = np.full((count, count), np.inf)
        reached = np.eye(count, dtype=np.bool_)
        for step in range(count):
            hops[reached & ~np.isfinite(hops)] = step
            further = reached.astype(np.float64) @ near > 0
            if (further == reached).all():
                break
            reached = further
        return hops

    def expected_error(self, law: Floats) -> float:
        """Σ π(w)P(x|w)d(w, x), for shares that add up to 1 here."""
        return float((self.shares[:, None] * law * self.distances).sum() / self.shares.sum())

    def solved(self, ratio: float) -> Floats:
        """A law that nearly satisfies everything, with nearly the least error; `ratio` is c.

        Chances of changed words are of the size 1/c, and so are the unknowns' units: the solver's tolerance is then
        relative to them, also where they are far below it.
        """
        # imported when needed: no other mechanism has to wait for it to load
        from scipy import sparse  # noqa: PLC0415
        from scipy.optimize import linprog  # noqa: PLC0415

        count, decay = len(self.words), 1 / ratio
        unknown, pairs = self.unknown_of, self.adjacent
        if not len(pairs):
            return np.eye(count)
        unit = np.where(np.eye(count, dtype=np.bool_), 1.0, decay)
        word, other = (np.repeat(pairs[:, side], count) for side in (0, 1))
        output = np.tile(np.arange(count), len(pairs))
        low, high = unknown[word, output], unknown[other, output]
        factor = decay * unit[other, output] / unit[word, output]
        if self.alike:
            # the diagonal alone has distance 0, so equal pairs of unknowns have equal factors
            _, first = np.unique(np.stack([low, high]), axis=1, return_index=True)
            low, high, factor = low[first], high[first], factor[first]
        different = low != high
        low, high, factor = low[different], high[different], factor[different]
        unknowns, rows = int(unknown.max()) + 1, np.arange(len(low))
        private = sparse.csr_array(
            (np.concatenate([factor, -np.ones(len(rows))]), (np.tile(rows, 2), np.concatenate([high, low]))),
            shape=(len(rows), unknowns),
        )
        sums = 1 if self.alike else count
        ends = np.repeat(np.arange(sums), count)
        total = sparse.csr_array(
            (unit[:sums].ravel(), (ends, unknown[:sums].ravel())), shape=(sums, unknowns)
        )  # cells with one unknown are added up
        prices = np.bincount(
            unknown.ravel(), ((self.shares / self.shares.sum())[:, None] * self.distances).ravel(), unknowns
        )
        for method in ("highs-ipm", "highs-ds"):
            found = linprog(
                prices,
                A_ub=private,
                b_ub=np.zeros(len(rows)),
                A_eq=total,
                b_eq=np.ones(sums),
                method=method,
                options={"primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE},
            )
            if found.status == 0:
                return np.asarray(np.maximum(found.x[unknown] * unit, 0.0))
        raise TooLargeError(
            "mechanism optimal: expected a language whose linear programme can be solved, found one that the solver "
            "gives up on; take mechanism auto, or a larger epsilon"
        )
