"""No bound exceeds the least expected error of any private mechanism (docs/theory/lower-bounds.md)."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import symveil as sv
from symveil.bounds.lower_bound import decays, tiled_bound
from symveil.bounds.prior import Prior
from symveil.bounds.programme import small_programme
from symveil.bounds.spread_price import Pattern, _counts, _masses
from symveil.bounds.star_price import find_detours, star_sums

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


def check_graceful_prices(case: Case) -> tuple[float, float] | None:
    """The same under the graceful promise; None where the programme would be too large."""
    if len(case.words) > 16:
        return None
    least, language, prior = case.least_error(factor=Fraction(1)), case.language, Prior(case.language, case.kind)
    more = {"epsilon": case.epsilon, "adjacency": case.adjacency, "prior": case.kind}
    bound = sv.lower_bound(language, **more, beyond="graceful")
    assert bound.value <= least + SOLVER_ERROR, case
    assert bound.beyond == "graceful"
    assert bound.value >= sv.lower_bound(language, **more, confidence=None).value - SOLVER_ERROR, case
    twice = sv.lower_bound(language, **more, beyond=2)
    assert twice.value <= case.least_error(factor=Fraction(2)) + SOLVER_ERROR, case
    per_place = case.epsilon / case.adjacency
    if small_programme(prior, None) is not None:
        assert bound.value == pytest.approx(least, abs=SOLVER_ERROR), case
    tiled = tiled_bound(prior, per_place, None, confidence=None)
    assert tiled.value <= least + SOLVER_ERROR, case
    values = [tiled.value, *star_values(replace(case, epsilon=per_place), prior, None)]
    assert max(values) <= least + SOLVER_ERROR, case
    return max(values), least


def check_prior(case: Case, prior: Prior) -> None:
    codes = np.array([case.language.encode(word) for word in case.words])
    assert prior.word_probabilities(codes) == pytest.approx(case.shares, rel=1e-12)


def star_values(case: Case, prior: Prior, reach: int | None) -> list[float]:
    """The exact mean price of the whole word and of every tiling into two, at several Λ and with tolls of any kind."""
    codes = np.array([case.language.encode(word) for word in case.words])
    states, edges = case.language.walk(codes).astype(np.int64), case.language.walk_edges(codes)
    tolls = np.random.default_rng(len(codes)).random(case.language.graph.state_count) ** 2
    detours = find_detours(prior, states, edges, case.language.length if reach is None else reach, tolls=tolls)
    first, length, decay = prior.first, case.language.length, decays(case.epsilon)

    def mean(begin: int, end: int, level: float, scale: float) -> float:
        if begin > end:
            return 0.0
        (sums,) = star_sums(detours, begin, range(end, end + 1), decay, reach)
        chosen = sums.best_level(0.0) if level < 0 else level
        prices = sums.prices_with_tolls(chosen, scale, 1.0) if scale else sums.prices(chosen)
        return float(case.shares @ prices)

    return [
        mean(first, cut - 1, level, scale) + mean(cut, length - 1, level, scale)
        for cut in range(first, length)
        for level, scale in ((-1.0, 0.0), (0.3, 0.0), (1.0, 0.0), (-1.0, 0.5), (0.0, 0.5), (0.1, 3.0), (0.5, 0.05))
    ]


def test_graceful_star_sums_are_those_of_all_words():
    """G₁ = Σ π(w)/π(o)·e^{−ρd} over the other words, G₀ the same times d: written out for every word."""
    for case in random_cases(seed=6, count=30):
        prior, length = Prior(case.language, case.kind), case.language.length
        codes = np.array([case.language.encode(word) for word in case.words])
        states, edges = case.language.walk(codes).astype(np.int64), case.language.walk_edges(codes)
        if prior.first == length:
            continue
        detours = find_detours(prior, states, edges, length)
        (sums,) = star_sums(detours, prior.first, range(length - 1, length), decays(case.epsilon), None)
        apart = (codes[:, None, :] != codes[None, :, :]).sum(axis=2)
        ratio = case.shares[None, :] / case.shares[:, None] * np.exp(-float(case.epsilon) * apart)
        ratio[codes[:, None, 0] != codes[None, :, 0]] *= 1 - prior.first
        np.fill_diagonal(ratio, 0.0)
        assert sums.weight == pytest.approx(ratio.sum(axis=1), rel=1e-9), case
        assert sums.loss == pytest.approx((ratio * apart).sum(axis=1), rel=1e-9), case


def check_sampled_tiles(case: Case) -> None:
    """The whole of it: tiles, Λ and tolls chosen on a pilot sample, evaluated on a fresh one."""
    reach = min(case.adjacency, case.language.largest_distance)
    found = tiled_bound(Prior(case.language, case.kind), case.epsilon, reach, confidence=1 - 1e-9)
    assert found.value <= case.least_error() + SOLVER_ERROR, case
    if len(case.words) <= 16:
        rate = case.epsilon / case.adjacency
        graceful = tiled_bound(Prior(case.language, case.kind), rate, None, confidence=1 - 1e-9)
        assert graceful.value <= case.least_error(factor=Fraction(1)) + SOLVER_ERROR, case


def test_sums_of_tolls_are_those_of_all_words():
    """With ζ = 1 and any number of changes, the sums run over all words that begin alike: they can be written out."""
    for case in random_cases(seed=5, count=30):
        prior, length = Prior(case.language, case.kind), case.language.length
        if prior.first == length:
            continue  # nothing is secret
        codes = np.array([case.language.encode(word) for word in case.words])
        states, edges = case.language.walk(codes).astype(np.int64), case.language.walk_edges(codes)
        tolls = np.random.default_rng(1).random(case.language.graph.state_count)
        detours = find_detours(prior, states, edges, length, tolls=tolls)
        (sums,) = star_sums(detours, prior.first, range(length - 1, length), np.ones(2), length)
        own = tolls[states[:, 1 + prior.first :]].sum(axis=1)
        ratio = case.shares[None, :] / case.shares[:, None]
        ratio[codes[:, None, 0] != codes[None, :, 0]] *= 1 - prior.first
        np.fill_diagonal(ratio, 0.0)
        assert sums.weight == pytest.approx(ratio.sum(axis=1), rel=1e-9), case
        assert sums.own_toll == pytest.approx(own, rel=1e-9), case
        assert sums.toll == pytest.approx(ratio @ own, rel=1e-9), case


def test_words_at_each_distance_are_counted_alike_in_both_ways():
    rng = np.random.default_rng(2)
    for _ in range(30):
        words = np.unique(rng.integers(0, rng.integers(1, 5), (rng.integers(1, 20), rng.integers(1, 5))), axis=0)
        for column in range(words.shape[1]):
            words[:, column] = np.unique(words[:, column], return_inverse=True)[1]
        pattern = Pattern(words.astype(np.int32), np.ones(len(words)))
        assert (_counts(pattern) == _masses(pattern)).all()


def test_every_bound_is_below_the_programme_on_random_languages():
    found = [check_every_price(case) for case in random_cases(seed=1, count=200)]
    shares = [value / least for value, least in found if least > 1e-3]
    assert np.median(shares) > 0.85  # a bound that said nothing would be sound too
    assert min(shares) > 0.2


def test_every_graceful_bound_is_below_the_programme_on_random_languages():
    found = [check_graceful_prices(case) for case in random_cases(seed=8, count=60)]
    shares = [value / least for value, least in filter(None, found) if least > 1e-3]
    assert len(shares) >= 20 and np.median(shares) > 0.85 and min(shares) > 0.2


def test_the_promise_of_a_bound_has_a_name():
    words = sv.words("abc", 4)
    graceful = sv.lower_bound(words, epsilon=4, adjacency=2, beyond="graceful")
    assert graceful.value == pytest.approx(sv.lower_bound(words, epsilon=2).value, rel=1e-12)  # ε/b for each position
    assert graceful.value == pytest.approx(
        sv.Exponential(words, epsilon=4, adjacency=2, beyond="graceful").distances().expected_error, rel=1e-12
    )
    assert graceful.document()["beyond"] == "graceful"
    assert str(graceful).startswith(
        "no mechanism that loses at most (d/b)·ε at every distance d has an expected error below 0.852055 (proved"
    )
    nothing = sv.lower_bound(words, epsilon=4, adjacency=2)
    assert nothing.value < sv.lower_bound(words, epsilon=4, adjacency=2, beyond="1.05").value < graceful.value
    assert sv.lower_bound(words, epsilon=4, adjacency=2, beyond=100).value == nothing.value
    assert nothing.document()["beyond"] == "nothing"


def test_sampled_tiles_are_below_the_programme():
    for case in random_cases(seed=3, count=3):
        check_sampled_tiles(case)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 120))
def test_every_bound_is_below_the_programme_on_many_random_languages(seed):
    for number, case in enumerate(random_cases(seed=seed, count=500, most_cells=30_000)):
        check_every_price(case)
        if number % 25 == 0:
            check_sampled_tiles(case)
