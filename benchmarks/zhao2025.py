"""Enforcing opacity, against Z25's Algorithms 1 and 2 in plain Python: substitutes for one sensitive string."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

import symveil as sv
from benchmarks.measure import Effort, Task, best_times, repeated
from benchmarks.row import Benchmark, Row
from benchmarks.systems import busy_system, told_apart_system
from benchmarks.zhao2025_plain import (
    PlainObserver,
    control_policy,
    modified_automaton,
    show,
    violation_by_listing,
)
from symveil.enforcement.policies import SafeSubstitutes, SensitiveOnlyPolicy
from symveil.languages.run_counts import RunNeighbours
from symveil.randomness import system_bits
from symveil.tasks.enforce import enforcement_document
from symveil.verification.opacity.estimators import read_question
from symveil.verification.opacity.observation import Observed
from symveil.verification.opacity.run_observations import RunObservations, SafeObservations

_DISTANCE = 4
_PLAIN = "Z25 Algorithms 1 and 2 in plain Python"


def sensitive_string(system: sv.StochasticSystem, length: int) -> list[str]:
    """An observation of that many events of which the last one exposes a secret, and no other does."""
    observer = PlainObserver(system)
    reached: dict[frozenset[str], list[str]] = {observer.start: []}  # a string for each estimate
    for left in reversed(range(length)):
        following: dict[frozenset[str], list[str]] = {}
        for estimate, events in reached.items():
            for event in observer.observable:
                after = observer.step(estimate, event)
                if after and observer.exposes(after) == (left == 0):
                    following.setdefault(after, [*events, event])
        reached = following
    if not reached:
        raise ValueError(f"length: expected that of a sensitive string, found {length}")
    return next(iter(reached.values()))


def substitutes(effort: Effort) -> Iterator[Row]:
    """A uniform safe string at distance 4 from a sensitive one: everything from the start, then only draws."""
    size, length = effort.of(200, 100), effort.of(40, 12)
    system = told_apart_system(size, 0)
    string = sensitive_string(system, length)
    question = read_question(0, "weak")

    def prepared() -> tuple[SensitiveOnlyPolicy, SafeObservations]:
        safe = SafeObservations(Observed(system), question, longest=length)
        return SensitiveOnlyPolicy(RunObservations(safe), SafeSubstitutes(safe, _DISTANCE), adjacency=1), safe

    policy, safe = prepared()
    codes = np.array([system.observable.index(event) for event in string], dtype=np.int32)
    language = safe.language(length)
    assert language is not None
    count = RunNeighbours(language, codes).count(_DISTANCE)
    observer = PlainObserver(system)
    found, plain = control_policy(modified_automaton(observer, string, _DISTANCE))
    assert found == count, f"{found} substitutes in plain Python, {count} ours"
    start = (0, 0, observer.start)

    def ours_at_once() -> None:
        prepared()[0].draw(codes[None, :], system_bits())

    def plain_at_once() -> None:
        fresh = PlainObserver(system)
        show(control_policy(modified_automaton(fresh, string, _DISTANCE))[1], start, length)

    rows = effort.of(500, 50)
    many = np.repeat(codes[None, :], rows, axis=0)
    times = best_times(
        {
            "ours": Task(ours_at_once),
            "plain": Task(plain_at_once),
            "our draws": Task(lambda: policy.draw(many, system_bits()), rows),
            "plain draws": repeated(lambda: show(plain, start, length), effort.of(500, 50)),
        },
        rounds=effort.of(7, 1),
    )
    name = f"{size} states, {length} events, ω = {_DISTANCE}"
    yield Row(
        name=f"{name}: first substitute, system to string", ours=times["ours"], peer=_PLAIN, peer_time=times["plain"],
        quantity="speed-up", limit=1.5, unit="string", note=f"{count:,} substitutes",
    )  # fmt: skip
    yield Row(
        name=f"{name}: each further one", ours=times["our draws"], peer=f"{_PLAIN}, policy kept",
        peer_time=times["plain draws"], quantity="speed-up", limit=3, unit="string",
    )  # fmt: skip


def reports(effort: Effort) -> Iterator[Row]:
    """All that is said about the policy private, for systems with very many observations.

    Its first number is also found in the plain way: all observations are listed.
    """
    system, length = busy_system(50, 0), effort.of(7, 4)
    begin = time.process_time()
    ours = sv.enforce_opacity(system, 2, epsilon=2, length=length).violation_before
    middle = time.process_time()
    plain = violation_by_listing(system, 2, length)
    end = time.process_time()
    assert abs(plain - float(ours)) < 1e-9, f"{plain} in plain Python, {float(ours)} ours"
    yield Row(
        name=f"50 states, five events, k = 2, length {length}: the probability of a violation",
        ours=middle - begin, peer="all observations in plain Python, in floats", peer_time=end - middle,
        quantity="speed-up", unit="system", note=f"{float(ours):.6g}, exact",
    )  # fmt: skip
    for length, limit in ((6, 10.0), (10, 60.0)) if not effort.quick else ((4, 10.0),):
        begin = time.process_time()
        document = enforcement_document(sv.enforce_opacity(system, 2, epsilon=2, length=length))
        seconds = time.process_time() - begin
        posterior, bound = document["posterior_of_secret"], document["lower_bound"]["value"]
        said = "posterior not computed" if posterior is None else f"posterior {posterior:.6g}"
        yield Row(
            name=f"50 states, five events, k = 2, length {length}: the whole report on the policy private",
            ours=seconds, peer="", peer_time=None, quantity="seconds", limit=limit, unit="system",
            note=f"{said}; error {document['expected_error']:.3g}, at least {bound:.3g}; {document['mechanism']}",
        )  # fmt: skip


BENCHMARKS: list[Benchmark] = [substitutes, reports]
