"""Families of mechanisms, for words of many lengths: what they refuse, and that a record's word is its own."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import symveil as sv
from file_mechanism import file_mechanism
from symveil.errors import ModelError, ParameterError
from symveil.mechanisms.by_length import length_classes, of_length
from symveil.mechanisms.mechanism import Mechanism
from symveil.randomness import NotPrivateSeededBits, RecordKey

NEVER_BB = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
ODD = sv.Automaton.from_transitions([("p", "a", "q"), ("q", "b", "p")], initial="p", accepting=["q"])  # a, aba …
NOTHING = sv.Automaton.from_transitions([("p", "a", "q")], initial="p", accepting=["r"], states=["p", "q", "r"])
METRICS = ["hamming", "levenshtein"]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("given", "found"), [({}, "none"), ({"alphabet": "ab", "model": NEVER_BB}, "both")])
def test_an_alphabet_or_a_model(metric, given, found) -> None:
    with pytest.raises(ParameterError, match=f"alphabet: expected an alphabet or a model, found {found}"):
        file_mechanism(epsilon=1, metric=metric, **given)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alphabet": "ab", "public_start": True}, "public_start: expected a model with public_start"),
        ({"alphabet": "ab", "mechanism": "jones2019-printed"}, "mechanism: expected one that is private"),
        ({"alphabet": "ab", "cutoff": 2}, "cutoff: expected mechanism truncated-levenshtein with it"),
        ({"alphabet": "ab", "max_length": 4}, "max_length: expected metric levenshtein with it"),
        ({"alphabet": "ab", "metric": "edits"}, "metric: expected hamming or levenshtein"),
        (
            {"alphabet": "ab", "metric": "levenshtein", "public_start": True},
            "public_start: expected metric hamming with it",
        ),
        ({"model": NEVER_BB, "metric": "levenshtein"}, "max_length: expected a public bound on the lengths"),
        (
            {"alphabet": "ab", "metric": "levenshtein", "mechanism": "staircase"},
            "mechanism: expected one of .* with metric levenshtein",
        ),
    ],
)
def test_what_does_not_go_together(options, message) -> None:
    with pytest.raises(ParameterError, match=message):
        file_mechanism(epsilon=1, **options)


def test_a_model_without_any_word() -> None:
    with pytest.raises(ModelError, match="model: expected at least one word, so that one can be released"):
        file_mechanism(model=NOTHING, epsilon=Fraction(1), adjacency=1)


def flat(family: Mechanism, words: list[str]) -> tuple[np.ndarray, np.ndarray]:
    known = {symbol: code for code, symbol in enumerate(family.alphabet.symbols)}
    codes = np.array([known.get(symbol, -1) for word in words for symbol in word], dtype=np.int32)
    return codes, np.array([len(word) for word in words], dtype=np.int64)


def test_lengths_that_the_model_has_no_words_of() -> None:
    """Only odd lengths: words of an even one are refused at their last position, the empty word at the first."""
    family = file_mechanism(model=ODD, epsilon=Fraction(1), adjacency=1)
    words = ["a", "", "ab", "aba", "abab", "aaa", "z"]
    codes, lengths = flat(family, words)
    assert family.language.first_refused(codes, lengths).tolist() == [0, 1, 2, 0, 4, 2, 1]
    assert of_length(family, 2) is None
    with pytest.raises(ModelError, match="model: expected words of 2 symbols, found none"):
        family.release_flat(*flat(family, ["a", "ab"]), bits=NotPrivateSeededBits(1), checked=True)
    assert [each.lengths for each in length_classes(family, np.array([0, 1, 2, 3, 4]))] == [(1, 3)]


@pytest.mark.parametrize(
    "family",
    [
        file_mechanism(alphabet="ab", epsilon=Fraction(1, 2)),
        file_mechanism(alphabet="ab", epsilon=Fraction(1, 2), adjacency=3),
        file_mechanism(model=NEVER_BB, epsilon=Fraction(1, 2), adjacency=1),
        file_mechanism(metric="levenshtein", alphabet="ab", epsilon=Fraction(2)),
        file_mechanism(metric="levenshtein", alphabet="ab", epsilon=Fraction(2), max_length=6),
        file_mechanism(metric="levenshtein", model=NEVER_BB, epsilon=Fraction(2), adjacency=1, max_length=6),
    ],
    ids=["symbols", "words", "model", "edits", "bounded edits", "edits on a model"],
)
def test_a_records_word_depends_on_it_alone(family) -> None:
    words = ["aab", "", "aaaa", "abaaa", "a", "aba"] * 6
    codes, lengths = flat(family, words)
    assert not family.language.first_refused(codes, lengths).any()
    keys = RecordKey(bytes(32), "release")
    names = keys.names_of_rows(np.arange(len(words)))

    def released(rows: list[int]) -> list[list[int]]:
        drawn, sizes = family.release_flat(
            *flat(family, [words[row] for row in rows]), bits=keys.streams(names[rows]), checked=True
        )
        return [part.tolist() for part in np.split(drawn, np.cumsum(sizes)[:-1])]

    everybody = released(list(range(len(words))))
    assert everybody == [word for row in range(len(words)) for word in released([row])]
    assert released([7, 3, 20]) == [everybody[row] for row in (7, 3, 20)]
    assert everybody != [part.tolist() for part in np.split(codes, np.cumsum(lengths)[:-1])]
    if family.metric == "hamming":
        assert [len(word) for word in everybody] == lengths.tolist()


def test_where_edits_leave_the_language() -> None:
    bounded = file_mechanism(metric="levenshtein", alphabet="ab", epsilon=Fraction(1), max_length=3)
    assert bounded.language.first_refused(*flat(bounded, ["ab", "abab", "azb", ""])).tolist() == [0, 4, 2, 0]
    on_model = file_mechanism(metric="levenshtein", model=NEVER_BB, epsilon=Fraction(1), adjacency=1, max_length=4)
    assert on_model.language.first_refused(*flat(on_model, ["ab", "abb", "ababa"])).tolist() == [0, 3, 5]
    # lengths are secret: there is one mechanism for all of them
    assert [each.lengths for each in length_classes(bounded, np.array([1, 2]))] == [(0, bounded.largest_output)]
    codes, sizes = bounded.release_flat(*flat(bounded, []), bits=NotPrivateSeededBits(1))
    assert (len(codes), len(sizes)) == (0, 0)
