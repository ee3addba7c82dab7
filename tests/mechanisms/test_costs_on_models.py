"""Mechanisms with costs on models, against enumeration: laws, losses of every adjacent pair, supports, chains."""

from __future__ import annotations

import itertools
import json
import math
import random
from fractions import Fraction

import numpy as np
import pytest

import symveil as sv
from symveil.errors import ParameterError, TooLargeError
from symveil.languages.costs import INFINITE
from symveil.languages.limits import LIMITS
from symveil.mechanisms.cost_weighted import CostWeighted
from symveil.mechanisms.mechanism import Mechanism
from symveil.models.alphabet import FAR, decode
from symveil.models.automaton import Automaton
from symveil.models.markov_chain import MarkovChain


def random_language(seed: int) -> sv.RunLanguage | None:
    """A chain or an automaton with dead ends, of up to five symbols; either start."""
    pick = random.Random(seed)
    names = "abcde"[: pick.randint(2, 5)]
    length = pick.randint(1, 5)
    if pick.random() < 0.3:
        rows = [(p, s, q) for p in "pqr" for s in names for q in "pqr" if pick.random() < 0.3]
        if not rows:
            return None
        model = Automaton.from_transitions(rows, initial="p", accepting=["p", "q"], states=list("pqr"))
        public = False
    else:
        rows = []
        for source in names:
            targets = [target for target in names if pick.random() < 0.6]
            rows += [(source, target, Fraction(1, len(targets))) for target in targets]
        model = MarkovChain.from_transitions(rows, states=list(names))
        public = pick.random() < 0.5
    try:
        language = sv.runs(model, length, public_start=public)
    except sv.SymveilError:
        return None
    return language if language.has_at_most(25) else None


LANGUAGES = [(seed, language) for seed in range(90) if (language := random_language(seed)) is not None][:14]


def table_of(language: sv.RunLanguage, seed: int) -> sv.CostTable | None:
    """Whole costs, no metric: the closure is taken."""
    pick = random.Random(seed)
    symbols = language.alphabet.symbols
    pairs = list(itertools.combinations(symbols, 2))
    return sv.CostTable.from_rows([(a, b, pick.randint(1, 4)) for a, b in pairs]) if pairs else None


def mechanisms(language: sv.RunLanguage, seed: int, b: int, epsilon: object = 2) -> list[CostWeighted]:
    """One of each kind that the language has."""
    common: dict = {"epsilon": epsilon, "adjacency": b}
    is_chain = language.graph.state_is_symbol
    table = table_of(language, seed)
    found = [
        sv.Exponential(language, **common, cost="swap"),
        sv.Exponential(language, **common, cost="swap", cap="none"),
        sv.Exponential(language, **common, cost="swap", cap=2),
        sv.Exponential(language, **common, cost="swap", cap=3, prior="degrees"),
        sv.Exponential(language, **common, prior="degrees", beyond="graceful"),
        sv.Staircase(language, **common),
        sv.Staircase(language, **common, cost="swap", step=1),
        sv.Staircase(language, **common, cost="swap", cap="none"),
    ]
    if is_chain:
        found += [
            sv.Exponential(language, **common, balanced=True),
            sv.Exponential(language, **common, cost="swap", balanced=True),
            sv.Exponential(language, **common, cost="swap", prior="chain"),
            sv.Staircase(language, **common, cost="swap", balanced=True),
        ]
    if table is not None:
        found += [sv.Exponential(language, **common, costs=table), sv.Staircase(language, **common, costs=table)]
    return found


def laws(mechanism: Mechanism, words: np.ndarray) -> np.ndarray:
    return np.array([mechanism.log_probabilities(word, words) for word in words])


@pytest.mark.parametrize(("seed", "language"), LANGUAGES, ids=[str(seed) for seed, _ in LANGUAGES])
def test_no_adjacent_pair_loses_more_than_the_guarantee(seed: int, language: sv.RunLanguage) -> None:
    words = language.enumerate_codes(at_most=25)
    apart = np.array([language.distance(word, words) for word in words])
    for b in (1, 2):
        for mechanism in mechanisms(language, seed, b):
            logs = laws(mechanism, words)
            np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1, atol=1e-10)
            one, two = np.nonzero((apart > 0) & (apart <= b))
            never = logs == -math.inf
            assert (never[one] == never[two]).all(), "adjacent words, other supports"
            finite = np.where(never, 0.0, logs)
            losses = np.abs(finite[one] - finite[two])
            assert losses.max(initial=0) <= mechanism.guarantee.epsilon + 1e-10, (mechanism, b)
            if mechanism.cap != "none":  # every comparable word keeps a positive probability
                assert ((apart == FAR) | (logs > -math.inf)).all()


