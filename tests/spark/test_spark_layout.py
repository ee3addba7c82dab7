"""What Spark writes must not show how it cut and joined its input: that depends on the sizes of secret words."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
import services
import symveil as sv
from symveil.errors import ParameterError
from symveil.formats.limits import LIMITS
from symveil.release import protocol
from symveil.release.spark_session import digest_of_frame

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore"),  # Spark's and py4j's own
    pytest.mark.skipif(services.java() is None, reason="no Java 17, and installing it was not allowed"),
]

ROWS = 240
LONG = "a symbol with a long name, which fills files"
WIDE = {"identifier": "uid", "sequence": "trip", "engine": "spark", "release_id": "r"}
EVENTS = {"case": "uid", "order": "at", "symbol": "trip", "engine": "spark", "release_id": "r"}


@pytest.fixture
def follows_sizes(spark, monkeypatch, set_limits):
    """Spark cuts its input into partitions of a few kilobytes, and puts small ones together again."""
    chosen = {"spark.sql.files.maxPartitionBytes": "6000", "spark.sql.files.openCostInBytes": "500"}
    chosen |= {"spark.sql.adaptive.advisoryPartitionSizeInBytes": "4000", "spark.sql.shuffle.partitions": "6"}
    chosen |= {"spark.sql.adaptive.coalescePartitions.minPartitionSize": "1", "parquet.block.size": "20000"}
    before = {name: spark.conf.get(name, None) for name in chosen}
    for name, value in chosen.items():
        spark.conf.set(name, value)
    set_limits(LIMITS, file_rows=100)
    monkeypatch.setattr(protocol, "new_release_key", lambda: bytes(32))
    yield spark
    for name, value in before.items():
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)


def write(folder: Path, words: list[list[str]], *, long: bool = False, files: int = 3) -> Path:
    folder.mkdir()
    size = -(-len(words) // files)
    for part in range(files):
        own = list(enumerate(words))[part * size : (part + 1) * size]
        ids = [f"u{number:03}" for number, _ in own]
        table = {"uid": ids, "trip": pa.array([word for _, word in own], pa.list_(pa.string()))}
        if long:
            table = {
                "uid": [name for name, (_, word) in zip(ids, own, strict=True) for _ in word],
                "at": [place for _, word in own for place in range(len(word))],
                "trip": [symbol for _, word in own for symbol in word],
            }
        # not compressed: sizes follow the words as they do in files of real sizes
        pq.write_table(pa.table(table), folder / f"part-{part}.parquet", compression="none", use_dictionary=False,
                       row_group_size=20)  # fmt: skip
    return folder


def seen(folder: Path) -> dict[str, bytes]:
    """The files by their names, without the name that each run draws."""
    unique = re.compile(r"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-")
    return {unique.sub("-", file.name): file.read_bytes() for file in sorted(folder.iterdir()) if file.suffix != ".crc"}


def partitions(spark, folder: Path) -> list[int]:
    return spark.read.parquet(str(folder)).rdd.mapPartitions(lambda rows: [sum(1 for _ in rows)]).collect()


def test_where_everything_is_deleted_nothing_shows(follows_sizes, tmp_path):
    """Levenshtein, a loss of 0: one length and one symbol must not show either."""
    secrets = {
        "short": [["a"]] * ROWS,
        "long": [[LONG] * 30 if n < 100 else ["a"] for n in range(ROWS)],
    }
    told, cut = [], []
    for name, words in secrets.items():
        source = write(tmp_path / name, words)
        cut.append(partitions(follows_sizes, source))
        done = sv.privatize_file(
            source, tmp_path / f"of {name}" / "out", alphabet=["a", LONG], epsilon="0.001", metric="levenshtein", **WIDE
        )  # fmt: skip
        assert done.manifest["guarantee"]["epsilon"] == 0
        told.append((seen(done.out), {**done.manifest, "digests": None, "date": None}))
    assert cut[0] != cut[1]  # or else this would show nothing
    assert sum(name.startswith("part-") for name in told[0][0]) == 3
    assert told[0] == told[1]


@pytest.mark.parametrize("long", [False, True], ids=["wide", "long"])
def test_the_same_released_words_make_the_same_files(follows_sizes, tmp_path, long):
    """What was released, released again at an epsilon that changes nothing, from other files."""
    words = [[("a", LONG)[(n * i) % 3 % 2] for i in range(1 + n % 9)] for n in range(ROWS)]
    options = {"alphabet": ["a", LONG], **(EVENTS if long else WIDE)}
    first = sv.privatize_file(write(tmp_path / "true", words, long=long), tmp_path / "first", epsilon=1, **options)
    table = pq.read_table(first.out)
    rows: dict[str, list[str]] = {}
    for row in table.to_pylist():
        rows.setdefault(row["uid"], []).extend([row["trip"]] if long else row["trip"])
    again = [rows[f"u{number:03}"] for number in range(ROWS)]
    assert [len(word) for word in again] == [len(word) for word in words]
    assert again != words
    second = sv.privatize_file(
        write(tmp_path / "again", again, long=long, files=5), tmp_path / "second", epsilon=1000, **options
    )
    assert seen(second.out) == seen(first.out)
    parts = [pq.read_table(file)["uid"].to_pylist() for file in first.out.glob("part-*")]
    assert len(parts) == -(-table.num_rows // 100)
    assert all(ids == sorted(ids) for ids in parts)
    assert set().union(*parts) == set(rows)


def test_which_row_is_refused_does_not_depend_on_the_others(follows_sizes, tmp_path):
    """Nor on whether it is met while charging or while drawing."""
    told = set()
    for name, symbol, ledger in (("1", "a", {"ledger": tmp_path / "l.db"}), ("2", LONG, {})):
        words = [[symbol] * 20 for _ in range(ROWS)]
        words[70], words[200], words[201] = ["a", "unknown"], ["a", "a", "unknown"], [None]
        source = write(tmp_path / name, words)
        with pytest.raises(ParameterError) as refused:
            sv.privatize_file(source, tmp_path / "out", alphabet=["a", LONG], epsilon=1, **WIDE, **ledger)
        told.add(str(refused.value).replace(str(source), "IN"))
    assert len(told) == 1
    (message,) = told
    assert (
        "IN: a row: expected a sequence of the alphabet, found one whose symbol at position 2 of 2 is not in it"
        in message
    )


def test_rows_that_used_to_share_a_fingerprint(spark):
    """`[a, b], NULL` and `[a], b` had one: arrays were flattened, and what is missing was skipped."""
    schema = "s array<string>, t string"
    frames = [
        [(["a", "b"], None)],
        [(["a"], "b")],
        [([], None)],
        [(None, None)],
        [(["ab"], None)],
        [([None], None)],
        [(["a", None, "b"], None)],
        [(["a", "b"], None)] * 2,
        [(["a", "b"], ""), (["a"], "b")],
        [(["a"], "b"), (["a", "b"], None)],
    ]
    digests = [digest_of_frame(spark.createDataFrame(rows, schema)) for rows in frames]
    assert len(set(digests)) == len(frames)
    mixed = [(["a"], str(number)) for number in range(50)]
    turned = spark.createDataFrame(mixed[::-1], schema).repartition(3)
    assert digest_of_frame(turned) == digest_of_frame(spark.createDataFrame(mixed, schema))
    assert digest_of_frame(turned) != digest_of_frame(turned.withColumnRenamed("t", "u"))
    assert digest_of_frame(spark.createDataFrame([], schema)) == digest_of_frame(spark.createDataFrame([], schema))
