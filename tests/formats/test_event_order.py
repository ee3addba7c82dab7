"""What comes first: every kind of column that can be sorted sorts as its values do, and every other is refused."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from symveil.errors import FileError
from symveil.formats.sequences.event_groups import EventOrder
from symveil.tasks.privatize_file import privatize_file

UTC = dt.UTC


def keys(column: pa.Array, first: int = 1) -> list[tuple[int, float]]:
    places = pa.array(range(first, first + len(column)))
    floors, rests = EventOrder(Path("log.parquet"), "row").keys(column, places)
    return list(zip(floors.tolist(), rests.tolist(), strict=True))


@pytest.mark.parametrize(
    "rising",
    [
        pa.array([-(2**63), -1, 0, 2**63 - 1], pa.int64()),
        pa.array([0, 7, 2**63 - 1], pa.uint64()),
        pa.array([-1, 0, 100], pa.int8()),
        pa.array([-2.5, -2.0, 0.1, 0.2, 1e18], pa.float64()),
        pa.array([-2.5, 0.25], pa.float32()),
        pa.array([Decimal("-2.25"), Decimal("1.50"), Decimal("10.00")]),
        pa.array([dt.date(1960, 1, 1), dt.date(1970, 1, 1), dt.date(9999, 12, 31)]),
        pa.array([dt.datetime(1960, 1, 1), dt.datetime(2020, 1, 1, 0, 0, 1)], pa.timestamp("us")),
        pa.array([dt.datetime(1990, 1, 1, tzinfo=UTC), dt.datetime(2020, 1, 1, tzinfo=UTC)]),
        pa.array([dt.timedelta(seconds=1), dt.timedelta(days=1)]),
        pa.array(["9", "10", "10.5", "1e3"]),
        pa.array(["9", "10"]).dictionary_encode(),
        pa.array(["1999-12-31T23:59:59+00:00", "2000-01-01T02:00:00+01:00", "2000-01-01T01:30:00Z"]),
        pa.array(["1999-12-31", "2000-01-01T00:00:00"]),
    ],
    ids=lambda column: str(column.type),
)
def test_keys_rise_with_the_values(rising: pa.Array) -> None:
    found = keys(rising)
    assert found == sorted(set(found))
    backwards = keys(rising.take(pa.array(range(len(rising))[::-1])))
    assert backwards == found[::-1]


@pytest.mark.parametrize(
    ("column", "row"),
    [
        (pa.array([1, None]), 2),
        (pa.array([0, 2**63, 5], pa.uint64()), 2),
        (pa.array([0.5, float("nan")]), 2),
        (pa.array([0.5, float("inf")]), 2),
        (pa.array([1.0, 2.0**63]), 2),
        (pa.array([True, False]), 1),
        (pa.array(["1", "2000-01-01"]), 2),
        (pa.array(["2000-01-01", "2000-01-01T00:00:00Z"]), 2),
        (pa.array(["1", "early"]), 2),
        (pa.array(["9" * 30]), 1),
        (pa.array(["nan"]), 1),
        (pa.array([None], pa.null()), 1),
    ],
    ids=lambda value: str(getattr(value, "type", value)),
)
def test_other_values_are_refused_at_their_row(column: pa.Array, row: int) -> None:
    with pytest.raises(
        FileError, match=f"log.parquet: row {row + 10}: expected numbers or ISO 8601 timestamps"
    ) as caught:
        keys(column, first=11)
    assert str(caught.value).endswith("found another value")


@pytest.mark.parametrize("column", [pa.array([[1], [2]]), pa.array([{"at": 1}]), pa.array([b"1", b"\xff"])], ids=str)
def test_other_types_are_refused_as_a_whole(column: pa.Array) -> None:
    with pytest.raises(FileError, match="log.parquet: expected numbers or ISO .* found a column of type"):
        keys(column)


def test_a_kind_is_kept_from_batch_to_batch() -> None:
    order, places = EventOrder(Path("log.csv"), "line"), pa.array([1])
    order.keys(pa.array(["10"]), places)
    with pytest.raises(FileError, match="one kind throughout"):
        order.keys(pa.array(["2000-01-01"]), places)


def test_an_order_beyond_what_sorts_is_one_line_to_whoever_releases(tmp_path: Path) -> None:
    table = pa.table({"case": ["x", "x"], "what": ["a", "b"], "at": pa.array([2**63, 1], pa.uint64())})
    pq.write_table(table, tmp_path / "log.parquet")
    with pytest.raises(FileError, match="log.parquet: row 1: expected numbers") as caught:
        privatize_file(
            tmp_path / "log.parquet", tmp_path / "out.parquet", alphabet="ab", epsilon=1,
            case="case", symbol="what", order="at",
        )  # fmt: skip
    assert "9223372036854775808" not in str(caught.value)
    assert not (tmp_path / "out.parquet").exists()
