"""An iterative solver for x = A·x + c, compiled: BiCGSTAB (van der Vorst 1992), in place.

In place because on large systems temporary arrays cost more than the arithmetic; no library's
threads are involved, so it does not slow down beside other work. Nothing depends on how good the
solution is: it is checked afterwards.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from symveil.languages.kernels import compiled

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


@compiled
def _outflow(first, target, weight, values, result):
    """result = values − A·values, and its product with itself and with values."""
    squared, crossed = 0.0, 0.0
    for row in range(len(values)):
        total = values[row]
        for entry in range(first[row], first[row + 1]):
            total -= weight[entry] * values[target[entry]]
        result[row] = total
        squared += total * total
        crossed += total * values[row]
    return squared, crossed


@compiled
def _product(one, other):
    total = 0.0
    for row in range(len(one)):
        total += one[row] * other[row]
    return total


@compiled
def iterate(first: Numbers, target: Numbers, weight: Floats, right: Floats, most: int, closeness: float):
    """An approximate solution after at most so many steps; fewer where the residual is that close to 0."""
    size = len(right)
    solution = np.zeros(size)
    residual = right.copy()
    shadow = right.copy()
    direction = right.copy()
    moved, turned = np.zeros(size), np.zeros(size)
    begin = _product(right, right)
    rho = begin
    for _ in range(most):
        if rho == 0.0 or begin == 0.0:
            break
        _outflow(first, target, weight, direction, moved)
        along = _product(shadow, moved)
        if along == 0.0:
            break
        step = rho / along
        for row in range(size):
            residual[row] -= step * moved[row]
        squared, crossed = _outflow(first, target, weight, residual, turned)
        second = crossed / squared if squared > 0.0 else 0.0
        left, following = 0.0, 0.0
        for row in range(size):
            solution[row] += step * direction[row] + second * residual[row]
            residual[row] -= second * turned[row]
            left += residual[row] * residual[row]
            following += shadow[row] * residual[row]
        if left <= closeness * closeness * begin or second == 0.0:
            break
        turn = following / rho * (step / second)
        rho = following
        for row in range(size):
            direction[row] = residual[row] + turn * (direction[row] - second * moved[row])
    return solution
