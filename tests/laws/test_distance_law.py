"""The law of the distance: tails, the bound of B26 Theorem 2, and a law that cannot be altered."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symveil as sv
from symveil.mechanisms.distance_weighted import Jones2019Printed


@pytest.mark.parametrize(("length", "size"), [(1, 2), (3, 3), (5, 2), (5, 4)])
def test_the_tail_adds_up_the_words_that_are_far(write_out, variant, length, size):
    written = write_out(length, size)
    mechanism = variant.make(written.language, 1, 2)
    law = mechanism.distances()
    chances = np.exp(mechanism.log_probabilities(written.rows[0], written.rows))
    distances = np.array(written.distances_from(written.words[0]))
    mean = math.fsum(chances * distances)
    for deviation in (0.01, 0.25, 1 / 3, 1, 1.7, length):
        far = np.abs(distances - mean) >= deviation
        assert law.tail(deviation) == pytest.approx(math.fsum(chances[far]), rel=1e-12, abs=1e-15)


@given(
    length=st.integers(1, 30),
    size=st.integers(2, 30),
    epsilon=st.floats(0.01, 30),
    kind=st.sampled_from([sv.Exponential, sv.PermuteAndFlip, sv.Staircase]),
    deviations=st.lists(st.floats(1e-6, 31), min_size=1, max_size=20),
)
@settings(max_examples=60)
def test_the_tail_bound_of_theorem_2_holds(length, size, epsilon, kind, deviations):
    law = kind(sv.words(range(size), length), epsilon=epsilon, calibration="classic").distances()
    for deviation in deviations:
        bound = law.tail_bound(deviation)
        assert law.tail(deviation) <= bound <= 1
        assert bound == pytest.approx(min(1, 2 * math.exp(-2 * deviation**2 / length**2)), rel=1e-12)


def test_a_distance_exactly_at_the_deviation_belongs_to_the_tail():
    """The printed mechanism at ε = 0 draws ℓ uniformly: for n = 1 the mean is 1/2, for n = 2 it is 1."""
    one, two = (Jones2019Printed(sv.words("ab", length), epsilon=0).distances() for length in (1, 2))
    assert (one.expected_error, two.expected_error) == (0.5, 1)
    assert one.tail(0.5) == pytest.approx(1, abs=1e-15)
    assert one.tail(0.500001) == 0
    assert two.tail(1) == pytest.approx(2 / 3, abs=1e-15)
    assert two.tail(0.999999) == pytest.approx(2 / 3, abs=1e-15)


def test_a_tail_of_nothing_is_everything():
    law = sv.Exponential(sv.words("abc", 4), epsilon=1).distances()
    assert law.tail(0) == pytest.approx(1, abs=1e-12)
    assert law.tail(0) <= 1
    assert law.tail(5) == 0
    assert law.tail_bound(0) == 1
    assert law.tail_bound(-1) == 1


def test_only_permute_and_flip_has_the_bounds_of_theorem_2():
    language = sv.words("abc", 4)
    assert sv.Exponential(language, epsilon=1).distances().bounds is None
    assert sv.Staircase(language, epsilon=1).distances().bounds is None
    assert sv.PermuteAndFlip(language, epsilon=1).distances().bounds is not None


@given(
    length=st.integers(0, 60),
    size=st.integers(1, 60),
    epsilon=st.floats(0.001, 60),
    b=st.integers(1, 10),
    calibration=st.sampled_from(["tight", "classic"]),
)
@settings(max_examples=60)
def test_the_bounds_of_theorem_2_hold_the_expected_error(length, size, epsilon, b, calibration):
    mechanism = sv.PermuteAndFlip(sv.words(range(size), length), epsilon=epsilon, adjacency=b, calibration=calibration)
    law = mechanism.distances()
    assert law.bounds.lower <= law.expected_error <= law.bounds.upper


@pytest.mark.parametrize("array", ["distances", "probabilities", "log_probabilities"])
def test_a_law_cannot_be_altered(array):
    """It is shared by everyone who asks the mechanism for it."""
    law = sv.Staircase(sv.words("abc", 3), epsilon=1).distances()
    before = getattr(law, array).copy()
    with pytest.raises(ValueError, match="read-only"):
        getattr(law, array)[0] = 7
    np.testing.assert_array_equal(getattr(law, array), before)


def test_a_law_draws_itself_whatever_its_size():
    page = sv.Exponential(sv.words(range(1000), 5000), epsilon=1).distances()._repr_html_()
    assert page.count("<tr>") == 21
    assert len(page) < 20_000  # at most 160 bars and 20 rows, however long the words are
    assert "Expected error" in page
