"""The free language against its words written out."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symveil as sv
from symveil.errors import TooLargeError, WordError
from symveil.numbers.conversions import precision

SMALL = [(length, size) for length in range(6) for size in range(1, 5)]


@pytest.mark.parametrize(("length", "size"), SMALL)
def test_counts_are_those_of_the_words_written_out(write_out, length, size):
    written = write_out(length, size)
    language = written.language
    assert language.size == len(written.words)
    assert language.largest_distance == max(written.counts)
    for index in written.some_words(5):
        distances = written.distances_from(written.words[index])
        for distance in range(-1, length + 3):
            assert language.count(distance) == distances.count(distance)


@pytest.mark.parametrize(("length", "size"), SMALL)
def test_words_are_listed_in_alphabetical_order(write_out, length, size):
    written = write_out(length, size)
    codes = written.language.enumerate_codes(at_most=1024)
    assert codes.dtype == np.int32
    assert codes.shape == (len(written.words), length)
    assert list(map(tuple, codes.tolist())) == list(written.words)
    assert ["".join(word) for word in written.language] == [
        "".join("abcd"[code] for code in word) for word in written.words
    ]


def test_enumeration_stops_at_its_limit():
    language = sv.words("abc", 4)
    assert len(language.enumerate_codes(at_most=81)) == 81
    with pytest.raises(TooLargeError, match=r"at most 80 words .* found 3\^4"):
        language.enumerate_codes(at_most=80)


def test_an_enumeration_beyond_all_memory_is_refused_at_once():
    with pytest.raises(TooLargeError):
        sv.words(range(1000), 10_000).enumerate_codes(at_most=10**6)


@given(length=st.integers(0, 60), size=st.integers(1, 60), bits=st.sampled_from([53, 128, 300]))
@settings(max_examples=80)
def test_count_balls_hold_the_exact_counts(length, size, bits):
    language = sv.words(range(size), length)
    with precision(bits):
        balls = language.count_balls()
        assert len(balls) == language.largest_distance + 1
        for distance, value in enumerate(balls):
            assert value.contains(math.comb(length, distance) * (size - 1) ** distance)
            assert value.rel_accuracy_bits() > bits - 16


@given(length=st.integers(0, 200), size=st.integers(1, 200))
@settings(max_examples=60)
def test_counts_add_up_to_all_words(length, size):
    language = sv.words(range(size), length)
    assert sum(language.count(distance) for distance in range(length + 1)) == size**length == language.size


@pytest.mark.parametrize("word", ["abc", ("a", "b", "c"), ["c", "c", "c"]])
def test_its_words_belong_to_it(word):
    assert word in sv.words("abc", 3)


@pytest.mark.parametrize(
    "word", ["", "ab", "abca", "abd", ("a", "b", "ab"), ("a", "b", ["c"]), None, 3, {"a", "b", "c"}]
)
def test_nothing_else_belongs_to_it(word):
    assert word not in sv.words("abc", 3)


def test_a_symbol_that_only_looks_hashable_does_not_belong():
    assert ("a", ([],), "c") not in sv.words("abc", 3)


def test_encoding_follows_the_order_of_the_alphabet():
    codes = sv.words("cab", 3).encode("abc")
    assert (codes.tolist(), codes.dtype) == ([1, 2, 0], np.int32)


@pytest.mark.parametrize("word", ["", "ab", "abca"])
def test_encoding_refuses_another_length(word):
    with pytest.raises(WordError, match=f"expected 3 symbols, found {len(word)}"):
        sv.words("abc", 3).encode(word)


def test_languages_are_equal_by_content_and_travel():
    language = sv.words("abc", 3)
    assert language == sv.words(["a", "b", "c"], 3)
    assert hash(language) == hash(sv.words(("a", "b", "c"), 3))
    assert language != sv.words("acb", 3)
    assert language != sv.words("abc", 4)
    assert pickle.loads(pickle.dumps(language)) == language  # noqa: S301 - our own bytes


def test_a_language_cannot_be_changed():
    language = sv.words("abc", 3)
    with pytest.raises(AttributeError):
        language.length = 4


def test_printing_a_language_does_not_print_it_all():
    assert repr(sv.words(range(10**5), 10**6)) == "words(alphabet of 100000 symbols, length 1000000)"
