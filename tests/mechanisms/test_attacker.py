"""How often an attacker is right: against sums over all words written down from the definition, in plain Python."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest

import symveil as sv
from symveil.languages.run_laws import log_totals
from symveil.laws.losses import most_right
from symveil.mechanisms import attacker
from symveil.mechanisms.attacker import attacker_view
from symveil.mechanisms.attacker_windows import mean_interval
from symveil.mechanisms.distance_weighted import Jones2019Printed
from symveil.mechanisms.limits import LIMITS
from symveil.mechanisms.mechanism import Mechanism

Word = tuple[int, ...]
Law = dict[Word, dict[Word, float]]


def random_chain(seed: int) -> sv.MarkovChain:
    dice = np.random.default_rng(seed)
    names = [f"s{number}" for number in range(int(dice.integers(2, 5)))]
    rows = []
    for source in names:
        targets = dice.permutation(names)[: int(dice.integers(1, len(names) + 1))].tolist()
        rows += [(source, target, Fraction(1, len(targets))) for target in targets]
    return sv.MarkovChain.from_transitions(rows, states=names)


def random_automaton(seed: int) -> sv.Automaton:
    dice = np.random.default_rng(1000 + seed)
    moves = [(p, symbol, q) for p in ("q0", "q1", "q2") for symbol in "abc" for q in ("q0", "q1", "q2")]
    chosen = [moves[place] for place in dice.permutation(len(moves))[:7]]
    return sv.Automaton.from_transitions(
        [*chosen, ("q0", "a", "q1"), ("q1", "b", "q0")], initial="q0", accepting=["q0", "q1"]
    )


KINDS: dict[str, Callable[[object, int], Mechanism]] = {
    "exponential": lambda words, b: sv.Exponential(words, epsilon=2, adjacency=b),
    "classic": lambda words, b: sv.Exponential(words, epsilon=1, adjacency=b, calibration="classic"),
    "staircase": lambda words, b: sv.Staircase(words, epsilon=3, adjacency=b, calibration="classic"),
    "permute-and-flip": lambda words, b: sv.PermuteAndFlip(words, epsilon=2, adjacency=b),
    "online": lambda words, b: sv.Online(words, epsilon=2, adjacency=b),
    "swap": lambda words, b: sv.Exponential(words, epsilon=2, adjacency=b, cost="swap", cap=3, calibration="classic"),
    "inverse": lambda words, b: sv.Exponential(words, epsilon=2, adjacency=b, utility="inverse"),
}
OF_CHAINS = {
    "balanced": lambda words, b: sv.Exponential(words, epsilon=2, adjacency=b, balanced=True),
    "chain": lambda words, b: sv.Exponential(words, epsilon=2, adjacency=b, prior="chain"),
}


def small_mechanisms() -> Iterator[tuple[str, Mechanism]]:
    """Dozens of small models, each with some of the mechanisms."""
    for seed in range(24):
        chain, length, b = random_chain(seed), 2 + seed % 4, 1 + seed % 2
        words = sv.runs(chain, length, public_start=seed % 3 == 0)
        for place, (name, make) in enumerate((KINDS | OF_CHAINS).items()):
            if (place + seed) % 3 == 0 and words.size > 1:
                yield f"chain {seed}, {name}", make(words, b)
    for seed in range(8):
        words = sv.runs(random_automaton(seed), 3)
        for name in ("exponential", "staircase", "online"):
            yield f"automaton {seed}, {name}", KINDS[name](words, 1 + seed % 2)
    for name in ("exponential", "staircase", "permute-and-flip", "inverse"):
        for size, length, b in ((2, 3, 1), (3, 2, 2), (3, 3, 2), (4, 2, 1)):
            yield f"free {size} {length}, {name}", KINDS[name](sv.words("abcd"[:size], length), b)
    yield "optimal", sv.Optimal(sv.runs(random_chain(1), 3), epsilon=1, adjacency=1)
    yield "printed", Jones2019Printed(sv.words("abc", 3), epsilon=2)


def law_of(mechanism: Mechanism) -> Law:
    words, released = (each(at_most=3000)[0] for each in (mechanism.inputs, mechanism.outputs))
    return {
        tuple(word.tolist()): {
            tuple(out.tolist()): math.exp(log)
            for out, log in zip(released, mechanism.log_probabilities(word, released), strict=True)
        }
        for word in words
    }


def best_guess(law: Law, asked: Callable[[Word], object]) -> float:
    """Σ_o max_y Σ_{w: asked(w)=y} P(o|w)/|L|, term by term."""
    total = 0.0
    for out in next(iter(law.values())):
        chance: dict[object, float] = defaultdict(float)
        for word, row in law.items():
            chance[asked(word)] += row[out] / len(law)
        total += max(chance.values())
    return total


def blind_guess(law: Law, asked: Callable[[Word], object], begin: int) -> float:
    """The same for somebody who sees the public start only."""
    seen: dict[Word, dict[object, float]] = defaultdict(lambda: defaultdict(float))
    for word in law:
        seen[word[:begin]][asked(word)] += 1 / len(law)
    return sum(max(chances.values()) for chances in seen.values())


@pytest.fixture(scope="module")
def cases() -> list[tuple[str, Mechanism, Law]]:
    return [(name, mechanism, law_of(mechanism)) for name, mechanism in small_mechanisms()]


def test_the_best_guess_by_definition(cases) -> None:
    looked_at = 0
    for name, mechanism, law in cases:
        view = attacker_view(mechanism)
        begin, length = int(mechanism.language.public_start), mechanism.length
        if mechanism.language.largest_distance == 0:
            assert view is None, name
            continue
        assert view is not None and view.how == "exact" and view.interval is None, name
        places = [lambda word, i=i: word[i] for i in range(begin, length)]
        after = [best_guess(law, place) for place in places]
        before = [blind_guess(law, place, begin) for place in places]
        assert view.symbol.after == pytest.approx(np.mean(after), rel=1e-9), name
        assert view.symbol.before == pytest.approx(np.mean(before), rel=1e-9), name
        assert (view.first.before, view.first.after) == pytest.approx((before[0], after[0]), rel=1e-9), name
        assert (view.last.before, view.last.after) == pytest.approx((before[-1], after[-1]), rel=1e-9), name
        whole = best_guess(law, lambda word: word), blind_guess(law, lambda word: word, begin)
        assert (view.word.after, view.word.before) == pytest.approx(whole, rel=1e-9), name
        looked_at += 1
    assert looked_at > 90


def test_nobody_is_right_more_often_than_is_promised(cases) -> None:
    for name, mechanism, _ in cases:
        view = attacker_view(mechanism)
        if view is not None:
            assert view.promised is not None and view.promised >= view.symbol.after, name
            assert view.promised <= 1, name


def largest_loss(law: Law, apart: int, begin: int) -> float:
    pairs = [
        max((abs(math.log(row[o] / other[o])) for o in row if row[o] and other[o]), default=0.0)
        for word, row in law.items()
        for against, other in law.items()
        if word[:begin] == against[:begin] and sum(map(int.__ne__, word, against)) <= apart
    ]
    return max(pairs)


def test_the_bound_holds_with_the_smallest_loss_at_every_distance(cases) -> None:
    """With the exact loss of these words in the place of what is promised: one window a position, all tried by hand."""
    compared = 0
    for name, mechanism, law in cases:
        if len(law) > 40 or mechanism.language.largest_distance == 0 or mechanism.language.homogeneous:
            continue
        begin, length = int(mechanism.language.public_start), mechanism.length
        if any(not chance for word, row in law.items() for out, chance in row.items() if word[:begin] == out[:begin]):
            continue  # an infinite loss
        losses = [0.0, *(largest_loss(law, apart, begin) for apart in range(1, length + 1))]
        view = attacker_view(mechanism, loss_at=lambda apart, losses=losses: losses[apart])
        means = []
        for i in range(begin, length):
            truth, bounds = best_guess(law, lambda word, i=i: word[i]), []
            for left in range(begin, i + 1):
                for right in range(i + 1, length + 1):
                    classes: dict[Word, list[Word]] = defaultdict(list)
                    for word in law:
                        classes[(*word[:begin], *word[:left], *word[right:])].append(word)
                    bound = 0.0
                    for members in classes.values():
                        own = [word[i] for word in members]
                        likeliest = max(own.count(symbol) for symbol in own) / len(own)
                        odds = math.exp(losses[right - left])
                        bound += len(members) / len(law) * odds * likeliest / (1 + (odds - 1) * likeliest)
                    bounds.append(bound)
                    assert bound >= truth - 1e-9, name
                    compared += 1
            means.append(min(bounds))
        assert view.promised == pytest.approx(np.mean(means), rel=1e-9), name
    assert compared > 300


@pytest.mark.parametrize(("symbols", "length", "epsilon"), [("ab", 6, 1), ("abc", 4, 2), ("abcdefgh", 30, 3)])
def test_closed_forms(symbols, length, epsilon) -> None:
    mechanism = sv.Exponential(sv.words(symbols, length), epsilon=epsilon)
    view, m = attacker_view(mechanism), len(symbols)
    right = math.exp(epsilon) / (math.exp(epsilon) + m - 1)
    assert view.symbol.after == pytest.approx(right, rel=1e-12)
    assert view.word.after == pytest.approx(right**length, rel=1e-9)
    assert view.promised == pytest.approx(right, rel=1e-9)  # randomised response: the bound is attained
    assert (view.symbol.before, view.word.before) == pytest.approx((1 / m, float(m) ** -length))
    assert view.first == view.last == view.symbol


def test_a_guess_against_the_released_symbol() -> None:
    """Where almost everything is changed, the best guess of two symbols is the other one."""
    view = attacker_view(sv.Exponential(sv.words("ab", 4), epsilon="1/1000000", adjacency=4))
    assert view.symbol.after >= 0.5
    assert most_right(0.0, 0.5) == pytest.approx(0.5)
    assert most_right(1000.0, 0.5) == 1.0
    assert most_right(5.0, 1.0) == 1.0


def test_the_attacker_who_is_played(cases) -> None:
    """Its exact success, by enumeration, lies between S·min Z/max Z and S, and in the interval of what was played."""
    played = 0
    for name, mechanism, law in cases:
        weights = mechanism._run_weights
        if weights is None or mechanism.language.largest_distance == 0:
            continue
        exact = attacker_view(mechanism)
        with LIMITS.changed(attacker_words=0, attacker_steps=10**9):
            view = attacker_view(mechanism)
        assert view is not None and view.how == "at-least" and view.limit_confidence == 0.95, name
        assert exact.symbol.after <= view.promised <= 1, name
        assert attacker_view(mechanism) == exact
        begin, length = int(mechanism.language.public_start), mechanism.length
        guessing = attacker.replace(weights, with_prior=False, balance=None)
        outs = np.array(list(next(iter(law.values()))), dtype=np.int32)
        guessed = dict(
            zip(map(tuple, outs.tolist()), attacker.likeliest_symbols(guessing, outs)[0].tolist(), strict=True)
        )
        success = sum(
            chance / len(law) * float(np.mean([guessed[out][i] == word[i] for i in range(begin, length)]))
            for word, row in law.items()
            for out, chance in row.items()
        )
        logs = log_totals(weights, np.array(list(law), dtype=np.int32))
        assert success <= exact.symbol.after * (1 + 1e-9), name
        assert exact.symbol.after <= success * math.exp(logs.max() - logs.min()) * (1 + 1e-9), name
        low, high = view.interval
        success = max(success, exact.symbol.before)  # the attacker may as well ignore what was released
        assert view.symbol.after >= view.symbol.before and view.last.after >= view.last.before, name
        assert low <= success <= high and low <= view.symbol.after <= high, name
        assert view.symbol.before == pytest.approx(exact.symbol.before, rel=1e-9), name
        assert view.first.before == pytest.approx(exact.first.before, rel=1e-9), name
        assert view.last.before == pytest.approx(exact.last.before, rel=1e-9), name
        assert view.word.before == pytest.approx(exact.word.before, rel=1e-9), name
        assert view.word.after <= exact.word.after + 0.2, name
        played += 1
    assert played > 40


def test_others_are_played_too() -> None:
    for name in ("online", "permute-and-flip", "inverse"):
        mechanism = KINDS[name](sv.runs(random_chain(2), 4), 1)
        with LIMITS.changed(attacker_words=0):
            view = attacker_view(mechanism)
        exact = attacker_view(mechanism)
        assert view.how == "at-least" and exact.how == "exact"
        assert view.interval[0] <= exact.symbol.after, name


def test_the_interval_misses_as_seldom_as_it_says() -> None:
    """Numbers that are 0 or 1, the worst case: the share of misses is summed over all outcomes."""
    for draws in (20, 200):
        for chance in (0.01, 0.1, 0.5, 0.9, 0.99):
            missed = 0.0
            for hits in range(draws + 1):
                low, high = mean_interval(hits / draws, draws)
                hoeffding = math.sqrt(math.log(40) / (2 * draws))
                assert hits / draws - hoeffding - 1e-9 <= low <= hits / draws <= high <= hits / draws + hoeffding + 1e-9
                if not low <= chance <= high:
                    missed += math.comb(draws, hits) * chance**hits * (1 - chance) ** (draws - hits)
            assert missed <= 0.05


def test_the_same_each_time_and_the_keys_of_the_contract() -> None:
    chain = random_chain(2)
    mechanism = sv.Exponential(sv.runs(chain, 40), epsilon=2, adjacency=1, calibration="classic")
    view = attacker_view(mechanism)
    assert view == attacker_view(sv.Exponential(sv.runs(chain, 40), epsilon=2, adjacency=1, calibration="classic"))
    document = view.document()
    keys = ["prior", "symbol", "first", "last", "word", "how", "interval", "promised", "limit_confidence"]
    assert list(document) == keys
    assert document["prior"] == "uniform words" and document["how"] == "at-least"
    assert document["interval"] == list(view.interval) and 0 < document["promised"] <= 1
    for key in ("symbol", "first", "last", "word"):
        assert list(document[key]) == ["before", "after"]
        assert 0 <= document[key]["before"] <= 1 and 0 <= document[key]["after"] <= 1
    assert "(at least; 95 %: " in view.sentence()


def test_where_nothing_is_secret_or_lengths_are() -> None:
    assert attacker_view(sv.EditChannel("abc", epsilon=1, max_length=3)) is None
    assert attacker_view(sv.Exponential(sv.words("abc", 0), epsilon=1)) is None
    assert attacker_view(sv.Exponential(sv.runs(random_chain(0), 1, public_start=True), epsilon=1, adjacency=1)) is None
