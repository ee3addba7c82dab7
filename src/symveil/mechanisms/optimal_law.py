"""The law of the optimal mechanism: integers over a power of two, made of what a solver proposes.

Three repairs, each of which any proposal survives. Columns are raised to the least private ones above them; rows are
divided by their sums; what still exceeds the ratio c, and words that would never be released, are mended by mixing with
the uniform law on the same outputs. Then the largest ratio between adjacent words is computed in integers: it is the
guarantee, and nothing about the solver has to be believed.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from symveil.mechanisms.optimal_programme import Floats, Programme
from symveil.numerics.conversions import exp_enclosure

# e^ε as a float; a larger budget than this is not spent.
_LARGEST_EXPONENT = Fraction(600)
# The programme is solved for a ratio that is so much closer to 1, relative to c − 1, so that repairs have room.
_ROOM = Fraction(1, 2**26)
# The share of the uniform law, relative to the expected error: far below what anybody can notice.
_UNIFORM_BITS = 30
_LEAST_UNIFORM_BITS = 1000
# Probabilities are rounded to so many bits below the least one.
_SPARE_BITS = 64


@dataclass(frozen=True, slots=True, eq=False)
class ExactLaw:
    """P(x|w) = numerators[w][x] / 2^bits over some words, and the largest ratio between adjacent words."""

    numerators: tuple[tuple[int, ...], ...]
    bits: int
    ratio: Fraction

    @property
    def digest(self) -> str:
        """SHA-256 of all of it: two laws with one digest are one law."""
        text = f"{self.bits};" + ";".join(",".join(f"{each:x}" for each in row) for row in self.numerators)
        return hashlib.sha256(text.encode()).hexdigest()


def allowed_ratio(epsilon: Fraction) -> Fraction:
    """A rational c with 1 < c ≤ e^ε, hardly below it.

    >>> float(allowed_ratio(Fraction(1)))
    2.7182818284590446
    """
    # e^ε ≥ 1 + ε, the larger one where ε is tiny
    return max(exp_enclosure(min(epsilon, _LARGEST_EXPONENT))[0], 1 + min(epsilon, _LARGEST_EXPONENT))


def optimal_law(programme: Programme, epsilon: Fraction) -> ExactLaw:
    """The exact law of the programme's words at this budget."""
    most = allowed_ratio(epsilon)
    aim = float(1 + (most - 1) * (1 - _ROOM))
    return repaired(programme, _raised(programme, programme.solved(aim), aim), most)


def _raised(programme: Programme, law: Floats, ratio: float) -> Floats:
    """The least law-like table above this one whose columns are private: max over v of P(x|v)·c^(−hops from v to w)."""
    decays = ratio ** -programme.hops()
    raised = np.stack([(decay[:, None] * law).max(axis=0) for decay in decays])
    if not programme.alike:
        return raised
    # rounding may have made a difference between cells at the same distance
    by_distance = np.zeros(int(programme.distances.max()) + 1)
    np.maximum.at(by_distance, programme.distances.ravel(), raised.ravel())
    return np.asarray(by_distance[programme.distances])


def repaired(programme: Programme, law: Floats, most: Fraction) -> ExactLaw:
    """An exact law near any non-negative table: rows that add up to 1, and no ratio above `most`, which exceeds 1."""
    count = len(law)
    exact = [[Fraction(value) for value in row] for row in law.tolist()]
    rows = []
    for number, row in enumerate(exact):
        total = sum(row, start=Fraction(0))
        rows.append([value / total for value in row] if total else _own(count, number))
    error = programme.expected_error(np.array([[float(value) for value in row] for row in rows]))
    shift = _UNIFORM_BITS + max(0, -math.floor(math.log2(error))) if error > 0 else _LEAST_UNIFORM_BITS
    mixed = Fraction(1, 2**shift)
    # below the least probability, and below what the ratio is above 1
    room = max(0, -_floor_log2(most - 1))
    bits = shift + count.bit_length() + room + _SPARE_BITS
    pairs = programme.adjacent.tolist()
    while True:
        numerators = _rounded(rows, mixed, bits)
        excess = max(
            (
                most.denominator * above - most.numerator * below
                for word, other in pairs
                for above, below in zip(numerators[word], numerators[other], strict=True)
            ),
            default=0,
        )
        if excess <= 0 or mixed == 1:
            return ExactLaw(numerators, bits, _largest_ratio(numerators, pairs))
        # (1−λ)(p − cq) ≤ λ(c−1)/count is what the uniform law has to make good
        missing = Fraction(excess, most.denominator << bits) * count / (most - 1)
        mixed = min(Fraction(1), 2 * mixed + _rounded_up(missing))


def _own(count: int, number: int) -> list[Fraction]:
    return [Fraction(int(each == number)) for each in range(count)]


def _rounded(rows: list[list[Fraction]], mixed: Fraction, bits: int) -> tuple[tuple[int, ...], ...]:
    """The mixture with the uniform law in units of 2^−bits; what rounding down leaves goes to the word itself."""
    whole = 1 << bits
    found = []
    for number, row in enumerate(rows):
        uniform = mixed / len(row)
        units = [math.floor(((1 - mixed) * value + uniform) * whole) for value in row]
        units[number] += whole - sum(units)
        found.append(tuple(units))
    return tuple(found)


def _largest_ratio(numerators: tuple[tuple[int, ...], ...], pairs: list[list[int]]) -> Fraction:
    """The largest P(x|w)/P(x|v) over adjacent words."""
    top, bottom = 1, 1
    for word, other in pairs:
        for above, below in zip(numerators[word], numerators[other], strict=True):
            if above * bottom > top * below:
                top, bottom = above, below
    return Fraction(top, bottom)


def _floor_log2(value: Fraction) -> int:
    """A whole number at most log₂ of a rational above 0, and at most 1 below it."""
    return value.numerator.bit_length() - value.denominator.bit_length() - 1


def _rounded_up(value: Fraction) -> Fraction:
    """The next larger rational with few bits: shares of a mixture need not be long."""
    return Fraction(2) ** (_floor_log2(value) + 2) if value > 0 else Fraction(0)
