"""Errors: one hierarchy, and each survives the way back from a worker process."""

from __future__ import annotations

import ast
import pickle
import traceback
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import symveil as sv
from symveil import errors

SECRET = "hunter2"
PACKAGE = Path(errors.__file__).parent

RAISED = [
    errors.ParameterError("epsilon", expected="a number", found=-1),
    errors.AlphabetError("alphabet: empty"),
    errors.ModelError("$.initial", expected="a state", found="'x'"),
    errors.WordError("word: wrong", position=3),
    errors.FileError("a.json", expected="a file", found="none"),
    errors.TooLargeError("too large"),
    errors.NotPrivateError("not private"),
    errors.InternalError("internal error: KeyError at symveil.x:1"),
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


# --- what is not told ------------------------------------------------------------------------------


def shown(error: BaseException) -> str:
    """What the interpreter prints when nobody catches it."""
    return "".join(traceback.format_exception(error))


def test_the_error_of_a_library_is_not_shown_before_ours() -> None:
    for again in (False, True):
        try:
            try:
                int(SECRET)
            except ValueError:
                error = errors.WordError("word: wrong")
                # as it comes back from another process, and as it is raised here
                raise pickle.loads(pickle.dumps(error)) if again else error  # noqa: B904, S301 - what is tested
        except errors.SymveilError as error:
            assert isinstance(error.__context__, ValueError)
            assert SECRET not in shown(error)


def test_no_error_names_another_one_as_its_cause() -> None:
    """`raise … from error` prints both: a library's message may quote a secret."""
    found = [
        f"{file.name}:{node.lineno}"
        for file in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Raise) and node.cause is not None and ast.unparse(node.cause) != "None"
    ]
    assert found == []


def test_the_system_says_why_and_not_the_error() -> None:
    """The text of an OSError is whatever raised it likes: pyarrow's are sentences with names in them."""
    found = [
        f"{file.name}:{number}"
        for file in sorted(PACKAGE.rglob("*.py"))
        if file.name != "errors.py" and "studio" not in file.parts
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1)
        if ".strerror" in line and "os.strerror" not in line
    ]
    assert found == []


def raised(error: BaseException) -> BaseException:
    try:
        with errors.only_our_errors():
            try:
                int(SECRET)
            except ValueError:
                raise error  # noqa: B904 - as it happens
    except BaseException as found:
        return found
    raise AssertionError("an error is an error")


@pytest.mark.parametrize(
    "error",
    [
        KeyError(SECRET),
        ValueError(SECRET),
        OSError(2, SECRET),
        AssertionError(SECRET),
        ExceptionGroup(SECRET, [KeyError(SECRET)]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_unplanned_errors_are_told_without_a_value(error: Exception) -> None:
    found = raised(error)
    assert type(found) is errors.InternalError
    assert str(found).startswith(f"internal error: {type(error).__name__} at ")
    assert "\n" not in str(found) and "please report" in str(found)
    assert SECRET not in shown(found).replace("int(SECRET)", "")


def test_planned_errors_and_interrupts_pass() -> None:
    for error in (errors.WordError("word: wrong", position=3), KeyboardInterrupt(), SystemExit(3), GeneratorExit()):
        assert raised(error) is error


def test_memory_that_is_missing_has_no_shape() -> None:
    """How large an array would have been may depend on a secret length."""
    with pytest.raises(MemoryError) as found, errors.only_our_errors():
        np.empty((2**40, 31337), dtype=np.int64)
    assert "31337" not in shown(found.value).replace("np.empty((2**40, 31337), dtype=np.int64)", "")
    with pytest.raises(OverflowError, match="not enough memory"), errors.only_our_errors():
        raise OverflowError(SECRET)


def test_the_place_is_the_innermost_of_ours() -> None:
    from symveil.models.alphabet import Alphabet

    class Odd(str):
        __slots__ = ()

        def __hash__(self) -> int:
            raise RuntimeError(SECRET)

    try:
        Alphabet.from_symbols([Odd("x")])
    except RuntimeError as error:
        told = str(errors.InternalError.of(error))
    assert "RuntimeError at symveil.models.alphabet:" in told and "(raised in " in told and SECRET not in told
    assert str(errors.InternalError.of(KeyError(SECRET))).startswith("internal error: KeyError at an unknown place;")
    once = errors.InternalError("internal error: x")
    assert errors.InternalError.of(once) is once


ROADS = sv.MarkovChain.from_transitions([("a", "b", 1), ("b", "a", 1)])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sv.select_mechanism("abc", epsilon=1), "language: expected words(alphabet, length) or runs(model, l"),
        (lambda: sv.Online("abc", epsilon=1), "language: expected words(alphabet, length) or runs(model, length), fou"),
        (lambda: sv.protection("abc", adjacency=1), "language: expected words(alphabet, length) or runs(model, length"),
        (lambda: sv.verify_opacity("x", k=1), "system: expected a StochasticSystem or a LogicalSystem, such as load_m"),
        (lambda: sv.verify_opacity(ROADS, k=1), "system: expected a StochasticSystem or a LogicalSystem, such as load"),
        (lambda: sv.violation_probability("x", k=1), "system: expected a StochasticSystem or a LogicalSystem, such "),
        (lambda: sv.delayed_estimate("x", "a"), "system: expected a StochasticSystem or a LogicalSystem, such as load"),
        (
            lambda: sv.observer(ROADS),
            "system: expected a StochasticSystem or a LogicalSystem, such as load_model(file)",
        ),
        (lambda: sv.learn_chain("abc"), "sequences: expected sequences of strings, such as a list or a column of them"),
        (lambda: sv.learn_chain(pa.table({"s": ["ab"]})), "sequences: expected sequences of strings, such as a list"),
        (lambda: sv.learn_chain(["ab"], graph="x"), "graph: expected a MarkovChain such as load_model(file), found st"),
        (lambda: sv.audit("abc"), "law: expected a mechanism such as sv.Exponential(...), or an object with the"),
        (lambda: sv.verify_privacy(3, epsilon=1), "chain: expected a labelled chain, found int"),
    ],
)
def test_what_is_of_another_kind_is_refused_in_one_line(call, message: str) -> None:
    """A chain was learned from the names of a table's columns; others ended in an AttributeError."""
    with pytest.raises(errors.SymveilError) as refused:
        call()
    assert str(refused.value).startswith(message)
