""" "auto" on models: the least expected error over public words among what is at hand, and a reason."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import symveil as sv
from symveil.bounds.prior import Prior
from symveil.calibration.affordable import all_certificates_are_quick
from symveil.calibration.certify import quick_rate
from symveil.calibration.halves import rates as halves_rates
from symveil.calibration.limits import LIMITS as CALIBRATION
from symveil.examples.paper_systems import grid_roads, town
from symveil.laws.protection import public_words
from symveil.mechanisms import cost_weighted, model_selection
from symveil.mechanisms.by_length import of_length
from symveil.mechanisms.code_law import excess
from symveil.mechanisms.cost_weighted import CostWeighted
from symveil.mechanisms.limits import LIMITS
from symveil.tasks.doubts import given_up_notes

SPARSE = sv.MarkovChain.from_transitions(
    [
        *(("a", "b", "1/2"), ("a", "c", "1/2"), ("b", "d", 1), ("c", "d", 1)),
        *(("d", "a", "1/2"), ("d", "e", "1/2"), ("e", "a", 1)),
    ]
)
SMALL = sv.runs(SPARSE, 5)
LARGE = sv.runs(SPARSE, 24, public_start=True)  # more words than are written out


def mean_error(mechanism: CostWeighted, words: np.ndarray) -> float:
    return float(mechanism.expected_errors(words)[0].mean())


@pytest.mark.parametrize(
    ("language", "b", "calibration"), [(SMALL, 1, "tight"), (SMALL, 2, "tight"), (LARGE, 2, "classic")]
)
@pytest.mark.parametrize("epsilon", [1, 4])
def test_auto_has_no_more_error_than_the_candidates(language, b: int, calibration: str, epsilon: int) -> None:
    chosen = sv.select_mechanism(language, epsilon=epsilon, adjacency=b, beyond="nothing")
    assert chosen.guarantee.epsilon <= epsilon
    assert str(chosen.remarks.chosen_because).startswith("expected error ")
    words = public_words(language, 24)
    symbols = language.alphabet.symbols
    laws = [chosen.distances(tuple(symbols[code] for code in word)) for word in words]
    own = np.mean([law.expected_error for law in laws])
    for kind, more in [
        (sv.Exponential, {}),
        (sv.Exponential, {"cost": "swap"}),
        (sv.Exponential, {"cost": "swap", "balanced": True}),
        (sv.Staircase, {"cost": "swap"}),
        (sv.Staircase, {}),
    ]:
        tight = calibration if more or kind is sv.Staircase else "tight"
        other = kind(language, epsilon=epsilon, adjacency=b, calibration=tight, **more)
        # a plainer one is kept unless another is clearly better, at each of a few comparisons
        assert own <= mean_error(other, words) / 0.97**2


def test_what_is_asked_for_is_kept_to() -> None:
    swap = sv.select_mechanism(SMALL, epsilon=2, adjacency=2, cost="swap", cap=3)
    assert isinstance(swap, CostWeighted)
    assert (swap.cost, swap.cap) == ("swap", 3)
    stepped = sv.select_mechanism(SMALL, epsilon=2, adjacency=2, step=2)
    assert (stepped.name, stepped.first_step) == ("staircase", 2)
    balanced = sv.select_mechanism(SMALL, epsilon=2, adjacency=1, balanced=True)
    assert balanced.balanced
    costs = sv.CostTable.from_rows([("a", "b", 2), ("b", "c", 1), ("c", "d", 3), ("d", "e", 1)])
    given = sv.select_mechanism(SMALL, epsilon=2, adjacency=1, costs=costs)
    assert given.costs == costs
    assert given.distances("abdab").expected_cost > 0


def test_the_choice_reads_public_things_only_and_is_always_the_same() -> None:
    first, again = (sv.select_mechanism(SMALL, epsilon=3, adjacency=2, beyond="nothing") for _ in range(2))
    assert (first.name, first.remarks.chosen_because) == (again.name, again.remarks.chosen_because)
    assert first.parameters_document() == again.parameters_document()


def _every_candidate(language: sv.RunLanguage, *, epsilon: int, adjacency: int) -> list[CostWeighted]:
    """All that "auto" may choose, certified."""
    setting = {"epsilon": epsilon, "adjacency": adjacency}
    made: list[CostWeighted] = []
    for cost in ("hamming", "swap"):
        for balanced in (False, True):
            made.append(sv.Exponential(language, cost=cost, balanced=balanced, **setting))
            if adjacency > 1:
                made.append(sv.Staircase(language, cost=cost, balanced=balanced, **setting))
    return made


@pytest.mark.parametrize("seed", range(6))
def test_the_choice_is_the_least_certified_error(seed: int) -> None:
    dice = random.Random(seed)
    rows = []
    for source in "abcd":
        targets = dice.sample("abcd", dice.randint(2, 3))
        rows += [(source, target, Fraction(1, len(targets))) for target in targets]
    # words that are written out, and more of them, which are certified as two halves
    language = sv.runs(sv.MarkovChain.from_transitions(rows), dice.choice([4, 10]), public_start=dice.random() < 0.5)
    epsilon, adjacency = dice.choice([1, 2, 4]), dice.choice([1, 2])
    chosen = sv.select_mechanism(language, epsilon=epsilon, adjacency=adjacency, beyond="nothing")
    assert chosen.guarantee.epsilon <= epsilon
    words = public_words(language, 24)
    symbols = language.alphabet.symbols
    own = np.mean([chosen.distances(tuple(symbols[code] for code in word)).expected_error for word in words])
    least = min(mean_error(each, words) for each in _every_candidate(language, epsilon=epsilon, adjacency=adjacency))
    # a plainer one is kept unless another is clearly better, at each of two comparisons
    assert own <= least / 0.97**2 + 1e-12
    assert str(chosen.remarks.chosen_because).startswith(
        f"expected error {own:.3g} over uniform words of the model (24 of them, "
    )
    again = sv.select_mechanism(language, epsilon=epsilon, adjacency=adjacency, beyond="nothing")
    assert (again.remarks.chosen_because, again.parameters_document()) == (
        chosen.remarks.chosen_because,
        chosen.parameters_document(),
    )


def test_only_what_can_be_better_is_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []
    real = cost_weighted.calibrated_rate

    def calibrated(weighting, **named):
        tried.append(weighting)
        return real(weighting, **named)

    monkeypatch.setattr(cost_weighted, "calibrated_rate", calibrated)
    # one symbol, the last, can be swapped: swaps are certified at all of ε, and nothing can be better
    rows = [("a", "b", 1), ("b", "c", 1), ("c", "d", 1), ("d", "a", "1/2"), ("d", "e", "1/2"), ("e", "a", 1)]
    language = sv.runs(sv.MarkovChain.from_transitions(rows), 60, public_start=True)
    chosen = sv.select_mechanism(language, epsilon=2, adjacency=1, beyond="nothing")
    assert (chosen.name, chosen.cost, chosen.guarantee.how) == ("exponential", "swap", "exact")
    assert [(each.cost.is_hamming, each.balanced) for each in tried] == [(True, False), (False, False)]
    assert "at least" in str(chosen.remarks.chosen_because)


@CALIBRATION.changed(halves_work=0)  # as where words are too many to be compared
def test_steps_are_not_searched_where_nothing_is_proved_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def nothing_proved(weighting, *, epsilon: Fraction, **_: object):
        asked.append((weighting.cost.is_hamming, weighting.cost.period))
        return weighting.classic(epsilon)

    monkeypatch.setattr(cost_weighted, "calibrated_rate", nothing_proved)
    monkeypatch.setattr(model_selection, "can_count", lambda _: False)
    chosen = sv.select_mechanism(LARGE, epsilon=2, adjacency=2, beyond="nothing")
    assert (False, 1) in asked
    assert (False, 2) not in asked
    assert (
        "staircase (swap" in f"{chosen.described} {chosen.remarks.chosen_because}"
    )  # it is compared at its classic rate


@CALIBRATION.changed(halves_work=0)
def test_a_pair_that_loses_much_by_one_candidate_is_asked_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    words = public_words(LARGE, 2)
    pair, asked, tried = (words[0], words[1]), [], []

    def proved(weighting, *, epsilon: Fraction, **_: object):
        tried.append(weighting)
        found = weighting.classic(epsilon)
        return replace(found, rate=found.rate * Fraction(3, 2), how="certified", worst_pair=pair)

    def ruled_out(weighting, epsilon: Fraction, pairs=None) -> Fraction:
        asked.append(pairs)
        return epsilon / weighting.drops if pairs is None else epsilon / (2 * weighting.drops)

    monkeypatch.setattr(cost_weighted, "calibrated_rate", proved)
    monkeypatch.setattr(model_selection, "_ruled_out", ruled_out)
    sv.select_mechanism(LARGE, epsilon=2, adjacency=2, beyond="nothing")
    assert [pair] in asked
    by_swaps = [each for each in tried if not each.cost.is_hamming]
    assert len(by_swaps) == 1  # no other could be better than the first, at the rate that the pair leaves


def test_a_file_of_many_lengths_waits_for_no_long_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    language = sv.runs(town(), 7)
    assert sv.MechanismChoice(epsilon=2, adjacency=1).language(model=town()).of_length(7).size == language.size
    family = sv.choose_mechanism(
        sv.MechanismChoice(epsilon=2, adjacency=1, beyond="nothing"),
        sv.MechanismChoice(epsilon=2, adjacency=1).language(model=town()),
    )

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a long certificate")

    monkeypatch.setattr(halves_rates, "loss_by_halves", refused)
    of_seven = of_length(family, 7)
    assert of_seven is not None
    assert of_seven.guarantee.epsilon <= 2


def test_uniform_words_are_uniform() -> None:
    words = public_words(sv.runs(SPARSE, 5, public_start=True), 20_000)
    _, counts = np.unique(words, axis=0, return_counts=True)
    size = SMALL.size
    assert len(counts) == size
    # Pearson's statistic, whose mean is size − 1: a false alarm once in a million at six times its deviation or more
    statistic = float(((counts - 20_000 / size) ** 2 / (20_000 / size)).sum())
    assert statistic < size - 1 + 8 * (2 * (size - 1)) ** 0.5
    skewed = counts * np.linspace(0.8, 1.2, size)
    assert float(((skewed - 20_000 / size) ** 2 / (20_000 / size)).sum()) > size - 1 + 8 * (2 * (size - 1)) ** 0.5


def test_words_of_the_chain_are_as_likely_as_the_chain_has_them() -> None:
    language = sv.runs(SPARSE, 5)
    words, counts = np.unique(public_words(language, 20_000, prior="chain"), axis=0, return_counts=True)
    expected = 20_000 * Prior(language, "chain").word_probabilities(words)
    assert expected.sum() > 19_900
    assert float(((counts - expected) ** 2 / expected).sum()) < len(words) - 1 + 8 * (2 * (len(words) - 1)) ** 0.5


def test_four_hidden_symbols_are_certified_by_swaps_on_sparse_graphs_and_not_in_files() -> None:
    words = sv.runs(grid_roads(12, seed=2), 24, public_start=True)
    steps = sv.Staircase(words, epsilon=16, adjacency=4, cost="swap", step=1).weighting
    assert model_selection._is_quick(steps, of_many_lengths=False)
    assert not model_selection._is_quick(steps, of_many_lengths=True)
    by_hamming = sv.Staircase(words, epsilon=16, adjacency=4, cost="hamming", step=1).weighting
    assert not model_selection._is_quick(by_hamming, of_many_lengths=False)
    dense = sv.Staircase(sv.runs(town(), 20), epsilon=16, adjacency=4, cost="swap", step=1).weighting
    assert not model_selection._is_quick(dense, of_many_lengths=False)


@CALIBRATION.changed(halves_work=0)
def test_one_hidden_symbol_is_certified_by_swaps_on_large_sparse_graphs(set_limits) -> None:
    language = sv.runs(grid_roads(4, seed=3), 12, public_start=True)
    set_limits(LIMITS, sparse_symbols=len(language.alphabet) - 1)  # as with 10,000 links
    chosen = sv.select_mechanism(language, epsilon=2, adjacency=1, beyond="nothing")
    assert (chosen.name, chosen.cost) == ("exponential", "swap")
    assert chosen.guarantee.how != "classic"
    assert Fraction(19, 10) < chosen.rate <= 2
    for adjacency in (1, 2):
        other = sv.Exponential(language, epsilon=2, adjacency=adjacency, cost="swap")
        assert model_selection._is_quick(other.weighting, False) == (adjacency == 1)
    # as with 100,000 links: for words of one length, and without the balanced candidates
    set_limits(LIMITS, selection_work=0)
    again = sv.select_mechanism(language, epsilon=2, adjacency=1, beyond="nothing")
    assert (again.cost, again.rate) == ("swap", chosen.rate)
    assert "balanced" not in again.remarks.chosen_because
    assert sv.select_mechanism(language, epsilon=2, adjacency=2, beyond="nothing").cost == "hamming"
    choice = sv.MechanismChoice(epsilon=2, adjacency=1, public_start=True, beyond="nothing")
    assert model_selection.least_error_on_model(choice, language, of_many_lengths=True).cost == "hamming"


@pytest.mark.parametrize(("length", "b", "epsilon"), [(4, 1, 3), (4, 1, 1), (6, 1, 3), (4, 2, 2)])
def test_swap_costs_have_the_smallest_cap_that_is_hardly_noticed(
    length: int, b: int, epsilon: int, monkeypatch
) -> None:
    """At most 5 % more error than with 0.3's cap, each at its own rate; beyond b far less is lost."""
    words = sv.runs(sv.load_model("examples/roads.json"), length)
    capped = sv.select_mechanism(words, epsilon=epsilon, adjacency=b, beyond="nothing")
    monkeypatch.setattr(model_selection, "_capped", lambda hope: hope)
    wide = sv.select_mechanism(words, epsilon=epsilon, adjacency=b, beyond="nothing")
    assert capped.cost == wide.cost == "swap"
    assert 2 <= capped.plain_cost.largest <= 5 and wide.plain_cost.largest > 10
    assert excess(capped) <= 4 and (excess(wide) > 10 or b > 1)
    codes = words.enumerate_codes(at_most=1000)
    assert mean_error(capped, codes) <= 1.06 * mean_error(wide, codes)  # 24 public words chose, all of them are asked
    named = type(capped)(
        words, epsilon=epsilon, adjacency=b, cost="swap", cap=int(capped.plain_cost.largest), balanced=capped.balanced
    )
    assert named.guarantee == capped.guarantee and named.guarantee.within(Fraction(epsilon))
    if capped.plain_cost.largest > 2 and capped.name == "exponential":  # a smaller one would be noticed
        less = capped.plain_cost.largest - 1
        smaller = sv.Exponential(
            words, epsilon=epsilon, adjacency=b, cost="swap", cap=int(less), balanced=capped.balanced
        )
        assert mean_error(smaller, codes) > 1.02 * mean_error(wide, codes)


