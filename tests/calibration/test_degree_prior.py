"""The prior of out-degrees: its weights by their definition, and no loss above what is proved, by enumeration."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from calibration_oracle import Case, random_chain_case, random_system_case
from cost_oracle import certain_case, exact_loss
from graceful_oracle import GracefulCase, random_graceful_case

import symveil as sv
from symveil.calibration.answers import clear_answers
from symveil.calibration.block_bounds import chain_loss, chain_search
from symveil.calibration.certify import quick_loss, spread_bound
from symveil.calibration.costs.graph import cost_graph
from symveil.calibration.costs.loss import searched_loss
from symveil.calibration.costs.rates import certify_cost
from symveil.calibration.costs.search import BlockSearch
from symveil.calibration.detours import detour_ratios
from symveil.calibration.graceful import GracefulProof
from symveil.calibration.limits import LIMITS
from symveil.calibration.search import ProofEffort
from symveil.calibration.weighting import Weighting
from symveil.calibration.windows import window_loss, window_search
from symveil.errors import ParameterError
from symveil.languages.costs import hamming
from symveil.languages.runs import RunLanguage, weighed_by_degrees
from symveil.models.markov_chain import MarkovChain

ROUNDING = 1e-12  # of the oracles' sums


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    clear_answers()


@pytest.fixture
def not_enumerated() -> Iterator[None]:
    """Small languages are proved as large ones are."""
    with LIMITS.changed(words=0, costly_words=0, balanced_words=0):
        yield


def share(degree: int) -> Fraction:
    """The largest multiple of 2⁻²⁰ whose fourth power is at most 1/degree."""
    part = round(2**20 * degree**-0.25) + 1
    while part**4 * degree > 2**80:
        part -= 1
    assert (part + 1) ** 4 * degree > 2**80
    return Fraction(part, 2**20)


def degrees_by_hand(case: Case) -> Case:
    """The same words, weighed by the symbols that the graph can read after each of their beginnings."""
    graph = case.language.graph
    weights = {}
    for word in case.weights:
        states = graph.states_of(case.language.alphabet.code[symbol] for symbol in word)
        read = [[graph.step(state, code) for code in range(len(graph.alphabet))] for state in states[:-1]]
        ways = [len(after) - after.count(None) for after in read]
        weights[word] = math.prod((share(number) for number in ways), start=Fraction(1))
    return replace(case, language=weighed_by_degrees(case.language), weights=weights, with_prior=True)


def with_degrees(weighting: Weighting) -> Weighting:
    return replace(weighting, language=weighed_by_degrees(weighting.language), with_prior=True, balanced=False)


# --- the weights ---------------------------------------------------------------------------------


@pytest.mark.parametrize("public_start", [False, True])
def test_a_word_weighs_the_product_over_the_states_that_it_leaves(public_start: bool) -> None:
    follows = {"a": "abc", "b": "ac", "c": "a"}
    rows = [(source, target, Fraction(1, len(after))) for source, after in follows.items() for target in after]
    language = sv.runs(MarkovChain.from_transitions(rows), 3, public_start=public_start)
    mechanism = sv.Exponential(language, epsilon=2, adjacency=1, prior="degrees")
    words = [(x, y, z) for x in "abc" for y in follows[x] for z in follows[y]]
    rate = float(mechanism.rate)
    for word in words:
        weights = {}
        for other in words:
            if not (public_start and other[0] != word[0]):
                prior = float(share(len(follows[other[0]])) * share(len(follows[other[1]])))
                weights[other] = prior * math.exp(-rate * sum(s != t for s, t in zip(word, other, strict=True)))
        total = math.fsum(weights.values())
        for other in words:
            assert mechanism.probability(word, other) == pytest.approx(weights.get(other, 0.0) / total, rel=1e-12)


def test_what_the_model_says_is_likely_does_not_matter() -> None:
    names = "abc"
    even = [(one, other, Fraction(1, 3)) for one in names for other in names if one != "c"]
    uneven = [(one, other, Fraction(1 + (other == "a") * 7, 10)) for one in names for other in names if one != "c"]
    rates = set()
    for rows in (even, uneven):
        language = sv.runs(MarkovChain.from_transitions([*rows, ("c", "a", 1)]), 4)
        rates.add(sv.Exponential(language, epsilon=2, adjacency=1, prior="degrees").rate)
    assert len(rates) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"utility": "inverse"}, "utility: expected distance with prior degrees, found inverse"),
        ({"balanced": True}, "balanced: expected false with prior degrees, which is another prior"),
    ],
)
def test_what_does_not_go_with_it(options: dict, message: str) -> None:
    language = sv.runs(MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)]), 3)
    with pytest.raises(ParameterError, match=message):
        sv.Exponential(language, epsilon=1, adjacency=1, prior="degrees", **options)
    with pytest.raises(ParameterError, match="prior: expected uniform, unless there is a model"):
        sv.Exponential(sv.words("ab", 3), epsilon=1, prior="degrees")
    with pytest.raises(ParameterError, match="prior: expected uniform or chain, found degrees"):
        sv.Optimal(language, epsilon=1, adjacency=1, prior="degrees")


# --- no loss is above what is proved ---------------------------------------------------------------


@pytest.mark.parametrize("make", [random_chain_case, random_system_case])
def test_quick_bounds(make, not_enumerated: None) -> None:
    tried = 0
    for seed in range(120):
        dice = random.Random(seed)
        known = make(dice)
        if known is None or len(known.weights) > 200:
            continue
        case = degrees_by_hand(known)
        adjacency, rate = dice.randint(1, 3), Fraction(dice.choice(["0.2", "0.5", "1", "2", "4"]))
        exact = case.loss(float(rate), adjacency)
        language, apart = case.language, min(adjacency, case.language.largest_distance)
        weighting = Weighting(language=language, cost=hamming(language), adjacency=adjacency, with_prior=True)
        found = [quick_loss(weighting, rate).loss]
        found.append(apart * rate + Fraction(spread_bound(language, rate=rate, with_prior=True)))
        search = window_search(language, adjacency=adjacency, with_prior=True, width=dice.choice([1, 2, 3]))
        if search is not None:
            found.append(window_loss(search, rate))
        blocks = chain_search(language, adjacency=adjacency, with_prior=True) if make is random_chain_case else None
        if blocks is not None:
            found.append(chain_loss(blocks, rate, adjacency))
        assert min(map(float, found)) >= exact - ROUNDING, seed
        tried += exact > 0
    assert tried > 35


def check_costs(seeds: range) -> None:
    for seed in seeds:
        dice = random.Random(seed)
        known = certain_case(dice, adjacent=True)
        weighting = with_degrees(known.weighting)
        exact = exact_loss(weighting, known.rate)
        effort = ProofEffort(
            within=dice.choice([None, Fraction(exact * dice.choice([0.9, 1.0001, 1.2]) + 1e-9)]),
            nodes=dice.choice([0, 10, 100_000]),
            window=dice.choice([0, 1, 2, None]),
            radius=dice.choice([None, None, 1]),
        )
        found = searched_loss(weighting, known.rate, effort)
        assert float(found.loss) >= exact * (1 - 1e-13), seed
        assert found.worst_found <= exact + 1e-9, seed
        result = certify_cost(weighting, epsilon=Fraction(dice.choice([1, 2, 5])))
        assert exact_loss(weighting, result.rate) <= float(result.loss) * (1 + 1e-12), seed


def test_certificates_of_every_cost(not_enumerated: None) -> None:
    check_costs(range(15))


@pytest.mark.soak
def test_certificates_of_every_cost_on_more_models(not_enumerated: None) -> None:
    check_costs(range(1000, 2000))
    assert sum(check_mechanism(seed) for seed in range(1000, 1300)) > 90


def test_enumerated_rates() -> None:
    for seed in range(15):
        weighting = with_degrees(certain_case(random.Random(seed), adjacent=True).weighting)
        result = certify_cost(weighting, epsilon=Fraction(2))
        assert exact_loss(weighting, result.rate) <= float(result.loss) * (1 + 1e-12) <= 2 * (1 + 1e-12), seed


def test_proofs_for_uniform_words_would_not_do(not_enumerated: None) -> None:
    """The same comparison fails where the prior is forgotten."""
    wrong = 0
    for seed in range(120):
        known = random_chain_case(random.Random(seed))
        if known is not None and len(known.weights) < 200 and known.language.largest_distance:
            case = degrees_by_hand(known)
            forgotten = Weighting(language=known.language, cost=hamming(known.language), adjacency=2)
            wrong += float(searched_loss(forgotten, Fraction(1), ProofEffort()).loss) < case.loss(1.0, 2) - ROUNDING
    assert wrong > 0


def test_graceful_proofs(not_enumerated: None) -> None:
    """Detours and halves of words bound what every pair of words loses for each position."""
    tried = 0
    for seed in range(60):
        known = random_graceful_case(random.Random(seed), balanced=False)
        case = GracefulCase(with_degrees(known.weighting), known.rate)
        graph = cost_graph(case.weighting.weights(case.rate))
        search = BlockSearch(graph, 2, largest_step=1.0, window=min(2, graph.steps))
        bounds = detour_ratios(graph, search.left, search.right)
        assert all(bounds.get(kind, -1.0) >= exact - ROUNDING for kind, exact in case.detours().items()), seed
        exact, proof = case.per_position(), GracefulProof(case.weighting)
        for near in (0.97, 1.1) if exact and (proof.by_halves or proof.is_affordable) else ():
            most = Fraction(exact * near)
            result = proof.per_position(case.rate, most)
            assert result.loss > most or float(result.loss) >= exact * (1 - ROUNDING), seed
            assert near > 1 or result.loss > most, seed
            tried += 1
    assert tried > 40


def worst_by_distance(mechanism: sv.Exponential, language: RunLanguage) -> dict[int, float]:
    """The largest loss of words that differ in so many symbols, over all outputs."""
    words = language.enumerate_codes(at_most=200)
    logs = np.array([mechanism.log_probabilities(word, words) for word in words])
    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1, atol=1e-10)
    worst: dict[int, float] = {}
    for word, own in zip(words, logs, strict=True):
        apart = (words != word).sum(axis=1)
        for other, distance in zip(logs, apart.tolist(), strict=True):
            if np.array_equal(np.isinf(own), np.isinf(other)):
                possible = np.isfinite(own)
                lost = float(np.abs(own[possible] - other[possible]).max(initial=0.0))
            else:
                lost = math.inf  # another public start, or one that can be distinguished
            worst[distance] = max(worst.get(distance, 0.0), lost)
    return worst


def check_mechanism(seed: int) -> int:
    dice = random.Random(seed)
    language = certain_case(dice, longest=5, adjacent=True).weighting.language
    if language.public_start:
        language = replace(language, public_start=False)
    if not language.has_at_most(60):
        return 0
    more: dict = {"epsilon": dice.choice(["0.5", 2, 5]), "adjacency": dice.randint(1, 3), "prior": "degrees"}
    for beyond in ("graceful", "nothing"):
        mechanism = sv.Exponential(language, **more, beyond=beyond)
        clear_answers()
        claimed = sv.Exponential(language, **more, beyond=beyond, calibration=mechanism.calibration)
        assert claimed.rate == mechanism.rate
        for distance, lost in worst_by_distance(mechanism, language).items():
            assert lost <= mechanism.loss_at(distance) + 1e-9, (seed, beyond, distance)
            if distance <= mechanism.adjacency:
                assert lost <= mechanism.guarantee.epsilon + 1e-9 <= float(mechanism.epsilon) + 2e-9, (seed, beyond)
            if beyond == "graceful":
                allowed = float(mechanism.epsilon / mechanism.adjacency) * distance
                assert lost <= allowed + 1e-9, (seed, distance)
    return 1


def test_mechanisms_lose_no_more_than_they_say() -> None:
    assert sum(check_mechanism(seed) for seed in range(20)) > 6


def test_mechanisms_of_many_words_lose_no_more_than_they_say(not_enumerated: None) -> None:
    assert sum(check_mechanism(seed) for seed in range(100, 115)) > 4
