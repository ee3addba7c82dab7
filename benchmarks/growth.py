"""How the time per word grows with its length: it should be linear."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import symveil as sv
from benchmarks.measure import Effort, Task, best_times, fitted_exponent
from benchmarks.row import Benchmark, Row, duration

_ALPHABET_SIZE = 16
# At ε = 10 short words mostly stay as they are, which costs next to nothing: the exponent would
# compare unlike work.
_EPSILONS = (1, 5)
_LARGEST_EXPONENT = 1.15
_PEER = "numpy Generator.integers"
_MECHANISMS = {"Exponential": sv.Exponential, "PermuteAndFlip": sv.PermuteAndFlip}


def with_length(effort: Effort) -> Iterator[Row]:
    """Words of 32 to 4096 symbols, the same number of symbols at every length."""
    lengths = effort.of([32, 64, 128, 256, 512, 1024, 2048, 4096], [32, 256, 2048])
    symbols = effort.of(1 << 20, 1 << 17)
    generator = np.random.default_rng()
    names = [f"{name}, ε = {epsilon}" for name in _MECHANISMS for epsilon in _EPSILONS]
    tasks: dict[str, Task] = {}
    for length in lengths:
        rows = symbols // length
        words = sv.words(range(_ALPHABET_SIZE), length)
        codes = generator.integers(0, _ALPHABET_SIZE, size=(rows, length), dtype=np.int32)
        for name, mechanism in _MECHANISMS.items():
            for epsilon in _EPSILONS:
                ready = mechanism(words, epsilon=epsilon)
                tasks[f"{name}, ε = {epsilon} {length}"] = Task(lambda m=ready, c=codes: m.release_codes(c), rows)
        tasks[f"{_PEER} {length}"] = Task(
            lambda c=codes: generator.integers(0, _ALPHABET_SIZE, size=c.shape, dtype=np.int32), rows
        )
    times = best_times(tasks, rounds=effort.of(20, 2))
    per_length = {name: [times[f"{name} {length}"] for length in lengths] for name in [*names, _PEER]}
    numpy_exponent = fitted_exponent(lengths, per_length[_PEER])
    for name in names:
        shortest, longest = per_length[name][0] / lengths[0], per_length[name][-1] / lengths[-1]
        yield Row(
            name=f"{name}, n = {lengths[0]} … {lengths[-1]}",
            ours=per_length[name][-1],
            peer=_PEER,
            peer_time=per_length[_PEER][-1],
            quantity="exponent",
            exponent=fitted_exponent(lengths, per_length[name]),
            limit=_LARGEST_EXPONENT,
            note=(
                f"times at the longest; {duration(shortest)} … {duration(longest)} per symbol; "
                f"numpy's exponent {numpy_exponent:.3f}"
            ),
        )


BENCHMARKS: list[Benchmark] = [with_length]
