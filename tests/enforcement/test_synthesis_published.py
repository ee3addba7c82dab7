"""Insertion functions with what was published about them: the examples of VEiP (Wu and Lafortune)."""

from __future__ import annotations

import pytest

import symveil as sv


def test_first_example_of_veip_cannot_be_enforced():
    """Published: its all-insertion structure is empty."""
    system = sv.LogicalSystem.from_transitions(
        [
            *[("0", "1", "1"), ("0", "2", "2"), ("1", "1", "4"), ("1", "2", "6"), ("1", "3", "3")],
            *[("2", "1", "7"), ("4", "3", "5"), ("7", "2", "8")],
        ],
        initial="0",
        observable=["1", "2", "3"],
        secret=["3", "6"],
    )
    found = sv.synthesize_opacity(system, policy="insertion")
    assert found.possible is False
    # 12 and 13 give states 6 and 3 away, and nothing that was inserted before leads to another state
    assert set(found.refutation or ()) & {("1", "2"), ("1", "3")}


def test_second_example_of_veip_is_enforced_by_its_published_function():
    """Published: the structure is not empty, and a is inserted before b at the start; nothing else is changed."""
    system = sv.LogicalSystem.from_transitions(
        [
            *[("0", "b", "1"), ("0", "a", "2"), ("1", "b", "4"), ("2", "d", "3"), ("2", "c", "4")],
            *[("3", "b", "2"), ("3", "a", "1"), ("4", "c", "0"), ("4", "a", "3")],
        ],
        initial="0",
        observable=["a", "b"],
        secret=["1"],
    )
    found = sv.synthesize_opacity(system, policy="insertion")
    assert found.possible and found.function is not None
    assert found.function.answers[0]["b"][0] == ("a", "b")
    assert found.function.changes == 1
    assert found.apply("bbab") == "abbab"
    assert found.informed_verdict is not None and found.informed_verdict.holds


def day(errand: str = "both") -> sv.StochasticSystem:
    """The running example of Wu and Lafortune (ACC 2015): a day at home, work, food, and an errand."""
    errands = [("c", "hospital", "0.3"), ("b", "bank", "0.7")]
    chosen = errands if errand == "both" else [(event, place, 1) for event, place, _ in errands if place == errand]
    return sv.StochasticSystem.from_transitions(
        [
            *[("start", "r", "home2", "0.1"), ("start", "c", "food5", "0.2"), ("start", "b", "work8", "0.7")],
            *[("home2", *move) for move in chosen],
            *[("food5", "r", "home6", 1), ("home6", "b", "work7", 1), ("work7", "r", "home11", 1)],
            *[("work8", "r", "home9", 1), ("home9", "c", "food10", 1), ("food10", "r", "home11", 1)],
            *[("hospital", "r", "home11", 1), ("bank", "r", "home11", 1)],
        ],
        initial="start",
        observable=["r", "c", "b"],
        secret=["hospital", "bank"],
    )


def test_running_example_needs_two_observations_to_refute():
    """c before r saves rb, b before r saves rc, and after r nobody knows which comes: published, one is given up."""
    found = sv.synthesize_opacity(day(), policy="insertion")
    assert found.possible is False
    assert set(found.refutation or ()) == {("r", "c"), ("r", "b")}


@pytest.mark.parametrize(("errand", "happened", "shown"), [("bank", "rbr", "crbr"), ("hospital", "rcr", "brcr")])
def test_running_example_with_one_errand(errand, happened, shown):
    found = sv.synthesize_opacity(day(errand), policy="insertion")
    assert found.possible
    assert found.apply(happened) == shown  # the published insertion: c before r
    assert found.violation_before is not None and str(found.violation_before.exact) == "1/10"
    assert found.violation_after is not None and found.violation_after.exact == 0


def test_running_example_by_leaving_events_out():
    found = sv.synthesize_opacity(day(), policy="edit", erasable=["c"])
    assert found.possible
    assert found.violation_before is not None and str(found.violation_before.exact) == "1/10"
    assert found.violation_after is not None and found.violation_after.exact == 0
