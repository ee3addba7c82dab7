"""Opacity: how long the observer, the verdicts and the probabilities take on random systems.

The systems are those of the published comparison: n states, 2n transitions over the observable events
a, b and the unobservable c, at most one successor for each state and event, two secret states. The best
public tool needs 0.65 s for the observer of 200 states and 1.5 to 3 s for a verdict (median of three
seeds), so the bars in seconds are a twentieth of that; the plain baseline is timed beside ours.
"""

from __future__ import annotations

import math
import random
import resource
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from statistics import median

import symveil as sv
from benchmarks.measure import Effort, Task, best_times
from benchmarks.row import Benchmark, Row
from symveil.errors import TooLargeError

_PLAIN = "frozensets in plain Python"
_QUESTIONS: tuple[int | str, ...] = (1, 2, 3, "infinite")
_VERDICT_LIMITS = {1: 0.075, 2: 0.075, 3: 0.075, "infinite": 0.15}
# Three of the 27 seeds below 6,000 with more than 10,000 estimates: opaque for some or all k, so no early way out.
_HARD_SEEDS = (936, 1476, 3195)
_HARD_ESTIMATES = 10_000


def random_system(size: int, seed: int) -> sv.StochasticSystem:
    """2n transitions, events a, b observable, c not, two secret states."""
    source = random.Random(seed)
    places = [(state, event) for state in range(size) for event in "abc"]
    moves = {place: source.randrange(size) for place in source.sample(places, 2 * size)}
    secret = source.sample(range(size), 2)
    return _with_probabilities(source, moves, size, observable="ab", secret=secret)


def told_apart_system(size: int, seed: int) -> sv.StochasticSystem:
    """Twelve events, of which a state has two or none, and few unobservable moves: the observer rarely doubts long."""
    source = random.Random(seed)
    moves = {}
    for state in range(size):
        if source.random() < 0.95:
            for event in source.sample("abcdefghijkl", 2):
                moves[state, event] = source.randrange(size)
        if source.random() < 0.1:
            moves[state, "u"] = source.randrange(size)
    secret = source.sample(range(1, size), size // 100)
    return _with_probabilities(source, moves, size, observable="abcdefghijkl", secret=secret)


def _with_probabilities(
    source: random.Random, moves: dict[tuple[int, str], int], size: int, *, observable: str, secret: list[int]
) -> sv.StochasticSystem:
    weights = {place: source.randint(1, 9) for place in sorted(moves)}
    totals: dict[int, int] = {}
    for (state, _), weight in weights.items():
        totals[state] = totals.get(state, 0) + weight
    rows = [
        (str(state), event, str(moves[state, event]), Fraction(weight, totals[state]))
        for (state, event), weight in weights.items()
    ]
    return sv.StochasticSystem.from_transitions(
        rows,
        initial="0",
        observable=list(observable),
        secret=[str(state) for state in secret],
        states=[str(state) for state in range(size)],
    )


# --- the plain way ------------------------------------------------------------------------------


class Plain:
    """The same questions with sets of names: what a textbook's pseudocode becomes when it is typed in."""

    def __init__(self, system: sv.StochasticSystem) -> None:
        self.secret = frozenset(system.secret)
        self.observable = system.observable
        self._after: dict[tuple[str, str], list[str]] = {}
        self._silent: dict[str, list[str]] = {}
        for source, event, target in system.moves:
            if event in self.observable:
                self._after.setdefault((source, event), []).append(target)
            else:
                self._silent.setdefault(source, []).append(target)
        self.start = self.reach(system.initial_states)

    def reach(self, states: object) -> frozenset[str]:
        """The states themselves and all that unobservable moves lead to."""
        found = set(states)  # type: ignore[call-overload]
        waiting = list(found)
        while waiting:
            for target in self._silent.get(waiting.pop(), ()):
                if target not in found:
                    found.add(target)
                    waiting.append(target)
        return frozenset(found)

    def step(self, states: frozenset[str], event: str) -> frozenset[str]:
        """The estimate after one more event."""
        return self.reach({target for state in states for target in self._after.get((state, event), ())})

    def observer(self) -> set[frozenset[str]]:
        """All reachable estimates."""
        found, waiting = {self.start}, [self.start]
        while waiting:
            estimate = waiting.pop()
            for event in self.observable:
                after = self.step(estimate, event)
                if after and after not in found:
                    found.add(after)
                    waiting.append(after)
        return found

    def is_weakly_opaque(self, k: int | str) -> bool:
        """Follow each secret state x beside B, where the runs that were not secret may be, for k observations."""
        seeds = set()
        for estimate in self.observer():
            clean = self.reach(estimate - self.secret)
            if not clean:
                return False
            seeds |= {(state, clean) for state in estimate & self.secret}
        layer, found, age = seeds, set(seeds), 0
        while layer and (k == "infinite" or age < int(k)):
            following = set()
            for state, clean in layer:
                for event in self.observable:
                    targets = self.step(frozenset([state]), event)
                    if targets:
                        after = self.step(clean, event)
                        if not after:
                            return False
                        following |= {(target, after) for target in targets}
            layer = following - found
            found |= layer
            age += 1
        return True


# --- the rows -----------------------------------------------------------------------------------


def _medians(systems: list[sv.StochasticSystem], ours: Callable, plain: Callable, rounds: int) -> tuple[float, float]:
    """The median over the systems of the best time of each side."""
    best = [
        best_times({"ours": Task(lambda s=s: ours(s)), "plain": Task(lambda s=s: plain(Plain(s)))}, rounds=rounds)
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
        assert {frozenset(estimate) for estimate in estimates} == Plain(system).observer()
        sizes.append(len(estimates))
    ours, plain = _medians(systems, sv.observer, Plain.observer, rounds)
    yield from _both(f"{size} states: observer", ours, plain, limit=0.03, note=f"{'/'.join(map(str, sizes))} estimates")
    for k in _QUESTIONS:
        found = [sv.verify_opacity(system, k) for system in systems]
        assert [verdict.holds for verdict in found] == [Plain(system).is_weakly_opaque(k) for system in systems]
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
    for size, seeds, limit in ((50, effort.of(60, 3), 0.5), (100, effort.of(16, 1), 5)):
        systems = [random_system(size, seed) for seed in range(seeds)]
        for k in (0, 1, 3, 10, "infinite"):
            times: dict[int, float] = {}
            violated = set()
            notes = []
            for seed, system in enumerate(systems):
                begin = time.perf_counter()
                try:
                    found = sv.violation_probability(system, k)
                except TooLargeError as error:
                    notes.append(f"seed {seed}: {error}")
                    times[seed] = math.inf
                    continue
                times[seed] = time.perf_counter() - begin
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
        begin = time.perf_counter()
        found = sv.violation_probability(system, k)
        seconds = time.perf_counter() - begin
        yield Row(
            name=f"{size:,} states mostly told apart: probability of violation, k = {k}",
            ours=seconds, peer="", peer_time=None, quantity="seconds", limit=60, unit="system",
            note=f"{float(found):.6g}, {'exact' if found.is_exact else 'bounds'}; "
            f"{len(sv.observer(system).sets):,} estimates; peak memory of the whole run so far "
            f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB",
        )  # fmt: skip


BENCHMARKS: list[Benchmark] = [verdicts, hard_seeds, probabilities, large_systems]
