"""Beginnings and ends that meet in the middle: the loss of all pairs of words, against the definition."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from cost_oracle import random_case

import symveil as sv
from symveil.calibration import certify
from symveil.calibration.affordable import all_certificates_are_quick, halves_work
from symveil.calibration.answers import clear_answers
from symveil.calibration.calibrate import calibrated_rate
from symveil.calibration.costs.pairs import is_feasible, pair_losses
from symveil.calibration.halves import rates
from symveil.calibration.halves.positions import PositionsComparison, _narrow_rounding, _product
from symveil.calibration.halves.rates import loss_by_halves, rate_by_halves
from symveil.calibration.halves.tables import Half, HalfTables, Worst
from symveil.calibration.limits import LIMITS
from symveil.calibration.search import ProofEffort
from symveil.calibration.weighting import Weighting
from symveil.examples.paper_systems import town
from symveil.languages.costs import hamming
from symveil.languages.swap_costs import swap
from symveil.mechanisms import cost_weighted
from symveil.numbers.progress import reporting_to


def test_no_pair_exceeds_the_bound_and_one_hidden_symbol_is_exact() -> None:
    dice, compared, exact, shortest = random.Random(5), 0, 0, 0
    for _ in range(300):
        case = random_case(dice, longest=7, chains=True)
        if case is None or halves_work(case.weighting) == math.inf:
            continue
        found = loss_by_halves(case.weighting, case.rate)
        assert found is not None
        compared += 1
        shortest += case.weighting.language.length == case.weighting.adjacency + 2
        assert case.exact <= float(found.loss) * (1 + 1e-13)
        assert found.worst_found <= case.exact + 1e-9
        for one, two in found.pairs:
            assert is_feasible(case.weighting.language, one[None, :]).all()
            assert is_feasible(case.weighting.language, two[None, :]).all()
            assert 0 < (one != two).sum() <= case.weighting.adjacency
        if found.how == "exact":
            exact += 1
            assert float(found.loss) == pytest.approx(case.exact, abs=1e-9)
    assert compared > 40
    assert exact > 10
    assert shortest > 5


def test_a_search_that_a_block_ends_rules_the_rate_out_and_no_other_is_ended() -> None:
    dice, ended, proved = random.Random(6), 0, 0
    for _ in range(150):
        case = random_case(dice, longest=6, chains=True)
        if case is None or halves_work(case.weighting) == math.inf:
            continue
        whole = loss_by_halves(case.weighting, case.rate)
        assert whole is not None
        with LIMITS.changed(halves_bytes=0):  # ends made anew for each state, where they would take much memory
            anew = loss_by_halves(case.weighting, case.rate)
        assert anew is not None
        assert float(anew.loss) == pytest.approx(float(whole.loss), abs=1e-12)
        for share in (Fraction(4, 5), Fraction(1001, 1000)):
            budget = whole.loss * share
            found = loss_by_halves(case.weighting, case.rate, ProofEffort(within=budget))
            assert found is not None
            if found.reached == math.inf:
                proved += 1
                assert float(found.loss) == pytest.approx(float(whole.loss), abs=1e-12)
                assert share > 1 or whole.how != "exact"  # blocks that are within ε one by one may not be together
            else:
                ended += 1
                assert share < 1
                assert found.reached > budget
                assert found.loss == 2 * case.weighting.drops * case.rate
                assert len(found.pairs) == 1
    assert ended > 10
    assert proved > 10


def test_two_hidden_symbols_are_compared_wherever_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    dice, compared, tight = random.Random(7), 0, 0
    for _ in range(400):
        case = random_case(dice, longest=7, chains=True)
        if case is None or case.weighting.adjacency != 2 or halves_work(case.weighting) == math.inf:
            continue
        found = loss_by_halves(case.weighting, case.rate)
        with LIMITS.changed(lightest=math.inf):  # in 64 bits
            wide = loss_by_halves(case.weighting, case.rate)
        with monkeypatch.context() as patch:  # added up over blocks, as for more symbols
            patch.setattr(rates, "_TWO_POSITIONS", -1)
            summed = loss_by_halves(case.weighting, case.rate)
        compared += 1
        assert case.exact <= min(float(found.loss), float(wide.loss)) * (1 + 1e-13)
        assert found.loss <= summed.loss + Fraction(1, 10**4)
        assert float(found.loss) == pytest.approx(float(wide.loss), abs=1e-4)
        assert found.worst_found <= case.exact + 1e-9
        tight += float(found.loss) <= case.exact + 1e-4
    assert compared > 20
    assert tight > 0.7 * compared  # the others have given costs, or steps that are wider than two symbols


class _Planted(HalfTables):
    """Z of every word as it is told to be: 1 but for two words."""

    heavy: tuple[int, ...]
    light: tuple[int, ...]

    def beginnings(self, length: int) -> Half:
        """Each with a state of its own."""
        words = super().beginnings(length).words
        return Half(words, np.eye(len(words)))

    def ends(self, length: int) -> Half:
        """What the word is worth, for every beginning."""
        ends, before = super().ends(length).words, super().beginnings(self.language.length - length).words
        worth = {self.heavy: 20.0, self.light: 1 / 20}
        words = [[(*one.tolist(), *two.tolist()) for one in before] for two in ends]
        return Half(ends, np.array([[worth.get(word, 1.0) for word in row] for row in words]))


@pytest.mark.parametrize("public_start", [False, True])
@pytest.mark.parametrize("length", [5, 6])
@pytest.mark.parametrize("narrow", [False, True])
def test_every_pair_of_words_is_compared_whichever_places_differ(length: int, public_start: bool, narrow: bool) -> None:
    dice = random.Random(8)
    edges = [(a, b) for a in "abc" for b in "abc" if a + b not in ("ba", "cc")]
    chain = sv.MarkovChain.from_transitions([(a, b, Fraction(1, 2 if a != "a" else 3)) for a, b in edges])
    language = sv.runs(chain, length, public_start=public_start)
    words = [tuple(word.tolist()) for word in language.enumerate_codes(at_most=1000)]
    weighting = Weighting(language=language, cost=hamming(language), adjacency=2)
    by_places: dict[tuple[int, ...], list[tuple[tuple[int, ...], tuple[int, ...]]]] = {}
    for one, two in permutations(words, 2):
        by_places.setdefault(tuple(k for k in range(length) if one[k] != two[k]), []).append((one, two))
    asked = {places: pairs for places, pairs in by_places.items() if len(places) <= 2}
    for places, pairs in asked.items():
        tables, worst = _Planted(weighting, weighting.weights(Fraction(1))), Worst()
        tables.heavy, tables.light = dice.choice(pairs)
        for _ in PositionsComparison(tables, narrow=narrow).compare(worst):
            pass
        if public_start and 0 in places:  # no adjacent words
            assert worst.value < math.log(400)
            continue
        assert worst.value >= math.log(400) + len(places) - 1e-5
        assert tuple(tuple(word.tolist()) for word in worst.pairs[0]) == (tables.heavy, tables.light)
    assert len(asked) >= length * (length - 1) / 2


def test_products_in_tiles_are_products() -> None:
    dice = np.random.default_rng(3)  # no noise: numbers to multiply
    for rows, columns, width in ((1, 1, 1), (300, 7, 90), (54, 108, 90), (55, 1, 90), (3, 130, 5000)):
        one, two = dice.random((rows, width)), dice.random((columns, width))
        assert np.allclose(_product(one, two), one @ two.T, rtol=1e-13)
        narrow = _product(one.astype(np.float32), two.astype(np.float32))
        assert narrow.dtype == np.float32
        assert np.abs(np.log(narrow / (one @ two.T))).max() <= _narrow_rounding(width) / 2


def _town(length: int, *, balanced: bool) -> Weighting:
    words = sv.runs(town(), length)
    return Weighting(language=words, cost=swap(words, adjacency=1, cap=9), adjacency=1, balanced=balanced)


def test_balance_uses_nearly_all_of_the_budget() -> None:
    plain, balanced = (rate_by_halves(_town(5, balanced=each), epsilon=Fraction(3)) for each in (False, True))
    for found in (plain, balanced):
        assert found is not None
        assert found.how == "exact"
        assert found.loss <= 3
        assert found.rate <= found.ruled_out < 1.006 * float(found.rate)
        assert found.worst_found == pytest.approx(float(found.loss), abs=1e-9)
    assert balanced.rate > Fraction(27, 10) > plain.rate


@pytest.mark.parametrize(("period", "balanced"), [(1, True), (2, False)])
def test_two_hidden_symbols_use_nearly_all_of_the_budget(period: int, balanced: bool) -> None:
    words = sv.runs(town(), 5)
    cost = hamming(words) if period == 1 else hamming(words).staircase(period=2, first_step=1)
    weighting = Weighting(language=words, cost=cost, adjacency=2, balanced=balanced)
    found = rate_by_halves(weighting, epsilon=Fraction(4))
    assert found.how == "certified"
    assert found.loss <= 4
    assert found.rate <= found.ruled_out < 1.006 * float(found.rate)


def test_the_plain_mechanism_gets_every_quick_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    words = sv.runs(town(), 4)
    weighting = Weighting(language=words, cost=hamming(words), adjacency=1)
    older = weighting.classic(Fraction(2))  # as if the quick certificate had found nothing
    monkeypatch.setattr(certify, "quick_rate", lambda *_, **__: older)
    assert calibrated_rate(weighting, epsilon=Fraction(2), thorough=False) == older
    found = calibrated_rate(weighting, epsilon=Fraction(2))
    assert found.rate > Fraction(5, 4) * older.rate
    one, two = found.worst_pair
    assert pair_losses(weighting, found.rate, one[None, :], two[None, :])[0] <= 2
    assert all_certificates_are_quick(weighting)
    assert sv.Exponential(words, epsilon=2, adjacency=1).rate == found.rate
    monkeypatch.setattr(cost_weighted, "all_certificates_are_quick", lambda _: False)  # as in larger models
    assert sv.Exponential(words, epsilon=2, adjacency=1).rate == older.rate
    assert sv.Exponential(words, epsilon=2, adjacency=1, cost="hamming").rate == found.rate  # it is asked for
    better = replace(found, rate=found.rate * 2)
    monkeypatch.setattr(certify, "quick_rate", lambda *_, **__: better)
    assert calibrated_rate(weighting, epsilon=Fraction(4)) == better  # never less than the quick one


def test_a_kept_rate_is_proved_again(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked() -> Fraction:
        clear_answers()
        return rate_by_halves(_town(4, balanced=False), epsilon=Fraction(3)).rate

    first = asked()
    (file,) = own_cache.glob("*.json")
    tried, real = [], rates.loss_by_halves
    monkeypatch.setattr(
        rates, "loss_by_halves", lambda *given, **named: tried.append(given[1]) or real(*given, **named)
    )
    assert asked() == first
    assert tried == [first]  # one decision, no search
    entry = json.loads(file.read_text())
    for wrong in ("1000000", str(first * 2), "nothing", "0", "-1", "1/0"):
        file.write_text(json.dumps(entry | {"rate": wrong}))
        assert asked() == first


def test_progress_grows_and_may_end_the_search() -> None:
    told: list[tuple[int, int]] = []
    rate_by_halves(_town(4, balanced=False), epsilon=Fraction(2), progress=lambda done, of: told.append((done, of)))
    assert told
    assert all(0 <= done <= of for done, of in told)
    assert [done for done, _ in told] == sorted(done for done, _ in told)

    def enough(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rate_by_halves(_town(4, balanced=False), epsilon=Fraction(4), progress=enough)


def test_a_search_behind_a_mechanism_tells_whoever_listens_and_can_be_ended() -> None:
    told: list[tuple[int, int, str]] = []
    words = sv.runs(town(), 4)
    with reporting_to(lambda done, total, what="": told.append((done, total, what))):
        assert sv.Exponential(words, epsilon="7/3", adjacency=1, cost="swap").law.certificate is not None
    assert told
    parts = {"looking for words that lose much", "certifying exponential (swap, at most 15)"}
    assert {what for _, _, what in told} == parts

    def enough(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with reporting_to(enough), pytest.raises(KeyboardInterrupt):
        sv.Exponential(words, epsilon="8/3", adjacency=1, cost="swap").law  # noqa: B018 - it is the search


def test_without_adjacent_words_nothing_is_lost() -> None:
    words = sv.runs(sv.MarkovChain.from_transitions([("a", "b", 1), ("b", "a", 1)]), 7, public_start=True)
    weighting = Weighting(language=words, cost=hamming(words), adjacency=2)
    assert loss_by_halves(weighting, Fraction(1)).loss == 0
    assert rate_by_halves(weighting, epsilon=Fraction(1)).worst_pair is None
