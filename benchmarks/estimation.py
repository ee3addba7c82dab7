"""Answers from private files, where the data is at hand: how far tables are from the true ones, and the time."""

from __future__ import annotations

import csv
import gzip
import math
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

import symveil as sv
from benchmarks.data import data_file
from benchmarks.measure import Effort, find_peer, in_a_new_process
from benchmarks.row import Benchmark, Row
from benchmarks.shanghai import trips_and_chain
from symveil.examples.paper_systems import town, town_trips

_SEEDS = 3
_SMALL_FILES = 50
_MISSING = "the data is not here"
_PAGES = [str(page) for page in range(1, 18)]
_CASES: tuple[tuple[str, dict[str, Any], float], ...] = (
    ("ngrams:2", {"epsilon": 1}, 0.45),
    ("ngrams:2", {"epsilon": 2}, 0.09),
    ("ngrams:2", {"epsilon": 3}, 0.026),
    ("od", {"epsilon": 2}, 0.20),
    ("ngrams:2", {"epsilon": 4, "adjacency": 3, "mechanism": "staircase"}, 0.25),
)


_ON_TRIPS: tuple[tuple[dict[str, Any], bool], ...] = (
    ({"epsilon": 2, "adjacency": 1, "mechanism": "exponential", "cost": "hamming"}, True),
    ({"epsilon": 8, "adjacency": 4, "mechanism": "exponential", "cost": "hamming"}, True),
    ({"epsilon": 2, "adjacency": 1}, False),
    ({"epsilon": 8, "adjacency": 4}, False),
)
"""How trips are released, and whether there is a bar: not for `auto`, which leaves less to be undone."""
_L1 = "L1 of normalised tables, 0 to 2"


def distance(estimate: sv.Estimate, truth: NDArray[np.float64], column: str) -> float:
    """L1 between the normalised tables, from 0 to 2."""
    table = np.zeros(truth.shape)
    table[estimate.codes[:, 0], estimate.codes[:, 1]] = estimate.numbers[column]
    return float(np.abs(table / table.sum() - truth / truth.sum()).sum())


def _true_pairs(words: list[list[int]], symbols: int) -> NDArray[np.float64]:
    table = np.zeros((symbols, symbols))
    for word in words:
        np.add.at(table, (word[:-1], word[1:]), 1)
    return table


def _msnbc_truth(statistic: str) -> NDArray[np.float64]:
    pages = pq.read_table(str(data_file("msnbc.parquet")))["pages"].combine_chunks()
    codes, offsets = pages.flatten().to_numpy().astype(np.int64) - 1, pages.offsets.to_numpy()
    lengths = np.diff(offsets)
    if statistic == "od":
        some = lengths >= 2
        first, last = codes[offsets[:-1][some]], codes[offsets[1:][some] - 1]
    else:
        word = np.repeat(np.arange(len(lengths)), lengths)
        inside = word[:-1] == word[1:]
        first, last = codes[:-1][inside], codes[1:][inside]
    return np.bincount(first * 17 + last, minlength=289).reshape(17, 17).astype(np.float64)


def web_sessions(effort: Effort) -> Iterator[Row]:
    """A million web sessions over 17 pages: counted, and estimated."""
    source = data_file("msnbc.parquet")
    if effort.quick or source is None:
        if source is None:
            yield Row(name="MSNBC", ours=None, peer="", peer_time=None, quantity="symbols", note=_MISSING)
        return
    seconds = {"ours": math.inf, "release": math.inf}  # the least of three: other work only makes them longer
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "private.parquet")
        for statistic, named, limit in _CASES:
            truth = _msnbc_truth(statistic)
            naive = ours = 0.0
            for _ in range(_SEEDS):
                begin = time.process_time()
                sv.privatize_file(source, out, alphabet=_PAGES, **named)
                released = time.process_time()
                found = sv.estimate(out, statistic)
                if named == {"epsilon": 2} and statistic == "ngrams:2":
                    seconds["ours"] = min(seconds["ours"], time.process_time() - released)
                    seconds["release"] = min(seconds["release"], released - begin)
                naive += distance(found, truth, "released") / _SEEDS
                ours += distance(found, truth, "consistent") / _SEEDS
            said = ", ".join(f"{key} {value}" for key, value in named.items())
            yield Row(
                name=f"MSNBC {statistic}, {said}: L1", ours=ours, peer="counting the private file", peer_time=naive,
                quantity="symbols", limit=limit, unit=_L1, note=f"mean of {_SEEDS}",
            )  # fmt: skip
        yield Row(
            name="MSNBC ngrams:2 with variances", ours=seconds["ours"], peer="its release",
            peer_time=seconds["release"], quantity="cost", limit=1.5, unit="file",
        )  # fmt: skip
        alone = in_a_new_process(
            "import sys\nimport symveil as sv\nanswer = len(sv.estimate(sys.argv[1], 'ngrams:2'))", str(out)
        )
        yield Row(
            name="MSNBC ngrams:2 with variances: memory", ours=alone.megabytes, peer="", peer_time=None,
            quantity="megabytes", limit=1000, unit="file",
        )  # fmt: skip


