"""The probability of ever reaching the violation: the least solution of p = A·p + b.

Every state of a `ViolationChain` can reach the sink, so I − A is regular and the solution unique
(docs/opacity.md). Small systems, after lumping, are solved in exact rationals; large ones in floats
with a proved error (`certified_floats`), and where those have too few digits, with more of them.
"""

from __future__ import annotations

import contextlib
from fractions import Fraction

from flint import arb, arb_mat, fmpq, fmpq_mat

from symveil.errors import TooLargeError
from symveil.numbers.conversions import ball, fraction, precision, rational, upper_bound
from symveil.verification.opacity.certified_floats import Enclosure, follow_in_floats, solve_in_floats
from symveil.verification.opacity.exploration import NOWHERE, SINK
from symveil.verification.opacity.violation_chain import ViolationChain

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
