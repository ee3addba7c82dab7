"""Choosing by name, and "auto": never worse than any mechanism it could have taken."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symveil as sv
from symveil.errors import NotPrivateError, ParameterError, WordError

NAMES = ("exponential", "permute-and-flip", "staircase")


@pytest.mark.parametrize("calibration", ["tight", "classic"])
@given(
    length=st.integers(0, 8),
    size=st.integers(1, 6),
    b=st.one_of(st.integers(1, 10), st.just("all")),
    epsilon=st.floats(0.01, 20),
)
@settings(max_examples=40)
def test_auto_is_never_worse_than_any_mechanism(calibration, length, size, b, epsilon):
    language = sv.words(range(size), length)
    chosen = sv.select_mechanism(language, epsilon=epsilon, adjacency=b, calibration=calibration, beyond="nothing")
    assert chosen.calibration == calibration
    assert chosen.guarantee.epsilon <= epsilon
    for name in NAMES:
        other = sv.select_mechanism(language, epsilon=epsilon, mechanism=name, adjacency=b, calibration=calibration)
        assert other.name == name
        error = other.distances().expected_error
        assert chosen.distances().expected_error <= error * (1 + 1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_parameters_reach_the_mechanism(name):
    mechanism = sv.select_mechanism(
        sv.words("abcd", 4), epsilon="7/3", mechanism=name, adjacency=2, calibration="classic"
    )
    assert (mechanism.name, str(mechanism.epsilon), mechanism.adjacency) == (name, "7/3", 2)
    assert mechanism.calibration == "classic"


def test_the_inverse_utility_belongs_to_the_exponential_mechanism():
    language = sv.words("abc", 3)
    for name in ("auto", "exponential"):
        mechanism = sv.select_mechanism(language, epsilon=1, mechanism=name, utility="inverse", offset=3)
        assert (mechanism.name, mechanism.utility, mechanism.offset) == ("exponential", "inverse", 3)
    for name in ("permute-and-flip", "staircase"):
        with pytest.raises(ParameterError, match="utility"):
            sv.select_mechanism(language, epsilon=1, mechanism=name, utility="inverse")


def test_the_printed_mechanism_must_be_asked_for_as_not_private():
    language = sv.words("abc", 3)
    with pytest.raises(NotPrivateError, match="not_private=True"):
        sv.select_mechanism(language, epsilon=1, mechanism="jones2019-printed")
    printed = sv.select_mechanism(language, epsilon=1, mechanism="jones2019-printed", offset="1/2", not_private=True)
    assert (printed.name, printed.offset) == ("jones2019-printed", 0.5)


@pytest.mark.parametrize("calibration", ["tight", "classic"])
def test_auto_never_takes_the_printed_mechanism(calibration):
    chosen = sv.select_mechanism(sv.words("ab", 6), epsilon=1, calibration=calibration, not_private=True)
    assert chosen.name != "jones2019-printed"


@pytest.mark.parametrize("name", ["", "Exponential", "laplace", None, 3])
def test_an_unknown_mechanism_is_refused(name):
    with pytest.raises(ParameterError, match="permute-and-flip, staircase"):
        sv.select_mechanism(sv.words("ab", 3), epsilon=1, mechanism=name)


def test_on_a_model_without_a_certificate_permute_and_flip_is_taken():
    """With nothing better than the classic ε/2b for both, B26 Theorem 2 decides: its error is never larger."""
    chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    language = sv.runs(chain, 4)
    exponential = sv.Exponential(language, epsilon=2, adjacency=1, calibration="classic")
    chosen = sv.select_mechanism(language, epsilon=2, adjacency=1, calibration="classic")
    assert (exponential.guarantee.how, chosen.name, chosen.calibration) == ("classic", "permute-and-flip", "classic")
    for word in ("aaaa", "abab"):
        assert chosen.distances(word).expected_error <= exponential.distances(word).expected_error
    assert sv.audit(chosen).worst_epsilon <= 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior": "flat"}, "prior: expected uniform, chain or degrees, found flat"),
        ({"prior": "degrees"}, "prior: expected uniform, unless there is a model"),
        ({"prior": "chain"}, "prior: expected uniform, unless the model is a Markov chain, found chain"),
        ({"mechanism": "online", "calibration": "classic"}, "calibration: expected tight for mechanism online"),
        ({"mechanism": "truncated-levenshtein"}, "truncated-levenshtein needs metric levenshtein"),
        ({"cutoff": 2}, "cutoff: expected mechanism truncated-levenshtein with it"),
    ],
)
def test_parameters_that_do_not_go_together(options, message):
    with pytest.raises(ParameterError, match=message):
        sv.select_mechanism(sv.words("ab", 3), epsilon=1, **options)


def test_a_prior_has_the_utility_of_the_distance_only():
    chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    with pytest.raises(ParameterError, match="utility: expected distance with prior chain, found inverse"):
        sv.Exponential(sv.runs(chain, 3), epsilon=1, adjacency=1, prior="chain", utility="inverse")
    for options in ({"prior": "chain"}, {"utility": "inverse"}):
        with pytest.raises(ParameterError, match="with metric levenshtein"):
            sv.select_mechanism(sv.words_up_to("ab", 3), epsilon=1, **options)


def test_on_a_model_a_law_is_that_of_a_word():
    chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    with pytest.raises(WordError, match="on a model the law depends on it"):
        sv.Exponential(sv.runs(chain, 3), epsilon=1, adjacency=1).distances()
