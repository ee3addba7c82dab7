"""Fifty states and thousands of observations: quick, and the same as from the list of all pairs."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest

import symveil as sv
from symveil.languages.distance_sums import distance_counts
from symveil.languages.limits import LIMITS
from symveil.tasks.enforce import enforcement_document
from symveil.verification.limits import LIMITS as PROOFS
from symveil.verification.opacity import run_observations

from .plain_observer import busy_system


def test_a_report_on_fifty_states_takes_seconds_and_leaves_little_out():
    """k = 2, length 6: 15,625 observations. It took minutes, and neither distance nor posterior was computed."""
    begin, reports = time.process_time(), []
    enforced = sv.enforce_opacity(
        busy_system(50, 8), 2, epsilon=2, length=6, progress=lambda done, total: reports.append((done, total))
    )
    notes: list[str] = []
    document = enforcement_document(enforced, notes=notes)
    assert time.process_time() - begin < 10
    assert reports
    assert document["expected_distance"] > 0
    assert 0 < document["posterior_of_secret"] < 1
    assert notes == []
    assert len(document["sensitive"]) == document["sensitive_count"] == 388
    assert {each["substitute_count"] for each in document["sensitive"] if len(each["observation"]) == 6} == {14337}
    assert max(len(each["substitutes"]) for each in document["sensitive"]) == 1000
    strings = sum((each.probability for each in enforced._runs.sensitive.values()), start=Fraction(0))
    assert Fraction(document["violation_before"]) == strings


@pytest.mark.parametrize("few", [0, LIMITS.now.listed_pairs])
def test_what_private_achieves_is_what_the_list_of_all_pairs_gives(set_limits, few):
    """Length 3: 125 observations, each with the law of what is shown for it."""
    set_limits(LIMITS, listed_pairs=few)
    enforced = sv.enforce_opacity(busy_system(50, 8), 2, epsilon=2, length=3)
    release = enforced.mechanism(3)
    listed, outputs = list(enforced._runs.walk(cut=False)), release.outputs(at_most=1000)[0]
    assert {len(each.events) for each in listed} == {3}
    assert len(listed) == 125 > len(outputs)
    shown, secret, distance = np.zeros(len(outputs)), np.zeros(len(outputs)), 0.0
    for each in listed:
        word = np.array(each.events, dtype=np.int32)
        chance = np.exp(release.log_probabilities(word, outputs))
        shown += float(each.probability) * chance
        secret += float(each.secret) * chance
        distance += float(each.probability) * float(chance @ release.distance(word, outputs))
    assert enforced.expected_distance == pytest.approx(distance, rel=1e-11)
    assert enforced.posterior_of_secret == pytest.approx((secret / shown).max(), rel=1e-11)


def test_what_is_too_large_is_refused_before_it_is_listed(monkeypatch):
    """Length 30: 3³⁰ observations are counted, not listed."""
    monkeypatch.setattr(run_observations, "complete_observations", lambda *_, **__: pytest.fail("they were listed"))
    system = sv.StochasticSystem.from_transitions(
        [(state, event, "1" if event == "c" else "0", Fraction(1, 3)) for state in "01" for event in "abc"],
        initial="0", observable=["a", "b", "c"], secret=["1"],
    )  # fmt: skip
    enforced = sv.enforce_opacity(system, 0, epsilon=2, length=30)
    with pytest.raises(sv.SymveilError, match="at most 300000 observations to judge a policy by, found more"):
        _ = enforced.posterior_of_secret
    assert enforced.violation_before == 1 - Fraction(2, 3) ** 30
    assert enforced.guarantee.how == "exact"  # all strings are possible: nothing has to be listed


def test_sensitive_strings_that_are_too_many_are_counted_and_not_walked(monkeypatch, set_limits):
    """Nothing is listed to find out that they are too many."""
    set_limits(PROOFS, observations=20)
    enforced = sv.enforce_opacity(busy_system(50, 8), 2, epsilon=2, length=6)  # 388 sensitive strings
    monkeypatch.setattr(run_observations.RunObservations, "walk", lambda *_, **__: pytest.fail("they were listed"))
    with pytest.raises(sv.SymveilError, match="at most 20 observations to judge a policy by, found more"):
        _ = enforced.sensitive_count


def test_tables_that_are_too_large_are_refused_before_one_is_made(set_limits):
    set_limits(LIMITS, table_numbers=3000)
    words = np.array(list(np.ndindex(5, 5, 5, 5)), dtype=np.int32)
    done = []
    with pytest.raises(sv.SymveilError, match="at most 3000 numbers in a table, found"):
        distance_counts(words, words, progress=lambda at, of: done.append((at, of)))
    assert done == []


def test_work_is_told_by_what_is_done_and_how_far_it_is():
    told: dict[str, list[tuple[int, int | None]]] = {}
    enforced = sv.enforce_opacity(
        busy_system(50, 8),
        2,
        epsilon=2,
        length=5,
        progress=lambda at, of, what="": told.setdefault(what, []).append((at, of)),
    )
    enforcement_document(enforced)
    assert {
        "estimates after 4 of 5 events",
        "tabulating observations",
        "what an observer can conclude, 5 events",
    } <= told.keys()
    assert told["tabulating observations"][-1] == (625, 3125)
    assert told["what an observer can conclude, 5 events"][0] == (0, 5)
