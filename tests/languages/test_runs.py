"""Words of a model: which there are, where a word leaves the model, and what is too large."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import symveil as sv
from symveil.errors import ModelError, ParameterError, TooLargeError, WordError
from symveil.languages.limits import LIMITS
from symveil.languages.run_counts import RunNeighbours

NEVER_BB = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
DOOR = sv.TransitionSystem.from_transitions([("shut", "open", "ajar"), ("ajar", "close", "shut")], initial="shut")


def test_a_public_start_is_a_symbol_of_the_word() -> None:
    with pytest.raises(ParameterError, match="public_start: expected a Markov chain, whose symbols are states"):
        sv.runs(DOOR, 2, public_start=True)


def test_a_model_without_such_words() -> None:
    ends = sv.MarkovChain.from_transitions([("a", "b", 1)])
    assert sv.runs(ends, 2).size == 1
    with pytest.raises(ModelError, match="model: expected at least one word of 3 symbols"):
        sv.runs(ends, 3)
    nothing = sv.Automaton.from_transitions([("p", None, "q")], initial="p", accepting=["q"])
    with pytest.raises(ModelError, match="transitions: expected at least one transition with a symbol, found none"):
        sv.runs(nothing, 1)


def test_words_of_another_length_are_refused() -> None:
    language = sv.runs(NEVER_BB, 3)
    for word in ("", "ab", "abab"):
        with pytest.raises(WordError, match=f"word: expected 3 symbols, found {len(word)}"):
            language.encode(word)


@pytest.mark.parametrize("entries", [0, 1 << 20])
@pytest.mark.parametrize("model", [NEVER_BB, DOOR])
def test_where_words_leave_the_model_with_and_without_a_table(set_limits, entries: int, model) -> None:
    """By following the transitions of the definition, position by position."""
    set_limits(LIMITS, edge_table_entries=entries)
    language = sv.runs(model, 4)
    symbols = language.alphabet.symbols
    steps = {(source, symbol): target for source, symbol, target in DOOR.transitions}
    rows = list(itertools.product(range(len(symbols)), repeat=4))
    expected = []
    for row in rows:
        word, state, wrong = [symbols[code] for code in row], "shut", 0
        for position, symbol in enumerate(word, start=1):
            if model is NEVER_BB:
                fits = word[max(position - 2, 0) : position] != ["b", "b"]
            else:
                fits = (state, symbol) in steps
                state = steps.get((state, symbol), state)
            if not fits:
                wrong = position
                break
        expected.append(wrong)
    found = language.first_impossible(np.array(rows, dtype=np.int32))
    assert found.tolist() == expected
    assert 0 in expected and len(set(expected)) > 2


def test_what_is_too_large_to_count(set_limits) -> None:
    language = sv.runs(NEVER_BB, 5)
    set_limits(LIMITS, counted_entries=10)
    with pytest.raises(TooLargeError, match="counting by distance: expected at most 10 counts, found"):
        RunNeighbours(language, language.encode("ababa"))
    # what needs no counts is released all the same
    assert len(sv.Exponential(language, epsilon=1, adjacency=1, calibration="classic").release("ababa")) == 5


def test_what_is_too_large_to_determinise(set_limits) -> None:
    """The n-th symbol from the end is 1: 2ⁿ subsets."""
    rows = [("0", "0", "0"), ("0", "1", "0"), ("0", "1", "1")]
    rows += [(str(place), symbol, str(place + 1)) for place in range(1, 5) for symbol in "01"]
    automaton = sv.Automaton.from_transitions(rows, initial="0", accepting=["5"])
    assert sv.runs(automaton, 5).graph.state_count == 2**5
    set_limits(LIMITS, subsets=31)
    with pytest.raises(TooLargeError, match="model: expected at most 31 states after determinising, found more"):
        sv.runs(automaton, 5)


def test_a_model_with_a_rare_prior_is_a_language_all_the_same() -> None:
    rare = sv.MarkovChain.from_transitions([("a", "a", Fraction(1, 10**400)), ("a", "b", 1 - Fraction(1, 10**400))])
    assert sv.runs(rare, 3).size == 2  # aaa, aab
