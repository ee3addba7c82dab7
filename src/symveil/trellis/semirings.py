"""What passes compute with: an addition for the choice between paths, a multiplication for steps one after the other.

Counts by distance are polynomials: a last axis has the coefficient of each power, and a step that counts
multiplies by x. They take their numbers from another semiring, so that words near a word are counted, weighed
or looked for by the same pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symveil.graphs.csr import Csr

Values = NDArray[Any]

NEVER = int(np.iinfo(np.int32).max // 4)
"""The length of no path at all."""
_LARGEST = 2**62
"""What an integer of 64 bits is never beyond."""


class Semiring(Protocol):
    """Sums over edges, and what a step along an edge makes of a value."""

    def sums(self, edges: Csr, values: Values) -> Values:
        """For each state the sum of values (one, or one array, per edge) over its edges."""

    def times(self, worth: Any, values: Values) -> Values:
        """What a step along each edge makes of the value at its target: what is worth to come from its source."""

    def onwards(self, worth: Any, values: Values) -> Values:
        """What a step along each edge makes of the value at its source."""

    def meet(self, before: Values, after: Values) -> Values:
        """What paths are worth that came so far and go on so."""

    def ends(self, chosen: NDArray[np.bool_]) -> Values:
        """1 where a path may begin or end, 0 elsewhere."""


class Coefficients(Semiring, Protocol):
    """What polynomials may have as coefficients."""

    @property
    def zero(self) -> Any:
        """The sum of nothing."""

    @property
    def add(self) -> np.ufunc:
        """The addition."""


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """A semiring of numbers, by its operations. Sums beyond `most` are cut down to it; up to `least` they are 0."""

    add: np.ufunc
    multiply: Callable[[Any, Any], Any]
    zero: Any
    one: Any
    dtype: Any
    most: float | None = None
    least: float | None = None

    def sums(self, edges: Csr, values: Values) -> Values:
        """For each state the sum over its edges."""
        result = edges.sum_over(values, self.add, self.zero)
        if self.most is not None:
            result = np.minimum(result, self.most)
        return result if self.least is None else np.where(result > self.least, result, self.zero)

    def times(self, worth: Any, values: Values) -> Values:
        """The product; `worth` has an axis for edges, and may have the next ones of `values`."""
        return np.asarray(self.multiply(beside(worth, values), values))

    def onwards(self, worth: Any, values: Values) -> Values:
        """The same."""
        return self.times(worth, values)

    def meet(self, before: Values, after: Values) -> Values:
        """The product."""
        return np.asarray(self.multiply(before, after))

    def ends(self, chosen: NDArray[np.bool_]) -> Values:
        """1 and 0."""
        return np.where(chosen, np.array(self.one, dtype=self.dtype), np.array(self.zero, dtype=self.dtype))


@dataclass(frozen=True, slots=True, eq=False)
class _Counts(Numbers):
    """Whole numbers of 64 bits as long as they hold what is counted, then Python's."""

    def sums(self, edges: Csr, values: Values) -> Values:
        if values.dtype != object and int(values.max(initial=0)) * edges.widest > _LARGEST:
            values = values.astype(object)
        return Numbers.sums(self, edges, values)


BOOLEANS = Numbers(np.logical_or, np.logical_and, False, True, np.bool_)
"""Whether there is a path."""
COUNTS = _Counts(np.add, np.multiply, 0, 1, np.int64)
"""How many paths there are, exactly; steps are worth 1, or rationals of dtype object."""
RATIONALS = Numbers(np.add, np.multiply, Fraction(0), Fraction(1), object)
BALLS = Numbers(np.add, np.multiply, arb(0), arb(1), object)
FLOATS = Numbers(np.add, np.multiply, 0.0, 1.0, np.float64)
LOGARITHMS = Numbers(np.logaddexp, np.add, -np.inf, 0.0, np.float64)
"""Floats that cannot leave their range."""
LENGTHS = Numbers(np.minimum, lambda one, two: np.minimum(one + two, NEVER), NEVER, 0, np.int32)
"""The length of a shortest path; NEVER where there is none."""


