"""Many states of the estimator at once: the same states, numbers, table and refusals as one by one."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.systems import busy_system, random_system

import symveil as sv
from symveil.verification.opacity import exploration
from symveil.verification.opacity.estimators import estimator, read_question
from symveil.verification.opacity.exploration import Explored, explore
from symveil.verification.opacity.observation import Observed


def explored(monkeypatch, system, k, within, *, many_from: int, at_most: int | None = None) -> Explored:
    monkeypatch.setattr(exploration, "_MANY_STATES", many_from)
    monkeypatch.setattr(exploration, "_STATES_AT_ONCE", 7)
    observed = Observed(system)
    machine = estimator(observed, None if k is None else read_question(k, "weak"))
    return explore(observed, machine, observed.limit(at_most), within=within)


@pytest.mark.parametrize("size", [5, 64, 65, 200])
@pytest.mark.parametrize("k", [None, 0, 1, 2, 6])
def test_states_and_moves_are_those_of_the_search_one_by_one(monkeypatch, size, k):
    for seed, within in ((0, None), (1, 4), (2, 7)):
        system = random_system(size, seed) if size < 100 else busy_system(size, seed)
        one, many = (
            explored(monkeypatch, system, k, min(within or 9, 3) if size > 100 else within, many_from=many_from)
            for many_from in (10**9, 1)
        )
        assert tuple(many.states) == tuple(one.states)
        assert many.events == one.events
        assert np.array_equal(many.table, one.table)
        assert many.states[:2] == tuple(one.states)[:2]


def test_what_is_refused_is_refused_for_the_same_number(monkeypatch):
    messages = []
    for many_from in (10**9, 1):
        with pytest.raises(sv.SymveilError, match="expected at most 300 states of the estimator") as refusal:
            explored(monkeypatch, busy_system(50, 0), 2, 8, many_from=many_from, at_most=300)
        messages.append(str(refusal.value))
    assert messages[0] == messages[1]
