"""Central privacy, one ε per person, where the data is at hand: synthetic files and tables against the true ones.

Each trip, case or session is a person of its own. Distances are those of docs/benchmarks.md, *Central privacy*; noise
is fresh in every run. A score that is better when larger stands as what it lacks to 1.
"""

from __future__ import annotations

import csv
import gzip
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.stats import kendalltau

import symveil as sv
from benchmarks.data import data_file
from benchmarks.measure import Effort
from benchmarks.row import Benchmark, Row
from benchmarks.shanghai import trips_and_chain
from symveil.comparison.distributions import CodedWords
from symveil.comparison.transport import log_similarity

Words = Sequence[Sequence[str]]
Floats = NDArray[np.float64]

_MISSING = "the data is not here"
_PAGES = [str(page) for page in range(1, 18)]
_SHANGHAI_BARS: dict[str, dict[str, float | None]] = {
    "1": {"density": 0.004, "OD, 36 zones": 0.010, "OD, 10 × 10": 0.08, "1 − τ": 0.12, "1 − F1": 0.07},
    "0.1": {"density": 0.04, "OD, 36 zones": 0.06, "OD, 10 × 10": None, "1 − τ": None, "1 − F1": 0.20},
}
_MSNBC_BARS = {("ngrams:2", "1"): 0.03, ("ngrams:2", "0.1"): 0.065, ("ngrams:3", "1"): 0.10, ("ngrams:3", "0.1"): 0.25}


def jensen_shannon(one: Floats, other: Floats) -> float:
    """The divergence with the natural logarithm, no root, of two tables.

    >>> round(jensen_shannon(np.array([1.0, 0.0]), np.array([0.0, 2.0])), 4)
    0.6931
    """
    p, q = one / one.sum(), other / other.sum()
    middle = (p + q) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [np.where(each > 0, each * np.log(each / middle), 0.0).sum() for each in (p, q)]
    return float(sum(parts) / 2)


def top_patterns(words: Words, *, most: int = 100) -> set[tuple[str, ...]]:
    """The most frequent contiguous patterns of 2 to 5 symbols, ties by pattern."""
    counts: Counter[tuple[str, ...]] = Counter()
    for word in words:
        for size in range(2, 6):
            counts.update(tuple(word[at : at + size]) for at in range(len(word) - size + 1))
    return {pattern for pattern, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]}


