"""Types of tables in memory: they stay, values stay exact, and dictionaries hold what released rows hold."""

from __future__ import annotations

import pickle
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import symveil as sv
from symveil.randomness import NotPrivateSeededBits

SECRETS = ("gone-person", "a a a a", "gone-grade")
ROWS = {
    "id": ["ann", "gone-person", "ben"],
    "s": ["a b", "a a a a", "b"],
    "grade": ["low", "gone-grade", "high"],
}
ENUM = pl.Enum(["low", "gone-grade", "high"])


def told(frame) -> str:
    """Everything that an analyst can read of a table: its types, and its bytes in three formats."""
    if isinstance(frame, pd.DataFrame):
        categories = [frame[name].dtype.categories.tolist() for name in frame if frame[name].dtype == "category"]
        return f"{categories} {pickle.dumps(frame)!r} {pa.Table.from_pandas(frame)}"
    table = pa.table(frame) if isinstance(frame, pl.DataFrame) else frame
    return f"{frame.schema} {table.schema.to_string()} {table} {pickle.dumps(frame)!r} {dictionaries(table)}"


def dictionaries(table: pa.Table) -> list[list[str]]:
    chunks = [chunk for column in table.columns for chunk in column.chunks]
    chunks = [chunk.flatten() if hasattr(chunk, "flatten") else chunk for chunk in chunks]
    return [chunk.dictionary.to_pylist() for chunk in chunks if pa.types.is_dictionary(chunk.type)]


def in_pandas(rows: dict, which: slice):
    return pd.DataFrame(rows).astype("category")[which]


def in_polars(rows: dict, which: slice):
    return pl.DataFrame(rows).with_columns(pl.all().cast(pl.Categorical))[which]


def in_enums(rows: dict, which: slice):
    return pl.DataFrame({name: pl.Series(cells, dtype=pl.Enum(cells)) for name, cells in rows.items()})[which]


def in_arrow(rows: dict, which: slice):
    table = pa.table({name: pa.array(cells).dictionary_encode() for name, cells in rows.items()})
    return table.take(pa.array(list(range(3))[which], pa.int64()))


MAKERS = [in_pandas, in_polars, in_enums, in_arrow]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("which", [slice(0, 0), slice(0, 3, 2), slice(0, 1)], ids=str)
def test_a_dictionary_holds_what_released_rows_hold(make, which) -> None:
    frame = make(ROWS, which)
    private = sv.privatize(frame, alphabet="ab", epsilon=1000, sequence="s", keep=["grade"])
    assert type(private) is type(frame)
    for name, cells in ROWS.items():
        column = private[name].to_pylist() if isinstance(private, pa.Table) else private[name].to_list()
        assert column == cells[which]
    assert not [secret for secret in SECRETS if secret in told(private)]
    if make is in_pandas:
        assert (private.dtypes == "category").all()
    elif make is in_arrow:
        assert private.schema.types == frame.schema.types
    else:
        assert all(type(made) is type(own) for made, own in zip(private.dtypes, frame.dtypes, strict=True))


def test_an_empty_group_has_no_words() -> None:
    """Issue 27: categories of the sequence column are the true words, in every group, empty ones too."""
    frame = pd.DataFrame(ROWS).astype("category")
    groups = dict(list(frame[frame["grade"] != "gone-grade"].groupby("grade", observed=False)))
    for group in (*groups.values(), frame[:0]):
        private = sv.privatize(group, alphabet="ab", epsilon=1000, sequence="s", identifier="id")
        assert not [secret for secret in SECRETS if secret in told(private)]


@pytest.mark.parametrize("make", MAKERS)
def test_an_event_in_each_row(make) -> None:
    log = {"who": ["x", "gone-person", "y"], "when": ["1", "gone-grade", "2"], "what": ["a", "a a a a", "b"]}
    frame = make(log, slice(0, 3, 2))
    private = sv.privatize(frame, alphabet="ab", epsilon=1000, case="who", order="when", symbol="what", keep=["when"])
    assert not [secret for secret in SECRETS if secret in told(private)]
    symbols = private["what"].to_pylist() if isinstance(private, pa.Table) else private["what"].to_list()
    assert symbols == ["a", "b"]


