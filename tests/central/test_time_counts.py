"""Counts of times: sensitivities by enumeration, intervals by exact sums and by drawing."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest

from symveil.central.cells import GRID, Entries, EventTimes, PersonCounts, contributed
from symveil.central.time_cells import TimeQuestion, time_cells
from symveil.central.time_counts import mean_interval, mean_widths, quantile_bins, quantile_widths
from symveil.estimation.table import Batch
from symveil.models.times import Period, Stamps, WaitGrid, WallClock
from symveil.randomness import NotPrivateSeededBits, discrete_laplace

DAY = 86_400
GRID_OF_TESTS = WaitGrid.from_edges((0, 60, 3600, DAY, 30 * DAY))
QUESTIONS = [
    TimeQuestion(kind="starts", by="hour"),
    TimeQuestion(kind="starts", by="weekday", period=Period.read("1970-01-01..1970-02-01")),
    TimeQuestion(kind="starts", by="hour-of-week"),
    TimeQuestion(kind="starts", by="week", period=Period.read("1970-01-02..1970-01-20")),
    TimeQuestion(kind="starts", by="month", period=Period.read("1970-01-02..1970-03-20")),
    TimeQuestion(kind="durations", grid=GRID_OF_TESTS),
    TimeQuestion(kind="durations", by="move", grid=GRID_OF_TESTS),
    TimeQuestion(kind="durations", by="activity", grid=GRID_OF_TESTS),
    TimeQuestion(kind="cycle-times", grid=GRID_OF_TESTS),
    TimeQuestion(kind="longest-waits", threshold=DAY),
    TimeQuestion(kind="time-shares"),
    TimeQuestion(kind="mean-waits", cap=3600),
    TimeQuestion(kind="mean-waits", by="move", cap=3600),
    TimeQuestion(kind="mean-waits", by="activity", cap=7 * DAY),
]


def random_case(rng: random.Random) -> tuple[list[int], list[tuple[int, int]]]:
    """Symbols and times: tied, reversed, missing, of both kinds, far outside."""
    length = rng.choice([1, 1, 2, 3, 4, 6])
    stamps = [
        (
            rng.choice([0, 5, 61, 3600, 90_000, 40 * DAY, -3 * DAY, 10**9]) * 10**6 + rng.choice([0, 0, 999_999]),
            rng.choice([0, 1, 1, 1, 2]),
        )
        for _ in range(length)
    ]
    return [rng.randrange(3) for _ in range(length)], stamps


def batch_of(persons: list[list[tuple[list[int], list[tuple[int, int]]]]]) -> Batch:
    cases = [(person, *case) for person, own in enumerate(persons) for case in own]
    codes = np.array([code for _, word, _ in cases for code in word], dtype=np.int32)
    stamps = [stamp for _, _, own in cases for stamp in own]
    return Batch(
        codes,
        np.array([len(word) for _, word, _ in cases], dtype=np.int64),
        np.array([person for person, _, _ in cases], dtype=np.int64),
        Stamps(
            np.array([since for since, _ in stamps], dtype=np.int64),
            np.array([kind for _, kind in stamps], dtype=np.int8),
        ),
    )


def sums_of(question: TimeQuestion, persons: list, bound: int) -> np.ndarray:
    cells = time_cells(question, symbols=3, longest=5)
    batch = batch_of(persons)
    if question.kind in ("time-shares", "mean-waits"):
        return np.array(cells.shared_out(lambda: [batch]), dtype=object)
    counted = PersonCounts.of(cells, [batch], len(persons))
    return np.array(contributed(cells, [batch], counted.weights(bound)), dtype=object)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_a_person_changes_a_table_by_at_most_its_bound(question):
    rng = random.Random(question.name)
    largest = 0
    for _ in range(150):
        bound = 1 if question.kind in ("time-shares", "mean-waits") else rng.choice([1, 1, 3])
        persons = [[random_case(rng) for _ in range(rng.randrange(5))] for _ in range(rng.randrange(1, 4))]
        other = [random_case(rng) for _ in range(rng.randrange(1, 7))]
        whole, without = sums_of(question, persons, bound), sums_of(question, [*persons[:-1], []], bound)
        instead = sums_of(question, [*persons[:-1], other], bound)
        assert (whole >= without).all()
        assert sum(whole - without) <= bound * GRID
        assert sum(abs(whole - instead)) <= 2 * bound * GRID
        largest = max(largest, sum(whole - without) / (bound * GRID))
    assert largest > 0.99  # the bound is nearly attained: the test sees the tables that it is about


def test_starts_and_waits_count_what_a_plain_loop_counts():
    rng = random.Random(5)
    persons = [[random_case(rng)] for _ in range(300)]
    clock = WallClock()
    hours, moves, cycles, shares, longest = (
        np.zeros(24, int),
        np.zeros((3, 3, 4), int),
        np.zeros(4, int),
        np.zeros(3),
        np.zeros((3, 2), int),
    )
    edges = GRID_OF_TESTS.edges[:-1]
    for [(word, stamps)] in persons:
        if len(word) > 5:
            continue
        waits = []
        if stamps[0][1]:
            hours[stamps[0][0] // 10**6 // 3600 % 24] += 1
        if stamps[0][1] and stamps[0][1] == stamps[-1][1]:
            cycles[sum(max(0, (stamps[-1][0] - stamps[0][0]) // 10**6) >= edge for edge in edges) - 1] += 1
        for at in range(1, len(word)):
            if stamps[at][1] and stamps[at][1] == stamps[at - 1][1]:
                wait = max(0, (stamps[at][0] - stamps[at - 1][0]) // 10**6)
                moves[word[at - 1], word[at], sum(wait >= edge for edge in edges) - 1] += 1
                waits.append((wait, word[at]))
        if waits:
            most = max(wait for wait, _ in waits)
            end = next(code for wait, code in waits if wait == most)
            longest[end, int(most >= DAY)] += 1
            for wait, code in waits:
                shares[code] += wait / sum(w for w, _ in waits) if most else 0
    assert (sums_of(QUESTIONS[0], persons, 100) == hours * GRID).all()
    assert (sums_of(QUESTIONS[6], persons, 100) == moves.reshape(-1) * GRID).all()
    assert (sums_of(QUESTIONS[7], persons, 100) == moves.sum(axis=0).reshape(-1) * GRID).all()
    assert (sums_of(QUESTIONS[8], persons, 100) == cycles * GRID).all()
    assert (sums_of(QUESTIONS[9], persons, 100) == longest.reshape(-1) * GRID).all()
    assert np.allclose(sums_of(QUESTIONS[10], persons, 1).astype(float) / GRID, shares, atol=1e-5)
    assert EventTimes.of(batch_of(persons), clock, shortest=1, longest=5).start.shape[0] == sum(
        1 for [(_, s)] in persons if s[0][1]
    )


def test_what_a_wait_weighs_is_shared_by_rows_and_then_within_a_row():
    rng = random.Random(9)
    for _ in range(200):
        size = rng.randrange(1, 30)
        own = Entries(*(np.array([rng.randrange(4) for _ in range(size)]) for _ in range(3)))
        weights = own.shared(GRID)
        for person in range(4):
            mine = own.persons == person
            rows = set(own.rows[mine].tolist())
            for row in rows:
                inside = mine & (own.rows == row)
                assert set(weights[inside].tolist()) == {GRID // (len(rows) * int(inside.sum()))}
            assert weights[mine].sum() <= GRID


def test_a_mean_is_that_of_capped_waits_weighted_by_rows():
    persons = [[([0, 1], [(0, 1), (600 * 10**6, 1)])], [([0, 1], [(0, 1), (7200 * 10**6, 1)])]]
    waited, rest = sums_of(TimeQuestion(kind="mean-waits", cap=3600), persons, 1).tolist()
    assert waited / (waited + rest) == pytest.approx((600 + 3600) / 2 / 3600, abs=1e-8)


# --- quantiles: T3 ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bins", "scale"), [(2, Fraction(3)), (3, Fraction(5, 2)), (5, Fraction(7)), (17, Fraction(4))]
)
@pytest.mark.parametrize("wanted", [Fraction(1, 2), Fraction(9, 10), Fraction(1, 20)])
def test_noise_exceeds_each_width_as_seldom_as_promised_by_exact_convolution(bins, scale, wanted):
    q = math.exp(-1 / scale)
    reach = int(40 * scale)
    law = np.array([(1 - q) / (1 + q) * q ** abs(z) for z in range(-reach, reach + 1)])
    c, a = wanted.denominator, wanted.numerator

    def spread(weight: int, times: int) -> tuple[np.ndarray, int]:
        one = np.zeros(2 * reach * weight + 1)
        one[:: weight or 1] = law if weight else law.sum()
        total, centre = np.array([1.0]), 0
        for _ in range(times):
            total, centre = np.convolve(total, one), centre + reach * weight
        return total, centre

    widths = quantile_widths(bins, wanted, scale, 0.95)
    for k in {1, bins // 2, bins - 1} - {0}:
        (one, first), (other, second) = spread(c - a, k), spread(a, bins - k)
        noise, centre = np.convolve(one, other), first + second
        above = noise[centre + widths[k - 1] + 1 :].sum()
        assert above <= 0.025
        assert noise[max(0, centre + widths[k - 1] // 6) :].sum() > 0.025  # and the width is no giant


def test_the_bin_of_a_quantile_is_between_the_ends_whenever_noise_stays_inside_the_widths():
    rng = random.Random(1)
    for _ in range(3000):
        bins = rng.choice([1, 2, 3, 5])
        wanted = Fraction(rng.randrange(1, 10), 10)
        true = [rng.choice([0, 0, 3, 10]) for _ in range(bins)]
        noise = [rng.randrange(-4, 5) for _ in range(bins)]
        c, a = wanted.denominator, wanted.numerator

        def shifted(values, k, c=c, a=a):
            return c * sum(values[:k]) - a * sum(values)

        k_star = next(k for k in range(1, bins + 1) if shifted(true, k) >= 0)
        widths = [abs(shifted(noise, k)) for k in range(1, bins)]
        low, high = quantile_bins([t + z for t, z in zip(true, noise, strict=True)], wanted, widths)
        assert low <= k_star <= high


def test_quantiles_cover_as_often_as_promised():
    """2,000 releases at 95 %: fewer than 92.5 % have a chance below 1e-6."""
    bits = NotPrivateSeededBits(3)
    true, wanted, scale = [3, 0, 10, 20, 1], Fraction(1, 2), Fraction(6)
    widths = quantile_widths(5, wanted, scale, 0.95)
    covered = 0
    for _ in range(2000):
        low, high = quantile_bins([value + discrete_laplace(scale, bits) for value in true], wanted, widths)
        covered += low <= 4 <= high
    assert covered >= 1850


# --- means: T4 -------------------------------------------------------------------------------------


def test_widths_of_means_hold_by_exact_convolution():
    scale = Fraction(5)
    widths = mean_widths(0.95, scale)
    q = math.exp(-1 / float(scale))
    reach = 150
    z = np.arange(-reach, reach + 1)
    law = (1 - q) / (1 + q) * q ** np.abs(z)
    both = law[:, None] * law[None, :]
    for at in (0, 100, 4096, 8000, 8191, 8192, 12_000, 16_384):
        u = at / 16_384
        outside = np.abs((1 - u) * z[:, None] - u * z[None, :]) > widths[at]
        assert both[outside].sum() <= 0.05
        assert both[np.abs((1 - u) * z[:, None] - u * z[None, :]) > (widths[at] - 1) * 0.9].sum() > 0.04
    assert (np.diff(widths[:8193]) <= 0).all()
    assert (widths == widths[::-1]).all()


def test_the_interval_of_a_mean_is_the_hull():
    widths = mean_widths(0.95, Fraction(5))
    u = np.arange(16_385) / 16_384
    for waited, total in itertools.product([-20, 0, 3, 30, 100, 400], [-30, -1, 0, 1, 40, 120, 500]):
        low, high = mean_interval(waited, total, widths)
        inside = u[np.abs(waited - u * total) <= widths]
        assert 0 <= low <= high <= 1
        if len(inside):
            assert low <= inside[0]
            assert high >= inside[-1]
            assert inside[0] - low <= 2 / 16_384
            assert high - inside[-1] <= 2 / 16_384
    assert mean_interval(-400, 30, widths) == (0.0, 0.0)
    assert mean_interval(900, 30, widths) == (1.0, 1.0)


def test_means_cover_as_often_as_promised():
    """2,000 releases at 95 %: fewer than 92.5 % have a chance below 1e-6."""
    bits, scale = NotPrivateSeededBits(8), Fraction(50)
    widths = mean_widths(0.95, scale)
    covered = 0
    for _ in range(2000):
        waited, rest = 120 + discrete_laplace(scale, bits), 380 + discrete_laplace(scale, bits)
        low, high = mean_interval(waited, waited + rest, widths)
        covered += low <= 0.24 <= high
    assert covered >= 1850
