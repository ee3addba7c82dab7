"""What is no mechanism and no chain is refused in one line that says what was meant."""

from __future__ import annotations

import pytest

import symveil as sv
from symveil.errors import ParameterError, SymveilError

OBJECTS = ["abc", None, 3, [0.5, 0.5], {"a": 1}, lambda word: word, sv.words("ab", 2), sv.Exponential]


@pytest.mark.parametrize("wrong", OBJECTS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("function", [sv.audit, sv.audit_by_chain])
def test_no_mechanism(function, wrong) -> None:
    with pytest.raises(ParameterError, match=r"^law: expected a mechanism such as sv\.Exponential.*, found [^\n]+$"):
        function(wrong)


@pytest.mark.parametrize(
    "wrong", ["abc", None, 3, lambda word: word, sv.Exponential], ids=lambda each: type(each).__name__
)
def test_no_chain(wrong) -> None:
    for options in ({}, {"epsilon": 1}):  # what is wrong first is said first
        with pytest.raises(ParameterError, match=r"^chain: expected a labelled chain, found [^\n]+$"):
            sv.verify_privacy(wrong, **options)


@pytest.mark.parametrize("wrong", [[0.5, 0.5], {"a": 1}, sv.words("ab", 2)], ids=lambda each: type(each).__name__)
def test_no_table_of_a_channel(wrong) -> None:
    with pytest.raises(SymveilError, match=r"\A[^\n]+: expected [^\n]+, found [^\n]+\Z"):
        sv.verify_privacy(wrong, epsilon=1)


def test_a_mechanism_in_the_place_of_its_chain() -> None:
    with pytest.raises(ParameterError, match=r"found Exponential, whose chain is mechanism\.release_chain"):
        sv.verify_privacy(sv.Exponential(sv.words("ab", 2), epsilon=1), epsilon=1)
