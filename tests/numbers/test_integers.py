"""Printing integers: all digits up to 10⁴ of them, their size beyond (the contract's JSON documents)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from symveil.numbers.conversions import decimal


@pytest.fixture(scope="module", autouse=True)
def python_prints_long_integers() -> Iterator[None]:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    yield
    sys.set_int_max_str_digits(before)


@given(st.integers(min_value=0, max_value=10**40))
def test_all_digits_of_an_ordinary_number(value):
    assert decimal(value) == str(value)


@pytest.mark.parametrize(
    "value",
    [
        0,
        10**4299,
        10**4300,
        10**9000 + 7,
        10**9998,
        10**9999 - 1,
        10**9999,
        10**9999 + 1,
        12345 * 10**9995,
        2**33219,
        9 * 10**9999,
        10**10000 - 10**9000,
        10**10000 - 1,
    ],
    ids=["0", "10^4299", "10^4300", "10^9000+7", "10^9998", "10^9999-1", "10^9999", "10^9999+1", "12345e9995",
         "2^33219", "9e9999", "10^10000-10^9000", "10^10000-1"],
)  # fmt: skip
def test_ten_thousand_digits_are_still_digits(value):
    assert len(str(value)) <= 10_000
    assert decimal(value) == str(value)


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (10**10000, "1.000e+10000"),
        (10**10000 + 1, "1.000e+10000"),
        (2**33220, "1.646e+10000"),
        (10**20000 // 7, "1.429e+19999"),
        (10**20000 - 1, "1.000e+20000"),
        (99995 * 10**20000, "1.000e+20005"),
        (99994 * 10**20000, "9.999e+20004"),
        (10**20000, "1.000e+20000"),
        (12344 * 10**20000, "1.234e+20004"),
    ],
    ids=["10^10000", "10^10000+1", "2^33220", "1/7", "nines", "99995", "99994", "10^20000", "12344"],
)
def test_beyond_that_the_size(value, printed):
    assert decimal(value) == printed


@given(st.integers(1, 10**30), st.integers(10_000, 30_000), st.integers(0, 10**30))
@example(99995, 20_000, 0)
@example(99994999999, 20_000, 10**30)
@settings(max_examples=60)
def test_the_size_is_right_to_four_digits(leading, power, more):
    value = leading * 10**power + more
    mantissa, _, exponent = decimal(value).partition("e+")
    printed = Fraction(mantissa) * 10 ** int(exponent)
    assert len(mantissa) == 5
    assert 1 <= Fraction(mantissa) < 10
    assert abs(printed - value) <= Fraction(1, 2000) * 10 ** int(exponent) * (1 + Fraction(1, 10**9))