def test_an_order_stays_where_a_column_passes() -> None:
    kind = pd.CategoricalDtype(["low", "gone-grade", "high"], ordered=True)
    frame = pd.DataFrame(ROWS).astype({"grade": kind, "s": pd.CategoricalDtype(ROWS["s"], ordered=True)})
    private = sv.privatize(frame[::-2], alphabet="ab", epsilon=1000, sequence="s", keep=["grade"])
    assert private["grade"].dtype == pd.CategoricalDtype(["low", "high"], ordered=True)
    assert list(private["grade"]) == ["high", "low"] and private["grade"].min() == "low"
    assert not private["s"].dtype.ordered  # the order of true words is nobody's business
    grades = pa.DictionaryArray.from_arrays(pa.array([2, 0], pa.int8()), ENUM.categories.to_arrow(), ordered=True)
    table = pa.table({"id": ["1", "2"], "s": ["a", "b"], "grade": grades})
    kept = sv.privatize(table, alphabet="ab", epsilon=1000, sequence="s", keep=["grade"])["grade"]
    assert kept.to_pylist() == ["high", "low"] and kept.type.ordered
    assert kept.chunk(0).dictionary.to_pylist() == ["low", "high"]
    enums = pl.DataFrame({"id": [1, 2], "s": ["a", "b"], "grade": pl.Series(["high", "low"], dtype=ENUM)})
    made = sv.privatize(enums, alphabet="ab", epsilon=1000, sequence="s", keep=["grade"])
    assert made.schema["grade"] == pl.Enum(["low", "high"]) and made["grade"].to_list() == ["high", "low"]


def test_released_words_that_no_dictionary_has() -> None:
    """Words are drawn: neither an Enum nor the codes of a dictionary has room for all of them."""
    words = ["a a a a a a a a"] * 300
    for column, kind in (
        (pl.Series("s", words, dtype=pl.Enum(words[:1])), pl.DataFrame),
        (pa.array(words).cast(pa.dictionary(pa.int8(), pa.string())), pa.table),
        (pd.Series(words, dtype="category"), pd.DataFrame),
    ):
        private = sv.privatize(
            kind({"s": column}), alphabet="ab", epsilon=0.1, sequence="s", bits=NotPrivateSeededBits(1)
        )
        drawn = private["s"].to_pylist() if isinstance(private, pa.Table) else private["s"].to_list()
        assert len(drawn) == 300 and len(set(drawn)) > 128


@pytest.mark.parametrize("inner", [pl.Categorical, pl.Enum(["a", "b", "gone-grade"])], ids=str)
@pytest.mark.parametrize("export", [lambda frame: frame, pa.table], ids=["polars", "arrow"])
def test_lists_of_categories(inner, export) -> None:
    """Issue 27: polars' dictionaries hold views of text, which Arrow cannot take rows of."""
    frame = pl.DataFrame({"id": ["1", "2"], "s": [["a", "b"], []], "k": [["b"], None]}).with_columns(
        pl.col("id").cast(pl.Categorical), pl.col("s", "k").cast(pl.List(inner))
    )
    for rows in (frame, frame[:0]):
        private = sv.privatize(export(rows), alphabet="ab", epsilon=1000, sequence="s", keep=["k"])
        back = private if isinstance(private, pl.DataFrame) else pl.from_arrow(private)
        assert back["s"].cast(pl.List(pl.String)).to_list() == rows["s"].cast(pl.List(pl.String)).to_list()
        assert back["k"].cast(pl.List(pl.String)).to_list() == rows["k"].cast(pl.List(pl.String)).to_list()
        assert "gone-grade" not in told(private)


EXACT = {
    "nullable whole numbers": pd.array([2**53 + 1, None], dtype="Int64"),
    "small ones": pd.array([1, None], dtype="UInt8"),
    "truth values": pd.array([True, None], dtype="boolean"),
    "text": pd.array(["x", None], dtype="string"),
    "floats": pd.array([0.1, None], dtype="Float64"),
    "arrow": pd.array([2**53 + 1, None], dtype=pd.ArrowDtype(pa.int64())),
    "arrow's text": pd.array(["x", None], dtype=pd.ArrowDtype(pa.string())),
    "times": pd.to_datetime(["2020-01-01", None]).as_unit("ms").tz_localize("Europe/Paris"),
    "numpy": pd.Series([1, 2], dtype="int16"),
    "objects": pd.Series([2**53 + 1, None], dtype=object),
    "categories of numbers": pd.Categorical.from_codes([0, -1], categories=[2**53 + 1]),
    "periods": pd.PeriodIndex(["2020-01", "2020-02"], freq="M"),
}


