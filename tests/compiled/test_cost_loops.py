"""Loops of certificates at the edges: the same bits as their interpreted twins (real searches: test_every_loop.py)."""

from __future__ import annotations

import numpy as np
import pytest

from compiled.twins import agree
from symveil.calibration.costs.block_loops import Paths, Prices
from symveil.calibration.costs.box_loops import Slots
from symveil.calibration.costs.step_loops import Arcs, EveryState

LOOPS = "symveil.calibration.costs."

# --- the edges -------------------------------------------------------------------------------------

RING = (np.array([0, 2, 4, 6]), np.array([0, 1, 1, 2, 0, 2]), np.array([0.5, 0.5, 0.25, 0.75, 1e-3, 1.0]))


def ring(scale: float = 1.0, phases: int = 1, *, readonly: bool = False) -> EveryState:
    first, other, weight = RING
    order = np.argsort(other, kind="stable")
    source = np.repeat(np.arange(3), 2)[order]
    levels = (1 - np.eye(3, dtype=np.int16))[None]
    levels[0, 0, 2] = -1
    kappa = np.linspace(1.0, 0.01, 2 * phases).reshape(2, phases)
    following = np.arange(2 * phases).reshape(2, phases) % phases
    arrays = [
        first, other, weight * scale, first.copy(), source, (weight * scale)[order], kappa, following,
        np.zeros(8, dtype=np.int64), np.arange(3), levels,
    ]  # fmt: skip
    for array in arrays:
        array.flags.writeable = not readonly
    return EveryState(Arcs(*arrays[:3]), Arcs(*arrays[3:6]), *arrays[6:])


@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e308, 0.0, float("nan")])
@pytest.mark.parametrize("phases", [1, 2])
@pytest.mark.parametrize("readonly", [False, True])
def test_boxes_of_any_numbers(scale: float, phases: int, readonly: bool) -> None:
    moves, every = ring(scale, phases, readonly=readonly), np.ones(3, dtype=np.bool_)
    low = np.random.default_rng(7).random((3, 3 * phases))
    for forwards in (True, False):
        given = (moves, forwards, 0, 0, np.arange(3), RING[0], RING[1], low, low * 3.0, every, every, 2.0**-45)
        agree(LOOPS + "box_loops.next_boxes", given)
        nothing = (*given[:9], ~every, every, 2.0**-45)
        agree(LOOPS + "box_loops.next_boxes", nothing)
    agree(LOOPS + "step_loops.total_of_word", (moves, np.array([0, 1, 2]), 0, 0, np.ones(3), 3))
    agree(LOOPS + "step_loops.total_of_word", (moves, np.empty(0, dtype=np.int64), 1, 0, np.zeros(3), 0))


@pytest.mark.parametrize("scale", [0.0, 1e-300, 1.0, 1e200, float("inf")])
def test_boxes_are_kept_in_32_bits(scale: float) -> None:
    single = np.zeros((2, 9), dtype=np.float32)
    slots = Slots(np.arange(4) * 3, single, single + 1, np.zeros((2, 3)), np.zeros((2, 3), dtype=np.bool_))
    more = np.where(np.arange(9) > 2, scale, 0.5)
    for valid in (np.ones(3, dtype=np.bool_), np.array([True, False, True])):
        agree(LOOPS + "box_loops.enclose", (slots, 1, more, more, np.full(3, scale), valid))


@pytest.mark.parametrize("rate", [0.0, 1.0, 400.0, 5000.0])
@pytest.mark.parametrize("period", [1, 2])
@pytest.mark.parametrize("target", [-np.inf, 0.5, 900.0])
def test_limits_beyond_what_floats_hold(rate: float, period: int, target: float) -> None:
    """Pairs that may not stand for each other cost infinitely much; the largest ratios are infinite too."""
    steps = np.array([[0, 1], [1, 1], [2, 1], [0, 2]])
    every = np.ones(4, dtype=np.bool_)
    group = np.array([0]), np.array([0])
    paths = Paths(np.array([0, 4]), *group, steps, steps[:, 1].copy(), every, every, np.zeros((1, 1), dtype=np.int64))
    weights = np.array([[1e-3, 2.0], [0.0, 1.0], [1e-200, np.inf], [1.0, 0.0]])
    for differ in (1, 2):
        given = (ring(), Prices(np.array([0.0, 1.5]), rate, period, target), paths, 1, differ, weights, np.ones((3, 3)))
        agree(LOOPS + "half_loops.not_yet_proved", given)


def test_no_node_no_path_and_no_context() -> None:
    moves, slots = ring(), empty_slots()
    none, table = np.empty(0, dtype=np.int64), np.empty((0, 2), dtype=np.int64)
    nodes = (moves, slots, slots, table, table, none, 0, 1, none, none, table, table, 1.0, 2.0, 1e-15)
    agree(LOOPS + "block_loops.children_bounds", nodes)
    single = np.zeros((0, 3), dtype=np.float32)
    agree(LOOPS + "half_loops.second_halves", (moves, slots, 0, 1, table, none, 1, 1, single, single.copy()))
    agree(LOOPS + "context_loops.context_boxes", (moves, True, slots, 0, 1, np.arange(3), 0, 1, 0, table))


def empty_slots() -> Slots:
    single = np.zeros((1, 9), dtype=np.float32)
    return Slots(np.arange(4) * 3, single, single, np.zeros((1, 3)), np.zeros((1, 3), dtype=np.bool_))


def test_arrays_that_are_not_dense_are_refused() -> None:
    first, other, weight = RING
    with pytest.raises(ValueError, match="contiguous"):
        Arcs(first, other, np.repeat(weight, 2)[::2])
