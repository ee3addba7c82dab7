"""Estimators on Σⁿ against enumeration: every released word with its exact probability, for every mechanism."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

import symveil as sv
from symveil.estimation.statistics import read_statistic
from symveil.estimation.substitution_noise import LengthNoise, SubstitutionNoise
from symveil.estimation.substitution_tables import SubstitutionTables
from symveil.estimation.table import Batch
from symveil.mechanisms.mechanism import Mechanism
from symveil.release.rerelease import noise_of_mechanism

MECHANISMS = {
    "exponential": lambda w, e, b: sv.Exponential(w, epsilon=e, adjacency=b),
    "classic": lambda w, e, b: sv.Exponential(w, epsilon=e, adjacency=b, calibration="classic"),
    "inverse": lambda w, e, b: sv.Exponential(w, epsilon=e, adjacency=b, utility="inverse"),
    "permute-and-flip": lambda w, e, b: sv.PermuteAndFlip(w, epsilon=e, adjacency=b),
    "staircase": lambda w, e, b: sv.Staircase(w, epsilon=e, adjacency=b),
}
STATISTICS = ("visits", "first", "last", "positions", "ngrams:1", "ngrams:2", "ngrams:3", "od")


def true_table(statistic: str, word: tuple[int, ...], m: int) -> np.ndarray:
    """The statistic from its definition."""
    asked, n = read_statistic(statistic), len(word)
    table = np.zeros(((n,) if statistic == "positions" else ()) + (m,) * asked.order)
    if statistic == "positions":
        for place, symbol in enumerate(word):
            table[place, symbol] += 1
    elif statistic == "od":
        if n >= 2:
            table[word[0], word[-1]] += 1
    elif statistic in ("first", "last"):
        if n:
            table[word[0] if statistic == "first" else word[-1]] += 1
    else:
        for start in range(n - asked.order + 1):
            table[word[start : start + asked.order]] += 1
    return table


def noise_on(mechanism: Mechanism, *, as_law: bool = False) -> SubstitutionNoise:
    m, n = len(mechanism.alphabet), mechanism.length
    own = LengthNoise.from_law(mechanism.distances(), symbols=m)
    if not as_law and isinstance(mechanism, sv.Exponential) and mechanism.utility == "distance":
        own = LengthNoise(symbols=m, length=n or 0, rate=float(mechanism.rate))
    return SubstitutionNoise(symbols=m, of_length=lambda _: own)


def estimated(statistic: str, noise: SubstitutionNoise, words: np.ndarray) -> list:
    """The estimate and its variance from each single row."""
    found = []
    for row in words:
        tables = SubstitutionTables(read_statistic(statistic), noise, target="file", groups=1, longest=len(row))
        tables.add(Batch(row.astype(np.int32), np.array([len(row)]), np.zeros(1, dtype=np.int64)))
        found.append(tables)
    return found


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize(("m", "n"), [(2, 1), (2, 3), (3, 2), (3, 4), (2, 5)])
def test_the_expected_estimate_is_the_truth(name: str, m: int, n: int) -> None:
    language = sv.words("abc"[:m], n)
    checked = 0
    for epsilon, b in itertools.product((1, 4), (1, 2, 5)):
        if name == "permute-and-flip" and (epsilon, b) != (4, 2):  # its law takes a second
            continue
        mechanism = MECHANISMS[name](language, epsilon, min(b, n))
        noise = noise_on(mechanism)
        outputs = language.enumerate_codes(at_most=1000)
        truth = outputs[len(outputs) // 3]
        chances = np.exp(mechanism.log_probabilities(truth, outputs))
        for statistic in STATISTICS:
            order = read_statistic(statistic).order
            if not noise.usable(order, n, sequences=1):
                continue
            smallest = min(abs(noise.eigenvalue(r, n)) for r in range(min(order, n) + 1))
            # each output as a group of its own
            tables = SubstitutionTables(read_statistic(statistic), noise, target="file", groups=len(outputs), longest=n)
            tables.add(Batch(outputs.reshape(-1), np.full(len(outputs), n), np.arange(len(outputs))))
            mean = sum(c * own for c, own in zip(chances, tables._group_sums(), strict=True))
            assert np.abs(mean - true_table(statistic, tuple(truth.tolist()), m)).max() <= 1e-12 / smallest
            checked += 1
    assert checked


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize(("m", "n"), [(2, 1), (2, 2), (3, 3), (2, 5)])
def test_the_expected_variance_is_the_variance(name: str, m: int, n: int) -> None:
    """V̂ is unbiased for counts too, where windows share positions and symbols are not independent."""
    language = sv.words("abc"[:m], n)
    checked = 0
    for epsilon, b in ((5, 2), (6, 4))[: 1 if name == "permute-and-flip" else 2]:
        mechanism = MECHANISMS[name](language, epsilon, min(b, n))
        noise = noise_on(mechanism)
        if not noise.usable(min(n, 4), n, sequences=1):
            continue
        outputs = language.enumerate_codes(at_most=1000)
        truth = outputs[len(outputs) // 4]
        chances = np.exp(mechanism.log_probabilities(truth, outputs))
        smallest = min(abs(noise.eigenvalue(r, n)) for r in range(min(4, n) + 1))
        for statistic in ("visits", "ngrams:2", "first", "od", "positions"):
            truth_table = true_table(statistic, tuple(truth.tolist()), m)
            values, closed = [], []
            for tables in estimated(statistic, noise, outputs):
                own = tables._estimate(tables._tables)
                values.append(own)
                unbiased = tables._unbiased(own)
                assert unbiased is not None
                closed.append(unbiased)
            variance = sum(c * (v - truth_table) ** 2 for c, v in zip(chances, values, strict=True))
            mean = sum(c * v for c, v in zip(chances, closed, strict=True))
            assert np.abs(mean - variance).max() <= 1e-10 / smallest**2, statistic
            checked += 1
    assert checked


def test_a_product_law_is_the_same_by_its_distances() -> None:
    """The exponential mechanism by its rate and by the law of its distance: the general formula agrees."""
    mechanism = sv.Exponential(sv.words("abc", 6), epsilon=2)
    rows = np.random.default_rng(5).integers(0, 3, (40, 6)).astype(np.int32)
    batch = Batch(rows.reshape(-1), np.full(40, 6), np.arange(40) % 20)
    found = []
    for as_law in (False, True):
        tables = SubstitutionTables(
            read_statistic("ngrams:2"), noise_on(mechanism, as_law=as_law), target="file", groups=20
        )
        tables.add(batch)
        own = tables._estimate(tables._tables)
        found.append((own, tables._unbiased(own)))
    assert np.allclose(found[0][0], found[1][0], rtol=0, atol=1e-9)
    assert np.allclose(found[0][1], found[1][1], rtol=1e-9, atol=1e-7)


def test_unigrams_are_the_maximum_likelihood_of_randomised_response() -> None:
    """Where it is interior: (share − q)/(p − q)."""
    mechanism = sv.Exponential(sv.words("abcd", 1), epsilon=2)
    z = np.exp(-2.0)
    p, q = 1 / (1 + 3 * z), z / (1 + 3 * z)
    counts = np.array([50, 30, 15, 25])
    codes = np.repeat(np.arange(4), counts).astype(np.int32)
    tables = SubstitutionTables(read_statistic("visits"), noise_on(mechanism), target="file", groups=1)
    tables.add(Batch(codes, np.ones(120, dtype=np.int64), np.zeros(120, dtype=np.int64)))
    expected = (counts - 120 * q) / (p - q)
    found = tables._estimate(tables._tables)
    assert (expected > 0).all()
    assert np.abs(found - expected).max() < 1e-9
    # the variance that estimation theory gives for it
    closed = tables._unbiased(found)
    known = (expected * p * (1 - p) + (120 - expected) * q * (1 - q)) / (p - q) ** 2
    assert np.abs(closed - known).max() < 1e-9


@pytest.mark.parametrize(("m", "n", "first_step", "order"), [(2, 3, 2, 2), (3, 4, 3, 2), (3, 4, 2, 3)])
def test_staircases_with_two_steps_have_exact_zeros(m: int, n: int, first_step: int, order: int) -> None:
    for height in (0.5, 4.0):
        language = sv.words("abc"[:m], n)
        weights = np.array([language.count(d) * (1.0 if d < first_step else np.exp(-height)) for d in range(n + 1)])
        noise = LengthNoise(symbols=m, length=n, distances=np.arange(n + 1), probabilities=weights / weights.sum())
        assert abs(noise.eigenvalue(order)) < 1e-15
        own = SubstitutionNoise(symbols=m, of_length=lambda _, noise=noise: noise)
        assert not own.usable(order, n, sequences=10**9)


def test_large_files_may_have_small_eigenvalues() -> None:
    """17 pages, epsilon 1: pairs keep 0.0084 of what they say, enough for a million sequences, not for a thousand."""
    constant = LengthNoise(symbols=17, length=0, rate=1.0)
    noise = SubstitutionNoise(symbols=17, of_length=lambda _: constant, constant=constant)
    assert 0.008 < noise.eigenvalue(2, 5) < 0.0085
    assert noise.usable(2, 5, sequences=989_818)
    assert not noise.usable(2, 5, sequences=1000)
    assert noise.usable(2, 1, sequences=1000)  # a word of one symbol has no pair


def test_eigenvalues_are_those_of_the_whole_law() -> None:
    """Against the law itself: E[Π f(w'_i)] for functions with mean zero."""
    mechanism = sv.Staircase(sv.words("abc", 4), epsilon=3, adjacency=2)
    outputs = mechanism.language.enumerate_codes(at_most=100)
    truth = np.array([0, 2, 1, 0], dtype=np.int32)
    chances = np.exp(mechanism.log_probabilities(truth, outputs))
    noise = noise_on(mechanism)
    function = np.array([2.0, -3.0, 1.0])
    for positions in ([1], [0, 3], [0, 1, 2], [0, 1, 2, 3]):
        mean = float(chances @ np.prod(function[outputs[:, positions]], axis=1))
        expected = noise.eigenvalue(len(positions), 4) * np.prod(function[truth[positions]])
        assert abs(mean - expected) < 1e-13


def test_files_use_the_rates_of_each_length() -> None:
    from symveil.languages.language import words_of_any_length

    mechanism = sv.select_mechanism(words_of_any_length("abc"), epsilon=3, mechanism="exponential", adjacency=2)
    noise = noise_of_mechanism(mechanism)
    assert noise.constant is None
    assert noise.eigenvalue(1, 1) > noise.eigenvalue(1, 2) == noise.eigenvalue(1, 7)


def test_pictures_have_a_title_and_hours_stand_in_their_order(tmp_path: Path) -> None:
    """Bars of other names stay by size: the largest first."""

    def names(alphabet: list[str], weights: list[int], statistic: str = "visits") -> tuple[list[str], str]:
        words = [[symbol] * 2 for symbol, weight in zip(alphabet, weights, strict=True) for _ in range(weight)]
        source, out = tmp_path / "true.csv", tmp_path / "private.csv"
        source.write_text("id,path\n" + "".join(f"{n},{' '.join(word)}\n" for n, word in enumerate(words)))
        sv.privatize_file(source, out, alphabet=alphabet, epsilon=50, again=True)
        picture = sv.estimate(out, statistic).to_svg()
        return re.findall(r"<rect[^>]*><title>([^ ]+): ", picture), picture

    shown, picture = names(["7:30", "17:00", "12:00", "9:05"], [20, 40, 30, 10])
    assert shown == ["7:30", "9:05", "12:00", "17:00"]
    assert ">visits: estimates with 95 % intervals</text>" in picture
    assert names(["8", "22", "10"], [20, 40, 30])[0] == ["8", "10", "22"]
    assert names(["a8", "a22", "a10"], [20, 40, 30])[0] == ["a22", "a10", "a8"]
    _, pairs = names(["8", "22"], [20, 40], "transitions")
    assert ">transitions: estimates, consistent</text>" in pairs
