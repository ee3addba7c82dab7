"""Policies against brute force: what is shown, how often, what is left to give away, what an observer infers."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

import symveil as sv
from symveil.enforcement.enforce import Enforcement
from symveil.errors import WordError
from symveil.randomness import NotPrivateSeededBits

from .plain_observer import (
    Inputs,
    K,
    Observation,
    Plain,
    acyclic_systems,
    hamming,
    inputs,
    ks,
    layered_systems,
    looping_systems,
)

Law = dict[Observation, Fraction | float]

epsilons = st.sampled_from(["1/2", 1, 2, 4, 7])
adjacencies = st.sampled_from([1, 1, 2, "all"])
# a system and the horizon it is judged with
bounded = st.tuples(acyclic_systems(), st.none())
layered = st.tuples(layered_systems(), st.none())
cut_off = st.tuples(looping_systems(most_states=4), st.sampled_from([1, 2, 3]))
cases = st.one_of(bounded, layered, cut_off)
exact_policies = st.sampled_from(["safe", "substitution"])


# --- laws from their definitions ------------------------------------------------------------------


def at_distance(word: Observation, omega: int, events: tuple[str, ...]) -> list[Observation]:
    return [other for other in itertools.product(events, repeat=len(word)) if hamming(word, other) == omega]


def replaced(plain: Plain, k: K, policy: str, omega: int, word: Observation) -> Law:
    """safe and substitution: a uniform string at distance ω where the observation is not safe."""
    if plain.is_safe(word, k):
        return {word: Fraction(1)}
    near = at_distance(word, omega, plain.observable)
    if policy == "safe":
        near = [other for other in near if plain.is_safe(other, k)]
    return {other: Fraction(1, len(near)) for other in near}


def exponential(plain: Plain, k: K, rate: float, word: Observation) -> Law:
    """private: P ∝ e^{−ηd} over all safe observations of the length."""
    weights = {other: math.exp(-rate * hamming(word, other)) for other in plain.safe(len(word), k)}
    total = math.fsum(weights.values())
    return {other: weight / total for other, weight in weights.items()}


def reach(adjacency: int | str, length: int) -> int:
    return length if adjacency == "all" else int(adjacency)


def largest_posterior(given_: Inputs, laws: dict[Observation, Law]) -> Fraction | float:
    """Bayes: Pr(secret met | shown) = Σ Pr(w, secret) P(w'|w) / Σ Pr(w) P(w'|w)."""
    shown: dict[Observation, Fraction | float] = defaultdict(Fraction)
    secret: dict[Observation, Fraction | float] = defaultdict(Fraction)
    for word, (probability, met) in given_.items():
        for other, chance in laws[word].items():
            shown[other] += probability * chance
            secret[other] += met * chance
    return max(secret[other] / shown[other] for other in shown)


def expected_distance(given_: Inputs, laws: dict[Observation, Law]) -> float:
    return float(
        sum(
            p * chance * hamming(word, other) for word, (p, _) in given_.items() for other, chance in laws[word].items()
        )
    )


def rate_of(enforced: Enforcement, length: int) -> float:
    return float(enforced.mechanism(length).rate)


def released(enforced: Enforcement, word: Observation, seed: int, times: int = 4) -> list[Observation]:
    return enforced.release_many([word] * times, bits=NotPrivateSeededBits(seed))


# --- safe and substitution ------------------------------------------------------------------------


@settings(max_examples=150)
@given(cases, ks, exact_policies, st.integers(1, 3), adjacencies)
def test_substitutes_and_what_they_achieve(case, k, policy, omega, adjacency):
    check_substitutes(*case, k, policy, omega, adjacency)


@settings(max_examples=150)
@given(layered_systems(), st.sampled_from([0, 1, "infinite"]), exact_policies, st.integers(1, 2), adjacencies)
def test_substitutes_where_there_are_some(system, k, policy, omega, adjacency):
    check_substitutes(system, None, k, policy, omega, adjacency)


def check_substitutes(system, horizon, k, policy, omega, adjacency) -> None:
    plain = Plain(system)
    enforced = sv.enforce_opacity(system, k, policy=policy, omega=omega, length=horizon, adjacency=adjacency)
    given_ = inputs(plain, k, cut=True, horizon=horizon)
    sensitive = {word for word in given_ if not plain.is_safe(word, k)}
    laws = {word: replaced(plain, k, policy, omega, word) for word in given_}

    assert {each.observation: each.probability for each in enforced.sensitive} == {w: given_[w][0] for w in sensitive}
    assert enforced.violation_before == sum((given_[word][0] for word in sensitive), start=Fraction(0))
    if horizon is None:
        assert enforced.violation_before == sv.violation_probability(system, k).exact
    for each in enforced.sensitive:
        assert {other.observation: other.given for other in each.substitutes} == laws[each.observation]
        assert all(other.probability == each.probability * other.given for other in each.substitutes)

    hopeless = {word for word in sensitive if not laws[word]}
    event(f"{policy}: {'enforceable' if not hopeless else 'not'}, {min(len(sensitive), 3)} sensitive")
    assert enforced.enforceable is not bool(hopeless)
    if hopeless:
        assert enforced.unenforceable in hopeless
        assert enforced.violation_after is enforced.guarantee is enforced.epsilon is None
        assert enforced.expected_distance is enforced.posterior_of_secret is None
        return
    assert enforced.unenforceable is None
    unsafe = sum(
        (given_[word][0] * p for word in given_ for other, p in laws[word].items() if not plain.is_safe(other, k)),
        start=Fraction(0),
    )
    assert enforced.violation_after == unsafe
    if policy == "safe":
        assert unsafe == 0
    assert enforced.posterior_of_secret == largest_posterior(given_, laws)
    assert enforced.expected_distance == pytest.approx(expected_distance(given_, laws), abs=1e-12)
    # safe observations of any length are taken too, and shown as they are
    longest = max(map(len, inputs(plain, k, cut=False, horizon=horizon)), default=0)
    safe = [word for length in range(longest + 1) for word in plain.safe(length, k)]
    check_loss(enforced, {**laws, **{word: {word: Fraction(1)} for word in safe}}, adjacency)


def check_loss(enforced: Enforcement, laws: dict[Observation, Law], adjacency: int | str) -> None:
    """Infinite exactly where supports of adjacent inputs differ; the largest logarithm of a ratio otherwise."""
    adjacent = [
        (one, other)
        for one, other in itertools.permutations(laws, 2)
        if len(one) == len(other) and hamming(one, other) <= reach(adjacency, len(one))
    ]
    differ = any(laws[one].keys() != laws[other].keys() for one, other in adjacent)
    event(f"loss: {'infinite' if differ else 'finite'}, {'some' if adjacent else 'no'} adjacent inputs")
    assert math.isinf(enforced.epsilon) is differ
    assert enforced.guarantee.how == "exact"
    if not differ:
        ratios = [laws[one][w] / laws[other][w] for one, other in adjacent for w in laws[one]]
        assert enforced.epsilon == pytest.approx(math.log(max(ratios, default=1)), abs=1e-9)


@settings(max_examples=80)
@given(st.one_of(layered, cut_off), ks, exact_policies, st.integers(1, 2), st.integers(0, 9))
def test_what_is_released_is_in_the_support(case, k, policy, omega, seed):
    """Every observation that runs go in with: kept where it is safe, otherwise one of its substitutes."""
    system, horizon = case
    plain = Plain(system)
    enforced = sv.enforce_opacity(system, k, policy=policy, omega=omega, length=horizon)
    assume(enforced.enforceable and enforced.violation_before)
    for word in inputs(plain, k, cut=True, horizon=horizon):
        law = replaced(plain, k, policy, omega, word)
        assert set(released(enforced, word, seed)) <= set(law)


@settings(max_examples=80)
@given(st.one_of(layered, cut_off), ks, exact_policies, st.integers(1, 2))
def test_what_is_accepted_is_safe_or_exactly_a_sensitive_string(case, k, policy, omega):
    """Of all that can be observed; what was cut before the end of a sensitive string or goes on after it is refused."""
    system, horizon = case
    plain = Plain(system)
    enforced = sv.enforce_opacity(system, k, policy=policy, omega=omega, length=horizon)
    given_ = inputs(plain, k, cut=True, horizon=horizon)
    longest = horizon or max(len(word) for word in inputs(plain, k, cut=False))
    for word in itertools.chain.from_iterable(plain.possible(length) for length in range(longest + 1)):
        law = replaced(plain, k, policy, omega, word)
        if plain.is_safe(word, k):
            event("safe")
            assert enforced.release(word) == word
        elif word not in given_:
            event("cut before its end, or going on")
            with pytest.raises(WordError, match="^observation: expected a sensitive string, .* found one that ends"):
                enforced.release(word)
        elif law:
            event("sensitive")
            assert enforced.release(word) in law
        else:
            event("sensitive, and nothing to show")
            with pytest.raises(WordError, match="^observation: expected one that can be replaced, found none to show"):
                enforced.release(word)


# --- private --------------------------------------------------------------------------------------


def own_loss(plain: Plain, k: K, length: int, rate: float, adjacency: int | str) -> float:
    """max ln P(w'|w)/P(w'|v) over ALL adjacent possible w, v of the length, safe or not, and all safe w'."""
    words, outputs = plain.possible(length), plain.safe(length, k)
    logs = {}
    for word in words:
        total = math.log(math.fsum(math.exp(-rate * hamming(word, other)) for other in outputs))
        logs[word] = [-rate * hamming(word, other) - total for other in outputs]
    return max(
        (
            max(here - there for here, there in zip(logs[one], logs[other], strict=True))
            for one, other in itertools.permutations(words, 2)
            if hamming(one, other) <= reach(adjacency, length)
        ),
        default=0.0,
    )


