"""Loops over groups of rows and windows, on random tables: the same bits as their interpreted twins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiled.twins import agree
from symveil.calibration.counting_loops import Ends, Windows

HOME = "symveil.calibration.counting_loops."


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_same_bits_on_groups(seed: int, kind: type) -> None:
    random = np.random.default_rng(seed)
    rows, columns = random.integers(1, 9), int(random.choice([1, 5, 511, 513, 1025]))
    low = (random.random((rows, columns)) + 0.01).astype(kind) * kind(10.0 ** (seed % 4 * 10 - 15))
    high = low * (1 + random.random((rows, columns)).astype(kind))
    order = random.permutation(rows).astype(np.int64)
    first = np.unique(np.append(random.integers(0, rows + 1, 3), [0, rows])).astype(np.int64)
    agree(HOME + "largest_ratio", (high, low, order, first))
    most = high[order[first[:-1]]]
    agree(HOME + "spread", (high, order, first, most, most.copy()))


@pytest.mark.parametrize("seed", range(20))
def test_the_same_bits_on_windows(seed: int) -> None:
    """Random windows: with a hidden start, padding, and ends that no word has."""
    random = np.random.default_rng(seed)
    size, states, steps = int(random.integers(1, 9)), int(random.integers(1, 5)), int(random.integers(1, 6))
    symbol = random.integers(0, 3, states)
    state = random.integers(0, states, size)
    first = np.cumsum([0, *random.integers(0, 4, size)])
    meet = np.cumsum([0, *random.integers(0, 3, states)[state]])

    def logs(count: int) -> tuple[Any, Any]:
        low = np.sort(random.normal(size=(2, count)) * 10.0 ** (seed % 3 * 100 - 100), axis=0)
        return low[0], low[1]

    low, high = logs(first[-1])
    meet_low, meet_high = logs(meet[-1])
    end_low, end_high = logs(size)
    end_high[::2], end_low[::2] = -np.inf, np.inf
    at_step = random.integers(-1, steps, size)
    windows = Windows(first, random.integers(0, size, first[-1]), low, high, state, at_step, symbol)
    ends = Ends(meet, meet_low, meet_high, end_low, end_high)
    special = int(random.integers(-1, states)), int(random.integers(-1, states))
    agree(HOME + "worst_spans", (windows, ends, 3, *special, 1, steps, 1 + seed % 2, 0, size))
