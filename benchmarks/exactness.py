"""What exactness costs: our draws against the same draws from plain floats, which are not exact.

The plain draws do what most code does: compare a float with a float. They round every probability,
lose those below 2⁻⁵³ and use a generator that is not made for secrets.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

import symveil as sv
from benchmarks.conference import copies, language
from benchmarks.measure import Effort, Task, best_times
from benchmarks.row import Benchmark, Row

_PIECE = 1024  # rows at once, so that the plain draws stay in the processor's cache as ours do

Codes = NDArray[np.int32]


def plain_exponential(codes: Codes, size: int, epsilon: float, generator: np.random.Generator) -> Codes:
    """The tight exponential mechanism from floats: each symbol is resampled with chance λ."""
    kept = math.exp(-epsilon)
    chance = size * kept / (1 + (size - 1) * kept)
    released = codes.copy()
    for start in range(0, len(codes), _PIECE):
        piece = released[start : start + _PIECE]
        drawn = generator.integers(0, size, size=piece.shape, dtype=np.int32)
        np.copyto(piece, drawn, where=generator.random(piece.shape) < chance)
    return released


def plain_at_distance(codes: Codes, size: int, law: NDArray[np.float64], generator: np.random.Generator) -> Codes:
    """A distance from a float law, then a word at that distance by the order of random floats."""
    released = codes.copy()
    sums = np.cumsum(law)
    for start in range(0, len(codes), _PIECE):
        piece = released[start : start + _PIECE]
        distances = np.searchsorted(sums, generator.random(len(piece)), side="right")
        keys = generator.random(piece.shape)
        last_winner = np.sort(keys, axis=1)[np.arange(len(piece)), np.maximum(distances - 1, 0)]
        changed = (keys <= last_winner[:, None]) & (distances > 0)[:, None]
        other = generator.integers(0, size - 1, size=piece.shape, dtype=np.int32)
        other += other >= piece
        np.copyto(piece, other, where=changed)
    return released


def against_floats(effort: Effort) -> Iterator[Row]:
    """The same laws, drawn exactly and drawn from floats."""
    for epsilon in (1, 10):
        yield from _at(epsilon, effort)


def _at(epsilon: int, effort: Effort) -> Iterator[Row]:
    rows = effort.of(100_000, 5_000)
    codes, words = copies(rows), language()
    generator = np.random.default_rng()
    size = len(words.alphabet)
    exponential = sv.Exponential(words, epsilon=epsilon)
    flip = sv.PermuteAndFlip(words, epsilon=epsilon)
    law = flip.distances().probabilities
    times = best_times(
        {
            "exponential": Task(lambda: exponential.release_codes(codes), rows),
            "plain exponential": Task(lambda: plain_exponential(codes, size, epsilon, generator), rows),
            "flip": Task(lambda: flip.release_codes(codes), rows),
            "plain flip": Task(lambda: plain_at_distance(codes, size, law, generator), rows),
        },
        rounds=effort.of(12, 2),
    )
    for name, key in (("Exponential", "exponential"), ("PermuteAndFlip", "flip")):
        yield Row(
            name=f"{name}, exact, ε = {epsilon}",
            ours=times[key],
            peer="the same from numpy floats",
            peer_time=times[f"plain {key}"],
            quantity="cost",
        )


BENCHMARKS: list[Benchmark] = [against_floats]
