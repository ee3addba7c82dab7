"""Errors: one hierarchy, and each survives the way back from a worker process."""

from __future__ import annotations

import pickle

import pytest

from symveil import errors

RAISED = [
    errors.ParameterError("epsilon", expected="a number", found=-1),
    errors.AlphabetError("alphabet: empty"),
    errors.ModelError("$.initial", expected="a state", found="'x'"),
    errors.WordError("word: wrong", position=3),
    errors.FileError("a.json", expected="a file", found="none"),
    errors.TooLargeError("too large"),
    errors.NotPrivateError("not private"),
]


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_errors_can_be_sent_between_processes(error: errors.SymveilError) -> None:
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert again.__dict__ == error.__dict__


def test_input_errors_are_value_errors() -> None:
    assert all(isinstance(error, ValueError) for error in RAISED[:5])
    assert all(isinstance(error, errors.SymveilError) for error in RAISED)
