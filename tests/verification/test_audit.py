"""The audit finds the worst pair of any law, and says so for laws that are broken on purpose."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import symveil as sv
from symveil.errors import SymveilError, TooLargeError
from symveil.mechanisms.distance_weighted import Jones2019Printed
from symveil.verification.limits import LIMITS


@dataclass(frozen=True)
class TableLaw:
    """A law given by a table, for laws that no mechanism has."""

    table: np.ndarray
    language: sv.FreeLanguage
    epsilon: Fraction = Fraction(1)
    adjacency: int = 1
    name: str = "table"
    guarantee: sv.Guarantee = sv.Guarantee(1.0, "exact")

    @property
    def alphabet(self):
        return self.language.alphabet

    @property
    def length(self):
        return self.language.length

    largest_output = length

    def inputs(self, length=None, *, at_most):
        return self.language.by_length(at_most=at_most, longest=length)

    outputs = inputs

    def distance(self, word, words):
        return self.language.distance(word, words)

    def log_probabilities(self, word, released):
        size = len(self.language.alphabet)
        powers = size ** np.arange(self.language.length)[::-1]
        with np.errstate(divide="ignore"):
            return np.log(self.table[int(word @ powers), released @ powers])


def plain_worst(mechanism, words, adjacency) -> float:
    worst = 0.0
    for word, other in itertools.permutations(words, 2):
        if sum(a != b for a, b in zip(word, other, strict=True)) <= adjacency:
            for released in words:
                loss = mechanism.log_probability(word, released) - mechanism.log_probability(other, released)
                worst = max(worst, loss)
    return worst


@pytest.mark.parametrize("adjacency", [1, 2, 3])
@pytest.mark.parametrize("kind", [sv.Exponential, sv.PermuteAndFlip, sv.Staircase, Jones2019Printed])
def test_equals_a_plain_loop(kind, adjacency) -> None:
    language = sv.words("ab", 3)
    mechanism = kind(language, epsilon="0.7", adjacency=adjacency)
    verdict = sv.audit(mechanism)
    assert verdict.worst_epsilon == pytest.approx(plain_worst(mechanism, list(language), adjacency), abs=1e-12)
    assert verdict.worst_epsilon == pytest.approx(mechanism.guarantee.epsilon, abs=1e-9)
    witness = verdict.witness
    loss = mechanism.log_probability(witness.word, witness.released) - mechanism.log_probability(
        witness.neighbour, witness.released
    )
    assert loss == pytest.approx(verdict.worst_epsilon, abs=1e-12)
    assert sum(a != b for a, b in zip(witness.word, witness.neighbour, strict=True)) <= adjacency


@pytest.mark.parametrize(("length", "size"), [(3, 2), (2, 4), (5, 3)])
def test_the_hole_of_the_printed_law(length: int, size: int) -> None:
    """Mathematics §12 E1: at a nominal ε of 0 the printed law loses ln(n(m−1)) for b = 1."""
    verdict = sv.audit(Jones2019Printed(sv.words(range(size), length), epsilon=0))
    assert verdict.worst_epsilon == pytest.approx(math.log(length * (size - 1)), abs=1e-9)
    assert not verdict.private


def test_a_word_that_only_one_neighbour_can_release_is_an_infinite_loss() -> None:
    table = np.array([[0.5, 0.5], [0.0, 1.0]])
    verdict = sv.audit(TableLaw(table, sv.words("ab", 1)))
    assert math.isinf(verdict.worst_epsilon)
    assert not verdict.private
    assert verdict.document()["worst_epsilon"] == "infinity"
    assert (verdict.witness.word, verdict.witness.neighbour, verdict.witness.released) == (("a",), ("b",), ("a",))


def test_words_that_nobody_releases_do_not_matter() -> None:
    table = np.array([[0.0, 1.0], [0.0, 1.0]])
    assert sv.audit(TableLaw(table, sv.words("ab", 1))).worst_epsilon == 0


def test_a_table_that_is_no_law_is_refused() -> None:
    with pytest.raises(SymveilError, match="sum to 1"):
        sv.audit(TableLaw(np.array([[0.5, 0.4], [0.5, 0.5]]), sv.words("ab", 1)))


@pytest.mark.parametrize(("alphabet", "length"), [("a", 3), ("abc", 0)])
def test_a_language_of_one_word_has_no_pairs(alphabet: str, length: int) -> None:
    verdict = sv.audit(sv.Exponential(sv.words(alphabet, length), epsilon=1))
    assert (verdict.pairs_checked, verdict.worst_epsilon, verdict.witness, verdict.private) == (0, 0.0, None, True)


def test_large_languages_are_refused_with_their_size() -> None:
    with pytest.raises(TooLargeError, match=r"2\^30"):
        sv.audit(sv.Exponential(sv.words("ab", 30), epsilon=1))


def test_progress_is_told() -> None:
    seen = []
    sv.audit(sv.Exponential(sv.words("ab", 3), epsilon=1), progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (8, 8)
    assert len(seen) == 8


def plain_by_distance(mechanism, words) -> list[float]:
    """The largest loss of words at most 1, 2 … places apart, pair by pair."""
    largest = [0.0] * (len(words[0]) + 1)
    for word, other in itertools.permutations(words, 2):
        apart = sum(a != b for a, b in zip(word, other, strict=True))
        for released in words:
            loss = mechanism.log_probability(word, released) - mechanism.log_probability(other, released)
            largest[apart] = max(largest[apart], loss)
    return list(itertools.accumulate(largest, max))[1:]


@pytest.mark.parametrize(
    "mechanism",
    [
        sv.Exponential(sv.words("abc", 3), epsilon=2, adjacency=2),
        sv.Staircase(sv.words("ab", 4), epsilon=2, adjacency=2),
        sv.PermuteAndFlip(sv.words("abc", 3), epsilon=1),
    ],
    ids=str,
)
def test_the_loss_at_every_distance(mechanism) -> None:
    verdict = sv.audit(mechanism)
    words = ["".join(word) for word in itertools.product(mechanism.alphabet.symbols, repeat=mechanism.length)]
    plain = plain_by_distance(mechanism, words)
    assert [row.distance for row in verdict.by_distance] == list(range(1, mechanism.length + 1))
    assert [row.enumerated for row in verdict.by_distance] == pytest.approx(plain, rel=1e-9)
    assert [row.proved for row in verdict.by_distance] == [mechanism.loss_at(d + 1) for d in range(mechanism.length)]
    assert verdict.private and verdict.by_distance[mechanism.adjacency - 1].enumerated == verdict.worst_epsilon
    assert verdict.document()["loss_at"][0] == {
        "distance": 1,
        "enumerated": verdict.by_distance[0].enumerated,
        "proved": verdict.by_distance[0].proved,
    }


def test_a_bound_beyond_b_that_does_not_hold_is_no_promise_kept() -> None:
    """Randomised response at rate 1: the loss is ε = 1 for one symbol and 2 for two, and a bound of 1.5 is false."""
    own = sv.Exponential(sv.words("ab", 2), epsilon=1)
    words = own.inputs(at_most=10)[0]
    table = np.exp([own.log_probabilities(word, words) for word in words])
    for claimed, private in ((2.0, True), (1.5, False)):
        curve = sv.Exponential(sv.words("ab", 2), epsilon=1).guarantee.curve
        claim = sv.Guarantee(1.0, "exact", curve=type(curve)(1, 2, {1: 1.0, 2: claimed}.get))
        verdict = sv.audit(TableLaw(table, sv.words("ab", 2), guarantee=claim))
        assert verdict.worst_epsilon == pytest.approx(1) and verdict.private is private
        assert [row.kept for row in verdict.by_distance] == [True, private]
    silent = sv.audit(TableLaw(table, sv.words("ab", 2)))
    assert silent.private and [row.proved for row in silent.by_distance] == [None, None]


def test_where_all_pairs_are_too_many_the_adjacent_ones_are_compared(set_limits) -> None:
    set_limits(LIMITS, comparisons_beyond=0)
    verdict = sv.audit(sv.Exponential(sv.words("abc", 3), epsilon=2, adjacency=2))
    assert [row.distance for row in verdict.by_distance] == [1, 2] and verdict.private
