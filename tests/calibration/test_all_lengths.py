"""One proof for words of a length and of all smaller ones, against losses from the definition at each length."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest
from cost_oracle import MOST_WORDS, exact_loss, random_language

import symveil as sv
from symveil.calibration.answers import clear_answers
from symveil.calibration.calibrate import calibrated_rate
from symveil.calibration.costs import rates
from symveil.calibration.costs.loss import searched_loss
from symveil.calibration.search import ProofEffort
from symveil.calibration.weighting import Weighting
from symveil.errors import ModelError
from symveil.examples.paper_systems import town
from symveil.languages.costs import hamming
from symveil.languages.language import runs_of_any_length
from symveil.languages.swap_costs import swap
from symveil.mechanisms import cost_weighted
from symveil.mechanisms.by_length import of_length
from symveil.mechanisms.selection import select_mechanism


def _largest_loss(weighting: Weighting, rate: Fraction) -> float:
    """Over all lengths that have words."""
    worst = 0.0
    for length in range(1, weighting.language.length + 1):
        try:
            language = replace(weighting.language, length=length)
        except ModelError:
            continue
        cost = hamming(language).staircase(period=weighting.cost.period, first_step=weighting.cost.first_step)
        if language.has_at_most(MOST_WORDS) and language.size:
            worst = max(worst, exact_loss(replace(weighting, language=language, cost=cost), rate))
    return worst


def test_no_pair_of_any_smaller_length_exceeds_the_certificate() -> None:
    dice, compared, longer_is_worse = random.Random(15), {True: 0, False: 0}, {True: 0, False: 0}
    for _ in range(400):
        language = random_language(dice, chains=True)
        if language is None or language.length < 2:
            continue
        public = language.public_start
        if not public and (language.graph.target == language.graph.start).any():
            continue
        adjacency, rate = dice.randint(1, 3), Fraction(dice.choice([1, 7, 13, 20, 40]), 10)
        period = dice.choice([1, 1, adjacency])
        cost = hamming(language).staircase(period=period, first_step=dice.randint(1, period))
        weighting = Weighting(language=language, cost=cost, adjacency=adjacency, with_shorter=True)
        exact = _largest_loss(weighting, rate)
        for nodes in (0, 3, 1000):
            epsilon = dice.choice([None, Fraction(exact * dice.choice([0.9, 1.0001, 1.2]) + 1e-9)])
            found = searched_loss(
                weighting, rate, ProofEffort(within=epsilon, nodes=nodes, window=dice.choice([0, 1, 2, None]))
            )
            assert float(found.loss) >= exact * (1 - 1e-13)
            assert found.worst_found <= exact + 1e-9
        compared[public] += 1
        longer_is_worse[public] += exact > exact_loss(replace(weighting, with_shorter=False), rate) + 1e-9
    assert min(compared.values()) > 60
    assert min(longer_is_worse.values()) > 3  # so that forgetting shorter words would have been noticed


def test_a_public_start_whose_words_are_all_short_is_not_forgotten() -> None:
    # from x every way ends after two steps, and there words lose more than η; only a goes on for five
    ends = [("p", "e", 1), *(("q", end, "1/3") for end in "efg")]
    rows = [("a", "a", 1), *(("x", middle, "1/4") for middle in "pqrs"), *ends]
    words = sv.runs(sv.MarkovChain.from_transitions(rows), 5, public_start=True)
    weighting = Weighting(language=words, cost=hamming(words), adjacency=1, with_shorter=True)
    exact = _largest_loss(weighting, Fraction(1))
    assert exact > 1.2
    assert exact_loss(replace(weighting, with_shorter=False), Fraction(1)) == 0
    assert exact * (1 - 1e-13) <= float(searched_loss(weighting, Fraction(1)).loss) < exact + 1e-6


def test_lengths_share_a_proof_that_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clear_answers()
    asked: list[int] = []
    real = rates._BlockSearch.run
    monkeypatch.setattr(
        rates._BlockSearch, "run", lambda self: asked.append(self.weighting.language.length) or real(self)
    )
    ways = [(a, b, "1/2") for a, b in zip("aabbccdd", "bccddaab", strict=True)]  # few: 4·2^13 words at length 14
    chain = sv.MarkovChain.from_transitions(ways)
    found = []
    for length in (14, 15, 16):
        words = sv.runs(chain, length)
        weighting = Weighting(language=words, cost=hamming(words).staircase(period=2, first_step=1), adjacency=2)
        found.append(calibrated_rate(weighting, epsilon=Fraction(6), of_many_lengths=True).rate)
    assert asked == [16]
    assert len(set(found)) == 1
    assert found[0] > 3


def test_what_depends_on_the_position_or_the_hidden_start_is_proved_for_its_own_length() -> None:
    words = sv.runs(town(), 9)
    own = Weighting(language=words, cost=hamming(words), adjacency=1)
    assert own.covering.language.length == 12
    assert own.covering.with_shorter
    steps = replace(own, cost=own.cost.staircase(period=2, first_step=1), adjacency=2).covering
    assert (steps.cost.period, steps.cost.first_step, len(steps.cost.metric_of)) == (2, 1, 12)
    public = sv.runs(town(), 9, public_start=True)
    with_public_start = Weighting(language=public, cost=hamming(public), adjacency=1).covering
    assert (with_public_start.language.length, with_public_start.with_shorter) == (12, True)
    rows = [("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)]
    starting = sv.runs(sv.MarkovChain.from_transitions(rows, initial="a"), 9)
    for other in (
        Weighting(language=starting, cost=hamming(starting), adjacency=1),
        replace(own, cost=swap(words, adjacency=1, cap=3)),
        replace(own, with_prior=True),
        replace(own, balanced=True),
        Weighting(language=public, cost=swap(public, adjacency=1, cap=3), adjacency=1),
    ):
        assert other.covering is other


def test_words_that_end_before_are_proved_for_their_own_length() -> None:
    rows = [("a", "b", "1/2"), ("a", "c", "1/2"), ("b", "d", 1), ("c", "d", 1)]
    words = sv.runs(sv.MarkovChain.from_transitions(rows), 3)
    own = Weighting(language=words, cost=hamming(words), adjacency=1)
    assert own.covering is own


def test_a_file_takes_one_proof_for_many_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    classic = Fraction(1)
    monkeypatch.setattr(
        cost_weighted,
        "calibrated_rate",
        lambda weighting, **named: asked.append(named["of_many_lengths"]) or weighting.classic(classic),
    )
    chosen = {"epsilon": 1, "mechanism": "exponential", "cost": "hamming", "adjacency": 1}
    family = select_mechanism(runs_of_any_length(town()), **chosen)
    assert of_length(family, 9).rate == select_mechanism(sv.runs(town(), 9), **chosen).rate
    assert asked == [True, False]
