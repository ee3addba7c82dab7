"""Reading parameters: exact, by name, and only what makes sense."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from file_mechanism import file_mechanism
from symveil.errors import ParameterError
from symveil.laws.parameters import (
    read_adjacency,
    read_calibration,
    read_epsilon,
    read_metric,
    read_offset,
    read_utility,
    require_spellable,
)
from symveil.numbers.rationals import spelled


@given(st.fractions(min_value="1/1000000000000", max_value=10**9))
def test_epsilon_is_kept_exact(value):
    assert read_epsilon(value) == value
    assert read_epsilon(f"{value.numerator}/{value.denominator}") == value


@given(st.fractions(max_value=0))
def test_epsilon_is_above_zero(value):
    with pytest.raises(ParameterError, match="epsilon: expected a number above 0"):
        read_epsilon(value)


def test_epsilon_zero_only_where_it_is_allowed():
    assert read_epsilon(0, zero_allowed=True) == 0
    with pytest.raises(ParameterError):
        read_epsilon("-1e-9", zero_allowed=True)
    with pytest.raises(ParameterError):
        read_epsilon(0)


@pytest.mark.parametrize(("value", "read"), [(10**9, True), (10**9 + 1, False), ("1000000000.1", False)])
def test_epsilon_has_a_largest_value(value, read):
    if read:
        assert read_epsilon(value) == value
    else:
        with pytest.raises(ParameterError, match="epsilon: expected at most 1000000000"):
            read_epsilon(value)


@given(st.integers(1, 10**12), st.integers(0, 100))
def test_adjacency_is_kept_as_it_is(value, length):
    assert read_adjacency(value, length=length) == value


@given(st.integers(0, 10**6))
def test_all_means_the_whole_word(length):
    assert read_adjacency("all", length=length) == max(1, length)


@pytest.mark.parametrize("value", [0, -1, 1.5, 2.0, True, False, "1", "some", None, Fraction(3), [], b"all"], ids=repr)
def test_any_other_adjacency_is_refused(value):
    with pytest.raises(ParameterError, match="adjacency: expected a whole number, 1 or more") as caught:
        read_adjacency(value, length=3)
    assert caught.value.name == "adjacency"


@given(st.fractions(min_value="1/1000000", max_value=10**6))
def test_offset_is_kept_exact(value):
    assert read_offset(value) == value


@given(st.fractions(max_value=0))
def test_offset_is_above_zero(value):
    with pytest.raises(ParameterError, match="offset: expected a number above 0"):
        read_offset(value)


@pytest.mark.parametrize(
    ("read", "values"),
    [
        (read_calibration, ["tight", "classic"]),
        (read_utility, ["distance", "inverse"]),
        (read_metric, ["hamming", "levenshtein"]),
    ],
)
def test_choices_are_taken_from_their_list(read, values):
    assert [read(value) for value in values] == values
    for other in ("", values[0].upper(), " ".join(values), None, 0, values):
        with pytest.raises(ParameterError, match=f"expected {values[0]} or {values[1]}"):
            read(other)


def test_a_bound_on_the_length_belongs_to_words_whose_length_is_secret():
    assert read_metric("levenshtein", max_length=5) == "levenshtein"
    with pytest.raises(ParameterError, match="max_length: expected metric levenshtein with it"):
        read_metric("hamming", max_length=5)


@given(st.builds(Fraction, st.integers(1, 10**400 - 1), st.integers(10**391, 10**400 - 1)))
@settings(max_examples=50)
def test_what_a_manifest_says_is_read_as_the_same_number(epsilon) -> None:
    assert read_epsilon(spelled(require_spellable(epsilon, "epsilon"))) == epsilon
    assert read_offset(str(epsilon)) == epsilon


@pytest.mark.parametrize("value", [Fraction(1, 10**400), "0." + "3" * 500, Fraction(10**400 + 1, 10**399)])
@pytest.mark.parametrize("name", ["epsilon", "offset"])
def test_a_file_is_not_released_with_a_number_that_its_manifest_cannot_say(name, value) -> None:
    """The check would refuse to read it."""
    chosen = {"epsilon": 1, name: value}
    with pytest.raises(ParameterError, match=f"{name}: expected a fraction of at most 400 digits"):
        file_mechanism(alphabet="ab", **chosen)
