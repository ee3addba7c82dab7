"""Partially observed systems in JSON: read as they are meant, refused at their path."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from read_or_refuse import read_or_refuse

from symveil.errors import ModelError
from symveil.formats.models.model_files import load_model, save_model
from symveil.formats.models.model_json import model_document, model_text, parse_model
from symveil.models.stochastic_system import LogicalSystem, PartiallyObserved, StochasticSystem

STOCHASTIC = {
    "format": "symveil/1",
    "kind": "stochastic-system",
    "initial": "0",
    "observable": ["a", "b"],
    "secret": ["2"],
    "transitions": [["0", "a", "1", "1/3"], ["0", "u", "2", "2/3"], ["1", "b", "1", 1]],
}
LOGICAL = {
    "format": "symveil/1",
    "kind": "stochastic-system",
    "initial": ["0", "1"],
    "observable": ["a"],
    "secret": ["2"],
    "transitions": [["0", "a", "1"], ["0", "a", "2"], ["1", "u", "0"]],
}


def parse(document: dict[str, object], **changes: object) -> object:
    changed = {key: value for key, value in {**document, **changes}.items() if value is not ...}
    return parse_model(json.dumps(changed), name="m.json")


def test_both_kinds_of_system_in_json() -> None:
    assert parse(STOCHASTIC) == StochasticSystem.from_transitions(
        [("0", "a", "1", "1/3"), ("0", "u", "2", "2/3"), ("1", "b", "1", 1)],
        initial="0",
        observable=["a", "b"],
        secret=["2"],
    )
    moves = [("0", "a", "1"), ("0", "a", "2"), ("1", "u", "0")]
    several = LogicalSystem.from_transitions(moves, initial=["0", "1"], observable=["a"], secret=["2"])
    assert parse(LOGICAL) == several
    assert parse(LOGICAL, initial="0") == LogicalSystem.from_transitions(
        moves, initial="0", observable=["a"], secret=["2"]
    )


def test_secrets_may_be_given_later() -> None:
    assert parse(STOCHASTIC, secret=...).secret == ()
    assert parse(STOCHASTIC, secret=...).with_secret(["2"]) == parse(STOCHASTIC)
    assert parse(STOCHASTIC, states=["2", "1", "0"]).states == ("2", "1", "0")


def test_a_system_without_transitions_is_logical_where_initial_is_a_list() -> None:
    assert isinstance(parse(STOCHASTIC, transitions=[], states=["0"], secret=[]), StochasticSystem)
    assert isinstance(parse(STOCHASTIC, transitions=[], states=["0"], secret=[], initial=["0"]), LogicalSystem)


ROW = ["0", "a", "1"]


@pytest.mark.parametrize(
    ("document", "changes", "message"),
    [
        (LOGICAL, {"transitions": [ROW, [*ROW, 1]]}, "$.transitions[1]: expected [state, event, state], as in the"),
        (STOCHASTIC, {"transitions": [[*ROW, 1], ROW]}, "$.transitions[1]: expected [state, event, state, probab"),
        (STOCHASTIC, {"transitions": [["0"]]}, "$.transitions[0]: expected [state, event, state, probability] or"),
        (STOCHASTIC, {"transitions": "x"}, "$.transitions: expected an array of [state, event, state, probabil"),
        (STOCHASTIC, {"transitions": [[*ROW, True]]}, "$.transitions[0][3]: expected a number or a rational string"),
        (
            STOCHASTIC,
            {"secret": [], "transitions": [[*ROW, 0.9]]},
            "$.transitions: expected the probabilities of state '0' to sum",
        ),
        (STOCHASTIC, {"transitions": [["0", 1, "1", 1]]}, "$.transitions[0][1]: expected a name, a string, found 1"),
        (STOCHASTIC, {"initial": ["0", "1"]}, "$.initial: expected a name, a string, found an array of 2"),
        (STOCHASTIC, {"initial": "9"}, "$.initial: expected a state that occurs in the model, found '9'"),
        (STOCHASTIC, {"initial": ...}, "$: expected the key 'initial', found none"),
        (STOCHASTIC, {"observable": ...}, "$: expected the key 'observable', found none"),
        (STOCHASTIC, {"observable": []}, "$.observable: expected at least one observable event"),
        (STOCHASTIC, {"observable": "a"}, "$.observable: expected an array of event names, found 'a'"),
        (STOCHASTIC, {"secret": ["9"]}, "$.secret[0]: expected a state that occurs in the model, found '9'"),
        (STOCHASTIC, {"secret": None}, "$.secret: expected an array of state names, found null"),
        (LOGICAL, {"initial": []}, "$.initial: expected at least one initial state, found none"),
        (LOGICAL, {"initial": ["0", "9"]}, "$.initial[1]: expected a state that occurs in the model, found '9'"),
        (LOGICAL, {"accepting": []}, "$.accepting: expected one of the keys"),
        (LOGICAL, {"kind": "labelled-chain"}, "expected the key 'labels', found none"),
    ],
)
def test_wrong_json_is_refused_at_its_path(document, changes, message) -> None:
    with pytest.raises(ModelError) as error:
        parse(document, **changes)
    assert message in str(error.value)
    assert str(error.value).startswith("m.json: $")


NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)


@st.composite
def systems(draw: st.DrawFn) -> PartiallyObserved:
    states = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    state = st.sampled_from(states)
    observable = tuple(draw(st.lists(NAMES, min_size=1, max_size=3, unique=True)))
    events = st.sampled_from(observable) | NAMES
    secret = tuple(draw(st.lists(state, unique=True)))
    if draw(st.booleans()):
        moves = tuple(draw(st.lists(st.tuples(state, events, state), unique=True)))
        initial = tuple(draw(st.lists(state, min_size=1, unique=True)))
        return LogicalSystem(
            states=tuple(states), transitions=moves, initial=initial, observable=observable, secret=secret
        )
    rows = []
    for source in states:
        chosen = draw(st.lists(events, unique=True, max_size=3))
        weights = [draw(st.integers(1, 10 ** draw(st.integers(0, 40)))) for _ in chosen]
        rows += [
            (source, event, draw(state), Fraction(weight, sum(weights)))
            for event, weight in zip(chosen, weights, strict=True)
        ]
    return StochasticSystem(
        states=tuple(states),
        transitions=tuple(draw(st.permutations(rows))),
        initial=draw(state),
        observable=observable,
        secret=secret,
    )


@given(systems())
def test_what_is_written_is_read_back_the_same(system) -> None:
    assert parse_model(model_text(system)) == system
    assert parse_model(json.dumps(model_document(system))) == system


def test_a_system_is_saved_and_loaded(tmp_path) -> None:
    system = parse(STOCHASTIC)
    save_model(system, tmp_path / "system.json")
    assert load_model(tmp_path / "system.json") == system


@given(st.data())
def test_any_damaged_json_is_read_or_refused(tmp_path_factory, data) -> None:
    content = bytearray(json.dumps(data.draw(st.sampled_from([STOCHASTIC, LOGICAL]))).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.sampled_from(list(b'{}[],:"0e1.\xff n')))
    read_or_refuse(bytes(content), tmp_path_factory.getbasetemp() / "system.json")
