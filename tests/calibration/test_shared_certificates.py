"""One certificate for many lengths: what blocks prove for long words holds for every shorter one."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest
from calibration_oracle import certified_rate, enumerated

from symveil.calibration.block_bounds import chain_boxes
from symveil.calibration.certify import shared
from symveil.calibration.limits import LIMITS
from symveil.calibration.weighting import Weighting
from symveil.languages.costs import hamming
from symveil.languages.runs import runs
from symveil.models.markov_chain import MarkovChain


def _weighting(chain: MarkovChain, length: int, adjacency: int) -> Weighting:
    words = runs(chain, length)
    return Weighting(language=words, cost=hamming(words), adjacency=adjacency)


BY_BOXES = LIMITS.changed(words=0, window_pairs_work=-1)  # as if nothing could be enumerated


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
@BY_BOXES
def test_the_shared_rate_is_sound_for_short_words(monkeypatch, public_start: bool, seed: int) -> None:
    """Certified for length 16 or 24, checked by enumeration at length 5 and 6."""
    monkeypatch.setenv("SYMVEIL_CACHE", "")
    for length in (5, 6):
        language = runs(random_chain(seed, 5), length, public_start=public_start)
        for adjacency, epsilon in ((1, Fraction(3)), (2, Fraction(5)), (3, Fraction(12))):
            found = certified_rate(language, epsilon=epsilon, adjacency=adjacency)
            true_loss = enumerated(language, rate=found.rate, adjacency=adjacency)
            assert true_loss.loss <= found.loss <= epsilon


@LIMITS.changed(window_pairs_work=-1)  # windows speak of one length only
def test_lengths_share_a_certificate(monkeypatch) -> None:
    monkeypatch.setenv("SYMVEIL_CACHE", "")
    chain = random_chain(3, 12)
    rates = {
        length: certified_rate(runs(chain, length), epsilon=Fraction(4), adjacency=2).rate for length in (17, 20, 24)
    }
    assert len(set(rates.values())) == 1


@BY_BOXES
def test_dead_ends_are_not_shared() -> None:
    """A state that is left for one step only may begin short words, but no long ones."""
    going_on = [("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)]
    rows = [*going_on, ("c", "d", "1/2"), ("c", "e", "1/2"), ("f", "c", 1)]
    for length in (3, 4, 5):
        alone = _weighting(MarkovChain.from_transitions(rows), length, 1)
        assert chain_boxes(alone) is not None
        assert shared(alone) is alone
        assert chain_boxes(replace(alone, with_shorter=True)) is None
        found = certified_rate(alone.language, epsilon=Fraction(2), adjacency=1)
        true_loss = enumerated(alone.language, rate=found.rate, adjacency=1)
        assert true_loss.loss <= found.loss <= 2
        # without the dead ends the same words are shared
        assert shared(_weighting(MarkovChain.from_transitions(going_on), length, 1)).language.length > length


@pytest.mark.parametrize(("length", "expected"), [(2, False), (3, False), (4, True)])
@BY_BOXES
def test_words_that_a_block_may_fill_are_not_shared(length: int, expected: bool) -> None:
    alone = _weighting(random_chain(1, 5), length, 2)
    assert chain_boxes(alone) is not None
    assert (shared(alone) is not alone) is expected
    assert shared(alone).with_shorter is expected
