"""Settings on the trips of Shanghai, where they are at hand, and through Spark: minutes in all, so in no test run."""

from __future__ import annotations

import csv
import gzip
import itertools
import os
import sys
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet

import symveil as sv

from .files import TRIPS, in_folder
from .mechanisms import law_document
from .settings import EXAMPLES, ROOT, Setting, file_document

DATA = ROOT.parent / "shared" / "data"
LENGTH = 20


def settings() -> Iterator[Setting]:
    """About 20 settings, by name."""
    here = (DATA / "shanghai_trips.csv.gz").exists()
    for beyond, (b, epsilon) in itertools.product(("graceful", "nothing"), [(1, 1), (1, 4), (2, 4), (2, 8), (4, 16)]):
        options = {"epsilon": epsilon, "adjacency": b, "beyond": beyond}
        name = f"shanghai auto {beyond} b={b} ε={epsilon}"
        yield Setting(name, lambda o=options: _on_trips(sv.select_mechanism, o), slow=True, here=here)
    for label, kind, options in [
        ("exponential", sv.Exponential, {"epsilon": 16, "adjacency": 4}),
        ("exponential classic", sv.Exponential, {"epsilon": 16, "adjacency": 4, "calibration": "classic"}),
        ("permute-and-flip", sv.PermuteAndFlip, {"epsilon": 8, "adjacency": 1}),
        ("staircase", sv.Staircase, {"epsilon": 8, "adjacency": 2}),
        ("online", sv.Online, {"epsilon": 4, "adjacency": 1}),
    ]:
        yield Setting(f"shanghai {label}", lambda k=kind, o=options: _on_trips(k, o), slow=True, here=here)
    yield Setting("shanghai bound b=1 ε=2", _bound, slow=True, here=here)
    for engine in ("local", "spark"):
        yield in_folder(f"engine {engine} privatize", lambda at, e=engine: _privatized(at, e), slow=True)
        yield in_folder(f"engine {engine} count", lambda at, e=engine: _counted(at, e), slow=True)


@cache
def _trips_and_chain() -> tuple[list[tuple[str, ...]], sv.MarkovChain]:
    with gzip.open(DATA / "shanghai_adjacency.csv.gz", "rt", encoding="utf-8") as file:
        moves = [(row["from_link"], row["to_link"]) for row in csv.DictReader(file)]
    degree = Counter(source for source, _ in moves)
    chain = sv.MarkovChain.from_transitions([(a, b, Fraction(1, degree[a])) for a, b in moves])
    with gzip.open(DATA / "shanghai_trips.csv.gz", "rt", encoding="utf-8") as file:
        trips = [tuple(row["links"].split()) for row in csv.DictReader(file)]
    return [trip for trip in trips if len(trip) == LENGTH][:3], chain


def _on_trips(kind: object, options: dict[str, object]) -> dict[str, object]:
    trips, chain = _trips_and_chain()
    return law_document(kind(sv.runs(chain, LENGTH, public_start=True), **options), trips)


def _bound() -> dict[str, object]:
    bound = sv.lower_bound(sv.runs(_trips_and_chain()[1], LENGTH, public_start=True), epsilon=2, adjacency=1)
    return {"value": bound.value, "confidence": bound.confidence, "method": bound.method}


def _ready(engine: str) -> None:
    """Workers of Spark import the package from where this process has it."""
    if engine == "spark":
        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ["PYTHONPATH"] = os.pathsep.join(
            [str(Path(sv.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        )


def _privatized(at: Path, engine: str) -> dict[str, object]:
    """The rows, sorted: Spark writes a folder of parts."""
    _ready(engine)
    out = at / "private.parquet"
    source = _parquet(at, "trips.csv")
    sv.privatize_file(source, out, engine=engine, epsilon="3", release_id="golden", mechanism="exponential", **TRIPS)
    return {"rows": sorted(map(str, pyarrow.parquet.read_table(out).to_pylist()))}


def _counted(at: Path, engine: str) -> dict[str, object]:
    _ready(engine)
    sv.count_file(
        _parquet(at, "city_trips.csv"),
        "visits",
        epsilon="1",
        out=at / "table.csv",
        release_id="golden",
        engine=engine,
        model=EXAMPLES / "roads.json",
        separator="|",
        person="rider",
        sequence="streets",
    )
    return {"table": file_document(at / "table.csv")}


def _parquet(at: Path, name: str) -> Path:
    table = pyarrow.csv.read_csv(EXAMPLES / name)
    pyarrow.parquet.write_table(table, at / "in.parquet")
    return at / "in.parquet"
