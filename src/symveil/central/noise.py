"""Noise on a table of whole numbers: each cell draws from a stream of its own, the same again after a kill.

Tables with noise, and what is read from them alone: the shares of lengths.

How good a learned law can be: the noise of each of its tables, beside how many persons there are.

Everything here is public or follows from released numbers: cells, shares of ε, and the noisy number of persons.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, cast, get_args

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symveil.central.cells import GRID
from symveil.central.limits import LIMITS
from symveil.errors import ParameterError, either
from symveil.estimation.table import Floats, projected
from symveil.laws.parameters import require_spellable
from symveil.numbers.conversions import ball, dyadic, precision, upper_bound
from symveil.numbers.rationals import Number, exact, percent, spelled
from symveil.randomness import RecordKey, discrete_laplace
from symveil.reports.page import Reported
from symveil.reports.report import Report, Section, Table

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
    `threshold`. The promise is (ε, δ) then (docs/theory/central.md, Theorem 5.4).
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

        A person makes at most L = `bound` cells that no other person has, and adds a_1, a_2 … to them, in all at most
        L·M. P(a + noise ≥ t) = exp((a − t)/scale)/(1 + q) for t ≥ a, q = exp(−1/scale), is convex in a: the sum over
        the cells is largest where one of them has everything. So one of them is shown with a chance of at most
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

        Cells are named by their content and not by their number (`cells.cell_name`).
        """
        names = keys.names([self._noise_name + cell for cell in cells])
        streams = keys.streams(names)
        scale = self.scale
        return [value + discrete_laplace(scale, streams.of_row(cell)) for cell, value in enumerate(table)]

    @property
    def deviation(self) -> float:
        """Of the noise of a cell, in counted things."""
        return math.sqrt(2) * float(self.scale / GRID)

    def released(self, table: Sequence[int], keys: RecordKey, *, cells: Sequence[bytes]) -> NoisyTable:
        """The same table in counted things, beside the deviation of its noise."""
        values = np.array([value / GRID for value in self.answered(table, keys, cells=cells)])
        return NoisyTable(values=values, deviation=self.deviation)

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


def queries_of_shares(
    label: str, bounds: Mapping[str, int], shares: Mapping[str, Fraction], epsilon: Fraction, neighbours: Neighbours
) -> tuple[Query, ...]:
    """A query for each table of a law: what one person adds to it at most, and its share of ε.

    >>> [each.name for each in queries_of_shares("law", {"moves": 1}, {"moves": Fraction(1)}, Fraction(1), "replace")]
    ['law: moves']
    """
    return tuple(
        Query(name=f"{label}: {name}", epsilon=epsilon * shares[name], bound=bound, neighbours=neighbours)
        for name, bound in bounds.items()
    )


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


