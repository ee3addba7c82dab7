"""Numbers as they were written, and rounding against the claim."""

from __future__ import annotations

import math
import sys
import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from symveil.errors import ParameterError
from symveil.numbers.rationals import at_least, exact, spelled

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(finite)
@example(0.1)
@example(5e-324)
@example(sys.float_info.max)
@example(-0.0)
def test_a_float_is_the_decimal_it_prints_as(value):
    assert exact(value) == Fraction(repr(value)) == exact(repr(value)) == exact(np.float64(value))


@given(st.fractions(max_denominator=10**30))
def test_a_fraction_is_itself_however_it_is_written(value):
    assert exact(value) == value
    assert exact(f"{value.numerator}/{value.denominator}") == value
    assert exact(f"  {value.numerator} / {value.denominator}\n") == value


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**40), max_value=10**40, places=30))
def test_a_decimal_is_itself_however_it_is_written(value):
    assert exact(value) == exact(str(value)) == exact(f"{value:e}") == Fraction(value)


@given(st.integers())
def test_an_integer_is_itself(value):
    assert exact(value) == exact(str(value)) == Fraction(value)


def test_an_integer_longer_than_python_prints_is_itself():
    assert exact(10**6000) == 10**6000


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("0.1", "1/10"),
        ("1/3", "1/3"),
        ("2.50", "5/2"),
        ("1.5/2.5", "3/5"),
        ("1e-3", "1/1000"),
        ("+7", "7"),
        ("-1/-2", "1/2"),
        (".5", "1/2"),
        ("0e999999999", "0"),
        (np.float32(0.5), "1/2"),
        (np.int8(-3), "-3"),
        (np.uint64(2**64 - 1), 2**64 - 1),
        ("1e400", 10**400),
        ("1e-400", Fraction(1, 10**400)),
    ],
    ids=repr,
)
def test_spellings(written, value):
    assert exact(written) == Fraction(value)


@pytest.mark.parametrize(
    "written",
    [
        "abc", "", " ", "/", "1/", "/1", "1//2", "1/2/3", "1/0", "0/0", "1/0.000", "nan", "-nan", "sNaN", "inf",
        "-Infinity", "1/inf", "inf/inf", "1e401", "1e-401", "1e999999999", "1e-999999999", "2/1e999999999",
        "1e99999999999999999999", "0x10", "1,5", "1 2", "½", "9" * 500, "9" * 10**6, "0." + "0" * 500 + "1",
        "1" + " " * 1001 + "/", True, False, np.True_, None, 1j, b"1", [1], (1, 2), {}, np.array([1.0]), np.array(2),
        float("nan"), float("inf"), -math.inf, np.float32("nan"), Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"),
        Decimal("1e500"), object,
    ],
    ids=lambda written: repr(written)[:30],
)  # fmt: skip
def test_anything_else_is_refused_quickly_and_by_name(written):
    started = time.process_time()
    with pytest.raises(ParameterError, match=r"^theta: expected a share") as caught:
        exact(written, name="theta", expected="a share")
    assert time.process_time() - started < 1
    assert caught.value.name == "theta"
    assert len(str(caught.value)) < 2000


@given(st.fractions(min_value=-(10**18), max_value=10**18))
@example(Fraction(3, 10))
@example(Fraction(1, 3))
@example(Fraction(0))
@example(Fraction(1, 10**400))
@example(Fraction(2**53 + 1))
def test_at_least_is_the_smallest_float_that_prints_no_less(value):
    found = at_least(value)
    assert Fraction(repr(found)) >= value
    assert Fraction(repr(math.nextafter(found, -math.inf))) < value


@given(finite)
def test_at_least_keeps_a_number_that_a_float_prints(value):
    assert at_least(exact(value)) == value


@given(st.floats(min_value=5e-324, max_value=1e300), st.integers(-8, 8), st.integers(2, 10**6))
def test_at_least_next_to_the_halfway_points_between_floats(value, eighths, denominator):
    gap = Fraction(math.nextafter(value, math.inf)) - Fraction(value)
    near = max(Fraction(value) + gap * Fraction(eighths, 8) + gap / denominator**3, Fraction(0))
    found = at_least(near)
    assert Fraction(repr(found)) >= near
    assert Fraction(repr(math.nextafter(found, -math.inf))) < near


@given(st.fractions(max_denominator=10**12))
def test_spelling_loses_nothing(value):
    assert exact(spelled(value)) == value
