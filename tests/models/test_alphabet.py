"""Alphabets: ordered, distinct, hashable, and nothing else."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import symveil as sv
from symveil.errors import AlphabetError, InputError


@given(st.lists(st.one_of(st.text(), st.integers(), st.tuples(st.integers(), st.text()), st.none()), min_size=1))
def test_codes_are_the_places_of_distinct_symbols(symbols):
    if len(set(symbols)) < len(symbols):
        with pytest.raises(AlphabetError, match="distinct"):
            sv.Alphabet.from_symbols(symbols)
        return
    alphabet = sv.Alphabet.from_symbols(symbols)
    assert alphabet.symbols == tuple(symbols)
    assert len(alphabet) == len(symbols)
    assert [alphabet.code[symbol] for symbol in symbols] == list(range(len(symbols)))
    assert all(symbol in alphabet for symbol in symbols)


@pytest.mark.parametrize("symbols", ["abc", ["a", "b", "c"], ("a", "b", "c"), iter("abc"), {"a": 1, "b": 2, "c": 3}])
def test_any_ordered_iterable_will_do(symbols):
    assert sv.Alphabet.from_symbols(symbols).symbols == ("a", "b", "c")


def test_an_alphabet_is_taken_as_it_is():
    alphabet = sv.Alphabet.from_symbols("abc")
    assert sv.Alphabet.from_symbols(alphabet) is alphabet


@pytest.mark.parametrize("symbols", ["", [], (), {}, iter(())])
def test_an_empty_alphabet_is_refused(symbols):
    with pytest.raises(AlphabetError, match="at least one symbol, found none"):
        sv.words(symbols, 3)


@pytest.mark.parametrize(
    ("symbols", "places"),
    [
        ("aba", "1 and 3"),
        ([1, 2, 3, 2], "2 and 4"),
        ([1, True], "1 and 2"),
        ([0.0, -0.0], "1 and 2"),
        (["", ""], "1 and 2"),
    ],
)
def test_a_repeated_symbol_is_named_with_both_places(symbols, places):
    with pytest.raises(AlphabetError, match=f"at positions {places}"):
        sv.words(symbols, 3)


@pytest.mark.parametrize("symbols", [{"a", "b"}, frozenset("ab"), {"a": 1, "b": 2}.keys(), set()])
def test_a_set_has_no_order(symbols):
    with pytest.raises(AlphabetError, match="found a set, whose order is not defined"):
        sv.words(symbols, 3)


@pytest.mark.parametrize("symbols", [None, 5, 1.5, object])
def test_an_alphabet_must_be_iterable(symbols):
    with pytest.raises(AlphabetError, match="expected a string or a list of symbols"):
        sv.words(symbols, 3)


@pytest.mark.parametrize("symbols", [[[1]], ["a", {}], ["a", "b", {"c"}], [float("nan")], ["a", ([],)]], ids=repr)
def test_symbols_must_be_hashable_and_equal_themselves(symbols):
    with pytest.raises(AlphabetError, match=f"at position {len(symbols)}"):
        sv.words(symbols, 3)


def test_the_constructor_is_as_strict_as_from_symbols():
    """`Alphabet` is a public name: what it builds must be ordered and frozen like any other alphabet."""
    assert sv.Alphabet(("a", "b")) == sv.Alphabet.from_symbols("ab")
    with pytest.raises(AlphabetError):
        sv.Alphabet({"a", "b"})
    mutable = ["a", "b"]
    try:
        alphabet = sv.Alphabet(mutable)
    except AlphabetError:
        return
    mutable.append("a")
    assert alphabet == sv.Alphabet.from_symbols("ab")
    assert hash(alphabet) == hash(sv.Alphabet.from_symbols("ab"))


@pytest.mark.parametrize("symbol", ["d", "", "ab", None, 0, [], {}, float("nan")])
def test_nothing_else_is_a_symbol(symbol):
    assert symbol not in sv.Alphabet.from_symbols("abc")


def test_something_that_only_looks_hashable_is_no_symbol():
    assert ([],) not in sv.Alphabet.from_symbols("abc")


def test_equality_is_by_symbols_and_their_order():
    abc = sv.Alphabet.from_symbols("abc")
    assert abc == sv.Alphabet.from_symbols(["a", "b", "c"])
    assert hash(abc) == hash(sv.Alphabet.from_symbols(("a", "b", "c")))
    assert abc != sv.Alphabet.from_symbols("acb")
    assert pickle.loads(pickle.dumps(abc)) == abc  # noqa: S301 - our own bytes
    assert pickle.loads(pickle.dumps(abc)).code == abc.code  # noqa: S301 - our own bytes


def test_an_alphabet_cannot_be_changed():
    alphabet = sv.Alphabet.from_symbols("abc")
    with pytest.raises(AttributeError):
        alphabet.symbols = ("x",)


def test_printing_a_long_alphabet_is_short():
    assert repr(sv.Alphabet.from_symbols("ab")) == "Alphabet('a', 'b')"
    assert repr(sv.Alphabet.from_symbols(range(10**5))).endswith("9, … 100000 in all)")


def test_an_alphabet_error_is_an_input_error_and_a_value_error():
    with pytest.raises(AlphabetError) as caught:
        sv.words("", 1)
    assert isinstance(caught.value, InputError)
    assert isinstance(caught.value, ValueError)
