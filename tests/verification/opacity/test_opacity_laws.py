"""Laws that hold for every system: what is implied by what, what grows with what, what changes nothing."""

from __future__ import annotations

import copy
import itertools
import random
from dataclasses import replace

from by_definition import NOTIONS, System
from hypothesis import given, settings
from hypothesis import strategies as st
from random_systems import KS, ks, logical_systems, notions, seeds, stochastic_systems, systems

import symveil as sv


def rename(system: System, seed: int) -> tuple[System, dict[str, str], dict[str, str]]:
    """The same system with other names for states and events, and everything listed in another order."""
    source = random.Random(seed)
    state = dict(zip(system.states, source.sample(range(100), len(system.states)), strict=True))
    states = {name: f"state {number}" for name, number in state.items()}
    labels = sorted({row[1] for row in system.transitions} | set(system.observable))
    events = {name: f"e{number}" for name, number in zip(labels, source.sample(range(99), len(labels)), strict=True)}
    rows = [(states[row[0]], events[row[1]], states[row[2]], *row[3:]) for row in system.transitions]

    def shuffled(names: tuple[str, ...], to: dict[str, str]) -> tuple[str, ...]:
        return tuple(source.sample([to[name] for name in names], len(names)))

    initial = states[system.initial] if isinstance(system.initial, str) else shuffled(system.initial, states)
    renamed = replace(
        system,
        states=shuffled(system.states, states),
        transitions=tuple(source.sample(rows, len(rows))),
        initial=initial,
        observable=shuffled(system.observable, events),
        secret=shuffled(system.secret, states),
    )
    return renamed, states, events


class TestImplications:
    @settings(max_examples=150)
    @given(systems(), st.sampled_from(("weak", "strong")))
    def test_looking_back_further_finds_no_less(self, system: System, notion: str) -> None:
        verdicts = [sv.verify_opacity(system, k, notion=notion) for k in KS]
        for nearer, further in itertools.pairwise(verdicts):
            assert nearer.holds or not further.holds
            if not nearer.holds:
                assert len(further.witness) <= len(nearer.witness)

    @settings(max_examples=150)
    @given(systems(), ks)
    def test_strong_implies_weak(self, system: System, k: int | str) -> None:
        strong, weak = sv.verify_opacity(system, k, notion="strong"), sv.verify_opacity(system, k)
        assert weak.holds or not strong.holds
        if not weak.holds:
            assert len(strong.witness) <= len(weak.witness)

    @settings(max_examples=100)
    @given(systems())
    def test_more_secrets_hide_no_better(self, system: System) -> None:
        more = system.with_secret([*system.secret, *[s for s in system.states if s not in system.secret][:1]])
        for notion in NOTIONS:
            assert sv.verify_opacity(system, 2, notion=notion).holds or (
                not sv.verify_opacity(more, 2, notion=notion).holds
            )


class TestProbabilitiesGrow:
    @settings(max_examples=60)
    @given(stochastic_systems(), st.sampled_from(("weak", "strong")))
    def test_with_k(self, system: System, notion: str) -> None:
        values = [sv.violation_probability(system, k, notion=notion).exact for k in KS]
        assert values == sorted(values)
        assert 0 <= values[0] <= values[-1] <= 1

    @settings(max_examples=60)
    @given(stochastic_systems(), ks, notions)
    def test_with_the_horizon(self, system: System, k: int | str, notion: str) -> None:
        values = [sv.violation_probability(system, k, notion=notion, within=n).exact for n in (0, 1, 2, 3, 5, 8, 40)]
        assert [*values, sv.violation_probability(system, k, notion=notion).exact] == sorted(
            [*values, sv.violation_probability(system, k, notion=notion).exact]
        )

    @settings(max_examples=60)
    @given(stochastic_systems(), ks)
    def test_from_weak_to_strong(self, system: System, k: int | str) -> None:
        weak, strong = sv.violation_probability(system, k), sv.violation_probability(system, k, notion="strong")
        assert weak.exact <= strong.exact


