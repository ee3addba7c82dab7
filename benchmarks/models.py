"""Words of models: a grid, a road network, a city, and real trips where they are at hand."""

from __future__ import annotations

import csv
import gzip
import random
import resource
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numba
import numpy as np

import symveil as sv
from benchmarks.jones2019_grid_plain import plain_runs
from benchmarks.measure import Effort, Task, best_times
from benchmarks.row import Benchmark, Row
from symveil.languages.graph import WordGraph
from symveil.languages.runs import RunLanguage
from symveil.models.alphabet import Alphabet
from symveil.workflows.reproduce.jones2019_grid import corner_path, grid
from symveil.workflows.reproduce.road_network import road_network

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def grid_runs(effort: Effort) -> Iterator[Row]:
    """J19 Case Study 2: set-up and 100 runs, against Algorithm 2 in plain Python; then many runs."""
    language = sv.runs(grid(), 18)
    word = language.encode(corner_path())
    codes = np.repeat(word[None, :], 100, axis=0)
    many = np.repeat(word[None, :], effort.of(100_000, 2_000), axis=0)
    mechanism = sv.Exponential(language, epsilon=5, calibration="classic")
    fresh = lambda: sv.Exponential(language, epsilon=5, calibration="classic").release_codes(codes)  # noqa: E731
    times = best_times(
        {
            "ours": Task(fresh),
            "many": Task(lambda: mechanism.release_codes(many), len(many)),
            "plain": Task(lambda: plain_runs(grid(), corner_path(), epsilon=5.0, runs=100)),
        },
        rounds=effort.of(7, 1),
    )
    plain = "J19 Algorithm 2 in plain Python"
    note = "the paper: 193 s + 6.4 s"
    yield Row(
        name="15 × 15 grid: set-up and 100 runs", ours=times["ours"], peer=plain, peer_time=times["plain"],
        quantity="speed-up", limit=20, unit="100 runs", note=note,
    )  # fmt: skip
    yield Row(
        name="15 × 15 grid: set-up and 100 runs, warm", ours=times["ours"], peer=plain, peer_time=times["plain"],
        quantity="seconds", limit=0.01, unit="100 runs",
    )  # fmt: skip
    yield Row(
        name="15 × 15 grid: each of many runs", ours=times["many"], peer=plain, peer_time=times["plain"] / 100,
        quantity="seconds", limit=1e-5, unit="run", note="10⁵ runs per second and core",
    )  # fmt: skip


@numba.njit(cache=True)
def _word_by_word(codes, first, symbol, target, start, mismatch, uniform, released):
    """The plain way, compiled, one thread: a backward pass per word, then a walk; floats decide everything."""
    count, length = codes.shape
    size = len(first) - 1
    value = np.ones((length + 1, size))
    for word in range(count):
        for position in range(length - 1, -1, -1):
            own = codes[word, position]
            for state in range(size):
                total = 0.0
                for edge in range(first[state], first[state + 1]):
                    weight = value[position + 1, target[edge]]
                    total += weight if symbol[edge] == own else mismatch * weight
                value[position, state] = total
        state = start
        for position in range(length):
            own = codes[word, position]
            point = uniform[word, position] * value[position, state]
            for edge in range(first[state], first[state + 1]):
                weight = value[position + 1, target[edge]]
                point -= weight if symbol[edge] == own else mismatch * weight
                if point < 0 or edge == first[state + 1] - 1:
                    released[word, position] = symbol[edge]
                    state = target[edge]
                    break


def road_words(effort: Effort) -> Iterator[Row]:
    """43 segments, n = 14: many different words, against the plain compiled loop."""
    language = sv.runs(road_network(), 14)
    codes = _random_words(language, effort.of(200_000, 20_000))
    mechanism = sv.Exponential(language, epsilon=5, calibration="classic")
    graph = language.graph
    generator = np.random.default_rng()
    released = np.empty_like(codes)

    def plain() -> None:
        _word_by_word(
            codes, graph.first, graph.symbol, graph.target, graph.start, float(np.exp(-2.5)),
            generator.random(codes.shape), released,
        )  # fmt: skip

    times = best_times(
        {"ours": Task(lambda: mechanism.release_codes(codes), len(codes)), "plain": Task(plain, len(codes))},
        rounds=effort.of(7, 2),
    )
    yield Row(
        name="43 segments, n = 14, all cores", ours=times["ours"], peer="compiled, word by word, one thread",
        peer_time=times["plain"], quantity="speed-up", limit=3,
    )  # fmt: skip


def _random_words(language: RunLanguage, count: int) -> np.ndarray:
    generator = np.random.default_rng(1)
    graph = language.graph
    state = np.full(count, graph.start)
    words = np.empty((count, language.length), dtype=np.int32)
    for position in range(language.length):
        degree = graph.first[state + 1] - graph.first[state]
        edge = graph.first[state] + (generator.random(count) * degree).astype(np.int64)
        words[:, position], state = graph.symbol[edge], graph.target[edge]
    return words


