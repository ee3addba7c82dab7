"""What a promise allows at most on models of any size: against classes of words that are written out by hand."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import pytest

import symveil as sv
from symveil.laws import protection as drawing
from symveil.laws.losses import most_right_of
from symveil.laws.protection import typical_words, uniform_words
from symveil.mechanisms import attacker_windows
from symveil.mechanisms.attacker import attacker_view
from symveil.mechanisms.limits import LIMITS

from .test_attacker import (
    best_guess,
    largest_loss,
    law_of,
    random_automaton,
    random_chain,
    small_mechanisms,
)

LANGUAGES = [
    *(sv.runs(random_chain(seed), 2 + seed % 4, public_start=seed % 2 == 0) for seed in range(12)),
    *(sv.runs(random_automaton(seed), 4) for seed in range(8)),
]


@pytest.mark.parametrize("language", LANGUAGES, ids=str)
def test_the_likeliest_symbol_in_every_window(language) -> None:
    words, begin = language.enumerate_codes(at_most=2000), int(language.public_start)
    listed = [tuple(word) for word in words.tolist()]
    for left in range(begin, language.length):
        ends = []
        for right, shares, _ in attacker_windows._windows(language, words, left, language.length):
            classes = defaultdict(list)
            for word in listed:
                classes[word[:left], word[right:]].append(word)
            for row, word in enumerate(listed):
                own = classes[word[:left], word[right:]]
                for position in range(left, right):
                    most = max(Counter(each[position] for each in own).values())
                    assert shares[row, position - left] == pytest.approx(most / len(own), rel=1e-12)
            whole = attacker_windows._shares_of_one_window(language, words, left, right)
            assert whole == pytest.approx(shares, rel=1e-12)
            ends.append(right)
        assert ends == list(range(left + 1, language.length + 1))


def test_the_limit_is_never_below_the_best_attacker() -> None:
    """With what is promised, and with the smallest losses that are true, which leave no room."""
    looked_at, close = 0, 0
    for name, mechanism in small_mechanisms():
        language = mechanism.language.runs
        if language is None or language.largest_distance == 0 or language.size > 60:
            continue
        law, begin = law_of(mechanism), int(language.public_start)
        truth = np.mean([best_guess(law, lambda word, i=i: word[i]) for i in range(begin, language.length)])
        every = all(chance for word, row in law.items() for out, chance in row.items() if word[:begin] == out[:begin])
        smallest = [largest_loss(law, apart, begin) if every else math.inf for apart in range(language.length + 1)]
        for loss_at in (None, lambda apart, smallest=smallest: smallest[apart]):
            exact = attacker_view(mechanism, loss_at=loss_at)
            with LIMITS.changed(attacker_words=0):
                view = attacker_view(mechanism, loss_at=loss_at)
            assert view.limit_confidence == 0.95 and exact.limit_confidence is None, name
            assert truth <= view.promised <= 1, name
            assert exact.promised - 1e-9 <= view.promised, name
            close += view.promised < exact.promised + 0.1
            looked_at += 1
    assert looked_at > 80 and close > 0.9 * looked_at


def limits(monkeypatch, language, losses, seeds: int) -> list[float]:
    found = []
    whole = np.ones(language.largest_distance)
    for seed in range(seeds):
        monkeypatch.setattr(drawing, "_SEED_OF_MANY", 1000 + seed)
        found.append(attacker_windows.promised_by_sampling(language, losses, whole))
    return found


def test_the_limit_misses_as_seldom_as_it_says(monkeypatch, set_limits) -> None:
    """60 sets of draws: more than 9 misses of at most 5 % each happen in one of 1,000 such tests. The mean misses."""
    chain = sv.MarkovChain.from_transitions(
        [(*move, "1/2") for move in ("ab", "ac", "da", "de")] + [(*move, 1) for move in ("bd", "cd", "ea")]
    )
    language = sv.runs(chain, 5)
    words = language.enumerate_codes(at_most=100)
    set_limits(LIMITS, judging_words=60)
    exact = attacker_windows.promised_by_enumeration(words, np.zeros(len(words), dtype=np.int32), 0, lambda d: 0.7 * d)
    assert 0.5 < exact < 0.95
    assert sum(limit < exact for limit in limits(monkeypatch, language, lambda d: 0.7 * d, 60)) <= 9
    monkeypatch.setattr(attacker_windows, "mean_interval", lambda mean, draws, fails: (mean, mean))
    assert sum(limit < exact for limit in limits(monkeypatch, language, lambda d: 0.7 * d, 60)) > 9


def test_one_window_for_all_words() -> None:
    """The mean over words of their own smallest bound is another, smaller number: no partition has it."""
    worse = 0
    for seed in range(12):
        language = sv.runs(random_chain(seed), 4)
        if not 4 <= language.size <= 40:
            continue
        mechanism = sv.Exponential(language, epsilon=2, adjacency=1)
        law = law_of(mechanism)
        losses = [largest_loss(law, apart, 0) for apart in range(5)]
        words = language.enumerate_codes(at_most=500)
        least = np.ones(words.shape)
        for left in range(4):
            for right, shares, _ in attacker_windows._windows(language, words, left, 4):
                bound = most_right_of(losses[right - left], shares)
                least[:, left:right] = np.minimum(least[:, left:right], bound)
        view = attacker_view(mechanism, loss_at=lambda apart, losses=losses: losses[apart])
        assert view.promised >= view.symbol.after
        worse += float(least.mean()) < view.promised - 1e-9
    assert worse > 0


def test_words_are_drawn_alike() -> None:
    """χ² over all words, at a level of one false alarm in 10,000; words drawn step by step fail it."""
    looked_at = failed = 0
    for language in LANGUAGES:
        words = language.enumerate_codes(at_most=2000)
        if not 3 <= len(words) <= 100:
            continue
        drawn = uniform_words(language, 4000)
        language.check_codes(drawn)
        assert np.array_equal(drawn, uniform_words(language, 4000))
        degrees = len(words) - 1
        limit = degrees + 4 * math.sqrt(2 * degrees) + 14  # above the 0.9999 quantile for all these degrees
        assert chi_square(drawn, words) < limit
        failed += chi_square(typical_words(language, 4000), words) > limit
        looked_at += 1
    assert looked_at > 8 and failed > 4


def chi_square(drawn, words) -> float:
    counted = Counter(map(tuple, drawn.tolist()))
    expected = len(drawn) / len(words)
    return sum((counted[tuple(word)] - expected) ** 2 / expected for word in words.tolist())


def test_long_words_of_a_large_model() -> None:
    """Weights of thousands of symbols leave the range of floats unless they are scaled."""
    language = sv.runs(random_chain(2), 3000)
    language.check_codes(uniform_words(language, 3))
