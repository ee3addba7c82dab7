"""Why a word is refused: of a symbol, of the public bound on the length, or of the state in which it ends.

An automaton may accept a word and refuse its beginning. In 0.2.0 such a beginning was refused, under metric
levenshtein, as a word that is too long ("found more; raise it").
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symveil as sv
from file_mechanism import file_mechanism
from symveil.errors import WordError
from symveil.languages.language import Refusal, refusal
from symveil.mechanisms.mechanism import Mechanism
from symveil.models.automaton import Automaton, TransitionSystem
from symveil.models.markov_chain import MarkovChain
from symveil.release.batch import ReleasePlan, check_batch, privatize_batch

STATES = ("0", "1", "2")
PAIRS = Automaton.from_transitions(
    [("0", "a", "1"), ("1", "b", "2"), ("2", "a", "1")], initial="0", accepting=["2"]
)  # fmt: skip
BOUND = 4


def reason(transitions: set[tuple[str, str, str]], accepting: set[str], word: str, bound: int | None) -> Refusal | None:
    """By the definition of acceptance: all runs at once."""
    states = {"0"}
    for position, symbol in enumerate(word[:bound], start=1):
        states = {target for source, read, target in transitions if source in states and read == symbol}
        if not states:
            return None if bound is not None and len(word) > bound else Refusal("symbol", position)
    if bound is not None and len(word) > bound:
        return Refusal("length")
    return None if states & accepting else Refusal("end")


moves = st.sets(st.tuples(st.sampled_from(STATES), st.sampled_from("ab"), st.sampled_from(STATES)), min_size=2)


@given(moves, st.sets(st.sampled_from(STATES), min_size=1))
def test_words_of_random_automata_are_refused_for_their_own_reason(transitions, accepting) -> None:
    model = Automaton.from_transitions(
        sorted(transitions), initial="0", accepting=sorted(accepting), states=list(STATES)
    )
    alphabet = sorted({symbol for _, symbol, _ in transitions})
    words = ["".join(word) for length in range(BOUND + 2) for word in itertools.product(alphabet, repeat=length)]
    for bound in (None, BOUND):
        try:
            metric = "hamming" if bound is None else "levenshtein"
            family = file_mechanism(model=model, epsilon=Fraction(1), adjacency=1, metric=metric, max_length=bound)
        except sv.SymveilError:
            continue  # a model without words
        for word in words:
            codes = np.array([family.alphabet.code[symbol] for symbol in word], dtype=np.int32)
            expected = reason(transitions, accepting, word, bound)
            refused = bool(family.language.first_refused(codes, np.array([len(codes)]))[0])
            if expected is None:
                assert refused == (bound is not None and len(word) > bound)
                continue
            assert refused
            found = refusal(family.language, codes)
            assert found.because == expected.because
            if expected.because == "symbol":  # on words of one length the symbol after which none can be completed
                assert found.position is not None and found.position <= expected.position
                assert bound is None or found.position == expected.position


def test_a_walk_that_ends_nowhere_is_not_blamed_on_a_symbol() -> None:
    family = file_mechanism(model=PAIRS, epsilon=Fraction(1), adjacency=1)
    for word, expected in (("aba", "end"), ("a", "end"), ("", "end"), ("bb", "symbol"), ("abb", "symbol")):
        codes = np.array([family.alphabet.code[symbol] for symbol in word], dtype=np.int32)
        assert refusal(family.language, codes).because == expected
    assert refusal(family.language, np.array([0, 1, 1], dtype=np.int32)) == Refusal("symbol", 3)
    assert refusal(family.language, np.array([0, -1], dtype=np.int32)) == Refusal("symbol", 2)


def batch_error(words: list[list[str]], **options: object) -> str:
    metric = "levenshtein" if options else "hamming"
    family = file_mechanism(model=PAIRS, epsilon=Fraction(6), adjacency=1, metric=metric, **options)
    plan = ReleasePlan(mechanism=family, release_id="r", release_key=bytes(32), sequence="s", identifier="id")
    batch = pa.record_batch({"id": [str(n) for n in range(len(words))], "s": pa.array(words, pa.list_(pa.string()))})
    with pytest.raises(WordError) as drawn:
        privatize_batch(batch, plan)
    with pytest.raises(WordError) as checked:
        check_batch(batch, plan)
    assert str(drawn.value) == str(checked.value)
    return str(drawn.value)


ENDS = "record 2: expected a sequence that the model accepts, found one that ends in a state that is not accepting"


@pytest.mark.parametrize("word", ["a", "aba", ""])
def test_records_that_end_too_early(word: str) -> None:
    words = [["a", "b"], list(word)]
    assert batch_error(words).startswith(ENDS)
    for bound in (3, 4, 7):
        message = batch_error(words, max_length=bound)
        assert message.startswith(ENDS)
        assert "raise it" not in message


def test_records_that_are_too_long_or_wrong_keep_their_words() -> None:
    assert "expected at most 4 symbols, the public bound `max_length`, found more; raise it" in batch_error(
        [["a", "b"], list("ababab")], max_length=4
    )
    assert "found one whose symbol at position 2 cannot come there; `on_unknown" in batch_error(
        [["a", "b"], ["a", "a"]], max_length=4
    )
    assert "found one whose symbol at position 2 of 2 cannot come there; `on_unknown" in batch_error(
        [["a", "b"], ["a", "a"]]
    )
    assert "found one whose symbol at position 1 of 3 cannot come there; `on_unknown" in batch_error(
        [["a", "b"], ["b", "a", "b"]]
    )


@pytest.mark.parametrize("options", [{}, {"metric": "levenshtein", "max_length": 4}])
def test_words_in_python(options: dict[str, object]) -> None:
    for word in ("a", "aba", ""):
        with pytest.raises(WordError, match=r"^word 2, word: expected a word that the model accepts, found") as refused:
            sv.privatize(["ab", word], model=PAIRS, epsilon=6, adjacency=1, **options)  # type: ignore[arg-type]
        assert refused.value.position is None
    with pytest.raises(WordError, match="impossible symbol at position 1"):
        sv.privatize(["ab", "bb"], model=PAIRS, epsilon=6, adjacency=1, **options)  # type: ignore[arg-type]
    if options:
        with pytest.raises(WordError, match="expected at most 4 symbols, which is the public bound, found more"):
            sv.privatize(["ab", "ababab"], model=PAIRS, epsilon=6, adjacency=1, **options)  # type: ignore[arg-type]


def test_one_word() -> None:
    both = Automaton.from_transitions(
        [("0", "a", "1"), ("1", "b", "2"), ("1", "a", "1")], initial="0", accepting=["2"]
    )  # fmt: skip
    with pytest.raises(WordError, match="ends in a state that is not accepting"):
        sv.runs(both, 2).encode("aa")
    with pytest.raises(WordError, match="word 2, word: expected a word that the model accepts"):
        sv.Exponential(sv.runs(both, 2), epsilon=1, adjacency=1).release_many(["ab", "aa"])
    with pytest.raises(WordError, match="impossible symbol at position 1 of 2"):
        sv.runs(both, 2).encode("ba")


def test_models_without_accepting_states_never_end_too_early() -> None:
    chain = MarkovChain.from_transitions([("a", "b", 1), ("b", "a", 1)])
    system = TransitionSystem.from_transitions([("0", "a", "1"), ("1", "b", "0")], initial="0")
    for model in (chain, system):
        family = file_mechanism(model=model, epsilon=Fraction(1), adjacency=1)
        assert refusal(family.language, np.array([0, 0], dtype=np.int32)) == Refusal("symbol", 2)


def test_the_command(tmp_path: Path) -> None:
    file, out = tmp_path / "in.csv", tmp_path / "out.csv"
    file.write_text("id,s\n1,a b\n2,a b a\n")
    for options in ({}, {"metric": "levenshtein", "max_length": 4}):
        with pytest.raises(WordError, match=r"in.csv: line 3: expected a sequence that the model accepts, found one"):
            sv.privatize_file(file, out, model=PAIRS, epsilon=6, adjacency=1, **options)  # type: ignore[arg-type]
        told = sv.privatize_file(
            file, out, model=PAIRS, epsilon=6, adjacency=1, thin=True, on_unknown="drop-sequence", **options
        )  # type: ignore[arg-type]
        assert told.manifest["counts"]["dropped_unknown"] == 1
        out.unlink()


def test_a_mechanism_without_a_proof_is_told_what_it_lacks() -> None:
    unproved = type("Unproved", (Mechanism,), {"name": "unproved", "label": "unproved"})
    unproved.__abstractmethods__ = frozenset()
    with pytest.raises(
        TypeError, match="^Unproved: expected a _proved_loss or a _calibrated of its own, found neither$"
    ):
        _ = unproved(sv.words("ab", 2), epsilon=1).guarantee
