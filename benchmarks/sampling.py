"""Private words from J19's string, against numpy drawing as many int32 symbols that protect nothing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import symveil as sv
from benchmarks.conference import copies, language
from benchmarks.measure import Effort, Task, best_times
from benchmarks.row import Benchmark, Row

_PEER = "numpy Generator.integers"
_LIMITS = {"Exponential": 4.0, "PermuteAndFlip": 12.0}


def batches(effort: Effort) -> Iterator[Row]:
    """10⁵ private words by `release_codes`, bits from the operating system's key."""
    rows = effort.of(100_000, 5_000)
    codes, words = copies(rows), language()
    generator = np.random.default_rng()
    size = len(words.alphabet)
    tasks = {_PEER: Task(lambda: generator.integers(0, size, size=codes.shape, dtype=np.int32), rows)}
    for epsilon in (1, 10):
        for name, mechanism in (
            ("Exponential", sv.Exponential(words, epsilon=epsilon)),
            ("PermuteAndFlip", sv.PermuteAndFlip(words, epsilon=epsilon)),
            ("Staircase, adjacency 3", sv.Staircase(words, epsilon=epsilon, adjacency=3)),
            ("Exponential, inverse utility", sv.Exponential(words, epsilon=epsilon, utility="inverse")),
        ):
            tasks[f"{name}, ε = {epsilon}"] = Task(lambda m=mechanism: m.release_codes(codes), rows)
    times = best_times(tasks, rounds=effort.of(20, 3))
    for name, seconds in times.items():
        if name != _PEER:
            yield Row(
                name=name,
                ours=seconds,
                peer=_PEER,
                peer_time=times[_PEER],
                quantity="cost",
                limit=_LIMITS.get(name.rsplit(",", 1)[0]),
            )


BENCHMARKS: list[Benchmark] = [batches]
