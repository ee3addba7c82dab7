"""Counting words by Levenshtein distance: every count equals brute force, and every word is drawn once per rank."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter

import numpy as np
import pytest
from rapidfuzz.distance import Levenshtein

from symveil.errors import TooLargeError
from symveil.languages import edit_neighbours
from symveil.languages.edit_distance import all_edit_distances, distance_table, edit_distance, edit_distances
from symveil.languages.edit_neighbours import EditNeighbours, UniversalAutomaton, most_edges, most_profiles
from symveil.languages.limits import LIMITS
from symveil.languages.open import OpenRuns, runs_up_to
from symveil.models.automaton import Automaton, TransitionSystem
from symveil.models.markov_chain import MarkovChain
from symveil.randomness import NotPrivateSeededBits

CASES = 1000


def by_distance(word, words, within) -> dict[tuple[int, int], int]:
    found: Counter[tuple[int, int]] = Counter()
    for other in words:
        distance = Levenshtein.distance(word, other)
        if distance <= within:
            found[distance, len(other)] += 1
    return dict(found)


def all_words(symbols: int, longest: int):
    return [word for length in range(longest + 1) for word in itertools.product(range(symbols), repeat=length)]


def test_a_thousand_random_cases_match_brute_force():
    source = random.Random(7)
    for _ in range(CASES):
        symbols, within, bound = source.choice([1, 2, 2, 3]), source.randrange(5), source.randrange(7)
        word = [source.randrange(symbols) for _ in range(source.randrange(7))]
        near = EditNeighbours(word, symbols=symbols, within=within, max_length=bound)
        expected = by_distance(tuple(word), all_words(symbols, bound), within)
        assert near.table() == expected, (word, symbols, within, bound)
        assert near.counts() == [sum(n for (d, _), n in expected.items() if d == e) for e in range(within + 1)]


def random_model(source: random.Random) -> OpenRuns:
    states, symbols = source.randrange(1, 5), "abc"[: source.randrange(1, 4)]
    rows = [("s0", symbols[0], f"s{source.randrange(states)}")]
    rows += [
        (f"s{i}", a, f"s{source.randrange(states)}") for i in range(states) for a in symbols if source.random() < 0.7
    ]
    rows = list(dict.fromkeys(rows))
    longest = source.randrange(6)
    if source.random() < 0.5:
        return runs_up_to(TransitionSystem.from_transitions(rows, initial="s0"), longest)
    reached = sorted({target for _, _, target in rows} - {"s0"})
    accepting = ["s0", *(name for name in reached if source.random() < 0.5)]
    return runs_up_to(Automaton.from_transitions(rows, initial="s0", accepting=accepting), longest)


def test_the_product_with_a_model_counts_its_words_only():
    source = random.Random(11)
    for _ in range(200):
        language = random_model(source)
        words = [tuple(row) for rows in language.by_length(at_most=5000) for row in rows.tolist()]
        assert len(words) == language.size == len(set(words))
        word = [source.randrange(len(language.alphabet)) for _ in range(source.randrange(6))]  # in the language or not
        within = source.randrange(4)
        near = EditNeighbours(
            word,
            symbols=len(language.alphabet),
            within=within,
            max_length=language.max_length,
            graph=language.graph,
        )
        assert near.table() == by_distance(tuple(word), words, within)


@pytest.mark.parametrize("model", [False, True])
def test_every_rank_is_one_word_at_the_distance(model, monkeypatch):
    chain = MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "c", 1), ("c", "a", 1)])
    graph = runs_up_to(chain, 5).graph if model else None
    word = (0, 1, 2, 0)
    near = EditNeighbours(word, symbols=3, within=2, max_length=5, graph=graph)
    for distance in range(3):
        drawn = set()
        for rank in range(near.count(distance)):
            monkeypatch.setattr(edit_neighbours, "uniform_integer", lambda bound, bits, rank=rank: rank)
            drawn.add(tuple(near.draw(distance, NotPrivateSeededBits(1)).tolist()))
        assert len(drawn) == near.count(distance) > 0
        assert all(Levenshtein.distance(word, other) == distance for other in drawn)


def test_long_words_have_the_closed_forms():
    """One edit: n(m−1) substitutions, n(m−1)+m insertions, one deletion per run; whatever the word."""
    source = random.Random(3)
    word = [source.randrange(26) for _ in range(400)]
    runs = 1 + sum(a != b for a, b in itertools.pairwise(word))
    near = EditNeighbours(word, symbols=26, within=1)
    assert near.table() == {(0, 400): 1, (1, 399): runs, (1, 400): 400 * 25, (1, 401): 400 * 25 + 26}
    # two insertions give Σ_{i≤2} C(n+2, i)(m−1)^i words
    farther = EditNeighbours(word, symbols=26, within=2)
    assert farther.count(2, length=402) == 1 + 402 * 25 + 402 * 401 // 2 * 25**2


def test_work_without_end_is_refused():
    with pytest.raises(TooLargeError, match="at most 50 edges"):
        EditNeighbours([0, 1, 2, 3], symbols=5, within=2, at_most=50).counts()
    assert EditNeighbours([0, 1, 2, 3], symbols=5, within=2, at_most=math.inf).edge_count > 50


@pytest.mark.parametrize("within", range(4))
def test_the_bound_on_the_work_holds_for_every_word(within):
    bound = most_edges(symbols=2, within=within, max_length=7)
    profiles = [set() for _ in range(8)]
    for word in all_words(2, 7):
        near = EditNeighbours(word, symbols=2, within=within, max_length=7)
        assert near.edge_count <= bound
        for position, layer in enumerate(near._layers):
            profiles[position].update(profile for profile, _ in layer.nodes)
    assert all(len(found) <= most_profiles(within, position) for position, found in enumerate(profiles))
    if within <= 2:
        assert max(map(len, profiles)) == most_profiles(within, 7)  # and it is no looser than it must be


def test_the_bound_on_the_work_holds_on_models():
    source = random.Random(12)
    for _ in range(150):
        language = random_model(source)
        within = source.randrange(4)
        bound = most_edges(
            symbols=len(language.alphabet), within=within, max_length=language.max_length, graph=language.graph
        )
        for word in all_words(len(language.alphabet), min(language.max_length, 4)):
            near = EditNeighbours(
                word,
                symbols=len(language.alphabet),
                within=within,
                max_length=language.max_length,
                graph=language.graph,
            )
            assert near.edge_count <= bound


def test_distances_are_rapidfuzz_distances():
    source = np.random.default_rng(5)
    for _ in range(60):
        first, second = (source.integers(0, 3, size=(4, source.integers(0, 7))).astype(np.int32) for _ in range(2))
        expected = [[Levenshtein.distance(a.tolist(), b.tolist()) for b in second] for a in first]
        assert all_edit_distances(first, second).tolist() == expected
        assert edit_distances(first[0], second).tolist() == expected[0]
        assert edit_distance(first[1].tolist(), second[1].tolist()) == expected[1][1]
    ragged = [
        np.zeros((1, 0), np.int32),
        np.empty((0, 1), np.int32),
        source.integers(0, 3, size=(5, 2)).astype(np.int32),
    ]
    ragged.append(source.integers(0, 3, size=(4, 3)).astype(np.int32))
    words = [row.tolist() for rows in ragged for row in rows]
    assert distance_table(ragged).tolist() == [[Levenshtein.distance(a, b) for b in words] for a in words]


def test_a_full_memory_of_steps_is_emptied_and_steps_stay_the_same(set_limits) -> None:
    kept, forgetful = UniversalAutomaton(2), UniversalAutomaton(2)
    steps = {}
    reached = [kept.start]
    for profile in reached:
        for pattern in range(2**kept.width):
            after = steps[profile, pattern] = kept.step(profile, pattern)
            if after is not None and after not in reached:
                reached.append(after)
    set_limits(LIMITS, cached_steps=7)
    assert all(forgetful.step(*asked) == after for asked, after in steps.items())
    assert len(forgetful._steps) <= 7 < len(steps)
