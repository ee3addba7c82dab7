"""The search that verdicts, probabilities, policies and games share, against a list of all short observations."""

from __future__ import annotations

import itertools

from by_definition import System
from hypothesis import given, settings
from random_systems import ks, notions, systems

from symveil.verification.opacity.estimators import IMPOSSIBLE, VIOLATION, estimator, read_question
from symveil.verification.opacity.exploration import NOWHERE, SINK, Exploration, explore
from symveil.verification.opacity.observation import Observed

LONGEST = 4


def listed(observed: Observed, machine) -> dict[tuple[int, ...], object]:
    """The state after each observation of up to four events with no violating prefix; IMPOSSIBLE and VIOLATION too."""
    after: dict[tuple[int, ...], object] = {(): machine.start()}
    for length in range(LONGEST):
        for events in itertools.product(observed.occurring, repeat=length):
            state = after.get(events, IMPOSSIBLE)
            if state is not IMPOSSIBLE and state is not VIOLATION:
                for event in observed.occurring:
                    after[*events, event] = machine.step(state, event)
    return after


@settings(max_examples=150)
@given(systems(), ks, notions)
def test_states_rows_and_ways_are_those_of_all_observations(system: System, k: int | str, notion: str) -> None:
    observed = Observed(system)
    machine = estimator(observed, read_question(k, notion))
    after = listed(observed, machine)
    search = Exploration(observed, machine, observed.limit(), within=LONGEST)
    rows = list(search.rows())
    states = search.walk.nodes
    assert set(states) == {state for state in after.values() if state is not IMPOSSIBLE and state is not VIOLATION}
    assert search.sets == sum(map(machine.sets, states))
    for number, (state, row) in enumerate(zip(states, rows, strict=True)):
        way = search.walk.way_to(number)
        assert after[way] == state
        assert len(way) == min(len(events) for events, each in after.items() if each == state)
        for event, target in zip(observed.occurring, row, strict=True):
            if len(way) == LONGEST:
                assert target == NOWHERE
            else:
                expected = machine.step(state, event)
                assert {NOWHERE: IMPOSSIBLE, SINK: VIOLATION}.get(target) is expected or states[target] == expected
    violations = [events for events, state in after.items() if state is VIOLATION]
    assert (search.violation is None) == (not violations)
    if search.violation is not None:
        assert after[search.violation] is VIOLATION
        assert len(search.violation) == min(map(len, violations))
    explored = explore(observed, machine, observed.limit(), within=LONGEST)
    assert explored.table.tolist() == rows
    assert list(explored.states) == states


@settings(max_examples=100)
@given(systems(), ks, notions)
def test_a_search_until_a_violation_stops_there(system: System, k: int | str, notion: str) -> None:
    observed = Observed(system)
    machine = estimator(observed, read_question(k, notion))
    whole, part = (Exploration(observed, machine, observed.limit()) for _ in range(2))
    every, some = list(whole.rows()), list(part.rows(until_violation=True))
    assert part.violation == whole.violation
    assert part.walk.nodes == whole.walk.nodes[: len(part.walk)]
    if whole.violation:
        assert every[: len(some) - 1] == some[:-1]
        assert SINK in some[-1]
        assert len(some) <= len(every)
    else:
        assert some == every
