"""Words at the door: codes in, symbols out, the type that came in kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symveil as sv
from symveil.errors import WordError
from symveil.models.alphabet import decode, encode

ABC = sv.Alphabet.from_symbols("abc")


@given(st.text(alphabet="abc"))
def test_a_string_comes_back_as_a_string(word):
    codes = encode(word, ABC)
    assert (codes.dtype, codes.shape) == (np.int32, (len(word),))
    assert codes.tolist() == ["abc".index(symbol) for symbol in word]
    assert decode(codes, ABC, like=word) == word


@given(st.lists(st.sampled_from([("x", 1), None, 3.5, "long name"])))
def test_any_other_sequence_comes_back_as_a_tuple(word):
    alphabet = sv.Alphabet.from_symbols([None, "long name", 3.5, ("x", 1)])
    assert decode(encode(word, alphabet), alphabet, like=word) == tuple(word)
    assert decode(encode(tuple(word), alphabet), alphabet, like=tuple(word)) == tuple(word)


@pytest.mark.parametrize("word", [iter("cab"), np.array(["c", "a", "b"]), (s for s in "cab")])
def test_any_iterable_is_a_word(word):
    assert encode(word, ABC).tolist() == [2, 0, 1]


def test_symbols_that_are_equal_are_the_same_symbol():
    alphabet = sv.Alphabet.from_symbols([1, 2])
    assert encode([1.0, np.int64(2), True], alphabet).tolist() == [0, 1, 0]


@given(st.text(alphabet="abcXYZ", min_size=1).filter(lambda word: not set(word) <= set("abc")))
def test_the_first_unknown_symbol_is_the_one_reported(word):
    position = 1 + min(place for place, symbol in enumerate(word) if symbol not in "abc")
    with pytest.raises(WordError) as caught:
        encode(word, ABC)
    assert caught.value.position == position
    assert str(caught.value) == (
        f"word: expected symbols of the alphabet (3 symbols), found another one at position {position} of {len(word)}"
    )


@pytest.mark.parametrize("word", [None, 3, 2.5, object()])
def test_something_without_symbols_is_no_word(word):
    with pytest.raises(WordError, match="expected a string or a sequence of symbols") as caught:
        encode(word, ABC)
    assert caught.value.position is None


def test_a_string_over_long_symbols_is_released_as_a_word_that_can_be_read_back():
    """Joined to a string, ("a", "aa") and ("aa", "a") would be one word."""
    mechanism = sv.Exponential(sv.words(["a", "aa"], 2), epsilon="1/100")
    for released in mechanism.release_many(["aa"] * 30):
        assert released in mechanism.language


def test_the_type_of_a_released_word_does_not_depend_on_the_draw():
    """Whether a word comes back as a string is decided by what came in and by the alphabet, both public."""
    mechanism = sv.Exponential(sv.words(["a", "b", "long"], 2), epsilon="1/100")
    assert len({type(released) for released in mechanism.release_many(["ab"] * 60)}) == 1
