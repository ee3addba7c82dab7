"""The largest value within reach, by looking at all of them."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from symveil.calibration.truncated_loss import _largest_near


@given(st.lists(st.fractions(), min_size=1, max_size=30), st.integers(0, 40))
def test_the_largest_value_within_reach(values: list[Fraction], reach: int) -> None:
    expected = [max(values[max(0, place - reach) : place + reach + 1]) for place in range(len(values))]
    assert _largest_near(values, reach) == expected
