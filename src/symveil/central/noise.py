"""Noise on a table of whole numbers: each cell draws from a stream of its own, the same again after a kill."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, cast, get_args

from flint import arb

from symveil.central.contributions import GRID
from symveil.errors import ParameterError, either
from symveil.laws.parameters import require_spellable
from symveil.numbers.conversions import ball, dyadic, precision, upper_bound
from symveil.numbers.rationals import Number, exact, spelled
from symveil.randomness import RecordKey, discrete_laplace

Neighbours = Literal["add-remove", "replace"]
"""Which files are to look alike: with and without all records of a person, or with others in their place."""

_LEAST_EPSILON = Fraction(1, 10**100)
_BITS = 256
"""Of precision, for the width of an interval: enough for 10⁷ cells on a grid of 2³²."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """One table that is asked of the data: its name, its ε, and how much one person can change it.

    *Promise.* Files that differ by one person have tables that differ by at most `bound`·M in L1. Discrete Laplace
    noise of scale bound·M/ε changes the chance of a cell's value by a factor of at most exp(ε·|difference|/(bound·M));
    over all cells, which draw independently, the factors multiply to at most e^ε. Where one person takes the place of
    another the difference, and so the scale, is twice as large.

    With a δ the cells are not public but those that occur, and only those are shown whose noisy sum reaches the
    `threshold`. The promise is (ε, δ) then (docs/theory/central.md, claim 4).
    """

    name: str
    epsilon: Fraction
    bound: int
    neighbours: Neighbours = "add-remove"
    delta: Fraction = Fraction(0)

    @property
    def scale(self) -> Fraction:
        """Of the noise, in steps of the grid."""
        return Fraction(self.bound * GRID * (2 if self.neighbours == "replace" else 1)) / self.epsilon

    def document(self) -> dict[str, object]:
        """The JSON form, for a manifest."""
        selected: dict[str, object] = {}
        if self.delta:
            selected = {"delta": spelled(self.delta), "threshold": spelled(Fraction(self.threshold, GRID))}
        return {
            "query": self.name,
            "epsilon": spelled(self.epsilon),
            "bound": self.bound,
            "scale": spelled(self.scale / GRID),
            **selected,
        }

    @property
    def threshold(self) -> int:
        """From which noisy sum on a cell is shown, in steps of the grid; only with a δ.

        A person makes at most L = `bound` cells that nobody else has, and adds a_1, a_2 … to them, in all at most L·M.
        P(a + noise ≥ t) = exp((a − t)/scale)/(1 + q) for t ≥ a, q = exp(−1/scale), is convex in a: the sum over the
        cells is largest where one of them has everything. So one of them is shown with a chance of at most
        (exp(L·M/scale) + L − 1)·exp(−t/scale)/(1 + q); t is the least whole number for which that is at most δ, rounded
        upwards. Where another person takes the first one's place, both may have such cells: δ/2 for each.

        >>> Query(name="visits", epsilon=Fraction(1), bound=1, delta=Fraction(1, 10**6)).threshold / GRID
        14.122363377...
        """
        if not 0 < self.delta < 1:
            raise ParameterError("delta", expected="a number between 0 and 1 such as 1e-6", found=self.delta)
        allowed = self.delta / 2 if self.neighbours == "replace" else self.delta
        with precision(_BITS):
            scale, most = ball(self.scale), ball(Fraction(self.bound * GRID) / self.scale)
            chances = (most.exp() + (self.bound - 1)) / (1 + (-1 / scale).exp())
            least = upper_bound((chances / ball(allowed)).log() * scale)
        return max(-(-least.numerator // least.denominator), self.bound * GRID)

    def answered(self, table: Sequence[int], keys: RecordKey, *, cells: Sequence[bytes]) -> list[int]:
        """The table with noise: what a cell draws depends on its name and on everything that decides the noise.

        A release that is made again draws the same noise for the same question. Where an earlier stage came out
        otherwise (another bound, another split of positions), the question is another one and so is its noise: the
        difference of two such tables is never exact.

        Parameters
        ----------
        table
            The sums.
        keys
            Where noise comes from.
        cells
            The names of the cells, by their content and not by their number (`contributions.cell_name`).
        """
        names = keys.names([self._noise_name + cell for cell in cells])
        streams = keys.streams(names)
        scale = self.scale
        return [value + discrete_laplace(scale, streams.of_row(cell)) for cell, value in enumerate(table)]

    @property
    def _noise_name(self) -> bytes:
        """What decides the noise of a cell beside its own name."""
        parts = (self.name, spelled(self.epsilon), self.bound, self.neighbours, spelled(self.delta))
        return json.dumps(parts).encode() + b"\0"

    def half_width(self, confidence: float, *, cells: int = 1) -> int:
        """The least h with P(|noise| ≤ h in all of so many cells) ≥ confidence, in steps of the grid.

        P(|z| > h) = 2·q^(h+1)/(1+q) with q = exp(−1/scale): exact, no normal approximation. Reckoned with balls, and
        upwards where a ball holds a whole number.

        >>> Query(name="od", epsilon=Fraction(1), bound=1).half_width(0.95) / GRID
        2.9957322734...
        """
        if not 0 < confidence < 1:
            raise ParameterError("confidence", expected="a number between 0 and 1 such as 0.95", found=confidence)
        with precision(_BITS):
            scale = ball(self.scale)
            ratio = (-1 / scale).exp()
            outside = 1 - arb(dyadic(confidence)) ** (1 / arb(cells))
            most = upper_bound((2 / (outside * (1 + ratio))).log() * scale)
        return max(-(-most.numerator // most.denominator) - 1, 0)


def require_writable_noise(epsilon: Fraction) -> Fraction:
    """An ε whose noise fits into the numbers of a table and of a fit; refused otherwise.

    >>> require_writable_noise(Fraction(1, 10**310))
    Traceback (most recent call last):
    symveil.errors.ParameterError: epsilon: expected at least 1e-100, ..., found about 1e-310
    """
    if epsilon < _LEAST_EPSILON:
        raise ParameterError(
            "epsilon",
            expected="at least 1e-100, so that noise fits into floating-point numbers",
            found=_power_of_ten(epsilon),
        )
    return epsilon


def _power_of_ten(value: Fraction) -> str:
    """About how large a number is that no float holds."""
    digits = (value.numerator.bit_length() - value.denominator.bit_length()) * math.log10(2)
    return f"about 1e{round(digits)}"


def read_delta(value: object) -> Fraction:
    """A δ as it is typed.

    >>> read_delta("1e-6")
    Fraction(1, 1000000)
    """
    wanted = "a number between 0 and 1 such as 1e-6"
    delta = exact(cast("Number", value), name="delta", expected=wanted)
    if not 0 < delta < 1:
        raise ParameterError("delta", expected=wanted, found=value)
    return require_spellable(delta, "delta")


def read_neighbours(value: object) -> Neighbours:
    """Which files are to look alike, as it is typed."""
    if value == "replace":
        return "replace"
    if value == "add-remove":
        return "add-remove"
    raise ParameterError("neighbours", expected=either(get_args(Neighbours)), found=value)