@pytest.mark.parametrize(("seed", "language"), LANGUAGES[:12], ids=[str(seed) for seed, _ in LANGUAGES[:12]])
def test_costs_of_adjacent_words_differ_by_the_sensitivity_at_most(seed: int, language: sv.RunLanguage) -> None:
    words = language.enumerate_codes(at_most=25)
    begin = 1 if language.public_start else 0
    for b in (1, 2):
        for mechanism in mechanisms(language, seed, b):
            weighting = mechanism.weighting
            for word in words:
                near = words[(language.distance(word, words) <= b)]
                for far in weighting.cost.distances(word, near, begin=begin):
                    assert far is not None
                    assert far <= weighting.sensitivity


@pytest.mark.parametrize(("seed", "language"), LANGUAGES[:8], ids=[str(seed) for seed, _ in LANGUAGES[:8]])
def test_the_chain_in_rationals_has_the_law_that_is_drawn(seed: int, language: sv.RunLanguage) -> None:
    words = language.enumerate_codes(at_most=25)
    word = words[seed % len(words)]
    for mechanism in mechanisms(language, seed, 2):
        start, moves, error = mechanism._moves(word, language.length)
        assert 0 <= error < Fraction(1, 10**9)
        logs = mechanism.log_probabilities(word, words)
        found: dict[tuple[int, ...], Fraction] = {}
        waiting = [((), start, Fraction(1))]
        while waiting:
            prefix, state, chance = waiting.pop()
            if len(prefix) == language.length:
                found[prefix] = found.get(prefix, Fraction(0)) + chance
                continue
            steps = list(moves(state))
            assert sum(share for _, _, share in steps) == 1
            waiting += [((*prefix, symbol), after, chance * share) for symbol, after, share in steps]
        assert sum(found.values()) == 1
        for other, log in zip(words, logs, strict=True):
            if log == -math.inf:
                assert tuple(other.tolist()) not in found
            else:
                assert math.log(found[tuple(other.tolist())]) == pytest.approx(log, abs=1e-9)


@pytest.mark.parametrize("b", [1, 2, 3])
@pytest.mark.parametrize("step", [1, 2])
def test_on_a_complete_chain_the_staircase_is_that_of_the_free_language(b: int, step: int) -> None:
    """A model that allows everything, and the closed form on Σⁿ: the same law, whatever counts the words."""
    if step > b:
        return
    complete = MarkovChain.from_transitions([(one, two, "1/3") for one in "abc" for two in "abc"])
    on_model = sv.Staircase(sv.runs(complete, 4), epsilon=3, adjacency=b, calibration="classic", step=step)
    free = sv.Staircase(sv.words("abc", 4), epsilon=3, adjacency=b, calibration="classic", step=step)
    assert on_model.step_height == free.step_height
    words = on_model.language.enumerate_codes(at_most=100)
    for word in words[::13]:
        np.testing.assert_allclose(
            on_model.log_probabilities(word, words), free.log_probabilities(word, words), atol=1e-12
        )
    law, closed = on_model.distances("abca"), free.distances("abca")
    np.testing.assert_allclose(law.probabilities, closed.probabilities, atol=1e-13)
    swap = sv.Exponential(sv.runs(complete, 4), epsilon=3, adjacency=b, cost="swap", calibration="classic")
    assert swap.weighting.cost.metric(1).widest == 3  # all symbols are one swap apart: the Hamming distance
    assert swap.rate == sv.Exponential(sv.runs(complete, 4), epsilon=3, adjacency=b, calibration="classic").rate


