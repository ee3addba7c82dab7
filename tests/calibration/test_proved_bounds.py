"""Every proved bound against the loss from its definition: never below it, on thousands of small systems."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from calibration_oracle import (
    Case,
    automaton_case,
    certified_loss,
    chain_case,
    enumerated,
    random_chain_case,
    random_system_case,
    seeded,
)
from hypothesis import assume, given
from hypothesis import strategies as st

from symveil.calibration import block_bounds, windows
from symveil.calibration.block_bounds import Hull, box_hulls, chain_bounds, chain_loss, chain_search
from symveil.calibration.certify import spread_bound
from symveil.calibration.costs.blocks import FINAL, total_over_blocks
from symveil.calibration.limits import LIMITS
from symveil.calibration.windows import window_loss, window_search
from symveil.languages.runs import runs
from symveil.models.automaton import TransitionSystem
from symveil.models.markov_chain import MarkovChain

RATES = ["0.01", "0.2", "0.5", "1", "2", "3", "4", "8"]
ROUNDING = 1e-12  # of the oracle, which uses plain floats

Bound = Callable[[Case, Fraction, int, random.Random], Fraction | None]


def by_blocks(case: Case, rate: Fraction, adjacency: int, _: random.Random) -> Fraction | None:
    search = chain_search(case.language, adjacency=adjacency, with_prior=case.with_prior)
    assert search is not None
    return chain_loss(search, rate, adjacency)


def by_windows(case: Case, rate: Fraction, adjacency: int, dice: random.Random) -> Fraction | None:
    width = dice.choice([1, 1, 2, 3])
    search = window_search(case.language, adjacency=adjacency, with_prior=case.with_prior, width=width)
    return None if search is None else window_loss(search, rate)


def by_spread(case: Case, rate: Fraction, adjacency: int, _: random.Random) -> Fraction | None:
    bound = spread_bound(case.language, rate=rate, with_prior=case.with_prior)
    return min(adjacency, case.language.largest_distance) * rate + Fraction(bound)


def violations(bound: Bound, make: Callable[[random.Random], Case | None], seeds: range) -> tuple[list[int], int]:
    """The seeds where a bound lies below the true loss, and how many cases had adjacent words at all."""
    wrong, tried = [], 0
    for seed in seeds:
        dice = seeded(seed)
        case = make(dice)
        if case is None or len(case.weights) > 250:
            continue
        adjacency, rate = dice.randint(1, 3), Fraction(dice.choice(RATES))
        found = bound(case, rate, adjacency, dice)
        exact = case.loss(float(rate), adjacency)
        tried += found is not None and exact > 0
        if found is not None and float(found) < exact - ROUNDING:
            wrong.append(seed)
    return wrong, tried


METHODS = [
    pytest.param(by_blocks, random_chain_case, id="blocks-chains"),
    pytest.param(by_windows, random_chain_case, id="windows-chains"),
    pytest.param(by_windows, random_system_case, id="windows-automata"),
    pytest.param(by_spread, random_chain_case, id="spread-chains"),
    pytest.param(by_spread, random_system_case, id="spread-automata"),
]


@pytest.mark.parametrize(("bound", "make"), METHODS)
def test_no_bound_is_below_the_true_loss(bound: Bound, make: Callable[[random.Random], Case | None]) -> None:
    wrong, tried = violations(bound, make, range(400))
    assert wrong == []
    assert tried > 120


@pytest.mark.parametrize("by_paths", [False, True])
def test_the_cheaper_searches_are_sound_too(by_paths: bool) -> None:
    """Without pairs of paths, and without paths: what long blocks and dense graphs get."""
    with LIMITS.changed(quick_pair_work=0.0, quick_path_work=LIMITS.now.quick_path_work if by_paths else -1.0):
        wrong, tried = violations(by_blocks, random_chain_case, range(400))
    assert wrong == []
    assert tried > 120


@LIMITS.changed(quick_pair_work=0.0)
def test_a_dense_graph_touches_more_than_there_is_room_for_at_first() -> None:
    """From every state to every other the words are Σⁿ, whose loss is η·b exactly.

    See docs/theory/losses.md.
    """
    names = [f"s{number}" for number in range(17)]  # 17·17 pairs of ends
    chain = MarkovChain.from_transitions([(one, other, Fraction(1, 17)) for one in names for other in names])
    search = chain_search(runs(chain, 4), adjacency=1, with_prior=False)
    assert search is not None
    for rate in (Fraction(1), Fraction(5, 2)):
        assert rate <= chain_loss(search, rate, 1) <= rate + Fraction(1, 10**9)


def test_where_floats_give_no_spread_the_other_bounds_stand() -> None:
    """A prior of 10⁻⁴⁰ for each of twenty symbols: the least weight is below every float."""
    rare = Fraction(1, 10**40)
    chain = MarkovChain.from_transitions([("a", "a", rare), ("a", "b", 1 - rare), ("b", "a", 1)])
    rate = Fraction(100)
    for length, finite in ((2, True), (20, False)):
        language = runs(chain, length)
        assert (spread_bound(language, rate=rate, with_prior=True) < math.inf) is finite
        with LIMITS.changed(words=0):  # as if nothing could be enumerated
            loss, how = certified_loss(language, rate=rate, adjacency=1, with_prior=True)
        assert loss <= 2 * rate and how in ("certified", "classic")
        if finite:  # and few enough words to look at all of them
            case = enumerated(language, rate=rate, adjacency=1, with_prior=True)
            assert case.loss <= loss


@pytest.mark.soak
@pytest.mark.parametrize(("bound", "make"), METHODS)
def test_no_bound_is_below_the_true_loss_on_many_systems(
    bound: Bound, make: Callable[[random.Random], Case | None]
) -> None:
    wrong, tried = violations(bound, make, range(10_000, 20_000))
    assert wrong == []
    assert tried > 3000


@given(st.randoms(use_true_random=False), st.sampled_from(RATES), st.integers(1, 3), st.booleans())
def test_what_is_reported_is_never_below_the_true_loss(
    dice: random.Random, rate: str, adjacency: int, chains: bool
) -> None:
    case = random_chain_case(dice, longest=5) if chains else random_system_case(dice, longest=5)
    assume(case is not None and len(case.weights) <= 250)
    loss, _ = certified_loss(case.language, rate=Fraction(rate), adjacency=adjacency, with_prior=case.with_prior)
    exact = case.loss(float(Fraction(rate)), adjacency)
    assert exact - ROUNDING <= float(loss) <= 2 * adjacency * float(Fraction(rate)) + ROUNDING


# --- shapes that are easy to get wrong --------------------------------------------------------------

SHAPES = {
    "a self-loop each": [("a", "a"), ("a", "b"), ("b", "b"), ("b", "a")],
    "a dead end": [("a", "b"), ("a", "c"), ("b", "a"), ("b", "d"), ("c", "a")],
    "a way in, no way back": [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "e"), ("d", "d"), ("e", "d")],
    "a diamond": [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "a")],
    "a long and a short detour": [("a", "b"), ("b", "c"), ("c", "a"), ("a", "d"), ("d", "c"), ("d", "a"), ("c", "d")],
    "everything": list(itertools.product("abc", "abc")),
}


@pytest.mark.compiled
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("initial", [None, "a"])
@pytest.mark.parametrize("public_start", [False, True])
@pytest.mark.parametrize("with_prior", [False, True])
def test_shapes(shape: str, initial: str | None, public_start: bool, with_prior: bool) -> None:
    rows = SHAPES[shape]
    states = sorted({state for row in rows for state in row})
    out = {state: [target for source, target in rows if source == state] for state in states}
    share = {s: [Fraction(i + 1, len(out[s]) * (len(out[s]) + 1) // 2) for i in range(len(out[s]))] for s in states}
    model = MarkovChain.from_transitions(
        [(s, t, chance) for s in states for t, chance in zip(out[s], share[s], strict=True)],
        states=states,
        initial=initial,
    )
    dice = seeded(0)
    for length, adjacency, rate in itertools.product((1, 2, 3, 5), (1, 2, 3, 4), (Fraction(1, 3), Fraction(2))):
        case = chain_case(model, length, public_start=public_start, with_prior=with_prior)
        if case is None:
            continue
        exact = case.loss(float(rate), adjacency)
        for bound in (by_blocks, by_windows, by_spread):
            found = bound(case, rate, adjacency, dice)
            assert found is None or float(found) >= exact - ROUNDING, (bound, length, adjacency, rate)


def test_a_mismatch_counts_by_symbol_and_not_by_state() -> None:
    """Two actions lead to the same state: a bound that compares states would call the words equal."""
    model = TransitionSystem.from_transitions(
        [("p", "a", "q"), ("p", "b", "q"), ("q", "a", "p"), ("q", "c", "q")], initial="p"
    )
    case = automaton_case(model, 4)
    assert case is not None
    search = window_search(case.language, adjacency=2, width=2)
    assert search is not None
    loss = float(window_loss(search, Fraction(2)))
    assert case.loss(2.0, 2) - ROUNDING <= loss <= case.loss(2.0, 2) * 1.03


def test_long_words_close_the_hull_by_a_proof() -> None:
    """Beyond 64 steps the boxes are a set that a step maps into itself; it contains the boxes of all steps."""
    model = MarkovChain.from_transitions(
        [("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", "1/2"), ("b", "c", "1/2"), ("c", "a", 1)]
    )
    case = chain_case(model, 4)
    assert case is not None
    search = chain_search(case.language, adjacency=1, with_prior=False)
    assert search is not None
    decay = float(np.exp(-2.0))
    short, long, longer = (box_hulls(replace(search, length=length), decay)[1] for length in (60, 300, 3000))
    assert (long.low == longer.low).all()
    assert (long.high == longer.high).all()
    assert (long.low[:3] <= short.low[:3]).all()
    assert (long.high[:3] >= short.high[:3]).all()
    assert (long.high[:3] <= short.high[:3] * 1.00001).all()


# --- the tests tested: wrong bounds must be found out -----------------------------------------------


def _first_boxes_only(step: Callable[..., Hull], boxes: Hull, _: int) -> Hull:
    """Boxes of the first step alone, not of all positions."""
    found = _WHOLE_HULL(step, boxes, 0)
    return Hull(found.low, found.high, np.ones_like(found.valid))


def _narrow_boxes(step: Callable[..., Hull], boxes: Hull, steps: int) -> Hull:
    """The middle of each box instead of the box."""
    found = _WHOLE_HULL(step, boxes, steps)
    middle = np.where(found.valid[:, None], np.sqrt(found.low * found.high), 0.0)
    return Hull(middle, middle, found.valid)


_WHOLE_HULL = block_bounds._hull


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("broken", [_first_boxes_only, _narrow_boxes])
def test_a_hull_that_is_too_small_is_found_out(broken: Callable[..., Hull], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_bounds, "_hull", broken)
    wrong, _ = violations(by_blocks, random_chain_case, range(400))
    assert wrong


def test_boxes_that_are_too_small_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    true_boxes = windows.next_boxes

    def narrow(*arguments: object) -> tuple[np.ndarray, np.ndarray]:
        low, high = true_boxes(*arguments)  # type: ignore[arg-type]
        return np.sqrt(low * high), np.sqrt(low * high)

    monkeypatch.setattr(windows, "next_boxes", narrow)
    wrong, _ = violations(by_windows, random_chain_case, range(400))
    assert wrong


def test_forgetting_the_final_block_is_found_out() -> None:
    def without_end(case: Case, rate: Fraction, adjacency: int, _: random.Random) -> Fraction | None:
        search = chain_search(case.language, adjacency=adjacency, with_prior=case.with_prior)
        assert search is not None
        found = chain_bounds(search, rate, adjacency)
        inner = {kind: outcome for kind, outcome in found.items() if kind.where != FINAL}
        return total_over_blocks(inner, search.length, adjacency)

    wrong, _ = violations(without_end, random_chain_case, range(200))
    assert wrong
