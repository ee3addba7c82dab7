"""Answers from private files, where the data is at hand: how far tables are from the true ones, and the time."""

from __future__ import annotations

import csv
import gzip
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
from benchmarks.measure import Effort
from benchmarks.row import Benchmark, Row

_SEEDS = 3
_MISSING = "the data is not here"
_PAGES = [str(page) for page in range(1, 18)]
_CASES: tuple[tuple[str, dict[str, Any], float], ...] = (
    ("ngrams:2", {"epsilon": 1}, 0.45),
    ("ngrams:2", {"epsilon": 2}, 0.09),
    ("ngrams:2", {"epsilon": 3}, 0.026),
    ("od", {"epsilon": 2}, 0.20),
    ("ngrams:2", {"epsilon": 4, "adjacency": 3, "mechanism": "staircase"}, 0.25),
)


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
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "private.parquet")
        for statistic, named, limit in _CASES:
            truth = _msnbc_truth(statistic)
            naive = ours = 0.0
            for _ in range(_SEEDS):
                begin = time.perf_counter()
                sv.privatize_file(source, out, alphabet=_PAGES, **named)
                released = time.perf_counter()
                found = sv.estimate(out, statistic)
                if named == {"epsilon": 2} and statistic == "ngrams:2":
                    seconds = {"ours": time.perf_counter() - released, "release": released - begin}
                naive += distance(found, truth, "released") / _SEEDS
                ours += distance(found, truth, "consistent") / _SEEDS
            said = ", ".join(f"{key} {value}" for key, value in named.items())
            yield Row(
                name=f"MSNBC {statistic}, {said}: L1", ours=ours, peer="counting the private file", peer_time=naive,
                quantity="symbols", limit=limit, unit="L1 of normalised tables, 0 to 2", note=f"mean of {_SEEDS}",
            )  # fmt: skip
    yield Row(
        name="MSNBC ngrams:2 with variances", ours=seconds["ours"], peer="its release", peer_time=seconds["release"],
        quantity="cost", limit=1.5, unit="file",
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
        unit="L1 of normalised tables, 0 to 2", note=f"mean of {seeds}",
    )  # fmt: skip


BENCHMARKS: list[Benchmark] = [web_sessions, hospital_log]
