"""Central releases of a cluster: under the same key the same bytes as on this machine."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import services
import symveil as sv
from symveil.errors import FileError, ParameterError
from symveil.release import protocol
from symveil.tasks.count import count_file
from symveil.tasks.learn_privately import learn

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore"),  # Spark's and py4j's own
    pytest.mark.skipif(services.java() is None, reason="no Java 17, and installing it was not allowed"),
]

ROWS = 300
COLUMNS = {"identifier": "uid", "sequence": "trip", "person": "who"}


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """The same trips in one file and in a folder of two; some words are illegal, some persons have many cells."""
    words = [list("abcabxa"[number % 3 : number % 8]) for number in range(ROWS)]
    table = pa.table(
        {
            "uid": [f"u{number}" for number in range(ROWS)],
            "trip": pa.array(words, type=pa.list_(pa.string())),
            "who": [f"p{number % 120}" for number in range(ROWS)],
        }
    )
    pq.write_table(table, tmp_path / "one.parquet")
    (tmp_path / "two").mkdir()
    for part in range(2):
        pq.write_table(table.slice(part * ROWS // 2, ROWS // 2), tmp_path / "two" / f"part-{1 - part}.parquet")
    return tmp_path / "one.parquet", tmp_path / "two"


def test_the_same_tables_and_the_same_model(spark, places, tmp_path, monkeypatch) -> None:
    del spark  # is active
    monkeypatch.setattr(protocol, "new_release_key", lambda: bytes(32))
    monkeypatch.setattr(protocol, "today", lambda: "2026-01-01")  # or the day may end between two runs
    made = {}
    for source, engine in zip(places, ("local", "spark"), strict=True):
        folder = tmp_path / engine
        folder.mkdir()
        common = {"epsilon": 1, "engine": engine, "release_id": "r"}
        count_file(source, "ngrams:2", out=folder / "auto.csv", alphabet="abc", **COLUMNS, **common)
        count_file(source, "ngrams:2", out=folder / "any.csv", delta="0.1", bound=2, **COLUMNS, **common)
        columns = sv.ColumnOptions(**COLUMNS)
        learn(source, folder / "law.json", alphabet="abc", lengths=(1, 6), columns=columns, **common)
        made[engine] = {file.name: file.read_bytes() for file in sorted(folder.iterdir())}
    assert made["local"] == made["spark"] and len(made["local"]) == 6
    assert made["local"]["any.csv"].count(b"\n") >= 3  # some rows are frequent enough, or nothing would be compared


@pytest.mark.soak
def test_a_ledger_charges_each_person_once(spark, places, tmp_path) -> None:
    del spark
    ledger = tmp_path / "ledger.db"
    sv.grant_budget(ledger, epsilon=5, everyone=True)
    given = {"epsilon": 1, "alphabet": "abc", "engine": "spark", "ledger": ledger}
    release = count_file(places[1], "visits", out=tmp_path / "out.csv", **COLUMNS, **given)
    assert sv.person_status(ledger, "p7").spent == "1" and sv.check_manifest(release.manifest_file).holds


def test_events_are_grouped(spark, tmp_path) -> None:
    events = spark.createDataFrame([("k", 2, "b"), ("k", 1, "a"), ("m", 1, "c")], "c string, t int, s string")
    events.write.parquet(str(tmp_path / "events"))
    table = count_file(
        tmp_path / "events", "first", epsilon=1000, alphabet="abc", bound=1, engine="spark", out=tmp_path / "first.csv",
        case="c", order="t", symbol="s",
    ).counts  # fmt: skip
    assert table is not None
    rounded = {row["symbols"][0]: round(row["count"]) for row in table.document()["rows"]}
    assert rounded == {"a": 1, "b": 0, "c": 1}


def test_refusals(spark, places, tmp_path) -> None:
    given = {"epsilon": 1, "alphabet": "abc", "out": tmp_path / "out.csv"}
    with pytest.raises(ParameterError, match="master: expected engine spark with it, found local"):
        count_file(places[0], "visits", master="local[2]", **given)
    with pytest.raises(ParameterError, match="engine: expected local or spark, found sparks"):
        count_file(places[0], "visits", engine="sparks", **given)  # type: ignore[arg-type]
    rows = [("a", None), ("b c", "x")]
    spark.createDataFrame(rows, "trip string, who string").write.parquet(str(tmp_path / "nobody"))
    with pytest.raises(FileError, match="a column of persons or ids"):
        count_file(tmp_path / "nobody", "visits", engine="spark", sequence="trip", **given)
    with pytest.raises(FileError, match="a person in every row, found none in some row"):
        count_file(tmp_path / "nobody", "visits", engine="spark", sequence="trip", person="who", **given)
    assert not (tmp_path / "out.csv").exists()
