"""Words at a distance, counted and put in order: by enumeration, and where counts outgrow 64 bits."""

from __future__ import annotations

from collections import Counter
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symveil as sv
from symveil.languages.run_counts import RunNeighbours
from symveil.randomness import NotPrivateSeededBits
from symveil.trellis import semirings
from symveil.trellis.passes import RankedWalks

STATES = "abcd"


def everything(size: int, length: int) -> sv.RunLanguage:
    """All words over an alphabet, as those of a model with one state."""
    rows = [("q", chr(97 + symbol), "q") for symbol in range(size)]
    return sv.runs(sv.TransitionSystem.from_transitions(rows, initial="q"), length)


@st.composite
def languages(draw: st.DrawFn) -> tuple[sv.RunLanguage, np.ndarray]:
    """A small automaton, and a word of it."""
    moves = draw(
        st.sets(st.tuples(st.sampled_from(STATES), st.sampled_from("xyz"), st.sampled_from(STATES)), min_size=2)
    )
    rows = sorted({("a", "x", "a"), *moves})
    accepting = sorted({"a", *draw(st.sets(st.sampled_from(STATES)))} & {state for row in rows for state in row[::2]})
    language = sv.runs(sv.Automaton.from_transitions(rows, initial="a", accepting=accepting), draw(st.integers(0, 5)))
    words = language.enumerate_codes(at_most=10_000)
    return language, words[draw(st.integers(0, len(words) - 1))]


@given(languages(), st.integers(0, 6), st.sampled_from([1, 2, 32]))
@settings(max_examples=80, deadline=None)
def test_words_by_rank_are_those_of_the_enumeration(case, distance: int, stretch: int) -> None:
    language, word = case
    words = language.enumerate_codes(at_most=10_000)  # in alphabetical order
    expected = words[(words != word).sum(axis=1) == distance].tolist()
    near = RunNeighbours(language, word, farthest=distance)
    assert near.count(distance) == len(expected) == RunNeighbours(language, word).count(distance)
    ranks = RankedWalks(near.choices, longest_stretch=stretch)
    begin = (0, language.graph.start, distance)
    for _ in range(2):  # found, then looked up
        assert [ranks.walk(begin, rank) for rank in range(len(expected))] == expected


@given(languages(), st.integers(0, 5))
@settings(max_examples=50, deadline=None)
def test_only_so_far_and_large_integers_change_no_count(case, farthest: int) -> None:
    language, word = case
    counts = RunNeighbours(language, word).counts()
    assert RunNeighbours(language, word, farthest=farthest).counts() == counts[: farthest + 1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(semirings, "_LARGEST", 0)  # Python's integers from the first layer on
        assert RunNeighbours(language, word).counts() == counts


@pytest.mark.parametrize(("size", "length"), [(2, 62), (2, 63), (2, 64), (2, 66), (3, 40), (26, 14), (26, 60)])
def test_counts_around_and_beyond_64_bits(size: int, length: int) -> None:
    """C(n,d)·(m−1)^d words lie at distance d: some of these outgrow 64 bits in the middle of a word."""
    language = everything(size, length)
    near = RunNeighbours(language, np.zeros(length, dtype=np.int32))
    assert near.counts() == [comb(length, d) * (size - 1) ** d for d in range(length + 1)]
    drawn = near.draw(length // 2, NotPrivateSeededBits(1))
    assert int((drawn != 0).sum()) == length // 2


def test_draws_are_uniform() -> None:
    """χ² of 6,000 draws among 40 words, false-alarm rate 10⁻⁸; half as much for some of them is refused."""
    language = everything(3, 5)
    near = RunNeighbours(language, np.array([0, 1, 2, 0, 1], dtype=np.int32), farthest=2)
    assert near.count(2) == 40
    bits = NotPrivateSeededBits(5)
    drawn = Counter(tuple(near.draw(2, bits).tolist()) for _ in range(6_000))
    expected = 6_000 / 40
    statistic = sum((drawn[word] - expected) ** 2 / expected for word in drawn)
    assert len(drawn) == 40
    assert statistic < 111  # 39 degrees of freedom: 10⁻⁸
    halved = sum((count - 75) ** 2 / 75 for count in list(drawn.values())[:20])  # a law that favours half of them
    assert halved > 111
