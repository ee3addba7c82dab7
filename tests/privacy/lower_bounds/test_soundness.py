"""No bound exceeds the least expected error of any private mechanism (docs/theory/lower-bounds.md)."""

from __future__ import annotations

import numpy as np
import pytest

import symveil as sv
from symveil.privacy.lower_bounds.prior import Prior
from symveil.privacy.lower_bounds.programme import small_programme
from symveil.privacy.lower_bounds.star_price import find_detours, star_sums
from symveil.privacy.lower_bounds.tiled_bound import decays, tiled_bound

from .least_error_oracle import SOLVER_ERROR, Case, random_cases


def check_every_price(case: Case) -> tuple[float, float]:
    """All bounds of a case against the programme; how near the proved tiles come to it."""
    least = case.least_error()
    language = case.language
    reach = min(case.adjacency, language.largest_distance)
    bound = sv.lower_bound(language, epsilon=case.epsilon, adjacency=case.adjacency, prior=case.kind)
    assert bound.value <= least + SOLVER_ERROR, case
    prior = Prior(language, case.kind)
    check_prior(case, prior)
    if small_programme(prior, reach) is not None:
        assert bound.confidence is None
        assert bound.value == pytest.approx(least, abs=SOLVER_ERROR), case
    tiled = tiled_bound(prior, case.epsilon, reach, confidence=None)
    assert tiled.value <= least + SOLVER_ERROR, case
    for value in star_values(case, prior, reach):
        assert value <= least + SOLVER_ERROR, case
    return tiled.value, least


def check_prior(case: Case, prior: Prior) -> None:
    codes = np.array([case.language.encode(word) for word in case.words])
    assert prior.word_probabilities(codes) == pytest.approx(case.shares, rel=1e-12)


def star_values(case: Case, prior: Prior, reach: int) -> list[float]:
    """The exact mean price of the whole word and of every tiling into two, at several Λ."""
    codes = np.array([case.language.encode(word) for word in case.words])
    states, edges = case.language.walk(codes).astype(np.int64), case.language.walk_edges(codes)
    detours = find_detours(prior, states, edges, reach)
    first, length, decay = prior.first, case.language.length, float(decays(case.epsilon)[1])

    def mean(begin: int, end: int, level: float) -> float:
        if begin > end:
            return 0.0
        (sums,) = star_sums(detours, begin, range(end, end + 1), decay, reach)
        chosen = sums.best_level(0.0) if level < 0 else level
        return float(case.shares @ sums.prices(chosen))

    return [
        mean(first, cut - 1, level) + mean(cut, length - 1, level)
        for cut in range(first, length)
        for level in (-1.0, 0.3, 1.0)
    ]


def test_every_bound_is_below_the_programme_on_random_languages():
    found = [check_every_price(case) for case in random_cases(seed=1, count=200)]
    shares = [value / least for value, least in found if least > 1e-3]
    assert np.median(shares) > 0.85  # a bound that said nothing would be sound too
    assert min(shares) > 0.2


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 120))
def test_every_bound_is_below_the_programme_on_many_random_languages(seed):
    for case in random_cases(seed=seed, count=500, most_cells=30_000):
        check_every_price(case)
