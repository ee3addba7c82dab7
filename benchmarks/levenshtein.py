"""Words of different lengths: speed and growth of the edit channel, set-up and releases of the truncated mechanism."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

import symveil as sv
from benchmarks.fit import Growth
from benchmarks.measure import Effort, Task, best_times, repeated
from benchmarks.row import Benchmark, Row

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_PEER = "numpy Generator.integers"


def channel(effort: Effort) -> Iterator[Row]:
    """One word of 10⁶ symbols, and 10⁵ words of 10: a microsecond per symbol at most."""
    size = effort.of(1_000_000, 50_000)
    generator = np.random.default_rng()
    codes = generator.integers(0, 26, size=size, dtype=np.int32)
    one, many = np.array([size]), np.full(size // 10, 10)
    tasks = {_PEER: Task(lambda: generator.integers(0, 26, size=size, dtype=np.int32), size)}
    for epsilon in (5, 8):
        mechanism = sv.EditChannel(_LETTERS, epsilon=epsilon)
        tasks[f"EditChannel, one word, ε = {epsilon}"] = Task(lambda m=mechanism: m.release_flat(codes, one), size)
        tasks[f"EditChannel, words of 10, ε = {epsilon}"] = Task(lambda m=mechanism: m.release_flat(codes, many), size)
    times = best_times(tasks, rounds=effort.of(9, 2))
    for name, seconds in times.items():
        if name != _PEER:
            yield Row(
                name=name,
                ours=seconds,
                peer=_PEER,
                peer_time=times[_PEER],
                quantity="seconds",
                limit=1e-6,
                unit="symbol",
                note="at least 10⁶ symbols a second and core",
            )


def growth(effort: Effort) -> Iterator[Row]:
    """The channel's cost for words of 10⁴ to 10⁶ symbols."""
    sizes = effort.of((10_000, 30_000, 100_000, 300_000, 1_000_000), (3_000, 10_000, 30_000))
    codes = np.random.default_rng().integers(0, 26, size=max(sizes), dtype=np.int32)
    mechanism = sv.EditChannel(_LETTERS, epsilon=8)
    # short words as often as makes up the longest: all runs last equally long, so that other work on the machine
    # hits all of them alike (a run shorter than a time slice would escape it, a longer one never does)
    tasks = {
        str(size): repeated(
            lambda size=size: mechanism.release_flat(codes[:size], np.array([size])), round(max(sizes) / size)
        )
        for size in sizes
    }
    times = best_times(tasks, rounds=effort.of(9, 3))
    yield Row(
        name=f"EditChannel, ε = 8: n = {sizes[0]:,} … {sizes[-1]:,}",
        ours=times[str(sizes[-1])],
        peer="",
        peer_time=None,
        quantity="exponent",
        limit=1.1,
        growth=Growth(picture="length", sizes=sizes, seconds=tuple(times[str(size)] for size in sizes), expected=1),
        note="expected n^1; short words repeated as often as makes up the longest",
    )


def truncated(effort: Effort) -> Iterator[Row]:
    """k = 3, |w| = 100, m = 26: set-up (calibration and counting) of new words, then releases of one."""
    source = np.random.default_rng(3)
    words = [tuple(_LETTERS[code] for code in source.integers(0, 26, size=100)) for _ in range(effort.of(5, 1))]
    setups = []
    for word in words:
        begin = time.process_time()
        mechanism = sv.TruncatedLevenshtein(sv.words_up_to(_LETTERS, 110), epsilon=400, cutoff=3)
        mechanism.release(word)
        setups.append(time.process_time() - begin)
    yield Row(
        name="TruncatedLevenshtein, k = 3, 100 symbols of 26: set-up and first release",
        ours=max(setups),
        peer="",
        peer_time=None,
        quantity="seconds",
        limit=1.0,
        note="the slowest of several words",
    )
    times = best_times({"release": repeated(lambda: mechanism.release(words[-1]), 20)}, rounds=effort.of(9, 2))
    yield Row(
        name="TruncatedLevenshtein, k = 3, 100 symbols of 26: a release",
        ours=times["release"],
        peer="",
        peer_time=None,
        quantity="seconds",
        limit=5e-3,
    )


BENCHMARKS: list[Benchmark] = [channel, growth, truncated]
