"""Words of different lengths: sizes, uniform words, and errors that do not tell a length."""

from __future__ import annotations

import numpy as np
import pytest

import symveil as sv
from symveil.errors import ModelError, ParameterError, TooLargeError, WordError
from symveil.languages import open as open_languages
from symveil.languages.open import OpenWords
from symveil.models.alphabet import Alphabet
from symveil.randomness import NotPrivateSeededBits

CHAIN = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "c", 1)])  # c is a dead end


def words_of(language) -> list[tuple[int, ...]]:
    return [tuple(row) for rows in language.by_length(at_most=10_000) for row in rows.tolist()]


@pytest.mark.parametrize(("symbols", "longest"), [("a", 0), ("a", 5), ("ab", 0), ("ab", 6), ("abc", 4)])
def test_sizes(symbols, longest):
    language = sv.words_up_to(symbols, longest)
    found = words_of(language)
    assert len(found) == language.size == len(set(found))
    assert language.size == sum(len(symbols) ** length for length in range(longest + 1))


@pytest.mark.parametrize("language", [sv.words_up_to("ab", 3), sv.words_up_to("a", 3), sv.runs_up_to(CHAIN, 4)])
def test_uniform_words_hit_every_word(language, monkeypatch):
    """On a model one integer decides: every rank is another word. On Σ^{≤N} the length is decided by it."""
    drawn = []
    for rank in range(language.size):
        monkeypatch.setattr(open_languages, "uniform_integer", lambda bound, bits, rank=rank: rank)
        drawn.append(tuple(language.uniform(NotPrivateSeededBits(rank)).tolist()))
    lengths = sorted(map(len, drawn))
    assert lengths == sorted(map(len, words_of(language)))
    if isinstance(language, open_languages.OpenRuns):
        assert sorted(drawn) == sorted(words_of(language))


def test_a_run_may_end_in_a_dead_end_or_at_any_time():
    language = sv.runs_up_to(CHAIN, 3)
    for word in ("", "a", "ab", "abc", "bc", "c", "aab"):
        assert language.encode(tuple(word)) is not None
    for word in ("ca", "bb", "acb"):
        with pytest.raises(WordError, match="impossible symbol at position 2"):
            language.encode(tuple(word))


def test_an_automaton_accepts_where_it_says():
    model = sv.Automaton.from_transitions([("p", "a", "q"), ("q", "b", "p")], initial="p", accepting=["q"])
    language = sv.runs_up_to(model, 4)
    assert [language.sizes[length] for length in range(5)] == [0, 1, 0, 1, 0]
    with pytest.raises(WordError, match="ends in a state that is not accepting"):
        language.encode(())
    with pytest.raises(ModelError, match="at least one word of up to 0 symbols"):
        sv.runs_up_to(model, 0)


def test_errors_do_not_tell_how_long_a_word_is():
    language = sv.words_up_to("abc", 4)
    with pytest.raises(WordError) as long:
        language.encode("abcabcabc")
    assert "at most 4 symbols" in str(long.value)
    assert "9" not in str(long.value)
    for other in (language, OpenWords(Alphabet.from_symbols("abc"))):
        with pytest.raises(WordError) as wrong:
            other.encode("abX")
        assert str(wrong.value).endswith("position 3")
        with pytest.raises(WordError, match="position 2"):
            other.check(np.array([0, 7], dtype=np.int32), np.array([2]))


@pytest.mark.parametrize("bound", [-1, 2.5, True, "3", None])
def test_bad_bounds_are_refused(bound):
    with pytest.raises(ParameterError, match="max_length: expected a whole number"):
        sv.words_up_to("abc", bound)


def test_large_languages_are_not_enumerated():
    with pytest.raises(TooLargeError):
        sv.words_up_to("abc", 10**6).by_length(at_most=1000)
    with pytest.raises(TooLargeError):
        sv.runs_up_to(CHAIN, 50).by_length(at_most=10)
