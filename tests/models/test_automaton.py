"""Automata and transition systems: frozen, and refused at the place that is wrong."""

from __future__ import annotations

import pickle

import pytest

from symveil.errors import ModelError
from symveil.models.automaton import Automaton, TransitionSystem

ROWS = [("p", "a", "q"), ("q", "b", "p")]


def test_states_are_in_order_of_first_mention_or_as_listed() -> None:
    assert TransitionSystem.from_transitions(ROWS, initial="q").states == ("p", "q")
    assert TransitionSystem.from_transitions(ROWS, initial="r", states=["r", "q", "p"]).states == ("r", "q", "p")


def test_a_silent_move_belongs_to_automata() -> None:
    rows = [*ROWS, ("p", None, "q")]
    assert Automaton.from_transitions(rows, initial="p", accepting=["q"]).transitions[2] == ("p", None, "q")
    with pytest.raises(ModelError, match=r"transitions\[2\]\[1\]: expected a symbol name, a string, found None"):
        TransitionSystem.from_transitions(rows, initial="p")


def test_several_transitions_with_one_symbol_are_allowed() -> None:
    rows = [("p", "a", "q"), ("p", "a", "p"), ("p", "b", "q")]
    assert len(TransitionSystem.from_transitions(rows, initial="p").transitions) == 3


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (None, {}, "transitions: expected a list of rows"),
        ([("p", "a")], {}, r"transitions\[0\]: expected three values: state, symbol, state"),
        ([("p", "a", 1)], {}, r"transitions\[0\]\[2\]: expected a state name, a string, found 1"),
        ([("p", 1, "q")], {}, r"transitions\[0\]\[1\]: expected a symbol name, a string, found 1"),
        ([("p", ["a"], "q")], {}, r"transitions\[0\]\[1\]: expected a symbol name"),
        ([*ROWS, ROWS[0]], {}, r"transitions\[2\]: expected each transition once, found \('p', 'a', 'q'\) again"),
        (ROWS, {"initial": "r"}, "initial: expected a state that occurs in the model, found 'r'"),
        (ROWS, {"initial": None}, "initial: expected a state name, a string, found None"),
        (ROWS, {"states": ["p"]}, r"transitions\[0\]\[2\]: expected a state that occurs in the model, found 'q'"),
        (ROWS, {"states": ["p", "q", "p"]}, r"states\[2\]: expected each state once, found 'p' again"),
        (ROWS, {"states": ["p", "q", "\udc80"]}, r"states\[2\]: expected a state name of Unicode characters"),
        ([], {}, "states: expected at least one state, found none"),
        (ROWS, {"accepting": []}, "accepting: expected at least one accepting state, found none"),
        (ROWS, {"accepting": "p"}, "accepting: expected a list of state names, found 'p'"),
        (ROWS, {"accepting": ["p", "r"]}, r"accepting\[1\]: expected a state that occurs in the model, found 'r'"),
        (ROWS, {"accepting": ["p", "p"]}, r"accepting\[1\]: expected each state once"),
    ],
)
def test_what_is_wrong_is_said_at_its_place(rows, options, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Automaton.from_transitions(rows, **{"initial": "p", "accepting": ["q"], **options})
    if "accepting" not in options:
        with pytest.raises(ModelError, match=message):
            TransitionSystem.from_transitions(rows, **{"initial": "p", **options})


def test_models_are_frozen_structural_and_travel() -> None:
    automaton = Automaton.from_transitions([list(row) for row in ROWS], initial="p", accepting=["q"])
    with pytest.raises(AttributeError):
        automaton.initial = "q"
    accepting = ["q"]
    same = Automaton(states=["p", "q"], transitions=[list(row) for row in ROWS], initial="p", accepting=accepting)
    accepting.append("p")
    assert automaton == same
    assert hash(automaton) == hash(same)
    assert pickle.loads(pickle.dumps(automaton)) == automaton  # noqa: S301 - our own bytes
    assert repr(automaton) == "Automaton(2 states, 2 transitions, initial 'p', 1 accepting)"
