"""Linear systems x = A x + constant with A ≥ 0, solved by compiled loops: rows of A as start, column, amount.

For the value of a policy (`distances`) and for the probability of reaching a violation (`opacity`). The callers
check the result: nothing here is trusted.
"""

from __future__ import annotations

import cython
import numpy as np

from symveil.numbers.compiled import built_from

if not cython.compiled:
    from symveil.numbers.compiled import INFINITY, Floats, Ints, NewFloats

built_from("", __name__)


def relax(
    start: Ints,
    column: Ints,
    amount: Floats,
    constant: Floats,
    value: NewFloats,
    goal: cython.double,
    most: cython.longlong,
) -> float:
    """Gauss–Seidel for d = A d + constant, there and back; returns the largest change of the last sweep."""
    with cython.nogil:
        count = len(constant)
        change: cython.double = INFINITY
        for sweep in range(most):
            change = 0.0
            for step in range(count):
                k = step if sweep % 2 == 0 else count - 1 - step
                total, own = constant[k], 0.0
                for index in range(start[k], start[k + 1]):
                    if column[index] == k:
                        own += amount[index]
                    else:
                        total += amount[index] * value[column[index]]
                if own < 1.0:
                    total /= 1.0 - own
                    change = max(change, abs(total - value[k]))
                    value[k] = total
            if change <= goal:
                break
    return change


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _remaining(
    start: Ints, column: Ints, amount: Floats, value: Floats, constant: Floats, out: NewFloats
) -> cython.double:
    """out = constant + A value − value, and its largest entry."""
    largest: cython.double = 0.0
    for k in range(len(constant)):
        total = constant[k] - value[k]
        for index in range(start[k], start[k + 1]):
            total += amount[index] * value[column[index]]
        out[k] = total
        largest = max(largest, abs(total))
    return largest


def krylov(
    start: Ints,
    column: Ints,
    amount: Floats,
    constant: Floats,
    value: NewFloats,
    goal: cython.double,
    restarts: cython.longlong,
    most: cython.longlong,
) -> float:
    """BiCGSTAB (van der Vorst 1992) for (I − A) d = constant, restarted from its own residual; returns that residual.

    `value` is improved in index and never made worse. In one compiled loop: the vectors are long enough for
    threads to be started for every product of two, and too short for that to pay.
    """
    count = len(constant)
    zero: NewFloats = np.zeros(count)
    residual: NewFloats = np.empty(count)
    shadow: NewFloats = np.empty(count)
    direction: NewFloats = np.empty(count)
    image: NewFloats = np.empty(count)
    half: NewFloats = np.empty(count)
    other: NewFloats = np.empty(count)
    trial: NewFloats = np.empty(count)
    largest: cython.double
    with cython.nogil:
        size = _remaining(start, column, amount, value, constant, residual)
        for _ in range(restarts):
            if size <= goal:
                break
            before = size
            shadow[:] = residual
            direction[:] = residual
            trial[:] = value
            correlation = 0.0
            for k in range(count):
                correlation += residual[k] * shadow[k]
            for _ in range(most):
                _remaining(start, column, amount, direction, zero, image)  # = −(I − A) direction
                along = 0.0
                for k in range(count):
                    image[k] = -image[k]
                    along += shadow[k] * image[k]
                if along == 0.0 or correlation == 0.0:
                    break
                step = correlation / along
                for k in range(count):
                    half[k] = residual[k] - step * image[k]
                _remaining(start, column, amount, half, zero, other)
                up, down = 0.0, 0.0
                for k in range(count):
                    other[k] = -other[k]
                    up += other[k] * half[k]
                    down += other[k] * other[k]
                if down == 0.0:
                    for k in range(count):
                        trial[k] += step * direction[k]
                    break
                smooth = up / down
                following, largest = 0.0, 0.0
                for k in range(count):
                    trial[k] += step * direction[k] + smooth * half[k]
                    residual[k] = half[k] - smooth * other[k]
                    following += residual[k] * shadow[k]
                    largest = max(largest, abs(residual[k]))
                if not largest > max(goal, 1e-6 * before) or smooth == 0.0:
                    break
                beta = following / correlation * (step / smooth)
                correlation = following
                for k in range(count):
                    direction[k] = residual[k] + beta * (direction[k] - smooth * image[k])
            left = _remaining(start, column, amount, trial, constant, residual)
            if left < size:
                value[:] = trial
                size = left
            else:
                size = _remaining(start, column, amount, value, constant, residual)
            if not size < 0.5 * before:
                break
    return size
