"""The fit of a law of trips: it ends where its gradient is small, and more budget does not make a worse city."""

from __future__ import annotations

import csv
import math
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import symveil as sv
from symveil.central.cells import GRID, PersonCounts, contributed_each
from symveil.central.fit import FITTED, one_thread, openblas, solved
from symveil.central.learned import law_queries
from symveil.central.limits import LIMITS
from symveil.central.noise import NoisyTable
from symveil.central.word_law import FEATURES, Floats, Support, Trellis, no_parameters
from symveil.estimation.table import Batch
from symveil.languages.language import AnyLength, runs_of_any_length

EXAMPLES = Path(__file__).parents[2] / "examples"
Tables = dict[str, Floats]


def counted(
    language: AnyLength, words: list[list[str]], persons: list[str], lengths: tuple[int, int]
) -> tuple[Support, Tables]:
    """The support of trips, and the tables of a release without noise: each person adds 1 to each."""
    code = {str(symbol): number for number, symbol in enumerate(language.alphabet.symbols)}
    zone = np.arange(len(code)) % 12
    support = Support.of(symbols=len(code), graph=language.graph, zone=zone, shortest=lengths[0], longest=lengths[1])
    person = {name: number for number, name in enumerate(sorted(set(persons)))}
    batch = Batch(
        np.array([code[symbol] for word in words for symbol in word], dtype=np.int32),
        np.array([len(word) for word in words], dtype=np.int64),
        np.array([person[name] for name in persons], dtype=np.int64),
    )
    cells = [support.cells()[name] for name in FEATURES]
    weights = [each.weights(1) for each in PersonCounts.of_each(cells, [batch], len(person))]
    sums = contributed_each(cells, [batch], weights)
    return support, {name: np.array([value / GRID for value in own]) for name, own in zip(FEATURES, sums, strict=True)}


def town() -> tuple[Support, Tables]:
    with (EXAMPLES / "city_trips.csv").open() as file:
        rows = list(csv.DictReader(file))
    words = [row["streets"].split("|") for row in rows]
    language = runs_of_any_length(sv.load_model(EXAMPLES / "roads.json"))
    return counted(language, words, [row["rider"] for row in rows], (2, 12))


def with_noise(tables: Tables, epsilon: int, seed: int) -> dict[str, NoisyTable]:
    """Laplace noise of the scales of a release; the same seed has the same noise at every ε, in its scale."""
    dice = np.random.default_rng(seed)
    found = {}
    for query, name in zip(law_queries(Fraction(epsilon), "add-remove"), FEATURES, strict=True):
        scale = float(query.scale / GRID)
        noise = scale * dice.laplace(0.0, 1.0, len(tables[name]))
        found[name] = NoisyTable(values=tables[name] + noise, deviation=math.sqrt(2) * scale)
    return found


def divergence(one: Floats, other: Floats) -> float:
    p, q = one / one.sum(), other / other.sum()
    middle = (p + q) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [np.where(each > 0, each * np.log(each / middle), 0.0).sum() for each in (p, q)]
    return float(sum(parts) / 2)


def errors(support: Support, tables: Tables, epsilon: int, seed: int) -> dict[str, float]:
    """How far a law learned at ε is from the tables without noise: its expectations, so nothing is drawn."""
    found = solved(support, with_noise(tables, epsilon, seed))
    assert found.gradient <= LIMITS.now.tolerance and found.rounds < LIMITS.now.rounds
    law = Trellis.of(support, found.parameters).expected()
    means = {**law.means, "moves": law.shared["moves"]}
    return {name: divergence(np.maximum(means[name], 0.0), tables[name]) for name in FEATURES}


def require_no_worse(support: Support, tables: Tables, budgets: tuple[int, ...], seeds: tuple[int, ...]) -> None:
    """Each feature, on average over seeds, is nearer to the truth with ten times the budget.

    The noise of a seed is the same at every ε but for its scale, so there is no sampling error between budgets but what
    the law itself makes of it: below 0.0005 that is not compared.
    """
    found = {epsilon: [errors(support, tables, epsilon, seed) for seed in seeds] for epsilon in budgets}
    for name in FEATURES:
        means = [float(np.mean([each[name] for each in found[epsilon]])) for epsilon in budgets]
        assert all(later <= max(before, 0.0005) for before, later in pairwise(means)), (name, means)
    lengths = [float(np.mean([each["lengths"] for each in found[epsilon]])) for epsilon in budgets]
    assert all(later < before / 5 for before, later in pairwise(lengths)), lengths


