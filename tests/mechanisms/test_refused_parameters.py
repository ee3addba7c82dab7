"""Every parameter that makes no sense is refused by name, at once, before anything is drawn."""

from __future__ import annotations

import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import symveil as sv
from symveil.errors import InputError, ParameterError, SymveilError
from symveil.mechanisms.distance_weighted import Jones2019Printed

PRIVATE_KINDS = (sv.Exponential, sv.PermuteAndFlip, sv.Staircase)


def words():
    return sv.words("abc", 4)


@pytest.mark.parametrize("kind", PRIVATE_KINDS)
@pytest.mark.parametrize(
    "epsilon",
    [
        0,
        0.0,
        -0.0,
        "0",
        "0/5",
        Fraction(0),
        -1,
        "-1/2",
        -1e-300,
        float("nan"),
        float("inf"),
        float("-inf"),
        "nan",
        "inf",
        "Infinity",
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("-Infinity"),
        np.float64("nan"),
        np.float32("inf"),
        "abc",
        "",
        " ",
        "1/",
        "/2",
        "1/0",
        "1/2/3",
        "1e999999999",
        "1e-999999999",
        "1/1e-999999999",
        "9" * 2000,
        "1e99999999999999999999",
        True,
        False,
        np.True_,
        None,
        1j,
        [1],
        (1,),
        b"1",
        np.array(1.0),
        10**9 + 1,
        "1e10",
    ],
    ids=repr,
)
def test_epsilon_must_be_a_positive_finite_number(kind, epsilon):
    started = time.process_time()
    with pytest.raises(ParameterError, match="epsilon: expected") as caught:
        kind(words(), epsilon=epsilon)
    assert time.process_time() - started < 1
    assert caught.value.name == "epsilon"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("epsilon", lambda: sv.Exponential(words(), epsilon=10**5000)),
        ("epsilon", lambda: sv.Exponential(words(), epsilon=-(10**5000))),
        ("adjacency", lambda: sv.Exponential(words(), epsilon=1, adjacency=-(10**5000))),
        ("offset", lambda: sv.Exponential(words(), epsilon=1, offset=-(10**5000))),
        ("length", lambda: sv.words("ab", -(10**5000))),
    ],
)
def test_numbers_too_long_to_print_are_still_refused_by_name(name, refused):
    """Python itself refuses to print integers of more than 4300 digits."""
    with pytest.raises(ParameterError, match=name):
        refused()


def test_a_budget_too_long_to_print_can_still_be_shown():
    """1/10^5000 is a budget like any other; the mechanism must be able to print itself."""
    assert "Exponential" in repr(sv.Exponential(words(), epsilon=Fraction(1, 10**5000)))


@pytest.mark.parametrize("epsilon", [0, "0"])
def test_zero_is_allowed_only_where_a_figure_is_reproduced(epsilon):
    assert Jones2019Printed(words(), epsilon=epsilon).epsilon == 0
    with pytest.raises(ParameterError, match="epsilon"):
        Jones2019Printed(words(), epsilon="-1/1000000")


@pytest.mark.parametrize("kind", [*PRIVATE_KINDS, Jones2019Printed])
@pytest.mark.parametrize(
    "adjacency", [0, -1, 1.5, 1.0, True, False, "2", "ALL", "", [1], Fraction(2), float("nan")], ids=repr
)
def test_adjacency_must_be_a_whole_number_or_all(kind, adjacency):
    with pytest.raises(ParameterError, match='adjacency: expected a whole number, 1 or more, or "all"'):
        kind(words(), epsilon=1, adjacency=adjacency)


def test_an_array_is_no_adjacency():
    with pytest.raises(ParameterError, match="adjacency"):
        sv.Exponential(words(), epsilon=1, adjacency=np.array([1, 2]))


@pytest.mark.parametrize("kind", [sv.Exponential, Jones2019Printed])
@pytest.mark.parametrize("offset", [0, -1, "-1/3", 0.0, float("nan"), float("inf"), "x", True, None], ids=repr)
def test_offset_must_be_positive(kind, offset):
    with pytest.raises(ParameterError, match="offset: expected"):
        kind(words(), epsilon=1, offset=offset)


@pytest.mark.parametrize("kind", PRIVATE_KINDS)
@pytest.mark.parametrize("calibration", ["loose", "Tight", "", None, 1, ["tight"]], ids=repr)
def test_calibration_is_tight_or_classic(kind, calibration):
    with pytest.raises(ParameterError, match="calibration: expected tight or classic"):
        kind(words(), epsilon=1, calibration=calibration)


@pytest.mark.parametrize("utility", ["", "Distance", None, 3])
def test_utility_is_distance_or_inverse(utility):
    with pytest.raises(ParameterError, match="utility: expected distance or inverse"):
        sv.Exponential(words(), epsilon=1, utility=utility)


@pytest.mark.parametrize("length", [-1, 1.5, 2.0, "3", True, None], ids=repr)
def test_length_is_a_whole_number(length):
    with pytest.raises(ParameterError, match="length: expected a whole number, 0 or more"):
        sv.words("abc", length)


@pytest.mark.parametrize("language", ["abc", None, ["abc", "abd"], 5], ids=repr)
@pytest.mark.parametrize("kind", [*PRIVATE_KINDS, Jones2019Printed])
def test_a_mechanism_needs_a_language(kind, language):
    with pytest.raises(ParameterError, match="language: expected"):
        kind(language, epsilon=1)


def test_refusals_are_both_symveil_errors_and_value_errors():
    with pytest.raises(ValueError) as caught:
        sv.Exponential(words(), epsilon=-3)
    assert isinstance(caught.value, SymveilError)
    assert isinstance(caught.value, InputError)
    assert caught.value.value == -3
    assert str(caught.value) == "epsilon: expected a number above 0 such as 0.5 or 1/2, found -3"


@pytest.mark.parametrize(
    ("written", "exact"),
    [(0.1, "1/10"), ("0.1", "1/10"), ("1/3", "1/3"), (Decimal("2.50"), "5/2"), (np.int64(3), "3"), (10**9, 10**9)],
    ids=repr,
)
def test_epsilon_is_kept_as_it_was_written(written, exact):
    assert sv.Exponential(words(), epsilon=written).epsilon == Fraction(exact)
