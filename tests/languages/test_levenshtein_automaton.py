"""The Levenshtein automaton of J19 Definition 7, right and as printed."""

from __future__ import annotations

import itertools

import pytest
from rapidfuzz.distance import Levenshtein

import symveil as sv
from symveil.errors import AlphabetError, ParameterError, TooLargeError, WordError


@pytest.mark.parametrize(("word", "k"), [("", 0), ("", 2), ("a", 1), ("abc", 0), ("abc", 2), ("aab", 3), ("abab", 1)])
def test_it_accepts_the_words_within_k_and_no_other(word, k):
    automaton = sv.levenshtein_automaton(word, k, alphabet="abc")
    accepted = 0
    for length in range(len(word) + k + 2):
        for symbols in itertools.product("abc", repeat=length):
            other = "".join(symbols)
            near = Levenshtein.distance(word, other) <= k
            assert automaton.accepts(other) is near
            assert automaton.distance(other) == Levenshtein.distance(word, other)
            accepted += near
    assert automaton.language_size == accepted


def test_the_printed_algorithm_accepts_too_much_and_too_little():
    printed = sv.levenshtein_automaton("abc", 2, printed=True)
    # every symbol for free: a word at distance 3 passes
    assert Levenshtein.distance("abc", "caa") == 3
    assert printed.accepts("caa")
    # and no insertion at all
    assert Levenshtein.distance("abc", "abcc") == 1
    assert not printed.accepts("abcc")
    wrong = "".join(printed.misjudged())
    assert printed.accepts(wrong) is not (Levenshtein.distance("abc", wrong) <= 2)
    assert sv.levenshtein_automaton("abc", 2).misjudged() is None
    with pytest.raises(ParameterError, match="printed"):
        printed.count(1)


@pytest.mark.parametrize("printed", [False, True])
def test_as_a_model_it_accepts_the_same_words(printed):
    automaton = sv.levenshtein_automaton("aba", 1, alphabet="ab", printed=printed)
    model = automaton.to_automaton()
    for length in range(2, 5 - printed):
        expected = {word for word in itertools.product("ab", repeat=length) if automaton.accepts(word)}
        rows = sv.runs(model, length=length).enumerate_codes(at_most=100)
        symbols = sv.runs(model, length=length).alphabet.symbols
        assert {tuple(symbols[code] for code in row) for row in rows} == expected


def test_counts_by_distance_and_length():
    automaton = sv.levenshtein_automaton("abab", 3, alphabet="abc")
    for distance, length in itertools.product(range(4), range(9)):
        words = ("".join(symbols) for symbols in itertools.product("abc", repeat=length))
        assert automaton.count(distance, length=length) == sum(
            Levenshtein.distance("abab", word) == distance for word in words
        )


def test_k_4_is_quick_for_hundreds_of_symbols():
    automaton = sv.levenshtein_automaton("the quick brown fox " * 10, 4)
    states, edges = automaton.deterministic_size
    assert states < 200_000
    assert edges < 2_000_000
    assert automaton.count(0) == 1


def test_sizes_and_pictures():
    automaton = sv.levenshtein_automaton("abc", 2)
    assert (automaton.state_count, automaton.edge_count) == (12, 29) == (12, len(list(automaton.edges)))
    svg = automaton._repr_svg_()
    assert svg.startswith("<svg")
    assert "∗, ε" in svg
    assert "∗" in automaton.to_dot()
    printed = sv.levenshtein_automaton("abc", 2, printed=True)
    assert printed.edge_count == len(list(printed.edges))
    assert "as printed" in printed.to_svg()
    large = sv.levenshtein_automaton("abc" * 100, 2)
    assert large._repr_svg_() is None
    with pytest.raises(TooLargeError, match="400 states"):
        large.to_svg()
    assert "abc" not in repr(automaton)


def test_the_product_with_a_model():
    chain = sv.MarkovChain.from_transitions([("a", "b", 1), ("b", "a", "1/2"), ("b", "c", "1/2"), ("c", "a", 1)])
    near = sv.levenshtein_automaton("abc", 1).neighbours(sv.runs_up_to(chain, 4))
    expected = {"bc", "ab", "aba", "abca", "cabc", "babc"}  # ac, abb … cannot happen
    assert near.counts() == [1, len(expected)]


@pytest.mark.parametrize("k", [-1, 1.5, True, "2"])
def test_bad_distances_are_refused(k):
    with pytest.raises(ParameterError, match="k: expected a whole number"):
        sv.levenshtein_automaton("abc", k)


def test_bad_words_are_refused():
    with pytest.raises(WordError, match="position 3"):
        sv.levenshtein_automaton("abc", 1, alphabet="ab")
    with pytest.raises(AlphabetError, match="at least one symbol"):
        sv.levenshtein_automaton("", 1)
    with pytest.raises(WordError, match="found a int"):
        sv.levenshtein_automaton(7, 1)
    assert not sv.levenshtein_automaton("abc", 1).accepts("abx")
