"""Graceful certificates (docs/theory/certificates.md): what every detour loses, against enumeration."""

from __future__ import annotations

import csv
import gzip
import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from calibration_oracle import random_actions, random_automaton
from graceful_oracle import MOST_WORDS, GracefulCase, random_graceful_case

import symveil as sv
from symveil.calibration import detours
from symveil.calibration.affordable import splits
from symveil.calibration.answers import clear_answers
from symveil.calibration.costs.blocks import INNER, Kind, total_over_blocks
from symveil.calibration.costs.graph import cost_graph
from symveil.calibration.costs.loss import searched_loss
from symveil.calibration.costs.search import BlockSearch
from symveil.calibration.detours import detour_ratios
from symveil.calibration.graceful import GracefulProof, certified_graceful_rate
from symveil.calibration.halves.blocks import BlockComparison, WindowSpread
from symveil.calibration.halves.tables import HalfTables, Worst
from symveil.calibration.limits import LIMITS
from symveil.calibration.search import ProofEffort
from symveil.calibration.weighting import Weighting
from symveil.errors import ModelError
from symveil.examples.paper_systems import town
from symveil.languages.costs import hamming

NETWORK = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "shanghai_adjacency.csv.gz"
PARTS = 10  # of a long run, so that each ends in time
ROUNDING = 1e-12  # of the oracle's sums


@pytest.fixture
def nothing_enumerated() -> Iterator[None]:
    """Small languages are proved as large ones are."""
    with LIMITS.changed(words=0, balanced_words=0):
        yield


def ratios_of(case: GracefulCase, window: int, *, near_ends: int = 2) -> dict[Kind, float]:
    """What `detour_ratios` bounds with windows of a length."""
    graph = cost_graph(case.weighting.weights(case.rate))
    search = BlockSearch(graph, 2, largest_step=1.0, window=min(window, graph.steps), near_ends=near_ends)
    return detour_ratios(graph, search.left, search.right)


def exceeded(case: GracefulCase, window: int, **options: Any) -> list[Kind]:
    """Kinds of blocks for which a pair of words is worse than the bound, or that were overlooked."""
    bounds = ratios_of(case, window, **options)
    return [kind for kind, exact in case.detours().items() if bounds.get(kind, -1.0) < exact - ROUNDING]


def check_detours(seed: int) -> int:
    """All lengths and windows of one random chain; how many bounds were compared."""
    dice = random.Random(seed)
    case = random_graceful_case(dice)
    assert cost_graph(case.weighting.weights(case.rate)).is_bounded
    for window in range(4):
        assert exceeded(case, window, near_ends=dice.choice([0, 1, 2])) == [], (seed, window)
    return 4 * len(case.detours())


def check_proofs(seed: int) -> int:
    """Both proofs of one random chain, for losses around the true one; how many there were."""
    case = random_graceful_case(random.Random(seed))
    exact = case.per_position()
    if exact == 0:
        return 0
    proof, count = GracefulProof(case.weighting), 0
    for near in (0.97, 1.0001, 1.1, 1.5):
        most = Fraction(exact * near)
        for way, able in ((proof._by_halves, proof.by_halves), (proof._by_detours, proof._searched > 0)):
            if able:
                result = way(case.rate, most, ProofEffort())
                assert result.loss > most or float(result.loss) >= exact * (1 - ROUNDING), (seed, near, way)
                assert near > 1 or result.loss > most, (seed, near, way)
                count += 1
    return count


# --- soundness --------------------------------------------------------------------------------------


def test_no_detour_of_any_length_exceeds_its_bound() -> None:
    assert sum(check_detours(seed) for seed in range(80)) > 1300


@LIMITS.changed(box_bytes=1, window_bytes=1)
def test_boxes_merged_over_positions_bound_detours_too() -> None:
    assert sum(check_detours(seed) for seed in range(5000, 5030)) > 400


def test_no_pair_of_words_exceeds_what_either_proof_proves() -> None:
    assert sum(check_proofs(seed) for seed in range(30)) > 100


