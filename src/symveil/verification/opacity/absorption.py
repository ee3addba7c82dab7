"""The probability of ever reaching the violation: the least solution of p = A·p + b.

Every state of a `ViolationChain` can reach the sink, so I − A is regular and the solution unique
(mathematics §9). Small systems are solved in exact rationals. Large ones are solved in floats and
the error is *proved* afterwards: with a residual r and any h > 0 with g = (I − A)h > 0,

    |p − p̃|  ≤  (I − A)⁻¹|r|  ≤  max(|r|/g) · h,

because (I − A)⁻¹ = Σ Aⁿ has no negative entry. Both are evaluated with bounds on every rounding,
so how h and p̃ were found does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from symveil.errors import TooLargeError
from symveil.verification.opacity.exploration import NOWHERE, SINK
from symveil.verification.opacity.violation_chain import ViolationChain

# A dense rational system of this size takes about a quarter of a second.
MOST_EXACT_UNKNOWNS = 500
# … and of this size a minute and a gigabyte.
MOST_UNKNOWNS_ON_REQUEST = 4000

# Longer horizons than this many moves are followed in floats, whose error grows by a few roundings a step.
_MOST_EXACT_MOVES = 2_000_000
_MOST_STEPS = 100_000
_LARGEST_DIRECT_SOLVE = 30_000
_ROUNDING = 2.0**-52

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A probability between two proved bounds; exactly known where they are equal."""

    lower: Fraction
    upper: Fraction

    @classmethod
    def around(cls, middle: float, error: float) -> Enclosure:
        """`middle` ± `error`, and inside [0, 1]."""
        centre, radius = Fraction(middle), Fraction(error)
        return cls(max(centre - radius, Fraction(0)), min(centre + radius, Fraction(1)))


def reaching_probability(chain: ViolationChain, *, exact: bool | None = None) -> Enclosure:
    """The probability of ever reaching the violation; exact where asked for, or where that is quick."""
    if chain.start in (NOWHERE, SINK):
        return _certain(chain.start)
    if exact and chain.size > MOST_UNKNOWNS_ON_REQUEST:
        raise TooLargeError(
            f"exact: expected at most {MOST_UNKNOWNS_ON_REQUEST} unknowns of the linear system, found {chain.size}; "
            "leave the choice to symveil and take the bounds it proves",
        )
    if exact or (exact is None and chain.size <= MOST_EXACT_UNKNOWNS):
        value = _solve_exactly(chain)
        return Enclosure(value, value)
    return _solve_in_floats(chain)


def reaching_probability_within(chain: ViolationChain, steps: int) -> Enclosure:
    """The probability of reaching the violation in at most `steps` events."""
    if chain.start in (NOWHERE, SINK):
        return _certain(chain.start)
    if steps * len(chain.probability) <= _MOST_EXACT_MOVES:
        value = _follow_exactly(chain, steps)
        return Enclosure(value, value)
    followed = _follow_in_floats(chain, min(steps, _MOST_STEPS))
    if steps <= _MOST_STEPS:
        return followed
    return Enclosure(followed.lower, reaching_probability(chain).upper)  # somewhere between so many steps and all


def _certain(start: int) -> Enclosure:
    value = Fraction(1 if start == SINK else 0)
    return Enclosure(value, value)


def _rational(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)


def _fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))


def _moves(chain: ViolationChain) -> list[tuple[int, int, Fraction]]:
    return list(zip(chain.source.tolist(), chain.target.tolist(), chain.probability, strict=True))


def _solve_exactly(chain: ViolationChain) -> Fraction:
    matrix = [[fmpq(0)] * chain.size for _ in range(chain.size)]
    right = [fmpq(0)] * chain.size
    for state in range(chain.size):
        matrix[state][state] = fmpq(1)
    for source, target, probability in _moves(chain):
        if target == SINK:
            right[source] += _rational(probability)
        else:
            matrix[source][target] -= _rational(probability)
    solution = fmpq_mat(matrix).solve(fmpq_mat(chain.size, 1, right))
    return _fraction(solution[chain.start, 0])


def _follow_exactly(chain: ViolationChain, steps: int) -> Fraction:
    moves = [(source, target, _rational(probability)) for source, target, probability in _moves(chain)]
    reached = [fmpq(0)] * chain.size
    for _ in range(steps):
        longer = [fmpq(0)] * chain.size
        for source, target, probability in moves:
            longer[source] += probability if target == SINK else probability * reached[target]
        reached = longer
    return _fraction(reached[chain.start])


# --- floats with a proof -------------------------------------------------------------------------


class _FloatSystem:
    """A and b as floats, each entry right to half a unit in the last place."""

    def __init__(self, chain: ViolationChain) -> None:
        from scipy.sparse import csr_array  # noqa: PLC0415  # small systems never need scipy

        chances = np.array([float(probability) for probability in chain.probability])
        inner = chain.target != SINK
        self.size = chain.size
        self.matrix: Any = csr_array(
            (chances[inner], (chain.source[inner], chain.target[inner])), shape=(chain.size, chain.size)
        )
        self.right: Floats = np.zeros(chain.size)
        np.add.at(self.right, chain.source[~inner], chances[~inner])
        # one row's sum of d products: d roundings of entries, d of products, d of additions, and a few around
        self.roundings = 3 * int(np.bincount(chain.source, minlength=1).max()) + 6

    def solve(self, right: Floats) -> Floats:
        """An approximate solution of x = A·x + right; nothing is promised about it."""
        from scipy.sparse import eye_array  # noqa: PLC0415
        from scipy.sparse.linalg import bicgstab, splu  # noqa: PLC0415

        system = eye_array(self.size, format="csr") - self.matrix
        if self.size > _LARGEST_DIRECT_SOLVE:
            solution, failed = bicgstab(system, right, rtol=1e-13, maxiter=2000)
            if not failed and np.isfinite(solution).all():
                return np.asarray(solution)
        return np.asarray(splu(system.tocsc()).solve(right))


def _solve_in_floats(chain: ViolationChain) -> Enclosure:
    system = _FloatSystem(chain)
    guess = np.clip(system.solve(system.right), 0.0, 1.0)
    for _ in range(2):  # iterative refinement
        guess = np.clip(guess + system.solve(system.matrix @ guess + system.right - guess), 0.0, 1.0)
    slack = system.solve(np.ones(system.size))
    ahead = system.matrix @ slack
    gain = slack - ahead - system.roundings * _ROUNDING * (np.abs(slack) + np.abs(ahead))
    if not (np.isfinite(slack).all() and (slack > 0).all() and (gain > 0).all()):
        return Enclosure(Fraction(0), Fraction(1))  # nothing could be proved: say so by bounds that say nothing
    inflow = system.matrix @ guess + system.right
    residual = np.abs(inflow - guess) + system.roundings * _ROUNDING * (inflow + guess)
    error = float((residual / gain).max() * slack[chain.start]) * (1 + 8 * _ROUNDING)
    return Enclosure.around(float(guess[chain.start]), error)


def _follow_in_floats(chain: ViolationChain, steps: int) -> Enclosure:
    """Sums and products of numbers that are not negative: the relative error grows by some roundings a step."""
    system = _FloatSystem(chain)
    reached = np.zeros(system.size)
    for _ in range(steps):
        reached = system.matrix @ reached + system.right
    value = float(reached[chain.start])
    # underflow loses at most the smallest float in each operation
    return Enclosure.around(value, value * 2 * system.roundings * steps * _ROUNDING + 1e-290)
