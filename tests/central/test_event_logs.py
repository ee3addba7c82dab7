"""The law of an event log: its tables against plain counting, what each stage loses, what it learns and draws."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from central.test_counts import batches
from symveil.central.cells import GRID, PersonCounts, contributed
from symveil.central.fit import lower_quartile
from symveil.central.learned import LOG_SHARES, SHARES, LogLengths, LogMoves, LogRepeats, learn_law, learn_log
from symveil.central.limits import LIMITS
from symveil.central.noise import NoisyTable, Query, smoothed
from symveil.central.rules import Rules
from symveil.central.word_law import FEATURES, Support, no_parameters
from symveil.estimation.table import Batch
from symveil.randomness import NotPrivateSeededBits, RecordKey

SYMBOLS = 3
WORDS = st.lists(st.lists(st.integers(0, SYMBOLS - 1), max_size=7), max_size=4)
FILES = st.lists(WORDS, max_size=4)
"""The cases of each person."""
LENGTHS = st.sampled_from([(1, 4), (2, 5), (1, 7)])


def support_of(shortest: int, longest: int, split: int | None = None, *, symbols: int = SYMBOLS) -> Support:
    zone = np.zeros(symbols, dtype=np.int64)
    every = Support.of(symbols=symbols, graph=None, zone=zone, shortest=shortest, longest=longest)
    return replace(every, split=split)


def things(stage: str, word: list[int], support: Support) -> list[object]:
    """What a case has of a table, by the definition."""
    if len(word) < support.shortest:
        return []
    cut = word[: support.longest]
    if stage == "lengths":
        return [len(cut)]
    if stage == "repeats":
        return [activity for activity, times in Counter(cut).items() if times >= 2]
    late = [support.split is not None and position > support.split for position in range(1, len(cut) + 1)]
    moves = [("move", late[at], cut[at], cut[at + 1]) for at in range(len(cut) - 1)]
    return [("start", cut[0]), *moves, *([("end", late[-1], cut[-1])] if len(word) == len(cut) else [])]


def cell(stage: str, thing, support: Support) -> int:
    if stage == "lengths":
        return thing - support.shortest
    if stage == "repeats":
        return thing
    if thing[0] == "start":
        return thing[1]
    if thing[0] == "move":
        return SYMBOLS + thing[1] * SYMBOLS**2 + thing[2] * SYMBOLS + thing[3]
    return SYMBOLS + support.phases * SYMBOLS**2 + thing[1] * SYMBOLS + thing[2]


TABLES = {"lengths": LogLengths, "repeats": LogRepeats, "moves": LogMoves}


def summed(stage: str, support: Support, file, bound: int) -> list[int]:
    table = TABLES[stage](support)
    return contributed(table, batches(file), PersonCounts.of(table, batches(file), len(file)).weights(bound))


@given(FILES, st.sampled_from(list(TABLES)), LENGTHS, st.none() | st.integers(1, 5), st.integers(1, 9))
@settings(max_examples=150)
def test_sums_are_what_persons_add(file, stage, lengths, split, bound) -> None:
    support = support_of(*lengths, split)
    plain: dict[int, int] = defaultdict(int)
    for own in file:
        mine = [thing for word in own for thing in things(stage, word, support)]
        for thing in mine:
            plain[cell(stage, thing, support)] += GRID if len(mine) <= bound else bound * GRID // len(mine)
    found = summed(stage, support, file, bound)
    assert len(found) == len(TABLES[stage](support))
    assert {number: total for number, total in enumerate(found) if total} == {k: v for k, v in plain.items() if v}


def stages(learn, file, epsilon: Fraction, neighbours: str, support: Support, released: dict[str, list[int]]):
    """What a run asks of a file: each query with its sums, where the answers are `released`, whatever the file is."""
    asked: list[tuple[Query, list[int]]] = []

    def answered(query: Query, sums, keys, *, cells) -> list[int]:
        asked.append((query, list(sums)))
        return released.setdefault(query.name, [(number * 7919 % 23 - 3) * GRID for number in range(len(sums))])

    with pytest.MonkeyPatch.context() as patch, LIMITS.changed(probes=20):
        patch.setattr(Query, "answered", answered)
        # what follows the answers reads nothing else, and takes its time
        patch.setattr("symveil.central.learned.fitted", lambda *_, **__: no_parameters(support))
        patch.setattr("symveil.central.learned.fitted_log", lambda own, *_, **__: no_parameters(own))
        learn(
            support, lambda: batches(file), len(file), symbols="abc", rules=Rules(), epsilon=epsilon,
            neighbours=neighbours, keys=RecordKey(bytes(32), "r"),
        )  # fmt: skip
    return asked


def largest_loss(sums: list[int], others: list[int], query: Query) -> Fraction:
    """The largest logarithm of P(y | sums)/P(y | others) over all answers y: cells draw apart, P(y | c) ∝ e^(−|y−c|/s).

    As a function of one cell's answer it is piecewise linear, so it is largest at a kink or beyond all of them.
    """
    total = Fraction(0)
    for one, other in zip(sums, others, strict=True):
        answers = (min(one, other) - 1, one, other, max(one, other) + 1)
        total += max(Fraction(abs(y - other) - abs(y - one)) / query.scale for y in answers)
    return total


def trips(*given, **named):
    return learn_law(*given, zone_names=("all",), classes={}, **named)


@given(FILES, WORDS, WORDS, LENGTHS, st.fractions(Fraction(1, 10), 5), st.sampled_from([learn_log, trips]))
@settings(max_examples=60)
def test_every_stage_loses_at_most_its_epsilon(file, own, other, lengths, epsilon, learn) -> None:
    """Exact, in rationals, for whole runs, from the probabilities of answers given the answers before them.

    A person with other cases, or none, in the file; cases of several persons; later bounds follow earlier answers.
    """
    for neighbours, files in (("add-remove", (file, [*file, own])), ("replace", ([*file, other], [*file, own]))):
        released: dict[str, list[int]] = {}
        one, two = (stages(learn, each, epsilon, neighbours, support_of(*lengths), released) for each in files)
        lost = Fraction(0)
        for (query, sums), (same, others) in zip(one, two, strict=True):
            assert query == same
            loss = max(largest_loss(sums, others, query), largest_loss(others, sums, query))
            assert loss <= query.epsilon
            lost += loss
        shares = LOG_SHARES if learn is learn_log else SHARES
        assert [query.epsilon for query, _ in one] == [epsilon * shares[query.name.split(": ")[1]] for query, _ in one]
        assert sum((query.epsilon for query, _ in one), Fraction(0)) == epsilon and lost <= epsilon
        assert len(one) == (3 if learn is learn_log else len(FEATURES))


def test_the_loss_of_each_stage_is_attained() -> None:
    """Bounds are no larger than what one person can add: a case of one event, four repeats, a case of length q − 1."""
    support = support_of(1, 9, 3)
    cases = {"lengths": [[0]], "repeats": [[0, 0, 1, 1], [0, 0, 1, 1]], "moves": [[0, 1]]}
    for stage, bound in (("lengths", 1), ("repeats", LIMITS.now.repeats), ("moves", 3)):
        query = Query(name=stage, epsilon=Fraction(3, 7), bound=bound)
        assert sum(summed(stage, support, [cases[stage]], bound)) / query.scale == Fraction(3, 7)


def learned(
    words: list[list[int]], *, epsilon: int | Fraction, lengths=(1, 8), rules: Rules | None = None, key: int = 0
):
    batch = Batch(
        np.array([code for word in words for code in word], dtype=np.int32),
        np.array([len(word) for word in words], dtype=np.int64),
        np.arange(len(words)),
    )
    symbols = max((code for word in words for code in word), default=2) + 1
    return learn_log(
        support_of(*lengths, symbols=symbols), lambda: [batch], len(words), symbols="abcdefgh"[:symbols],
        rules=rules or Rules(), epsilon=Fraction(epsilon), neighbours="add-remove",
        keys=RecordKey(bytes([key]) * 32, "r"),
    )[0]  # fmt: skip


def drawn(law, count: int) -> list[tuple[int, ...]]:
    codes, lengths = law.draw(count, NotPrivateSeededBits(4))
    return [tuple(word.tolist()) for word in np.split(codes, np.cumsum(lengths)[:-1])]


def test_much_budget_learns_order_lengths_and_what_occurs_once() -> None:
    """0 opens, 1 … follow in any order and repeat, 3 occurs once, 2 closes: the law knows all of it."""
    words = [[0, 1, 3, 1, 2], [0, 3, 1, 1, 2], [0, 1, 1, 3, 2], [0, 1, 1, 1, 3, 1, 2]] * 100
    law = learned(words, epsilon=100_000)
    assert set(law.rules.once) == {0, 2, 3} and law.support.split == 5
    found = drawn(law, 2000)
    assert all(word.count(3) <= 1 and word.count(0) <= 1 for word in found)
    assert np.mean([word[0] == 0 and word[-1] == 2 for word in found]) > 0.98
    lengths = np.bincount([len(word) for word in found], minlength=9)[1:] / len(found)
    # 2000 draws and 20,000 probes, 6 standard errors of a share of a half
    assert np.abs(lengths - np.array([0, 0, 0, 0, 0.75, 0, 0.25, 0])).max() < 6 * 0.5 / 2000**0.5


def test_a_rare_activity_that_is_repeated_where_it_occurs_is_no_rule() -> None:
    """Few cases repeat it, so few cases have it: clear of the noise, it may occur again."""
    law = learned([[0, 1]] * 950 + [[0, 2, 2, 2, 1]] * 50, epsilon=100)
    assert set(law.rules.once) == {0, 1}
    noisy = learned([[0, 1]] * 950 + [[0, 2, 2, 2, 1]] * 50, epsilon=1)  # 50 cases, and noise of 40
    assert 2 in noisy.rules.once


@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1, 10), 1, 100])
@pytest.mark.parametrize("words", [[], [[0]], [[0, 1, 2]] * 40, [[0] * 30] * 40])
def test_any_log_and_any_budget_end_in_a_law_that_can_be_drawn_from(epsilon, words) -> None:
    law = learned(words, epsilon=epsilon, key=int(epsilon * 1000) % 251)
    found = drawn(law, 50)
    assert len(found) == 50 and all(1 <= len(word) <= 8 for word in found)
    assert all(word.count(code) <= 1 for word in found for code in law.rules.once)


def test_lengths_that_no_word_obeys_are_given_up_and_rules_that_forbid_most_are_withdrawn() -> None:
    """One activity that no case repeats, by the noisy answers, and lengths up to 8: one length is left, or no rule."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            Query, "answered", lambda self, sums, *_, **__: [GRID * (10 if "lengths" in self.name else 0)] * len(sums)
        )
        law = learned([[0]], epsilon=1)
    assert law.rules.once == () and {len(word) for word in drawn(law, 300)} == set(range(1, 9))


def test_smoothing_and_the_quartile() -> None:
    values = np.array([0, 0, 0, 16.0, 0, 0, 0])
    even = smoothed(NoisyTable(values=values, deviation=1e6))
    assert even.tolist() == pytest.approx([1.6, 32 / 13, 3.2, 4, 3.2, 32 / 13, 1.6])
    assert smoothed(NoisyTable(values=values, deviation=1e-6)).tolist() == pytest.approx(values, abs=1e-6)
    noise = np.random.default_rng(1).normal(0, 3, 4000)  # noise alone: nothing but the average is left
    found = smoothed(NoisyTable(values=noise, deviation=3))
    assert found == pytest.approx(smoothed(NoisyTable(values=noise, deviation=1e6)), abs=0.5)
    assert lower_quartile(np.array([1.0, 0, 0, 0]), 1) == 2  # at least 2
    assert lower_quartile(np.array([0.0, 1, 1, 2]), 4) == 5