class City:
    """The links of a map, and what is measured of trips on them."""

    def __init__(self, places: Path, trips: Words) -> None:
        with gzip.open(places, "rt", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.number = {row["link_id"]: index for index, row in enumerate(rows)}
        self.middle = np.array(
            [[(float(row[f"u_{axis}"]) + float(row[f"v_{axis}"])) / 2 for axis in ("lon", "lat")] for row in rows]
        )
        self.truth, self.patterns = self._tables(trips), top_patterns(trips)

    def _tables(self, trips: Words) -> dict[str, Floats]:
        size = len(self.number)
        coded = [np.array([self.number[link] for link in trip]) for trip in trips]
        ends = np.array([[word[0], word[-1]] for word in coded])
        used = np.concatenate([np.unique(word) for word in coded])
        return {
            "density": np.bincount(np.concatenate(coded), minlength=size).astype(np.float64),
            "trips": np.bincount(used, minlength=size).astype(np.float64),
            **{f"OD {cells}": self._pairs(ends, cells) for cells in (6, 10)},
        }

    def _pairs(self, ends: NDArray[np.int64], cells: int) -> Floats:
        low, high = self.middle.min(axis=0), self.middle.max(axis=0)
        place = np.minimum((self.middle - low) / (high - low) * cells, cells - 1e-9).astype(np.int64)
        zone = (place[:, 0] * cells + place[:, 1])[ends]
        return np.bincount(zone[:, 0] * cells**2 + zone[:, 1], minlength=cells**4).astype(np.float64)

    def distances(self, trips: Words) -> dict[str, float]:
        """Of synthetic trips from the true ones."""
        found, own = self._tables(trips), top_patterns(trips)
        tau = float(kendalltau(self.truth["trips"], found["trips"]).statistic)
        return {
            "density": jensen_shannon(self.truth["density"], found["density"]),
            "OD, 36 zones": jensen_shannon(self.truth["OD 6"], found["OD 6"]),
            "OD, 10 × 10": jensen_shannon(self.truth["OD 10"], found["OD 10"]),
            "1 − τ": 1 - tau,
            "1 − F1": 1 - 2 * len(own & self.patterns) / (len(own) + len(self.patterns)),
        }


def _synthetic(file: Path) -> list[tuple[str, ...]]:
    return [tuple(map(str, word)) for word in sv.read_sequences(file, sequence="sequence")]


def shanghai(effort: Effort) -> Iterator[Row]:
    """A synthetic city: five runs at each ε, every trip legal."""
    found, source, places = trips_and_chain(), data_file("shanghai_trips.csv.gz"), data_file("shanghai_links.csv.gz")
    if found is None or source is None or places is None:
        yield Row(name="Shanghai, synthetic", ours=None, peer="", peer_time=None, quantity="symbols", note=_MISSING)
        return
    trips, chain = found
    city, moves = City(places, trips), {(one, other) for one, other, _ in chain.transitions}
    runs, seconds = effort.of(5, 1), {"learn": 0.0, "synthesize": 0.0}
    for epsilon, bars in _SHANGHAI_BARS.items():
        totals = dict.fromkeys(bars, 0.0)
        for _ in range(runs):
            with tempfile.TemporaryDirectory() as folder:
                model, out = Path(folder, "model.json"), Path(folder, "synthetic.csv")
                begin = time.process_time()
                columns = sv.ColumnOptions(identifier="trip_id", sequence="links")
                sv.learn(
                    source, model, epsilon=epsilon, lengths=(15, 49), model=chain, places=places, zones="6",
                    columns=columns,
                )  # fmt: skip
                learned = time.process_time()
                sv.synthesize(model, out, count=len(trips))
                drawn = time.process_time()
                words = _synthetic(out)
            seconds["learn"] = max(seconds["learn"], learned - begin)
            seconds["synthesize"] = max(seconds["synthesize"], drawn - learned)
            assert all(15 <= len(word) <= 49 and set(pairwise(word)) <= moves for word in words), "an illegal trip"
            for name, value in city.distances(words).items():
                totals[name] += value / runs
        for name, limit in bars.items():
            yield Row(
                name=f"Shanghai, synthetic, ε = {epsilon}: {name}", ours=totals[name], peer="", peer_time=None,
                quantity="symbols", limit=limit, unit="distance", note=f"mean of {runs}",
            )  # fmt: skip
    for task, limit in (("learn", 10.0), ("synthesize", 1.0)):
        yield Row(
            name=f"Shanghai, {task}, 24,468 trips", ours=seconds[task], peer="", peer_time=None, quantity="seconds",
            limit=limit, unit="file", note="processor time of the slowest run; files are read and written in it",
        )  # fmt: skip


def sepsis(effort: Effort) -> Iterator[Row]:
    """A synthetic event log: ten runs, the mean and the worst."""
    source = data_file("sepsis.csv.gz")
    if source is None:
        yield Row(name="Sepsis, synthetic", ours=None, peer="", peer_time=None, quantity="symbols", note=_MISSING)
        return
    columns = sv.ColumnOptions(case="case:concept:name", symbol="concept:name", order="time:timestamp")
    true = [tuple(map(str, word)) for word in sv.read_sequences(
        source, case="case:concept:name", symbol="concept:name", order="time:timestamp"
    )]  # fmt: skip
    activities = sorted({activity for case in true for activity in case})
    code = {activity: number for number, activity in enumerate(activities)}

    def coded(words: Words) -> CodedWords:
        return CodedWords.from_words([[code[symbol] for symbol in word] for word in words], symbols=len(code))

    for epsilon, bars in (("1", (0.30, 0.34)), ("0.5", (None, None)), ("2", (None, None))):
        lacking = []
        for _ in range(effort.of(10 if epsilon == "1" else 3, 1)):
            with tempfile.TemporaryDirectory() as folder:
                model, out = Path(folder, "model.json"), Path(folder, "synthetic.jsonl")
                sv.learn(source, model, epsilon=epsilon, lengths=(1, 50), alphabet=activities, columns=columns)
                sv.synthesize(model, out, count=len(true))
                value = log_similarity(coded(true), coded(_synthetic(out))).value
            assert value is not None
            lacking.append(1 - value)
        for name, figure, limit in zip(
            ("mean", "worst"), (float(np.mean(lacking)), max(lacking)), bars, strict=True
        ):  # fmt: skip
            yield Row(
                name=f"Sepsis, synthetic, ε = {epsilon}: EMD, {name} of {len(lacking)}", ours=figure, peer="",
                peer_time=None, quantity="symbols", limit=limit, unit="distance",
            )  # fmt: skip


def web_sessions(effort: Effort) -> Iterator[Row]:
    """Pairs and triples of pages in a million sessions: five runs each."""
    source = data_file("msnbc.parquet")
    if effort.quick or source is None:
        if source is None:
            yield Row(name="MSNBC, counted", ours=None, peer="", peer_time=None, quantity="symbols", note=_MISSING)
        return
    pages = pq.read_table(str(source))["pages"].combine_chunks()
    codes, lengths = pages.flatten().to_numpy().astype(np.int64) - 1, np.diff(pages.offsets.to_numpy())
    position = np.arange(len(codes)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    for (statistic, epsilon), limit in _MSNBC_BARS.items():
        order = int(statistic[-1])
        at = np.flatnonzero(position + order <= np.repeat(lengths, lengths))
        cells = sum(codes[at + step] * 17 ** (order - 1 - step) for step in range(order))
        truth = np.bincount(cells, minlength=17**order) / len(at)
        errors = []
        for _ in range(5):
            table = sv.count(source, statistic, epsilon=epsilon, alphabet=_PAGES)
            found = np.zeros(17**order)
            found[table.codes @ 17 ** np.arange(order - 1, -1, -1)] = table.numbers["consistent"]
            errors.append(float(np.abs(found / found.sum() - truth).sum()))
        yield Row(
            name=f"MSNBC, counted, {statistic}, ε = {epsilon}: L1", ours=float(np.mean(errors)), peer="",
            peer_time=None, quantity="symbols", limit=limit, unit="distance", note="mean of 5, of normalised tables",
        )  # fmt: skip


BENCHMARKS: list[Benchmark] = [shanghai, sepsis, web_sessions]
