"""The observer's structures are built once for a question, whatever is asked and by however many threads."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest

import symveil as sv
from symveil.enforcement.enforce import enforce_policy, observations_of
from symveil.examples.paper_systems import example_4, medical
from symveil.mechanisms.restricted import EnumeratedLoss
from symveil.tasks import opacity
from symveil.tasks.enforce import enforcement_document
from symveil.tasks.opacity import judge_opacity
from symveil.verification.opacity import (
    exploration,
    observation,
    opacity_verdict,
    run_observations,
    verify,
    violation_chain,
)
from symveil.verification.opacity.observation import Observed


@pytest.fixture
def built(monkeypatch) -> Counter:
    """How often each expensive part is built."""
    count: Counter = Counter()

    def counted(name, original):
        def call(*arguments, **options):
            count[name] += 1
            return original(*arguments, **options)

        return call

    monkeypatch.setattr(observation, "closure", counted("closure", observation.closure))
    for module in (run_observations, violation_chain):
        monkeypatch.setattr(module, "explore", counted("explore", exploration.explore))
    for module in (opacity_verdict, opacity):
        monkeypatch.setattr(module, "verdict_on", counted("verdict", verify.verdict_on))
    tabulate = counted("observations", run_observations.complete_observations)
    monkeypatch.setattr(run_observations, "complete_observations", tabulate)
    monkeypatch.setattr(EnumeratedLoss, "of", counted("loss", EnumeratedLoss.of))
    return count


@pytest.mark.parametrize("k", [0, 2, "infinite"])
def test_a_report_needs_one_observer_and_one_verdict(built, k):
    report = judge_opacity(medical(), k)
    assert built["closure"] == 1
    assert built["verdict"] == 1
    assert report.verdict == sv.verify_opacity(medical(), k)
    assert report.violation == sv.violation_probability(medical(), k)


def test_three_policies_share_what_they_are_given(built):
    runs = observations_of(Observed(example_4()), 1, length=None)
    policies = [
        enforce_policy(runs, policy="private", epsilon=2),
        enforce_policy(runs, policy="safe", omega=2),
        enforce_policy(runs, policy="substitution", omega=2),
    ]
    documents = [enforcement_document(each) for each in policies]
    assert built["closure"] == 1
    assert built["explore"] == 2  # the safe observations, and all of them
    assert built["observations"] == 1
    for document, options in zip(documents, ({"epsilon": 2}, {"omega": 2}, {"omega": 2}), strict=True):
        alone = sv.enforce_opacity(example_4(), 1, policy=document["policy"], **options)
        assert enforcement_document(alone) == document


def test_another_epsilon_builds_nothing(built):
    enforced = sv.enforce_opacity(example_4(), 1, epsilon=2)
    enforcement_document(enforced)
    before = built.copy()
    assert before["loss"] == 4  # lengths 0 … 3
    for epsilon in ("1/2", 3, 8):
        document = enforcement_document(enforced.with_epsilon(epsilon))
        assert 0.99 * float(Fraction(epsilon)) < document["epsilon"] <= Fraction(epsilon)
    assert built == before


def test_threads_may_share_one_system():
    runs = observations_of(Observed(example_4()), 1, length=None)
    private = enforce_policy(runs, policy="private", epsilon=2)

    def asked(number: int) -> object:
        if number % 2:
            return judge_opacity(runs.safe.observed, 1).document()
        return enforcement_document(private.with_epsilon(number % 4 + 1))

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(asked, range(24)))
    assert answers == [
        judge_opacity(example_4(), 1).document()
        if number % 2
        else enforcement_document(sv.enforce_opacity(example_4(), 1, epsilon=number % 4 + 1))
        for number in range(24)
    ]
