"""Numbers that are known from elsewhere (J19, B26), to the digits they are known to.

See docs/theory/losses.md.
"""

from __future__ import annotations

import pytest

import symveil as sv


@pytest.mark.parametrize(
    ("length", "size", "kind", "calibration", "known", "digits"),
    [
        (5, 2, sv.Exponential, "classic", 0.379291, 6),
        (5, 2, sv.PermuteAndFlip, "classic", 0.245088, 6),
        (5, 2, sv.Exponential, "tight", 0.033464, 6),
        (5, 2, sv.PermuteAndFlip, "tight", 0.0343, 4),
        (14, 4, sv.Exponential, "classic", 2.766344, 6),
        (14, 4, sv.PermuteAndFlip, "classic", 2.758858, 6),
        (14, 4, sv.Exponential, "tight", 0.277387, 6),
        (14, 4, sv.PermuteAndFlip, "tight", 0.3305, 4),
    ],
)
def test_expected_error_at_epsilon_5(length, size, kind, calibration, known, digits):
    mechanism = kind(sv.words(range(size), length), epsilon=5, calibration=calibration)
    assert round(mechanism.distances().expected_error, digits) == known


@pytest.mark.parametrize(("length", "size", "known"), [(5, 2, 4.3226), (14, 4, 4.4129)])
def test_tight_rate_of_permute_and_flip_at_epsilon_5(length, size, known):
    assert round(float(sv.PermuteAndFlip(sv.words(range(size), length), epsilon=5).rate), 4) == known


@pytest.mark.parametrize(
    ("length", "size", "b", "epsilon", "kind", "known"),
    [
        (6, 3, 3, 2, sv.Staircase, 3.0063),
        (6, 3, 3, 2, sv.Exponential, 3.0397),
        (14, 4, 14, 8, sv.Staircase, 5.5866),
        (14, 4, 14, 8, sv.Exponential, 8.8036),
    ],
)
def test_expected_error_of_the_staircase_beside_the_exponential(length, size, b, epsilon, kind, known):
    mechanism = kind(sv.words(range(size), length), epsilon=epsilon, adjacency=b)
    assert round(mechanism.distances().expected_error, 4) == known


def test_counts_of_words_at_distance_2_from_abc():
    """J19 Figure 2: V(start) = 12."""
    assert sv.words("abc", 3).count(2) == 12


def test_the_error_of_the_exponential_in_closed_form():
    """E[d] = nC/(1+C), C = (m−1)e^{−η} (docs/theory/losses.md): 5·2/(e²+2) for n = 5, m = 3, ε = 2."""
    error = sv.Exponential(sv.words("abc", 5), epsilon=2).distances().expected_error
    assert error == pytest.approx(10 / (7.38905609893065 + 2), rel=1e-14)
