"""Words and codes that do not belong: refused by position, without ever repeating the secret."""

from __future__ import annotations

import traceback

import numpy as np
import pytest

import symveil as sv
from symveil.errors import ParameterError, WordError
from symveil.randomness import BitSource, NotPrivateSeededBits

SECRET = "HIV-positive"


class NoBits(BitSource):
    """A source that must not be asked: a refused word draws nothing."""

    def fill(self, size):
        raise AssertionError("bits were drawn for a word that is refused")


@pytest.fixture
def mechanism(one_of_each):
    return one_of_each.make(sv.words(["home", "work", "shop"], 3), 1)


def everything_said_by(error: BaseException) -> str:
    """Message, attributes and arguments of the error and of every error it hangs on."""
    said = []
    while error is not None:
        said += [str(error), repr(error), repr(error.args), repr(vars(error)), repr(getattr(error, "__notes__", ""))]
        said += traceback.format_exception_only(error)
        error = error.__cause__ or error.__context__
    return "\n".join(said)


@pytest.mark.parametrize("position", [1, 2, 3])
def test_an_unknown_symbol_is_reported_by_position_only(mechanism, position):
    word = ["home"] * 3
    word[position - 1] = SECRET
    calls = [
        lambda: mechanism.release(word, bits=NoBits()),
        lambda: mechanism.release(tuple(word), bits=NoBits()),
        lambda: mechanism.probability(word, ["home"] * 3),
        lambda: mechanism.log_probability(["home"] * 3, word),
        lambda: mechanism.distances(word),
        lambda: mechanism.language.encode(word),
    ]
    for call in calls:
        with pytest.raises(WordError) as caught:
            call()
        assert caught.value.position == position
        assert f"position {position} of 3" in str(caught.value)
        assert SECRET not in everything_said_by(caught.value)


def test_release_many_says_which_word_and_where(mechanism):
    words = [("home", "work", "shop"), ("home", "work", SECRET)]
    with pytest.raises(WordError, match="word 2, word: .* position 3 of 3") as caught:
        mechanism.release_many(words, bits=NoBits())
    assert caught.value.position == 3
    assert SECRET not in everything_said_by(caught.value)


@pytest.mark.parametrize("symbol", [SECRET.lower(), 0, None, float("nan"), [SECRET], {SECRET: 1}], ids=repr)
def test_symbols_of_any_type_are_refused_alike(mechanism, symbol):
    with pytest.raises(WordError) as caught:
        mechanism.release(["home", symbol, "work"], bits=NoBits())
    assert caught.value.position == 2
    assert SECRET not in everything_said_by(caught.value)


def test_a_symbol_that_only_looks_hashable_is_refused_by_position(mechanism):
    """A tuple is Hashable by its type, but not when it holds a list."""
    with pytest.raises(WordError) as caught:
        mechanism.release(["home", ([SECRET],), "work"], bits=NoBits())
    assert caught.value.position == 2
    assert SECRET not in everything_said_by(caught.value)


@pytest.mark.parametrize("word", [(), ("home",), ("home",) * 2, ("home",) * 4])
def test_a_word_of_another_length_is_refused(mechanism, word):
    with pytest.raises(WordError, match=f"expected 3 symbols, found {len(word)}") as caught:
        mechanism.release(word, bits=NoBits())
    assert caught.value.position is None


@pytest.mark.parametrize("word", [None, 5, 1.5])
def test_a_word_must_be_a_sequence(mechanism, word):
    with pytest.raises(WordError, match="expected a string or a sequence of symbols"):
        mechanism.release(word, bits=NoBits())


def test_a_word_as_one_string_is_its_characters():
    mechanism = sv.Exponential(sv.words("abc", 3), epsilon=1)
    with pytest.raises(WordError, match="position 2 of 3"):
        mechanism.release("aXb", bits=NoBits())


@pytest.mark.parametrize(
    "codes",
    [
        np.zeros(3, dtype=np.int32),
        np.zeros((2, 3, 1), dtype=np.int32),
        np.zeros((2, 3), dtype=np.int64),
        np.zeros((2, 3), dtype=np.uint32),
        np.zeros((2, 3), dtype=np.float32),
        np.zeros((2, 3), dtype=bool),
        np.zeros((2, 3), dtype=">i4"),
        [[0, 1, 2]],
        [[0, 1], [2]],
        np.int32(0),
        None,
        "abc",
    ],
    ids=repr,
)
def test_codes_must_be_int32_with_a_row_per_word(mechanism, codes):
    with pytest.raises(ParameterError, match="codes: expected an int32 array with a row per word"):
        mechanism.release_codes(codes, bits=NoBits())


@pytest.mark.parametrize("columns", [0, 2, 4])
def test_codes_of_another_length_are_refused(mechanism, columns):
    with pytest.raises(WordError, match=f"expected 3 symbols per row, found {columns}"):
        mechanism.release_codes(np.zeros((5, columns), dtype=np.int32), bits=NoBits())


@pytest.mark.parametrize("code", [-1, 3, 77_777, 2**31 - 1, -(2**31)])
def test_a_code_outside_the_alphabet_is_reported_by_place_only(mechanism, code):
    codes = np.zeros((4, 3), dtype=np.int32)
    codes[2, 1] = code
    with pytest.raises(WordError, match="expected values 0 to 2, .* row 3 at position 2") as caught:
        mechanism.release_codes(codes, bits=NoBits())
    assert caught.value.position == 2
    assert abs(code) < 4 or str(code) not in everything_said_by(caught.value)


def test_releasing_leaves_the_words_that_came_in_alone(mechanism):
    codes = np.arange(60, dtype=np.int32).reshape(20, 3) % 3
    before = codes.copy()
    codes.flags.writeable = False
    released = mechanism.release_codes(codes)
    assert not np.shares_memory(released, codes)
    np.testing.assert_array_equal(codes, before)
    assert (released.dtype, released.shape) == (np.int32, (20, 3))
    assert released.flags.writeable


def test_rows_in_any_memory_order_are_the_same_rows(mechanism):
    codes = np.arange(60, dtype=np.int32).reshape(20, 3) % 3
    plain = mechanism.release_codes(codes, bits=NotPrivateSeededBits(4))
    for other in (np.asfortranarray(codes), np.repeat(codes, 2, axis=0)[::2], codes[::-1][::-1]):
        np.testing.assert_array_equal(mechanism.release_codes(other, bits=NotPrivateSeededBits(4)), plain)


def test_a_string_is_not_a_list_of_words(mechanism):
    """Each of its characters would be a word of its own, with a budget of its own."""
    with pytest.raises(WordError, match="words: expected a list of words, found a single string"):
        mechanism.release_many("home", bits=NoBits())


def test_a_word_of_another_length_is_named_by_its_number(mechanism):
    with pytest.raises(WordError, match="^word 2, word: expected 3 symbols, found 2$"):
        mechanism.release_many([("home", "work", "shop"), ("home", "work")], bits=NoBits())