def hospital_log(effort: Effort) -> Iterator[Row]:
    """A hospital's event log behind the edit channel."""
    source = data_file("sepsis.csv.gz")
    if source is None:
        yield Row(name="Sepsis", ours=None, peer="", peer_time=None, quantity="symbols", note=_MISSING)
        return
    cases: dict[str, list[tuple[str, str]]] = defaultdict(list)
    with gzip.open(source, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            cases[row["case:concept:name"]].append((row["time:timestamp"], row["concept:name"]))
    words = [[name for _, name in sorted(events, key=lambda event: event[0])] for events in cases.values()]
    names = sorted({name for word in words for name in word})
    truth = _true_pairs([[names.index(name) for name in word] for word in words], len(names))
    seeds = effort.of(_SEEDS, 1)
    with tempfile.TemporaryDirectory() as folder:
        log, out = Path(folder, "log.csv"), Path(folder, "private.csv")
        log.write_text("id,activities\n" + "".join(f"{i},{'|'.join(word)}\n" for i, word in enumerate(words)))
        naive = ours = 0.0
        for _ in range(seeds):
            sv.privatize_file(
                log, out, alphabet=names, epsilon=5, metric="levenshtein", mechanism="edit", separator="|"
            )
            found = sv.estimate(out, "ngrams:2")
            naive += distance(found, truth, "released") / seeds
            ours += distance(found, truth, "consistent") / seeds
    yield Row(
        name="Sepsis ngrams:2, edit channel, epsilon 5: L1", ours=ours, peer="counting the private file",
        peer_time=naive, quantity="symbols", limit=None if effort.quick else 0.08,
        unit=_L1, note=f"mean of {seeds}",
    )  # fmt: skip


def _trip_file(folder: Path, trips: list[list[str]], chain: sv.MarkovChain) -> tuple[Path, Path]:
    source, model = folder / "trips.csv", folder / "roads.json"
    sv.save_model(chain, model)
    with source.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("trip_id", "links"), *((i, " ".join(trip)) for i, trip in enumerate(trips))])
    return source, model


def _moves(trips: list[list[str]], names: list[str]) -> NDArray[np.float64]:
    code = {name: number for number, name in enumerate(names)}
    return _true_pairs([[code[name] for name in trip] for trip in trips], len(names))


def road_trips(effort: Effort) -> Iterator[Row]:
    """Recorded trips on the roads of Shanghai, by releasing them again."""
    data = trips_and_chain()
    if effort.quick or data is None:
        if data is None:
            yield Row(name="Shanghai", ours=None, peer="", peer_time=None, quantity="symbols", note=_MISSING)
        return
    trips, chain = data
    truth = _moves(trips, list(map(str, chain.states)))
    with tempfile.TemporaryDirectory() as name:
        source, model = _trip_file(Path(name), trips, chain)
        for named, has_bar in _ON_TRIPS:
            naive = ours = 0.0
            missed: list[float] = []
            for _ in range(_SEEDS):
                out = Path(name, "private.csv")
                sv.privatize_file(source, out, model=model, public_start=True, thin=True, **named)
                found = sv.estimate(out, "ngrams:2")
                naive += distance(found, truth, "released") / _SEEDS
                ours += distance(found, truth, "consistent") / _SEEDS
                true = truth[found.codes[:, 0], found.codes[:, 1]]
                outside = (found.numbers["low"] > true) | (found.numbers["high"] < true)
                if not np.isnan(found.numbers["low"]).any():
                    missed.append(float(outside[true >= 5].mean()))
            said = f"Shanghai moves, b = {named['adjacency']}, ε = {named['epsilon']}, {named.get('mechanism', 'auto')}"
            yield Row(
                name=f"{said}: L1", ours=ours, peer="counting the private file", peer_time=naive, quantity="symbols",
                limit=round(0.6 * naive, 5) if has_bar else None, unit=_L1, note=f"mean of {_SEEDS}",
            )  # fmt: skip
            if missed:
                yield Row(
                    name=f"{said}: intervals that miss", ours=float(np.mean(missed)), peer="", peer_time=None,
                    quantity="symbols", limit=0.06, unit="share of moves that occur 5 times or more",
                )  # fmt: skip