def test_both_units_of_the_error_are_reported() -> None:
    chain = MarkovChain.from_transitions([(one, two, "1/3") for one in "abc" for two in "abc"])
    words = sv.runs(chain, 4)
    costs = sv.CostTable.from_rows([("a", "b", 2), ("b", "c", "2.5"), ("a", "c", 3)])
    mechanism = sv.Exponential(words, epsilon=2, adjacency=1, costs=costs)
    law = mechanism.distances("abca")
    rows = words.enumerate_codes(at_most=100)
    word = words.encode("abca")
    chances = np.exp(mechanism.log_probabilities(word, rows))
    price = {(0, 1): 2, (1, 2): 2.5, (0, 2): 3}
    dear = [sum(price.get((min(a, b), max(a, b)), 0) for a, b in zip(word, row, strict=True)) for row in rows.tolist()]
    assert law.expected_error == pytest.approx(float(chances @ (rows != word).sum(axis=1)), abs=1e-12)
    assert law.expected_cost == pytest.approx(float(chances @ np.array(dear)), abs=1e-12)
    assert law.counts == [1, 8, 24, 32, 16]
    assert sv.Exponential(words, epsilon=2, adjacency=1).distances("abca").expected_cost is None
    symbols, units = mechanism.expected_errors(rows[:3])
    assert symbols[0] == pytest.approx(mechanism.distances("aaaa").expected_error, abs=1e-12)
    assert units[0] == pytest.approx(mechanism.distances("aaaa").expected_cost, abs=1e-12)


def test_on_a_sparse_network_swaps_leave_less_error_and_say_what_they_give_up() -> None:
    rows = [("a", "b", "1/2"), ("a", "c", "1/2"), ("b", "d", 1), ("c", "d", 1), ("d", "a", 1)]
    words = sv.runs(MarkovChain.from_transitions(rows), length=12, public_start=True)
    plain = sv.Exponential(words, epsilon=2, adjacency=1, calibration="classic")
    swap = sv.Exponential(words, epsilon=2, adjacency=1, calibration="classic", cost="swap")
    word = "abdacdabdacd"
    assert swap.distances(word).expected_error <= plain.distances(word).expected_error + 1e-9
    assert plain.remarks.given_up is None
    assert "more than one symbol" in str(swap.remarks.given_up)
    none = sv.Exponential(words, epsilon=2, adjacency=1, cost="swap", cap="none")
    assert "with certainty" in str(none.remarks.given_up)
    assert none.plain_cost.far == INFINITE


# --- the choice as data ------------------------------------------------------------------------------

TABLE = sv.CostTable.from_rows([("a", "b", "2.5")])
CHAIN = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])


@pytest.mark.parametrize(
    "parameters",
    [
        {"cost": "swap", "cap": 3},
        {"cost": "swap", "cap": "none", "mechanism": "staircase", "step": 1, "adjacency": 2},
        {"costs": TABLE, "mechanism": "exponential", "balanced": True},
        {"costs": sv.CostTable.from_places({"a": (0, "1/3"), "b": (10, 5)}, metres_per_unit="2.5")},
        {"balanced": True},
    ],
)
def test_a_choice_of_costs_is_its_document(parameters) -> None:
    choice = sv.MechanismChoice(**{"epsilon": 2, "adjacency": 1, **parameters})
    again = sv.MechanismChoice.from_document(json.loads(json.dumps(choice.document())))
    assert again == choice
    made, remade = (sv.choose_mechanism(each, sv.runs(CHAIN, 4)) for each in (choice, again))
    assert made.guarantee == remade.guarantee
    assert made.parameters_document() == remade.parameters_document()


