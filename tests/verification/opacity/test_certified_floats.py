"""Where rationals would be too slow, floats with a proof: the bounds hold the exact value, and are near each other."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from by_definition import System
from hypothesis import given, settings
from hypothesis import strategies as st
from random_systems import ks, notions, seeds, stochastic_systems

import symveil as sv
from symveil.verification.opacity.estimators import estimator, read_question
from symveil.verification.opacity.observation import Observed
from symveil.verification.opacity.violation_chain import _solved, reaching_probability, violation_chain

NARROW = Fraction(1, 10**9)


def random_system(size: int, seed: int, *, secrets: int = 2) -> sv.StochasticSystem:
    """2n transitions, events a, b observable, c not, one successor for each state and event."""
    source = random.Random(seed)
    places = [(state, event) for state in range(size) for event in "abc"]
    out: dict[int, list[tuple[str, int]]] = {}
    for state, event in source.sample(places, 2 * size):
        out.setdefault(state, []).append((event, source.randrange(size)))
    rows = []
    for state, moves in out.items():
        weights = [source.randint(1, 9) for _ in moves]
        for (event, target), weight in zip(moves, weights, strict=True):
            rows.append((str(state), event, str(target), Fraction(weight, sum(weights))))
    names = [str(state) for state in range(size)]
    return sv.StochasticSystem.from_transitions(
        rows, initial="0", observable=["a", "b"], secret=source.sample(names, secrets), states=names
    )


def check(system: System, k: int | str, notion: str = "weak") -> None:
    exact = sv.violation_probability(system, k, notion=notion, exact=True)
    bounds = sv.violation_probability(system, k, notion=notion, exact=False)
    assert exact.is_exact
    assert 0 <= bounds.lower <= exact.exact <= bounds.upper <= 1
    assert bounds.upper - bounds.lower < NARROW
    assert bounds.lower <= Fraction(float(bounds)) <= bounds.upper


class TestEnclosures:
    @settings(max_examples=400)
    @given(stochastic_systems(), ks, notions)
    def test_small_systems(self, system: System, k: int | str, notion: str) -> None:
        check(system, k, notion)

    @settings(max_examples=40)
    @given(seeds, ks, st.integers(10, 25))
    def test_larger_systems(self, seed: int, k: int | str, size: int) -> None:
        check(random_system(size, seed, secrets=3), k)

    @pytest.mark.soak
    @settings(max_examples=5000)
    @given(stochastic_systems(most_states=8), ks, notions)
    def test_many(self, system: System, k: int | str, notion: str) -> None:
        check(system, k, notion)

    def test_they_decide_thresholds_that_are_outside_only(self) -> None:
        system = sv.StochasticSystem.from_transitions(
            [("0", "a", "0", "1/3"), ("0", "b", "1", "1/3"), ("0", "c", "2", "1/3")],
            initial="0", observable=["a", "b", "c"], secret=["1"],
        )  # fmt: skip
        bounds = sv.violation_probability(system, 0, exact=False)
        assert not bounds.is_exact
        assert bounds.exact is None
        assert bounds.below("0.500000001") is True
        assert bounds.below("0.499999999") is False
        assert bounds.below("1/2") is None


class TestLargeSystems:
    def test_bounds_by_default_and_rationals_on_request(self) -> None:
        """Too many unknowns for a quick exact answer: it says so, and is right."""
        system = random_system(50, 0)
        bounds = sv.violation_probability(system, 1)
        assert not bounds.is_exact
        assert "…" in repr(bounds)
        exact = sv.violation_probability(system, 1, exact=True)
        assert exact.is_exact
        assert bounds.lower <= exact.exact <= bounds.upper
        assert 0 < bounds.upper - bounds.lower < NARROW

    @pytest.mark.parametrize("seed", range(6))
    def test_they_are_proved_to_be_narrow(self, seed: int) -> None:
        for k in (1, "infinite"):
            system = random_system(60, seed)
            bounds = sv.violation_probability(system, k)
            assert bounds.upper - bounds.lower < NARROW
            assert (bounds.upper == 0) is sv.verify_opacity(system, k).holds


def walk(length: int, up: Fraction) -> sv.StochasticSystem:
    """A gambler between ruin (public) and a secret win, who starts in the middle; all steps look alike but the last."""
    rows = []
    for place in range(1, length):
        rows += [(str(place), "a", str(place + 1), up), (str(place), "b", str(place - 1), 1 - up)]
    return sv.StochasticSystem.from_transitions(
        rows, initial=str(length // 2), observable=["a", "b"], secret=[str(length)]
    )


class TestSlowMixing:
    @pytest.mark.parametrize("length", [10, 100, 400])
    def test_a_fair_gambler(self, length: int) -> None:
        """One half, after about length²/4 steps."""
        bounds = sv.violation_probability(walk(length, Fraction(1, 2)), 0, exact=False)
        assert bounds.lower <= Fraction(1, 2) <= bounds.upper
        assert bounds.upper - bounds.lower < NARROW

    @pytest.mark.parametrize("length", [10, 40, 100])
    def test_an_unlucky_gambler(self, length: int) -> None:
        """Gambler's ruin: (rᵐ − 1)/(rⁿ − 1), r the odds against; down to 10⁻¹⁵."""
        r = Fraction(2)
        expected = (r ** (length // 2) - 1) / (r**length - 1)
        bounds = sv.violation_probability(walk(length, Fraction(1, 3)), 0, exact=False)
        assert bounds.lower <= expected <= bounds.upper
        assert bounds.upper - bounds.lower < NARROW
        assert sv.violation_probability(walk(length, Fraction(1, 3)), 0, exact=True).exact == expected

    @pytest.mark.parametrize("digits", [2, 4, 6, 9, 12, 15, 16, 17, 20, 40, 400])
    @pytest.mark.parametrize("states", [1, 2, 7])
    def test_leaving_a_loop_hardly_ever(self, digits: int, states: int) -> None:
        """The rarer the way out, the wider the bounds may be; they hold 1/3 all the same, and nothing breaks."""
        rare = Fraction(1, 10**digits)
        rows = [(str(i), "a", str((i + 1) % states), 1 if i else 1 - 3 * rare) for i in range(states)]
        rows += [("0", "b", "won", rare), ("0", "c", "lost", 2 * rare)]
        system = sv.StochasticSystem.from_transitions(rows, initial="0", observable=["a", "b", "c"], secret=["won"])
        bounds = sv.violation_probability(system, 0, exact=False)
        assert bounds.lower <= Fraction(1, 3) <= bounds.upper
        if digits <= 4:
            assert bounds.upper - bounds.lower < NARROW
        assert sv.violation_probability(system, 0).exact == Fraction(1, 3)


class TestHorizons:
    @settings(max_examples=40)
    @given(stochastic_systems(), ks, st.integers(30, 60))
    def test_a_long_horizon_is_between_a_short_one_and_for_ever(self, system: System, k: int | str, short: int) -> None:
        values = [
            sv.violation_probability(system, k, within=short).lower,
            sv.violation_probability(system, k, within=400).upper,
            sv.violation_probability(system, k).exact,
        ]
        assert values == sorted(values)

    def test_followed_in_floats(self) -> None:
        """So many steps that rationals would not fit: 1 − (1 − p)ⁿ all the same."""
        p = Fraction(1, 10**5)
        rows = [(str(i), "a", str((i + 1) % 40), 1 - p) for i in range(40)] + [
            (str(i), "b", "won", p) for i in range(40)
        ]
        system = sv.StochasticSystem.from_transitions(rows, initial="0", observable=["a", "b"], secret=["won"])
        bounds = sv.violation_probability(system, 0, within=70_000)
        assert not bounds.is_exact
        assert bounds.lower <= 1 - (1 - p) ** 70_000 <= bounds.upper
        assert bounds.upper - bounds.lower < NARROW

    @pytest.mark.soak
    @pytest.mark.parametrize("within", [3_000, 30_000])
    def test_few_states_and_many_steps(self, within: int) -> None:
        """Few moves, but rationals that grow with every step: that must not take minutes."""
        rows = [
            ("0", "a", "0", "5/7"), ("0", "b", "1", "2/7"),
            ("1", "a", "0", "3/11"), ("1", "b", "0", "7/11"), ("1", "c", "won", "1/11"),
        ]  # fmt: skip
        system = sv.StochasticSystem.from_transitions(rows, initial="0", observable=["a", "b", "c"], secret=["won"])
        bounds = sv.violation_probability(system, 0, within=within)
        assert bounds.upper - bounds.lower < NARROW
        assert bounds.lower > Fraction(999, 1000)

    def test_beyond_what_is_followed(self) -> None:
        """A horizon without end in practice: its bounds are those of the longest followed and of for ever."""
        p = Fraction(1, 10**5)
        system = sv.StochasticSystem.from_transitions(
            [("0", "a", "0", 1 - 2 * p), ("0", "b", "1", p), ("0", "c", "2", p)],
            initial="0", observable=["a", "b", "c"], secret=["1"],
        )  # fmt: skip
        bounds = sv.violation_probability(system, 0, within=10**9)
        # (1 − 2p)^(10⁹) is 0 for every purpose
        assert bounds.lower <= Fraction(1, 2) <= bounds.upper + Fraction(1, 10**300)
        assert bounds.upper - bounds.lower < Fraction(1, 10)


class TestLumping:
    @settings(max_examples=150)
    @given(stochastic_systems(most_states=7), ks, notions)
    def test_the_same_probability_with_and_without(self, system: System, k: int | str, notion: str) -> None:
        observed, question = Observed(system), read_question(k, notion)
        chain = violation_chain(observed, estimator(observed, question), observed.limit())
        small = chain.lumped() if chain.size else None
        if small is not None:
            assert small.size <= chain.size
            assert _solved(chain) == _solved(small) == reaching_probability(chain)
        assert sv.violation_probability(system, k, notion=notion) == sv.violation_probability(
            system, k, notion=notion, exact=True
        )

    def test_sums_of_moves_into_one_class_count(self) -> None:
        """From 1 by one event of 1/2, from 2 by two events of 1/4 each: one future."""
        rows = [("0", "c", "1", "1/2"), ("0", "d", "2", "1/2"), ("1", "c", "3", "1/2"), ("1", "a", "5", "1/2")]
        rows += [("2", "c", "3", "1/4"), ("2", "d", "4", "1/4"), ("2", "a", "5", "1/2")]
        rows += [(state, event, to, "1/2") for state in "34" for event, to in (("b", "6"), ("c", "7"))]
        system = sv.StochasticSystem.from_transitions(rows, initial="0", observable=["a", "b"], secret=["6"])
        observed = Observed(system)
        chain = violation_chain(observed, estimator(observed, read_question(0, "weak")), observed.limit())
        small = chain.lumped()
        assert small is not None
        assert (chain.size, small.size, small.start) == (5, 3, 0)
        assert chain.lumped(at_most=2) is None
        assert reaching_probability(chain) == reaching_probability(small)
        assert sv.violation_probability(system, 0).exact == Fraction(1, 4)