def small_files(effort: Effort) -> Iterator[Row]:
    """280 trips on a network of 43 streets: too few to gain much, and shrinkage sees to it that little is lost."""
    trips = [list(map(str, trip)) for trip in town_trips().values()]
    chain = town()
    truth = _moves(trips, list(map(str, chain.states)))
    times = effort.of(_SMALL_FILES, 2)
    with tempfile.TemporaryDirectory() as name:
        source, model = _trip_file(Path(name), trips, chain)
        for epsilon in effort.of((3, 4, 6), (4,)):
            naive = ours = 0.0
            for number in range(times):
                out = Path(name, f"private_{epsilon}_{number}.csv")
                sv.privatize_file(source, out, model=model, epsilon=epsilon, adjacency=1, thin=True)
                found = sv.estimate(out, "ngrams:2")
                naive += distance(found, truth, "released") / times
                ours += distance(found, truth, "consistent") / times
            yield Row(
                name=f"43 streets, 280 trips, ε = {epsilon}: L1", ours=ours, peer="counting the private file",
                peer_time=naive, quantity="symbols", limit=None if effort.quick else round(1.05 * naive, 5), unit=_L1,
                note=f"mean of {times}",
            )  # fmt: skip


def randomised_response(effort: Effort) -> Iterator[Row]:
    """Words of one symbol are randomised response, whose maximum likelihood others have too."""
    del effort
    title, symbols, epsilon = "visits of one symbol: largest difference of shares", 8, 2.0
    peer = find_peer("multi_freq_ldpy.pure_frequency_oracles.GRR")
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder, "true.csv"), Path(folder, "private.csv")
        names = [f"s{number}" for number in range(symbols)]
        words = [names[min(number % 13, symbols - 1)] for number in range(20_000)]  # all shares are well above 0
        source.write_text("id,symbol\n" + "".join(f"{number},{word}\n" for number, word in enumerate(words)))
        sv.privatize_file(source, out, alphabet=names, epsilon=2, sequence="symbol")
        found = sv.estimate(out, "visits")
        with out.open(encoding="utf-8", newline="") as file:
            reports = np.array([names.index(row["symbol"]) for row in csv.DictReader(file)])
    shares = np.zeros(symbols)
    shares[found.codes[:, 0]] = found.numbers["estimate"] / len(words)
    away = np.exp(-epsilon)
    p, q = 1 / (1 + (symbols - 1) * away), away / (1 + (symbols - 1) * away)
    closed = (np.bincount(reports, minlength=symbols) / len(words) - q) / (p - q)
    yield Row(
        name=f"{title} from the closed form", ours=float(np.abs(shares - closed).max()), peer="", peer_time=None,
        quantity="symbols", limit=1e-9, unit="share",
    )  # fmt: skip
    theirs = None if peer.module is None else np.asarray(peer.module.GRR_Aggregator_MI(reports, symbols, epsilon))
    yield Row(
        name=f"{title} from multi-freq-ldpy", ours=None if theirs is None else float(np.abs(shares - theirs).max()),
        peer="", peer_time=None, quantity="symbols", limit=1e-9, unit="share", note=peer.reason,
    )  # fmt: skip


BENCHMARKS: list[Benchmark] = [web_sessions, hospital_log, road_trips, small_files, randomised_response]