def city(effort: Effort) -> Iterator[Row]:
    """One release in a city: 100,000 states, 300,000 edges, n = 100, classic calibration."""
    size = effort.of(100_000, 5_000)
    generator = np.random.default_rng(2)
    near = (np.arange(size)[:, None] + np.array([1, -1, 317])) % size
    far = generator.random(size) < 0.05
    near[far, 2] = generator.integers(0, size, far.sum())
    targets = np.sort(near, axis=1).astype(np.int32).reshape(-1)
    graph = WordGraph(
        alphabet=Alphabet(tuple(range(size))),
        start=0,
        first=np.arange(0, 3 * size + 1, 3),
        symbol=targets,
        target=targets,
        accepting=np.ones(size, dtype=np.bool_),
        state_is_symbol=True,
    )
    language = RunLanguage(graph=graph, length=100)
    codes = _random_words(language, 1)
    mechanism = sv.Exponential(language, epsilon=5, calibration="classic")
    seconds = best_times({"ours": Task(lambda: mechanism.release_codes(codes))}, rounds=1)["ours"]
    yield Row(
        name=f"{size:,} states, {3 * size:,} edges, n = 100: one release", ours=seconds, peer="", peer_time=None,
        quantity="seconds", limit=5, note=f"peak memory of the whole run so far {_peak_memory():.2f} GiB",
    )  # fmt: skip


def _peak_memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def shanghai(effort: Effort) -> Iterator[Row]:
    """Real trips: certified calibration, every trip private, and the expected error over 40 of them."""
    if not (SHARED_DATA / "shanghai_trips.csv.gz").exists():
        yield Row(
            name="Shanghai trips", ours=None, peer="", peer_time=None, quantity="seconds", note="the data is not here"
        )
        return
    trips, chain = _shanghai()
    if effort.quick:
        trips = trips[:500]
    by_length: dict[int, list[list[str]]] = defaultdict(list)
    for trip in trips:
        by_length[len(trip)].append(trip)
    begin = time.perf_counter()
    longest = max(by_length)
    sv.Exponential(sv.runs(chain, longest, public_start=True), epsilon=16, adjacency=4).guarantee  # noqa: B018
    calibration = time.perf_counter() - begin
    yield Row(
        name=f"Shanghai, b = 4, ε = 16: calibration for n = {longest}", ours=calibration, peer="", peer_time=None,
        quantity="seconds", limit=60, note="done once and kept; at once where it was kept before",
    )  # fmt: skip
    mechanisms = {n: sv.Exponential(sv.runs(chain, n, public_start=True), epsilon=16, adjacency=4) for n in by_length}
    for mechanism in mechanisms.values():
        assert mechanism.guarantee.epsilon <= 16
    begin = time.perf_counter()
    for length, group in by_length.items():
        language = mechanisms[length].language
        codes = np.array([[language.alphabet.code[link] for link in trip] for trip in group], dtype=np.int32)
        language.check_codes(mechanisms[length].release_codes(codes))
    yield Row(
        name=f"Shanghai, b = 4, ε = 16: {len(trips):,} trips private, every one legal",
        ours=time.perf_counter() - begin, peer="", peer_time=None, quantity="seconds", limit=20, unit="file",
        note=f"peak memory of the whole run so far {_peak_memory():.2f} GiB",
    )  # fmt: skip


def _shanghai() -> tuple[list[list[str]], sv.MarkovChain]:
    with gzip.open(SHARED_DATA / "shanghai_adjacency.csv.gz", "rt") as file:
        moves = [(row["from_link"], row["to_link"]) for row in csv.DictReader(file)]
    degree = Counter(source for source, _ in moves)
    chain = sv.MarkovChain.from_transitions([(a, b, Fraction(1, degree[a])) for a, b in moves])
    with gzip.open(SHARED_DATA / "shanghai_trips.csv.gz", "rt") as file:
        return [row["links"].split() for row in csv.DictReader(file)], chain


def shanghai_errors(effort: Effort) -> Iterator[Row]:
    """Mean expected error over 40 trips: the bars of the issue, in symbols."""
    if effort.quick or not (SHARED_DATA / "shanghai_trips.csv.gz").exists():
        return
    trips, chain = _shanghai()
    sample = random.Random(0).sample(trips, 40)
    for adjacency, epsilon, limit in ((1, 2, 0.45), (1, 3, 0.12), (1, 5, 0.015), (4, 8, 1.5), (4, 16, 0.08)):
        errors = {"tight": 0.0, "classic": 0.0}
        for trip in sample:
            language = sv.runs(chain, len(trip), public_start=True)
            for calibration in errors:
                mechanism = sv.Exponential(language, epsilon=epsilon, adjacency=adjacency, calibration=calibration)
                errors[calibration] += mechanism.distances(trip).expected_error / len(sample)
        yield Row(
            name=f"Shanghai, b = {adjacency}, ε = {epsilon}: mean expected error, certified against classic",
            ours=errors["tight"], peer="classic exponential", peer_time=errors["classic"], quantity="symbols",
            limit=limit, unit="symbols",
        )  # fmt: skip


BENCHMARKS: list[Benchmark] = [grid_runs, road_words, city, shanghai, shanghai_errors]
