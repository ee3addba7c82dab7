"""What substitutions that all words of one length suffer alike do to a table: its eigenvalues.

On Σⁿ, given the distance d, the changed positions are a uniform d-subset and each changed symbol is a uniform other
one. So a product of r mean-zero functions of different positions keeps its shape in expectation and is multiplied by

    λ_r(n) = E[ Σ_j C(d,j)·C(n−d,r−j)/C(n,r) · (−1/(m−1))^j ],      j: how many of the r positions were changed.

(docs/theory/central.md). Each summand is between −1 and 1, so the expectation has an absolute error of some 1e-16
although signs alternate.

Sums over windows of functions that only ask, symbol by symbol, whether a window has the symbol of a cell.

An estimator of how often a₁…a_k occurs is a function φ of the k answers "is the i-th symbol a_i?", 2^k numbers. Its sum
over all windows, for every cell at once, needs the table of the windows and its margins only.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from symveil.laws.law import DistanceLaw
from symveil.numbers.once import Memo, computed_once

Floats = NDArray[np.float64]

SMALLEST = 0.01
"""An eigenvalue below this is taken for zero, unless the file is large enough to average its noise out."""
LARGE_ENOUGH = 5.0
"""|λ|·√(number of sequences) from which on it is: then the noise of a share is below about a fifth."""


@dataclass(frozen=True, slots=True)
class LengthNoise:
    """The noise in words of one length: by its rate where each symbol is drawn by itself, else by its distances."""

    symbols: int
    length: int
    rate: float | None = None
    """η where a symbol stays with probability ∝ 1 and becomes each other one with probability ∝ e^{−η}."""
    distances: NDArray[np.int64] | None = None
    probabilities: Floats | None = None

    def eigenvalue(self, order: int) -> float:
        """λ_r(n) for r ≤ n; beyond it the product of two smaller ones, which formulas multiply by nothing.

        >>> round(LengthNoise(symbols=2, length=5, rate=math.log(3)).eigenvalue(2), 12)
        0.25
        """
        if order == 0 or self.symbols == 1:
            return 1.0
        if self.rate is not None:
            away = math.exp(-self.rate)
            return float((-math.expm1(-self.rate) / (1 + (self.symbols - 1) * away)) ** order)
        if order > self.length:
            return self.eigenvalue(order // 2) * self.eigenvalue(order - order // 2)
        assert self.distances is not None and self.probabilities is not None  # noqa: S101 - one of the two is given
        shape = _multipliers(self.distances, self.length, order, self.symbols)
        return math.fsum((self.probabilities * shape).tolist())

    @classmethod
    def from_law(cls, law: DistanceLaw, *, symbols: int) -> LengthNoise:
        """The noise of a mechanism on Σⁿ, by the law of its distance.

        >>> import symveil as sv
        >>> law = sv.Exponential(sv.words("ab", 3), epsilon=1).distances()
        >>> noise = LengthNoise.from_law(law, symbols=2)
        >>> round(noise.eigenvalue(2), 12) == round(math.tanh(0.5) ** 2, 12)
        True
        """
        return cls(symbols=symbols, length=law.length, distances=law.distances, probabilities=law.probabilities)


def _multipliers(distances: NDArray[np.int64], length: int, order: int, symbols: int) -> Floats:
    """What a product of `order` mean-zero functions is multiplied by, given each distance."""
    changed = distances.astype(np.float64)
    total = np.zeros(len(changed))
    for hit in range(order + 1):
        chance = np.full(len(changed), float(math.comb(order, hit)))
        for step in range(order):
            above = changed - step if step < hit else length - changed - (step - hit)
            chance *= np.maximum(above, 0.0) / (length - step)
        total += chance * (-1.0 / (symbols - 1)) ** hit
    return total


@dataclass(frozen=True, eq=False)
class SubstitutionNoise:
    """The noise in words of every length over an alphabet of `symbols` symbols.

    Parameters
    ----------
    symbols
        How many symbols the alphabet has.
    of_length
        The noise in words of a length.
    constant
        The noise of all words, where it is the same for every length.
    """

    symbols: int
    of_length: Callable[[int], LengthNoise] = field(repr=False)
    constant: LengthNoise | None = None

    @computed_once
    def _cache(self) -> Memo[tuple[int, int], float]:
        return Memo(lambda key: self._noise[key[1]].eigenvalue(key[0]))

    @computed_once
    def _noise(self) -> Memo[int, LengthNoise]:
        return Memo(self.of_length)

    def is_product(self, length: int) -> bool:
        """Whether the symbols of words of this length are drawn independently of each other."""
        return self.constant is not None or self._noise[length].rate is not None or self.symbols == 1

    def eigenvalue(self, order: int, length: int) -> float:
        """λ_r(n)."""
        return self.constant.eigenvalue(order) if self.constant is not None else self._cache[order, length]

    def inverses(self, orders: tuple[int, ...], lengths: NDArray[np.int64]) -> Floats:
        """Π 1/λ_r for r in `orders`, for words of these lengths; 0 where an eigenvalue is 0."""
        different, number = np.unique(lengths, return_inverse=True)
        products = [math.prod(self.eigenvalue(order, length) for order in orders) for length in different.tolist()]
        values = np.array([1.0 / product if product else 0.0 for product in products])
        return np.asarray(values[number], dtype=np.float64)

    def usable(self, order: int, length: int, *, sequences: int) -> bool:
        """Whether tables of `order` symbols can be estimated from words of this length; short words have no row."""
        enough = min(SMALLEST, LARGE_ENOUGH / math.sqrt(max(sequences, 1)))
        return length < order or all(abs(self.eigenvalue(each, length)) >= enough for each in range(1, order + 1))


Orders = tuple[int, ...]


def cell_sums(table: Floats, answers: Floats) -> Floats:
    """Σ over the windows of a table of φ(answers), for each of its cells.

    Parameters
    ----------
    table
        How many windows each cell has, or the sum of their weights. The last axes are the symbols of a window; what
        stands before them is kept apart.
    answers
        φ, with an axis of two for each symbol of a window: 0 "another symbol", 1 "the cell's".

    >>> cell_sums(np.array([3.0, 1.0]), np.array([10.0, 1.0]))       # cell 0: 3 windows have it, 1 does not
    array([13., 31.])
    """
    order = answers.ndim
    coefficients = answers
    for axis in range(order):  # from values to coefficients of products of indicators
        low, high = np.split(coefficients, 2, axis=axis)
        coefficients = np.concatenate([low, high - low], axis=axis)
    total = np.zeros(table.shape)
    for pattern in itertools.product((0, 1), repeat=order):
        if coefficients[pattern]:
            summed = tuple(axis - order for axis in range(order) if not pattern[axis])
            total += coefficients[pattern] * (table.sum(axis=summed, keepdims=True) if summed else table)
    return total


def part(degree: int, order: int, symbols: int) -> Floats:
    """The part of the indicator of a cell that depends on exactly `degree` symbols: φ, for `cell_sums`.

    The parts of all degrees add up to the indicator [x₁ = a₁]⋯[x_k = a_k]; noise multiplies each by an eigenvalue.

    >>> sum(part(degree, 2, 4) for degree in range(3))
    array([[0., 0.],
           [0., 1.]])
    """
    answers = np.zeros((2,) * order)
    for pattern in itertools.product((0, 1), repeat=order):
        centred = [answer - 1.0 / symbols for answer in pattern]
        answers[pattern] = math.fsum(
            math.prod(centred[axis] for axis in axes) for axes in itertools.combinations(range(order), degree)
        )
    return answers / float(symbols) ** (order - degree)


class WeighedTables:
    """Tables of windows, one for each weight Π 1/λ_r(n) that is asked for.

    Where the noise is the same for words of every length the weights are numbers, and one table of counts is kept.
    """

    def __init__(self, size: int, noise: SubstitutionNoise, weights: tuple[Orders, ...]) -> None:
        self._noise = noise
        self.counts = np.zeros(size, dtype=np.int64)
        self._sums = {} if noise.constant is not None else {weight: np.zeros(size) for weight in weights if any(weight)}

    @staticmethod
    def stored_numbers(noise: SubstitutionNoise, weights: tuple[Orders, ...]) -> int:
        """How many tables are kept for these weights."""
        return 1 if noise.constant is not None else 1 + sum(any(weight) for weight in weights)

    def add(self, cells: NDArray[np.int64], weigh: Callable[[Orders], Floats]) -> None:
        """Some more windows, by their cells; `weigh` gives a weight of each."""
        self.counts += np.bincount(cells, minlength=len(self.counts))
        for weight in self._sums:
            self._sums[weight] += np.bincount(cells, weights=weigh(weight), minlength=len(self.counts))

    def table(self, weight: Orders) -> Floats:
        """The sums for a weight."""
        return self.table_slice(weight, 0, len(self.counts))

    def table_slice(self, weight: Orders, number: int, size: int) -> Floats:
        """The same for one of several tables of `size` cells that stand one after the other."""
        cells = slice(number * size, (number + 1) * size)
        if weight in self._sums:
            return self._sums[weight][cells]
        constant = float(self._noise.inverses(weight, np.array([0]))[0]) if weight else 1.0
        return np.asarray(self.counts[cells] * constant, dtype=np.float64)
