"""Every metric against its definition in plain Python, and the properties that its page promises."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symveil.comparison.distributions import (
    CodedWords,
    Pairs,
    coverage_kendall_tau,
    frequent_patterns,
    hotspot_ndcg,
    jensen_shannon,
    length_jsd,
    visits_jsd,
)
from symveil.comparison.geography import (
    BUCKETS,
    diameter_jsd,
    diameters,
    od_jsd,
    query_squares,
    range_query_error,
)

from . import plain

SYMBOLS = 4
PLACES = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [3.0, 4.0]])
ZONES = np.array([0, 0, 1, 2])
files = st.lists(st.lists(st.integers(0, SYMBOLS - 1), max_size=7).map(tuple), min_size=1, max_size=8).filter(any)
exactly = pytest.approx


def coded(words) -> CodedWords:
    return CodedWords.from_words(words, symbols=SYMBOLS)


def near(value: float | None, expected: float) -> bool:
    return value is not None and abs(value - expected) <= 1e-12


@settings(max_examples=60, deadline=None)
@given(files, files)
def test_single_symbols_and_lengths(true, private) -> None:
    one, other = coded(true), coded(private)
    assert near(visits_jsd(one, other), plain.divergence(plain.visits(true), plain.visits(private)))
    assert near(length_jsd(one, other), plain.divergence(Counter(map(len, true)), Counter(map(len, private))))
    coverage = [[sum(symbol in word for word in words) for symbol in range(SYMBOLS)] for words in (true, private)]
    tau = coverage_kendall_tau(one, other)
    if any(len(set(each)) == 1 for each in coverage):
        assert tau is None
    else:
        assert near(tau, plain.tau_b(*coverage)) and -1 <= tau <= 1


@settings(max_examples=60, deadline=None)
@given(files, files, st.integers(1, 6), st.sampled_from([range(2, 6), range(2, 3), range(3, 5)]))
def test_patterns(true, private, top, sizes) -> None:
    found = frequent_patterns(coded(true), coded(private), top=top, sizes=sizes)
    counts = [plain.windows(words, sizes) for words in (true, private)]
    if not all(counts):
        assert found is None
        return
    best = [plain.top(each, top) for each in counts]
    assert [row[0] for row in found.true] == best[0] and [row[0] for row in found.private] == best[1]
    shared = len({*best[0]} & {*best[1]})
    precision, recall = shared / len(best[1]), shared / len(best[0])
    assert near(found.f1(), 2 * precision * recall / (precision + recall) if shared else 0.0)
    errors = [abs(counts[0][each] - counts[1][each]) / counts[0][each] for each in best[0]]
    assert near(found.support_error(), sum(errors) / len(errors))


@settings(max_examples=60, deadline=None)
@given(files, files)
def test_pairs(true, private) -> None:
    pairs = Pairs.of(coded(true), coded(private))
    one, other = (plain.windows(words, range(2, 3)) for words in (true, private))
    if not one or not other:
        assert pairs is None
        return
    shares = [{pair: count / sum(each.values()) for pair, count in each.items()} for each in (one, other)]
    assert near(pairs.l1(), sum(abs(shares[0].get(p, 0) - shares[1].get(p, 0)) for p in {*one, *other}))
    assert near(pairs.transition_tv(), plain.transition_tv(true, private, SYMBOLS))
    assert list(pairs.directly_follows().values()) == [len(one), len(other), len({*one} & {*other})]
    for pair, count, number in pairs.largest_differences(3):
        assert (count, number) == (one[pair], other[pair]) and shares[0].get(pair, 0) != shares[1].get(pair, 0)


@settings(max_examples=40, deadline=None)
@given(files, files)
def test_on_a_map(true, private) -> None:
    one, other = coded(true), coded(private)
    ends = [Counter((int(ZONES[w[0]]), int(ZONES[w[-1]])) for w in words if len(w) >= 2) for words in (true, private)]
    if all(ends):
        assert near(od_jsd(one, other, ZONES), plain.divergence(*ends))
    else:
        assert od_jsd(one, other, ZONES) is None
    wide = [
        [max(math.dist(PLACES[a], PLACES[b]) for a in word for b in word) for word in words if word]
        for words in (true, private)
    ]
    assert diameters(one, PLACES).tolist() == exactly(wide[0], abs=1e-12)
    largest = max(map(max, wide)) or 1.0
    buckets = [Counter(min(BUCKETS - 1, int(d / largest * BUCKETS + 1e-9)) for d in each) for each in wide]
    assert near(diameter_jsd(one, other, PLACES), plain.divergence(*buckets))
    centres, side = query_squares(PLACES)
    counts = [plain.visits(words) for words in (true, private)]
    total = 0.0
    for x, y in centres:
        inside = [s for s, (px, py) in enumerate(PLACES) if abs(px - x) <= side / 2 and abs(py - y) <= side / 2]
        c, d = (sum(each[s] for s in inside) for each in counts)
        total += abs(c - d) / max(c, 0.01 * sum(counts[0].values()))
    assert near(range_query_error(one, other, PLACES), total / len(centres))


@settings(max_examples=40, deadline=None)
@given(files, files)
def test_symmetry_and_ranges(true, private) -> None:
    one, other = coded(true), coded(private)
    for metric in (visits_jsd, length_jsd, coverage_kendall_tau):
        assert metric(one, other) == pytest.approx(metric(other, one), abs=1e-12)
    for metric in (visits_jsd, length_jsd):
        assert 0 <= metric(one, other) <= math.log(2)
    assert 0 <= hotspot_ndcg(one, other) <= 1
    assert od_jsd(one, other, ZONES) == od_jsd(other, one, ZONES)
    assert diameter_jsd(one, other, PLACES) == diameter_jsd(other, one, PLACES)
    there, back = Pairs.of(one, other), Pairs.of(other, one)
    if there is not None:
        assert there.l1() == back.l1() and 0 <= there.l1() <= 2 and 0 <= there.transition_tv() <= 1
    patterns = frequent_patterns(one, other), frequent_patterns(other, one)
    if patterns[0] is not None:
        assert patterns[0].f1() == patterns[1].f1() and 0 <= patterns[0].f1() <= 1


@settings(max_examples=30, deadline=None)
@given(files)
def test_a_file_against_itself(words) -> None:
    one = coded(words)
    assert visits_jsd(one, one) == length_jsd(one, one) == diameter_jsd(one, one, PLACES) == 0
    assert range_query_error(one, one, PLACES) == 0 and hotspot_ndcg(one, one) == 1
    assert coverage_kendall_tau(one, one) in (None, 1)
    assert od_jsd(one, one, ZONES) in (None, 0)
    patterns, pairs = frequent_patterns(one, one), Pairs.of(one, one)
    assert patterns is None or (patterns.f1(), patterns.support_error()) == (1, 0)
    assert pairs is None or (pairs.l1(), pairs.transition_tv(), pairs.largest_differences(5)) == (0, 0, [])


def test_divergence_sees_what_is_wrong() -> None:
    """Natural logarithm, no root, halves: each of the three mistakes would be seen here."""
    assert jensen_shannon([1, 0], [0, 1]) == math.log(2)
    assert near(jensen_shannon([3, 1], [1, 3]), 0.75 * math.log(1.5) + 0.25 * math.log(0.5))


def test_tau_of_a_file_with_itself_is_1_whatever_is_rounded() -> None:
    generator = np.random.default_rng(1)
    for symbols in range(3, 40):
        words = CodedWords.from_words(generator.integers(0, symbols, size=(30, 4)).tolist(), symbols=symbols)
        assert coverage_kendall_tau(words, words) == 1


def test_hotspots_as_they_are_defined() -> None:
    true = coded([(0,) * 9 + (1,) * 7 + (2,) * 5 + (3,) * 3])
    private = coded([(1,) * 9 + (3,) * 7 + (0,) * 5 + (2,) * 3])
    gained = [1 / 2, 1 / 4, 1, 1 / 3]
    best = sum(1 / (r * math.log2(r + 1)) for r in range(1, 5))
    assert near(hotspot_ndcg(true, private), sum(g / math.log2(i + 2) for i, g in enumerate(gained)) / best)
    missing = coded([(3,) * 2 + (2,)])
    assert near(hotspot_ndcg(true, missing, top=1), 0.0)


def test_long_words_have_the_diameter_of_their_hull() -> None:
    generator = np.random.default_rng(5)
    places = generator.normal(size=(400, 2))
    word = tuple(generator.integers(0, 400, size=900).tolist())
    one = CodedWords.from_words([word, word[:70], word[:3]], symbols=400)
    expected = [
        max(math.dist(places[a], places[b]) for a in each for b in each) for each in (word, word[:70], word[:3])
    ]
    assert diameters(one, places).tolist() == exactly(expected, abs=1e-12)
    line = np.column_stack([np.linspace(0, 3, 400), np.linspace(4, 0, 400)])
    assert diameters(CodedWords.from_words([range(400)], symbols=400), line).tolist() == exactly([5.0])


def test_large_alphabets_do_not_overflow() -> None:
    symbols = 3_000_000  # to the fifth power more than 64 bits hold
    words = CodedWords.from_words([[0, symbols - 1, 5, symbols - 2, 7]] * 2, symbols=symbols)
    found = frequent_patterns(words, words, top=10, sizes=range(5, 6))
    assert found.true == (((0, symbols - 1, 5, symbols - 2, 7), 2, 2),)
