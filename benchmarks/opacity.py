"""Opacity: how long the observer, the verdicts and the probabilities take on random systems.

The systems are those of the published comparison (systems.py). The best public tool needs 0.65 s for the
observer of 200 states and 1.5 to 3 s for a verdict (median of three seeds), so the bars in seconds are a
twentieth of that; the plain baseline is timed beside ours.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from statistics import median

import symveil as sv
from benchmarks.measure import Effort, Task, best_times
from benchmarks.row import Benchmark, Row
from benchmarks.systems import random_system, told_apart_system
from benchmarks.zhao2025_plain import PlainObserver
from symveil.errors import TooLargeError

_PLAIN = "frozensets in plain Python"
_QUESTIONS: tuple[int | str, ...] = (1, 2, 3, "infinite")
_VERDICT_LIMITS = {1: 0.075, 2: 0.075, 3: 0.075, "infinite": 0.15}
# Three of the 27 seeds below 6,000 with more than 10,000 estimates: opaque for some or all k, so no early way out.
_HARD_SEEDS = (936, 1476, 3195)
_HARD_ESTIMATES = 10_000


def _medians(systems: list[sv.StochasticSystem], ours: Callable, plain: Callable, rounds: int) -> tuple[float, float]:
    """The median over the systems of the best time of each side."""
    best = [
        best_times(
            {"ours": Task(lambda s=s: ours(s)), "plain": Task(lambda s=s: plain(PlainObserver(s)))}, rounds=rounds
        )
        for s in systems
    ]
    return median(times["ours"] for times in best), median(times["plain"] for times in best)


def verdicts(effort: Effort) -> Iterator[Row]:
    """200 states: the observer and weak verdicts, medians of three seeds."""
    size = effort.of(200, 40)
    systems = [random_system(size, seed) for seed in range(3)]
    rounds = effort.of(3, 1)
    sizes = []
    for system in systems:
        estimates = sv.observer(system).estimates
        assert {frozenset(estimate) for estimate in estimates} == PlainObserver(system).observer()
        sizes.append(len(estimates))
    ours, plain = _medians(systems, sv.observer, PlainObserver.observer, rounds)
    yield from _both(f"{size} states: observer", ours, plain, limit=0.03, note=f"{'/'.join(map(str, sizes))} estimates")
    for k in _QUESTIONS:
        found = [sv.verify_opacity(system, k) for system in systems]
        assert [verdict.holds for verdict in found] == [PlainObserver(system).is_weakly_opaque(k) for system in systems]
        ours, plain = _medians(
            systems,
            lambda system, k=k: sv.verify_opacity(system, k),
            lambda system, k=k: system.is_weakly_opaque(k),
            rounds,
        )
        note = "/".join("opaque" if v.witness is None else f"violated by {len(v.witness)} events" for v in found)
        yield from _both(f"{size} states: weak, k = {k}", ours, plain, limit=_VERDICT_LIMITS[k], note=note)


def _both(name: str, ours: float, plain: float, *, limit: float, note: str) -> Iterator[Row]:
    yield Row(
        name=name, ours=ours, peer=_PLAIN, peer_time=plain, quantity="seconds", limit=limit, unit="system", note=note
    )
    yield Row(
        name=f"{name}, against the plain way",
        ours=ours, peer=_PLAIN, peer_time=plain, quantity="speed-up", unit="system",
    )  # fmt: skip


def hard_seeds(effort: Effort) -> Iterator[Row]:
    """100 states with more than 10,000 estimates: the best public tool takes over a minute."""
    for seed in _HARD_SEEDS[: effort.of(3, 1)]:
        system = random_system(100, seed)
        estimates = len(sv.observer(system).sets)
        assert estimates > _HARD_ESTIMATES
        tasks = {"observer": Task(lambda s=system: sv.observer(s))}
        for k in _QUESTIONS:
            tasks[f"k = {k}"] = Task(lambda s=system, k=k: sv.verify_opacity(s, k))
        times = best_times(tasks, rounds=effort.of(3, 1))
        slowest = max(times, key=times.__getitem__)
        yield Row(
            name=f"100 states, seed {seed}: the slowest of observer, weak k = 1, 2, 3, infinite",
            ours=times[slowest], peer="", peer_time=None, quantity="seconds", limit=2, unit="system",
            note=f"{slowest}; {estimates:,} estimates; all together {sum(times.values()):.2f} s",
        )  # fmt: skip


def probabilities(effort: Effort) -> Iterator[Row]:
    """The probability of violation for several k and ∞: the median of the seeds that violate, and the slowest."""
    many, few = (60, 16) if effort.thorough else effort.of((20, 6), (3, 1))
    for size, seeds, limit in ((50, many, 0.5), (100, few, 5)):
        systems = [random_system(size, seed) for seed in range(seeds)]
        for k in (0, 1, 3, 10, "infinite"):
            times: dict[int, float] = {}
            violated = set()
            notes = []
            for seed, system in enumerate(systems):
                begin = time.process_time()
                try:
                    found = sv.violation_probability(system, k)
                except TooLargeError as error:
                    notes.append(f"seed {seed}: {error}")
                    times[seed] = math.inf
                    continue
                times[seed] = time.process_time() - begin
                if found.upper:
                    violated.add(seed)
            slowest = max(times, key=times.__getitem__)
            name = f"{size} states: probability of violation, k = {k}"
            if violated:
                yield Row(
                    name=f"{name}, median", ours=median(times[seed] for seed in violated), peer="", peer_time=None,
                    quantity="seconds", limit=limit, unit="system", note=f"{len(violated)} of {seeds} seeds violate",
                )  # fmt: skip
            yield Row(
                name=f"{name}, slowest of {seeds} seeds", ours=times[slowest], peer="", peer_time=None,
                quantity="seconds", limit=limit, unit="system", note="; ".join([f"seed {slowest}", *notes]),
            )  # fmt: skip


def large_systems(effort: Effort) -> Iterator[Row]:
    """1,000 states that the observer can mostly tell apart."""
    size = effort.of(1000, 100)
    for k in (1, "infinite"):
        system = told_apart_system(size, 0)
        begin = time.process_time()
        found = sv.violation_probability(system, k)
        seconds = time.process_time() - begin
        yield Row(
            name=f"{size:,} states mostly told apart: probability of violation, k = {k}",
            ours=seconds, peer="", peer_time=None, quantity="seconds", limit=60, unit="system",
            note=f"{float(found):.6g}, {'exact' if found.is_exact else 'bounds'}; "
            f"{len(sv.observer(system).sets):,} estimates",
        )  # fmt: skip


BENCHMARKS: list[Benchmark] = [verdicts, hard_seeds, probabilities, large_systems]
