"""Work that is bounded: sets that grow beside a small observer, large k, events that never occur, long remarks."""

from __future__ import annotations

import itertools
import random
import time
from fractions import Fraction

import pytest

import symveil as sv
from symveil.errors import TooLargeError
from symveil.tasks.opacity import judge_opacity, load_system
from symveil.verification.limits import LIMITS


def remembering(length: int) -> sv.LogicalSystem:
    """One estimate, and 2^length sets of states in which a run that was not secret may be."""
    states = [f"q{number}" for number in range(length + 1)]
    rows = [("q0", "a", "q1")]
    for event in "ab":
        rows += [("s", event, "s"), *(("s", event, state) for state in states), ("q0", event, "q0")]
        rows += [(f"q{number}", event, f"q{number + 1}") for number in range(1, length)]
    return sv.LogicalSystem.from_transitions(rows, initial=["s", *states], observable=["a", "b"], secret=["s"])


def test_what_is_followed_counts_too() -> None:
    assert len(sv.observer(remembering(10)).sets) == 1
    with pytest.raises(TooLargeError, match="at most 100 states of the estimator"):
        sv.verify_opacity(remembering(10), "infinite", most_states=100)


def test_events_that_never_occur_cost_nothing() -> None:
    rows = [("0", "a", "1", "1/2"), ("0", "b", "2", "1/2"), ("1", "a", "0", 1), ("2", "a", "0", 1)]
    few = sv.StochasticSystem.from_transitions(rows, initial="0", observable=["a", "b"], secret=["2"])
    many = sv.StochasticSystem.from_transitions(
        rows, initial="0", observable=["x", *map(str, range(2000)), "a", "b"], secret=["2"]
    )
    assert sv.violation_probability(few, 1) == sv.violation_probability(many, 1)
    assert sv.enforce_opacity(many, 0, policy="safe", omega=1, length=2).unenforceable is None


def lasso(length: int) -> sv.StochasticSystem:
    """A secret that is given away only long after it was visited: by a `z` at the end of one of two equal ways."""
    rows = [("0", "a", "s0", "1/2"), ("0", "u", "c", "1/2"), ("c", "a", "c0", 1)]
    for number in range(length):
        for way in "sc":
            rows.append((f"{way}{number}", "b", f"{way}{number + 1}", "1/2"))
            rows.append((f"{way}{number}", "a", f"{way}{number}", "1/2"))
    rows.append((f"s{length}", "z", "end", 1))
    return sv.StochasticSystem.from_transitions(rows, initial="0", observable=["a", "b", "z"], secret=["s0"])


def test_probabilities_grow_with_k_to_the_infinite_one() -> None:
    system = lasso(3)
    values = [sv.violation_probability(system, k) for k in (1, 3, 5, 19, 20, 21, 25, 40, "infinite")]
    assert all(value.is_exact for value in values)
    assert all(one.upper <= other.lower for one, other in itertools.pairwise(values))
    assert values[0].exact < values[-1].exact


def test_a_large_k_is_bounded_by_a_small_one_and_infinity(monkeypatch, set_limits) -> None:
    import symveil.verification.opacity.opacity_verdict as module

    exact = sv.violation_probability(lasso(3), 30).exact
    set_limits(LIMITS, estimates_of_a_large_k=1)
    monkeypatch.setattr(module, "_WIDEST_BETWEEN", {8: Fraction(1)})
    bounds = sv.violation_probability(lasso(3), 30)
    assert bounds.lower < exact < bounds.upper
    monkeypatch.setattr(module, "_WIDEST_BETWEEN", {8: Fraction(0)})
    assert sv.violation_probability(lasso(3), 30).exact == exact
    assert sv.violation_probability(lasso(3), 30, exact=True).exact == exact


def test_a_violation_that_is_certain_in_the_end_has_probability_1_for_every_k() -> None:
    """50 states, some of them secret, round and round for ever: the estimator of k = 20 has thousands of states."""
    draw = random.Random(0)
    rows = []
    for state in range(50):
        events = draw.sample("abcu", 2)
        shares = [draw.randint(1, 9) for _ in events]
        rows += [
            (str(state), event, str(draw.randrange(50)), Fraction(share, sum(shares)))
            for event, share in zip(events, shares, strict=True)
        ]
    secret = [str(state) for state in draw.sample(range(50), 2)]
    system = sv.StochasticSystem.from_transitions(rows, initial="0", observable=["a", "b", "c"], secret=secret)
    assert sv.violation_probability(system, 1).exact == 0
    for k in (3, 10, 20, 25, 200, "infinite"):
        assert sv.violation_probability(system, k).exact == 1
    assert sv.violation_probability(system, 3, exact=False).exact == 1


def test_a_violation_that_is_nearly_certain_is_not_taken_for_certain() -> None:
    rows = [("0", "a", "0", 1 - Fraction(1, 10**30)), ("0", "b", "s", "1/2000000000000000000000000000000")]
    rows.append(("0", "c", "away", "1/2000000000000000000000000000000"))
    system = sv.StochasticSystem.from_transitions(rows, initial="0", observable=["a", "b", "c"], secret=["s"])
    assert sv.violation_probability(system, 30).exact == Fraction(1, 2)
    enclosed = sv.violation_probability(system, 30, exact=False)
    assert enclosed.lower <= Fraction(1, 2) <= enclosed.upper < 1


def test_a_witness_fits_into_the_horizon_or_is_not_shown() -> None:
    """a is the shortest violation, but takes five events; b b takes two."""
    rows = [("0", "u", "1", "1/2"), ("1", "u", "2", 1), ("2", "u", "3", 1), ("3", "u", "4", 1), ("4", "a", "s", 1)]
    rows += [("0", "b", "c", "1/2"), ("c", "b", "s", 1)]
    system = sv.StochasticSystem.from_transitions(rows, initial="0", observable=["a", "b"], secret=["s"])
    assert judge_opacity(system).verdict.witness == ("a",)
    report = judge_opacity(system, within=2)
    assert (report.holds, report.verdict.witness) == (False, None)
    assert report.violation is not None
    assert report.violation.exact == Fraction(1, 2)
    assert judge_opacity(system, within=5).verdict.witness == ("a",)
    assert judge_opacity(system, within=1).holds is True


def test_remarks_are_quick(tmp_path) -> None:
    size = 1500
    rows = [(str(number), "a", str((number + 1) % size)) for number in range(size)]
    ring = sv.LogicalSystem.from_transitions(
        rows, initial=[str(number) for number in range(0, size, 50)], observable=["a"], secret=["7"]
    )
    sv.save_model(ring, tmp_path / "ring.json")
    begin = time.process_time()
    load_system(tmp_path / "ring.json", notes=[])
    assert time.process_time() - begin < 2


def test_strong_verdicts_say_why() -> None:
    rows = [("0", "a", "1"), ("1", "b", "2"), ("1", "b", "3")]
    system = sv.LogicalSystem.from_transitions(rows, initial="0", observable=["a", "b"], secret=["1"])
    verdict = sv.verify_opacity(system, 1, notion="strong")
    assert verdict.reason == "every run that shows it met a secret in one of the last 2 instants"
    assert verdict.reason in repr(verdict)
