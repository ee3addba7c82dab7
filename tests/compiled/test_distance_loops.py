"""Loops of distances on random flows and on nothing: the same bits as their interpreted twins."""

from __future__ import annotations

import numpy as np

from compiled.twins import agree

HOME = "symveil.verification.distances."


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
