"""Verdicts, witnesses, estimates and probabilities against the definitions, on random small systems."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from by_definition import NOTIONS, Defined, System, shortest_violation
from hypothesis import event, given, settings
from hypothesis import strategies as st
from random_systems import KS, delayed_systems, ks, logical_systems, notions, stochastic_systems, systems

import symveil as sv


def check_verdict(system: System, k: int | str, notion: str) -> None:
    """A verdict, and everything that it says about its witness."""
    defined = Defined(system)
    verdict = sv.verify_opacity(system, k, notion=notion)
    shortest = shortest_violation(defined, k, notion)
    event(f"{notion}: shortest violation {shortest.length}")
    assert shortest.agrees_with(verdict.witness)
    assert verdict.holds is (verdict.witness is None)
    assert verdict.system_states == len(system.states)
    assert verdict.estimator_states >= 1
    if verdict.witness is None:
        assert verdict.exposed_after is None
        assert verdict.estimate is None
        return
    assert defined.violates(verdict.witness, k, notion)
    if notion == "initial":
        assert verdict.exposed_after == 0
        expected = defined.initial_estimate(verdict.witness)
    else:
        if notion == "strong":
            assert verdict.exposed_after == len(verdict.witness)
        else:
            assert k == "infinite" or len(verdict.witness) - verdict.exposed_after <= k
        expected = defined.delayed_estimate(verdict.witness, verdict.exposed_after)
    if notion != "strong":
        assert expected <= defined.secret
    assert expected
    assert verdict.estimate == tuple(state for state in system.states if state in expected)


class TestTheOracle:
    """What the package is compared with has to follow from the runs themselves."""

    @settings(max_examples=200)
    @given(systems(most_states=4))
    def test_estimates_and_violations_from_runs_written_out(self, system: System) -> None:
        defined = Defined(system)
        for length in range(3):
            for observation in itertools.product(defined.observable[:2], repeat=length):
                runs = set(itertools.islice(defined.runs_observed_as(observation), 20_000))
                if len(runs) == 20_000:
                    event("too many runs to write out")
                    return
                for instant in range(length + 1):
                    visited = {state for run in runs for state in run[instant]}
                    assert defined.delayed_estimate(observation, instant) == visited
                for k in KS:
                    last = (length if k == "infinite" else min(k, length)) + 1
                    clean = [run for run in runs if not any(defined.secret & set(part) for part in run[-last:])]
                    assert defined.violates(observation, k, "strong") is (bool(runs) and not clean)
                    parts = [{state for run in runs for state in run[-j]} for j in range(1, last + 1)]
                    assert defined.violates(observation, k, "weak") is any(p and p <= defined.secret for p in parts)
                starts = {run[0][0] for run in runs}
                assert defined.violates(observation, 0, "initial") is (bool(starts) and starts <= defined.secret)

    @settings(max_examples=120)
    @given(systems(), ks, notions)
    def test_what_observations_tell_from_one_observation_at_a_time(
        self, system: System, k: int | str, notion: str
    ) -> None:
        defined = Defined(system)
        knowledge = defined.knowledge(k, notion)
        told = {(): knowledge.start}
        for _ in range(4):
            for observation, known in told.items():
                assert knowledge.possible(known)
                assert knowledge.exposes(known) is defined.violates(observation, k, notion)
            following = {
                (*one, e): knowledge.after(known, e) for one, known in told.items() for e in defined.observable
            }
            assert {one for one, known in following.items() if knowledge.possible(known)} == {
                one for one in following if defined.states_after(one)
            }
            told = {one: known for one, known in following.items() if knowledge.possible(known)}

    @settings(max_examples=120)
    @given(stochastic_systems(most_states=4), ks, notions)
    def test_the_whole_probability_is_approached_by_strings_from_both_sides(
        self, system: System, k: int | str, notion: str
    ) -> None:
        defined = Defined(system)
        whole = defined.ever_violates(k, notion, most=200)
        if whole is not None:
            violated, still_open = defined.violates_within(5, k, notion)
            assert violated <= whole <= violated + still_open


class TestVerdicts:
    @settings(max_examples=500)
    @given(stochastic_systems(), ks, notions)
    def test_stochastic(self, system: System, k: int | str, notion: str) -> None:
        check_verdict(system, k, notion)

    @settings(max_examples=600)
    @given(logical_systems(), ks, notions)
    def test_logical(self, system: System, k: int | str, notion: str) -> None:
        check_verdict(system, k, notion)

    @settings(max_examples=200)
    @given(delayed_systems, ks, notions)
    def test_secrets_that_come_out_late(self, system: System, k: int | str, notion: str) -> None:
        check_verdict(system, k, notion)

    @pytest.mark.soak
    @pytest.mark.parametrize("notion", NOTIONS)
    @settings(max_examples=4000)
    @given(system=systems(), k=ks)
    def test_many(self, notion: str, system: System, k: int | str) -> None:
        check_verdict(system, k, notion)


class TestEstimates:
    @settings(max_examples=250)
    @given(systems(), st.data())
    def test_delayed_estimates_of_any_observation(self, system: System, data: st.DataObject) -> None:
        """Possible or not: an impossible observation has an empty estimate."""
        defined = Defined(system)
        observation = tuple(data.draw(st.lists(st.sampled_from(system.observable), max_size=6)))
        for after in range(len(observation) + 1):
            expected = defined.delayed_estimate(observation, after)
            found = sv.delayed_estimate(system, observation, after=after)
            assert found == tuple(state for state in system.states if state in expected)
        assert sv.delayed_estimate(system, observation) == sv.delayed_estimate(
            system, list(observation), after=len(observation)
        )

    @settings(max_examples=250)
    @given(systems())
    def test_the_observer(self, system: System) -> None:
        """Its states are the sets of states after an observation, each once, and its moves are deterministic."""
        defined = Defined(system)
        observer = sv.observer(system)
        sets = [frozenset(estimate) for estimate in observer.estimates]
        assert sets[0] == defined.states_after(())
        assert len(set(sets)) == len(sets)
        assert all(estimate == tuple(s for s in system.states if s in estimate) for estimate in observer.estimates)
        moves = {(source, system.observable[number]): target for source, number, target in observer.transitions}
        assert len(moves) == len(observer.transitions)
        # a path to each state, and then one more event: all that is reachable, and nothing else
        reached = {0: ()}
        waiting = [0]
        while waiting:
            state = waiting.pop()
            for label in system.observable:
                observation = (*reached[state], label)
                expected = defined.states_after(observation)
                target = moves.get((state, label))
                assert (target is None) is (not expected)
                if target is not None:
                    assert sets[target] == expected
                    if target not in reached:
                        reached[target] = observation
                        waiting.append(target)
        assert len(reached) == len(sets)


def check_probability(system: System, k: int | str, notion: str, *, most: int = 250, events: int = 5) -> None:
    defined = Defined(system)
    probability = sv.violation_probability(system, k, notion=notion)
    assert probability.is_exact
    assert probability.exact == probability.lower == probability.upper
    assert (probability.exact == 0) is sv.verify_opacity(system, k, notion=notion).holds
    expected = defined.ever_violates(k, notion, most=most)
    if expected is not None:
        event("solved")
        assert probability.exact == expected
    for within in (0, 1, events):
        violated, still_open = defined.violates_within(within, k, notion)
        bounded = sv.violation_probability(system, k, notion=notion, within=within)
        assert bounded.exact == violated
        assert bounded.within == within
        assert violated <= probability.exact <= violated + still_open


class TestProbabilities:
    @settings(max_examples=500)
    @given(stochastic_systems(), ks, notions)
    def test_with_loops(self, system: System, k: int | str, notion: str) -> None:
        check_probability(system, k, notion)

    @settings(max_examples=250)
    @given(stochastic_systems(acyclic=True), ks, notions)
    def test_without_loops_every_string_can_be_written_out(self, system: System, k: int | str, notion: str) -> None:
        violated, still_open = Defined(system).violates_within(len(system.states), k, notion)
        assert still_open == 0
        assert sv.violation_probability(system, k, notion=notion).exact == violated
        assert sv.violation_probability(system, k, notion=notion, within=len(system.states)).exact == violated

    @settings(max_examples=250)
    @given(delayed_systems, ks, st.sampled_from(("weak", "weak", "strong")))
    def test_secrets_that_come_out_late(self, system: System, k: int | str, notion: str) -> None:
        check_probability(system, k, notion, events=7)

    @settings(max_examples=100)
    @given(stochastic_systems(), ks, st.fractions(0, 1, max_denominator=12).filter(lambda theta: theta > 0))
    def test_almost_opaque_is_below_the_threshold(self, system: System, k: int | str, theta: Fraction) -> None:
        probability = sv.violation_probability(system, k)
        assert probability.below(theta) is (probability.exact < theta)
        if probability.exact:
            assert probability.below(probability.exact) is False

    @pytest.mark.soak
    @pytest.mark.parametrize("notion", NOTIONS)
    @settings(max_examples=1500)
    @given(system=stochastic_systems(), k=ks)
    def test_many(self, notion: str, system: System, k: int | str) -> None:
        check_probability(system, k, notion, most=800, events=6)
