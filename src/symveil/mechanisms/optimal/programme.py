"""The best private law of a small language as a linear programme, solved in floats: a proposal, never a proof.

The unknowns are P(x|w); adjacent words must satisfy P(x|w) ≥ P(x|v)/c, rows add up to 1, and the expected loss is to be
least. Under the graceful promise c is what one place may lose, and words that differ in d places must satisfy
P(x|w) ≥ P(x|v)/c^d. What a solver finds satisfies this up to its tolerance; `law` makes an exact law of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symveil.errors import TooLargeError
from symveil.models.word import Codes
from symveil.numbers.once import computed_once

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_ROWS = 1_000_000
"""More inequalities (adjacent pairs × outputs) are refused: a round of rays takes about 10 s for so many."""
_MOST_SOLVED = 60_000
"""More are not solved all at once, which takes about 15 s for so many."""
_MOST_ROUNDS, _SHRINKS = 16, 0.9
"""Of adding rays: each round has to leave less than such a share of the gap."""
_CLOSE = 1e-9
"""How near, relative to it, to a bound from below a solution by rays is taken for the best one."""
# The least tolerances that HiGHS takes, and the seconds after which it gives up.
_OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10, "time_limit": 600.0}
# Weights of a flat law must be above this: rounding may bring one that is 0 so far above it.
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
    graceful
        Whether words that differ in d places may lose d times what one place may lose, however large d is; `reach` does
        not matter then.
    """

    words: Codes
    distances: Integers
    losses: Floats
    shares: Floats
    reach: int
    alike: bool
    graceful: bool = False

    @computed_once
    def adjacent(self) -> Integers:
        """Ordered pairs of numbers of words that an inequality is about, both orders of each.

        They are the adjacent words; under the graceful promise those that no word lies between: the inequality of any
        other pair follows from theirs.
        """
        if not self.graceful:
            return np.argwhere((self.distances > 0) & (self.distances <= self.reach))
        own = np.arange(len(self.words))
        near = np.zeros(self.distances.shape, dtype=np.bool_)
        for word, apart in enumerate(self.distances):
            between = apart[:, None] + self.distances == apart
            between[word] = between[own, own] = False
            near[word] = (apart > 0) & ~between.any(axis=0)
        return np.argwhere(near)

    @computed_once
    def steps(self) -> Integers:
        """How many times c the words of each such pair may lose: one, under the graceful promise one for each place."""
        one, two = self.adjacent.T
        return self.distances[one, two] if self.graceful else np.ones(len(one), dtype=np.int64)

    @property
    def rows(self) -> int:
        """How many inequalities privacy makes."""
        return len(self.adjacent) * len(self.words)

    @computed_once
    def hops(self) -> Integers:
        """The least number of adjacent steps from each word to each other one; −1 where there is no way.

        Under the graceful promise the number of places in which they differ.
        """
        if self.graceful:
            return self.distances
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
        """How likely each word is, given that it is one of these; all alike where all chances have underflown."""
        total = self.shares.sum()
        return np.asarray(self.shares / total) if total > 0 else np.full(len(self.shares), 1 / len(self.shares))

    def expected_loss(self, law: Floats) -> float:
        """Σ π(w)P(x|w)·loss(w, x), for shares that add up to 1 here."""
        return float((self.likelihoods[:, None] * law * self.losses).sum())

    # --- solutions -----------------------------------------------------------------------------

    def flat(self, ratio: float) -> Floats | None:
        """The law s(x)·c^−hops(w, x) whose weights s > 0 need no normaliser; None where there are none.

        Its floats are the same on every machine: powers are products, and no library of linear algebra is used.

        Parameters
        ----------
        ratio
            c.
        """
        powers = [1.0]
        for _ in range(int(self.hops.max(initial=0))):
            powers.append(powers[-1] / ratio)
        decays = np.array([*powers, 0.0])[self.hops]  # −1, no way, is the last
        weights = _solved_for_ones(decays)
        if not (np.isfinite(weights).all() and weights.min() > _SMALLEST_WEIGHT):
            return None
        return np.asarray(decays * weights)

    def closed_form(self, ratio: float) -> Floats | None:
        """The flat law where it is the best one (docs/mechanisms/optimal.md); None where that is not shown.

        Parameters
        ----------
        ratio
            c.
        """
        result, decays, likely = self.flat(ratio), self.decays(ratio), self.likelihoods
        if result is None:
            return None
        try:
            prices = np.linalg.solve(decays.T, (likely[:, None] * self.losses * decays).sum(axis=0)) / likely
        except np.linalg.LinAlgError:
            return None
        other = np.where(np.eye(len(decays), dtype=np.bool_), np.inf, self.losses).min(axis=1)
        return result if (prices <= other).all() else None

    def proposal(self, ratio: float) -> Floats:
        """A law that nearly satisfies everything, with nearly the least error.

        Parameters
        ----------
        ratio
            c.
        """
        if not len(self.adjacent):
            return np.eye(len(self.words))
        result = self.closed_form(ratio)
        result = self._by_rays(ratio) if result is None else result
        result = self._solved(ratio) if result is None else result
        if self.alike:
            levels = self.distances.ravel()
            means = np.bincount(levels, result.ravel()) / np.maximum(np.bincount(levels), 1)
            result = means[self.distances]
        return result

    def _by_rays(self, ratio: float) -> Floats | None:
        """The best law as a sum of few columns; None where that would take many rounds.

        Columns of private laws form a cone, and a law is a sum of rays of it, such as c^−hops(·, x) and the constant.
        With the prices y of the words that the best sum of the rays at hand has, a better ray for the output x makes
        Σ (loss(w, x)·π(w) − y(w))·p(w) the least over p ≤ 1 of the cone. What all outputs could gain by that bounds how
        far the sum is from the best law: where ε is not small, the first rays are the right ones.
        """
        # imported when needed: no other mechanism has to wait for it to load
        from scipy import sparse  # noqa: PLC0415
        from scipy.optimize import linprog  # noqa: PLC0415

        count, pairs = len(self.words), np.arange(len(self.adjacent))
        cells = np.concatenate([self.adjacent[:, 1], self.adjacent[:, 0]])
        values = np.concatenate([ratio ** -self.steps.astype(np.float64), -np.ones(len(pairs))])
        cone = sparse.csr_array((values, (np.tile(pairs, 2), cells)), shape=(len(pairs), count))
        costs = self.likelihoods[:, None] * self.losses * (ratio / self.losses.max())
        decays = self.decays(ratio)
        rays = np.concatenate([decays, np.ones((count, count))], axis=1)
        outputs, none = np.tile(np.arange(count), 2), np.zeros(len(pairs))
        gap = np.inf
        for _ in range(_MOST_ROUNDS):
            best = linprog(
                (costs[:, outputs] * rays).sum(axis=0),
                A_eq=rays,
                b_eq=np.ones(count),
                method="highs-ds",
                options=_OPTIONS,
            )
            if best.status != 0:
                return None
            reduced = costs - best.eqlin.marginals[:, None]
            better = [
                linprog(reduced[:, x], A_ub=cone, b_ub=none, bounds=(0, 1), method="highs-ds", options=_OPTIONS)
                for x in range(count)
            ]
            if any(each.status != 0 for each in better):
                return None
            gains = np.array([-min(each.fun, 0.0) for each in better])
            gap, before = float(gains.sum() / best.fun), gap
            if gap <= _CLOSE:
                return _summed(rays, outputs, best.x)
            if gap > min(1.0, _SHRINKS * before):  # rounds are many where ε is small
                return None
            new = np.flatnonzero(gains > 0)
            # what the solver's tolerance leaves out is made up for: rays are in the cone as exactly as floats are
            raised = [(decays * np.maximum(better[x].x, 0.0)).max(axis=1) for x in new]
            rays = np.concatenate([rays, np.array(raised).T], axis=1)
            outputs = np.concatenate([outputs, new])
        return None

    def _solved(self, ratio: float) -> Floats:
        """By linear programming, all at once.

        Chances of changed words are of the size 1/c, and so are the unknowns' units: the solver's tolerance is then
        relative to them, also where they are far below it.
        """
        if self.rows > _MOST_SOLVED:
            raise TooLargeError(
                f"mechanism optimal: expected at most {_MOST_SOLVED} adjacent pairs × released words at this epsilon, "
                f"found {self.rows}; take mechanism auto, shorter words or a larger epsilon"
            )
        from scipy import sparse  # noqa: PLC0415
        from scipy.optimize import linprog  # noqa: PLC0415

        count, decay = len(self.words), np.repeat(ratio ** -self.steps.astype(np.float64), len(self.words))
        unit = np.where(np.eye(count, dtype=np.bool_), 1.0, 1 / ratio)
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
            result = linprog(
                prices.ravel(),
                A_ub=private,
                b_ub=np.zeros(len(row)),
                A_eq=total,
                b_eq=np.ones(count),
                method=method,
                options=_OPTIONS,
            )
            if result.status == 0:
                return np.asarray(np.maximum(result.x.reshape(count, count) * unit, 0.0))
        raise TooLargeError(
            "mechanism optimal: expected a language whose linear programme can be solved, found one that the solver "
            "gives up on; take mechanism auto, or a larger epsilon"
        )


