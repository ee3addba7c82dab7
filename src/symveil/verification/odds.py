"""The odds of everything that can be seen, from two starts: δ at every ε, and the smallest ε for every δ, exactly.

Where finitely many things can be seen, with probability p_y from one start and r_y from the other, δ at α = e^ε is
Σ (p_y − αr_y)⁺: a polygon in α that falls, with a corner at every ratio p_y/r_y. So the smallest α at which it is at
most a given δ is a rational, and the α without any δ is the largest ratio, or infinite where some r_y is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import fmpq

_ZERO = fmpq(0)


@dataclass(frozen=True, slots=True)
class Odds:
    """(p_y, r_y) for everything y that can be seen, each a probability from one start; equal ratios may be added up.

    >>> coin = Odds(((fmpq(2, 3), fmpq(1, 3)), (fmpq(1, 3), fmpq(2, 3))))
    >>> coin.delta(fmpq(6, 5)), coin.largest_ratio()
    (4/15, 2)
    >>> coin.smallest_alpha(fmpq(0)), coin.smallest_alpha(fmpq(4, 15))
    (2, 6/5)
    """

    chances: tuple[tuple[fmpq, fmpq], ...]

    def delta(self, alpha: fmpq) -> fmpq:
        """Σ (p − αr)⁺."""
        return sum((gain for p, r in self.chances if (gain := p - alpha * r) > 0), start=_ZERO)

    def largest_ratio(self) -> fmpq | None:
        """The largest p/r, None where it is infinite."""
        if any(r == 0 and p != 0 for p, r in self.chances):
            return None
        return max((p / r for p, r in self.chances if r != 0), default=fmpq(1))

    def where_largest(self) -> int:
        """The index of the largest p/r; of several infinite ones, of the likeliest."""
        return max(range(len(self.chances)), key=lambda index: _rank(*self.chances[index]))

    def smallest_alpha(self, delta: fmpq) -> fmpq | None:
        """The smallest α ≥ 1 with δ(α) ≤ delta; None where no α is large enough."""
        corners = sorted(((p / r, p, r) for p, r in self.chances if r != 0 and p != 0), reverse=True)
        mine, theirs = sum((p for p, r in self.chances if r == 0), start=_ZERO), _ZERO
        if mine > delta:
            return None
        # from the right: right of the first k corners, δ(α) = mine − α·theirs over those that were passed
        for ratio, p, r in corners:
            if mine - ratio * theirs > delta:
                break
            mine, theirs = mine + p, theirs + r
        if theirs == 0:
            return fmpq(1)
        return max((mine - delta) / theirs, fmpq(1))


def _rank(p: fmpq, r: fmpq) -> tuple[int, fmpq]:
    if p == 0:
        return 0, _ZERO
    return (2, p) if r == 0 else (1, p / r)


def smallest_alpha(every: Sequence[Odds], delta: fmpq) -> fmpq | None:
    """The smallest α ≥ 1 at which none of these has a larger δ; None where there is none."""
    largest = fmpq(1)
    for odds in every:
        alpha = odds.smallest_alpha(delta)
        if alpha is None:
            return None
        largest = max(largest, alpha)
    return largest
