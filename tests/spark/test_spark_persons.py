"""One person has one name on a cluster and on this machine: hostile ids, in every type, through both engines."""

from __future__ import annotations

import datetime
import math
import random
import struct
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import services
import symveil as sv
from symveil.errors import FileError
from symveil.formats.sequences.columns import ColumnOptions
from symveil.formats.sequences.records import spelled_names
from symveil.release.spark_records import PERSON, SparkRecords
from symveil.tasks.count import count_file
from symveil.tasks.privatize_file import privatize_file

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore"),  # Spark's and py4j's own
    pytest.mark.skipif(services.java() is None, reason="no Java 17, and installing it was not allowed"),
]


def hostile() -> dict[str, pa.Array]:
    """As many cells of every type that can name somebody, from a fixed seed."""
    seeded = random.Random(20261118)
    floats = [0.0, -0.0, 1.0, 1e7, 123456789012.0, 2.0**53, 2.0**53 - 1, -(2.0**53) + 1, 1e300, 0.5, math.nan, math.inf]
    floats += [-math.inf, 5e-324, None, 1e16, 2.0**24, 2.0**24 - 1]
    floats += [struct.unpack("d", seeded.randbytes(8))[0] for _ in range(300)]
    floats += [float(seeded.randrange(10 ** seeded.randrange(1, 20))) for _ in range(300)]
    texts = [
        "Jos\u00e9",
        "Jose\u0301",
        "\u212b",
        "NA",
        "null",
        "",
        " ",
        "1e3",
        "1E5",
        "1.50",
        "007.0",
        "-0",
        "-0.0",
        None,
    ]
    texts += [repr(each) for each in floats] + [str(pa.scalar(each).cast(pa.string())) for each in floats]
    letters = "aA0.1e+E- \u0301\u00e9\u1100\u1161\uac00\u0323\u1e9b\uff21\U0001f600"
    texts += ["".join(seeded.choices(letters, k=seeded.randrange(1, 7))) for _ in range(600)]
    size = len(texts)
    ints = [seeded.randrange(-(2**63), 2**63) for _ in range(size)]
    cents = [
        None if number % 7 == 0 else Decimal(seeded.randrange(-(10**6), 10**6)).scaleb(-2) for number in range(size)
    ]
    whole = [Decimal(seeded.randrange(10**20)).quantize(Decimal("1.00")) for _ in range(size)]
    floats = (floats * 9)[:size]
    small = [each if each is None or abs(each) < 1e38 or not math.isfinite(each) else 1.0 for each in floats]
    return {
        "text": pa.array(texts, pa.string()),
        "integer": pa.array(ints, pa.int64()),
        "truth": pa.array([number % 2 == 0 for number in range(size)]),
        "double": pa.array(floats, pa.float64()),
        "single": pa.array(small, pa.float32()),
        "cents": pa.array(cents, pa.decimal128(20, 2)),
        "whole": pa.array(whole, pa.decimal128(38, 2)),
        "day": pa.array([datetime.date(1, 1, 1) + datetime.timedelta(number * 1000) for number in range(size)]),
        "time": pa.array([datetime.datetime(2026, 1, 1)] * size, pa.timestamp("us")),
    }


def test_every_type_has_one_spelling_in_both_engines(spark, tmp_path):
    columns = hostile()
    size = len(columns["text"])
    table = pa.table({"uid": [f"{number:05d}" for number in range(size)], "trip": ["a"] * size, **columns})
    (tmp_path / "in").mkdir()
    pq.write_table(table, tmp_path / "in" / "part.parquet")
    named = {}
    for column in columns:
        options = ColumnOptions(identifier="uid", sequence="trip", person=column)
        rows = SparkRecords.at(spark, tmp_path / "in", options).frame.select("uid", PERSON).collect()
        named[column] = [row[1] for row in sorted(rows)]
    assert named == {column: spelled_names(cells).to_pylist() for column, cells in columns.items()}
    refused = {column for column, names in named.items() if None in names}
    assert refused == {"text", "double", "single", "cents", "time"}  # no text: of the cell without one
    assert sum(name is not None for name in named["double"]) > size // 4


@pytest.mark.parametrize("central", [pytest.param(True, marks=pytest.mark.soak), False])
def test_the_same_budget_from_both_engines(spark, tmp_path, central):
    del spark
    ledger = tmp_path / "ledger.db"
    sv.grant_budget(ledger, epsilon=10, everyone=True)
    table = pa.table({"uid": ["1", "2", "3"], "trip": ["a", "b", "a"], "who": [123456789012.0, 7.0, -0.0]})
    (tmp_path / "in").mkdir()
    for place in (tmp_path / "in" / "part.parquet", tmp_path / "in.parquet"):
        pq.write_table(table, place)
    (tmp_path / "in.csv").write_text("uid,trip,who\n1,a,123456789012\n2,b,7.0\n3,a,0\n")
    given = {"epsilon": 1, "alphabet": "ab", "ledger": ledger, "identifier": "uid", "sequence": "trip", "person": "who"}
    for number, (source, engine) in enumerate((("in", "spark"), ("in.parquet", "local"), ("in.csv", "local"))):
        if central:
            count_file(tmp_path / source, "visits", out=tmp_path / f"t{number}.csv", engine=engine, **given)
        else:
            out = tmp_path / f"out{number}{Path(source).suffix}"
            privatize_file(tmp_path / source, out, engine=engine, **given)
    assert sv.ledger_status(ledger).persons == 3
    assert [sv.person_status(ledger, name).spent for name in ("123456789012", "7", "0")] == ["3", "3", "3"]


def test_what_is_no_name_is_refused_where_somebody_pays(spark, tmp_path):
    spark.createDataFrame([("1", "a", 2.5), ("2", "b", 7.0)], "uid string, trip string, who double").write.parquet(
        str(tmp_path / "in")
    )
    given = {
        "epsilon": 1,
        "alphabet": "ab",
        "identifier": "uid",
        "sequence": "trip",
        "person": "who",
        "engine": "spark",
    }
    with pytest.raises(FileError, match="in: expected text, a whole number .* as a person") as caught:
        count_file(tmp_path / "in", "visits", out=tmp_path / "t.csv", **given)
    assert "2.5" not in str(caught.value)
    sv.grant_budget(tmp_path / "l.db", epsilon=10, everyone=True)
    with pytest.raises(FileError, match="expected text, a whole number"):
        privatize_file(tmp_path / "in", tmp_path / "out", ledger=tmp_path / "l.db", **given)


def test_a_person_over_budget_is_left_out_in_every_spelling(spark, tmp_path):
    events = [("k", 1, "a", "Jose\u0301"), ("k", 2, "b", "Jos\u00e9"), ("m", 1, "a", "ann"), ("n", 1, "b", "Jos\u00e9")]
    spark.createDataFrame(events, "c string, t int, s string, who string").write.parquet(str(tmp_path / "in"))
    ledger = tmp_path / "ledger.db"
    sv.grant_budget(ledger, epsilon=1, everyone=True)
    release = privatize_file(
        tmp_path / "in", tmp_path / "out", epsilon=1, alphabet="ab", engine="spark", ledger=ledger, over_budget="drop",
        case="c", order="t", symbol="s", person="who",
    )  # fmt: skip
    assert release.manifest["counts"]["dropped_over_budget"] == 2
    assert [sv.person_status(ledger, name).spent for name in ("Jose\u0301", "ann")] == ["0", "1"]
