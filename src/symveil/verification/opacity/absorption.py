"""The probability of ever reaching the violation: the least solution of p = A·p + b.

Every state of a `ViolationChain` can reach the sink, so I − A is regular and the solution unique
(docs/opacity.md). Small systems, after lumping, are solved in exact rationals; large ones in floats
with a proved error (`certified_floats`), and where those have too few digits, with more of them.

The probability of reaching the violation in floats, with a proof of how far off they may be.

With p = A·p + b, an approximate p̃ with residual r, and any h > 0 with g = (I − A)h > 0,

    |p − p̃|  ≤  (I − A)⁻¹|r|  ≤  max(|r|/g) · h,

because (I − A)⁻¹ = Σ Aⁿ has no negative entry. Both sides are evaluated with bounds on every
rounding, so it does not matter how h and p̃ were computed.
"""

from __future__ import annotations

import contextlib
import warnings
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, arb_mat, fmpq, fmpq_mat
from numpy.typing import NDArray

from symveil.errors import TooLargeError
from symveil.numbers.conversions import ball, fraction, precision, rational, upper_bound
from symveil.numbers.once import computed_once
from symveil.verification.opacity.exploration import NOWHERE, SINK
from symveil.verification.opacity.violation_chain import ViolationChain

_RESTARTS, _MOST_ITERATIONS, _CLOSE = 8, 300, 1e-14
_LARGEST_DIRECT_SOLVE = 30_000
_ROUNDING = 2.0**-52
# What underflows is lost altogether: more than that, in every sum.
_UNDERFLOW = 1e-290
# Farther apart than this, and than a millionth of the value, bounds are not good enough.
_WIDEST_BOUNDS = Fraction(1, 10**9)

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A probability between two proved bounds; exactly known where they are equal."""

    lower: Fraction
    upper: Fraction

    @property
    def is_close(self) -> bool:
        """Whether the bounds are close enough to be reported."""
        return self.upper - self.lower <= _WIDEST_BOUNDS * min(Fraction(1), 10**3 * self.upper)

    @classmethod
    def around(cls, middle: float, error: float) -> Enclosure:
        """`middle` ± `error`, and inside [0, 1]."""
        centre, radius = Fraction(middle), Fraction(error)
        return cls(max(centre - radius, Fraction(0)), min(centre + radius, Fraction(1)))


class _FloatSystem:
    """A and b as floats, each entry right to half a unit in the last place.

    Loops from a state to itself are taken out first, exactly: p = a·p + c becomes p = c/(1 − a), so
    that a state which is hardly ever left does not look as if it never were.
    """

    def __init__(self, chain: ViolationChain, *, keep_loops: bool = False) -> None:
        from scipy.sparse import csr_array  # noqa: PLC0415  # small systems never need scipy

        chance = np.array([float(value) for value in chain.chances])[chain.chance]
        stays = chain.source == chain.target
        if stays.any() and not keep_loops:
            chance[~stays] = self._without_loops(chain, stays)[~stays]
            chance[stays] = 0.0
        inner = chain.target != SINK
        self.size = chain.size
        self.right: Floats = np.zeros(chain.size)
        np.add.at(self.right, chain.source[~inner], chance[~inner])
        self.matrix: Any = csr_array(
            (chance[inner], (chain.source[inner], chain.target[inner])), shape=(chain.size, chain.size)
        )
        # one row's sum of d products: d roundings of entries, d of products, d of additions, and a few around
        self.roundings = 3 * int(np.bincount(chain.source, minlength=1).max()) + 6

    @staticmethod
    def _without_loops(chain: ViolationChain, stays: NDArray[np.bool_]) -> Floats:
        """Each move's probability, given that its state is left."""
        staying: dict[int, Fraction] = defaultdict(Fraction)
        for source, chance in zip(chain.source[stays].tolist(), chain.chance[stays].tolist(), strict=True):
            staying[source] += chain.chances[chance]
        chances = np.array([float(value) for value in chain.chances])[chain.chance]
        for move in np.flatnonzero(np.isin(chain.source, list(staying)) & ~stays).tolist():
            left = 1 - staying[int(chain.source[move])]
            chances[move] = float(chain.chances[int(chain.chance[move])] / left)
        return chances

    def iterated(self, right: Floats) -> Floats:
        """An approximate solution of x = A·x + right, by iterations; nothing is promised about it."""
        from symveil.verification.linear_loops import krylov  # noqa: PLC0415  # for large systems only

        matrix, solution = self.matrix, np.zeros(self.size)
        first, target = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
        goal = float(right.max(initial=0.0)) * _CLOSE
        krylov(first, target, matrix.data, right, solution, goal, _RESTARTS, _MOST_ITERATIONS)
        return np.nan_to_num(solution)

    def factored(self, right: Floats) -> Floats:
        """The same by an LU factorisation, which may be large; 0 where there is none."""
        try:
            return np.asarray(self._factors.solve(right), dtype=np.float64)
        except RuntimeError:  # singular, as floats
            return np.zeros(self.size)

    @computed_once
    def _factors(self) -> Any:
        from scipy.sparse import eye_array  # noqa: PLC0415
        from scipy.sparse.linalg import splu  # noqa: PLC0415

        return splu((eye_array(self.size, format="csr") - self.matrix).tocsc())


