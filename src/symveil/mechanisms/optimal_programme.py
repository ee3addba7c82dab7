"""The words of a small language and how they are compared: what the best private law of it is solved for.

Adjacent words must satisfy P(x|w) ≥ P(x|v)/c; under the graceful promise c is what one place may lose, and words that
differ in d places must satisfy P(x|w) ≥ P(x|v)/c^d. Where linear equations do not give the best law, a solver proposes
one (`bounds/programme.py`), up to its tolerance; `law` makes an exact law of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symveil.bounds.prior import Floats, Integers
from symveil.bounds.programme import PrivacyProgramme
from symveil.errors import TooLargeError
from symveil.mechanisms.limits import LIMITS
from symveil.models.alphabet import Codes
from symveil.numbers.once import computed_once

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
        """The flat law where it is the best one (docs/mechanisms.md); None where that is not shown."""
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
        """A law that nearly satisfies everything, with nearly the least error."""
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

    @computed_once
    def _programme(self) -> PrivacyProgramme:
        return PrivacyProgramme(losses=self.losses, shares=self.likelihoods, adjacent=self.adjacent, steps=self.steps)

    def _by_rays(self, ratio: float) -> Floats | None:
        """The best law as a sum of few columns; None where that would take many rounds."""
        return self._programme.law_by_rays(ratio, self.decays(ratio))

    def _solved(self, ratio: float) -> Floats:
        """By linear programming, all at once."""
        if self.rows > LIMITS.now.solved_rows:
            raise TooLargeError(
                f"mechanism optimal: expected at most {LIMITS.now.solved_rows} adjacent pairs × released words at "
                f"this epsilon, found {self.rows}; take mechanism auto, shorter words or a larger epsilon"
            )
        result = self._programme.law(ratio)
        if result is None:
            raise TooLargeError(
                "mechanism optimal: expected a language whose linear programme can be solved, found one that the "
                "solver gives up on; take mechanism auto, or a larger epsilon"
            )
        return result


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

    >>> NumberedWords(np.array([[0, 1], [2, 2]])).numbers(np.array([[2, 2], [1, 1]])).tolist()
    [1, -1]
    """

    def __init__(self, words: Codes) -> None:
        keys = _as_keys(words)
        self._length = words.shape[1]
        self._order = np.argsort(keys)
        self._keys = keys[self._order]

    def numbers(self, rows: Codes) -> Integers:
        """The number of each row; −1 for what is none of the words."""
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
