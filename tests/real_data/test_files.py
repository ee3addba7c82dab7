"""Real files through the whole job: every sequence there, in order, and legal."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import symveil as sv
from symveil.tasks.check import check_manifest

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"

pytestmark = pytest.mark.skipif(not (DATA / "msnbc.parquet").exists(), reason="the real data is not in ../shared/data")


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch, tmp_path_factory) -> None:
    monkeypatch.setenv("SYMVEIL_CACHE", str(tmp_path_factory.getbasetemp() / "certificates"))


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(gzip.decompress(path.read_bytes()).decode())))


def test_sepsis_in_long_form(tmp_path):
    before = rows(DATA / "sepsis.csv.gz")
    activities = sorted({row["concept:name"] for row in before})  # public: the hospital's list of activities
    told = sv.privatize_file(
        DATA / "sepsis.csv.gz", tmp_path / "private.csv.gz", alphabet=activities, epsilon=3, release_id="sepsis"
    )
    after = rows(told.out)
    assert told.manifest["counts"]["released"] == 1050 and len(after) == len(before) == 15_214
    assert list(after[0]) == ["case:concept:name", "concept:name", "time:timestamp"]
    cases = list(dict.fromkeys(row["case:concept:name"] for row in before))
    assert list(dict.fromkeys(row["case:concept:name"] for row in after)) == cases and "NA" in cases
    assert {row["concept:name"] for row in after} <= set(activities)
    lengths = Counter(row["case:concept:name"] for row in before)
    assert Counter(row["case:concept:name"] for row in after) == lengths
    assert [int(row["time:timestamp"]) for row in after] == [n + 1 for case in cases for n in range(lengths[case])]
    assert check_manifest(told.manifest_file).holds


@pytest.mark.parametrize(
    "options",
    [
        {"calibration": "classic", "mechanism": "exponential", "epsilon": 16},
        pytest.param({"epsilon": 16}, marks=pytest.mark.soak),
    ],
    ids=["classic", "certified"],
)
def test_shanghai_trips_on_the_road_model(tmp_path, options):
    moves = [(row["from_link"], row["to_link"]) for row in rows(DATA / "shanghai_adjacency.csv.gz")]
    degree = Counter(source for source, _ in moves)
    chain = sv.MarkovChain.from_transitions([(a, b, Fraction(1, degree[a])) for a, b in moves])
    sv.save_model(chain, tmp_path / "roads.json")
    told = sv.privatize_file(
        DATA / "shanghai_trips.csv.gz", tmp_path / "out.csv.gz", model=tmp_path / "roads.json", adjacency=4, **options
    )
    allowed = set(moves)
    before, after = rows(DATA / "shanghai_trips.csv.gz"), rows(told.out)
    assert [row["trip_id"] for row in after] == [row["trip_id"] for row in before]
    for row, original in zip(after, before, strict=True):
        links = row["links"].split()
        assert len(links) == len(original["links"].split())
        assert all(move in allowed for move in itertools.pairwise(links))
    assert 0 < sum(row != original for row, original in zip(after, before, strict=True)) < len(before)
    assert told.manifest["protection"]["neighbours_within_adjacency"] > 5
    assert told.manifest["how"] == ("classic" if "calibration" in options else "certified")


def test_msnbc(tmp_path):
    pages = [str(page) for page in range(1, 18)]
    told = sv.privatize_file(DATA / "msnbc.parquet", tmp_path / "out.parquet", alphabet=pages, epsilon=2)
    before, after = pq.read_table(DATA / "msnbc.parquet"), pq.read_table(told.out)
    assert after.schema.remove_metadata().equals(before.schema.remove_metadata())
    lengths = [pc.list_value_length(table["pages"]).to_numpy() for table in (before, after)]
    assert np.array_equal(*lengths) and int(lengths[0].max()) == 14_795
    values = [table["pages"].combine_chunks().flatten().to_numpy() for table in (before, after)]
    # each page is kept with probability e²/(e²+16), here of 4.7 million: five standard deviations is ±0.0011,
    # which a right sampler leaves once in 1.7 million runs
    kept = float(np.mean(values[0] == values[1]))
    assert abs(kept - np.exp(2) / (np.exp(2) + 16)) < 0.0011
    assert told.manifest["classes"] == [
        {"lengths": [1, 14_795], "mechanism": "exponential", "eta": "2", "guarantee": {"epsilon": 2.0, "how": "exact"}}
    ]