def solve_in_floats(chain: ViolationChain) -> Enclosure:
    """By iterations; where they do not get close, by factors. Both are proved afterwards in the same way."""
    system = _FloatSystem(chain)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # every solution is checked afterwards
        enclosed = _proved(system, chain.start, system.iterated)
        if not enclosed.is_close and system.size <= _LARGEST_DIRECT_SOLVE:
            enclosed = min(
                (enclosed, _proved(system, chain.start, system.factored)), key=lambda each: each.upper - each.lower
            )
    return enclosed


def _proved(system: _FloatSystem, start: int, solve: Callable[[Floats], Floats]) -> Enclosure:
    """Bounds on p(start) from approximate solutions for p and for h."""
    guess = np.clip(solve(system.right), 0.0, 1.0)
    slack = solve(np.ones(system.size))
    ahead = system.matrix @ slack
    gain = slack - ahead - system.roundings * _ROUNDING * (np.abs(slack) + np.abs(ahead)) - _UNDERFLOW * slack.max()
    if not (np.isfinite(slack).all() and (slack > 0).all() and (gain > 0).all()):
        return Enclosure(Fraction(0), Fraction(1))  # nothing could be proved
    inflow = system.matrix @ guess + system.right
    residual = np.abs(inflow - guess) + system.roundings * _ROUNDING * (inflow + guess) + _UNDERFLOW
    error = float((residual / gain).max() * slack[start]) * (1 + 8 * _ROUNDING)
    return Enclosure.around(float(guess[start]), error)


def follow_in_floats(chain: ViolationChain, steps: int) -> Enclosure:
    """Sums and products of numbers that are not negative: the relative error grows by some roundings a step."""
    system = _FloatSystem(chain, keep_loops=True)  # here a turn of a loop counts as a step
    reached = np.zeros(system.size)
    for _ in range(steps):
        reached = system.matrix @ reached + system.right
    value = float(reached[chain.start])
    return Enclosure.around(value, value * 2 * system.roundings * steps * _ROUNDING + steps * _UNDERFLOW)


# A dense rational system of this size, with probabilities of few bits, takes about a quarter of a second …
MOST_EXACT_UNKNOWNS = 500
_FEW_BITS = 8
# … of this size some seconds, which is better than bounds that are far apart …
_MOST_PATIENT_UNKNOWNS = 1500
# … and of this size a minute and a gigabyte.
MOST_UNKNOWNS_ON_REQUEST = 4000

# Longer horizons (steps² · bits · moves) are followed in floats, whose error grows by a few roundings a step.
_MOST_EXACT_WORK = 400_000_000
_MOST_BALLS, _BALL_BITS = 400, 256
_LARGEST_LUMPED = 100
_MOST_STEPS = 100_000


