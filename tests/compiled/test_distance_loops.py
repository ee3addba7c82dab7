"""Loops of distances and their searches: the same bits as their interpreted twins, on what real chains ask of them."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.distances import near_copies, random_chain

from compiled.twins import Call, agree, agree_again, recording
from symveil.verification.distances import distances
from symveil.verification.verify_privacy import verify_privacy

HOME = "symveil.verification.distances."
LOOPS = {
    *(f"sweep_loops.{name}" for name in ("relay_table", "unshipped", "improve", "shortfall", "flow_cost")),
    *(f"search_loops.{name}" for name in ("ends", "set_gap", "rehash", "judge", "advance")),
    *(f"kernel_loops.{name}" for name in ("hop_counts", "kernel_round")),
}


CHAINS = [
    (random_chain(18), "6/5"),
    (random_chain(24, degree=6, labels=3, seed=1), "3/2"),
    (random_chain(14, degree=2, labels=1, seed=2), "5"),
    (near_copies(8), "1"),
]


@pytest.fixture(scope="module")
def calls() -> list[Call]:
    """Verifications of small chains that take the way of large ones."""
    found: list[Call] = []
    with pytest.MonkeyPatch.context() as patch, recording(found, most=60):
        patch.setattr(distances, "_SMALL", -1)
        patch.setattr(distances, "_MOST_EXACT_PAIRS", 0)
        for chain, alpha in CHAINS:
            states = chain.states[:4]
            pairs = [(one, other) for one in states for other in states if one != other]
            verify_privacy(chain, alpha=alpha, pairs=pairs, nodes=300, symmetric=False)
    return found


def test_every_loop_was_called(calls: list[Call]) -> None:
    assert {call.loop for call in calls} >= {HOME + name for name in LOOPS}


@pytest.mark.parametrize("name", sorted(LOOPS))
def test_the_same_bits_on_real_calls(calls: list[Call], name: str) -> None:
    for call in calls:
        if call.loop == HOME + name:
            agree_again(call)


def test_the_same_bits_on_random_flows() -> None:
    """Needs of every size, with relays and without, also where a basis is singular up to rounding."""
    random = np.random.default_rng(4)
    none = np.zeros(13, np.int64), np.zeros(0, np.int64), np.zeros((1, 1))
    for round_ in range(60):
        size = 1 + round_ % 12
        distance = random.random((12, 12)) ** (1 + round_ % 5)
        need = random.normal(size=size) * 10.0 ** float(random.integers(-200, 3))
        if round_ % 7 == 0:
            need = np.round(need)
        states = random.permutation(12)[:size].astype(np.int64)
        relays = none
        if round_ % 2:
            others = np.array([state for state in range(12) if state not in states], np.int64)
            relays = np.arange(13) * len(others), np.tile(others, 12), np.ones((12, 12))
        agree(HOME + "sweep_loops.flow_cost", (states, need, np.abs(need), distance, 1.5, *relays, 1e-13, 1 - 2.0**-45))


def test_nothing_at_all() -> None:
    empty, table = np.zeros(0, np.int64), np.zeros((0, 0))
    none = np.zeros(1, np.int64)
    pairs = np.zeros((0, 2), np.int64)
    agree(HOME + "sweep_loops.relay_table", (table, empty, 1.5, 0.0, 0, 0))
    agree(HOME + "sweep_loops.unshipped", (none, empty, np.zeros(0), empty, 1.5, pairs))
    agree(HOME + "kernel_loops.hop_counts", (np.zeros((0, 0), np.bool_),))
    agree(HOME + "search_loops.ends", (np.zeros((0, 5)), 0, 1.5))
