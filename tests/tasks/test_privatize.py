"""`sv.privatize`: any mixture of lengths, in order, or nothing."""

from __future__ import annotations

import pytest

import symveil as sv
from symveil.errors import ParameterError, WordError
from symveil.randomness import NotPrivateSeededBits


def test_order_types_and_lengths_are_kept() -> None:
    sources = ["abcab", ("a", "b"), "", ["c"], "cba"]
    released = sv.privatize(sources, alphabet="abc", epsilon=3)
    assert [len(word) for word in released] == [5, 2, 0, 1, 3]
    assert [type(word) for word in released] == [str, tuple, str, tuple, str]


def test_a_huge_budget_changes_nothing() -> None:
    sources = ["abcab", "ab", "abcab"]
    assert sv.privatize(sources, alphabet="abc", epsilon=1000) == sources


def test_an_error_names_the_word_and_the_position_but_not_the_symbol() -> None:
    with pytest.raises(WordError, match="word 3, .*position 2 of 4") as caught:
        sv.privatize(["abc", "ab", "aZbc"], alphabet="abc", epsilon=1)
    assert "Z" not in str(caught.value)
    with pytest.raises(WordError, match="word 2"):
        sv.privatize(["abc", 7], alphabet="abc", epsilon=1)


def test_parameters_are_checked_even_without_words() -> None:
    assert sv.privatize([], alphabet="abc", epsilon=1) == []
    with pytest.raises(ParameterError, match="epsilon"):
        sv.privatize([], alphabet="abc", epsilon=-1)
    with pytest.raises(ParameterError, match="mechanism"):
        sv.privatize([], alphabet="abc", epsilon=1, mechanism="foo")


def test_a_single_string_is_not_a_list_of_words() -> None:
    """Each letter would get a budget of its own, and five letters five times ε."""
    with pytest.raises(WordError, match="list of words"):
        sv.privatize("abcab", alphabet="abc", epsilon=1)
    with pytest.raises(WordError, match="list of words"):
        sv.Exponential(sv.words("abc", 1), epsilon=1).release_many("abc")


@pytest.mark.parametrize("mechanism", ["exponential", "permute-and-flip", "staircase"])
def test_mechanisms_by_name(mechanism: str) -> None:
    bits = NotPrivateSeededBits(5)
    released = sv.privatize(["abcab"] * 50, alphabet="abc", epsilon=1, mechanism=mechanism, adjacency=2, bits=bits)
    assert len(set(released)) > 10


def test_an_unknown_mechanism_is_refused() -> None:
    with pytest.raises(ParameterError, match="magic"):
        sv.privatize(["abc"], alphabet="abc", epsilon=1, mechanism="magic")


@pytest.mark.parametrize("max_length", [None, 5])
@pytest.mark.parametrize("mechanism", ["auto", "edit", "truncated-levenshtein"])
def test_hidden_lengths(mechanism: str, max_length: int | None) -> None:
    options = {"alphabet": "abc", "metric": "levenshtein", "max_length": max_length, "mechanism": mechanism}
    if mechanism == "truncated-levenshtein" and max_length is None:
        with pytest.raises(ParameterError, match="max_length: expected a public bound"):
            sv.privatize(["abc"], epsilon=4, **options)
        return
    released = sv.privatize(["abcab", "", ("a", "b")] * 20, epsilon=4, bits=NotPrivateSeededBits(5), **options)
    assert [type(word) for word in released[:3]] == [str, str, tuple]
    assert len({len(word) for word in released[::3]}) > 1
    assert sv.privatize(["abcab", "c", ""], epsilon=1000, **options) == ["abcab", "c", ""]
    assert sv.privatize([], epsilon=4, **options) == []


def test_metric_and_bound_must_fit() -> None:
    with pytest.raises(ParameterError, match="max_length: expected metric levenshtein"):
        sv.privatize(["abc"], alphabet="abc", epsilon=1, max_length=5)
    with pytest.raises(ParameterError, match="metric: expected hamming or levenshtein"):
        sv.privatize(["abc"], alphabet="abc", epsilon=1, metric="euclid")
    with pytest.raises(ParameterError, match="metric levenshtein"):
        sv.privatize(["abc"], alphabet="abc", epsilon=1, mechanism="edit")
    with pytest.raises(ParameterError, match="cutoff"):
        sv.privatize(["abc"], alphabet="abc", epsilon=1, cutoff=2)


def test_a_word_that_the_model_cannot_produce_is_named_by_its_number() -> None:
    chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    with pytest.raises(
        WordError, match="^word 2, word: expected a word that the model can produce, .* position 3 of 4$"
    ):
        sv.privatize(["abab", "abba"], model=chain, epsilon=1, adjacency=1)
    with pytest.raises(WordError, match="^word 1, .* impossible symbol at position 2$"):  # its length is a secret
        sv.privatize(["bb"], model=chain, epsilon=4, adjacency=1, metric="levenshtein", max_length=4)
