"""Times on a cluster: the same tables and models as on this machine, and changed times are another input."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import services
import symveil as sv
from symveil.errors import SymveilError
from symveil.release import protocol
from symveil.tasks.count import count_file

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore"),  # Spark's and py4j's own
    pytest.mark.skipif(services.java() is None, reason="no Java 17, and installing it was not allowed"),
]

CASES = 90
EPOCH = datetime(2024, 3, 29, tzinfo=UTC)


def written(folder: Path, *, later: int = 0) -> tuple[Path, Path]:
    """The same events in one file and in a folder of two; some times are missing."""
    rows = [
        (f"c{case}", nth, "abc"[(case + nth) % 3],
         None if (case + nth) % 7 == 0 else EPOCH + timedelta(hours=7 * case + nth * nth + later))
        for case in range(CASES)
        for nth in range(case % 4 + 1)
    ]  # fmt: skip
    columns = list(zip(*rows, strict=True))
    table = pa.table(
        {
            "c": columns[0],
            "n": pa.array(columns[1], pa.int64()),
            "s": columns[2],
            "t": pa.array(columns[3], pa.timestamp("us", "UTC")),
        }
    )
    folder.mkdir(exist_ok=True)
    pq.write_table(table, folder / "one.parquet")
    (folder / "two").mkdir(exist_ok=True)
    half = len(rows) // 2
    pq.write_table(table.slice(half), folder / "two" / "part-0.parquet")
    pq.write_table(table.slice(0, half), folder / "two" / "part-1.parquet")
    return folder / "one.parquet", folder / "two"


READ = {"case": "c", "order": "n", "symbol": "s", "time": "t"}


def test_the_same_tables_and_the_same_model(spark, tmp_path, monkeypatch) -> None:
    del spark  # is active
    monkeypatch.setattr(protocol, "new_release_key", lambda: bytes(32))
    monkeypatch.setattr(protocol, "today", lambda: "2026-01-01")  # or the day may end between two runs
    made = {}
    for source, engine in zip(written(tmp_path / "in"), ("local", "spark"), strict=True):
        folder = tmp_path / engine
        folder.mkdir()
        common = {"epsilon": 1, "engine": engine, "release_id": "r", "alphabet": "abc", "timezone": "Europe/Amsterdam"}
        count_file(source, "starts", by="hour", out=folder / "hours.csv", **READ, **common)
        count_file(source, "durations", by="move", quantiles="0.5", out=folder / "waits.json", **READ, **common)
        count_file(source, "mean-waits", cap="1d", out=folder / "means.csv", **READ, **common)
        sv.learn(source, folder / "law.json", lengths=(1, 4), period="2024-03-01..2024-05-31", **READ, **common)
        made[engine] = {file.name: file.read_bytes() for file in sorted(folder.iterdir())}
    assert made["local"] == made["spark"]
    assert len(made["local"]) == 8


def test_trips_in_rows_are_counted_by_hour_and_zone(spark, tmp_path) -> None:
    texts = [f"2024-01-01T{8 if n % 2 else 17:02d}:00:00 2024-01-01T18:30:00" for n in range(60)]
    rows = [(f"u{n}", "x y" if n % 2 else "y x", texts[n]) for n in range(60)]
    spark.createDataFrame(rows, "id string, links string, times string").write.parquet(str(tmp_path / "trips"))
    zones = tmp_path / "zones.csv"
    zones.write_text("symbol,zone\nx,west\ny,east\n")
    table = count_file(
        tmp_path / "trips", "starts", by="hour", zones=zones, epsilon=1000, bound=1, alphabet=["x", "y"],
        engine="spark", sequence="links", time="times", out=tmp_path / "rush.csv",
    ).counts  # fmt: skip
    assert table is not None
    counts = {
        (*row["symbols"], row["hour"]): round(row["count"]) for row in table.document()["rows"] if row["count"] > 0.5
    }
    assert counts == {("west", 8): 30, ("east", 17): 30}


def test_changed_times_under_the_same_release_are_refused(spark, tmp_path, monkeypatch) -> None:
    del spark
    ledger = tmp_path / "ledger.db"
    sv.grant_budget(ledger, epsilon=5, everyone=True)

    def release():
        return count_file(
            tmp_path / "in" / "two", "starts", by="hour", out=tmp_path / "hours.csv", epsilon=1, alphabet="abc",
            bound=1, engine="spark", ledger=ledger, release_id="r", **READ,
        )  # fmt: skip

    written(tmp_path / "in")
    with monkeypatch.context() as patched:
        patched.setattr("symveil.storage.files.TemporaryOutput.write", _killed)
        with pytest.raises(KeyboardInterrupt):
            release()
    written(tmp_path / "in", later=1)
    with pytest.raises(SymveilError, match="release r"):
        release()
    written(tmp_path / "in")
    assert release().out.exists()


def _killed(self, content) -> None:
    raise KeyboardInterrupt
