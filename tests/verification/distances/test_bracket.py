"""Brackets on the true δ, against words counted out one by one."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings

from symveil.examples.paper_systems import pin_checker
from symveil.models.labelled_chain import LabelledChain
from symveil.verification.distances import bracket
from symveil.verification.limits import LIMITS
from symveil.verification.verify_privacy import verify_privacy

from . import oracle
from .chains import ALPHAS, labelled_chains


def ordered_pairs(chain: LabelledChain) -> list[tuple[str, str]]:
    names = [state for state in chain.states if state not in ("x", "y")][:3]
    return [(s, t) for s in names for t in names if s != t]


@settings(max_examples=25, deadline=None)
@given(chain=labelled_chains(most=6, ending=True), alpha=ALPHAS)
def test_the_truth_lies_in_every_bracket(chain: LabelledChain, alpha: Fraction) -> None:
    """Half of the mass stops in each step, so after T steps lv is known to within 2^−T by counting."""
    steps = 7
    wide = verify_privacy(chain, alpha=alpha, pairs=ordered_pairs(chain), horizon=2, symmetric=False)
    narrow = verify_privacy(chain, alpha=alpha, pairs=ordered_pairs(chain), symmetric=False)
    for verdict in (wide, narrow):
        for pair in verdict.pairs:
            seen = oracle.seen_difference(chain, pair.source, pair.target, alpha, steps)
            assert pair.ld is not None
            assert pair.lv.lower <= seen + Fraction(1, 2**steps)
            assert seen <= pair.lv.upper <= pair.ld.value
    for outer, inner in zip(wide.pairs, narrow.pairs, strict=True):
        assert outer.lv.lower <= inner.lv.lower <= inner.lv.upper <= outer.lv.upper
        assert inner.lv.upper - inner.lv.lower <= Fraction(1, 10**4)


@settings(max_examples=20, deadline=None)
@given(chain=labelled_chains(most=6), alpha=ALPHAS)
def test_chains_that_never_end(chain: LabelledChain, alpha: Fraction) -> None:
    """What the first labels tell is a lower bound, whatever follows."""
    verdict = verify_privacy(chain, alpha=alpha, pairs=ordered_pairs(chain), nodes=300, symmetric=False)
    for pair in verdict.pairs:
        assert pair.ld is not None
        assert oracle.seen_difference(chain, pair.source, pair.target, alpha, 6) <= pair.lv.upper <= pair.ld.value
        assert 0 <= pair.lv.lower <= pair.lv.upper <= 1


@settings(max_examples=12, deadline=None)
@given(chain=labelled_chains(most=6, ending=True), alpha=ALPHAS)
def test_the_compiled_bound_is_sound_and_close(chain: LabelledChain, alpha: Fraction) -> None:
    pairs = ordered_pairs(chain)
    exact = verify_privacy(chain, alpha=alpha, pairs=pairs, horizon=3, symmetric=False)
    with LIMITS.changed(small_pairs=-1):
        compiled = verify_privacy(chain, alpha=alpha, pairs=pairs, horizon=3, symmetric=False)
    for one, other in zip(exact.pairs, compiled.pairs, strict=True):
        assert one.lv.lower == other.lv.lower
        assert one.lv.upper <= other.lv.upper <= one.lv.upper + Fraction(1, 10**9)


@pytest.mark.parametrize("depth", [3, 5])
def test_chains_that_end_are_exact(depth: int) -> None:
    """A tree with two kinds of coins, and an end: the bracket closes on what counting gives."""
    rows, labels = [], {"s": "?", "t": "?", "end": "$"}
    for start, fair in (("s", Fraction(1, 2)), ("t", Fraction(2, 3))):
        layer = [start]
        for level in range(depth):
            following = []
            for state in layer:
                for side, chance in (("h", fair), ("t", 1 - fair)):
                    name = f"{state}{side}{level}"
                    labels[name] = side
                    rows.append((state, name, chance))
                    following.append(name)
            layer = following
        rows += [(state, "end", Fraction(1)) for state in layer]
    rows.append(("end", "end", Fraction(1)))
    chain = LabelledChain.from_transitions(rows, labels=labels, related=[("s", "t")])
    for alpha in (Fraction(1), Fraction(5, 4), Fraction(2)):
        verdict = verify_privacy(chain, alpha=alpha, symmetric=False)
        for pair in verdict.pairs:
            assert pair.lv.exact
            assert pair.lv.lower == oracle.seen_difference(chain, pair.source, pair.target, alpha, depth + 1)


def test_where_nodes_go_round_for_ever() -> None:
    """Two states that swap under one label beside one that stays: no more is learned, so lv = 0 at once."""
    rows = [("p", "q", 1), ("q", "p", 1), ("r", "r", 1)]
    chain = LabelledChain.from_transitions(rows, labels=dict.fromkeys("pqr", "a"))
    assert verify_privacy(chain, alpha=1, pairs=[("p", "r")]).delta.upper == 0
    # and with something to learn first: the same loop after one coin that differs
    rows += [("s", "p", "1/3"), ("s", "x", "2/3"), ("t", "q", "2/3"), ("t", "x", "1/3"), ("x", "x", 1)]
    labels = {**dict.fromkeys("pqr", "a"), "s": "?", "t": "?", "x": "x"}
    chain = LabelledChain.from_transitions(rows, labels=labels)
    verdict = verify_privacy(chain, alpha=1, pairs=[("s", "t")])
    assert verdict.delta.exact
    assert verdict.delta.upper == Fraction(1, 3)


def test_finitely_many_nodes_that_are_left_now_and_then() -> None:
    """The odds of the PIN checker come back every second label: a linear system gives lv exactly."""
    verdict = verify_privacy(pin_checker(), alpha=1, width="0.01")
    assert verdict.delta.upper - verdict.delta.lower <= Fraction(1, 100)
    narrow = verify_privacy(pin_checker(), alpha=1)
    assert narrow.delta.lower == narrow.delta.upper == Fraction(200, 2503)


def test_limits() -> None:
    chain = pin_checker()
    ends = [verify_privacy(chain, alpha="6/5", pairs=[("1", "0")], horizon=steps).delta for steps in range(8)]
    assert [end.lower for end in ends] == sorted(end.lower for end in ends)
    assert [end.upper for end in ends] == sorted((end.upper for end in ends), reverse=True)
    assert ends[0].lower == 0
    assert ends[0].upper == Fraction(200, 2597)  # U starts at ld
    few = verify_privacy(chain, alpha="6/5", pairs=[("1", "0")], nodes=2, width=0)
    assert few.delta.lower <= Fraction(791, 37545) <= few.delta.upper
    after_14 = verify_privacy(chain, alpha="6/5", pairs=[("1", "0")], horizon=14, width=0).delta
    assert Fraction(21, 1000) < after_14.lower < Fraction(791, 37545) < after_14.upper < Fraction(2112, 10**5)


def test_fractions_that_grow_too_long_are_rounded_on_the_sound_side(set_limits: Callable[..., None]) -> None:
    chain = pin_checker()
    exact = verify_privacy(chain, alpha="1.1", pairs=[("1", "0")], horizon=9, width=0).delta
    set_limits(LIMITS, bracket_bits=16, rounded_bits=20)
    rounded = verify_privacy(chain, alpha="1.1", pairs=[("1", "0")], horizon=9, width=0).delta
    assert rounded.lower < exact.lower <= Fraction(3791, 75090) <= exact.upper < rounded.upper
    assert rounded.upper - rounded.lower < exact.upper - exact.lower + Fraction(1, 1000)


@pytest.mark.parametrize("bits", range(1, 7))
@pytest.mark.parametrize("stays", [(Fraction(9, 10), Fraction(89, 100)), (Fraction(99, 100), Fraction(9, 10))])
def test_what_rounding_drops_on_the_way_back_to_a_node_is_counted(
    stays: tuple[Fraction, Fraction], bits: int, set_limits: Callable[..., None]
) -> None:
    """Rounded so coarsely, the odds come back to themselves: the mass that is lost on every round must not vanish."""
    mine, theirs = stays
    rows = [("s", "s", mine), ("s", "A", 1 - mine), ("t", "t", theirs), ("t", "A", 1 - theirs), ("A", "A", 1)]
    chain = LabelledChain.from_transitions(rows, labels={"s": "x", "t": "x", "A": "A"})
    set_limits(LIMITS, bracket_bits=0, rounded_bits=bits)
    for alpha in (Fraction(1), Fraction(6, 5), Fraction(3, 2)):
        # the odds rise with every x: the best event is "at least n of them"
        truth = max(mine**n - alpha * theirs**n for n in range(100))
        found = verify_privacy(chain, alpha=alpha, pairs=[("s", "t")], nodes=50, symmetric=False).delta
        assert found.lower <= max(truth, Fraction(0)) <= found.upper


def test_wide_nodes_use_up_the_budget_sooner() -> None:
    size = 40
    rows = [(f"s{i}", f"s{(i * k + 1) % size}", Fraction(1, 3)) for i in range(size) for k in (3, 7, 11)]
    merged: dict[tuple[str, str], Fraction] = {}
    for source, target, chance in rows:
        merged[source, target] = merged.get((source, target), Fraction(0)) + chance
    chain = LabelledChain.from_transitions(
        [(s, t, chance) for (s, t), chance in merged.items()],
        labels={f"s{i}": "b" if i % 5 == 0 else "a" for i in range(size)},
    )
    verdict = verify_privacy(chain, alpha="1.1", pairs=[("s1", "s2")], nodes=200, symmetric=False)
    assert verdict.delta.nodes <= 200


def hand_over_after(nodes: int) -> dict[str, int]:
    """The limits with which searches on small chains go on in floats after so many nodes."""
    return {"patience": nodes, "patient_visits": nodes}


@settings(max_examples=12, deadline=None)
@given(chain=labelled_chains(most=6, ending=True), alpha=ALPHAS)
def test_rounded_searches_hold_the_truth_and_stay_close_to_rational_ones(chain: LabelledChain, alpha: Fraction) -> None:
    """Every chain made to go through floats, also where it would be left to rationals: counting and rationals agree."""
    steps, pairs = 7, ordered_pairs(chain)
    exact = verify_privacy(chain, alpha=alpha, pairs=pairs, nodes=400, width="1/100000000", symmetric=False)
    with LIMITS.changed(small_pairs=-1, short_search=0, showing=1e300):
        rounded = verify_privacy(chain, alpha=alpha, pairs=pairs, nodes=400, width="1/100000000", symmetric=False)
    with LIMITS.changed(**hand_over_after(3), short_search=0, showing=1e300):
        handed = verify_privacy(chain, alpha=alpha, pairs=pairs, nodes=400, width="1/100000000", symmetric=False)
    for one, other in zip(exact.pairs, handed.pairs, strict=True):
        assert one.lv == other.lv or not one.lv.exact
        assert one.lv.lower <= other.lv.lower + Fraction(1, 10**12)
        assert other.lv.upper <= one.lv.upper + Fraction(1, 10**12)
    for one, other in zip(exact.pairs * 2, rounded.pairs + handed.pairs, strict=True):
        seen = oracle.seen_difference(chain, one.source, one.target, alpha, steps)
        assert other.lv.lower <= seen + Fraction(1, 2**steps)
        assert seen <= other.lv.upper
        # both are proved, so they meet
        assert max(one.lv.lower, other.lv.lower) <= min(one.lv.upper, other.lv.upper)
        assert other.lv.upper - other.lv.lower <= one.lv.upper - one.lv.lower + Fraction(1, 10**7)


def random_chain(size: int, *, seed: int) -> LabelledChain:
    """Three successors each with random weights, and two labels in turn."""
    draw = random.Random(seed)
    rows = []
    for place in range(size):
        targets = draw.sample(range(size), 3)
        weights = [draw.randint(1, 1000) for _ in targets]
        rows += [(f"{place}", f"{t}", Fraction(w, sum(weights))) for t, w in zip(targets, weights, strict=True)]
    return LabelledChain.from_transitions(rows, labels={f"{place}": f"{place % 2}" for place in range(size)})


def test_a_large_search_in_floats_lies_around_the_rational_one(set_limits: Callable[..., None]) -> None:
    """The same nodes in the same order: the ends differ by what rounding adds, on the sound side of either."""
    chain = random_chain(24, seed=3)
    asked = {"alpha": "6/5", "pairs": [("0", "2")], "nodes": 150, "symmetric": False}
    rounded = verify_privacy(chain, **asked).delta
    set_limits(LIMITS, short_search=10**9, narrow_node=24)
    rational = verify_privacy(chain, **asked).delta
    assert rounded.lower.denominator & (rounded.lower.denominator - 1) == 0  # it was a float
    assert rounded.nodes == rational.nodes > 64
    assert rational.lower - Fraction(1, 10**11) <= rounded.lower <= rational.lower
    assert rational.upper - Fraction(1, 10**12) <= rounded.upper <= rational.upper + Fraction(1, 10**11)


@pytest.mark.parametrize(("size", "seed", "level"), [(8, 2, {"alpha": "6/5"}), (12, 2, {"epsilon": "0.1"})])
def test_a_long_search_on_a_small_chain_goes_on_in_floats(
    size: int, seed: int, level: dict[str, str], set_limits: Callable[..., None]
) -> None:
    """Never looser than rationals with the same limits, by more than rounding; and what is asked is decided alike."""
    chain, limits = random_chain(size, seed=seed), {"pairs": [("0", "2")], "nodes": 900, "symmetric": False}
    handed = verify_privacy(chain, **level, **limits).delta
    closer = verify_privacy(chain, **level, **limits | {"nodes": 20_000}).delta
    asked = [closer.lower - Fraction(1, 10**6), (handed.lower + handed.upper) / 2, handed.upper]
    answers = [verify_privacy(chain, **level, **limits, delta=delta).holds for delta in asked]
    set_limits(LIMITS, **hand_over_after(10**9))
    rational = verify_privacy(chain, **level, **limits).delta
    assert handed.upper.denominator & (handed.upper.denominator - 1) == 0  # it was a float
    assert 500 < handed.nodes <= 900 * 5 // 4 + size
    assert rational.lower - Fraction(1, 10**12) <= handed.lower <= closer.upper
    assert closer.lower <= handed.upper <= rational.upper + Fraction(1, 10**12)
    assert closer.upper - closer.lower < handed.upper - handed.lower
    assert answers[0] is not True
    assert answers[1:] == [None, True]


def test_exact_values_are_kept_where_floats_are_asked_first(set_limits: Callable[..., None]) -> None:
    """The PIN checker has few nodes, all of which are read: its value is solved for, and decides what is asked."""
    value = Fraction(200, 2503)
    set_limits(LIMITS, **hand_over_after(1), short_search=0, showing=1e300)
    narrow = verify_privacy(pin_checker(), alpha=1)
    assert narrow.delta.lower == narrow.delta.upper == value
    assert verify_privacy(pin_checker(), alpha=1, delta=value).holds is True
    assert verify_privacy(pin_checker(), alpha=1, delta=value - Fraction(1, 10**30)).holds is False


def test_a_question_next_to_an_end_is_left_to_rationals() -> None:
    ends = bracket.Bracket(lower=Fraction(1, 4), upper=Fraction(3, 4), nodes=1000, all_read=False)
    tiny = Fraction(1, 10**12)
    assert ends.is_close_to(ends.lower)
    assert ends.is_close_to(ends.upper - tiny)
    assert not ends.is_close_to(ends.upper)  # holds, whatever rounding did
    assert not ends.is_close_to(ends.lower - tiny)
    assert not ends.is_close_to(Fraction(1, 2))
