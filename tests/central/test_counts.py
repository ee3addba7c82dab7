"""Central counts against plain counting: sums, what one person changes, intervals, bounds."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

import symveil as sv
from symveil.central.cells import GRID, Cells, PersonCounts, cells_of, contributed, dyadic_bins
from symveil.central.counts import BOUNDS, CountTerms, chosen_bound, private_counts, read_bound
from symveil.central.noise import Query
from symveil.estimation.table import Batch
from symveil.languages.graph import word_graph
from symveil.randomness import RecordKey

SYMBOLS = 3
WORDS = st.lists(st.lists(st.integers(0, SYMBOLS - 1), max_size=5), max_size=4)
FILES = st.lists(WORDS, max_size=4)
"""The words of each person."""
STATISTICS = ("visits", "first", "last", "transitions", "od", "ngrams:2", "ngrams:3", "lengths", "directly-follows")
LONGEST = 4


def batches(file: list[list[list[int]]], size: int = 3) -> list[Batch]:
    """The words of all persons, some at a time."""
    words = [(person, word) for person, own in enumerate(file) for word in own]
    parts = [words[start : start + size] for start in range(0, len(words), size)]
    return [
        Batch(
            np.array([code for _, word in part for code in word], dtype=np.int32),
            np.array([len(word) for _, word in part], dtype=np.int64),
            np.array([person for person, _ in part], dtype=np.int64),
        )
        for part in parts
    ]


def things(statistic: str, word: list[int]) -> list[tuple[int, ...]]:
    """What a word has of a statistic, by the definition."""
    if len(word) > LONGEST:
        return []
    if statistic == "lengths":
        return [(len(word),)]
    if statistic == "visits":
        return [(code,) for code in word]
    if statistic in ("first", "last"):
        return [(word[0 if statistic == "first" else -1],)] if word else []
    if statistic == "od":
        return [(word[0], word[-1])] if len(word) >= 2 else []
    order = 3 if statistic == "ngrams:3" else 2
    return [tuple(word[at : at + order]) for at in range(len(word) - order + 1)]


def plainly(statistic: str, file: list[list[list[int]]], bound: int) -> dict[tuple[int, ...], int]:
    sums: dict[tuple[int, ...], int] = defaultdict(int)
    for own in file:
        mine = [each for word in own for each in things(statistic, word)]
        for each in mine:
            sums[each] += GRID if len(mine) <= bound else bound * GRID // len(mine)
    return sums


def summed(cells: Cells, file: list[list[list[int]]], bound: int) -> list[int]:
    counted = PersonCounts.of(cells, batches(file), len(file))
    return contributed(cells, batches(file), counted.weights(bound))


@given(FILES, st.sampled_from(STATISTICS), st.integers(1, 9))
@settings(max_examples=200)
def test_sums_are_what_persons_add(file, statistic, bound) -> None:
    cells = cells_of(statistic, symbols=SYMBOLS, longest=LONGEST)
    plain = plainly(statistic, file, bound)
    found = dict(zip(map(tuple, cells.codes().tolist()), summed(cells, file, bound), strict=True))
    assert {cell: total for cell, total in found.items() if total} == {
        cell: total for cell, total in plain.items() if total
    }


@given(FILES, WORDS, WORDS, st.sampled_from(STATISTICS), st.integers(1, 9), st.fractions(Fraction(1, 10), 5))
@settings(max_examples=200)
def test_one_person_loses_at_most_epsilon(file, own, other, statistic, bound, epsilon) -> None:
    """The loss between two tables is Σ|difference|/scale, attained far away from both: exact, in rationals."""
    cells = cells_of(statistic, symbols=SYMBOLS, longest=LONGEST)
    without, with_one, with_other = (summed(cells, each, bound) for each in (file, [*file, own], [*file, other]))

    def loss(one: list[int], two: list[int], query: Query) -> Fraction:
        return sum((Fraction(abs(a - b)) for a, b in zip(one, two, strict=True)), Fraction(0)) / query.scale

    assert loss(without, with_one, Query(name="q", epsilon=epsilon, bound=bound)) <= epsilon
    assert loss(with_other, with_one, Query(name="q", epsilon=epsilon, bound=bound, neighbours="replace")) <= epsilon
    bins, bins_with = (
        dyadic_bins(PersonCounts.of(cells, batches(each), len(each)).counts, 15) for each in (file, [*file, own])
    )
    assert sum(abs(a - b) for a, b in zip(bins, bins_with, strict=True)) <= 1


def test_the_loss_is_attained() -> None:
    """A bound that is too small by anything would be seen: one person with one thing loses all of ε."""
    cells = cells_of("visits", symbols=SYMBOLS, longest=LONGEST)
    difference = sum(summed(cells, [[[0]]], 1))
    assert difference / Query(name="q", epsilon=Fraction(3, 7), bound=1).scale == Fraction(3, 7)


@given(st.fractions(Fraction(1, 20), 20), st.sampled_from([0.5, 0.9, 0.95, 0.999]), st.integers(1, 1000))
@settings(max_examples=60)
def test_intervals_are_the_narrowest_that_cover(per_step, confidence, cells) -> None:
    """h is the least number with P(|noise| ≤ h)^cells ≥ confidence, checked with balls on a coarse grid."""
    query = Query(name="q", epsilon=per_step * GRID, bound=1)
    half = query.half_width(confidence, cells=cells)
    before, ctx.prec = ctx.prec, 300
    try:
        ratio = (-arb(per_step.numerator) / per_step.denominator).exp()

        def inside(width: int) -> arb:
            return (1 - 2 * ratio ** (width + 1) / (1 + ratio)) ** cells

        assert inside(half) >= arb(confidence)
        assert half == 0 or inside(half - 1) < arb(confidence)
    finally:
        ctx.prec = before


@given(st.lists(st.integers(0, 10**6), max_size=30))
def test_dyadic_bins(counts) -> None:
    plain = Counter(min(math.ceil(math.log2(count)), 14) for count in counts if count)
    assert dyadic_bins(np.array(counts, dtype=np.int64), 15) == [plain[index] for index in range(15)]


def test_a_bound_weighs_what_is_cut_off_against_noise() -> None:
    many = [0.0] * 5 + [1e6] + [0.0] * 9  # everybody has 17 to 32 things
    assert chosen_bound(many, cells=10, epsilon=Fraction(1)) == (32, 0.0)
    few = [0.0] * 5 + [500.0] + [0.0] * 9
    assert chosen_bound(few, cells=100, epsilon=Fraction(1, 2)) == (16, pytest.approx(1 / 3))
    assert chosen_bound([0.0] * 15, cells=10, epsilon=Fraction(1)) == (4, None)
    assert chosen_bound([-50.0] * 15, cells=10, epsilon=Fraction(1)) == (4, None)
    assert set(BOUNDS) >= {1, 4, 4096}


@pytest.mark.parametrize("value", [0, -1, "0", "many", True, 1.5, None, 2**30 + 1])
def test_a_bound_that_is_none(value) -> None:
    with pytest.raises(sv.SymveilError, match="bound: expected a whole number from 1 to 1073741824, or auto, or"):
        read_bound(value)


def test_the_same_keys_draw_the_same_table_and_other_keys_another() -> None:
    file = [[[0, 1, 2]], [[1, 1]]]
    cells = cells_of("ngrams:2", symbols=SYMBOLS, longest=LONGEST)

    def table(key: int, name: str = "r"):
        keys = RecordKey(bytes([key]) * 32, name)
        terms = CountTerms(epsilon=Fraction(1), bound="auto")
        found = private_counts(cells, lambda: batches(file), 2, terms, names="abc", keys=keys)
        return found.numbers["count"].tolist()

    assert table(1) == table(1) != table(2)
    assert table(1) != table(1, "s")


def test_intervals_cover_as_often_as_they_say() -> None:
    """Each interval covers the bounded sum; 95 % of 289 cells over 20 draws, 4 standard errors (false alarm 6e-5)."""
    file = [[[0, 1, 2, 1]], [[1, 1], [2, 2, 0]], [[0]]] * 30
    cells = cells_of("ngrams:2", symbols=17, longest=LONGEST)
    covered, everywhere, draws = 0, 0, 20
    truth = {
        cell: total / GRID
        for cell, total in zip(map(tuple, cells.codes().tolist()), summed(cells, file, 2), strict=True)
    }
    for number in range(draws):
        keys = RecordKey(bytes([number]) * 32, "cover")
        found = private_counts(
            cells,
            lambda: batches(file),
            len(file),
            CountTerms(epsilon=Fraction(1, 2), bound=2),
            names=range(17),
            keys=keys,
        )
        true = np.array([truth[tuple(codes)] for codes in found.codes.tolist()])
        half = found.queries[-1].half_width(0.95) / GRID
        covered += int((np.abs(found.numbers["count"] - true) <= half).sum())  # ends are cut at 0, which only helps
        assert (found.numbers["low"] >= np.maximum(found.numbers["count"] - half - 1e-9, 0) - 1e-9).all()
        everywhere += bool(((found.numbers["low_all"] <= true) & (true <= found.numbers["high_all"])).all())
    total = draws * len(cells)
    error = math.sqrt(0.95 * 0.05 / total)
    assert 0.95 - 4 * error < covered / total < 0.95 + 4 * error
    assert everywhere >= 14  # of 20 at 95 %: fewer with a chance of 3e-5


def test_cells_of_a_model_are_its_paths() -> None:
    chain = sv.MarkovChain.from_transitions([("a", "b", "1/2"), ("a", "a", "1/2"), ("b", "c", 1), ("c", "a", 1)])
    graph = word_graph(chain)
    symbols = [str(symbol) for symbol in graph.alphabet.symbols]
    moves = {(source, target) for source, target, _ in chain.transitions}
    for order in (2, 3, 4):
        cells = cells_of(f"ngrams:{order}", symbols=3, longest=9, graph=graph)
        listed = {tuple(symbols[code] for code in row) for row in cells.codes().tolist()}
        assert listed == {word for word in product(symbols, repeat=order) if set(pairwise(word)) <= moves}


@pytest.mark.parametrize(
    ("statistic", "why"),
    [("positions", "one of visits"), ("presence", "one of visits"), ("ngrams:8", "at most 4,000,000 cells, found")],
)
def test_what_cannot_be_counted(statistic, why) -> None:
    with pytest.raises(sv.SymveilError, match=why):
        cells_of(statistic, symbols=17, longest=9)


def test_a_model_whose_pieces_cannot_be_numbered_or_are_not_there() -> None:
    """Numbers beyond 64 bits would wrap around, and two pieces would share a cell."""
    ring = sv.MarkovChain.from_transitions([(str(n), str((n + 1) % 700), 1) for n in range(700)])
    graph = word_graph(ring)
    assert len(cells_of("ngrams:5", symbols=700, longest=9, graph=graph)) == 700
    with pytest.raises(sv.SymveilError, match="fit into 64 bits, found 6 in a"):
        cells_of("ngrams:6", symbols=700, longest=9, graph=graph)
    street = sv.MarkovChain.from_transitions([("a", "b", 1)], states=["a", "b"])
    with pytest.raises(sv.SymveilError, match="at least one path of 3 symbols, found none"):
        cells_of("ngrams:3", symbols=2, longest=9, graph=word_graph(street))
