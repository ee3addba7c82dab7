"""Mechanisms as chains: the chain's law is the mechanism's, and verifiers reach the same verdicts on it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import symveil as sv
from symveil.errors import ParameterError, TooLargeError, WordError
from symveil.laws.limits import LIMITS
from symveil.mechanisms.distance_weighted import Jones2019Printed
from symveil.mechanisms.mechanism import Mechanism
from symveil.models.labelled_chain import LabelledChain
from symveil.verification.chain_pairs import audit_by_chain, branches_of, largest_ratio

EXAMPLES = Path(__file__).parents[2] / "examples"


def free() -> sv.FreeLanguage:
    return sv.words("abc", 3)


def roads(*, public_start: bool = False) -> sv.RunLanguage:
    return sv.runs(sv.load_model(EXAMPLES / "roads.json"), 3, public_start=public_start)


def robot() -> sv.RunLanguage:
    return sv.runs(sv.load_model(EXAMPLES / "robot.json"), 3)


MECHANISMS = {
    "exponential": lambda: sv.Exponential(free(), epsilon=1),
    "exponential, b = 2": lambda: sv.Exponential(free(), epsilon=2, adjacency=2),
    "inverse utility": lambda: sv.Exponential(free(), epsilon=1, utility="inverse"),
    "permute-and-flip": lambda: sv.PermuteAndFlip(free(), epsilon=1),
    "staircase": lambda: sv.Staircase(free(), epsilon=1, adjacency=2),
    "as printed": lambda: Jones2019Printed(free(), epsilon=1),
    "exponential on a chain": lambda: sv.Exponential(roads(), epsilon=1, adjacency=1),
    "exponential with a prior": lambda: sv.Exponential(roads(), epsilon=1, adjacency=1, prior="chain"),
    "exponential, degrees": lambda: sv.Exponential(robot(), epsilon=1, adjacency=1, prior="degrees"),
    "public start": lambda: sv.Exponential(roads(public_start=True), epsilon=1, adjacency=1),
    "staircase on a chain": lambda: sv.Staircase(roads(), epsilon=1, adjacency=1),
    "permute-and-flip on a system": lambda: sv.PermuteAndFlip(robot(), epsilon=1, adjacency=1),
    "online": lambda: sv.Online(roads(), epsilon=1, adjacency=1),
    "online, public start": lambda: sv.Online(roads(public_start=True), epsilon=1, adjacency=1),
    "online, without steering": lambda: sv.Online(roads(), epsilon=1, adjacency=1, steering=False),
}


@pytest.fixture(params=MECHANISMS)
def mechanism(request: pytest.FixtureRequest) -> Mechanism:
    return MECHANISMS[request.param]()


def released_law(chain: LabelledChain, start: str) -> dict[tuple[str, ...], Fraction]:
    """P(released word) by following the chain from a start to its end."""
    rows: dict[str, list[tuple[str, Fraction]]] = {}
    for source, target, chance in chain.transitions:
        rows.setdefault(source, []).append((target, chance))
    law: dict[tuple[str, ...], Fraction] = {}
    stack: list[tuple[str, tuple[str, ...], Fraction]] = [(start, (), Fraction(1))]
    while stack:
        state, word, mass = stack.pop()
        for target, chance in rows[state]:
            if target == "end":
                assert word not in law  # a word is one path
                law[word] = mass * chance
            else:
                stack.append((target, (*word, chain.label(target)), mass * chance))
    return law


def test_the_law_of_the_chain_is_that_of_the_mechanism(mechanism: Mechanism) -> None:
    words = mechanism.language.enumerate_codes(at_most=500)
    compiled = mechanism.compile_chain(words[[0, -1]])
    assert 0 < compiled.log_error < Fraction(1, 10**30)
    symbols = mechanism.language.alphabet.symbols
    for start, word in zip(compiled.starts, words[[0, -1]], strict=True):
        law = released_law(compiled.chain, start)
        assert sum(law.values()) == 1
        logs = mechanism.log_probabilities(word, words)
        assert len(law) == np.isfinite(logs).sum()
        for row, log in zip(words, logs, strict=True):
            if np.isfinite(log):
                chance = law[tuple(str(symbols[code]) for code in row)]
                assert float(chance) == pytest.approx(np.exp(log), rel=1e-12)


def test_the_law_of_the_distance_is_that_of_the_words(mechanism: Mechanism) -> None:
    """P(ℓ) is the sum over the words at distance ℓ, each with its own probability."""
    words = mechanism.language.enumerate_codes(at_most=500)
    symbols = mechanism.language.alphabet.symbols
    for word in words[[0, -1]]:
        law = mechanism.distances([symbols[code] for code in word])
        chances = np.exp(mechanism.log_probabilities(word, words))
        apart = np.count_nonzero(words != word, axis=1)
        summed = np.bincount(apart, weights=chances, minlength=len(word) + 1)
        assert law.distances.tolist() == np.flatnonzero(summed).tolist()
        assert law.probabilities == pytest.approx(summed[law.distances], rel=1e-12)
        assert law.expected_error == pytest.approx(chances @ apart, rel=1e-12)
        assert sum(chances) == pytest.approx(1, rel=1e-12)


def test_the_audit_on_the_chain_agrees_with_the_audit_by_enumeration(mechanism: Mechanism) -> None:
    by_chain, by_words = audit_by_chain(mechanism), sv.audit(mechanism)
    assert by_chain.worst_epsilon == pytest.approx(by_words.worst_epsilon, abs=1e-12)
    assert by_chain.worst_epsilon >= by_words.worst_epsilon  # proved from above, attained from below
    assert (by_chain.private, by_chain.pairs_checked) == (by_words.private, by_words.pairs_checked)
    assert by_chain.witness is not None
    loss = mechanism.log_probability(by_chain.witness.word, by_chain.witness.released) - mechanism.log_probability(
        by_chain.witness.neighbour, by_chain.witness.released
    )
    assert loss == pytest.approx(by_chain.worst_epsilon, abs=1e-12)


@pytest.mark.parametrize("name", ["exponential", "staircase", "permute-and-flip", "exponential on a chain", "online"])
def test_the_verifier_confirms_the_guarantee(name: str) -> None:
    mechanism = MECHANISMS[name]()
    words = mechanism.language.enumerate_codes(at_most=500)
    near = np.flatnonzero(np.count_nonzero(words != words[0], axis=1) == 1)
    compiled = mechanism.compile_chain(words[[0, near[0]]])
    promised = Fraction(mechanism.guarantee.epsilon)
    just_above = sv.verify_privacy(compiled, epsilon=promised + Fraction(1, 10**6), delta=0, symmetric=False)
    assert just_above.holds is True
    at = sv.verify_privacy(compiled, epsilon=promised, symmetric=False)
    assert at.delta.upper < Fraction(1, 10**12)
    # and δ(ε) below is the δ that enumeration finds
    half = sv.verify_privacy(compiled, epsilon=promised / 2, symmetric=False, width="1e-9")
    mine, theirs = (np.exp(mechanism.log_probabilities(words[place], words)) for place in (0, near[0]))
    counted = max(
        np.maximum(mine - np.exp(float(promised) / 2) * theirs, 0).sum(),
        np.maximum(theirs - np.exp(float(promised) / 2) * mine, 0).sum(),
    )
    assert float(half.delta.lower) - 1e-12 <= counted <= float(half.delta.upper) + 1e-12


def test_the_verifier_finds_the_hole_of_the_printed_mechanism() -> None:
    printed = Jones2019Printed(free(), epsilon=1)
    verdict = sv.verify_privacy(printed.release_chain(["abc", "abb"]), epsilon=1, delta="0.1", symmetric=False)
    assert verdict.holds is False
    assert not audit_by_chain(printed).private


def test_a_word_that_only_one_of_two_can_release() -> None:
    left = LabelledChain.from_transitions(
        [("word 1", "a", "1/2"), ("word 1", "b", "1/2"), ("a", "end", 1), ("b", "end", 1), ("end", "end", 1)],
        labels={"word 1": "⊢", "a": "a", "b": "b", "end": "$"},
    )
    right = LabelledChain.from_transitions(
        [("word 1", "a", 1), ("a", "end", 1), ("end", "end", 1)], labels={"word 1": "⊢", "a": "a", "end": "$"}
    )
    assert largest_ratio(branches_of(left), branches_of(right), "word 1") == (None, ["b"])
    ratio, word = largest_ratio(branches_of(right), branches_of(left), "word 1")
    assert (str(ratio), word) == ("2", ["a"])


def test_a_word_that_only_one_of_two_can_release_is_told_to_its_end() -> None:
    left = LabelledChain.from_transitions(
        [("s", "a", "1/2"), ("s", "b", "1/2"), ("a", "c", 1), ("b", "c", 1), ("c", "end", 1), ("end", "end", 1)],
        labels={"s": "⊢", "a": "a", "b": "b", "c": "c", "end": "$"},
    )
    right = LabelledChain.from_transitions(
        [("s", "a", 1), ("a", "c", 1), ("c", "end", 1), ("end", "end", 1)],
        labels={"s": "⊢", "a": "a", "c": "c", "end": "$"},
    )
    assert largest_ratio(branches_of(left), branches_of(right), "s") == (None, ["b", "c"])


def test_a_label_that_leads_to_two_states_is_no_word() -> None:
    chain = LabelledChain.from_transitions(
        [("s", "a", "1/2"), ("s", "b", "1/2"), ("a", "a", 1), ("b", "b", 1)], labels={"s": "⊢", "a": "x", "b": "x"}
    )
    with pytest.raises(TooLargeError, match="a chain in which a label leads to one state"):
        branches_of(chain)


def test_progress_is_told_word_by_word() -> None:
    told: list[tuple[int, int]] = []
    audit_by_chain(sv.Exponential(sv.words("ab", 2), epsilon=1), progress=lambda *where: told.append(where))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_longer_words_than_enumeration_can_list() -> None:
    """3^12 released words, and a chain of a hundred states."""
    mechanism = sv.Exponential(sv.words("abc", 12), epsilon=1)
    compiled = mechanism.release_chain(["abcabcabcabc", "abcabcabcabb"])
    assert len(compiled.chain.states) < 100
    verdict = sv.verify_privacy(compiled, epsilon="1.000001", delta=0, symmetric=False)
    assert verdict.holds is True


def test_refused() -> None:
    with pytest.raises(TooLargeError, match="audit by chain: expected at most 50000 pairs"):
        audit_by_chain(sv.Exponential(sv.words("ab", 12), epsilon=1, adjacency=6))

    class Whole(sv.Exponential):
        def _moves(self, codes: np.ndarray, shown: int) -> object:  # type: ignore[override]
            return Mechanism._moves(self, codes, shown)

    with pytest.raises(ParameterError, match="one that releases symbol by symbol"):
        Whole(free(), epsilon=1).release_chain(["abc"])


EDITS = {
    "truncated": lambda: sv.TruncatedLevenshtein(sv.words_up_to("ab", 4), epsilon=3),
    "truncated, far words alike": lambda: sv.TruncatedLevenshtein(sv.words_up_to("abc", 3), epsilon=2, cutoff=1),
    "truncated on a model": lambda: sv.TruncatedLevenshtein(
        sv.runs_up_to(sv.load_model(EXAMPLES / "roads.json"), 3), epsilon=3, adjacency=1
    ),
    "channel": lambda: sv.EditChannel(alphabet="ab", epsilon=4),
    "channel, public bound": lambda: sv.EditChannel(alphabet="abc", epsilon=6, max_length=2),
    "channel that deletes everything": lambda: sv.EditChannel(alphabet="abc", epsilon="1/100"),
}


def shown_law(chain: LabelledChain, start: str) -> dict[tuple[str, ...], Fraction]:
    """P(labels up to the end): several ways may show the same."""
    rows: dict[str, list[tuple[str, Fraction]]] = {}
    for source, target, chance in chain.transitions:
        rows.setdefault(source, []).append((target, chance))
    law: dict[tuple[str, ...], Fraction] = {}
    stack: list[tuple[str, tuple[str, ...], Fraction]] = [(start, (), Fraction(1))]
    while stack:
        state, word, mass = stack.pop()
        if state in ("end", "more"):
            law[word] = law.get(word, Fraction(0)) + mass
            continue
        stack += [(target, (*word, chain.label(target)), mass * chance) for target, chance in rows[state]]
    return law


@pytest.mark.parametrize("name", EDITS)
def test_the_chain_of_an_edit_mechanism_has_its_law(name: str) -> None:
    mechanism = EDITS[name]()
    rows = [word for words in mechanism.inputs(2, at_most=500) for word in words]
    words = [rows[0], rows[-1]]
    compiled = mechanism.compile_chain(words)
    assert 0 <= compiled.log_error < Fraction(1, 10**30)
    symbols = mechanism.alphabet.symbols
    longest = mechanism.largest_output
    outputs = mechanism.outputs(len(rows[-1]) + 3 if longest is None else longest, at_most=5000)
    for start, word in zip(compiled.starts, words, strict=True):
        law = shown_law(compiled.chain, start)
        assert sum(law.values()) == 1
        for released in outputs:
            logs = mechanism.log_probabilities(word, released)
            for row, log in zip(released, logs, strict=True):
                chance = law.pop((*(str(symbols[code]) for code in row), "$"), Fraction(0))
                assert float(chance) == pytest.approx(np.exp(log), rel=1e-11, abs=1e-300)
        assert all(word[-1] == "…" for word in law)  # what is left is longer
        assert bool(law) == (longest is None)


@pytest.mark.parametrize(("name", "pair"), [("truncated", ("ab", "abb")), ("channel", ("ab", "a"))])
def test_the_verifier_confirms_edit_mechanisms(name: str, pair: tuple[str, str]) -> None:
    mechanism = EDITS[name]()
    compiled = mechanism.release_chain(pair)
    promised = Fraction(mechanism.guarantee.epsilon)
    above = sv.verify_privacy(compiled, epsilon=promised + Fraction(1, 10**6), delta=0, symmetric=False)
    assert above.holds is True
    half = sv.verify_privacy(compiled, epsilon=promised / 2, symmetric=False, width="1e-9")
    mine, theirs = (shown_law(compiled.chain, start) for start in compiled.starts)
    rate = np.exp(float(promised) / 2)
    both = [(float(mine.get(word, 0)), float(theirs.get(word, 0))) for word in mine.keys() | theirs.keys()]
    counted = max(sum(max(a - rate * b, 0) for a, b in both), sum(max(b - rate * a, 0) for a, b in both))
    assert 0 < float(half.delta.lower) - 1e-12 <= counted <= float(half.delta.upper) + 1e-12


@pytest.mark.parametrize("name", ["truncated", "truncated, far words alike", "truncated on a model"])
def test_the_audit_on_the_chain_of_an_edit_mechanism_agrees(name: str) -> None:
    mechanism = EDITS[name]()
    by_chain, by_words = audit_by_chain(mechanism, length=3), sv.audit(mechanism, length=3)
    assert by_chain.worst_epsilon == pytest.approx(by_words.worst_epsilon, abs=1e-12)
    assert by_chain.worst_epsilon >= by_words.worst_epsilon
    assert (by_chain.private, by_chain.pairs_checked) == (by_words.private, by_words.pairs_checked)
    assert by_chain.witness is not None
    word, neighbour, released = by_chain.witness.word, by_chain.witness.neighbour, by_chain.witness.released
    loss = mechanism.log_probability(word, released) - mechanism.log_probability(neighbour, released)
    assert loss == pytest.approx(by_chain.worst_epsilon, abs=1e-12)


def test_the_edit_channel_has_no_audit_by_chain() -> None:
    with pytest.raises(ParameterError, match="^mechanism: expected one with a longest word to release.* found edit$"):
        audit_by_chain(EDITS["channel"](), length=2)
    with pytest.raises(ParameterError, match="^length: expected the number of symbols"):
        audit_by_chain(EDITS["truncated"]())


def test_symbols_spelled_like_the_end_are_not_taken_for_it() -> None:
    compiled = sv.TruncatedLevenshtein(sv.words_up_to(["$", "a"], 2), epsilon=1).release_chain([["$"], ["a"]])
    assert compiled.chain.label("end") == "$'"
    cut = sv.EditChannel(alphabet=["…", "a"], epsilon=4).release_chain([["a"]], output_length=1)
    assert (cut.chain.label("end"), cut.chain.label("more")) == ("$", "…'")


def test_edit_chains_are_refused_in_one_line() -> None:
    with pytest.raises(WordError, match="^words: expected at least one word, found none$"):
        sv.EditChannel(alphabet="ab", epsilon=4).release_chain([])
    with pytest.raises(ParameterError, match="^output_length: expected a whole number, 0 or more, found -1$"):
        sv.EditChannel(alphabet="ab", epsilon=4).release_chain(["a"], output_length=-1)


def test_no_words_are_refused_in_one_line() -> None:
    with pytest.raises(WordError, match="^words: expected at least one word, found none$"):
        sv.Exponential(sv.words("ab", 2), epsilon=1).release_chain([])


def test_symbols_that_print_alike_have_labels_of_their_own() -> None:
    mechanism = sv.Exponential(sv.words([1, "1"], 2), epsilon=1)
    compiled = mechanism.release_chain([(1, "1")])
    assert {"1", "'1'"} <= {compiled.chain.label(state) for state in compiled.chain.states}
    (start,) = compiled.starts
    assert len(released_law(compiled.chain, start)) == 4


def test_a_chain_too_large_is_refused(set_limits) -> None:
    set_limits(LIMITS, chain_states=10)
    with pytest.raises(TooLargeError, match="chain of the mechanism: expected at most 10 states, found more"):
        sv.Exponential(free(), epsilon=1).release_chain(["abc", "abb", "aaa"])