@pytest.mark.parametrize("kind", EXACT)
@pytest.mark.parametrize("rows", [2, 0])
def test_what_is_kept_is_kept_exactly(kind: str, rows: int) -> None:
    frame = pd.DataFrame({"id": [1, 2], "s": ["a", "b"], "k": EXACT[kind]})[:rows]
    private = sv.privatize(frame, alphabet="ab", epsilon=1000, sequence="s", identifier="id", keep=["k"])
    expected = frame["k"].cat.remove_unused_categories() if frame["k"].dtype == "category" else frame["k"]
    pd.testing.assert_series_equal(private["k"], expected, check_index=False, check_categorical=rows > 0)
    if rows:
        assert str(private["k"].iloc[0]) == str(frame["k"].iloc[0])


def test_events_in_types_of_pandas() -> None:
    log = pd.DataFrame({"who": ["x", "x"], "when": [2.5, 1.5], "what": [2**53 + 1, 7], "k": ["p", "q"]})
    log = log.astype({"who": "string", "what": "Int64", "k": "string"})
    private = sv.privatize(
        log, alphabet=[7, 2**53 + 1], epsilon=1000, case="who", order="when", symbol="what", keep=["k"]
    )
    assert private["what"].tolist() == [7, 2**53 + 1] and private["when"].tolist() == [1, 2]
    assert [str(kind) for kind in private.dtypes] == ["string", "int64", "Int64", "string"]


def test_columns_of_words_in_their_types() -> None:
    gone = pd.CategoricalIndex(["x", "gone-person", "y"])
    words = pd.Series(["ab", "aaaa", "b"], index=gone, dtype="category")[[True, False, True]]
    private = sv.privatize(words, alphabet="ab", epsilon=1000)
    assert private.tolist() == ["ab", "b"] and private.dtype == pd.CategoricalDtype(["ab", "b"])
    assert list(private.index) == ["x", "y"] and list(private.index.categories) == ["x", "y"]
    both = words.set_axis(pd.MultiIndex.from_arrays([gone, gone])[[0, 2]])
    assert "gone-person" not in repr(pickle.dumps(sv.privatize(both, alphabet="ab", epsilon=1000)))
    assert sv.privatize(words[:0], alphabet="ab", epsilon=1).tolist() == []
    assert sv.privatize(words.astype("string"), alphabet="ab", epsilon=1000).dtype == "string"
    enum = pl.Series("w", ["ab", "b"], dtype=pl.Enum(["b", "ab", "aaaa"]))
    assert sv.privatize(enum, alphabet="ab", epsilon=1000).dtype == pl.Enum(["ab", "b"])
    assert sv.privatize(enum[:0], alphabet="ab", epsilon=1000).dtype == pl.Enum([])
    coded = pa.array(["ab", "aaaa"]).dictionary_encode()[:1]
    assert sv.privatize(coded, alphabet="ab", epsilon=1000).dictionary.to_pylist() == ["ab"]


def test_a_file_of_polars_does_not_tell_unused_values(tmp_path: Path) -> None:
    """polars writes all values of an Enum into the metadata of the field, also of one inside a list."""
    kind = pl.List(pl.Enum(["a", "b", "gone-grade"]))
    frame = pl.DataFrame({"id": ["1", "2"], "s": [["a", "b"], ["b"]], "k": [["a"], ["b"]]})
    frame.with_columns(pl.col("s", "k").cast(kind)).write_parquet(tmp_path / "in.parquet")
    sv.privatize_file(
        tmp_path / "in.parquet", tmp_path / "out.parquet", alphabet="ab", epsilon=1000, sequence="s", keep=["k"]
    )
    assert "gone-grade" in pq.read_schema(tmp_path / "in.parquet").to_string(truncate_metadata=False)
    assert "gone-grade" not in pq.read_schema(tmp_path / "out.parquet").to_string(truncate_metadata=False)
    assert pq.read_table(tmp_path / "out.parquet")["s"].to_pylist() == [["a", "b"], ["b"]]
