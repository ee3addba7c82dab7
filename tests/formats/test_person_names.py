"""One person, one name: whatever format, type or library it comes in. The reference here is written anew."""

from __future__ import annotations

import csv
import datetime
import json
import math
import unicodedata
from decimal import Decimal

import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from symveil.errors import FileError
from symveil.formats.sequences.columns import ColumnOptions
from symveil.formats.sequences.frames import FrameRows, _table
from symveil.formats.sequences.records import spelled_names
from symveil.formats.sequences.sequence_files import open_sequences, sequences_in
from symveil.models.names import person_name

OPTIONS = ColumnOptions(sequence="s", identifier="i", person="p")


def name_of(value: object) -> str | None:
    """The name that a typed value is; None where it is none."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return str(int(value)) if math.isfinite(value) and value == int(value) and abs(value) < 2**53 else None
    if isinstance(value, Decimal):
        return str(int(value)) if value == value.to_integral_value() else None
    return None


def local(source) -> list[str] | None:
    """The persons of a file, or that it is refused."""
    try:
        return [name for batch in source.records() for name in source.persons(batch).to_pylist()]
    except FileError as error:
        assert "\n" not in str(error) and "a person" in str(error)
        return None


def frames(values: list[object], kind: pa.DataType | None = None) -> list[pa.Table]:
    """The same values as Arrow, pandas and polars hold them."""
    column = {"i": [str(place) for place in range(len(values))], "s": ["a"] * len(values)}
    arrow = pa.table({**column, "p": pa.array(values, type=kind)})
    return [arrow, arrow.to_pandas(), polars.from_arrow(arrow)]


def test_typed_columns_have_one_spelling(tmp_path):
    tried = 0
    for values, kind in (
        ([0, -7, 2**53 + 1, 2**63 - 1], pa.int64()),
        ([2**64 - 1], pa.uint64()),
        ([True, False], pa.bool_()),
        ([123456789012.0, 1.0, -0.0, 0.0, 1e15, 2.0**53 - 1, -1e7], pa.float64()),
        ([1.5], pa.float64()), ([math.nan], pa.float64()), ([math.inf], pa.float64()), ([2.0**53], pa.float64()),
        ([1e300], pa.float64()), ([5e-324], pa.float64()),
        ([2.0**24 - 1], pa.float32()),
        ([Decimal("2.00"), Decimal("-0.00"), Decimal("12345678901234567890.00")], pa.decimal128(30, 2)),
        ([Decimal("2.50")], pa.decimal128(10, 2)),
    ):  # fmt: skip
        names = [name_of(value) for value in values]
        expected = None if None in names else names
        for frame in frames(values, kind):
            assert local(sequences_in(FrameRows(_table(frame)), OPTIONS)) == expected, (values, type(frame))
        pq.write_table(frames(values, kind)[0], tmp_path / "in.parquet")
        assert local(open_sequences(tmp_path / "in.parquet", OPTIONS)) == expected
        tried += expected is not None
    assert tried == 6


@pytest.mark.parametrize(
    "column",
    [
        pa.array([datetime.datetime(2026, 1, 1)]), pa.array([b"ann"]), pa.array([["ann"]]), pa.array([{"a": 1}]),
        pa.array([2.0**24], pa.float32()), pa.array([datetime.time(1)]), pa.array([datetime.timedelta(1)]),
        pa.array([-719529], pa.date32()), pa.array([3_000_000], pa.date32()), pa.array([1], pa.date64()),
    ],
)  # fmt: skip
def test_what_can_be_spelled_in_several_ways_is_no_name(column):
    assert spelled_names(column).to_pylist() == [None]
    assert spelled_names(pa.array([20_000], pa.date32())).to_pylist() == ["2024-10-04"]


def test_a_refusal_names_the_place_and_not_the_value(tmp_path):
    pq.write_table(frames([1.0, 2.5])[0], tmp_path / "in.parquet")
    source = open_sequences(tmp_path / "in.parquet", OPTIONS)
    with pytest.raises(FileError, match=r"in.parquet: row 2: expected text, a whole number") as caught:
        [source.persons(batch) for batch in source.records()]
    assert "2.5" not in str(caught.value)
    # where nobody pays, ids may be anything
    times = pa.table({"i": pa.array([datetime.datetime(2026, 1, 1)]), "s": ["a"]})
    assert len(list(sequences_in(FrameRows(times), ColumnOptions(sequence="s", identifier="i")).records())) == 1


NUMBERS = st.one_of(
    st.integers(),
    st.floats(),
    st.sampled_from([0.0, -0.0, 1e7, 1e16, 2.0**53, 2.0**53 - 1, 123456789012.0, 0.1, 1e-7, math.nan, math.inf]),
    st.integers(-(2**53), 2**53).map(float),
    st.booleans(),
)
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6),
    st.sampled_from(["NA", "null", "nan", "1e3", "1E5", "1.50", "+7", "007", "007.0", "-0", " 7", "1.0.0", "e+", ".0"]),
    st.sampled_from(["Jos\u00e9", "Jose\u0301", "\u212b", "A\u030a", "\u1e9b\u0323", "\uac00", "\u1100\u1161"]),
    NUMBERS.map(str),
    st.floats().map(lambda value: str(pa.scalar(value).cast(pa.string()))),
)


@given(st.lists(TEXTS, min_size=1, max_size=6))
@example(["1.23456789012e+11", "1.23456789012E11", "123456789012.0", "123456789012", "1.0E7", "1e+10"])
@settings(max_examples=150, deadline=None)
def test_text_has_one_spelling_in_every_format(tmp_path_factory, texts):
    folder = tmp_path_factory.getbasetemp()
    texts = [text for text in texts if text.strip("\r\n")] or ["ann"]
    expected = [person_name(text) for text in texts]
    rows = [{"i": str(place), "s": "a", "p": text} for place, text in enumerate(texts)]
    with (folder / "p.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["i", "s", "p"], quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(rows)
    (folder / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    table = frames(list(texts))[0]
    pq.write_table(table, folder / "p.parquet")
    for name in ("p.csv", "p.jsonl", "p.parquet"):
        assert local(open_sequences(folder / name, OPTIONS)) == expected, name
    for frame in (table, pandas.DataFrame(rows), polars.DataFrame(rows)):
        assert local(sequences_in(FrameRows(_table(frame)), OPTIONS)) == expected
    for name, text in zip(expected, texts, strict=True):
        assert person_name(name) == name and unicodedata.is_normalized("NFC", name)
        assert person_name(unicodedata.normalize("NFD", text)) == name


@given(NUMBERS)
@settings(max_examples=300, deadline=None)
def test_a_number_is_one_person_as_a_number_and_as_its_text(value):
    """A number that is a name in one type has that name as the text that any engine prints for it."""
    name = name_of(value)
    if name is None:
        return
    assert person_name(name) == name
    if isinstance(value, float):
        prints = (repr(value), str(pa.scalar(value).cast(pa.string())), _java(value), f"{int(value)}.00")
        # from 1e16 on Python writes powers too, but such floats are no names
        assert {person_name(text) for text in prints} == {name}


def _java(value: float) -> str:
    """As Java and Spark print a double: powers of ten from 1e7 on."""
    if abs(value) < 1e7:
        return repr(value)
    digits = repr(int(abs(value)))
    rest = digits[1:].rstrip("0") or "0"
    return f"{'-' if value < 0 else ''}{digits[0]}.{rest}E{len(digits) - 1}"


@pytest.mark.parametrize(
    ("cell", "name"),
    [
        ("7", "7"), ("7.0", "7"), ("-0", "0"), ("-0.0", "0"), ("123456789012.0", "123456789012"), ('"7"', "7"),
        ("1.23456789012E11", "123456789012"), ("true", "true"), ('"true"', "true"), ('"Jose\u0301"', "Jos\u00e9"),
        ("9007199254740993", "9007199254740993"),
        ("1.5", None), ("1e3", None), ("1e400", None), ("[1]", None), ('{"a": 1}', None), ("2.50", None),
    ],
)  # fmt: skip
def test_numbers_and_lists_of_json(tmp_path, cell, name):
    (tmp_path / "in.jsonl").write_text(f'{{"i": "x", "s": "a", "p": {cell}}}\n', encoding="utf-8")
    assert local(open_sequences(tmp_path / "in.jsonl", OPTIONS)) == (None if name is None else [name])


@pytest.mark.parametrize(
    ("tag", "value", "name"),
    [
        ("string", "Jose\u0301", "Jos\u00e9"), ("float", "7.0", "7"), ("int", "7", "7"), ("boolean", "True", "true"),
        ("float", "7.5", None), ("float", "nan", None), ("date", "2026-01-01T00:00:00Z", None), ("float", "ann", "ann"),
    ],
)  # fmt: skip
def test_attributes_of_logs(tmp_path, tag, value, name):
    for key, person in (("concept:name", None), ("who", "case:who")):
        extra = '<string key="concept:name" value="c"/>' if person else ""
        log = (
            f'<log><trace><{tag} key="{key}" value="{value}"/>{extra}'
            '<event><string key="concept:name" value="a"/></event></trace></log>'
        )
        (tmp_path / "in.xes").write_text(log, encoding="utf-8")
        opened = open_sequences(tmp_path / "in.xes", ColumnOptions(person=person))
        assert local(opened) == (None if name is None else [name])


def test_the_events_of_a_case_may_spell_its_person_in_both_ways(tmp_path):
    options = ColumnOptions(case="c", symbol="s", person="p")
    for name, text in {
        "in.csv": "c,s,p\n1,a,Jose\u0301\n1,b,Jos\u00e9\n2,a,7.0\n2,a,7\n",
        "in.jsonl": '{"c": 1, "s": "a", "p": "Jose\u0301"}\n{"c": 1, "s": "b", "p": "Jos\u00e9"}\n'
        '{"c": 2, "s": "a", "p": 7.0}\n{"c": 2, "s": "a", "p": "7"}\n',
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert local(open_sequences(tmp_path / name, options)) == ["Jos\u00e9", "7"]
    event = '<event><string key="concept:name" value="a"/><string key="who" value="{}"/></event>'
    log = "".join(("<log><trace>", event.format("Jose\u0301"), event.format("Jos\u00e9"), "</trace></log>"))
    (tmp_path / "in.xes").write_text(log, encoding="utf-8")
    assert local(open_sequences(tmp_path / "in.xes", ColumnOptions(person="who"))) == ["Jos\u00e9"]


def test_a_case_is_a_person_in_the_same_spelling(tmp_path):
    (tmp_path / "in.csv").write_text("c,s\n7.0,a\nJose\u0301,b\n", encoding="utf-8")
    assert local(open_sequences(tmp_path / "in.csv", ColumnOptions(case="c", symbol="s"))) == ["7", "Jos\u00e9"]
    pq.write_table(pa.table({"c": [7.0, 8.0], "s": ["a", "b"]}), tmp_path / "in.parquet")
    assert local(open_sequences(tmp_path / "in.parquet", ColumnOptions(case="c", symbol="s"))) == ["7", "8"]


def test_clusters_of_estimates_may_be_anything():
    day = datetime.datetime(2026, 1, 1)
    table = pa.table({"i": ["1", "2"], "s": ["a", "b"], "p": pa.array([day, day])})
    source = sequences_in(FrameRows(table), OPTIONS)
    assert [len(set(source.clusters(batch).to_pylist())) for batch in source.records()] == [1]


def test_a_record_without_a_name_is_known_by_its_place(tmp_path):
    """Without ids and persons the place is the name."""
    (tmp_path / "in.csv").write_text("s\na\nb\n", encoding="utf-8")
    assert local(open_sequences(tmp_path / "in.csv", ColumnOptions(sequence="s"))) == ["line 2", "line 3"]
