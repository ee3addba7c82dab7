"""Several private versions of one word: against sums over all of them, written down from the definition."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from itertools import product

import numpy as np
import pytest

import symveil as sv
from symveil.errors import ParameterError
from symveil.languages.run_laws import likeliest_symbols
from symveil.mechanisms.attacker import attacker_view
from symveil.mechanisms.attacker_versions import attacker_of_versions, plurality_right
from symveil.mechanisms.limits import LIMITS

from .test_attacker import KINDS, law_of, random_automaton, random_chain


def by_hand(size: int, rate: float, count: int) -> float:
    """(1/m) Σ over all rows of versions of the largest chance of a row given the true symbol."""
    hit, miss = (weight / (math.exp(rate) + size - 1) for weight in (math.exp(rate), 1.0))
    total = 0.0
    for row in product(range(size), repeat=count):
        most = max(Counter(row).values())
        total += hit**most * miss ** (count - most)
    return total / size


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("rate", [0.01, 0.7, 3.0])
def test_the_symbol_of_most_versions(size, rate) -> None:
    for count in range(1, 6):
        assert plurality_right(size, rate, count) == pytest.approx(by_hand(size, rate, count), rel=1e-12)


def test_many_versions_and_many_symbols() -> None:
    for size in (2, 26, 10_000, 1_000_000):
        found = [plurality_right(size, 1.0, count) for count in (1, 2, 3, 10, 100)]
        assert found[0] == pytest.approx(math.e / (math.e + size - 1), rel=1e-9)
        assert found == pytest.approx(sorted(found), rel=1e-9) and found[-1] <= 1
    # of two versions the guess is either, unless they agree
    hit = math.e / (math.e + 9_999)
    assert plurality_right(10_000, 1.0, 2) == pytest.approx(hit, rel=1e-9)
    # two symbols: a majority of an odd number of throws
    hit = math.e / (math.e + 1)
    majority = sum(math.comb(99, hits) * hit**hits * (1 - hit) ** (99 - hits) for hits in range(50, 100))
    assert plurality_right(2, 1.0, 99) == pytest.approx(majority, rel=1e-9)


def best_of(law, count: int, asked) -> float:
    total = 0.0
    for row in product(next(iter(law.values())), repeat=count):
        chance = defaultdict(float)
        for word, own in law.items():
            chance[asked(word)] += math.prod(own[out] for out in row) / len(law)
        total += max(chance.values())
    return total


def mechanisms():
    for seed in range(5):
        for name in ("exponential", "staircase", "permute-and-flip", "online", "swap"):
            words = sv.runs(random_chain(seed), 2 + seed % 2, public_start=seed % 3 == 0)
            if 1 < words.size <= 20 and words.largest_distance:
                yield f"chain {seed}, {name}", KINDS[name](words, 1)
    yield "automaton", KINDS["exponential"](sv.runs(random_automaton(1), 2), 1)
    yield "free staircase", KINDS["staircase"](sv.words("abc", 2), 2)
    yield "free", KINDS["exponential"](sv.words("abc", 2), 1)


def test_the_best_guess_with_all_versions_by_definition() -> None:
    looked_at = 0
    for name, mechanism in mechanisms():
        law, begin, length = law_of(mechanism), int(mechanism.language.public_start), mechanism.length
        for count in (2, 3) if len(law) <= 6 else (2,):
            view = attacker_of_versions(mechanism, count)
            assert view.how == "exact" and view.interval is None and view.versions == count, name
            after = [best_of(law, count, lambda word, i=i: word[i]) for i in range(begin, length)]
            assert view.symbol.after == pytest.approx(np.mean(after), rel=1e-9), name
            assert (view.first.after, view.last.after) == pytest.approx((after[0], after[-1]), rel=1e-9), name
            assert view.word.after == pytest.approx(best_of(law, count, lambda word: word), rel=1e-9), name
            one = attacker_view(mechanism)
            assert view.symbol.before == one.symbol.before and view.symbol.after >= one.symbol.after - 1e-12, name
            assert view.symbol.after <= view.promised <= 1, name  # with K times the loss
            assert view.promised >= one.promised, name
            looked_at += 1
    assert looked_at > 25


def test_versions_that_are_drawn() -> None:
    """Where there are too many sets, some are drawn, each with the best guess: the interval holds the exact answer."""
    drawn = 0
    for name, mechanism in mechanisms():
        if mechanism.language.homogeneous:
            continue
        exact = attacker_of_versions(mechanism, 2)
        with LIMITS.changed(version_sets=0):
            view = attacker_of_versions(mechanism, 2)
        low, high = view.interval
        assert view.how == "at-least" and low <= exact.symbol.after <= high, name
        assert abs(view.word.after - exact.word.after) < 0.1, name
        drawn += 1
    assert drawn > 15


def test_the_attacker_of_several_versions_who_is_played() -> None:
    played = 0
    for name, mechanism in mechanisms():
        if mechanism._run_weights is None:
            continue
        exact = attacker_of_versions(mechanism, 3)
        with LIMITS.changed(attacker_words=0):
            view = attacker_of_versions(mechanism, 3)
        assert view.how == "at-least" and view.versions == 3, name
        assert view.interval[0] <= exact.symbol.after <= view.promised, name
        played += 1
    assert played > 10


def test_several_versions_say_more_on_a_large_model() -> None:
    mechanism = sv.Exponential(sv.runs(random_chain(2), 30), epsilon=2, adjacency=1, calibration="classic")
    one, five = (attacker_of_versions(mechanism, count) for count in (1, 5))
    assert one == attacker_view(mechanism)
    assert five.symbol.after > one.symbol.after + 0.05 and five.promised > one.promised
    assert "after 5 private versions of the word (at least; 95 %: " in five.sentence()
    assert five.document()["versions"] == 5 and "versions" not in one.document()


def test_where_only_the_first_version_is_looked_at_that_is_said() -> None:
    mechanism = sv.Online(sv.runs(random_chain(2), 30), epsilon=1, adjacency=2)
    one, five = attacker_view(mechanism), attacker_of_versions(mechanism, 5)
    assert five.symbol == one.symbol and five.by_first_version and five.promised >= one.promised
    assert "(at least, by the first of them alone; 95 %: " in five.sentence()
    assert five.document()["by_first_version"] is True and "by_first_version" not in one.document()
    stairs = attacker_of_versions(sv.Staircase(sv.words("abcd", 30), epsilon=2, adjacency=2), 5)
    assert stairs.how == "at-least" and "by the first of them alone" in stairs.sentence()


@pytest.mark.parametrize("public_start", [False, True])
def test_the_likeliest_symbols_beside_several_words(public_start) -> None:
    language = sv.runs(random_chain(4), 4, public_start=public_start)
    words = language.enumerate_codes(at_most=500)
    mechanism = sv.Exponential(language, epsilon=2, adjacency=1, cost="swap", cap=2, calibration="classic")
    weights = mechanism._run_weights
    table = {tuple(a): {tuple(b): cost(weights, a, b) for b in words.tolist()} for a in words.tolist()}
    rows = [(a, b, c) for a in table for b in table for c in table if not public_start or a[0] == b[0] == c[0]]
    rows = rows[:: max(1, len(rows) // 150)]
    first, *more = (np.array(column, dtype=np.int32) for column in zip(*rows, strict=True))
    symbols, shares = likeliest_symbols(weights, first, more)
    for row, seen in enumerate(rows):
        chance = [defaultdict(float) for _ in range(4)]
        for word in table:
            if public_start and word[0] != seen[0][0]:
                continue
            weight = math.prod(table[word][each] for each in seen)
            for position, symbol in enumerate(word):
                chance[position][symbol] += weight
        for position in range(4):
            total = sum(chance[position].values())
            assert shares[row, position] == pytest.approx(max(chance[position].values()) / total, rel=1e-9)
            assert chance[position][symbols[row, position]] == pytest.approx(max(chance[position].values()), rel=1e-9)


def cost(weights, word, other) -> float:
    begin = int(weights.language.public_start)
    levels = [int(weights.costs.levels(i, np.array(word[i]), np.array(other[i]))) for i in range(begin, len(word))]
    return math.prod(0.0 if level < 0 else float(weights.step_weights[level, 0]) for level in levels)


def test_how_many_versions() -> None:
    mechanism = sv.Exponential(sv.words("abc", 4), epsilon=1)
    for count in (0, 101, True, 2.0):
        with pytest.raises(ParameterError, match="count: expected a whole number from 1 to 100"):
            attacker_of_versions(mechanism, count)
    assert attacker_of_versions(sv.EditChannel("abc", epsilon=1, max_length=3), 2) is None
