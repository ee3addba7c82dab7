"""Functions that make a system opaque, compared with the definitions: no estimator and no game of the package is used.

The oracle plays the game on what observations tell (`Knowledge` of by_definition) pair by pair, with insertions of any
length, and the functions are followed through all observations up to some length.
"""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symveil as sv
from symveil.enforcement.edit_game import EditGame, Edits
from symveil.enforcement.synthesize import Synthesis
from symveil.verification.opacity.estimators import read_question
from symveil.verification.opacity.observation import Observed
from verification.opacity.by_definition import Defined, Observation, closed
from verification.opacity.random_systems import ks, logical_systems, notions, stochastic_systems

LENGTH = 4
Tree = dict[str, Any]


class Oracle:
    """The game by its definition."""

    def __init__(self, system, k, notion, insertable, erasable) -> None:
        self.defined = Defined(system)
        self.knowledge = self.defined.knowledge(k, notion)
        self.insertable, self.erasable = insertable, erasable
        self._safely = lru_cache(maxsize=None)(self._shown)

    def safely(self, known, event):
        """What is known after showing one more event safely, as a list of at most one."""
        return self._safely(known, event)

    def _shown(self, known, event):
        after = self.knowledge.after(known, event)
        return [after] if self.knowledge.possible(after) and not self.knowledge.exposes(after) else []

    def answers(self, known, event):
        """What may be known after an answer to `event`."""
        before = closed([known], lambda one: [t for each in self.insertable for t in self.safely(one, each)])
        shown = {after for one in before for after in self.safely(one, event)}
        return shown | before if event in self.erasable else shown

    def truth(self, states, event):
        moved = [target for state in states for target in self.defined.by(state, event)]
        return closed(moved, self.defined.silent)

    def wins(self) -> bool:
        """Whether the system can be answered for ever."""
        start = (closed(self.defined.initial, self.defined.silent), self.knowledge.start)
        if self.knowledge.exposes(self.knowledge.start):
            return False
        moves: dict[Any, list[list[Any]]] = {}
        waiting = [start]
        while waiting:
            place = states, known = waiting.pop()
            if place in moves:
                continue
            moves[place] = []
            for event in self.defined.observable:
                after = self.truth(states, event)
                if after:
                    moves[place].append([(after, each) for each in self.answers(known, event)])
                    waiting += moves[place][-1]
        winning = set(moves)
        while True:
            lost = {place for place in winning if not all(winning.intersection(each) for each in moves[place])}
            if not lost:
                return start in winning
            winning -= lost

    def fails(self, observations) -> bool:
        """Whether every function answers one of these observations unsafely."""
        tree: Tree = {}
        for observation in observations:
            node = tree
            for event in observation:
                node = node.setdefault(event, {})
            assert self.defined.states_after(observation), "a refutation must be possible"
        return self.knowledge.exposes(self.knowledge.start) or not self.can_answer(tree, self.knowledge.start)

    def can_answer(self, tree: Tree, known) -> bool:
        return all(
            any(self.can_answer(rest, after) for after in self.answers(known, event)) for event, rest in tree.items()
        )


def shown_in_steps(found: Synthesis, observation: Observation) -> list[Observation]:
    """What is shown for each event of an observation; later events change nothing of it."""
    whole = [tuple(found.apply(observation[:length])) for length in range(len(observation) + 1)]
    assert whole[0] == ()
    for before, after in itertools.pairwise(whole):
        assert after[: len(before)] == before
    return [after[len(before) :] for before, after in itertools.pairwise(whole)]


def check(system, k, notion, policy, insertable, erasable) -> None:
    options = {} if policy == "insertion" else {"erasable": erasable}
    found = sv.synthesize_opacity(system, k, policy=policy, notion=notion, insertable=insertable, **options)
    oracle = Oracle(system, k, notion, insertable, erasable if policy == "edit" else [])
    assert found.possible == oracle.wins()
    if not found.possible:
        assert found.refutation is not None
        assert oracle.fails(found.refutation)
        return
    defined = oracle.defined
    # an observer who knows the function must think that nothing was changed: what is shown would be shown as it is
    withstands = _is_informed(system, k, notion, insertable, oracle.erasable)
    unsafe = {}
    for length in range(LENGTH + 1):
        for observation in defined.observations(length):
            shown: Observation = ()
            for event, answer in zip(observation, shown_in_steps(found, observation), strict=True):
                kept = answer[-1:] == (event,)
                # whether the last event was shown or another one inserted, one reading must be allowed
                assert (kept and set(answer[:-1]) <= set(insertable)) or (
                    policy == "edit" and event in erasable and set(answer) <= set(insertable)
                )
                for each in answer:
                    shown = (*shown, each)
                    if shown not in unsafe and len(shown) <= 2 * LENGTH:
                        unsafe[shown] = not defined.states_after(shown) or defined.violates(shown, k, notion)
                    assert not unsafe.get(shown)
                    assert not withstands or found.apply(shown) == shown


def _is_informed(system, k, notion, insertable, erasable) -> bool:
    observed, question = Observed(system), read_question(k, notion)
    insert, erase = (frozenset(map(observed.event_number.get, events)) for events in (insertable, erasable))
    return EditGame(observed, question, Edits(insert, erase), observed.limit()).informed() is not None


events_of = st.sets(st.sampled_from("abc"), min_size=0, max_size=3)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.one_of(logical_systems(most_states=4), stochastic_systems(most_states=4)), ks, notions, events_of, events_of)
@pytest.mark.parametrize("policy", ["insertion", "edit"])
def test_functions_by_definition(policy, system, k, notion, inserted, erased):
    insertable = [event for event in system.observable if event in inserted]
    erasable = [event for event in system.observable if event in erased]
    check(system, k, notion, policy, insertable, erasable)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(logical_systems(most_states=5), ks, notions)
def test_insertion_of_anything_by_definition(system, k, notion):
    check(system, k, notion, "insertion", list(system.observable), [])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(logical_systems(most_states=4), st.sampled_from((0, 1)), st.sampled_from(("separate-1", "joint-2", "joint-1")))
def test_notions_of_epochs(system, k, notion):
    """The checker is asked about the filtered system; the game was played on the system of epochs."""
    found = sv.synthesize_opacity(system, k, policy="edit", notion=notion)
    if found.enforced_system is not None:
        assert sv.verify_opacity(found.enforced_system, k, notion=notion).holds
    else:
        assert found.refutation == ((),)
        assert sv.verify_opacity(system, k, notion=notion).witness == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policy": "none"}, "policy: expected one of"),
        ({"against": "all"}, "against: expected one of informed, unaware"),
        ({"erasable": ["a"]}, "erasable: expected none with the policy insertion"),
        ({"insertable": ["z"]}, "insertable: expected observable events of the system, found 'z'"),
        ({"insertable": "ab"}, "insertable: expected a list of observable events, found a string"),
        ({"k": -1}, "k: expected a whole number"),
    ],
)
def test_parameters(options, message):
    system = sv.LogicalSystem.from_transitions([("0", "a", "1")], initial="0", observable=["a"], secret=["1"])
    with pytest.raises(sv.SymveilError, match=message):
        sv.synthesize_opacity(system, **({"policy": "insertion"} | options))


def test_what_cannot_happen_is_refused():
    system = sv.LogicalSystem.from_transitions([("0", "a", "1")], initial="0", observable=["a", "b"], secret=[])
    found = sv.synthesize_opacity(system, policy="insertion")
    assert found.apply(["a"]) == ("a",)
    with pytest.raises(sv.SymveilError, match="impossible event at position 2 of 2"):
        found.apply("ab")