def _summed(rays: Floats, outputs: Integers, weights: Floats) -> Floats:
    """The law that is a weighted sum of rays; weights that a solver found are made as exact as floats are."""
    count = len(rays)
    used = np.flatnonzero(weights > _SMALLEST_WEIGHT)
    exact = np.linalg.lstsq(rays[:, used], np.ones(count))[0]
    chosen = exact if (exact >= 0).all() else weights[used]
    law = np.zeros((count, count))
    np.add.at(law.T, outputs[used], (rays[:, used] * chosen).T)
    return law


def _solved_for_ones(table: Floats) -> Floats:
    """s with table·s = 1, by elimination in the order of the rows; no numbers where a pivot vanishes.

    Nothing but products, quotients and differences of single cells, which every machine rounds alike.
    """
    left, right = table.copy(), np.ones(len(table))
    with np.errstate(all="ignore"):
        for row in range(len(left)):
            factors = left[row + 1 :, row] / left[row, row]
            left[row + 1 :, row:] -= factors[:, None] * left[row, row:]
            right[row + 1 :] -= factors * right[row]
        for row in reversed(range(len(left))):
            right[row] /= left[row, row]
            right[:row] -= left[:row, row] * right[row]
    return right


class NumberedWords:
    """Words of one length, which are looked up all at once.

    Parameters
    ----------
    words
        Rows of codes, all different.

    >>> NumberedWords(np.array([[0, 1], [2, 2]])).numbers(np.array([[2, 2], [1, 1]])).tolist()
    [1, -1]
    """

    def __init__(self, words: Codes) -> None:
        keys = _as_keys(words)
        self._length = words.shape[1]
        self._order = np.argsort(keys)
        self._keys = keys[self._order]

    def numbers(self, rows: Codes) -> Integers:
        """The number of each row; −1 for what is none of the words.

        Parameters
        ----------
        rows
            Rows of codes.
        """
        if rows.shape[1] != self._length:
            return np.full(len(rows), -1)
        wanted = _as_keys(rows)
        index = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        return np.where(self._keys[index] == wanted, self._order[index], -1)


def _as_keys(rows: Codes) -> NDArray[np.bytes_]:
    """Rows of codes as bytes, which are compared at once."""
    if not rows.shape[1]:
        return np.zeros(len(rows), dtype="S1")
    return np.ascontiguousarray(rows, dtype=np.int32).view(f"S{4 * rows.shape[1]}").reshape(-1)
