"""Certificates for every cost, prior and adjacency; losses from the definition."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from calibration_oracle import certified_rate
from cost_oracle import certain_case, certain_language, exact_loss, random_case

import symveil as sv
from symveil.calibration.answers import clear_answers
from symveil.calibration.costs import rates
from symveil.calibration.costs.boxes import boxes_of_side
from symveil.calibration.costs.graph import cost_graph
from symveil.calibration.costs.local import balls_within
from symveil.calibration.costs.loss import searched_loss
from symveil.calibration.costs.pairs import is_feasible, pair_losses, worse_pair
from symveil.calibration.costs.rates import certify_cost
from symveil.calibration.limits import LIMITS
from symveil.calibration.search import ProofEffort, ProvedLoss
from symveil.calibration.weighting import Weighting
from symveil.examples.paper_systems import grid_roads, town
from symveil.languages.costs import hamming
from symveil.languages.swap_costs import swap

BUDGETS = (0, 1, 3, 10, 30, 100_000)


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    clear_answers()


@pytest.fixture
def not_enumerated() -> Iterator[None]:
    """Small languages are searched as large ones are."""
    with LIMITS.changed(words=0, costly_words=0):
        yield


def check_case(seed: int) -> int:
    """Both ends of one random setting at two budgets; how many certificates were looked at."""
    dice = random.Random(seed)
    case = random_case(dice)
    if case is None:
        return 0
    for nodes in (dice.choice(BUDGETS[:-1]), BUDGETS[-1]):
        near = dice.choice([0.9, 1.0, 1.0001, 1.1, 1.5])
        epsilon = dice.choice([None, Fraction(case.exact * near + 1e-9)])
        window, radius = dice.choice([0, 1, 2, 3, None]), dice.choice([None, None, 0, 1, 2])
        found = searched_loss(
            case.weighting, case.rate, ProofEffort(within=epsilon, nodes=nodes, window=window, radius=radius)
        )
        where = (seed, nodes, epsilon, window, radius)
        assert float(found.loss) >= case.exact * (1 - 1e-13), where
        assert found.loss <= 2 * case.weighting.drops * case.rate, where
        assert found.worst_found <= case.exact + 1e-9, where
        for one, two in found.pairs:
            assert is_feasible(case.weighting.language, np.stack([one, two])).all(), where
            assert 0 < int((one != two).sum()) <= case.weighting.adjacency, where
    return 2


# --- both ends are right ---------------------------------------------------------------------------


def test_no_pair_exceeds_the_certificate_and_none_found_exceeds_the_truth() -> None:
    assert sum(check_case(seed) for seed in range(500, 620)) > 90  # 20,000 seeds in `make soak`


@pytest.mark.parametrize("seed", range(15))
def test_over_balls_nothing_exceeds_the_certificate_and_more_nodes_prove_no_less(seed: int) -> None:
    case = certain_case(random.Random(70_000 + seed), longest=5, chains=True, plain=True)
    known = [
        searched_loss(case.weighting, case.rate, ProofEffort(nodes=nodes, radius=seed % 3)) for nodes in (0, 5, 300)
    ]
    assert all(float(found.loss) >= case.exact * (1 - 1e-13) for found in known)
    assert all(found.worst_found <= case.exact + 1e-9 for found in known)
    few, more, many = (float(found.loss) for found in known)
    assert few * (1 + 1e-12) >= more
    assert more * (1 + 1e-12) >= many


@pytest.mark.parametrize("radius", [0, 1, 2])
def test_symbols_that_a_cost_does_not_list_are_outside_a_ball_and_not_forgotten(radius: int) -> None:
    case = random_case(random.Random(10_827))
    assert case.weighting.cost.is_hamming
    found = searched_loss(case.weighting, case.rate, ProofEffort(nodes=30, radius=radius))
    assert float(found.loss) >= case.exact * (1 - 1e-13)


def test_a_search_that_ends_early_over_balls_proves_nothing() -> None:
    case = random_case(random.Random(16_186))
    for share in (0.9, 0.97, 0.99):
        found = searched_loss(
            case.weighting, case.rate, ProofEffort(within=Fraction(case.exact * share), nodes=30, radius=1)
        )
        assert float(found.loss) >= case.exact * (1 - 1e-13)


def test_over_balls_the_bound_is_the_one_over_all_states_where_little_is_outside() -> None:
    words = sv.runs(grid_roads(4, seed=3), 8, public_start=True)
    weighting = Weighting(language=words, cost=swap(words, adjacency=2, cap=3), adjacency=2)
    everywhere = searched_loss(weighting, Fraction(4), ProofEffort(within=Fraction(9)))
    near = searched_loss(weighting, Fraction(4), ProofEffort(within=Fraction(9), radius=1))
    assert near.how == everywhere.how == "certified"
    assert float(near.loss) == pytest.approx(float(everywhere.loss), rel=1e-3)


@pytest.mark.parametrize("adjacency", [1, 2])
def test_graphs_that_are_too_large_for_all_states_are_certified_over_balls(adjacency: int, own_cache: Path) -> None:
    words = sv.runs(grid_roads(6, seed=2), 12, public_start=True)
    weighting = Weighting(language=words, cost=swap(words, adjacency=adjacency, cap=6), adjacency=adjacency)
    everywhere = certify_cost(weighting, epsilon=Fraction(6))
    clear_answers()
    told: list[tuple[int, int]] = []
    with LIMITS.changed(box_work=0):
        near = certify_cost(weighting, epsilon=Fraction(6), evaluations=5, progress=lambda *both: told.append(both))
    assert near.loss <= 6
    assert near.how == "certified"
    assert Fraction(3) / adjacency < near.rate <= everywhere.ruled_out
    assert near.rate >= Fraction(9, 10) * everywhere.rate
    assert [done for done, _ in told] == sorted(done for done, _ in told)


@pytest.mark.parametrize(("epsilon", "least"), [(2, Fraction(7, 5)), (8, Fraction(197, 100))])
def test_over_balls_small_and_large_budgets_are_certified_near_what_a_pair_rules_out(
    epsilon: int, least: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both from balls no larger than the rate needs; a search that ends at the first bad block guesses too high."""
    monkeypatch.setenv("SYMVEIL_CACHE", "")
    words = sv.runs(grid_roads(6, seed=2), 12, public_start=True)
    weighting = Weighting(language=words, cost=swap(words, adjacency=2, cap=8), adjacency=2)
    everywhere = searched_loss(weighting, Fraction(epsilon, 4) * least, ProofEffort(within=Fraction(epsilon)))
    with LIMITS.changed(box_work=0):
        found = certify_cost(weighting, epsilon=Fraction(epsilon))
    assert everywhere.loss <= epsilon  # over all states too
    assert found.how == "certified"
    assert found.loss <= epsilon
    assert Fraction(epsilon, 4) * least <= found.rate <= found.ruled_out
    assert found.rate >= Fraction(4, 5) * Fraction(found.ruled_out)