class TestTheLimit:
    @settings(max_examples=150)
    @given(systems(), st.sampled_from(("weak", "strong")))
    def test_verdicts(self, system: System, notion: str) -> None:
        """A shortest violation follows at most |Q|·2^|Q| = 384 pairs (y, B): who looks back that far, looks back far
        enough."""
        infinite = sv.verify_opacity(system, "infinite", notion=notion)
        large = sv.verify_opacity(system, 384, notion=notion)
        assert large.holds is infinite.holds
        if large.witness is not None:
            assert len(large.witness) == len(infinite.witness)
            assert large.question.k == 384
        assert sv.verify_opacity(system, float("inf"), notion=notion) == infinite

    @settings(max_examples=40)
    @given(stochastic_systems(most_states=5), st.sampled_from(("weak", "strong")))
    def test_probabilities_within_a_horizon(self, system: System, notion: str) -> None:
        """Anyone who looks back as far as the run is long, looks back to its start."""
        for within in (0, 3, 9):
            infinite = sv.violation_probability(system, "infinite", notion=notion, within=within)
            assert sv.violation_probability(system, within, notion=notion, within=within).exact == infinite.exact
            assert sv.violation_probability(system, 10**6, notion=notion, within=within).exact == infinite.exact


class TestWhatChangesNothing:
    @settings(max_examples=150)
    @given(systems(), ks, notions, seeds)
    def test_names_and_order(self, system: System, k: int | str, notion: str, seed: int) -> None:
        renamed, states, events = rename(system, seed)
        verdict, other = (sv.verify_opacity(s, k, notion=notion) for s in (system, renamed))
        assert other.holds is verdict.holds
        assert len(sv.observer(renamed).sets) == len(sv.observer(system).sets)
        if verdict.witness is not None:
            assert len(other.witness) == len(verdict.witness)
            observation = [events[event] for event in verdict.witness]
            found = sv.delayed_estimate(renamed, observation, after=verdict.exposed_after)
            if notion != "initial":
                assert set(found) == {states[state] for state in verdict.estimate}
        if isinstance(system, sv.StochasticSystem):
            assert sv.violation_probability(renamed, k, notion=notion).exact == (
                sv.violation_probability(system, k, notion=notion).exact
            )

    @settings(max_examples=100)
    @given(stochastic_systems(), stochastic_systems(), ks, notions)
    def test_an_unreachable_part(
        self, system: sv.StochasticSystem, other: sv.StochasticSystem, k: int | str, notion: str
    ) -> None:
        """Another system beside it, secrets, new events and ways into the reachable part included."""
        beside = {state: f"beside {state}" for state in other.states}
        rows = [(beside[source], event, beside[target], chance) for source, event, target, chance in other.transitions]
        moving = {row[0] for row in rows}
        into = [(state, "z", system.initial, 1) for state in beside.values() if state not in moving]
        larger = sv.StochasticSystem.from_transitions(
            [*rows, *system.transitions, *into],
            initial=system.initial,
            observable=[*system.observable, "z"],
            secret=[*[beside[state] for state in other.secret], *system.secret],
            states=[*beside.values(), *system.states],
        )
        verdict, again = (sv.verify_opacity(s, k, notion=notion) for s in (system, larger))
        assert (verdict.holds, verdict.witness and len(verdict.witness)) == (
            again.holds,
            again.witness and len(again.witness),
        )
        assert again.system_states == len(larger.states)
        # what cannot be reached costs nothing either
        assert again.estimator_states == verdict.estimator_states
        values = [sv.violation_probability(s, k, notion=notion).exact for s in (system, larger)]
        assert values[0] == values[1]

    @settings(max_examples=60)
    @given(logical_systems(), ks, notions)
    def test_asking_does_not_change_a_system(self, system: System, k: int | str, notion: str) -> None:
        before = copy.deepcopy(system)
        first = sv.verify_opacity(system, k, notion=notion)
        sv.observer(system)
        assert system == before
        assert sv.verify_opacity(system, k, notion=notion) == first

    @settings(max_examples=60)
    @given(stochastic_systems(), ks, notions)
    def test_asking_for_probabilities_does_not_either(self, system: System, k: int | str, notion: str) -> None:
        before = copy.deepcopy(system)
        first = sv.violation_probability(system, k, notion=notion)
        assert system == before
        assert sv.violation_probability(system, k, notion=notion) == first

    @settings(max_examples=100)
    @given(stochastic_systems(), ks, notions)
    def test_dropping_the_probabilities(self, system: sv.StochasticSystem, k: int | str, notion: str) -> None:
        """A verdict is about what is possible."""
        logical = sv.LogicalSystem(
            states=system.states,
            transitions=tuple(system.moves),
            initial=(system.initial,),
            observable=system.observable,
            secret=system.secret,
        )
        assert sv.verify_opacity(logical, k, notion=notion) == sv.verify_opacity(system, k, notion=notion)
        assert sv.observer(logical).estimates == sv.observer(system).estimates
