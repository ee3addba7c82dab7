"""The utility report of a file of trips and of an event log, from reading to the page."""

from __future__ import annotations

import csv
import gzip
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import symveil as sv
from benchmarks.data import data_file
from benchmarks.measure import Effort
from benchmarks.row import Benchmark, Row
from symveil.tasks.compare_report import comparison_page


def shanghai(effort: Effort) -> Iterator[Row]:
    """All trips against trips with one link in twenty exchanged, with places: every metric but whole sequences."""
    name = "Shanghai: utility report of all trips, with the map"
    trips, places = data_file("shanghai_trips.csv.gz"), data_file("shanghai_links.csv.gz")
    if trips is None or places is None:
        yield Row(
            name=name, ours=None, peer="", peer_time=None, quantity="seconds", limit=10, note="the data is not here"
        )
        return
    generator = random.Random(0)
    with gzip.open(trips, "rt", encoding="utf-8") as file:
        rows = [row["links"].split() for row in csv.DictReader(file)][: effort.of(10**9, 1000)]
    exchanged = [[str(generator.randrange(714)) if generator.random() < 0.05 else x for x in row] for row in rows]
    with tempfile.TemporaryDirectory() as folder:
        true, private = Path(folder, "true.csv"), Path(folder, "private.csv")
        for place, words in ((true, rows), (private, exchanged)):
            lines = "".join(f"{number},{' '.join(word)}\n" for number, word in enumerate(words))
            place.write_text(f"trip_id,links\n{lines}", encoding="utf-8")
        begin = time.process_time()
        page = comparison_page(sv.compare(true, private, places=places))
        seconds = time.process_time() - begin
    assert "<svg" in page
    yield Row(
        name=name, ours=seconds, peer="", peer_time=None, quantity="seconds", limit=10, unit="file",
        note="reading, ten metrics, pictures; made-up private trips",
    )  # fmt: skip


def sepsis(effort: Effort) -> Iterator[Row]:
    """Exact transport between the cases of an event log and as many others."""
    log = data_file("sepsis.csv.gz")
    if effort.quick or log is None:
        return
    generator = random.Random(0)
    cases: dict[str, list[str]] = {}
    with gzip.open(log, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            cases.setdefault(row["case:concept:name"], []).append(row["concept:name"])
    true = list(cases.values())
    activities = sorted({activity for case in true for activity in case})
    private = [[generator.choice(activities) if generator.random() < 0.2 else x for x in case] for case in true]
    begin = time.process_time()
    assert sv.compare(true, private).metrics["log_similarity"] < 1
    yield Row(
        name="Sepsis: metrics of 1,050 cases, exact log similarity among them", ours=time.process_time() - begin,
        peer="", peer_time=None, quantity="seconds", limit=10, unit="file",
    )  # fmt: skip


BENCHMARKS: list[Benchmark] = [shanghai, sepsis]