@pytest.mark.soak
@pytest.mark.parametrize("part", range(PARTS))
def test_ten_thousand_cases(part: int) -> None:
    size = 1000
    compared = sum(check_detours(seed) for seed in range(100_000 + part * size, 100_000 + (part + 1) * size))
    proved = sum(check_proofs(seed) for seed in range(200_000 + part * size // 5, 200_000 + (part + 1) * size // 5))
    assert compared > 15_000
    assert proved > 800


def spread_of(case: GracefulCase, shortest: int) -> dict[int, float]:
    weighting = replace(case.weighting, adjacency=shortest - 1)
    tables = HalfTables(weighting, weighting.weights(case.rate))
    cut = splits(weighting.language.length, shortest - 1, public_start=tables.begin > 0)[1]
    spread = WindowSpread(tables, cut, shortest)
    for _ in BlockComparison(tables, also=spread.add).compare(Worst()):
        pass
    return spread.log_ratios()


@pytest.mark.parametrize("shortest", [2, 3])
def test_windows_of_halves_are_exact(shortest: int) -> None:
    dice, count = random.Random(shortest), 0
    while count < 40:
        case = random_graceful_case(dice, least=shortest + 2)
        exact = case.windows()
        for size, ratio in spread_of(case, shortest).items():
            assert ratio == pytest.approx(exact[size], abs=1e-9), (count, size)
        count += 1


def test_windows_that_are_too_many_are_bounded_by_longer_ones() -> None:
    dice = random.Random(9)
    looser = 0
    for _ in range(30):
        case = random_graceful_case(dice, least=5)
        with LIMITS.changed(compared_halves=4):
            merged = spread_of(case, 3)
        exact = case.windows()
        assert all(merged[size] >= exact[size] - 1e-9 for size in merged)
        looser += any(merged[size] > exact[size] + 1e-6 for size in merged)
    assert looser > 5  # the limit was met


# --- each line that would be unsound without its rule -----------------------------------------------


def violations(seeds: range, window: int, *, balanced: bool | None = None) -> int:
    cases = (random_graceful_case(random.Random(seed), balanced=balanced) for seed in seeds)
    return sum(bool(exceeded(case, window)) for case in cases)


def test_boxes_of_inner_positions_only_would_not_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first boxes, those of windows shorter than h, and the last positions belong to the hull."""
    assert violations(range(60), 1) == 0
    whole = detours._known_rows

    def inner(boxes: Any, steps: int, *, forwards: bool) -> Any:
        slots = boxes.slot_of.copy()
        slots[[0, 1, -2, -1]] = slots[len(slots) // 2]  # what is there near both ends is that of the middle
        return whole(replace(boxes, slot_of=slots), steps, forwards=forwards)

    monkeypatch.setattr(detours, "_known_rows", inner)
    assert violations(range(60), 1) > 5


def test_with_a_balance_words_meet_a_step_later(monkeypatch: pytest.MonkeyPatch) -> None:
    assert violations(range(60), 1, balanced=True) == 0
    monkeypatch.setattr(detours, "_tail_steps", lambda _: 1)
    assert violations(range(60), 1, balanced=True) > 5


def test_with_a_balance_a_block_may_be_followed_by_the_last_symbol_alone() -> None:
    """Its words end in different edges: it is no block that meets, but it counts as an inner one."""
    count = 0
    for seed in range(40):
        case = random_graceful_case(random.Random(seed), balanced=True, least=3)
        steps = cost_graph(case.weighting.weights(case.rate)).steps
        exact, bounds = case.detours(), ratios_of(case, 1)
        longest = Kind(INNER, steps - 1)
        if exact.get(longest, 0.0) > 0:
            assert bounds[longest] >= exact[longest] - ROUNDING
            count += 1
    assert count > 3


def test_words_may_meet_with_different_windows_before_the_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest ln E⁺ and the smallest ln E⁻ are taken over all windows of a state, not within one."""
    assert violations(range(60), 1) == 0
    whole = detours._meetings

    def one_window(graph: Any, rows: Any, ends: Any) -> Any:
        first, low, high = whole(graph, rows, ends)
        level = low.copy()
        for state in np.unique(rows.state):
            entries = np.concatenate([np.arange(first[u], first[u + 1]) for u in np.flatnonzero(rows.state == state)])
            if len(entries):  # as if what lies between two windows of a state were nothing
                level[entries] = low[entries].max()
        return first, level, level + (high - low)

    monkeypatch.setattr(detours, "_meetings", one_window)
    assert violations(range(60), 1) > 3


def test_what_short_blocks_lose_together_does_not_say_what_each_loses() -> None:
    """(b, ε) := (ℓ₀, ρℓ₀) within its budget is no proof that each kind is within ρℓ."""
    worth = {Kind(INNER, 1): Fraction(7, 5), Kind(INNER, 2): Fraction(2)}
    assert total_over_blocks(worth, 3, 2) <= 2  # no room for two blocks of one symbol
    assert worth[Kind(INNER, 1)] > 1
    together = alone = 0
    for seed in range(80):
        case = random_graceful_case(random.Random(seed), least=3)
        if case.weighting.farthest < 2:
            continue
        pairs, per_position = 2, case.per_position()
        bound = searched_loss(replace(case.weighting, adjacency=pairs), case.rate, ProofEffort(nodes=100_000))
        share = bound.loss / pairs
        if float(share) < per_position * (1 - 1e-9):
            together += 1
            result = GracefulProof(case.weighting)._by_detours(case.rate, share, ProofEffort())
            alone += result.loss > share
    assert together == alone > 3


def test_a_smaller_rate_may_lose_more() -> None:
    rows = [("s", "a"), ("s", "c"), ("a", "b"), ("b", "b"), ("c", "b")]
    rows += [("c", f"x{i}") for i in range(4)] + [(f"x{i}", f"x{j}") for i in range(4) for j in range(4)]
    degree = Counter(source for source, _ in rows)
    chain = sv.MarkovChain.from_transitions([(s, t, Fraction(1, degree[s])) for s, t in rows], initial="s")
    words = sv.runs(chain, 6)
    assert words.size < MOST_WORDS
    weighting = Weighting(language=words, cost=hamming(words), adjacency=1)
    low, high = GracefulCase(weighting, Fraction(6, 5)), GracefulCase(weighting, Fraction(7, 5))
    proof, most = GracefulProof(weighting), Fraction(181, 100)
    assert low.per_position() > most > high.per_position()
    assert proof.per_position(high.rate, most).loss <= most < proof.per_position(low.rate, most).loss


def test_automata_have_no_certificate_of_detours() -> None:
    """A detour of an automaton may be longer than its changes; Σⁿ as a graph of one state has 3η for three places."""
    dice = random.Random(4)
    models = [random_actions(dice) for _ in range(5)] + [random_automaton(dice) for _ in range(5)]
    for model in models:
        try:
            words = sv.runs(model, 5)
        except ModelError:
            continue
        if words.largest_distance and not words.graph.state_is_symbol:
            proof = GracefulProof(Weighting(language=words, cost=hamming(words), adjacency=1))
            assert not proof.is_affordable
            assert not proof.by_halves
            assert proof.per_position(Fraction(1), Fraction(1)).loss == 2


# --- the search -------------------------------------------------------------------------------------


def test_a_rate_is_near_what_all_pairs_allow_and_proved_once_more_from_the_disk(
    nothing_enumerated: None, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(3)
    proved = 0
    tried: list[Fraction] = []
    whole = GracefulProof.per_position

    def counted(self: GracefulProof, rate: Fraction, *rest: Any, **more: Any) -> Any:
        tried.append(rate)
        return whole(self, rate, *rest, **more)

    monkeypatch.setattr(GracefulProof, "per_position", counted)
    for _ in range(12):
        case = random_graceful_case(dice, least=5, balanced=False)
        if case.weighting.farthest < 2:
            continue
        most = Fraction(dice.choice([1, 2, 4]))
        result = certified_graceful_rate(case.weighting, per_position=most)
        if result is None:
            continue
        proved += 1
        assert most / 2 < result.rate <= most
        assert GracefulCase(case.weighting, result.rate).per_position() <= most
        assert result.how == "certified"
        assert result.loss <= most * case.weighting.adjacency
        clear_answers()
        tried.clear()
        again = certified_graceful_rate(case.weighting, per_position=most)
        assert again is not None
        assert tried == [result.rate] == [again.rate]
        assert again.loss == result.loss
    assert proved > 4


def test_a_stored_rate_that_loses_too_much_is_not_believed(
    nothing_enumerated: None, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = next(
        case
        for case in (random_graceful_case(random.Random(seed), least=5, balanced=False) for seed in range(100))
        if case.weighting.farthest > 1 and certified_graceful_rate(case.weighting, per_position=Fraction(2)) is not None
    )
    honest = certified_graceful_rate(case.weighting, per_position=Fraction(2))
    for file in own_cache.glob("*.json"):
        entry = json.loads(file.read_text())
        file.write_text(json.dumps({**entry, "rate": "2"}))
    clear_answers()
    assert certified_graceful_rate(case.weighting, per_position=Fraction(2)) == honest


def test_one_proof_serves_words_of_all_lengths(nothing_enumerated: None) -> None:
    """Padded words: enumeration at every length at the rate that is proved for all of them."""
    count = 0
    for seed in range(60):
        case = random_graceful_case(random.Random(seed), least=4, balanced=False)
        weighting = replace(case.weighting, with_prior=False)
        covering = weighting.covering
        if not covering.with_shorter:
            continue
        proof, most = GracefulProof(covering), Fraction(2)
        result = proof.per_position(case.rate, most)
        count += result.loss <= most
        for length in range(1, case.weighting.language.length + 1):
            try:
                language = replace(weighting.language, length=length)
            except ModelError:
                continue
            if language.size < 2 or language.largest_distance == 0:
                continue
            shorter = replace(weighting, language=language, cost=hamming(language), adjacency=1)
            exact = GracefulCase(shorter, case.rate).per_position()
            assert result.loss > most or float(result.loss) >= exact * (1 - ROUNDING), (seed, length)
    assert count > 5


def test_the_graceful_mechanism_of_many_words_says_how_it_is_known() -> None:
    rows = [("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)]
    words = sv.runs(sv.MarkovChain.from_transitions(rows), length=24)
    mechanism = sv.Exponential(words, epsilon=6, adjacency=3, beyond="graceful")
    assert mechanism.guarantee.how == "certified"
    assert mechanism.guarantee.epsilon <= 6
    assert Fraction(3, 2) < mechanism.rate < 2
    assert all(mechanism.loss_at(d) <= 2 * d * (1 + 1e-12) for d in range(1, 24))
    chosen = sv.select_mechanism(words, epsilon=6, adjacency=3)
    assert chosen.guarantee.how in ("certified", "exact")
    assert "certificate" not in chosen.described


def test_words_of_three_symbols_are_halves_too() -> None:
    """Paths of wide chains, of which there are too many to look at blocks."""
    dice, names = random.Random(1), [f"s{number}" for number in range(40)]
    rows = [(name, to, Fraction(1, 12)) for name in names for to in dice.sample(names, 12)]
    words = sv.runs(sv.MarkovChain.from_transitions(rows, states=names), length=3)  # 5,760
    weighting = Weighting(language=words, cost=hamming(words), adjacency=1)
    exactly = certified_graceful_rate(weighting, per_position=Fraction(4))
    with LIMITS.changed(words=1000):
        assert GracefulProof(weighting).by_halves
        result = certified_graceful_rate(weighting, per_position=Fraction(4))
    assert result is not None
    assert exactly is not None
    assert (result.how, exactly.how) == ("certified", "exact")
    assert Fraction(3) < result.rate <= exactly.rate * Fraction(1_000_001, 1_000_000)


@pytest.mark.soak
@pytest.mark.parametrize(("balanced", "least"), [(False, Fraction(151, 100)), (True, Fraction(174, 100))])
def test_the_town_of_the_theory(balanced: bool, least: Fraction) -> None:
    words = sv.runs(town(), 9)
    weighting = Weighting(language=words, cost=hamming(words), adjacency=2, balanced=balanced)
    result = certified_graceful_rate(weighting, per_position=Fraction(2))
    assert result is not None
    assert least <= result.rate <= result.ruled_out


@pytest.mark.soak
@pytest.mark.skipif(not NETWORK.exists(), reason="the Shanghai network is not in ../shared/data")
@pytest.mark.parametrize(("per_position", "least"), [(4, Fraction(395, 100)), (2, Fraction(175, 100))])
def test_shanghai(per_position: int, least: Fraction) -> None:
    with gzip.open(NETWORK, "rt", encoding="utf-8") as file:
        moves = [(row["from_link"], row["to_link"]) for row in csv.DictReader(file)]
    degree = Counter(source for source, _ in moves)
    rows = [(source, target, Fraction(1, degree[source])) for source, target in moves]
    words = sv.runs(sv.MarkovChain.from_transitions(rows, states=[str(i) for i in range(714)]), 20, public_start=True)
    weighting = Weighting(language=words, cost=hamming(words), adjacency=4)
    result = certified_graceful_rate(weighting, per_position=Fraction(per_position))
    assert result is not None
    assert result.rate >= least
