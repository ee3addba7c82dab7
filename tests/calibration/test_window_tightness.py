"""Windows are close to exact: the wider the closer (docs/theory/certificates.md, Tightness)."""

from __future__ import annotations

import statistics
from fractions import Fraction
from itertools import pairwise

import pytest
from calibration_oracle import chain_case, enumerated, random_chain, seeded

from symveil.calibration.windows import window_loss, window_search
from symveil.models.markov_chain import MarkovChain

# a road with a short cut, a long way round and a place to wait
ROAD = [("a", "b"), ("a", "c"), ("b", "c"), ("b", "d"), ("c", "d"), ("c", "a"), ("d", "e"), ("d", "d"), ("e", "a")]


def _road() -> MarkovChain:
    out = {state: [target for source, target in ROAD if source == state] for state in "abcde"}
    return MarkovChain.from_transitions([(s, t, Fraction(1, len(out[s]))) for s, t in ROAD], initial="a")


@pytest.mark.parametrize("adjacency", [1, 2, 3])
@pytest.mark.parametrize("rate", [1, 2, 3, 4])
def test_the_road(adjacency: int, rate: int) -> None:
    case = chain_case(_road(), 5)
    assert case is not None
    exact = case.loss(rate, adjacency)
    found = []
    for width in (1, 2, 3, 4):
        search = window_search(case.language, adjacency=adjacency, width=width)
        assert search is not None
        found.append(float(window_loss(search, Fraction(rate))))
    assert all(wider <= narrower + 1e-10 for narrower, wider in pairwise(found))
    assert found[max(adjacency, 2) - 1] <= exact * 1.03
    assert found[3] <= exact * 1.001


def test_random_chains_of_five_states() -> None:
    """h = b is within 3 % on average, h = b + 1 almost always."""
    looseness: dict[int, list[float]] = {0: [], 1: []}
    for seed in range(22):
        dice = seeded(seed)
        case = chain_case(random_chain(dice, states=5, dead_ends=False), 5, public_start=True)
        assert case is not None
        adjacency, rate = dice.randint(1, 2), dice.randint(1, 4)
        exact = case.loss(rate, adjacency) if len(case.weights) <= 90 else 0.0
        if exact == 0:
            continue
        for more, ratios in looseness.items():
            search = window_search(case.language, adjacency=adjacency, width=adjacency + more)
            assert search is not None
            ratios.append(float(window_loss(search, Fraction(rate))) / exact)
    assert len(looseness[0]) > 10
    assert statistics.mean(looseness[0]) < 1.03
    assert statistics.mean(looseness[1]) < 1.005
    assert max(looseness[1]) < 1.06


@pytest.mark.parametrize("adjacency", [1, 2, 3])
def test_default_windows_are_within_three_percent(adjacency: int) -> None:
    """Random 5-state chains, n = 5, η = 1 … 4: the widest affordable windows against every pair of words."""
    for seed in range(2000, 2020):
        dice = seeded(seed)
        case = chain_case(random_chain(dice, states=5, dead_ends=False), 5)
        assert case is not None
        rate = Fraction(dice.randint(1, 4))
        exact = enumerated(case.language, rate=rate, adjacency=adjacency).loss
        search = window_search(case.language, adjacency=adjacency)
        assert search is not None
        # both are rounded upwards, each in its own way; that neither is below the truth is tested elsewhere
        found = window_loss(search, rate)
        assert exact - Fraction(1, 10**11) <= found <= exact * Fraction(103, 100)
