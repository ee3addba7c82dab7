"""Words of models: a grid, a road network, a city."""

from __future__ import annotations

import time
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

import symveil as sv
from benchmarks.jones2019_grid_plain import plain_runs
from benchmarks.measure import Effort, Task, best_times, find_peer, in_a_new_process
from benchmarks.row import Benchmark, Row
from benchmarks.shanghai import trips_and_chain
from symveil.examples.millford import millford
from symveil.examples.paper_systems import corner_path, grid, road_network
from symveil.languages.graph import WordGraph
from symveil.languages.run_draws import draw_rows
from symveil.languages.run_weights import RunWeights
from symveil.languages.runs import RunLanguage
from symveil.models.alphabet import Alphabet
from symveil.randomness import BitSource, system_bits


def grid_runs(effort: Effort) -> Iterator[Row]:
    """J19 Case Study 2: set-up and 100 runs, against Algorithm 2 in plain Python; then many runs."""
    language = sv.runs(grid(), 18)
    word = language.encode(corner_path())
    codes = np.repeat(word[None, :], 100, axis=0)
    many = np.repeat(word[None, :], effort.of(100_000, 2_000), axis=0)
    mechanism = sv.Exponential(language, epsilon=5, adjacency=1, calibration="classic")
    fresh = lambda: sv.Exponential(language, epsilon=5, adjacency=1, calibration="classic").release_codes(codes)  # noqa: E731
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


def _word_by_word(codes, first, symbol, target, start, mismatch, uniform, released):
    """The plain way, compiled by numba, one thread: a backward pass per word, then a walk; floats decide everything."""
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
    codes = random_words(language, effort.of(200_000, 20_000))
    mechanism = sv.Exponential(language, epsilon=5, adjacency=1, calibration="classic")
    graph = language.graph
    generator = np.random.default_rng()
    released = np.empty_like(codes)

    numba = find_peer("numba")
    word_by_word = numba.module.njit(cache=True)(_word_by_word) if numba.module else None

    def plain() -> None:
        word_by_word(
            codes, graph.first, graph.symbol, graph.target, graph.start, float(np.exp(-2.5)),
            generator.random(codes.shape), released,
        )  # fmt: skip

    tasks = {"ours": Task(lambda: mechanism.release_codes(codes), len(codes))}
    if word_by_word is not None:
        tasks["plain"] = Task(plain, len(codes))
    times = best_times(tasks, rounds=effort.of(7, 2), clock=time.perf_counter)
    yield Row(
        name="43 segments, n = 14, all cores, wall time", ours=times["ours"],
        peer="compiled, word by word, one thread", peer_time=times.get("plain"), quantity="speed-up", limit=3,
        note=numba.reason,
    )  # fmt: skip


def small_batches(effort: Effort) -> Iterator[Row]:
    """Small batches by both compiled loops: sixteen words at once, and each by the states near it."""
    language = sv.runs(road_network(), 14)
    few, many = random_words(language, effort.of(4_000, 1_000)), random_words(language, effort.of(40_000, 20_000))
    mechanism = sv.Exponential(language, epsilon=5, adjacency=1, calibration="classic")
    city = RunLanguage(graph=city_graph(effort.of(30_000, 3_000)), length=20)
    roads, streets = mechanism._run_weights, RunWeights(language=city, rate=Fraction(5, 40))
    singles, trips = few[: effort.of(100, 10)], random_words(city, 64)
    bits = system_bits()
    times = best_times(
        {
            "near": Task(lambda: draw_rows(roads, few, bits, in_lanes=False), len(few)),
            "few": Task(lambda: mechanism.release_codes(few), len(few)),
            "many": Task(lambda: mechanism.release_codes(many), len(many)),
            "single": _one_by_one(roads, singles, bits, in_lanes=False),
            "single in lanes": _one_by_one(roads, singles, bits, in_lanes=True),
            "trips": Task(lambda: draw_rows(streets, trips, bits, in_lanes=False), len(trips)),
            "trips in lanes": Task(lambda: draw_rows(streets, trips, bits, in_lanes=True), len(trips)),
        },
        rounds=effort.of(7, 1),
    )
    name, lanes = "43 segments, n = 14", "sixteen words at once"
    yield Row(
        name=f"{name}, {len(few):,} words, each by the states near it", ours=times["near"], peer=lanes,
        peer_time=times["few"], quantity="cost", limit=6,
    )  # fmt: skip
    yield Row(
        name=f"{name}, {len(few):,} words", ours=times["few"], peer=f"{len(many):,} words", peer_time=times["many"],
        quantity="cost", limit=5,
    )  # fmt: skip
    yield Row(
        name=f"{name}, one word by the states near it", ours=times["single"], peer=lanes,
        peer_time=times["single in lanes"], quantity="speed-up", limit=1.2,
    )  # fmt: skip
    yield Row(
        name=f"{city.graph.state_count:,} streets, n = 20, {len(trips)} words, each by the states near it",
        ours=times["trips"], peer=lanes, peer_time=times["trips in lanes"], quantity="speed-up",
        limit=effort.of(1.3, 0.1),
    )  # fmt: skip
    first = in_a_new_process(
        "import sys\nfrom benchmarks.models import first_batch\nanswer = first_batch(int(sys.argv[1]))", str(len(few))
    )
    yield Row(
        name=f"{name}, {len(few):,} words: the first batch of a process", ours=first.answer, peer="", peer_time=None,
        quantity="seconds", limit=0.5,
    )  # fmt: skip


