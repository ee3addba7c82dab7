"""Laws made of laws, against their definitions: all words of small random languages, listed."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symveil as sv
from symveil.languages.language import words_of_any_length
from symveil.languages.runs import RunLanguage
from symveil.mechanisms.by_length import ByLength
from symveil.mechanisms.mechanism import Mechanism
from symveil.mechanisms.postprocessed import Correction, Postprocessed
from symveil.mechanisms.restricted import EnumeratedLoss, Restricted
from symveil.randomness import NotPrivateSeededBits

seeds, lengths = st.integers(0, 10**6), st.integers(1, 4)
budgets, adjacencies = st.sampled_from(["1/2", 2, 5]), st.sampled_from([1, 2, "all"])


def languages(seed: int, length: int) -> tuple[RunLanguage, RunLanguage]:
    """The words along random edges between three symbols, and those along some of the edges only."""
    draw = random.Random(seed)
    every = {symbol: draw.sample("abc", draw.randint(1, 3)) for symbol in "abc"}
    some = {symbol: draw.sample(targets, draw.randint(1, len(targets))) for symbol, targets in every.items()}

    def runs(edges: dict[str, list[str]]) -> RunLanguage:
        rows = [(one, two, f"1/{len(targets)}") for one, targets in edges.items() for two in targets]
        return sv.runs(sv.MarkovChain.from_transitions(rows, states=list("abc")), length)

    return runs(every), runs(some)


def rows_of(language: RunLanguage) -> np.ndarray:
    return language.enumerate_codes(at_most=1000)


def apart(words: np.ndarray, others: np.ndarray) -> np.ndarray:
    return np.count_nonzero(words[:, None, :] != others[None, :, :], axis=2)


def law_of(mechanism: Mechanism, words: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    return np.exp([mechanism.log_probabilities(word, outputs) for word in words])


def worst_loss(law: np.ndarray, words: np.ndarray, adjacency: int | str) -> float:
    reach = words.shape[1] if adjacency == "all" else adjacency
    pairs = np.argwhere((apart(words, words) > 0) & (apart(words, words) <= reach))
    return max((float(np.log(law[one] / law[two]).max()) for one, two in pairs), default=0.0)


@settings(max_examples=60, deadline=None)
@given(seeds, lengths, budgets, adjacencies)
def test_restricted_is_the_law_given_that_its_outcome_is_safe(seed, length, epsilon, adjacency) -> None:
    possible, safe = languages(seed, length)
    words, outputs = rows_of(possible), rows_of(safe)
    reach = length if adjacency == "all" else min(adjacency, length)
    for loss in (EnumeratedLoss.of(possible, safe, reach), None):
        release = Restricted(possible, safe, epsilon=epsilon, adjacency=adjacency, loss=loss)
        whole = np.exp(-float(release.rate) * apart(words, words))
        whole /= whole.sum(axis=1, keepdims=True)  # the exponential mechanism on all words, at the same rate
        is_safe = np.array([(outputs == word).all(axis=1).any() for word in words])
        given_safe = whole[:, is_safe] / whole[:, is_safe].sum(axis=1, keepdims=True)
        law = law_of(release, words, outputs)
        np.testing.assert_allclose(law, given_safe, rtol=1e-10)
        np.testing.assert_allclose(release.laws(words, outputs), given_safe, rtol=1e-10)
        assert np.isneginf([release.log_probabilities(words[0], words[~is_safe])]).all()
        loss_listed = worst_loss(law, words, adjacency)
        assert loss_listed <= release.guarantee.epsilon + 1e-9
        assert release.guarantee.epsilon <= float(release.epsilon) + 1e-15
        if release.guarantee.how == "exact":
            assert loss_listed == pytest.approx(release.guarantee.epsilon, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(seeds, lengths, budgets, st.sampled_from([sv.Exponential, sv.PermuteAndFlip]))
def test_postprocessed_is_the_law_and_then_the_channel(seed, length, epsilon, kind) -> None:
    possible, safe = languages(seed, length)
    words, outputs = rows_of(possible), rows_of(safe)
    through = kind(possible, epsilon=epsilon, adjacency=1)
    release = Postprocessed(through, Correction(possible=possible, safe=safe))
    channel = np.exp(-float(release.correction.rate) * apart(words, outputs))
    channel /= channel.sum(axis=1, keepdims=True)
    for number, word in enumerate(words):
        same = (outputs == word).all(axis=1)
        if same.any():
            channel[number] = same
    composed = law_of(through, words, words) @ channel
    law = law_of(release, words, outputs)
    np.testing.assert_allclose(law, composed, rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(release.laws(words, outputs), composed, rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(law.sum(axis=1), 1, rtol=1e-10)
    assert worst_loss(law, words, 1) <= worst_loss(law_of(through, words, words), words, 1) + 1e-9
    assert worst_loss(law, words, 1) <= release.guarantee.epsilon + 1e-9
    mean = (law[0] * apart(words[:1], outputs)[0]).sum()
    symbols = release.alphabet.symbols
    assert release.distances(tuple(symbols[code] for code in words[0])).expected_error == pytest.approx(mean, rel=1e-9)
    drawn = release.release_codes(np.repeat(words[:1], 50, axis=0), bits=NotPrivateSeededBits(seed))
    assert {tuple(row) for row in drawn.tolist()} <= {tuple(row) for row in outputs.tolist()}


@settings(max_examples=20, deadline=None)
@given(budgets, st.sampled_from(["exponential", "permute-and-flip", "staircase"]))
def test_by_length_is_the_law_of_each_length(epsilon, name) -> None:
    family = sv.select_mechanism(words_of_any_length("ab"), mechanism=name, epsilon=epsilon, adjacency=1)
    assert isinstance(family, ByLength)
    assert family.released_language is family.language
    for length in (1, 2, 3):
        own = sv.select_mechanism(sv.words("ab", length), mechanism=name, epsilon=epsilon, adjacency=1)
        (words,) = own.inputs(at_most=100)
        law = law_of(family, words, words)
        np.testing.assert_allclose(law, law_of(own, words, words), rtol=1e-12)
        assert np.isneginf(family.log_probabilities(words[0], np.zeros((1, length + 1), dtype=np.int32))).all()
        assert worst_loss(law, words, 1) <= family.guarantee.epsilon + 1e-9
