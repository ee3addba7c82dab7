"""How the time per word grows with its length and with the alphabet: linearly, and not at all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import symveil as sv
from benchmarks.fit import Growth
from benchmarks.jones2019_plain import release
from benchmarks.measure import Effort, Task, best_times, repeated
from benchmarks.models import random_words
from benchmarks.row import Benchmark, Row, duration
from symveil.examples.paper_systems import road_network

_ALPHABET_SIZE = 16
# At ε = 10 short words mostly stay as they are, which costs next to nothing: the exponent would
# compare unlike work.
_EPSILONS = (1, 5)
_NOT_DRAWN = f"ε = {_EPSILONS[1]}"  # its curves lie on the others
_LINEAR, _FLAT = 1.15, 0.15  # what an exponent of 1 and of 0 may read
_NUMPY, _JONES = "numpy Generator.integers", "J19 in Python, built per word"
_MECHANISMS = {"Exponential": sv.Exponential, "PermuteAndFlip": sv.PermuteAndFlip}


def with_length(effort: Effort) -> Iterator[Row]:
    """Words of 32 to 4096 symbols, the same number of symbols at every length."""
    lengths = effort.of((32, 64, 128, 256, 512, 1024, 2048, 4096), (32, 256, 2048))
    symbols = effort.of(1 << 19, 1 << 15)
    generator = np.random.default_rng()
    tasks: dict[tuple[str, int], Task] = {}
    for length in lengths:
        rows = symbols // length
        words = sv.words(range(_ALPHABET_SIZE), length)
        codes = generator.integers(0, _ALPHABET_SIZE, size=(rows, length), dtype=np.int32)
        for name, mechanism in _MECHANISMS.items():
            for epsilon in _EPSILONS:
                ready = mechanism(words, epsilon=epsilon)
                tasks[f"{name}, ε = {epsilon}", length] = Task(lambda m=ready, c=codes: m.release_codes(c), rows)
        tasks[_NUMPY, length] = Task(
            lambda c=codes: generator.integers(0, _ALPHABET_SIZE, size=c.shape, dtype=np.int32), rows
        )
    yield from _rows(tasks, lengths, "length", peer=_NUMPY, expected=1, limit=_LINEAR, rounds=effort.of(15, 2))


def with_alphabet(effort: Effort) -> Iterator[Row]:
    """Words of 32 symbols, 4 to 4096 of them to choose from."""
    sizes = effort.of((4, 16, 64, 256, 1024, 4096), (4, 64, 1024))
    rows = effort.of(20_000, 1_000)
    generator = np.random.default_rng()
    tasks: dict[tuple[str, int], Task] = {}
    for size in sizes:
        words = sv.words(range(size), 32)
        codes = generator.integers(0, size, size=(rows, 32), dtype=np.int32)
        for name, mechanism in _MECHANISMS.items():
            # so little noise would hardly change a word of a small alphabet: ε = 1 does at all sizes
            ready = mechanism(words, epsilon=1)
            tasks[f"{name}, ε = 1", size] = Task(lambda m=ready, c=codes: m.release_codes(c), rows)
        tasks[_NUMPY, size] = Task(lambda s=size, c=codes: generator.integers(0, s, size=c.shape, dtype=np.int32), rows)
    yield from _rows(tasks, sizes, "alphabet", peer=_NUMPY, expected=0, limit=_FLAT, rounds=effort.of(12, 2))


def against_jones(effort: Effort) -> Iterator[Row]:
    """J19's law, by J19's algorithms and by ours, while words and alphabets grow."""
    rows = effort.of(20_000, 500)
    for picture, sizes, expected, limit in (
        ("length", effort.of((8, 16, 32, 64, 128), (8, 16, 32)), 1, _LINEAR),
        ("alphabet", effort.of((4, 16, 64, 256), (4, 16, 64)), 0, _FLAT),
    ):
        tasks: dict[tuple[str, int], Task] = {}
        for size in sizes:
            letters = [chr(0x4E00 + code) for code in range(16 if picture == "length" else size)]
            length = size if picture == "length" else 32
            words = sv.words(letters, length)
            word = "".join(letters[place % len(letters)] for place in range(length))
            ready = sv.Exponential(words, epsilon=1, calibration="classic", utility="inverse")
            codes = np.repeat(words.encode(word)[None, :], rows, axis=0)
            tasks["Exponential, J19's law", size] = Task(lambda m=ready, c=codes: m.release_codes(c), rows)
            alphabet = "".join(letters)
            tasks[_JONES, size] = repeated(lambda a=alphabet, w=word: release(a, w, epsilon=1), effort.of(5, 1))
        yield from _rows(tasks, sizes, picture, peer=_JONES, expected=expected, limit=limit, rounds=effort.of(7, 1))


def on_a_model(effort: Effort) -> Iterator[Row]:
    """Words of a road network of 43 segments: as many symbols at every length, drawn sixteen words at once.

    (Small batches and equal words are drawn by the states near them: `models` has rows for both.)
    """
    lengths = effort.of((8, 16, 32, 64, 128, 256), (8, 16, 32))
    tasks: dict[tuple[str, int], Task] = {}
    for length in lengths:
        rows = effort.of(400_000, 2_000) // length
        language = sv.runs(road_network(), length)
        ready = sv.Exponential(language, epsilon=5, adjacency=1, calibration="classic")
        codes = random_words(language, rows)
        tasks["Exponential, 43 segments", length] = Task(lambda m=ready, c=codes: m.release_codes(c), rows)
    yield from _rows(tasks, lengths, "length", peer="", expected=1, limit=_LINEAR, rounds=effort.of(7, 1))


def _rows(
    tasks: dict[tuple[str, int], Task],
    sizes: tuple[int, ...],
    picture: str,
    *,
    peer: str,
    expected: float,
    limit: float,
    rounds: int,
) -> Iterator[Row]:
    """A row for each name that is not the peer's."""
    spelled = {f"{name} {size}": task for (name, size), task in tasks.items()}
    times = best_times(spelled, rounds=rounds)
    names = list(dict.fromkeys(name for name, _ in tasks))
    found = {name: tuple(times[f"{name} {size}"] for size in sizes) for name in names}
    axis = {"length": "n", "alphabet": "|Σ|"}[picture]
    for name in names:
        if name != peer:
            drawn = "" if name.endswith(_NOT_DRAWN) else picture
            growth = Growth(
                picture=drawn, sizes=sizes, seconds=found[name], expected=expected,
                peer_sizes=sizes if peer else (), peer_seconds=found.get(peer, ()),
            )  # fmt: skip
            theirs = growth.peer_exponent
            yield Row(
                name=f"{name}: {axis} = {sizes[0]} … {sizes[-1]}", ours=found[name][-1], peer=peer,
                peer_time=found[peer][-1] if peer else None, quantity="exponent", growth=growth, limit=limit,
                note=f"expected n^{expected:g}; from {duration(found[name][0])} per word"
                + (f"; the peer's exponent {theirs.value:.2f}" if theirs else ""),
            )  # fmt: skip


BENCHMARKS: list[Benchmark] = [with_length, with_alphabet, against_jones, on_a_model]