def test_a_cap_that_costs_too_much_at_the_proved_rate_is_widened(monkeypatch) -> None:
    """The first guess is made at a larger rate than the one that is proved, where caps matter less."""
    words = sv.runs(sv.load_model("examples/roads.json"), 4)
    seen = []
    real = model_selection.smallest_cap
    monkeypatch.setattr(
        model_selection, "smallest_cap", lambda *asked: seen.append((asked[3], found := real(*asked))) or found
    )
    chosen = sv.select_mechanism(words, epsilon=1, adjacency=1, beyond="nothing")
    rates = [rate for rate, _ in seen]
    assert len(set(rates)) > 1 and max(rates) == 1
    assert chosen.plain_cost.largest >= min(cap for _, cap in seen if cap is not None)


def test_the_price_of_the_promise_is_said_where_it_is_high() -> None:
    words = sv.runs(sv.load_model("examples/roads.json"), 4)
    kept = sv.select_mechanism(words, epsilon=1, adjacency=1)
    free = sv.select_mechanism(words, epsilon=1, adjacency=1, beyond="nothing")
    public = public_words(words, 24)
    errors = [mean_error(each, public) for each in (kept, free)]
    assert errors[1] < errors[0] / 2
    said = kept.remarks.price_of_grace
    assert said is not None and "\n" not in said
    assert f"expected error {errors[0]:.3g}, where beyond nothing has {errors[1]:.3g} (" in said
    assert given_up_notes(kept) == [said]
    assert free.remarks.price_of_grace is None
    assert sv.select_mechanism(words, epsilon=3, adjacency=1).remarks.price_of_grace is None  # hardly any


def test_without_a_cost_every_quick_certificate_is_used() -> None:
    rows = [("a", "a", "1/2"), ("a", "b", "1/4"), ("a", "c", "1/4"), ("b", "b", "1/2"), ("b", "z", "1/2")]
    absorbing = sv.MarkovChain.from_transitions([*rows, ("c", "a", "1/2"), ("c", "z", "1/2"), ("z", "z", 1)])
    words = sv.runs(absorbing, 20)
    assert not words.has_at_most(10_000)
    plain, named = (sv.Exponential(words, epsilon=2, adjacency=1, cost=cost) for cost in (None, "hamming"))
    first = quick_rate(named.weighting, epsilon=Fraction(2))
    assert plain.rate == named.rate > first.rate * Fraction(103, 100)
    weighting = sv.Exponential(sv.runs(town(), 9), epsilon=2, adjacency=1).weighting
    assert all_certificates_are_quick(weighting) is False
