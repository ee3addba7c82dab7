"""The joint staircase: one budget for the symbol and the time of an event.

An event is a symbol of m and a bin of T, on a circle (hours) or on a line (waits). Two events are adjacent where their
bins are at most `shift` apart, whatever their symbols are. An event comes out with probability proportional to z^C,

    z = e^−rate,    C = max([the symbol differs], ⌈(distance − step + 1)⁺ / shift⌉).

C changes by at most 1 between adjacent events, and the sum of the weights is the same for all of them: the loss is at
most `rate`. On a line bins are drawn on all whole numbers and then clamped, which is
post-processing; a law that is cut off and normalised there loses more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, TypeVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symveil.errors import ParameterError

Floats = NDArray[np.float64]

_VANISHING = 1e-13
"""A singular value below this is an error of floats."""

Value = TypeVar("Value", Fraction, float, arb)
"""The kind of number that a law is computed in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EventLaw:
    """How one event is released.

    Parameters
    ----------
    symbols, bins
        How many symbols and how many bins there are: m and T.
    circle
        Whether the last bin is beside the first one, as hours of a day are.
    shift
        By how many bins a time may move between adjacent events; None: by any number, and then every other pair of
        symbol and bin is as likely as each other one (randomised response).
    step
        How many distances, from 0 on, cost nothing: from 1 up to the shift.
    rate
        The largest loss between adjacent events.

    >>> law = EventLaw(symbols=3, bins=24, circle=True, shift=2, step=1, rate=Fraction(1))
    >>> [law.cost(distance) for distance in range(6)], law.farthest_cost
    ([0, 1, 1, 2, 2, 3], 6)
    """

    symbols: int
    bins: int
    circle: bool
    shift: int | None
    step: int
    rate: Fraction

    def __post_init__(self) -> None:
        if self.symbols < 1 or self.bins < 2:
            raise ParameterError("time_grid", expected="a symbol and 2 bins at least", found=f"{self.bins} bins")
        most = 1 if self.shift is None else self.shift
        if self.shift is not None and self.shift < 1:
            raise ParameterError("time_shift", expected="a whole number, 1 or more, or any", found=self.shift)
        if not 1 <= self.step <= most:
            raise ParameterError("step", expected=f"a whole number from 1 to {most}", found=self.step)
        if self.rate <= 0:
            raise ParameterError("rate", expected="a number above 0", found=self.rate)
        if self.symbols == 1 and self.shift is not None and self.circle and self.step > self.bins // 2:
            raise ParameterError(
                "step", expected=f"at most {self.bins // 2} with one symbol: else all hours are alike", found=self.step
            )

    @property
    def reach(self) -> int:
        """The largest distance between two bins."""
        return self.bins // 2 if self.circle else self.bins - 1

    @property
    def clamps(self) -> bool:
        """Whether bins are drawn on all whole numbers and then clamped."""
        return not self.circle and self.shift is not None

    def cost(self, distance: int) -> int:
        """What a bin at a distance costs beside an unchanged symbol."""
        if self.shift is None:
            return min(distance, 1)
        return -(-max(distance - self.step + 1, 0) // self.shift)

    @property
    def farthest_cost(self) -> int:
        """How many steps of `shift` there are between the bins that are farthest apart: so many rates are lost there.

        An arbitrary change of an event costs at most so many times the rate.
        """
        return 1 if self.shift is None else -(-self.reach // self.shift)

    def document(self) -> dict[str, Any]:
        """What a manifest says of it beside the grid."""
        return {"shift": "any" if self.shift is None else self.shift, "step": self.step}

    @property
    def moves(self) -> list[int]:
        """By how much a bin can move: modulo the number of bins, or clamped to them (`clamps`)."""
        return list(range(1 - self.bins, self.bins)) if self.clamps else list(range(self.bins))

    # --- its numbers ---------------------------------------------------------------------------

    def chances(self, z: Value) -> tuple[list[Value], list[Value]]:
        """The probability of each of `moves` beside the same symbol, and beside one other symbol.

        Parameters
        ----------
        z
            e^−rate as any kind of number; another one is the law of another rate.

        >>> law = EventLaw(symbols=2, bins=3, circle=True, shift=1, step=1, rate=Fraction(1))
        >>> law.chances(Fraction(1, 2))
        ([Fraction(2, 7), Fraction(1, 7), Fraction(1, 7)], [Fraction(1, 7), Fraction(1, 7), Fraction(1, 7)])
        """
        last = self.bins - 1
        if self.clamps:
            far = [abs(move) for move in self.moves]
            same, other = (
                [self._tail(last, z, least) if each == last else z ** max(self.cost(each), least) for each in far]
                for least in (0, 1)
            )
        else:
            far = [min(move, self.bins - move) if self.circle else move for move in self.moves]
            same = [z ** self.cost(distance) for distance in far]
            other = [z ** max(self.cost(distance), 1) for distance in far]
        total = _sum(same) + (self.symbols - 1) * _sum(other)
        return [weight / total for weight in same], [weight / total for weight in other]

    def _tail(self, distance: int, z: Value, least: int) -> Value:
        """The weight of all whole numbers from a distance on, on one side; costs are at least `least`."""
        assert self.shift is not None  # noqa: S101 - asked where bins are clamped
        free = max(self.step - distance, 0)  # so many of them cost nothing
        level = self.cost(max(distance, self.step))
        on_level = self.step + self.shift * level - max(distance, self.step)
        return free * z**least + on_level * z**level + self.shift * z ** (level + 1) / (1 - z)

    def kernels(self, z: Value) -> tuple[list[list[Value]], list[list[Value]]]:
        """The probability of each released bin, a column, for each true one, a row: beside the same symbol, and beside
        one other symbol.
        """
        tables = []
        for chances in self.chances(z):
            table: list[list[Any]] = [[0] * self.bins for _ in range(self.bins)]
            for true in range(self.bins):
                for move, chance in zip(self.moves, chances, strict=True):
                    table[true][self.moved(true, move)] += chance
            tables.append(table)
        return tables[0], tables[1]

    def moved(self, true: int, move: int) -> int:
        """Where a bin is after a move."""
        return min(max(true + move, 0), self.bins - 1) if self.clamps else (true + move) % self.bins

    def matrices(self) -> tuple[Floats, Floats]:
        """What the release does to a table of symbols × bins: to its mean over symbols, and to what is left of it.

        Row k is what becomes of bin k. The second one is for tables whose columns add up to 0.

        >>> law = EventLaw(symbols=2, bins=4, circle=False, shift=1, step=1, rate=Fraction(2))
        >>> [table.shape for table in law.matrices()], bool(np.allclose(law.matrices()[0].sum(axis=1), 1))
        ([(4, 4), (4, 4)], True)
        """
        same, other = (np.array(table, dtype=np.float64) for table in self.kernels(self._ratio))
        return same + (self.symbols - 1) * other, same - other

    def spectrum(self) -> tuple[Floats, Floats]:
        """What each frequency of a table of symbols × hours is multiplied by: of its mean over symbols, of the rest.

        Frequencies of the second one that vanish at every rate are 0 exactly, which sums of floats are not: those where
        frequency · (2·step − 1) is a multiple of the number of bins.
        """
        if self.clamps:
            raise ParameterError("time_grid", expected="hours, which have frequencies", found="waits")
        same, other = (np.array(each) for each in self.chances(self._ratio))
        hours = np.arange(self.bins)
        waves = np.cos(2 * np.pi * (np.outer(hours, hours) % self.bins) / self.bins)
        mean, rest = waves @ (same + (self.symbols - 1) * other), waves @ (same - other)
        window = min(2 * self.step - 1, self.bins)
        vanishing = (hours > 0) & (hours * window % self.bins == 0)
        rest[vanishing] = 0.0
        if window == self.bins:  # no hour costs anything: released hours are uniform
            mean[hours > 0] = 0.0
        return mean, rest

    @property
    def _ratio(self) -> float:
        return math.exp(-float(self.rate))

    def factors(self) -> tuple[Floats, ...]:
        """What noise multiplies the parts of a table by: of its mean over symbols, and of the rest where there is one.

        On a circle they are those of frequencies, on a line singular values; what floats cannot tell from 0 is 0.
        """
        if self.clamps:
            singular = [np.linalg.svd(table, compute_uv=False) for table in self.matrices()]
            parts = [np.asarray(np.where(values > _VANISHING, values, 0.0), dtype=np.float64) for values in singular]
        else:
            parts = [np.asarray(np.abs(values), dtype=np.float64) for values in self.spectrum()]
        return tuple(parts if self.symbols > 1 else parts[:1])

    def least_factor(self) -> float:
        """The smallest of the factors: what noise leaves of the part of a table that it hides most."""
        return float(min(values.min() for values in self.factors()))

    def spread(self) -> float:
        """The sum of the squared inverses: what the variance of an estimated table grows with; infinite without one."""
        each = self.factors()
        if not min(values.min() for values in each) > 0:
            return math.inf
        return float(
            sum(weight * (values**-2.0).sum() for weight, values in zip((1, self.symbols - 1), each, strict=False))
        )

    @property
    def changed_symbol(self) -> float:
        """The probability that the symbol of an event comes out as another one."""
        return (self.symbols - 1) * sum(self.chances(self._ratio)[1])

    @property
    def symbol_rate(self) -> float:
        """η of the symbols alone: each stays with probability ∝ 1 and becomes each other one ∝ e^−η."""
        same, other = self.chances(self._ratio)
        return math.log(sum(same) / sum(other))

    @classmethod
    def uniform(cls, *, symbols: int, bins: int, circle: bool, rate: Fraction) -> Self:
        """Randomised response on pairs of a symbol and a bin: for times that move by any number of bins."""
        return cls(symbols=symbols, bins=bins, circle=circle, shift=None, step=1, rate=rate)


def _sum(values: Sequence[Value]) -> Value:
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total
