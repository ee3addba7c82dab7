"""Real trips with hidden lengths: every released trip is legal, and the certified rate beats the classic one."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

import symveil as sv

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"

pytestmark = pytest.mark.skipif(
    not (DATA / "shanghai_trips.csv.gz").exists(), reason="the Shanghai trips are not in ../shared/data"
)


def test_released_trips_are_legal_and_certified():
    with gzip.open(DATA / "shanghai_adjacency.csv.gz", "rt", encoding="utf-8") as file:
        moves = [(row["from_link"], row["to_link"]) for row in csv.DictReader(file)]
    degree = Counter(source for source, _ in moves)
    chain = sv.MarkovChain.from_transitions([(a, b, Fraction(1, degree[a])) for a, b in moves])
    with gzip.open(DATA / "shanghai_trips.csv.gz", "rt", encoding="utf-8") as file:
        trips = [row["links"].split() for _, row in zip(range(200), csv.DictReader(file), strict=False)]
    language = sv.runs_up_to(chain, 20)
    mechanism = sv.TruncatedLevenshtein(language, epsilon=16, adjacency=2, cutoff=6)
    assert mechanism.guarantee.how == "certified"
    assert mechanism.rate > 2 * Fraction(16, 4) * Fraction(9, 10)  # classic: 4
    short = [trip for trip in trips if len(trip) <= 20][:40]
    close = mechanism.release_many(short)
    far = sv.TruncatedLevenshtein(language, epsilon=1, adjacency=1, cutoff=2).release_many(short)
    for trip in [*close, *far]:
        language.encode(trip)
    # kept with probability above 0.95 at ε = 16, below 10⁻⁶ at ε = 1: neither fails by chance once in 10⁶
    assert sum(tuple(trip) == other for trip, other in zip(short, close, strict=True)) > 20
    assert sum(tuple(trip) == other for trip, other in zip(short, far, strict=True)) < 3
