"""J19 §V, §VII-A: every published number, and the error of equation 18 shown."""

from __future__ import annotations

import math

import pytest

from symveil.languages.free import words
from symveil.mechanisms.distance_weighted import Jones2019Printed
from symveil.tasks.reproduce import mechanisms as jones2019

pytestmark = pytest.mark.xdist_group("jones2019")  # its rows are computed once


@pytest.fixture(scope="module")
def rows() -> dict[str, jones2019.Row]:
    return {row.item: row for row in jones2019.jones2019_rows()}


def test_published_counts_agree(rows) -> None:
    for item, number in (
        ("Case Study 1: states of the automaton", "561"),
        ("Case Study 1: edges of the automaton", "1056"),
        ("Fig. 1a: states of the Levenshtein automaton of abc, k = 2", "12"),
        ("Fig. 2: V(start), words at distance 2 from abc", "12"),
    ):
        assert rows[item].published == rows[item].ours == number
        assert rows[item].agrees


def test_algorithm_1_as_printed_is_shown_wrong(rows) -> None:
    row = rows["Algorithm 1: words it accepts, k = 2"]
    assert not row.agrees
    assert "accepts ca, at distance 3" in row.ours


@pytest.mark.parametrize("epsilon", ["10", "1", "0.1", "0"])
def test_the_printed_law_loses_more_than_it_says_and_the_right_one_does_not(rows, epsilon: str) -> None:
    printed = rows[f"Case Study 1, ε = {epsilon}: true loss of the printed law (eq. 18)"]
    right = rows[f"Case Study 1, ε = {epsilon}: true loss of the right law (eq. 16)"]
    assert not printed.agrees
    assert float(printed.ours) > float(epsilon)
    assert right.agrees
    assert float(right.ours) == pytest.approx(float(epsilon) / 2, abs=1e-12)


def test_loss_of_the_printed_law_at_zero(rows) -> None:
    assert float(rows["Case Study 1, ε = 0: true loss of the printed law (eq. 18)"].ours) == pytest.approx(
        math.log(32 * 15), rel=1e-5
    )
    assert Jones2019Printed(words(range(16), 32), epsilon=0).guarantee.epsilon == pytest.approx(math.log(32 * 15))


def test_the_papers_own_samples_cannot_come_from_the_right_law(rows) -> None:
    for epsilon in ("10", "1", "0.1", "0"):
        assert rows[f"Case Study 1, ε = {epsilon}: samples of Fig. 5a under the printed law"].agrees
        assert not rows[f"Case Study 1, ε = {epsilon}: samples of Fig. 5a under the right law"].agrees


def test_samples_are_shown_by_both_laws(rows) -> None:
    for law in ("printed law", "right law", "utility −d, tight"):
        row = rows[f"Case Study 1, ε = 1: samples by the {law}"]
        samples = row.ours.split(" | ")
        assert len(samples) == 5
        assert all(len(sample) == 32 for sample in samples)
        assert row.agrees


def test_case_study_2() -> None:
    """The zig-zag corner path: 6,193 states and 19,285 edges; the paper prints 6,194 and 18,762."""
    found = {row.item: row for row in jones2019.grid_rows()}
    assert found["Case Study 2: states of the product automaton"].ours == "6193"
    assert found["Case Study 2: edges of the product automaton"].ours == "19285"
    assert all(row.agrees for row in found.values())
