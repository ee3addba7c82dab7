"""Parquet holds anything: what names a record or a symbol is text or a number; the rest is refused in one line."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from symveil.errors import InputError
from symveil.tasks.privatize_file import privatize_file

NAMELESS = {
    "lists": pa.array([["x"], ["y"]]),
    "records": pa.array([{"a": 1}, {"a": 2}]),
    "maps": pa.array([[("k", 1)], [("k", 2)]], pa.map_(pa.string(), pa.int32())),
    "bytes": pa.array([b"x", b"\xff"]),
    "fixed bytes": pa.array([b"ab", b"c\xff"], pa.binary(2)),
    "a dictionary of bytes": pa.array([b"x", b"\xff"]).dictionary_encode(),
}
NAMES = {
    "text": pa.array(["x", "y"]),
    "long text": pa.array(["x", "y"], pa.large_string()),
    "a dictionary": pa.array(["x", "y"]).dictionary_encode(),
    "bytes that are text": pa.array([b"x", b"y"]),
    "whole numbers": pa.array([2**64 - 1, 1], pa.uint64()),
    "decimals": pa.array([Decimal("1.0"), Decimal("2.0")]),
    "dates": pa.array([dt.date(2020, 1, 1), dt.date(2020, 1, 2)]),
}
SEQUENCES = pa.array([["a", "b"], ["b"]])


def released(folder: Path, columns: dict[str, object], **options: object) -> pa.Table:
    pq.write_table(pa.table(columns), folder / "in.parquet")
    privatize_file(folder / "in.parquet", folder / "out.parquet", alphabet="ab", epsilon=1000, **options)
    return pq.read_table(folder / "out.parquet")


ROLES = {
    "id": lambda column: ({"i": column, "s": SEQUENCES}, {"sequence": "s", "identifier": "i"}),
    "person": lambda column: (
        {"p": column, "i": ["1", "2"], "s": SEQUENCES},
        {"sequence": "s", "identifier": "i", "person": "p"},
    ),
    "case": lambda column: ({"c": column, "e": ["a", "b"]}, {"case": "c", "symbol": "e"}),
    "person of a case": lambda column: (
        {"c": ["1", "2"], "e": ["a", "b"], "p": column},
        {"case": "c", "symbol": "e", "person": "p"},
    ),
}


@pytest.mark.parametrize("role", [*ROLES, "symbol"])
@pytest.mark.parametrize("kind", NAMELESS)
def test_what_names_nothing_is_refused(tmp_path: Path, role: str, kind: str) -> None:
    if role == "symbol":
        columns, options = {"c": ["1", "2"], "e": NAMELESS[kind]}, {"case": "c", "symbol": "e"}
    else:
        columns, options = ROLES[role](NAMELESS[kind])
    with pytest.raises(
        InputError, match="in.parquet: expected an? (id|person|case|symbol), as text or a number"
    ) as caught:
        released(tmp_path, columns, **options)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("kind", NAMES)
def test_what_prints_differently_is_a_name(tmp_path: Path, role: str, kind: str) -> None:
    columns, options = ROLES[role](NAMES[kind])
    table = released(tmp_path, columns, **options)
    assert table.num_rows == 2
    if "person" not in role:  # persons are not written
        assert table.column(0).to_pylist() == NAMES[kind].to_pylist()


@pytest.mark.parametrize("kind", NAMELESS)
def test_what_is_kept_may_be_anything(tmp_path: Path, kind: str) -> None:
    columns = {"k": NAMELESS[kind], "i": ["1", "2"], "s": SEQUENCES}
    table = released(tmp_path, columns, sequence="s", identifier="i", keep=["k"])
    assert table.column("k").to_pylist() == NAMELESS[kind].to_pylist()


@pytest.mark.parametrize("symbols", [pa.array([[["a"]], [["b"]]]), pa.array([[{"a": 1}], [{"a": 2}]])], ids=str)
def test_symbols_that_hold_others_are_refused(tmp_path: Path, symbols: pa.Array) -> None:
    with pytest.raises(InputError, match="sequence: expected lists of text or whole numbers, found a column of list"):
        released(tmp_path, {"i": ["1", "2"], "s": symbols}, sequence="s", identifier="i")
    assert not (tmp_path / "out.parquet").exists()


# Arrow holds more than Python: in 0.2.0 each of these ended in an error of a library, some of which quote the cell
BEYOND_PYTHON = {
    "a year of six digits": pa.array([2**31 - 1, 1], pa.int32()).view(pa.date32()),
    "an instant beyond all years": pa.array([2**63 - 1, 1], pa.int64()).view(pa.timestamp("us")),
    "a time zone that does not exist": pa.array([1, 2], pa.int64()).view(pa.timestamp("s", "Nowhere/Land")),
}
NO_TEXT = pa.Array.from_buffers(
    pa.string(), 2, [None, pa.py_buffer(b"\0\0\0\0\x02\0\0\0\x04\0\0\0"), pa.py_buffer(b"S\xffT\xfe")]
)


@pytest.mark.parametrize("kind", BEYOND_PYTHON)
def test_symbols_beyond_python_are_refused(tmp_path: Path, kind: str) -> None:
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), BEYOND_PYTHON[kind])
    for columns, options in (
        ({"i": ["1", "2"], "s": lists}, {"sequence": "s", "identifier": "i"}),
        ({"c": ["1", "2"], "e": BEYOND_PYTHON[kind]}, {"case": "c", "symbol": "e"}),
    ):
        with pytest.raises(InputError, match="written as text, found others|as text or a number, found a"):
            released(tmp_path, columns, **options)
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("role", ["id", "person", "case"])
def test_a_name_in_a_time_zone_that_does_not_exist(tmp_path: Path, role: str) -> None:
    columns, options = ROLES[role](BEYOND_PYTHON["a time zone that does not exist"])
    with pytest.raises(InputError, match="as text or a number, found a column of timestamp"):
        released(tmp_path, columns, **options)


@pytest.mark.parametrize("role", [*ROLES, "symbol", "order", "kept"])
def test_text_that_is_none_is_refused(tmp_path: Path, role: str) -> None:
    others = {
        "symbol": ({"c": ["1", "2"], "e": NO_TEXT}, {"case": "c", "symbol": "e"}),
        "order": ({"c": ["1", "2"], "e": ["a", "b"], "o": NO_TEXT}, {"case": "c", "symbol": "e", "order": "o"}),
        "kept": ({"i": ["1", "2"], "s": SEQUENCES, "k": NO_TEXT}, {"sequence": "s", "identifier": "i", "keep": ["k"]}),
    }
    columns, options = ROLES[role](NO_TEXT) if role in ROLES else others[role]
    with pytest.raises(InputError, match="in.parquet: expected a Parquet file, found a file that Parquet cannot read"):
        released(tmp_path, columns, **options)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_every_kind_of_text_comes_back(tmp_path: Path, kind: pa.DataType) -> None:
    symbols = pa.array([["a", "b"], ["b"]], pa.list_(kind))
    table = released(tmp_path, {"i": ["1", "2"], "s": symbols}, sequence="s", identifier="i")
    assert table.column("s").type.value_type == kind
    assert table.column("s").to_pylist() == [["a", "b"], ["b"]]  # at ε = 1000 nothing changes