def reaching_probability(chain: ViolationChain, *, exact: bool | None = None) -> Enclosure:
    """The probability of ever reaching the violation; exact where asked for, or where that is quick."""
    if chain.start in (NOWHERE, SINK):
        return _certain(chain.start)
    if exact is False:
        enclosed = solve_in_floats(chain)
        small = None if enclosed.is_close else chain.lumped(at_most=_MOST_BALLS)
        return enclosed if small is None else _solve_in_balls(small)
    most = MOST_UNKNOWNS_ON_REQUEST if exact else _most_quick_unknowns(chain)
    # lumping makes a chain some ten times smaller: a much larger one is not worth the attempt
    small = chain.lumped(at_most=most) if exact or chain.size <= _LARGEST_LUMPED * most else None
    if exact and small is None:
        raise TooLargeError(
            f"exact: expected at most {MOST_UNKNOWNS_ON_REQUEST} unknowns of the linear system, found more; leave the "
            "choice to symveil and take the bounds it proves"
        )
    if small is None:
        enclosed = solve_in_floats(chain)
        if enclosed.is_close:
            return enclosed
        small = chain.lumped(at_most=_MOST_PATIENT_UNKNOWNS)
        if small is None:
            return enclosed
    value = _solve_exactly(small)
    return Enclosure(value, value)


def _most_quick_unknowns(chain: ViolationChain) -> int:
    """How many unknowns are a matter of half a second: the work grows like their cube times the digits."""
    return int(MOST_EXACT_UNKNOWNS * min(1.0, _FEW_BITS / _bits(chain)) ** (1 / 3))


def _bits(chain: ViolationChain) -> int:
    return max(chance.denominator.bit_length() for chance in chain.chances)


def reaching_probability_within(chain: ViolationChain, steps: int, *, exact: bool | None = None) -> Enclosure:
    """The probability of reaching the violation in at most `steps` events."""
    if chain.start in (NOWHERE, SINK):
        return _certain(chain.start)
    # every step adds a denominator
    work = steps * steps * _bits(chain) * len(chain.source)
    if exact or (exact is None and work <= _MOST_EXACT_WORK):
        value = _follow_exactly(chain, steps)
        return Enclosure(value, value)
    followed = follow_in_floats(chain, min(steps, _MOST_STEPS))
    if steps <= _MOST_STEPS:
        return followed
    return Enclosure(followed.lower, reaching_probability(chain).upper)  # somewhere between so many steps and all


def _certain(start: int) -> Enclosure:
    value = Fraction(1 if start == SINK else 0)
    return Enclosure(value, value)


def _solve_exactly(chain: ViolationChain) -> Fraction:
    matrix = [[fmpq(0)] * chain.size for _ in range(chain.size)]
    right = [fmpq(0)] * chain.size
    for state in range(chain.size):
        matrix[state][state] = fmpq(1)
    for source, target, probability in chain.moves():
        if target == SINK:
            right[source] += rational(probability)
        else:
            matrix[source][target] -= rational(probability)
    solution = fmpq_mat(matrix).solve(fmpq_mat(chain.size, 1, right))
    return fraction(solution[chain.start, 0])


def _solve_in_balls(chain: ViolationChain) -> Enclosure:
    """Where a run takes a billion steps doubles have too few digits: balls of more digits, with proved errors."""
    value = None
    with precision(_BALL_BITS):
        matrix = [[arb(int(row == column)) for column in range(chain.size)] for row in range(chain.size)]
        right = [[arb(0)] for _ in range(chain.size)]
        for source, target, probability in chain.moves():
            if target == SINK:
                right[source][0] += ball(probability)
            else:
                matrix[source][target] -= ball(probability)
        with contextlib.suppress(ZeroDivisionError):  # singular, as far as so many digits show
            value = arb_mat(matrix).solve(arb_mat(right))[chain.start, 0]
        if value is None:
            return Enclosure(Fraction(0), Fraction(1))
        return Enclosure(max(-upper_bound(-value), Fraction(0)), min(upper_bound(value), Fraction(1)))


def _follow_exactly(chain: ViolationChain, steps: int) -> Fraction:
    moves = [(source, target, rational(probability)) for source, target, probability in chain.moves()]
    reached = [fmpq(0)] * chain.size
    for _ in range(steps):
        longer = [fmpq(0)] * chain.size
        for source, target, probability in moves:
            longer[source] += probability if target == SINK else probability * reached[target]
        reached = longer
    return fraction(reached[chain.start])
