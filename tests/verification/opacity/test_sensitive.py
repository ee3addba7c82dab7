"""Sensitive strings against §9a to the letter: first-violating, extended over the whole exposure."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import symveil as sv
from enforcement.plain_observer import Chances, Plain, Runs, acyclic_systems, ks, layered_systems, looping_systems
from symveil.errors import ParameterError, TooLargeError
from symveil.verification.limits import LIMITS


def as_defined(found) -> dict:
    assert len({each.observation for each in found}) == len(found)
    return {each.observation: (each.probability, each.violates_after, each.run_ends) for each in found}


@settings(max_examples=150)
@given(st.one_of(acyclic_systems(), layered_systems()), ks)
def test_sensitive_strings_of_bounded_systems_from_their_runs(system, k):
    """Each complete run belongs to at most one sensitive string, and its probability goes there."""
    plain = Plain(system)
    expected: dict[tuple[str, ...], Fraction] = {}
    for run in Runs(plain).complete:
        part = plain.sensitive_part(run.observation, k)
        if part is not None:
            expected[part] = expected.get(part, Fraction(0)) + run.probability
    found = sv.sensitive_strings(system, k)
    event(f"{len(found)} sensitive strings")
    assert {each.observation: each.probability for each in found} == expected
    assert sum((each.probability for each in found), start=Fraction(0)) == sv.violation_probability(system, k).exact
    if any(plain.exposed(each.observation[: each.violates_after], k)[-1] < each.violates_after for each in found):
        event("something is known only later")
    for each in found:
        assert plain.first_violation(each.observation, k) == each.observation[: each.violates_after]


@settings(max_examples=120)
@given(looping_systems(most_states=5), ks, st.integers(1, 4))
def test_sensitive_strings_up_to_a_length_to_the_letter(system, k, length):
    found = sv.sensitive_strings(system, k, length=length)
    event(f"{len(found)} sensitive strings")
    assert as_defined(found) == Chances(Plain(system)).sensitive(k, length)
    assert sum(each.probability for each in found) <= sv.violation_probability(system, k).exact


@settings(max_examples=60)
@given(looping_systems(most_states=5), ks)
def test_a_longer_horizon_finds_more_of_the_violation(system, k):
    totals = [sum(each.probability for each in sv.sensitive_strings(system, k, length=n)) for n in (1, 2, 3, 5)]
    assert totals == sorted(totals)


def test_the_exposure_is_covered_from_the_exposed_instant_on():
    """State 1 was passed before b, which only b tells: one observation later. Then one more for k = 2, not two."""
    system = sv.StochasticSystem.from_transitions(
        [("0", "a", "1", "1/2"), ("0", "u", "2", "1/2"), ("2", "a", "3", 1), ("3", "c", "4", 1),
         ("1", "b", "4", 1), ("4", "a", "5", 1), ("5", "a", "6", 1), ("6", "a", "7", 1)],
        initial="0", observable=["a", "b", "c"], secret=["1"],
    )  # fmt: skip
    (only,) = sv.sensitive_strings(system, 2)
    assert (only.observation, only.violates_after, only.run_ends) == (("a", "b", "a"), 2, False)
    assert sv.sensitive_strings(system, 0) == ()
    assert [each.observation for each in sv.sensitive_strings(system, 1)] == [("a", "b")]
    # looking back without end, the exposure ends with the run
    (whole,) = sv.sensitive_strings(system, "infinite")
    assert (whole.observation, whole.run_ends) == (("a", "b", "a", "a", "a"), True)


def test_a_run_that_ends_early_ends_its_string():
    system = sv.StochasticSystem.from_transitions(
        [("0", "a", "1", 1), ("1", "u", "2", "1/4"), ("1", "b", "3", "3/4"), ("3", "b", "4", 1), ("4", "b", "5", 1)],
        initial="0", observable=["a", "b"], secret=["1", "2"],
    )  # fmt: skip
    assert as_defined(sv.sensitive_strings(system, 2)) == {
        ("a",): (Fraction(1, 4), 1, True),
        ("a", "b", "b"): (Fraction(3, 4), 1, False),
    }


def test_a_secret_start_is_exposed_before_anything_is_observed():
    system = sv.StochasticSystem.from_transitions(
        [("0", "a", "1", "1/3"), ("0", "b", "1", "2/3"), ("1", "a", "2", 1)],
        initial="0", observable=["a", "b"], secret=["0"],
    )  # fmt: skip
    assert as_defined(sv.sensitive_strings(system, 0)) == {(): (Fraction(1), 0, False)}
    assert as_defined(sv.sensitive_strings(system, 1)) == {
        ("a",): (Fraction(1, 3), 0, False),
        ("b",): (Fraction(2, 3), 0, False),
    }


def test_no_secret_and_no_reachable_secret_have_no_sensitive_strings():
    rows = [("0", "a", "1", "1/3"), ("0", "b", "1", "2/3"), ("2", "a", "1", 1)]
    for secret in ([], ["2"]):
        system = sv.StochasticSystem.from_transitions(rows, initial="0", observable=["a", "b"], secret=secret)
        assert sv.sensitive_strings(system, "infinite") == ()


def test_observations_without_bound_need_a_length():
    system = sv.StochasticSystem.from_transitions(
        [("0", "a", "0", "1/2"), ("0", "b", "1", "1/2")], initial="0", observable=["a", "b"], secret=["1"]
    )
    with pytest.raises(ParameterError, match="^length: expected .* since the system has loops, found none$"):
        sv.sensitive_strings(system, 0)
    found = sv.sensitive_strings(system, 0, length=3)
    assert [("".join(each.observation), each.probability) for each in found] == [
        ("aab", Fraction(1, 8)),
        ("ab", Fraction(1, 4)),
        ("b", Fraction(1, 2)),
    ]


def test_too_many_are_refused_with_what_to_do(set_limits):
    set_limits(LIMITS, strings=3)
    rows = [(str(n), name, str(n + 1), "1/2") for n in range(2) for name in "ab"]
    system = sv.StochasticSystem.from_transitions(rows, initial="0", observable=["a", "b"], secret=["2"])
    with pytest.raises(TooLargeError, match="at most 3, found more; use a smaller length or k$"):
        sv.sensitive_strings(system, 0)
    set_limits(LIMITS, strings=4)
    assert len(sv.sensitive_strings(system, 0)) == 4
