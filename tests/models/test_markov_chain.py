"""Markov chains: exact, frozen, and refused at the place that is wrong."""

from __future__ import annotations

import pickle
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symveil.errors import InputError, ModelError
from symveil.models.markov_chain import MarkovChain

ROWS = [("a", "a", "1/3"), ("a", "b", "2/3"), ("b", "a", 1)]


@pytest.mark.parametrize("half", [0.5, "0.5", "1/2", ".5", "5e-1", Fraction(1, 2), Decimal("0.5")])
def test_a_probability_may_be_spelled_in_many_ways(half) -> None:
    chain = MarkovChain.from_transitions([("a", "a", half), ("a", "b", half)])
    assert chain.transitions == (("a", "a", Fraction(1, 2)), ("a", "b", Fraction(1, 2)))


def test_states_are_in_order_of_first_mention_or_as_listed() -> None:
    rows = [("b", "c", 1), ("a", "b", 1)]
    assert MarkovChain.from_transitions(rows).states == ("b", "c", "a")
    assert MarkovChain.from_transitions(rows, states=["a", "b", "c", "d"]).states == ("a", "b", "c", "d")


def test_rows_may_be_lists_and_iterators() -> None:
    assert MarkovChain.from_transitions(iter([list(row) for row in ROWS])) == MarkovChain.from_transitions(ROWS)


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=30), st.integers(10, 15))
def test_rounded_decimals_become_a_chain_near_by(weights: list[int], digits: int) -> None:
    total = sum(weights)
    spelled = [f"{Decimal(weight) / Decimal(total):.{digits}f}" for weight in weights]
    if any(Fraction(text) == 0 for text in spelled):
        return
    rows = [("s", str(index), text) for index, text in enumerate(spelled)]
    notes: list[str] = []
    chain = MarkovChain.from_transitions(rows, notes=notes)
    assert sum(row[2] for row in chain.transitions) == 1
    assert all(
        abs(row[2] - Fraction(weight, total)) < Fraction(1, 10**8)
        for row, weight in zip(chain.transitions, weights, strict=True)
    )
    assert bool(notes) == (sum(map(Fraction, spelled)) != 1)


def test_a_sum_beyond_the_tolerance_is_refused_on_both_sides() -> None:
    for far in ("0.500000002", "0.499999998"):
        with pytest.raises(ModelError, match="'a' to sum to 1"):
            MarkovChain.from_transitions([("a", "a", "0.5"), ("a", "b", far)])
    for near in ("0.500000001", "0.499999999"):
        assert MarkovChain.from_transitions([("a", "a", "0.5"), ("a", "b", near)])


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (None, {}, "transitions: expected a list of rows"),
        ("abc", {}, "transitions: expected a list of rows"),
        ([("a", "b")], {}, r"transitions\[0\]: expected three values"),
        (["abc"], {}, r"transitions\[0\]: expected three values"),
        ([5], {}, r"transitions\[0\]: expected three values"),
        ([("a", 1, 1)], {}, r"transitions\[0\]\[1\]: expected a state name, a string, found 1"),
        ([(["a"], "b", 1)], {}, r"transitions\[0\]\[0\]: expected a state name"),
        ([("a", "b", None)], {}, r"transitions\[0\]\[2\]: expected a probability"),
        ([("a", "b", True)], {}, r"transitions\[0\]\[2\]: expected a probability"),
        ([("a", "b", float("nan"))], {}, r"transitions\[0\]\[2\]: expected a probability"),
        ([("a", "b", 10**5000)], {}, "found a number far outside"),
        ([("a", "b", 0)], {}, "above 0 and at most 1, found 0"),
        (ROWS, {"initial": "c"}, "initial: expected a state that occurs in the model, found 'c'"),
        (ROWS, {"initial": ["a"]}, "initial: expected a state name"),
        (ROWS, {"states": "ab"}, "states: expected a list of state names, found 'ab'"),
        (ROWS, {"states": {"a", "b"}}, "states: expected a list of state names"),
        (ROWS, {"states": []}, r"transitions\[0\]\[0\]: expected a state that occurs"),
        ([], {"initial": "a"}, "states: expected at least one state"),
        ([("a" * 1000, "b", "1/2")], {}, "sum to 1, found 0.5"),
    ],
)
def test_what_is_wrong_is_said_at_its_place(rows, options, message: str) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        MarkovChain.from_transitions(rows, **options)
    assert isinstance(caught.value, InputError)
    assert len(str(caught.value)) < 400


def test_the_constructor_is_as_strict() -> None:
    with pytest.raises(ModelError, match=r"transitions\[0\]\[2\]: expected a Fraction, found 1.0"):
        MarkovChain(states=("a",), transitions=(("a", "a", 1.0),))
    with pytest.raises(ModelError, match=r"states\[1\]: expected each state once"):
        MarkovChain(states=("a", "a"), transitions=())
    with pytest.raises(ModelError, match="sum to 1, found 0.5"):
        MarkovChain(states=("a",), transitions=(("a", "a", Fraction(1, 2)),))
    states = ["a"]
    chain = MarkovChain(states=states, transitions=[["a", "a", Fraction(1)]])
    states.append("b")
    assert chain == MarkovChain.from_transitions([("a", "a", 1)])
    assert hash(chain) == hash(MarkovChain.from_transitions([("a", "a", 1)]))


def test_a_chain_is_frozen_structural_and_travels() -> None:
    chain = MarkovChain.from_transitions(ROWS, initial="a")
    with pytest.raises(AttributeError):
        chain.initial = "b"
    assert pickle.loads(pickle.dumps(chain)) == chain  # noqa: S301 - our own bytes
    assert chain != MarkovChain.from_transitions(ROWS)
    assert repr(chain) == "MarkovChain(2 states, 3 transitions, initial 'a')"


def test_denominators_have_a_limit() -> None:
    one, other = Fraction(1, 10**3000 + 1), Fraction(1, 10**2000 + 3)
    with pytest.raises(ModelError, match="common denominator of at most 4000 digits"):
        MarkovChain.from_transitions([("a", "a", one), ("a", "b", other), ("a", "c", 1 - one - other)])
