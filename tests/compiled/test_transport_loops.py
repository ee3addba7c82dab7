"""Transport: the same bits as the interpreted twin."""

from __future__ import annotations

import numpy as np
import pytest

from compiled.twins import agree, loops

LOOP = "symveil.comparison.transport_loops.send_everything"


@pytest.mark.parametrize("seed", range(24))
def test_the_same_bits(seed: int) -> None:
    """Ties, large counts, costs of every size, more rows than columns and the other way round."""
    random = np.random.default_rng(seed)
    rows, columns = random.integers(1, 25, size=2)
    cost = (
        random.integers(0, 8, (rows, columns)) / random.integers(1, 9, (rows, columns)) * 10.0 ** (seed % 5 * 60 - 120)
    )
    supply, demand = random.integers(1, 30_000, rows), random.integers(1, 30_000, columns)
    low = cost.min(axis=0)
    agree(
        LOOP,
        (
            cost,
            supply * demand.sum(),
            demand * supply.sum(),
            (cost - low).min(axis=1),
            low,
            np.zeros((columns, rows), np.int64),
        ),
    )


def test_a_strided_cost_is_refused() -> None:
    one = np.ones(2, np.int64)
    with pytest.raises(ValueError, match="contiguous"):
        loops()[LOOP](np.ones((2, 4))[:, ::2], one, one, np.ones(2), np.ones(2), np.zeros((2, 2), np.int64))
