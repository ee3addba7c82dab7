"""Which mechanism for words of different lengths: by name, or the better one by public things only."""

from __future__ import annotations

import pytest

import symveil as sv
from symveil.errors import ParameterError
from symveil.languages.open import OpenWords
from symveil.models.alphabet import Alphabet

pytestmark = pytest.mark.usefixtures("shared_cache")

CHAIN = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
SIGMA = OpenWords(Alphabet.from_symbols("abc"))


@pytest.mark.parametrize("epsilon", [1, 3, 6, 12])
@pytest.mark.parametrize("longest", [0, 3, 8, 25])
def test_auto_takes_the_one_with_fewer_expected_edits_on_a_public_word(epsilon, longest):
    language = sv.words_up_to("abc", longest)
    chosen = sv.select_mechanism(language, epsilon=epsilon)
    truncated = sv.TruncatedLevenshtein(language, epsilon=epsilon)
    channel = sv.EditChannel("abc", epsilon=epsilon, max_length=longest)
    law = truncated.distances(("abc" * longest)[:longest])
    far = law.bounds.upper if law.bounds else law.expected_error
    best = "truncated-levenshtein" if far <= channel.expected_edits(longest) else "edit"
    assert chosen.name == best


def test_where_there_is_no_choice():
    assert sv.select_mechanism(SIGMA, epsilon=5).name == "edit"
    assert sv.select_mechanism(sv.runs_up_to(CHAIN, 40), epsilon=5).name == "truncated-levenshtein"
    assert sv.select_mechanism(sv.words_up_to("abc", 10_000), epsilon=5).name == "edit"
    assert sv.select_mechanism(sv.words_up_to("abc", 50), epsilon=5, cutoff=2).cutoff == 2
    classic = sv.select_mechanism(sv.words_up_to("abc", 50), epsilon=5, calibration="classic")
    assert classic.guarantee.how == "classic"


@pytest.mark.parametrize(
    ("language", "options", "name"),
    [
        (SIGMA, {"mechanism": "truncated-levenshtein"}, "max_length"),
        (SIGMA, {"cutoff": 2}, "cutoff"),
        (SIGMA, {"mechanism": "edit", "calibration": "classic"}, "calibration"),
        (SIGMA, {"mechanism": "exponential"}, "mechanism"),
        (SIGMA, {"utility": "inverse"}, "utility"),
        (SIGMA, {"prior": "chain"}, "prior"),
        (sv.runs_up_to(CHAIN, 4), {"mechanism": "edit"}, "mechanism"),
        (sv.words("ab", 3), {"mechanism": "edit"}, "mechanism"),
        (sv.words("ab", 3), {"mechanism": "truncated-levenshtein"}, "mechanism"),
        (sv.words("ab", 3), {"cutoff": 2}, "cutoff"),
    ],
)
def test_what_does_not_fit_is_refused(language, options, name):
    with pytest.raises(ParameterError, match=f"^{name}: expected"):
        sv.select_mechanism(language, epsilon=3, **options)


def test_the_choice_does_not_look_at_words(monkeypatch):
    """It is made before any word is there, so the same for all words: building it twice gives the same mechanism."""
    first, second = (sv.select_mechanism(sv.words_up_to("abcd", 9), epsilon=4) for _ in range(2))
    assert repr(first) == repr(second)
