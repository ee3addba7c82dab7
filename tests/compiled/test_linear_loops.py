"""Loops for linear systems: the same bits as their interpreted twins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiled.twins import agree

LOOPS = "symveil.verification.linear_loops."


def system(seed: int, count: int, degree: int, size: float = 1.0) -> tuple[Any, ...]:
    """Rows of A, whose sums are below one, a constant and a first value."""
    random = np.random.default_rng(seed)
    start = np.arange(0, count * degree + 1, max(degree, 1))[: count + 1] if degree else np.zeros(count + 1, np.int64)
    column = random.integers(0, max(count, 1), count * degree)
    amount = random.random(count * degree) / max(degree, 1) * size
    return start, column, amount, random.random(count), random.random(count)


SYSTEMS = [
    *(system(seed, count, degree) for seed, (count, degree) in enumerate([(1, 0), (1, 1), (7, 3), (60, 5), (200, 2)])),
    system(9, 0, 0),
    system(10, 12, 3, 1e-300),
    system(11, 12, 3, 1e308),
    system(12, 12, 3, float("nan")),
]


@pytest.mark.parametrize("given", SYSTEMS, ids=lambda given: f"{len(given[3])}-{len(given[2])}")
@pytest.mark.parametrize("readonly", [False, True])
def test_the_same_bits(given: tuple[Any, ...], readonly: bool) -> None:
    for array in given[:4]:
        array.flags.writeable = not readonly
    for goal, most in ((0.0, 3), (1e-9, 40), (1e-3, 0)):
        agree(LOOPS + "relax", (*given, goal, most))
        agree(LOOPS + "krylov", (*given, goal, 3, most))