def test_large_rates_need_small_balls() -> None:
    words = sv.runs(grid_roads(6, seed=2), 12, public_start=True)
    weighting = Weighting(language=words, cost=swap(words, adjacency=2, cap=8), adjacency=2)
    sizes = [len(balls_within(cost_graph(weighting.weights(Fraction(rate))), None).state) for rate in (8, 4, 2, 1)]
    assert sizes == sorted(sizes)
    assert 3 * sizes[0] < sizes[-1]


@pytest.mark.soak
@pytest.mark.parametrize("part", range(10))
def test_ten_thousand_settings(part: int) -> None:
    assert sum(check_case(10_000 + 2000 * part + seed) for seed in range(2000)) > 1000


@pytest.mark.parametrize("seed", range(12))
def test_one_block_refined_to_the_end_is_exact(seed: int) -> None:
    dice = random.Random(4000 + seed)
    language = certain_language(dice, longest=5, chains=True)
    for cost in (hamming(language), swap(language, adjacency=1)):
        weighting = Weighting(language=language, cost=cost, adjacency=1)
        if weighting.drops == 0:
            continue
        exact = exact_loss(weighting, Fraction(3, 2))
        found = searched_loss(weighting, Fraction(3, 2), ProofEffort(nodes=100_000))
        assert exact <= float(found.loss) * (1 + 1e-12)
        # as close as the search is told to look: 2/1000 of the rate; where Z never grows, η·D is the bound
        assert float(found.loss) <= max(exact, 1.5 * float(weighting.drops) * (exact > 0)) + 0.0031


@pytest.mark.parametrize("seed", range(15))
def test_more_nodes_prove_no_less(seed: int) -> None:
    case = certain_case(random.Random(7000 + seed), longest=5)
    losses = [
        searched_loss(case.weighting, case.rate, ProofEffort(nodes=nodes, window=1)).loss for nodes in (0, 5, 100_000)
    ]
    assert losses[0] + Fraction(1, 10**9) >= losses[2]


