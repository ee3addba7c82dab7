"""P(w'|w) of every mechanism against the definition, word by word (docs/theory/losses.md)."""

from __future__ import annotations

import math

import numpy as np
import pytest

import symveil as sv

EPSILONS = (0.1, 1, 5)
ADJACENCIES = (1, 2, 3)

small_languages = pytest.mark.parametrize(
    ("length", "size"), [(length, size) for length in range(6) for size in range(1, 5)]
)


@small_languages
def test_the_law_is_the_definition_normalised_over_all_words(write_out, weighted_variant, length, size):
    written = write_out(length, size)
    for epsilon in EPSILONS:
        for b in ADJACENCIES:
            mechanism = weighted_variant.make(written.language, epsilon, b)
            by_distance = weighted_variant.log_law(written, epsilon, b)
            for index in written.some_words(4):
                expected = np.array([by_distance[d] for d in written.distances_from(written.words[index])])
                found = mechanism.log_probabilities(written.rows[index], written.rows)
                np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
                assert math.fsum(np.exp(found)) == pytest.approx(1, abs=1e-12)


@small_languages
def test_the_law_of_the_distance_collects_the_words_at_each_distance(write_out, weighted_variant, length, size):
    written = write_out(length, size)
    counts = written.counts
    for epsilon in EPSILONS:
        for b in ADJACENCIES:
            law = weighted_variant.make(written.language, epsilon, b).distances()
            assert dict(zip(law.distances.tolist(), law.counts, strict=True)) == counts
            log_law = weighted_variant.log_law(written, epsilon, b)
            expected = [counts[d] * math.exp(log_law[d]) for d in sorted(counts)]
            np.testing.assert_allclose(law.probabilities, expected, rtol=1e-12, atol=0)
            logs = [math.log(counts[d]) + log_law[d] for d in sorted(counts)]
            np.testing.assert_allclose(law.log_probabilities, logs, rtol=0, atol=1e-12)
            assert math.fsum(law.probabilities) == pytest.approx(1, abs=1e-12)
            error = math.fsum(d * chance for d, chance in zip(sorted(counts), expected, strict=True))
            assert law.expected_error == pytest.approx(error, rel=1e-12, abs=1e-300)


def test_probability_of_symbols_is_the_law_between_every_two_words(write_out, variant):
    written = write_out(2, 3)
    mechanism = variant.make(written.language, 1, 1)
    for word, row in zip(written.language, written.rows, strict=True):
        logs = mechanism.log_probabilities(row, written.rows)
        for released, log in zip(written.language, logs, strict=True):
            assert mechanism.log_probability(word, "".join(released)) == log
            assert mechanism.probability("".join(word), list(released)) == pytest.approx(math.exp(log), rel=1e-15)


def test_the_law_of_the_distance_does_not_depend_on_the_word(variant):
    mechanism = variant.make(sv.words("abc", 3), 2, 2)
    expected = mechanism.distances().log_probabilities
    for word in ("abc", "ccc", ("b", "a", "a")):
        np.testing.assert_array_equal(mechanism.distances(word).log_probabilities, expected)


def test_an_additive_offset_of_the_utility_cancels(write_out):
    """Z25 Definition 9: adding a constant to the inverse utility changes no probability."""
    written = write_out(3, 3)
    shifted = {d: log + 7.0 for d, log in {d: 4 / (2 * (d + 1)) for d in written.counts}.items()}
    total = math.fsum(math.exp(shifted[d]) for d in written.distances_from(written.words[0]))
    mechanism = sv.Exponential(written.language, epsilon=2, calibration="classic", utility="inverse")
    # ε = 2, a = b = 1: εa(b+a)/(2b(ℓ+a)) = 2/(ℓ+1)
    for d, log in shifted.items():
        word = "a" * (3 - d) + "b" * d
        assert mechanism.probability("aaa", word) == pytest.approx(math.exp(log) / total, rel=1e-12)
