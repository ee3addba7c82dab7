"""Every law on a model equals enumeration, and no guarantee is below the true loss (docs/theory)."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import symveil as sv
from symveil.errors import ModelError, WordError
from symveil.models.markov_chain import MarkovChain

from .random_models import chains, distance, models, prior_by_definition, words_by_definition

MOST_WORDS = 200
lengths = st.integers(0, 4)
budgets = st.sampled_from(["1/2", "2", "5"])
adjacencies = st.integers(1, 3)
relaxed = settings(max_examples=20, deadline=None)


def language_and_words(model, length: int):
    words = words_by_definition(model, length)
    assume(0 < len(words) <= MOST_WORDS)
    return sv.runs(model, length), words


def normalised(weights: dict) -> dict:
    total = math.fsum(weights.values())
    return {word: weight / total for word, weight in weights.items()}


def assert_law(mechanism, words, expected_from) -> None:
    """P(·|w) for up to four words, its distance law, and its total."""
    for word in words[:: max(1, len(words) // 4)]:
        expected = normalised({other: expected_from(word, other) for other in words})
        for other in words:
            assert mechanism.probability(word, other) == pytest.approx(expected[other], rel=1e-10, abs=1e-300)
        law = mechanism.distances(word)
        by_distance: dict[int, float] = {}
        counted: dict[int, int] = {}
        for other in words:
            by_distance[distance(word, other)] = by_distance.get(distance(word, other), 0) + expected[other]
            counted[distance(word, other)] = counted.get(distance(word, other), 0) + 1
        assert law.distances.tolist() == sorted(by_distance)
        np.testing.assert_allclose(law.probabilities, [by_distance[d] for d in sorted(by_distance)], rtol=1e-10)
        assert law.counts == [counted[d] for d in sorted(counted)]
        mean = math.fsum(d * chance for d, chance in by_distance.items())
        assert law.expected_error == pytest.approx(mean, rel=1e-10, abs=1e-12)


def worst_loss(mechanism, words, adjacency: int) -> float:
    laws = {word: np.array([mechanism.log_probability(word, released) for released in words]) for word in words}
    worst = 0.0
    for word, other in itertools.permutations(words, 2):
        if distance(word, other) <= adjacency:
            possible = laws[word] > -math.inf
            worst = max(worst, float((laws[word][possible] - laws[other][possible]).max()))
    return worst


@relaxed
@given(models, lengths)
def test_the_language_is_the_definition(model, length: int) -> None:
    words = words_by_definition(model, length)
    if not words:
        with pytest.raises(ModelError, match="none"):
            sv.runs(model, length)
        return
    language = sv.runs(model, length)
    assert language.size == len(words)
    rows = language.enumerate_codes(at_most=10**6)
    assert {tuple(language.alphabet.symbols[code] for code in row) for row in rows} == set(words)


@relaxed
@given(models, lengths, st.data())
def test_an_impossible_word_is_refused_at_its_first_impossible_position(model, length: int, data) -> None:
    language, words = language_and_words(model, length)
    word = tuple(data.draw(st.sampled_from(language.alphabet.symbols)) for _ in range(length))
    prefixes = {other[:size] for other in words for size in range(length + 1)}
    impossible = next((size for size in range(1, length + 1) if word[:size] not in prefixes), None)
    if impossible is None:
        assert language.encode(word) is not None
    else:
        with pytest.raises(WordError) as caught:
            language.encode(word)
        if _ends_where_nothing_is_accepted(model, word):  # no symbol is at fault, but that there is no other after it
            assert "not accepting" in str(caught.value)
            assert caught.value.position is None
        else:
            assert caught.value.position == impossible


def _ends_where_nothing_is_accepted(model, word: tuple[str, ...]) -> bool:
    """Whether an automaton reads a word to its end, in a state that it does not accept."""
    if not isinstance(model, sv.Automaton):
        return False
    states = _with_silent_moves(model, {model.initial})
    for symbol in word:
        read = {target for source, label, target in model.transitions if source in states and label == symbol}
        states = _with_silent_moves(model, read)
    return bool(states) and not states & set(model.accepting)


def _with_silent_moves(model: sv.Automaton, states: set[str]) -> set[str]:
    while True:
        more = {target for source, label, target in model.transitions if source in states and label is None}
        if more <= states:
            return states
        states = states | more


@relaxed
@given(models, lengths, budgets, adjacencies, st.sampled_from(["tight", "classic"]))
def test_exponential(model, length, epsilon, adjacency, calibration) -> None:
    language, words = language_and_words(model, length)
    mechanism = sv.Exponential(language, epsilon=epsilon, adjacency=adjacency, calibration=calibration)
    eta = float(mechanism.rate)
    assert_law(mechanism, words, lambda word, other: math.exp(-eta * distance(word, other)))
    if len(words) <= 40:
        worst = worst_loss(mechanism, words, adjacency)
        assert worst <= mechanism.guarantee.epsilon + 1e-9
        assert mechanism.guarantee.epsilon <= float(mechanism.epsilon) + 1e-12
        if mechanism.guarantee.how == "exact" and worst > 0:
            assert worst == pytest.approx(mechanism.guarantee.epsilon, abs=1e-9)


@relaxed
@given(models, lengths, budgets, adjacencies, st.sampled_from(["1", "1/2", "3"]))
def test_exponential_with_inverse_utility(model, length, epsilon, adjacency, offset) -> None:
    language, words = language_and_words(model, length)
    mechanism = sv.Exponential(language, epsilon=epsilon, adjacency=adjacency, utility="inverse", offset=offset)
    a, rate = float(mechanism.offset), float(mechanism.rate)
    assert_law(mechanism, words, lambda word, other: math.exp(rate / (distance(word, other) + a)))
    if len(words) <= 40:
        assert worst_loss(mechanism, words, adjacency) <= mechanism.guarantee.epsilon + 1e-9


@relaxed
@given(models, lengths, budgets, adjacencies)
def test_staircase(model, length, epsilon, adjacency) -> None:
    language, words = language_and_words(model, length)
    mechanism = sv.Staircase(language, epsilon=epsilon, adjacency=adjacency)
    t, b, height = mechanism.first_step, max(mechanism.reach, 1), float(mechanism.step_height)
    steps = lambda d: math.ceil(max(d - t + 1, 0) / b)  # noqa: E731
    assert_law(mechanism, words, lambda word, other: math.exp(-height * steps(distance(word, other))))
    if len(words) <= 40:
        assert worst_loss(mechanism, words, adjacency) <= mechanism.guarantee.epsilon + 1e-9


@settings(max_examples=8, deadline=None)
@given(models, st.integers(0, 3), budgets, adjacencies)
def test_permute_and_flip(model, length, epsilon, adjacency) -> None:
    """B26 Mechanism 2 against the average over all orders, by inclusion–exclusion over subset sizes."""
    language, words = language_and_words(model, length)
    assume(len(words) <= 14)
    mechanism = sv.PermuteAndFlip(language, epsilon=epsilon, adjacency=adjacency)
    eta = float(mechanism.rate)

    def chance(word, other) -> float:
        accept = [math.exp(-eta * distance(word, w)) for w in words if w != other]
        symmetric = [1.0]
        for p in accept:
            symmetric = [
                (symmetric[k] if k < len(symmetric) else 0) + (p * symmetric[k - 1] if k else 0)
                for k in range(len(symmetric) + 1)
            ]
        phi = math.fsum((-1) ** k / (k + 1) * value for k, value in enumerate(symmetric))
        return math.exp(-eta * distance(word, other)) * phi

    assert_law(mechanism, words, chance)
    assert worst_loss(mechanism, words, adjacency) <= mechanism.guarantee.epsilon + 1e-9


@relaxed
@given(chains(), lengths, budgets, adjacencies)
def test_public_prior(chain, length, epsilon, adjacency) -> None:
    language, words = language_and_words(chain, length)
    mechanism = sv.Exponential(language, epsilon=epsilon, adjacency=adjacency, prior="chain")
    eta = float(mechanism.rate)
    assert_law(
        mechanism,
        words,
        lambda word, other: float(prior_by_definition(chain, other)) * math.exp(-eta * distance(word, other)),
    )
    if len(words) <= 40:
        assert worst_loss(mechanism, words, adjacency) <= mechanism.guarantee.epsilon + 1e-9


@relaxed
@given(chains(), st.integers(1, 4), budgets, adjacencies, st.sampled_from(["uniform", "chain"]))
def test_public_start(chain, length, epsilon, adjacency, prior) -> None:
    """Only words with the same first symbol are compared, and only they are released."""
    words = words_by_definition(chain, length)
    assume(0 < len(words) <= MOST_WORDS)
    language = sv.runs(chain, length, public_start=True)
    mechanism = sv.Exponential(language, epsilon=epsilon, adjacency=adjacency, prior=prior)
    eta = float(mechanism.rate)
    for word in words[:: max(1, len(words) // 4)]:
        alike = [other for other in words if other[0] == word[0]]
        weight = lambda other, w=word: (  # noqa: E731
            math.exp(-eta * distance(w, other)) * (float(prior_by_definition(chain, other)) if prior == "chain" else 1)
        )
        expected = normalised({other: weight(other) for other in alike})
        for other in words:
            assert mechanism.probability(word, other) == pytest.approx(expected.get(other, 0.0), rel=1e-10)
    if len(words) <= 40:
        for first in {word[0] for word in words}:
            group = [word for word in words if word[0] == first]
            assert worst_loss(mechanism, group, adjacency) <= mechanism.guarantee.epsilon + 1e-9


@relaxed
@given(models, st.integers(1, 4), budgets, adjacencies)
def test_online(model, length, epsilon, adjacency) -> None:
    """Mathematics §7a: a product of steps, always feasible, loss at most bη."""
    language, words = language_and_words(model, length)
    mechanism = sv.Online(language, epsilon=epsilon, adjacency=adjacency, steering=False)
    growth = math.exp(float(mechanism.rate))
    prefixes = {other[:size] for other in words for size in range(length + 1)}

    def chance(word, other) -> float:
        product = 1.0
        for place in range(length):
            options = {p[-1] for p in prefixes if len(p) == place + 1 and p[:-1] == other[:place]}
            if word[place] not in options:
                product /= len(options)
            else:
                product *= (growth if other[place] == word[place] else 1) / (growth + len(options) - 1)
        return product

    assert_law(mechanism, words, chance)
    if len(words) <= 40:
        assert worst_loss(mechanism, words, adjacency) <= mechanism.guarantee.epsilon + 1e-9


@relaxed
@given(models, st.integers(1, 4), budgets, adjacencies)
def test_online_with_steering_keeps_its_promise(model, length, epsilon, adjacency) -> None:
    language, words = language_and_words(model, length)
    assume(len(words) <= 40)
    mechanism = sv.Online(language, epsilon=epsilon, adjacency=adjacency)
    for word in words:
        assert math.fsum(mechanism.probability(word, other) for other in words) == pytest.approx(1, abs=1e-12)
        mean = math.fsum(distance(word, other) * mechanism.probability(word, other) for other in words)
        assert mechanism.distances(word).expected_error == pytest.approx(mean, abs=1e-12)
    assert worst_loss(mechanism, words, adjacency) <= mechanism.guarantee.epsilon + 1e-9


def test_online_loss_is_attained() -> None:
    """A 4-state chain, η = 1.3: the worst loss is 1.3000 (docs/mechanisms.md)."""
    rows = [("a", "b", "1/2"), ("a", "c", "1/2"), ("b", "d", 1), ("c", "d", 1), ("d", "a", "1/2"), ("d", "b", "1/2")]
    language = sv.runs(MarkovChain.from_transitions(rows), 3)
    verdict = sv.audit(sv.Online(language, epsilon="1.3", adjacency=1))
    assert verdict.worst_epsilon == pytest.approx(1.3, abs=1e-9)


@relaxed
@given(models, lengths, budgets)
def test_audit_agrees_with_a_plain_loop(model, length, epsilon) -> None:
    language, words = language_and_words(model, length)
    assume(len(words) <= 30)
    mechanism = sv.Exponential(language, epsilon=epsilon, adjacency=2)
    assert sv.audit(mechanism).worst_epsilon == pytest.approx(worst_loss(mechanism, words, 2), abs=1e-9)