def beside(worth: Any, values: Values) -> Any:
    """`worth` with axes of length 1 for the last ones that only `values` has."""
    missing = values.ndim - np.ndim(worth)
    return worth if missing <= 0 else np.asarray(worth).reshape(*np.shape(worth), *(1,) * missing)


@dataclass(frozen=True, slots=True, eq=False)
class ByDistance:
    """Polynomials with coefficients in another semiring: what paths are worth, by how many of their steps count.

    A step is worth a pair: whether it counts, for each edge, and a number or None. `most`: the largest number of
    steps that is looked at. The last axis grows by one with each step, up to that.
    """

    numbers: Coefficients
    most: int | None = None

    def sums(self, edges: Csr, values: Values) -> Values:
        """For each state the sum over its edges."""
        return self.numbers.sums(edges, values)

    def times(self, worth: tuple[NDArray[np.bool_], Any], values: Values) -> Values:
        """The product with 1 or x, and with a number."""
        return self._shifted(worth[0], values if worth[1] is None else self.numbers.times(worth[1], values))

    def onwards(self, worth: tuple[NDArray[np.bool_], Any], values: Values) -> Values:
        """The same forwards."""
        return self._shifted(worth[0], values if worth[1] is None else self.numbers.onwards(worth[1], values))

    def _shifted(self, counted: NDArray[np.bool_], values: Values) -> Values:
        size = values.shape[-1]
        longer = size + 1 if self.most is None else min(size, self.most) + 1
        moved = np.empty((*values.shape[:-1], longer), dtype=values.dtype)
        moved[..., 0] = self.numbers.zero
        moved[..., 1:] = values[..., : longer - 1]
        stays = beside(~counted, values)
        np.copyto(moved[..., :size], values, where=stays)
        np.copyto(moved[..., size:], self.numbers.zero, where=stays)
        return moved

    def meet(self, before: Values, after: Values) -> Values:
        """The product of polynomials."""
        powers = before.shape[-1] + after.shape[-1] - 1
        powers = powers if self.most is None else min(powers, self.most + 1)
        result = np.full((*before.shape[:-1], powers), self.numbers.zero, dtype=before.dtype)
        for power in range(min(before.shape[-1], powers)):
            part = result[..., power : power + after.shape[-1]]
            self.numbers.add(part, self.numbers.meet(before[..., power, None], after[..., : part.shape[-1]]), out=part)
        return result

    def ends(self, chosen: NDArray[np.bool_]) -> Values:
        """The constants 1 and 0."""
        return self.numbers.ends(chosen)[..., None]


@dataclass(frozen=True, slots=True, eq=False)
class WideFloats:
    """Floats that cannot leave their range and keep their relative precision: a last axis of digits and an exponent.

    Digits lie between 0.5 and 1; of a 0 the exponent is below all others.
    """

    def sums(self, edges: Csr, values: Values) -> Values:
        """For each state the sum over its edges, all brought to the largest exponent."""
        digits, exponents = values[..., 0], values[..., 1]
        top = edges.sum_over(exponents, np.maximum, _NO_EXPONENT)
        by_edge = np.empty_like(exponents)
        by_edge[edges.in_order(np.arange(edges.edge_count))] = top[edges.source]
        shift = np.maximum(exponents - by_edge, -2000).astype(np.int32)
        return _normalised(edges.sum_over(np.ldexp(digits, shift)), top)

    def times(self, worth: Any, values: Values) -> Values:
        """The product with plain floats."""
        return np.stack([values[..., 0] * beside(worth, values[..., 0]), values[..., 1]], axis=-1)

    def onwards(self, worth: Any, values: Values) -> Values:
        """The same."""
        return self.times(worth, values)

    def meet(self, before: Values, after: Values) -> Values:
        """The product."""
        return _normalised(before[..., 0] * after[..., 0], before[..., 1] + after[..., 1])

    def ends(self, chosen: NDArray[np.bool_]) -> Values:
        """1 and 0."""
        return _normalised(chosen.astype(np.float64), np.zeros(chosen.shape))


_NO_EXPONENT = -float(1 << 40)
WIDE_FLOATS = WideFloats()


def _normalised(values: Values, exponents: Values) -> Values:
    digits, shift = np.frexp(values)
    return np.stack([digits, np.where(digits > 0, exponents + shift, _NO_EXPONENT)], axis=-1)
