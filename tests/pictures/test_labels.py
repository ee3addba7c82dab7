"""Labels are short, never ambiguous, and say when they are rounded."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from symveil.pictures.text import count_label, displayable, others_label, probability_label, symbol_label, width


@pytest.mark.parametrize("symbol", ["", " ", "  ", "\n", "\x00", "\ud800", " a", "a,b", ",", "\u200b"])
def test_symbols_that_would_be_invisible_or_mistaken_are_shown_otherwise(symbol):
    shown = symbol_label(symbol)
    assert shown.strip()
    assert shown.isprintable()
    assert shown != symbol


@given(st.text(max_size=60))
def test_a_symbol_is_never_long_nor_invisible(symbol):
    shown = symbol_label(symbol)
    assert 1 <= len(shown) <= 20
    assert shown.isprintable()


def test_a_long_list_of_others_gives_way_to_what_they_are_not():
    streets = ["a very long street", "another long street"]
    assert others_label(streets, besides="main st") == "≠main st (2)"
    assert others_label("bcde", besides="a") == "b, c, d, e"
    assert others_label("bcdef", besides="a") == "≠a (5)"


@given(st.integers(0, 10**60))
@example(10**9 - 1)
def test_a_count_is_exact_or_says_that_it_is_not(count):
    shown = count_label(count)
    if not shown.startswith("≈"):
        assert int(shown) == count < 10**7
        return
    mantissa, exponent = shown[1:].split("×10")
    power = int(exponent.translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")))
    assert 1 <= float(mantissa) < 10
    assert math.isclose(float(mantissa) * 10.0**power, count, rel_tol=0.0051)


def test_a_count_beyond_ten_thousand_digits():
    assert count_label(10**20_000) == "≈1.00×10²⁰⁰⁰⁰"


@given(st.fractions(0, 1))
def test_a_probability_is_exact_or_says_that_it_is_not(probability):
    shown = probability_label(probability)
    if shown.startswith("≈"):
        assert math.isclose(float(shown[1:]), probability, rel_tol=0.051)
    else:
        assert Fraction(shown) == probability


def test_probabilities_too_small_for_floats():
    assert probability_label(Fraction(1, 10**5000)) == "<1e-300"


@given(st.text())
def test_displayable_text_survives_every_encoding(text):
    shown = displayable(text)
    assert len(shown) == len(text)
    shown.encode("utf-8")
    assert "\x00" not in shown
    assert width(shown, 10) >= 0