# --- boxes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [0, 1, 2])
@pytest.mark.parametrize("seed", [1, 2, 5, 9])
def test_boxes_hold_the_ratios_of_every_word(seed: int, window: int) -> None:
    dice = random.Random(9000 + seed)
    language = certain_language(dice, longest=5, chains=True)
    cost = swap(language, adjacency=2, cap=dice.choice([2, None])).staircase(period=2, first_step=1)
    weights = Weighting(language=language, cost=cost, adjacency=2).weights(Fraction(1))
    graph = cost_graph(weights)
    kappa, following, phase = graph.automaton
    left, right = (boxes_of_side(graph, 2, window, forwards=forwards) for forwards in (True, False))
    for word in language.enumerate_codes(at_most=250):
        states = _states(graph, word, public=language.public_start)
        symbols = graph.symbol[states]
        for boxes, forwards in ((left, True), (right, False)):
            for step, ratios in _ratios(graph, symbols, states, kappa, following, phase, forwards=forwards):
                for known in range(min(window, step if forwards else graph.steps - step) + 1):
                    beside = [states[step - k if forwards else step + k] for k in range(known + 1)]
                    row = _row(boxes.rows, beside)
                    slot = boxes.slot_of[step]
                    assert boxes.valid[slot, row]
                    assert (boxes.low[slot, row] <= ratios * (1 + 1e-12)).all()
                    assert (boxes.high[slot, row] >= ratios * (1 - 1e-12)).all()


def _states(graph, word, *, public: bool) -> list[int]:
    state = next(int(s) for s in graph.starts if not public or graph.symbol[s] == word[0])
    states = [state]
    for code in word[1 if public else 0 :]:
        after = graph.other[graph.first[state] : graph.first[state + 1]]
        state = int(next(y for y in after if graph.symbol[y] == code))
        states.append(state)
    return states


def _row(rows, states: list[int]) -> int:
    """The row of an anchor and the states beside it, the nearest first."""
    row = states[0]
    for state in states[1:]:
        row = int(next(each for each in rows.longer(row) if rows.farthest[each] == state))
    return row


def _ratios(graph, symbols, states, kappa, following, phase, *, forwards: bool):
    """α(y, φ)/α(own) or β(y, φ)/β(own) of one word at every step, by sums over single edges."""
    size, phases = graph.size, kappa.shape[1]
    now = np.zeros((size, phases))
    if forwards:
        now[states[0], phase] = 1.0
    else:
        now[:] = graph.final[:, None]
    order = range(graph.steps + 1) if forwards else range(graph.steps, -1, -1)
    for step in order:
        yield step, (now / now[states[step], phase]).ravel()
        at = step + 1 if forwards else step
        if at > graph.steps or at == 0:
            continue
        after = np.zeros_like(now)
        for x in range(size):
            for e in range(graph.first[x], graph.first[x + 1]):
                y = graph.other[e]
                level = graph.levels[graph.metric_at[at], symbols[at], graph.symbol[y]]
                for each in range(phases) if level >= 0 else ():
                    share = graph.weight[e] * kappa[level, each]
                    to = following[level, each]
                    if forwards:
                        after[y, to] += share * now[x, each]
                    else:
                        after[x, each] += share * now[y, to]
        now = after