def own_losses(plain: Plain, k: K, enforced: Enforcement, longest: int, adjacency: int | str) -> dict[int, float]:
    """The loss of every length that is accepted: logs of unfinished runs are, too, and each length has its own rate."""
    return {
        length: own_loss(plain, k, length, rate_of(enforced, length), adjacency)
        for length in range(longest + 1)
        if plain.safe(length, k)
    }


@settings(max_examples=150)
@given(cases, ks, epsilons, adjacencies)
def test_private_by_definition(case, k, epsilon, adjacency):
    check_private(*case, k, epsilon, adjacency)


@settings(max_examples=150)
@given(layered_systems(), st.sampled_from([0, 1, "infinite"]), epsilons, adjacencies)
def test_private_where_there_is_something_unsafe(system, k, epsilon, adjacency):
    check_private(system, None, k, epsilon, adjacency)


def check_private(system, horizon, k, epsilon, adjacency) -> None:
    plain = Plain(system)
    enforced = sv.enforce_opacity(system, k, policy="private", epsilon=epsilon, length=horizon, adjacency=adjacency)
    given_ = inputs(plain, k, cut=False, horizon=horizon)
    lengths = {len(word) for word in given_}
    hopeless = {length for length in lengths if not plain.safe(length, k)}
    unsafe = any(not plain.is_safe(word, k) for word in given_)
    event(f"{'enforceable' if not hopeless else 'not'}, {'some' if unsafe else 'no'} unsafe inputs")
    assert enforced.enforceable is not bool(hopeless)
    if hopeless:
        assert len(enforced.unenforceable) in hopeless
        assert not plain.is_safe(enforced.unenforceable, k)
        assert enforced.guarantee is enforced.violation_after is enforced.posterior_of_secret is None
        return
    assert enforced.violation_after == 0

    laws = {word: exponential(plain, k, rate_of(enforced, len(word)), word) for word in given_}
    for word, law in laws.items():
        found = {
            tuple(plain.observable[e] for e in events): p
            for events, p in enforced._policy.substitutes(tuple(plain.observable.index(e) for e in word))
        }
        assert set(found) == set(plain.safe(len(word), k))
        assert found == pytest.approx(law, rel=1e-9, abs=1e-300)
    for each in enforced.sensitive:
        # a sensitive string may be shorter than the run's observation, and has a law of its own length
        law = exponential(plain, k, rate_of(enforced, len(each.observation)), each.observation)
        assert {other.observation: other.given for other in each.substitutes} == pytest.approx(law, rel=1e-9)

    budget = float(Fraction(epsilon))
    losses = own_losses(plain, k, enforced, max(lengths), adjacency)
    assert losses.keys() >= lengths
    assert enforced.epsilon == pytest.approx(max(losses.values()), abs=1e-9)
    assert max(losses.values()) <= enforced.epsilon <= budget
    for length in losses:
        check_budget_is_used(plain, k, length, rate_of(enforced, length), adjacency, budget)
    assert enforced.posterior_of_secret == pytest.approx(largest_posterior(given_, laws), abs=1e-9)
    assert enforced.expected_distance == pytest.approx(expected_distance(given_, laws), abs=1e-9)


def check_budget_is_used(plain, k, length, rate, adjacency, budget) -> None:
    """A rate 1 % larger would cost too much, unless rates are as large as they may get, or nothing is lost by them."""
    if rate < 63.9 and own_loss(plain, k, length, rate, adjacency) < budget * 0.999:
        assert own_loss(plain, k, length, rate * 1.01, adjacency) > budget * 0.999


@settings(max_examples=60)
@given(cases, ks, epsilons, st.integers(0, 9))
def test_private_never_shows_anything_unsafe_or_impossible(case, k, epsilon, seed):
    system, horizon = case
    plain = Plain(system)
    enforced = sv.enforce_opacity(system, k, policy="private", epsilon=epsilon, length=horizon)
    assume(enforced.enforceable)
    words = [word for length in range((horizon or 5) + 1) for word in plain.possible(length) if plain.safe(length, k)]
    for word, shown in zip(words, enforced.release_many(words, bits=NotPrivateSeededBits(seed)), strict=True):
        assert len(shown) == len(word)
        assert plain.is_safe(shown, k)