def test_a_choice_without_costs_is_spelled_as_before() -> None:
    assert not {"cost", "cap", "balanced", "step", "costs"} & set(sv.MechanismChoice(epsilon=2, adjacency=1).document())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cost": "taxi"}, "cost: expected hamming, swap or given"),
        ({"cost": "given"}, "costs: expected costs or places with cost given"),
        ({"cost": "swap", "costs": TABLE}, "cost: expected given with costs or places"),
        ({"costs": [("a", "b", 1)]}, "costs: expected a CostTable"),
        ({"costs": {"kind": "table", "rows": "x"}}, "costs: expected costs as symveil writes them"),
        ({"cost": "swap", "cap": 0}, "cap: expected a whole number"),
        ({"cost": "swap", "cap": True}, "cap: expected a whole number"),
        ({"cost": "swap", "cap": "many"}, "cap: expected a whole number"),
        ({"cost": "hamming", "cap": 2}, "cap: expected cost swap or given with it"),
        ({"mechanism": "exponential", "cap": 2}, "cap: expected cost swap or given with it"),
        ({"mechanism": "online", "cost": "swap"}, "cost: expected mechanism exponential, staircase or optimal"),
        ({"mechanism": "exponential", "step": 1}, "step: expected mechanism staircase with it"),
        ({"mechanism": "staircase", "step": 0}, "step: expected a whole number"),
        ({"mechanism": "permute-and-flip", "balanced": True}, "balanced: expected False"),
        ({"balanced": "yes"}, "balanced: expected true or false"),
        ({"balanced": True, "prior": "chain", "mechanism": "exponential"}, "balanced: expected false with prior chain"),
        ({"cost": "swap", "utility": "inverse", "mechanism": "exponential"}, "utility: expected distance"),
        (
            {"metric": "levenshtein", "cost": "swap"},
            "cost: expected mechanism exponential, staircase or optimal",
        ),
    ],
)
def test_costs_that_contradict_are_refused_in_one_line(parameters, message) -> None:
    with pytest.raises(ParameterError) as caught:
        sv.MechanismChoice(epsilon=1, **parameters)
    assert str(caught.value).startswith(message)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("language", "parameters", "message"),
    [
        (sv.words("ab", 3), {"cost": "swap"}, "cost: expected hamming, or a model"),
        (sv.words("ab", 3), {"balanced": True}, "balanced: expected false, unless the model is a Markov chain"),
        (sv.runs(CHAIN, 3), {"costs": sv.CostTable.from_rows([("a", "x", 1)])}, "costs: expected a cost for every"),
        (
            sv.runs(CHAIN, 3),
            {"costs": sv.CostTable.from_places({"a": (0, 0)}, metres_per_unit=1)},
            "places: expected coordinates",
        ),
    ],
)
def test_costs_that_do_not_fit_the_words_are_refused(language, parameters, message) -> None:
    with pytest.raises(ParameterError) as caught:
        sv.Exponential(language, epsilon=1, adjacency=1, **parameters)
    assert str(caught.value).startswith(message)


def test_a_staircase_needs_whole_costs_and_a_step_that_fits() -> None:
    words = sv.runs(CHAIN, 3)
    with pytest.raises(ParameterError, match="^costs: expected whole numbers"):
        sv.Staircase(words, epsilon=1, adjacency=1, costs=TABLE).release("aba")
    with pytest.raises(ParameterError, match="^step: expected a whole number from 1 to 1, found 2"):
        sv.Staircase(words, epsilon=1, adjacency=1, step=2).release("aba")


def test_a_swap_metric_with_too_many_pairs_gets_a_smaller_cap(set_limits) -> None:
    ring = [(str(n), str((n + k) % 12), "1/3") for n in range(12) for k in (0, 1, 2)]
    words = sv.runs(MarkovChain.from_transitions(ring), 5)
    set_limits(LIMITS, near_pairs=110)
    shrunk = sv.Exponential(words, epsilon=1, adjacency=1, cost="swap")
    assert shrunk.plain_cost.largest is not None
    assert shrunk.plain_cost.largest < sv.Exponential(words, epsilon=1, adjacency=1, cost="hamming").epsilon * 100
    with pytest.raises(TooLargeError, match="give a smaller cap"):
        sv.Exponential(words, epsilon=1, adjacency=1, cost="swap", cap="none").release(("0", "1", "2", "3", "4"))


def test_expected_errors_are_asked_of_every_mechanism_alike() -> None:
    """By passes where there are some, else from the law of each word; a name that tells candidates apart."""
    chain = MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    described = set()
    for language in (sv.words("ab", 3), sv.runs(chain, 3)):
        rows = language.enumerate_codes(at_most=10)
        made: list[Mechanism] = [
            kind(language, epsilon=2, adjacency=1) for kind in (sv.Exponential, sv.PermuteAndFlip, sv.Staircase)
        ]
        made += [] if language.runs is None else [sv.Online(language, epsilon=2, adjacency=1)]
        for mechanism in made:
            symbols, costs = mechanism.expected_errors(rows)
            expected = [mechanism.distances(decode(row, language.alphabet, like="")).expected_error for row in rows]
            assert symbols == pytest.approx(expected, abs=1e-9)
            assert costs == pytest.approx(expected, abs=1e-9)
            described.add(mechanism.described)
            assert (mechanism.weighting is not None) == (
                language.runs is not None and mechanism.name in ("exponential", "staircase")
            )
    assert described == {
        *("exponential (hamming)", "permute-and-flip", "staircase (hamming, first step 1)", "online"),
    }
