"""Sums over windows of functions that only ask, symbol by symbol, whether a window has the symbol of a cell.

An estimator of how often a₁…a_k occurs is a function φ of the k answers "is the i-th symbol a_i?", 2^k numbers. Its sum
over all windows, for every cell at once, needs the table of the windows and its margins only.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from symveil.estimation.substitution_noise import SubstitutionNoise

Floats = NDArray[np.float64]
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
    for asked in itertools.product((0, 1), repeat=order):
        if coefficients[asked]:
            summed = tuple(axis - order for axis in range(order) if not asked[axis])
            total += coefficients[asked] * (table.sum(axis=summed, keepdims=True) if summed else table)
    return total


def part(degree: int, order: int, symbols: int) -> Floats:
    """The part of the indicator of a cell that depends on exactly `degree` symbols: φ, for `cell_sums`.

    The parts of all degrees add up to the indicator [x₁ = a₁]⋯[x_k = a_k]; noise multiplies each by an eigenvalue.

    >>> sum(part(degree, 2, 4) for degree in range(3))
    array([[0., 0.],
           [0., 1.]])
    """
    answers = np.zeros((2,) * order)
    for asked in itertools.product((0, 1), repeat=order):
        centred = [answer - 1.0 / symbols for answer in asked]
        answers[asked] = math.fsum(
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
    def kept(noise: SubstitutionNoise, weights: tuple[Orders, ...]) -> int:
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
