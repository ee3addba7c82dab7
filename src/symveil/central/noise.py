"""Noise on a table of whole numbers: each cell draws from a stream of its own, the same again after a kill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

from flint import arb

from symveil.central.contributions import GRID
from symveil.errors import ParameterError, either
from symveil.numerics.conversions import ball, dyadic, precision, upper_bound
from symveil.numerics.rationals import spelled
from symveil.randomness import RecordKey, discrete_laplace

Neighbours = Literal["add-remove", "replace"]
"""Which files are to look alike: with and without all records of a person, or with others in their place."""

_BITS = 256
"""Of precision, for the width of an interval: enough for 10⁷ cells on a grid of 2³²."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """One table that is asked of the data: its name, its ε, and how much one person can change it.

    *Promise.* Files that differ by one person have tables that differ by at most `bound`·M in L1. Discrete Laplace
    noise of scale bound·M/ε changes the chance of a cell's value by a factor of at most exp(ε·|difference|/(bound·M));
    over all cells, which draw independently, the factors multiply to at most e^ε. Where one person takes the place of
    another the difference, and so the scale, is twice as large.
    """

    name: str
    epsilon: Fraction
    bound: int
    neighbours: Neighbours = "add-remove"

    @property
    def scale(self) -> Fraction:
        """Of the noise, in steps of the grid."""
        return Fraction(self.bound * GRID * (2 if self.neighbours == "replace" else 1)) / self.epsilon

    def document(self) -> dict[str, object]:
        """The JSON form, for a manifest."""
        return {
            "query": self.name,
            "epsilon": spelled(self.epsilon),
            "bound": self.bound,
            "scale": spelled(self.scale / GRID),
        }

    def answered(self, table: Sequence[int], keys: RecordKey) -> list[int]:
        """The table with noise."""
        names = keys.names([f"{self.name}\0{cell}".encode() for cell in range(len(table))])
        streams = keys.streams(names)
        scale = self.scale
        return [value + discrete_laplace(scale, streams.of_row(cell)) for cell, value in enumerate(table)]

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


def read_neighbours(value: object) -> Neighbours:
    """Which files are to look alike, as it is typed."""
    if value == "replace":
        return "replace"
    if value == "add-remove":
        return "add-remove"
    raise ParameterError("neighbours", expected=either(get_args(Neighbours)), found=value)
