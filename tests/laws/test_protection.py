"""Protection: the average number of feasible neighbours, by position, against enumeration."""

from __future__ import annotations

from fractions import Fraction

import pytest

import symveil as sv
from symveil.calibration.costs.pairs import pair_losses
from symveil.laws.limits import LIMITS
from symveil.laws.protection import protection, typical_words
from symveil.models.markov_chain import MarkovChain

ROWS = [("a", "b", "1/2"), ("a", "c", "1/2"), ("b", "d", "1/3"), ("b", "a", "2/3"), ("c", "d", 1), ("d", "a", 1)]


@pytest.mark.parametrize("public_start", [False, True])
@pytest.mark.parametrize("adjacency", [1, 2, 3, 100_000])
def test_equals_counting_over_the_same_public_words(public_start: bool, adjacency: int) -> None:
    language = sv.runs(MarkovChain.from_transitions(ROWS), 4, public_start=public_start)
    words = [tuple(row) for row in language.enumerate_codes(at_most=1000).tolist()]
    total, positions = 0, [0] * 4
    for word in typical_words(language, LIMITS.now.sampled_words).tolist():
        for other in words:
            differing = [place for place in range(4) if word[place] != other[place]]
            if 0 < len(differing) <= adjacency and not (public_start and 0 in differing):
                total += 1
                for place in differing:
                    positions[place] += 1
    found = protection(language, adjacency)
    assert found.neighbours_within_adjacency == pytest.approx(total / LIMITS.now.sampled_words)
    assert found.by_position == pytest.approx([count / LIMITS.now.sampled_words for count in positions])


def test_probabilities_too_small_for_floats() -> None:
    chain = MarkovChain.from_transitions(
        [("a", "b", f"1/{10**400}"), ("a", "z", f"{10**400 - 1}/{10**400}"), ("b", "b", 1)], initial="a"
    )
    language = sv.runs(chain, 2)
    assert protection(language, 1).neighbours_within_adjacency == 0
    assert sv.audit(sv.Exponential(language, epsilon=1, adjacency=1, prior="chain")).private


def test_totals_too_small_for_floats_leave_the_classic_rate() -> None:
    """Both words weigh half of 10⁻⁴⁰⁰, so that at a rate η they lose η: floats make 0/0 of it."""
    tiny, rest = f"1/{10**400}", f"{10**400 - 1}/{10**400}"
    rows = [("a", "b", tiny), ("a", "z", rest), ("b", "b", "1/2"), ("b", "c", "1/2")]
    language = sv.runs(MarkovChain.from_transitions(rows, initial="a"), 2)
    assert language.size == 2
    mechanism = sv.Exponential(language, epsilon=1, adjacency=1, prior="chain")
    assert mechanism.rate == Fraction(1, 2) and mechanism.guarantee.epsilon == 1
    words, others = language.encode("bb")[None, :], language.encode("bc")[None, :]
    assert pair_losses(mechanism.weighting, Fraction(1, 2), words, others).tolist() == [0.5]


def test_thin_or_not() -> None:
    line = sv.runs(MarkovChain.from_transitions([("a", "b", 1), ("b", "a", 1)], initial="a"), 5)
    assert protection(line, 1).thin
    free = sv.runs(MarkovChain.from_transitions([(a, b, "1/3") for a in "abc" for b in "abc"]), 5)
    assert not protection(free, 1).thin
