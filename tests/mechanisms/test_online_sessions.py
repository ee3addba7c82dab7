"""Online sessions: feasible at every step, private at every length, clear about what they refuse."""

from __future__ import annotations

import itertools

import pytest

import symveil as sv
from symveil.errors import ParameterError, WordError
from symveil.models.markov_chain import MarkovChain
from symveil.randomness import NotPrivateSeededBits

TWO = MarkovChain.from_transitions([(a, b, "1/2") for a in "ab" for b in "ab"])
LOOP = MarkovChain.from_transitions([("a", "b", "1/2"), ("a", "c", "1/2"), ("b", "a", 1), ("c", "d", 1), ("d", "a", 1)])
ENDS = MarkovChain.from_transitions([("a", "b", "1/2"), ("a", "c", "1/2"), ("b", "c", 1)])


@pytest.mark.parametrize("built_for", [0, 1, 2, 6])
@pytest.mark.parametrize("public_start", [False, True])
def test_a_session_is_private_at_any_length(built_for: int, public_start: bool) -> None:
    """The rate does not depend on the language's length, so an audit at the session's length finds no more than ε."""
    mechanism = sv.Online(sv.runs(TWO, built_for, public_start=public_start), epsilon=1, adjacency=3)
    assert mechanism.guarantee == sv.Guarantee(1.0, "certified")
    assert mechanism.start(length=5)
    longer = sv.Online(sv.runs(TWO, 5, public_start=public_start), epsilon=1, adjacency=3)
    assert longer.rate == mechanism.rate
    assert sv.audit(longer).worst_epsilon <= 1 + 1e-9


def test_the_whole_word_cannot_grow() -> None:
    mechanism = sv.Online(sv.runs(TWO, 3), epsilon=1, adjacency="all")
    assert mechanism.start(length=3)
    for length in (4, None):
        with pytest.raises(ParameterError, match="length"):
            mechanism.start(length=length)


def test_an_open_ended_session_never_gets_stuck() -> None:
    session = sv.Online(sv.runs(LOOP, 1), epsilon=1, adjacency=1).start(bits=NotPrivateSeededBits(2))
    legal = {(source, target) for source, target, _ in LOOP.transitions}
    released = [session.step("a") for _ in range(300)]
    assert all(pair in legal for pair in itertools.pairwise(released))
    with pytest.raises(ParameterError, match="for ever"):
        sv.Online(sv.runs(MarkovChain.from_transitions([("a", "b", 1)]), 1), epsilon=1, adjacency=1).start()


def test_a_finite_session_is_trimmed_to_its_length() -> None:
    for seed in range(20):
        session = sv.Online(sv.runs(ENDS, 3), epsilon="1/10", adjacency=1).start(
            length=3, bits=NotPrivateSeededBits(seed)
        )
        assert tuple(session.step("a") for _ in range(3)) == ("a", "b", "c")  # the only word of length 3


def test_what_a_session_refuses() -> None:
    session = sv.Online(sv.runs(TWO, 2), epsilon=1, adjacency=1).start(length=2)
    for symbol in ("z", ["a"]):
        with pytest.raises(WordError, match="position 1") as caught:
            session.step(symbol)
        assert "z" not in str(caught.value)
    session.step("a")
    session.step("b")
    with pytest.raises(WordError, match="one more"):
        session.step("a")


def test_a_public_first_symbol_is_kept() -> None:
    mechanism = sv.Online(sv.runs(TWO, 4, public_start=True), epsilon="1/10", adjacency=1)
    assert {mechanism.release("abab")[0] for _ in range(30)} == {"a"}


def test_a_public_first_symbol_must_be_possible() -> None:
    begins_with_a = MarkovChain.from_transitions([("s", "a", 1), ("a", "b", 1), ("b", "a", 1)], initial="s")
    session = sv.Online(sv.runs(begins_with_a, 4, public_start=True), epsilon=1, adjacency=1).start(length=4)
    with pytest.raises(WordError, match="first symbol that the model allows") as caught:
        session.step("b")
    assert caught.value.position == 1
    assert session.step("a") == "a"  # nothing was drawn, the session goes on


def test_free_words_have_no_successors() -> None:
    with pytest.raises(ParameterError, match=r"language: expected runs\(model, length\)"):
        sv.Online(sv.words("ab", 3), epsilon=1)


def test_unlikely_distances_are_reported() -> None:
    law = sv.Online(sv.runs(TWO, 4), epsilon=5000, adjacency=1).distances("abab")
    assert law.distances.tolist() == [0, 1, 2, 3, 4]
    assert (law.log_probabilities > -1e5).all()
