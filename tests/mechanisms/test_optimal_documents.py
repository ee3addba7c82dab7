"""What is written down of an optimal law decides it: nothing is solved again."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import pytest

import symveil as sv
from symveil.errors import ParameterError
from symveil.languages.language import runs_of_any_length
from symveil.mechanisms.by_length import of_length
from symveil.mechanisms.calibrate import RowLaws, mechanism_by_rows
from symveil.mechanisms.optimal import Optimal
from symveil.mechanisms.optimal_law import SolvedLaw, allowed_ratio
from symveil.mechanisms.optimal_programme import Programme

from .every_mechanism import COSTS, ROADS


def unsolved(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("solved again")

    monkeypatch.setattr(Programme, "proposal", refuse)


def test_the_document_is_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    language = sv.runs(ROADS, 3, public_start=True)
    mechanism = sv.Optimal(language, epsilon=1, adjacency=2, prior="chain", costs=COSTS)
    document = mechanism.solved.document()
    unsolved(monkeypatch)
    law = SolvedLaw.from_document(document)
    again = sv.Optimal(language, epsilon=1, adjacency=2, prior="chain", costs=COSTS, solved=law)
    assert (again.digest, again.guarantee, again.expected_cost) == (
        mechanism.digest,
        mechanism.guarantee,
        mechanism.expected_cost,
    )
    # with a larger budget it is as private as it was; with a smaller one it is refused
    assert sv.Optimal(language, epsilon=2, adjacency=2, solved=law).guarantee == mechanism.guarantee
    with pytest.raises(ParameterError, match=r"^law: expected a loss of at most epsilon, found a larger one$"):
        sv.Optimal(language, epsilon="0.99", adjacency=2, solved=law)
    with pytest.raises(ParameterError, match="^law: expected words of the language"):
        sv.Optimal(sv.runs(ROADS, 2), epsilon=1, adjacency=1, solved=law)


@pytest.mark.parametrize(
    "change",
    [
        {"peaks": ""},
        {"peaks": "0 0"},
        {"peaks": "0 0 nan"},
        {"peaks": "0 0 2.0"},
        {"peaks": 7},
        {"adjacent_ratio": "x"},
        {"adjacent_ratio": 0.5},
        {"adjacent_ratio": float("inf")},
        {"bits": 10**9},
        {"bits": True},
        {"bits": -1},
        {"uniform_bits": 100, "bits": 99},
        {"uniform_bits": None},
    ],
)
def test_another_document_is_refused_in_one_line(change: dict) -> None:
    document = sv.Optimal(sv.runs(ROADS, 2), epsilon=1, adjacency=1).solved.document() | change
    with pytest.raises(ParameterError, match="^law: expected a law as symveil writes it") as caught:
        SolvedLaw.from_document(document)
    assert "\n" not in str(caught.value)
    assert allowed_ratio(Fraction(1)) < Fraction(math.e)


def test_a_copy_does_not_solve_again(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = sv.Optimal(sv.runs(ROADS, 3), epsilon=1, adjacency=1)
    family = sv.select_mechanism(runs_of_any_length(ROADS), epsilon=1, mechanism="optimal", adjacency=1)
    one, two = (of_length(family, length) for length in (2, 3))
    assert isinstance(one, Optimal)
    assert isinstance(two, Optimal)
    texts = pickle.dumps(mechanism), pickle.dumps(family)
    unsolved(monkeypatch)
    alone, all_lengths = (pickle.loads(text) for text in texts)  # noqa: S301 - our own
    assert alone.digest == mechanism.digest == two.digest
    assert of_length(all_lengths, 2).digest == one.digest
    assert of_length(all_lengths, 3).digest == two.digest
    assert of_length(pickle.loads(pickle.dumps(all_lengths)), 3).digest == two.digest  # noqa: S301


def test_the_laws_of_a_manifest_are_taken_also_where_auto_chose(monkeypatch: pytest.MonkeyPatch) -> None:
    law = sv.Optimal(sv.runs(ROADS, 3), epsilon=1, adjacency=1)
    row = {"mechanism": "optimal", "lengths": [3, 3], **law.solved.document()}
    unsolved(monkeypatch)
    for name in ("auto", "optimal"):
        choice = sv.MechanismChoice(epsilon=1, mechanism=name, adjacency=1, beyond="nothing")
        classes = [{"lengths": [3, 3], "guarantee": {"epsilon": 1.0, "how": "exact"}}]
        family = mechanism_by_rows(runs_of_any_length(ROADS), RowLaws(choice, [row], classes, "manifest", prove=True))
        read = of_length(family, 3)
        assert isinstance(read, Optimal)
        assert read.digest == law.digest