def _one_by_one(weights: RunWeights, words: np.ndarray, bits: BitSource, *, in_lanes: bool) -> Task:
    return Task(lambda: [draw_rows(weights, word[None, :], bits, in_lanes=in_lanes) for word in words], len(words))


def first_batch(count: int) -> float:
    """Seconds for a mechanism on the road network and its first batch."""
    language = sv.runs(road_network(), 14)
    codes = random_words(language, count)
    begin = time.process_time()
    sv.Exponential(language, epsilon=5, adjacency=1, calibration="classic").release_codes(codes)
    return time.process_time() - begin


def each_mechanism(effort: Effort) -> Iterator[Row]:
    """10⁴ different words of a town and of a city by the mechanisms that do not pass over the graph for every word."""
    rows = effort.of(10_000, 300)
    cities = {"Millford, 76 streets, n = 12": sv.runs(millford(), 12)}
    if (shanghai := trips_and_chain()) is not None:
        cities["Shanghai, 714 links, n = 20"] = sv.runs(shanghai[1], 20)
    for city, language in cities.items():
        times = _times_of_mechanisms(language, rows, rounds=effort.of(7, 1))
        for name in ("Online", "PermuteAndFlip"):
            yield Row(
                name=f"{name}: {city}, {rows:,} words", ours=times[name], peer="Exponential",
                peer_time=times["Exponential"], quantity="cost", limit=20,
            )  # fmt: skip


def _times_of_mechanisms(language: RunLanguage, rows: int, *, rounds: int) -> dict[str, float]:
    codes = random_words(language, rows)
    exponential = sv.Exponential(language, epsilon=4, adjacency=1, calibration="classic")
    mechanisms = {
        "Exponential": exponential,
        "Online": sv.Online(language, epsilon=4, adjacency=1),
        "PermuteAndFlip": sv.PermuteAndFlip(language, epsilon=4, adjacency=1),
    }
    return best_times(
        {name: Task(lambda m=each: m.release_codes(codes), rows) for name, each in mechanisms.items()}, rounds=rounds
    )


def random_words(language: RunLanguage, count: int) -> np.ndarray:
    """Words of a language, each step taken at random."""
    generator = np.random.default_rng(1)
    graph = language.graph
    state = np.full(count, graph.start)
    words = np.empty((count, language.length), dtype=np.int32)
    for position in range(language.length):
        degree = graph.first[state + 1] - graph.first[state]
        edge = graph.first[state] + (generator.random(count) * degree).astype(np.int64)
        words[:, position], state = graph.symbol[edge], graph.target[edge]
    return words


def city_graph(size: int) -> WordGraph:
    """Streets: each state leads to both neighbours and one further away, a few of which are far."""
    generator = np.random.default_rng(2)
    near = (np.arange(size)[:, None] + np.array([1, -1, 317])) % size
    far = generator.random(size) < 0.05
    near[far, 2] = generator.integers(0, size, far.sum())
    targets = np.sort(near, axis=1).astype(np.int32).reshape(-1)
    return WordGraph(
        alphabet=Alphabet(tuple(range(size))),
        start=0,
        first=np.arange(0, 3 * size + 1, 3),
        symbol=targets,
        target=targets,
        accepting=np.ones(size, dtype=np.bool_),
        state_is_symbol=True,
    )


def first_release(size: int) -> float:
    """Seconds for a mechanism on a city and its first release, of 100 steps."""
    language = RunLanguage(graph=city_graph(size), length=100)
    codes = random_words(language, 1)
    begin = time.process_time()
    sv.Exponential(language, epsilon=5, adjacency=1, calibration="classic").release_codes(codes)
    return time.process_time() - begin


def city(effort: Effort) -> Iterator[Row]:
    """One release in a city: 100,000 states, 300,000 edges, n = 100, classic calibration, in a new process."""
    size = effort.of(100_000, 5_000)
    done = in_a_new_process(
        "import sys\nfrom benchmarks.models import first_release\nanswer = first_release(int(sys.argv[1]))", str(size)
    )
    name = f"{size:,} states, {3 * size:,} edges, n = 100: one release"
    yield Row(
        name=name, ours=done.answer, peer="", peer_time=None, quantity="seconds", limit=5, note="the first of a process"
    )
    yield Row(name=f"{name}: memory", ours=done.megabytes, peer="", peer_time=None, quantity="megabytes", limit=2000)


BENCHMARKS: list[Benchmark] = [grid_runs, road_words, small_batches, each_mechanism, city]
