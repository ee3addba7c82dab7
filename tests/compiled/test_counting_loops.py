"""Loops over enumerated words, groups of rows and windows: the same bits as their interpreted twins."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import symveil as sv
from compiled.twins import Call, agree, agree_again, recording
from symveil.calibration.enumeration import enumeration
from symveil.calibration.weighting import Weighting
from symveil.languages.costs import hamming
from symveil.languages.swap_costs import swap
from symveil.models.markov_chain import MarkovChain

HOME = "symveil.calibration.counting_loops."
CHAIN = MarkovChain.from_transitions(
    [("a", "a", "1/4"), ("a", "b", "1/4"), ("a", "c", "1/2"), ("b", "c", "2/3"), ("b", "a", "1/3"), ("c", "a", 1)]
)


@pytest.fixture(scope="module")
def calls() -> list[Call]:
    found: list[Call] = []
    with recording(found, most=12):
        for language in (sv.runs(CHAIN, 4), sv.runs(CHAIN, 3, public_start=True)):
            for cost in (hamming(language), swap(language, adjacency=2, cap=2)):
                for balanced in (False, True):
                    weighting = Weighting(language=language, cost=cost, adjacency=2, balanced=balanced)
                    every = enumeration(weighting)
                    assert every is not None
                    every.loss(Fraction(3, 2))
    return found


def test_the_same_bits_on_words(calls: list[Call]) -> None:
    names = {call.loop.removeprefix(HOME) for call in calls}
    assert names == {"weights_by_drop", "totals_of", "largest_losses"}
    for call in calls:
        agree_again(call)


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
    agree(
        HOME + "worst_spans",
        (
            *(first, random.integers(0, size, first[-1]), low, high, state, at_step, symbol, 3),
            *(int(random.integers(-1, states)), int(random.integers(-1, states)), 1, steps, 1 + seed % 2),
            *(meet, meet_low, meet_high, end_low, end_high, 0, size),
        ),
    )
