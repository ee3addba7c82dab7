"""Which mechanism for words of different lengths: by name, or the better one by public things only."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import symveil as sv
from symveil.errors import ParameterError
from symveil.languages.open import OpenWords
from symveil.mechanisms.code_law import excess
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
    assert sv.select_mechanism(sv.runs_up_to(CHAIN, 40), epsilon=5, adjacency=1).name == "truncated-levenshtein"
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
        sv.select_mechanism(language, epsilon=3, adjacency=1, **options)


def test_the_choice_does_not_look_at_words(monkeypatch):
    """It is made before any word is there, so the same for all words: building it twice gives the same mechanism."""
    first, second = (sv.select_mechanism(sv.words_up_to("abcd", 9), epsilon=4) for _ in range(2))
    assert repr(first) == repr(second)


def test_hidden_lengths_keep_the_promise_by_the_loss_of_one_edit() -> None:
    """Where edits lead from any word to any other, one edit within ε/b is graceful; enumerated for both mechanisms."""
    words = sv.words_up_to("ab", 3)
    for b, epsilon in ((2, 3), (3, 6), (1, 2)):
        chosen = sv.select_mechanism(words, epsilon=epsilon, adjacency=b, beyond="graceful")
        assert excess(chosen) <= 1
        rows = [row for length in words.by_length(at_most=100) for row in length]
        outputs = [
            np.array(list(itertools.product(range(2), repeat=n)), dtype=np.int32).reshape(2**n, n) for n in range(5)
        ]
        outputs = [each for each in outputs if chosen.largest_output is None or each.shape[1] <= chosen.largest_output]
        logs = [np.concatenate([chosen.log_probabilities(row, each) for each in outputs]) for row in rows]
        for (one, first), (other, second) in itertools.permutations(zip(logs, rows, strict=True), 2):
            apart = int(chosen.distance(first, second[None, :])[0])
            assert (one - other).max() <= chosen.loss_at(apart) + 1e-9
            assert chosen.loss_at(apart) <= epsilon * apart / b * (1 + 1e-15)


def test_a_truncated_mechanism_that_loses_more_for_one_edit_is_not_graceful() -> None:
    words = sv.words_up_to("ab", 3)
    within = sv.TruncatedLevenshtein(words, epsilon=6, adjacency=3)
    assert excess(within) > 1
    with pytest.raises(ParameterError, match="^beyond: expected nothing with this cutoff or calibration"):
        sv.select_mechanism(words, epsilon=6, adjacency=3, cutoff=within.cutoff, beyond="graceful")
    with pytest.raises(ParameterError, match="^adjacency: expected at most 3, the most edits"):
        sv.select_mechanism(words, epsilon=6, adjacency=9, beyond="graceful")
    roads = sv.runs_up_to(sv.load_model("examples/roads.json"), 3)
    with pytest.raises(ParameterError, match="^beyond: expected nothing on a model with hidden lengths"):
        sv.select_mechanism(roads, epsilon=6, adjacency=2, beyond="graceful")