# --- rates -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("nodes", [0, 40, None])
def test_the_returned_rate_keeps_within_the_budget(seed: int, nodes: int | None, not_enumerated: None) -> None:
    dice = random.Random(300 + seed)
    case = certain_case(dice, longest=4)
    epsilon = Fraction(dice.choice([1, 2, 4, 8]))
    found = certify_cost(case.weighting, epsilon=epsilon, nodes=nodes, evaluations=5)
    if case.weighting.drops == 0:
        assert found.loss == 0
        return
    exact = exact_loss(case.weighting, found.rate)
    assert exact * (1 - 1e-13) <= float(found.loss) <= epsilon
    assert found.rate >= epsilon / (2 * case.weighting.drops)
    assert found.worst_found <= exact + 1e-9
    if found.ruled_out < epsilon / case.weighting.drops * (1 - 1e-9):
        assert exact_loss(case.weighting, Fraction(found.ruled_out)) >= float(epsilon) * (1 - 1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_few_words_are_enumerated(seed: int) -> None:
    case = certain_case(random.Random(600 + seed), longest=5, adjacent=True)
    found = certify_cost(case.weighting, epsilon=Fraction(2))
    exact = exact_loss(case.weighting, found.rate)
    assert exact * (1 - 1e-13) <= float(found.loss) <= 2
    assert found.how in ("exact", "classic")
    assert found.worst_found <= exact + 1e-9


def test_the_demo_network_to_three_percent_and_never_below_the_older_certificate() -> None:
    words = sv.runs(town(), 9)
    weighting = Weighting(language=words, cost=hamming(words), adjacency=1)
    found = certify_cost(weighting, epsilon=Fraction(3))
    assert found.loss <= 3
    assert found.worst_found <= found.loss
    assert 2.3 < found.rate <= found.ruled_out < 1.03 * found.rate
    assert found.rate >= certified_rate(words, epsilon=Fraction(3), adjacency=1).rate
    one, two = found.worst_pair
    assert pair_losses(weighting, found.rate, one[None, :], two[None, :])[0] == pytest.approx(found.worst_found)


def test_pairs_get_worse_and_stay_pairs() -> None:
    words = sv.runs(town(), 5)
    weighting = Weighting(language=words, cost=hamming(words), adjacency=2)
    found = searched_loss(weighting, Fraction(3, 2), ProofEffort(nodes=20))
    worst, (one, two) = worse_pair(weighting, Fraction(3, 2), found.pairs[-1])
    assert worst >= pair_losses(weighting, Fraction(3, 2), *(word[None, :] for word in found.pairs[-1]))[0]
    assert is_feasible(words, np.stack([one, two])).all()
    assert 0 < (one != two).sum() <= 2
    assert worst <= float(searched_loss(weighting, Fraction(3, 2), ProofEffort(nodes=1000)).loss)


# --- kept, told, ended -----------------------------------------------------------------------------


def _kept_setting() -> Weighting:
    words = sv.runs(town(), 4)
    return Weighting(language=words, cost=swap(words, adjacency=1), adjacency=1)


def test_a_kept_rate_is_proved_again(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = certify_cost(_kept_setting(), epsilon=Fraction(3), evaluations=4)
    (file,) = own_cache.glob("*.json")
    tried = []
    real = rates.proved_loss
    monkeypatch.setattr(rates, "proved_loss", lambda *given, **named: tried.append(given[1]) or real(*given, **named))
    clear_answers()
    again = certify_cost(_kept_setting(), epsilon=Fraction(3), evaluations=4)
    assert tried == [first.rate]  # one decision, no search
    assert (again.rate, again.loss, again.how) == (first.rate, first.loss, first.how)
    assert again.worst_found == pytest.approx(first.worst_found)
    entry = json.loads(file.read_text())
    for wrong in ("1000000", str(first.rate * 3), "nothing", "0", "-1", "1/0"):
        file.write_text(json.dumps(entry | {"rate": wrong, "pair": "1 2|3"}))
        clear_answers()
        assert certify_cost(_kept_setting(), epsilon=Fraction(3), evaluations=4).rate == first.rate


def test_progress_grows_and_may_end_the_search(own_cache: Path) -> None:
    told: list[tuple[int, int]] = []
    certify_cost(_kept_setting(), epsilon=Fraction(2), evaluations=2, progress=lambda done, of: told.append((done, of)))
    assert told
    assert all(0 <= done <= of for done, of in told)
    assert [done for done, _ in told] == sorted(done for done, _ in told)

    def enough(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        certify_cost(_kept_setting(), epsilon=Fraction(4), evaluations=2, progress=enough)


def test_without_adjacent_words_nothing_is_lost() -> None:
    words = sv.runs(sv.MarkovChain.from_transitions([("a", "b", 1), ("b", "a", 1)]), 7, public_start=True)
    found = searched_loss(Weighting(language=words, cost=hamming(words), adjacency=2), Fraction(1))
    assert found.loss == 0
    assert math.isfinite(found.worst_found)


def test_more_different_costs_than_the_loops_can_number_keep_the_classic_bound() -> None:
    chooser = random.Random(1)
    symbols = [f"s{index}" for index in range(400)]
    chain = sv.MarkovChain.from_transitions([(symbols[0], symbols[0], 1)], states=symbols)
    places = {symbol: (chooser.randint(0, 10**6), chooser.randint(0, 10**6)) for symbol in symbols}
    table = sv.CostTable.from_places(places, metres_per_unit=1)
    mechanism = sv.Exponential(sv.runs(chain, 1), epsilon=2, adjacency=1, costs=table)
    assert len(mechanism.plain_cost.values) > 2**16
    assert mechanism.guarantee == sv.Guarantee(epsilon=2.0, how="classic")


@pytest.mark.usefixtures("not_enumerated")
def test_where_few_rates_can_be_tried_a_large_budget_needs_one(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rates, "rates_that_can_be_tried", lambda _: rates.FEW_EVALUATIONS)
    tried: list[Fraction] = []
    real = rates.proved_loss
    monkeypatch.setattr(rates, "proved_loss", lambda *given, **named: tried.append(given[1]) or real(*given, **named))
    words = sv.runs(grid_roads(4, seed=3), 8, public_start=True)
    cost = swap(words, adjacency=2, cap=6).staircase(period=2, first_step=1)
    weighting = Weighting(language=words, cost=cost, adjacency=2)
    found = certify_cost(weighting, epsilon=Fraction(16))
    assert found.how == "certified"
    assert tried == [found.rate]
    assert found.rate > Fraction(159, 10)
    tried.clear()
    small = certify_cost(weighting, epsilon=Fraction(2))  # where that fails, what was missing says where to go on
    assert 1 < len(tried) <= rates.FEW_EVALUATIONS
    assert tried == sorted(tried, reverse=True) or small.how == "certified"
    assert small.loss <= 2
    assert 1 <= small.rate < Fraction(2)


@pytest.mark.usefixtures("not_enumerated")
@pytest.mark.parametrize(
    ("possible", "stalled", "most", "count"),
    [
        (rates.MOST_EVALUATIONS, True, Fraction(2), 2),
        (rates.MOST_EVALUATIONS, False, Fraction(2), 5),  # the last is the classic rate, whose loss may still be less
        (rates.FEW_EVALUATIONS, True, Fraction(2), 1),
        (rates.FEW_EVALUATIONS, False, Fraction(2), 3),
        (rates.FEW_EVALUATIONS, False, Fraction(7, 5), 1),  # a pair leaves little to be won
    ],
)
def test_a_search_ends_where_nothing_can_be_proved(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch, possible: int, stalled: bool, most: Fraction, count: int
) -> None:
    monkeypatch.setattr(rates, "rates_that_can_be_tried", lambda _: possible)
    monkeypatch.setattr(rates._BlockSearch, "ruled_out", lambda self: most * self.classic)
    tried: list[Fraction] = []

    def nothing(weighting: Weighting, rate: Fraction, _: ProofEffort) -> ProvedLoss:
        tried.append(rate)
        classic = 2 * weighting.drops * rate
        return ProvedLoss(classic, "classic", reached=float(classic) if stalled else math.inf, stalled=stalled)

    monkeypatch.setattr(rates, "proved_loss", nothing)
    words = sv.runs(grid_roads(4, seed=3), 8, public_start=True)
    weighting = Weighting(language=words, cost=swap(words, adjacency=2, cap=6), adjacency=2)
    found = certify_cost(weighting, epsilon=Fraction(3))
    assert (found.rate, found.loss, found.how) == (Fraction(3, 4), 3, "classic")
    assert len(tried) == count
    assert tried == sorted(tried, reverse=True)
    tried.clear()
    clear_answers()
    again = certify_cost(weighting, epsilon=Fraction(3))
    assert not tried  # the classic rate needs no proof
    assert (again.rate, again.loss, again.how) == (found.rate, found.loss, found.how)


@pytest.mark.usefixtures("not_enumerated")
def test_a_bound_that_is_no_better_than_the_triangle_inequality_says_so() -> None:
    words = sv.runs(town(), 7)
    weighting = Weighting(language=words, cost=swap(words, adjacency=1), adjacency=1)
    wide = searched_loss(weighting, Fraction(9, 10), ProofEffort(within=Fraction(8, 5), nodes=1, window=0))
    narrow = searched_loss(weighting, Fraction(6), ProofEffort(within=Fraction(13, 2), nodes=1, window=0))
    assert (wide.stalled, wide.loss) == (True, Fraction(9, 5))
    assert (narrow.stalled, narrow.loss <= Fraction(13, 2)) == (False, True)


@pytest.mark.usefixtures("not_enumerated")
def test_large_rates_come_within_a_fiftieth_of_what_is_ruled_out(own_cache: Path) -> None:
    words = sv.runs(grid_roads(4, seed=3), 8, public_start=True)
    cost = swap(words, adjacency=2, cap=6).staircase(period=2, first_step=1)
    found = certify_cost(Weighting(language=words, cost=cost, adjacency=2), epsilon=Fraction(9))
    assert found.how == "certified"
    assert found.ruled_out is not None
    assert found.ruled_out - 0.02 <= found.rate < found.ruled_out  # 1 1/4 % of it would be a tenth of the error
