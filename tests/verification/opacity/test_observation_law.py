"""The probabilities of observations, and of meeting a secret meanwhile, against runs and against linear systems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import symveil as sv
from enforcement.plain_observer import (
    Chances,
    Observation,
    Plain,
    Runs,
    acyclic_systems,
    ks,
    looping_systems,
    quiet_systems,
)
from symveil.errors import ParameterError
from symveil.verification.opacity.estimators import read_question
from symveil.verification.opacity.observation import Observed
from symveil.verification.opacity.observation_law import Instant, ObservationLaw
from symveil.verification.opacity.run_observations import (
    RunObservation,
    RunObservations,
    SafeObservations,
    has_endless_observations,
    read_horizon,
)


def instants(system: sv.StochasticSystem, longest: int) -> Iterator[tuple[Observation, Instant]]:
    """Every observation that the law reaches in at most so many events, and what may come next."""
    law = ObservationLaw(Observed(system))
    waiting = [((), law.start)]
    for observation, spread in waiting:  # it grows while it is read
        instant = law.instant(spread)
        yield observation, instant
        if len(observation) < longest:
            names = ((system.observable[number], after) for number, after in instant.following.items())
            waiting += [((*observation, name), after) for name, after in names]


def shown(system: sv.StochasticSystem, k: int | str, longest: int | None, kind: str) -> list[RunObservation]:
    return list(observations(system, k, longest).walk(cut=kind == "cut_when_exposed"))


def observations(system: sv.StochasticSystem, k: int | str, longest: int | None) -> RunObservations:
    return RunObservations(SafeObservations(Observed(system), read_question(k, "weak"), longest=longest))


def spelled(system: sv.StochasticSystem, each: RunObservation) -> Observation:
    return tuple(system.observable[number] for number in each.events)


class TestTheOracle:
    """The two ways to a probability, and the two ways to an estimate, agree with each other."""

    @settings(max_examples=40)
    @given(acyclic_systems())
    def test_linear_systems_and_estimates_agree_with_runs_written_out(self, system):
        plain = Plain(system)
        runs, chances = Runs(plain), Chances(plain)
        assert sum(run.probability for run in runs.complete) == 1
        whole = runs.shown()
        for observation in {run.observation for run in runs.started}:
            assert runs.beginning(observation) == chances.beginning(observation)
            assert whole.get(observation, (0, 0)) == chances.exactly(observation)
            for instant in range(len(observation) + 1):
                assert plain.estimate(observation, instant) == runs.estimate(observation, instant)


@settings(max_examples=80)
@given(acyclic_systems())
def test_the_law_against_runs_written_out(system):
    runs = Runs(Plain(system))
    whole = runs.shown()
    found = dict(instants(system, longest=len(system.states)))
    assert set(found) == {run.observation for run in runs.started}
    for observation, instant in found.items():
        assert (instant.probability, instant.secret) == runs.beginning(observation)
        assert (instant.ends, instant.ends_secret) == whole.get(observation, (0, 0))
    assert sum(instant.ends for instant in found.values()) == 1


@settings(max_examples=80)
@given(looping_systems(most_states=5))
def test_the_law_with_loops_against_linear_systems(system):
    plain = Plain(system)
    chances = Chances(plain)
    found = dict(instants(system, longest=3))
    for length in range(4):
        assert {word for word in found if len(word) == length} == set(plain.possible(length))
    for observation, instant in found.items():
        assert (instant.probability, instant.secret) == chances.beginning(observation)
        assert (instant.ends, instant.ends_secret) == chances.exactly(observation)


@settings(max_examples=60)
@given(quiet_systems())
def test_the_law_where_much_happens_unobserved(system):
    chances = Chances(Plain(system))
    for observation, instant in instants(system, longest=2):
        assert (instant.probability, instant.secret) == chances.beginning(observation)
        assert (instant.ends, instant.ends_secret) == chances.exactly(observation)


def test_loops_are_really_met():
    """A known case: an unobservable loop that is left by a or b, and after b one that is never left, past a secret."""
    system = sv.StochasticSystem.from_transitions(
        [("0", "u", "1", "1/2"), ("0", "a", "2", "1/2"), ("1", "v", "0", "1/3"), ("1", "b", "3", "2/3"),
         ("3", "u", "4", 1), ("4", "u", "3", 1)],
        initial="0", observable=["a", "b"], secret=["4"],
    )  # fmt: skip
    found = dict(instants(system, longest=2))
    # x = 1/2 + 1/2 · 1/3 · x
    assert found[("a",)].ends == Fraction(3, 5)
    assert found[("b",)].ends == found[("b",)].ends_secret == found[("b",)].secret == Fraction(2, 5)
    assert found[("a",)].secret == 0
    assert set(found) == {(), ("a",), ("b",)}


@settings(max_examples=60)
@given(acyclic_systems(), ks)
def test_complete_observations_are_those_of_the_runs_and_add_up_to_one(system, k):
    plain = Plain(system)
    found = shown(system, k, None, "complete")
    assert {spelled(system, each): (each.probability, each.secret) for each in found} == Runs(plain).shown()
    assert sum(each.probability for each in found) == 1
    for each in found:
        first = plain.first_violation(spelled(system, each), k)
        assert each.run_ends
        assert each.violates_after == (None if first is None else len(first))


@settings(max_examples=60)
@given(looping_systems(most_states=5), ks, st.integers(1, 4))
def test_observations_up_to_a_horizon_add_up_to_one_whatever_is_cut(system, k, horizon):
    plain = Plain(system)
    chances = Chances(plain)
    for kind in ("complete", "cut_when_exposed"):
        found = shown(system, k, horizon, kind)
        assert sum(each.probability for each in found) == 1
        assert len({each.events for each in found}) == len(found)
        for each in found:
            word = spelled(system, each)
            first = plain.first_violation(word, k)
            assert each.violates_after == (None if first is None else len(first))
            expected = chances.exactly(word) if each.run_ends else chances.beginning(word)
            assert (each.probability, each.secret) == expected
            whole = kind == "complete" or first is None
            limit = horizon if whole else plain.sensitive_length(first, k, horizon)
            assert len(word) < limit if each.run_ends else len(word) == limit


@settings(max_examples=60)
@given(looping_systems(most_states=5), ks, st.integers(1, 4))
def test_what_is_summed_and_tabulated_is_what_is_listed(system, k, horizon):
    """The probability of a violation without a list, and the observations of complete runs as tables of floats."""
    runs = observations(system, k, horizon)
    assert runs.violation == sum((each.probability for each in runs.sensitive.values()), start=Fraction(0))
    listed = list(runs.walk(cut=False))
    lengths = Counter(len(each.events) for each in listed)
    assert runs.safe.complete_lengths == lengths
    for length in lengths:
        assert runs.safe.example(length) == min(each.events for each in listed if len(each.events) == length)
    tables = runs.complete
    assert {length: len(table.codes) for length, table in tables.items()} == lengths
    chances = {
        tuple(events): tuple(chance)
        for table in tables.values()
        for events, chance in zip(table.codes.tolist(), table.chances.tolist(), strict=True)
    }
    assert chances.keys() == {each.events for each in listed}
    for each in listed:
        assert chances[each.events] == pytest.approx((each.probability, each.secret), rel=1e-13, abs=0)


@settings(max_examples=100)
@given(looping_systems())
def test_a_horizon_is_asked_for_exactly_where_observations_have_no_bound(system):
    """More observed events than states: some state was passed twice with one in between, and so it can be for ever."""
    plain = Plain(system)
    states = {plain.states_after(())}
    for _ in range(len(system.states) + 1):
        states = {plain.after(now, name) for now in states for name in plain.observable} - {frozenset()}
    endless = bool(states)
    event(f"endless: {endless}")
    assert has_endless_observations(Observed(system)) is endless
    if endless:
        with pytest.raises(ParameterError, match="^length: expected the largest number of observed events, since"):
            read_horizon(Observed(system), None)
    else:
        assert read_horizon(Observed(system), None) is None


@pytest.mark.parametrize("length", [0, -1, True, 2.0, "3"])
def test_a_horizon_is_a_whole_number(length):
    system = sv.StochasticSystem.from_transitions([("0", "a", "1", 1)], initial="0", observable=["a"])
    with pytest.raises(ParameterError, match="^length: expected a whole number"):
        read_horizon(Observed(system), length)
