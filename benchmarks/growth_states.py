"""How the time grows with the size of a model: releases, lumping, distances, probabilities of violation."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import symveil as sv
from benchmarks.bisimulation import with_copies
from benchmarks.distances import certified, random_chain
from benchmarks.fit import Growth
from benchmarks.measure import Effort, Task, best_times
from benchmarks.models import city_graph, random_words
from benchmarks.row import Benchmark, Row, duration
from benchmarks.systems import told_apart_system
from symveil.languages.runs import RunLanguage
from symveil.verification.distances.tables import ChainTable, bisimulation


def releases(effort: Effort) -> Iterator[Row]:
    """Words of 20 steps in a city, one by one: the streets near a word, however large the city is."""

    def prepare(size: int) -> Task:
        language = RunLanguage(graph=city_graph(size), length=20)
        mechanism = sv.Exponential(language, epsilon=5, adjacency="all", calibration="classic")
        codes = random_words(language, 16)
        return Task(lambda: [mechanism.release_codes(word[None, :]) for word in codes], len(codes))

    sizes = effort.of((1_000, 3_000, 10_000, 30_000, 100_000), (500, 1_000, 2_000))
    yield _row("a release, n = 20", prepare, sizes, expected=0, limit=0.4, rounds=effort.of(7, 1))


def lumping(effort: Effort) -> Iterator[Row]:
    """Copies of a chain of 50 states: every round looks at every edge, and the number of rounds stays."""

    def prepare(size: int) -> Task:
        table = ChainTable.of(with_copies(random_chain(50), size // 50))
        return Task(lambda: bisimulation(table))

    sizes = effort.of((500, 1_000, 2_000, 4_000, 8_000), (100, 200, 400))
    yield _row("lumping", prepare, sizes, expected=1, limit=1.15, rounds=effort.of(5, 1))


def distances(effort: Effort) -> Iterator[Row]:
    """ld of all pairs: n² flows of a few nodes each, and a look at all triples for relays."""

    def prepare(size: int) -> Task:
        table = ChainTable.of(random_chain(size))
        return Task(lambda: certified(table))

    sizes = effort.of((50, 100, 200, 400), (20, 30, 40))
    yield _row("ld of all pairs, proved", prepare, sizes, expected=3, limit=3, rounds=effort.of(3, 1))


def violations(effort: Effort) -> Iterator[Row]:
    """Systems that the observer can mostly tell apart, k = ∞: a sparse linear system in product states."""

    def prepare(size: int) -> Task:
        system = told_apart_system(size, 0)
        return Task(lambda: sv.violation_probability(system, "infinite"))

    sizes = effort.of((125, 250, 500, 1_000), (100, 150, 200))
    yield _row("probability of violation", prepare, sizes, expected=2, limit=2, rounds=effort.of(2, 1))


def _row(
    name: str,
    prepare: Callable[[int], Task],
    sizes: tuple[int, ...],
    *,
    expected: float,
    limit: float,
    rounds: int,
) -> Row:
    times = best_times({str(size): prepare(size) for size in sizes}, rounds=rounds)
    seconds = tuple(times[str(size)] for size in sizes)
    growth = Growth(picture="states", sizes=sizes, seconds=seconds, expected=expected)
    return Row(
        name=f"{name}: {sizes[0]:,} … {sizes[-1]:,} states", ours=seconds[-1], peer="", peer_time=None,
        quantity="exponent", growth=growth, limit=limit, unit="model",
        note=f"expected n^{expected:g}; from {duration(seconds[0])}",
    )  # fmt: skip


BENCHMARKS: list[Benchmark] = [releases, lumping, distances, violations]