SMOOTH = (1, 2, 3, 4, 3, 2, 1)
"""How the table of lengths is smoothed: a length and its neighbours."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyTable:
    """A released table, and the deviation of the noise of its cells."""

    values: Floats
    deviation: float

    @property
    def total(self) -> float:
        """The sum of its cells."""
        return float(self.values.sum())

    @property
    def total_variance(self) -> float:
        """Of the noise of the sum."""
        return self.values.size * self.deviation**2


def smoothed(lengths: NoisyTable) -> Floats:
    """A table of lengths, each averaged with its neighbours as far as the noise explains how they differ.

    The part of the table that averaging takes away is put back to the share by which it is larger than noise alone
    would make it (as James and Stein shrink): lengths with little noise stay as they are.

    >>> peak = np.array([16.0, 0.0, 0.0, 0.0, 0.0])
    >>> smoothed(NoisyTable(values=peak, deviation=100.0)).round(1).tolist()
    [6.4, 3.7, 2.3, 1.2, 0.0]
    >>> smoothed(NoisyTable(values=peak, deviation=0.01)).round(1).tolist()
    [16.0, 0.0, 0.0, 0.0, 0.0]
    """
    kernel, sides = np.array(SMOOTH, dtype=np.float64), len(SMOOTH) // 2
    every = np.ones_like(lengths.values)
    sums, weights = (np.convolve(each, kernel)[sides:-sides] for each in (lengths.values, every))
    squares = np.convolve(every, kernel**2)[sides:-sides]
    rough = lengths.values - sums / weights
    own = kernel[sides] / weights  # of a length in its own average
    noise = lengths.deviation**2 * float(((1 - own) ** 2 + squares / weights**2 - own**2).sum())
    return np.asarray(lengths.values - min(1.0, noise / max(float(rough @ rough), 1e-300)) * rough)


def length_shares(lengths: NoisyTable, there: NDArray[np.bool_]) -> Floats:
    """The share of each length that words have: smoothed, without negative ones; all alike where nothing is left."""
    table = np.where(there, projected(smoothed(lengths)), 0.0)
    table = table if table.sum() > 0 else there.astype(np.float64)
    return np.asarray(table / table.sum())


@dataclass(frozen=True, slots=True)
class TableNoise:
    """A table: how many cells it has, and how far the noise of a cell is from 0 on average, in units of its bound."""

    table: str
    cells: int
    noise: float


@dataclass(frozen=True, slots=True)
class Quality(Reported):
    """What is known beforehand of the words of a law: the noise in each of its tables.

    Parameters
    ----------
    persons
        How many persons there are, from noisy totals.
    tables
        The tables that decide most.

    >>> few = Quality(889.0, (TableNoise("moves", 1737, 2.0), TableNoise("lengths", 35, 25.0)))
    >>> [(table, percent(share), verdict) for table, share, verdict in few.rows()]
    [('moves', '391 %', 'mostly noise'), ('lengths', '98 %', 'blurred')]
    >>> few.warnings[0]
    'words are mostly noise: noise in the tables ... persons add, is moves 391 %; about 6,948 persons would do ...'
    """

    persons: float
    tables: tuple[TableNoise, ...]

    @classmethod
    def of(cls, persons: float, cells: Mapping[str, int], queries: Mapping[str, Query]) -> Quality:
        """From the public cells of tables and the queries that were asked for them."""
        return cls(
            max(1.0, persons),
            tuple(
                TableNoise(name, count, float(queries[name].scale / GRID / queries[name].bound))
                for name, count in cells.items()
            ),
        )

    def share(self, table: TableNoise) -> float:
        """Expected noise in all cells of a table, as a share of what persons add to it."""
        return table.cells * table.noise / self.persons

    def rows(self) -> list[tuple[str, float, str]]:
        """Each table, its share of noise, and what that means."""
        shares = [(each.table, self.share(each)) for each in self.tables]
        return [(name, share, _verdict(share)) for name, share in shares]

    def report(self) -> Report:
        """What to expect, table by table: it follows from released numbers alone."""
        heading = f"Noise in each table, as a share of what about {self.persons:,.0f} persons add (a noisy number)"
        rows = [(name, percent(share), verdict) for name, share, verdict in self.rows()]
        table = Table.from_rows(("table", "noise", "what is learned from it"), rows)
        return Report(title=heading, sections=(Section(heading, (table,)),))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Where tables are mostly noise: which, and how many persons, or how much ε, would be enough."""
        drowned = [each for each in self.tables if self.share(each) >= LIMITS.now.drowned]
        if not drowned:
            return ()
        shares = ", ".join(f"{each.table} {percent(self.share(each))}" for each in drowned)
        needed = max(each.cells * each.noise for each in drowned) / LIMITS.now.blurred
        return (
            f"words are mostly noise: noise in the tables that they are learned from, as a share of what about "
            f"{self.persons:,.0f} persons add, is {shares}; about {needed:,.0f} persons would do at this epsilon, or "
            f"{needed / self.persons:.2g} times the epsilon with these persons",
        )

    def document(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "persons": self.persons,
            "tables": [{"table": each.table, "cells": each.cells, "noise": each.noise} for each in self.tables],
        }


def _verdict(share: float) -> str:
    if share >= LIMITS.now.drowned:
        return "mostly noise"
    return "blurred" if share >= LIMITS.now.blurred else "near what was counted"
