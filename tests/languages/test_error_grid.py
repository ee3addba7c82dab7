"""The grid of errors against words written out one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symveil as sv
from symveil.errors import ParameterError, TooLargeError
from symveil.examples.paper_systems import TRIP, four_states, network_language
from symveil.languages.free import FreeLanguage
from symveil.languages.run_product import LONGEST_WORD, error_grid
from symveil.languages.runs import RunLanguage


def check(language: FreeLanguage | RunLanguage, number: int) -> None:
    words = language.enumerate_codes(at_most=5000)
    word = words[number % len(words)]
    differing = (words != word)[language.comparable(word, words)]
    grid = error_grid(language, word)
    length = language.length
    so_far = np.concatenate([np.zeros((len(differing), 1), dtype=int), differing.cumsum(axis=1)], axis=1)
    for distance in range(length + 1):
        there = so_far[:, -1] == distance
        for position in range(length + 1):
            for errors in range(length + 1):
                here = there & (so_far[:, position] == errors)
                share = here.sum() / there.sum() if there.any() else 0.0
                assert grid.passing[position, errors, distance] == pytest.approx(share, abs=1e-12)
                if position < length:
                    err = (here & differing[:, position]).sum() / there.sum() if there.any() else 0.0
                    assert grid.erring[position, errors, distance] == pytest.approx(err, abs=1e-12)


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(0, 5))
@settings(max_examples=25, deadline=None)
def test_on_the_free_language(number: int, size: int, length: int) -> None:
    check(sv.words("abcd"[:size], length), number)


@given(st.integers(0, 10**6), st.booleans(), st.integers(1, 6))
@settings(max_examples=25, deadline=None)
def test_on_chains(number: int, public_start: bool, length: int) -> None:
    rows = [("a", "b", "1/2"), ("a", "c", "1/2"), ("b", "a", 1), ("c", "c", "1/3"), ("c", "b", "2/3")]
    check(sv.runs(sv.MarkovChain.from_transitions(rows), length, public_start=public_start), number)


def test_on_the_words_of_b26_figure_3() -> None:
    for number in range(8):
        check(four_states(), number)


def test_a_mixture_is_a_law_at_every_position() -> None:
    language = network_language()
    law = sv.Exponential(language, epsilon=5, adjacency=1, calibration="classic").distances(TRIP)
    chances = np.zeros(language.length + 1)
    chances[law.distances] = law.probabilities
    through, errs = error_grid(language, language.encode(TRIP)).mixed(chances)
    assert through.sum(axis=1) == pytest.approx(np.ones(language.length + 1))
    assert through[-1] == pytest.approx(chances)
    # errors come one at a time: the expectation is the sum of the rates along the way
    assert (through * errs).sum() == pytest.approx(law.expected_error)


def test_long_words_keep_their_precision() -> None:
    language = sv.words("abc", LONGEST_WORD)
    grid = error_grid(language, language.encode("abc" * (LONGEST_WORD // 3)))
    # after half of the word half of the errors, on average, at every distance
    half = LONGEST_WORD // 2
    mean = np.arange(LONGEST_WORD + 1) @ grid.passing[half]
    assert mean == pytest.approx(np.arange(LONGEST_WORD + 1) / 2)


def test_what_cannot_be_summed_up_is_refused() -> None:
    language = sv.words("ab", LONGEST_WORD + 1)
    with pytest.raises(TooLargeError, match="grid of errors"):
        error_grid(language, language.encode("a" * (LONGEST_WORD + 1)))
    small = sv.words("ab", 2)
    with pytest.raises(ParameterError, match="3 probabilities"):
        error_grid(small, small.encode("ab")).mixed(np.ones(2))
