"""Words of length 0 and 1, one-symbol alphabets, adjacency beyond the length."""

from __future__ import annotations

import numpy as np
import pytest

import symveil as sv
from symveil.randomness import NotPrivateSeededBits


@pytest.mark.parametrize(("alphabet", "word"), [("ab", ""), ("a", ""), ("a", "a"), ("a", "aaaa"), ("ab", ())])
@pytest.mark.parametrize("b", [1, 3, "all"])
def test_a_language_of_one_word_releases_that_word_at_no_loss(variant, alphabet, word, b):
    mechanism = variant.make(sv.words(alphabet, len(word)), 1, b)
    assert mechanism.guarantee == sv.Guarantee(epsilon=0.0, how="exact")
    assert mechanism.release(word) == word
    assert mechanism.release_many([word] * 20) == [word] * 20
    assert mechanism.release_codes(np.zeros((40, len(word)), dtype=np.int32)).tolist() == [[0] * len(word)] * 40
    assert mechanism.probability(word, word) == 1
    law = mechanism.distances(word)
    assert (law.distances.tolist(), law.counts, law.probabilities.tolist()) == ([0], [1], [1.0])
    assert law.log_probabilities.tolist() == [0.0]
    assert law.expected_error == 0
    assert law.tail(0.5) == 0


def test_a_word_of_one_symbol_can_become_every_symbol(variant):
    mechanism = variant.make(sv.words("abcd", 1), 1, 1)
    bits = NotPrivateSeededBits(11)
    assert set(mechanism.release_many(["c"] * 400, bits=bits)) == set("abcd")


@pytest.mark.parametrize("beyond", [4, 100, 10**9])
def test_adjacency_beyond_the_length_asks_for_no_more_than_the_whole_word(tight_variant, beyond):
    language = sv.words("abc", 3)
    whole, further = (tight_variant.make(language, 2, b) for b in ("all", beyond))
    assert further.adjacency == beyond
    assert further.guarantee.epsilon == pytest.approx(2, abs=1e-9)
    np.testing.assert_allclose(
        further.distances().log_probabilities, whole.distances().log_probabilities, rtol=0, atol=1e-12
    )


def test_classic_calibrations_use_the_adjacency_as_it_was_given():
    """η = ε/2b is the papers' number also where b exceeds the length."""
    language = sv.words("abc", 3)
    for kind in (sv.Exponential, sv.PermuteAndFlip):
        assert kind(language, epsilon=2, adjacency=10, calibration="classic").rate == pytest.approx(0.1)


def test_all_is_at_least_one():
    assert sv.Exponential(sv.words("ab", 0), epsilon=1, adjacency="all").adjacency == 1


def test_no_words_give_no_words(variant):
    mechanism = variant.make(sv.words("ab", 3), 1)
    assert mechanism.release_many([]) == []
    assert mechanism.release_codes(np.empty((0, 3), dtype=np.int32)).shape == (0, 3)


@pytest.mark.parametrize("b", [1, "all"])
@pytest.mark.parametrize("epsilon", [1, 200])
def test_costs_of_the_empty_word_of_a_model_are_chosen_by_auto(b, epsilon):
    model = sv.Automaton.from_transitions([("p", "a", "p")], initial="p", accepting=["p"])
    choice = sv.MechanismChoice(epsilon=epsilon, adjacency=b, cost="swap", calibration="classic")
    mechanism = sv.choose_mechanism(choice, sv.runs(model, length=0))
    assert mechanism.guarantee.epsilon <= epsilon
    assert mechanism.release("") == ""
    assert mechanism.probability("", "") == 1
