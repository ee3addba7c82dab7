"""What every mechanism promises, for random languages, budgets, words and neighbours."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symveil as sv

budgets = st.one_of(
    st.floats(0.001, 60), st.fractions(min_value="1/1000", max_value=60, max_denominator=1009), st.integers(1, 60)
)
adjacencies = st.one_of(st.integers(1, 40), st.just("all"))


@st.composite
def pairs(draw, longest: int = 24, most: int = 30):
    """A language, two words of it, and a third that may be released."""
    length, size = draw(st.integers(1, longest)), draw(st.integers(2, most))
    codes = st.lists(st.integers(0, size - 1), min_size=length, max_size=length)
    word = draw(codes)
    changes = draw(st.dictionaries(st.integers(0, length - 1), st.integers(1, size - 1), min_size=1))
    neighbour = [(code + changes.get(place, 0)) % size for place, code in enumerate(word)]
    near = draw(st.sampled_from([word, neighbour]))
    released = draw(st.one_of(st.just(near), codes))
    return sv.words(range(size), length), word, neighbour, released


@given(case=pairs(), epsilon=budgets)
@settings(max_examples=25)
def test_no_pair_of_neighbours_loses_more_than_is_claimed(private_variant, case, epsilon):
    language, word, neighbour, released = case
    b = sum(one != other for one, other in zip(word, neighbour, strict=True))
    mechanism = private_variant.make(language, epsilon, b)
    loss = mechanism.log_probability(word, released) - mechanism.log_probability(neighbour, released)
    claimed = mechanism.guarantee.epsilon
    assert abs(loss) <= claimed + 1e-9
    # never above the budget, but for its rounding up to a float
    assert Fraction(repr(math.nextafter(claimed, 0))) < Fraction(str(epsilon))


@given(length=st.integers(1, 60), size=st.integers(2, 60), b=adjacencies, epsilon=budgets)
@settings(max_examples=25)
def test_the_claim_is_attained_next_to_the_word_itself(tight_variant, length, size, b, epsilon):
    """Tight means tight: the whole budget is spent (docs/theory/losses.md)."""
    mechanism = tight_variant.make(sv.words(range(size), length), epsilon, b)
    assert mechanism.guarantee.epsilon == pytest.approx(float(epsilon), rel=0, abs=1e-9)
    reach = length if b == "all" else min(b, length)
    word = np.zeros(length, dtype=np.int32)
    released = np.array([[0] * (length - d) + [1] * d for d in range(length + 1)], dtype=np.int32)
    logs = mechanism.log_probabilities(word, released)
    steepest = max(abs(logs[d] - logs[e]) for d in range(length + 1) for e in range(d, min(length, d + reach) + 1))
    assert steepest == pytest.approx(float(epsilon), rel=1e-12, abs=1e-9)


@given(case=pairs(), epsilon=budgets, data=st.data())
@settings(max_examples=15)
def test_names_and_places_of_symbols_do_not_matter(variant, case, epsilon, data):
    """A permutation of the positions, and of the symbols at each position, leaves the law as it is."""
    language, word, _, released = case
    mechanism = variant.make(language, epsilon)
    order = data.draw(st.permutations(range(language.length)))
    shift = data.draw(st.integers(1, len(language.alphabet) - 1))

    def moved(codes):
        return [(codes[place] + shift * place) % len(language.alphabet) for place in order]

    assert mechanism.log_probability(moved(word), moved(released)) == mechanism.log_probability(word, released)
    assert mechanism.log_probability(released, word) == mechanism.log_probability(word, released)


@given(
    length=st.integers(0, 50),
    size=st.integers(1, 50),
    b=adjacencies,
    epsilon=st.floats(0.01, 30),
    more=st.floats(1.01, 3),
)
@settings(max_examples=20)
def test_a_larger_budget_never_means_a_larger_error(variant, length, size, b, epsilon, more):
    language = sv.words(range(size), length)
    before = variant.make(language, epsilon, b).distances().expected_error
    after = variant.make(language, epsilon * more, b).distances().expected_error
    assert after <= before * (1 + 1e-12)


@pytest.mark.parametrize("kind", [sv.Exponential, sv.PermuteAndFlip, sv.Staircase])
@given(length=st.integers(0, 40), size=st.integers(1, 40), b=adjacencies, epsilon=budgets)
@settings(max_examples=30)
def test_tight_is_never_worse_than_classic(kind, length, size, b, epsilon):
    language = sv.words(range(size), length)
    tight, classic = (
        kind(language, epsilon=epsilon, adjacency=b, calibration=calibration) for calibration in ("tight", "classic")
    )
    assert tight.distances().expected_error <= classic.distances().expected_error * (1 + 1e-12)
    assert classic.guarantee.epsilon <= tight.guarantee.epsilon * (1 + 1e-9)


@given(length=st.integers(0, 40), size=st.integers(1, 40), b=adjacencies, epsilon=budgets)
@settings(max_examples=40)
def test_permute_and_flip_is_never_worse_than_the_exponential_mechanism(length, size, b, epsilon):
    """B26 Theorem 2, at the papers' calibration."""
    language = sv.words(range(size), length)
    flip, exponential = (
        kind(language, epsilon=epsilon, adjacency=b, calibration="classic").distances().expected_error
        for kind in (sv.PermuteAndFlip, sv.Exponential)
    )
    assert flip <= exponential * (1 + 1e-12)


@given(length=st.integers(0, 40), size=st.integers(1, 40), b=adjacencies, epsilon=budgets)
@settings(max_examples=20)
def test_a_law_is_a_law(variant, length, size, b, epsilon):
    law = variant.make(sv.words(range(size), length), epsilon, b).distances()
    assert math.fsum(law.probabilities) == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(np.exp(law.log_probabilities), law.probabilities, rtol=1e-12, atol=0)
    assert sum(law.counts) == size**length
    mean = math.fsum(law.probabilities * law.distances)
    assert law.expected_error == pytest.approx(mean, rel=1e-12, abs=1e-300)