def test_more_budget_does_not_make_a_worse_town() -> None:
    require_no_worse(*town(), (10, 100, 1000), (1,))


@pytest.mark.soak
def test_more_budget_does_not_make_a_worse_town_whatever_the_noise() -> None:
    require_no_worse(*town(), (1, 10, 100, 1000), tuple(range(2, 8)))


def test_a_fit_ends_where_a_parameter_is_at_its_bound() -> None:
    """Scaled back from units a parameter may be inside its bound by a rounding: no gradient outwards counts there."""
    inside = 0
    for seed in range(40):
        dice = np.random.default_rng(seed)
        symbols, shortest = int(dice.integers(2, 5)), int(dice.integers(1, 3))
        longest = shortest + int(dice.integers(0, 3))
        support = Support.of(symbols=symbols, graph=None, zone=None, shortest=shortest, longest=longest)
        tables = {}
        for name, cells in support.cells().items():
            noise = 0.05 * dice.standard_normal(len(cells))
            tables[name] = NoisyTable(values=1000 * dice.dirichlet(np.full(len(cells), 0.3)) + noise, deviation=0.05)
        found = solved(support, tables)
        fitted = np.abs(np.concatenate([found.parameters[name] for name in FITTED]))
        inside += bool(((fitted < LIMITS.now.farthest) & (fitted > LIMITS.now.farthest - 1e-9)).any())
        assert found.gradient <= LIMITS.now.tolerance and found.rounds < LIMITS.now.rounds, seed
    assert inside >= 5


def test_lengths_are_as_they_were_released() -> None:
    """Whatever other tables say, lengths keep their shares: exact scaling, no fit."""
    support = Support.of(symbols=3, graph=None, zone=None, shortest=1, longest=6)
    dice = np.random.default_rng(4)
    for _ in range(5):
        shares = dice.dirichlet(np.ones(6))
        tables = {
            name: NoisyTable(values=dice.gamma(1.0, 100.0, len(cells)), deviation=0.01)
            for name, cells in support.cells().items()
        } | {"lengths": NoisyTable(values=1000 * shares, deviation=0.01)}
        law = Trellis.of(support, solved(support, tables).parameters).expected()
        assert divergence(law.means["lengths"], shares) < 1e-6


def test_tables_of_a_law_without_noise_are_found_again() -> None:
    """Fitted to the expectations of a law of the family itself, the fit expects the same, feature by feature."""
    support = Support.of(symbols=3, graph=None, zone=None, shortest=1, longest=6)
    dice = np.random.default_rng(5)
    for _ in range(3):
        own = {name: dice.normal(0.0, 0.5, len(values)) for name, values in no_parameters(support).items()}
        law = Trellis.of(support, own).expected()
        means = {**law.means, "moves": law.shared["moves"]}
        tables = {name: NoisyTable(values=1e6 * means[name], deviation=0.01) for name in FEATURES}
        found = solved(support, tables)
        again = Trellis.of(support, found.parameters).expected()
        assert found.gradient <= LIMITS.now.tolerance
        for name in FEATURES:
            expected = again.shared["moves"] if name == "moves" else again.means[name]
            assert divergence(expected, means[name]) < 1e-6, name


def threads() -> list[int]:
    return [int(read()) for read, _ in openblas()]


def test_a_fit_computes_with_one_thread_and_leaves_the_number_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that wait for the next triangular system took more than twice the processor time of the whole fit."""
    if not openblas():
        pytest.skip("numpy and scipy are not built with OpenBLAS here")
    before, seen = threads(), list[list[int]]()
    whole = Trellis.expected

    def watched(law: Trellis) -> object:
        seen.append(threads())
        return whole(law)

    for _, write in openblas():
        write(2)
    try:
        monkeypatch.setattr(Trellis, "expected", watched)
        support, tables = town()
        solved(support, with_noise(tables, 1, seed=3))
        assert [1] * len(before) in seen
        assert threads() == [2] * len(before)
        with pytest.raises(KeyError), one_thread(), one_thread():
            raise KeyError
        assert threads() == [2] * len(before)
        with one_thread():
            with one_thread():
                pass
            assert threads() == [1] * len(before)
    finally:
        for (_, write), number in zip(openblas(), before, strict=True):
            write(number)
