"""Real trips on the roads of Shanghai, where the data is at hand: certified calibration, every trip private, errors."""

from __future__ import annotations

import csv
import gzip
import os
import random
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

import symveil as sv
from benchmarks.data import data_file
from benchmarks.measure import Effort, in_a_new_process
from benchmarks.row import Benchmark, Row

_MISSING = "the data is not here"
_EPSILON, _ADJACENCY = 16, 4


def trips_and_chain() -> tuple[list[list[str]], sv.MarkovChain] | None:
    """The trips in the order of the file, and the chain of legal moves."""
    moves_file, trips_file = data_file("shanghai_adjacency.csv.gz"), data_file("shanghai_trips.csv.gz")
    if moves_file is None or trips_file is None:
        return None
    with gzip.open(moves_file, "rt", encoding="utf-8") as file:
        moves = [(row["from_link"], row["to_link"]) for row in csv.DictReader(file)]
    degree = Counter(source for source, _ in moves)
    chain = sv.MarkovChain.from_transitions([(a, b, Fraction(1, degree[a])) for a, b in moves])
    with gzip.open(trips_file, "rt", encoding="utf-8") as file:
        return [row["links"].split() for row in csv.DictReader(file)], chain


def make_private(longest: int) -> dict[str, float]:
    """Trips up to a length: seconds for calibrating all lengths, nothing kept before, and for making them private."""
    found = trips_and_chain()
    assert found is not None
    trips, chain = [trip for trip in found[0] if len(trip) <= longest], found[1]
    by_length: dict[int, list[list[str]]] = defaultdict(list)
    for trip in trips:
        by_length[len(trip)].append(trip)
    begin = time.process_time()
    mechanisms = {}
    for length in sorted(by_length, reverse=True):  # shorter ones share the certificate of the longest
        language = sv.runs(chain, length, public_start=True)
        mechanisms[length] = sv.Exponential(language, epsilon=_EPSILON, adjacency=_ADJACENCY)
        assert mechanisms[length].guarantee.epsilon <= _EPSILON
    calibration = time.process_time() - begin
    begin = time.process_time()
    for length, group in by_length.items():
        language = mechanisms[length].language
        codes = np.array([[language.alphabet.code[link] for link in trip] for trip in group], dtype=np.int32)
        language.check_codes(mechanisms[length].release_codes(codes))
    return {"calibration": calibration, "trips": len(trips), "release": time.process_time() - begin}


def every_trip(effort: Effort) -> Iterator[Row]:
    """All trips in a new process with an empty cache: calibration, releases, memory."""
    title = f"Shanghai, b = {_ADJACENCY}, ε = {_EPSILON}"
    if trips_and_chain() is None:
        yield Row(name=title, ours=None, peer="", peer_time=None, quantity="seconds", limit=20, note=_MISSING)
        return
    kept = os.environ.get("SYMVEIL_CACHE")
    with tempfile.TemporaryDirectory() as cache:
        os.environ["SYMVEIL_CACHE"] = cache
        try:
            done = in_a_new_process(
                "import sys\nfrom benchmarks.shanghai import make_private\nanswer = make_private(int(sys.argv[1]))",
                str(effort.of(10**9, 15)),
            )
        finally:
            os.environ.pop("SYMVEIL_CACHE")
            if kept is not None:
                os.environ["SYMVEIL_CACHE"] = kept
    found = done.answer
    yield Row(
        name=f"{title}: calibration of all lengths", ours=found["calibration"], peer="", peer_time=None,
        quantity="seconds", limit=60, unit="file", note="with an empty cache; done once and kept",
    )  # fmt: skip
    name = f"{title}: {found['trips']:,} trips private, every one legal"
    yield Row(name=name, ours=found["release"], peer="", peer_time=None, quantity="seconds", limit=20, unit="file")
    yield Row(
        name=f"{name}: memory", ours=done.megabytes, peer="", peer_time=None, quantity="megabytes", limit=1000,
        unit="file", note="calibration included",
    )  # fmt: skip


def errors(effort: Effort) -> Iterator[Row]:
    """Mean expected error over 40 trips, certified against classic, in symbols."""
    found = trips_and_chain()
    if effort.quick or found is None:
        return
    trips, chain = found
    sample = random.Random(0).sample(trips, 40)
    for adjacency, epsilon, limit in ((1, 2, 0.45), (1, 3, 0.12), (1, 5, 0.015), (4, 8, 1.5), (4, 16, 0.08)):
        mean = {"tight": 0.0, "classic": 0.0}
        for trip in sample:
            language = sv.runs(chain, len(trip), public_start=True)
            for calibration in mean:
                mechanism = sv.Exponential(language, epsilon=epsilon, adjacency=adjacency, calibration=calibration)
                mean[calibration] += mechanism.distances(trip).expected_error / len(sample)
        yield Row(
            name=f"Shanghai, b = {adjacency}, ε = {epsilon}: mean expected error, certified",
            ours=mean["tight"], peer="classic exponential", peer_time=mean["classic"], quantity="symbols",
            limit=limit, unit="symbols",
        )  # fmt: skip


BENCHMARKS: list[Benchmark] = [every_trip, errors]
