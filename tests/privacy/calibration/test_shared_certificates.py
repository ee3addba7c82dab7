"""One certificate for many lengths: what blocks prove for long words holds for every shorter one."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from symveil.languages.runs import runs
from symveil.models.markov_chain import MarkovChain
from symveil.privacy.calibration import certify
from symveil.privacy.calibration.enumeration import exact_loss, written_out


def random_chain(seed: int, states: int) -> MarkovChain:
    """No dead ends, degree 2 or 3."""
    chooser = random.Random(seed)
    rows = []
    for source in range(states):
        targets = chooser.sample(range(states), chooser.choice((2, 3)))
        rows += [(f"s{source}", f"s{target}", Fraction(1, len(targets))) for target in targets]
    return MarkovChain.from_transitions(rows, states=[f"s{state}" for state in range(states)])


@pytest.mark.parametrize("public_start", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_the_shared_rate_is_sound_for_short_words(monkeypatch, public_start: bool, seed: int) -> None:
    """Certified for length 16 or 24, checked by enumeration at length 5 and 6."""
    monkeypatch.setattr(certify, "MOST_WORDS", 0)  # as if nothing could be enumerated
    monkeypatch.setattr(certify, "window_search", lambda *_, **__: None)
    monkeypatch.setenv("SYMVEIL_CACHE", "")
    for length in (5, 6):
        language = runs(random_chain(seed, 5), length, public_start=public_start)
        for adjacency, epsilon in ((1, Fraction(3)), (2, Fraction(5)), (3, Fraction(12))):
            found = certify.certified_rate(language, epsilon=epsilon, adjacency=adjacency)
            words = written_out(language, with_prior=False)
            true_loss = exact_loss(words, rate=found.rate, adjacency=adjacency)
            assert true_loss <= found.loss <= epsilon


def test_lengths_share_a_certificate(monkeypatch) -> None:
    monkeypatch.setenv("SYMVEIL_CACHE", "")
    monkeypatch.setattr(certify, "window_search", lambda *_, **__: None)  # windows speak of one length only
    chain = random_chain(3, 12)
    rates = {
        length: certify.certified_rate(runs(chain, length), epsilon=Fraction(4), adjacency=2).rate
        for length in (17, 20, 24)
    }
    assert len(set(rates.values())) == 1


def test_dead_ends_are_not_shared(monkeypatch) -> None:
    """A state that is left for one step only may begin short words, but no long ones."""
    monkeypatch.setattr(certify, "MOST_WORDS", 0)
    rows = [("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1), ("c", "d", "1/2"), ("c", "e", "1/2"), ("f", "c", 1)]
    language = runs(MarkovChain.from_transitions(rows), 4)
    question = certify._asked(language, 1, False)
    assert certify._shared(question) is question
