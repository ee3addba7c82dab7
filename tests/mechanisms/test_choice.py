"""The choice of a mechanism as data: read once, refused in one line, the same as its document."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symveil as sv
from symveil.errors import ParameterError, SymveilError, WordError
from symveil.languages.language import runs_of_any_length, words_of_any_length
from symveil.mechanisms.choice import names
from symveil.tasks.explain import explain_word
from symveil.tasks.release import release_word

CHAIN = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
LEVENSHTEIN = {"epsilon": 5, "metric": "levenshtein"}


@given(
    epsilon=st.fractions(Fraction(1, 1000), 50),
    mechanism=st.sampled_from([name for name in names("hamming") if name != "jones2019-printed"]),
    adjacency=st.one_of(st.integers(1, 9), st.just("all"), st.integers(1, 9).map(np.int64)),
    offset=st.fractions(Fraction(1, 50), 9),
    public_start=st.booleans(),
)
def test_a_document_is_the_choice(**parameters) -> None:
    choice = sv.MechanismChoice(**parameters)
    again = json.loads(json.dumps(choice.document()))
    assert sv.MechanismChoice.from_document(again) == choice


def test_an_offset_is_spelled_as_0_2_spelled_it() -> None:
    """Finished releases in a ledger are known by this text: 1/2, not 0.5."""
    choice = sv.MechanismChoice(epsilon="1/2", utility="inverse", offset="1/2")
    assert (choice.document()["offset"], choice.document()["epsilon"]) == ("1/2", "0.5")


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"public_start": "no"}, "public_start"),
        ({"public_start": 1}, "public_start"),
        ({"public_start": []}, "public_start"),
        ({"prior": ["x"]}, "prior"),
        ({"prior": None}, "prior"),
        ({"adjacency": True}, "adjacency"),
        ({"adjacency": 1.0}, "adjacency"),
        ({"metric": "levenshtein", "mechanism": "truncated-levenshtein", "cutoff": "3"}, "cutoff"),
        ({"metric": "levenshtein", "mechanism": "truncated-levenshtein", "cutoff": True}, "cutoff"),
        ({"epsilon": None}, "epsilon"),
    ],
)
def test_values_of_another_kind_are_refused(changed, name) -> None:
    with pytest.raises(ParameterError, match=f"^{name}: expected"):
        sv.MechanismChoice.from_document({"epsilon": 1} | changed)
    with pytest.raises(ParameterError, match="^epsilon: expected"):
        sv.MechanismChoice.from_document({})


@pytest.mark.parametrize(
    ("choice", "language", "name"),
    [
        ({**LEVENSHTEIN, "mechanism": "edit"}, words_of_any_length("ab"), "metric"),
        (LEVENSHTEIN, sv.words("ab", 3), "metric"),
        ({"epsilon": 5}, sv.words_up_to("ab", 3), "metric"),
        ({"epsilon": 5, "public_start": True}, sv.runs(CHAIN, 3), "public_start"),
        ({"epsilon": 5, "public_start": True}, sv.words("ab", 3), "public_start"),
        ({"epsilon": 5}, sv.runs(CHAIN, 3, public_start=True), "public_start"),
        ({**LEVENSHTEIN, "max_length": 2}, sv.words_up_to("ab", 4), "max_length"),
    ],
)
def test_a_language_that_a_choice_is_not_about_is_refused(choice, language, name) -> None:
    with pytest.raises(ParameterError, match=f"^{name}: expected"):
        sv.choose_mechanism(sv.MechanismChoice(**choice), language)


def test_a_length_is_no_parameter_where_it_is_a_secret() -> None:
    with pytest.raises(ParameterError, match="^length: expected none with metric levenshtein"):
        sv.MechanismChoice(**LEVENSHTEIN).language(alphabet="ab", length=3)


@pytest.mark.parametrize("options", [{}, {"max_length": 9}])
def test_no_message_tells_a_secret_length(options) -> None:
    """Found in 0.2: sv.privatize said "at position 3 of 5"."""
    for words in (["abzab"], ["ab", "abzab"]):
        with pytest.raises(WordError) as caught:
            sv.privatize(words, alphabet="abc", **LEVENSHTEIN, **options)
        assert "position 3" in str(caught.value) and " of " not in str(caught.value).replace("symbols of the", "")
    with pytest.raises(WordError, match="position 3 of 5"):
        sv.privatize(["abzab"], alphabet="abc", epsilon=5)


@pytest.mark.parametrize("adjacency", [3, 2**63 - 1, 10**30])
def test_an_enormous_adjacency_relates_no_other_public_start(adjacency) -> None:
    mechanism = sv.Exponential(sv.runs(CHAIN, 3, public_start=True), epsilon=1, adjacency=adjacency)
    verdict = sv.audit(mechanism)
    assert verdict.private and verdict.pairs_checked == 8
    assert sv.privatize(["", "ab"], alphabet="ab", epsilon=1, adjacency=adjacency)[0] == ""


def test_names_that_are_no_parameters() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'not_private'"):
        sv.privatize(["a"], alphabet="ab", epsilon=1, not_private=False)
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'epsilon'"):
        sv.privatize(["a"], alphabet="ab")
    with pytest.raises(ParameterError, match="choice: expected a MechanismChoice, found a dict"):
        sv.privatize(["a"], alphabet="ab", choice={"epsilon": 1})
    with pytest.raises(ParameterError, match="epsilon: expected it inside choice"):
        sv.privatize(["a"], alphabet="ab", choice=sv.MechanismChoice(epsilon=1), epsilon=2)


def test_a_mechanism_for_every_length_is_explained_as_that_of_the_length() -> None:
    choice = sv.MechanismChoice(epsilon=1, adjacency=2)
    every = explain_word("aba", sv.choose_mechanism(choice, runs_of_any_length(CHAIN))).document()
    assert every == explain_word("aba", sv.choose_mechanism(choice, sv.runs(CHAIN, 3))).document()
    with pytest.raises(ParameterError, match="language: expected words of one length"):
        sv.protection(runs_of_any_length(CHAIN), 1)


@pytest.mark.parametrize("count", [0, -1])
@pytest.mark.parametrize(
    "make", [lambda: sv.EditChannel("ab", epsilon=3), lambda: sv.Exponential(sv.words("ab", 2), epsilon=3)]
)
def test_no_copies_are_refused(make, count) -> None:
    with pytest.raises(ParameterError, match="count: expected a whole number from 1 to"):
        release_word("ab", make(), count=count)


@pytest.mark.parametrize(("key", "value"), [("public_start", "false"), ("public_start", 1), ("b", True)])
def test_a_manifest_with_a_value_of_another_kind_does_not_hold(tmp_path: Path, key, value) -> None:
    (tmp_path / "in.csv").write_text("id,s\n1,a b a\n2,a a\n")
    sv.save_model(CHAIN, tmp_path / "chain.json")
    release = sv.privatize_file(
        tmp_path / "in.csv",
        tmp_path / "out.csv",
        model=tmp_path / "chain.json",
        epsilon=2,
        adjacency=1,
        public_start=True,
        thin=True,
    )
    assert sv.check_manifest(release.manifest_file).holds
    document = json.loads(release.manifest_file.read_text())
    holder = document if key in document else document["parameters"]
    holder[key] = value
    release.manifest_file.write_text(json.dumps(document))
    try:
        assert not sv.check_manifest(release.manifest_file).holds
    except SymveilError as error:
        assert len(str(error).splitlines()) == 1
