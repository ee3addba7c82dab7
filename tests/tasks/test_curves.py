"""Expected error against ε for every mechanism, as numbers and as a picture."""

from __future__ import annotations

import json

import pytest

import symveil as sv
from symveil.errors import ParameterError
from symveil.models.markov_chain import MarkovChain
from symveil.tasks.draw import EPSILONS, error_curves, save_curves

CHAIN = MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])


def test_curves_are_the_expected_errors_of_the_mechanisms() -> None:
    language = sv.runs(CHAIN, 4)
    curves = {curve.mechanism: curve for curve in error_curves(language, word="abaa", adjacency=1)}
    assert curves.keys() == {
        "exponential, tight",
        "exponential, classic",
        "permute-and-flip, classic",
        "staircase, classic",
        "online",
    }
    for place, epsilon in enumerate(EPSILONS):
        flip = (
            sv.PermuteAndFlip(language, epsilon=epsilon, adjacency=1, calibration="classic")
            .distances("abaa")
            .expected_error
        )
        assert curves["permute-and-flip, classic"].errors[place] == flip
        assert flip <= curves["exponential, classic"].errors[place] + 1e-12  # B26 Theorem 2
        assert curves["exponential, tight"].errors[place] <= curves["exponential, classic"].errors[place] + 1e-12


def test_without_a_word_the_average_over_the_public_model() -> None:
    (first, *_) = error_curves(sv.runs(CHAIN, 4), adjacency=1)
    assert all(0 <= error <= 4 for error in first.errors)
    assert list(first.errors) == sorted(first.errors, reverse=True)


@pytest.fixture(scope="module")
def measured():
    """Curves, and what was reported while they were computed."""
    reports: list[tuple[int, int]] = []
    return error_curves(sv.words("ab", 3), progress=lambda done, total: reports.append((done, total))), reports


def test_progress_reaches_its_end(measured) -> None:
    _, reports = measured
    assert reports[-1][0] == reports[-1][1] == len(reports)


def test_saving(tmp_path, measured) -> None:
    curves, _ = measured
    save_curves(curves, tmp_path / "curves.json")
    document = json.loads((tmp_path / "curves.json").read_text())
    assert [curve["mechanism"] for curve in document["curves"]] == [curve.mechanism for curve in curves]
    save_curves(curves, tmp_path / "curves.svg")
    assert "<svg" in (tmp_path / "curves.svg").read_text()
    with pytest.raises(ParameterError):
        save_curves(curves, tmp_path / "curves.txt")
