"""Sequences as tuples: read the same from every format and form, and no symbol of them in a message."""

from __future__ import annotations

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from symveil.errors import FileError, InputError
from symveil.formats.limits import LIMITS
from symveil.formats.sequences.sequence_files import read_sequences

SECRET = "SECRET"


@pytest.fixture
def written(tmp_path):
    def write(text: str, name: str):
        file = tmp_path / name
        file.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return file

    return write


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", "links\na b a\nb\n"),
        ("t.csv", "trip_id,links\n1,a b a\n2,b\n"),
        ("t.csv.gz", "links,ID\na b a,1\nb,2\n"),
        ("t.tsv", "id\tlinks\n1\ta b a\n2\tb\n"),
        ("t.csv", "\ufeffid,links\r\n1,  a  b a \r\n\r\n2,b\r\n"),
        ("t.jsonl", '{"id": 1, "links": ["a", "b", "a"]}\n\n{"links": ["b"], "id": 2}\n'),
        ("t.ndjson.gz", '{"links": "a b a"}\r\n{"links": "b"}'),
        ("t.jsonl", '{"links": ["a", "b", "a"], "note": "x", "more": {"deep": [1]}}\n{"links": ["b"]}\n'),
    ],
)
def test_every_text_format(written, name: str, text: str) -> None:
    assert list(read_sequences(written(text, name))) == [("a", "b", "a"), ("b",)]


LISTS = [["a", "b", "a"], ["b"]]


@pytest.mark.parametrize(
    "columns",
    [
        {"links": LISTS},
        {"id": [1, 2], "note": ["x", "y"], "links": LISTS},
        {"links": pa.array(LISTS, pa.large_list(pa.large_string()))},
        {"links": pa.array(LISTS, pa.list_(pa.dictionary(pa.int8(), pa.string())))},
        {"trip_id": [1, 2], "links": ["a b a", "b"]},
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_every_parquet_column(tmp_path, columns, packed: bool) -> None:
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table(columns), file)
    if packed:
        (tmp_path / "t.parquet.gz").write_bytes(gzip.compress(file.read_bytes()))
        file = tmp_path / "t.parquet.gz"
    assert list(read_sequences(file)) == [("a", "b", "a"), ("b",)]


def test_whole_numbers_are_symbols(written, tmp_path) -> None:
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table({"pages": pa.array([[1, -2], [], [17]], pa.list_(pa.int8()))}), file)
    expected = [("1", "-2"), (), ("17",)]
    assert list(read_sequences(file)) == expected
    assert list(read_sequences(written('{"p": [1, -2]}\n{"p": []}\n{"p": [17]}', "t.jsonl"))) == expected


def test_many_batches_of_lists_stay_apart(tmp_path) -> None:
    rows = [[str(index)] * (index % 4) for index in range(150_000)]
    pq.write_table(pa.table({"pages": rows}), tmp_path / "t.parquet")
    assert list(read_sequences(tmp_path / "t.parquet")) == [tuple(row) for row in rows]


def test_the_column_and_the_separator_may_be_named(written) -> None:
    file = written("x,y,z\n1,main st|park rd,q\n2,,q\n", "t.csv")
    assert list(read_sequences(file, sequence="y", separator="|")) == [("main st", "park rd"), ()]
    file = written("x,y\nmain st--park rd,7\n", "t.csv")
    assert list(read_sequences(file, identifier="y", separator="--")) == [("main st", "park rd")]


XES = """<log><trace><string key="concept:name" value="x"/>
<event><string key="concept:name" value="a"/></event><event><string key="concept:name" value="b"/></event></trace>
<trace><string key="concept:name" value="y"/></trace></log>"""


@pytest.mark.parametrize(
    ("name", "text", "options", "expected"),
    [
        ("t.csv", "who,when,what\nx,2,b\ny,1,c\nx,1,a\n", {"case": "who", "order": "when", "symbol": "what"}, "ab c"),
        ("t.csv.gz", "case:concept:name,concept:name\nx,b\ny,c\nx,a\n", {}, "ba c"),
        ("t.jsonl", '{"c": 1, "s": "a"}\n{"c": 2, "s": 7}\n{"c": 1, "s": "b"}\n', {"case": "c", "symbol": "s"}, "ab 7"),
        ("t.xes", XES, {}, "ab "),
        ("t.xes.gz", XES, {}, "ab "),
    ],
)
def test_long_form_and_xes(written, name: str, text: str, options, expected: str) -> None:
    assert list(read_sequences(written(text, name), **options)) == [tuple(word) for word in expected.split(" ")]


def test_events_in_parquet(tmp_path) -> None:
    table = pa.table({"who": ["x", "y", "x"], "when": [2, 1, 1], "what": [5, 6, 7]})
    pq.write_table(table, tmp_path / "t.parquet")
    found = read_sequences(tmp_path / "t.parquet", case="who", order="when", symbol="what")
    assert list(found) == [("7", "5"), ("6",)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", "trip_id,user_id,links\n1,1,a b\n1,,b\n"),  # several ids, one of them twice, one of them empty
        ("t.jsonl", '{"trip_id": 1, "links": ["a", "b"]}\n{"trip_id": null, "links": ["b"]}\n'),
    ],
)
def test_ids_are_not_looked_at(written, name: str, text: str) -> None:
    assert list(read_sequences(written(text, name))) == [("a", "b"), ("b",)]


def test_numbers_and_text_may_be_mixed_where_nothing_is_written(written) -> None:
    file = written('{"s": [1, "a", 123456789012345678901234567890]}\n', "t.jsonl")
    assert list(read_sequences(file)) == [("1", "a", "123456789012345678901234567890")]


@pytest.mark.parametrize("name", ["longest", "gzip_ratio"])
def test_bounds_are_at_least_one(written, name: str) -> None:
    with pytest.raises(InputError, match=f"{name}: expected a whole number, 1 or more, found 0"):
        read_sequences(written("s\na\n", "t.csv"), **{name: 0})


def test_lengths_and_bombs_are_bounded(written, set_limits) -> None:
    with pytest.raises(FileError, match="at most 2 symbols in a sequence, found more; raise `longest`"):
        list(read_sequences(written("s\na b a\n", "t.csv"), longest=2))
    set_limits(LIMITS, suspicious_bytes=1 << 20)  # as with large ones, in less time
    with pytest.raises(FileError, match="unpacks to at most 3 times its size"):
        list(read_sequences(written("s\n" + "a b\n" * 300_000, "t.csv.gz"), gzip_ratio=3))


def test_a_case_called_na_is_not_missing(written) -> None:
    assert list(read_sequences(written("id,s\nNA,NA nan null\n", "t.csv"))) == [("NA", "nan", "null")]


S = SECRET


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("t.csv", "", {}, "with a header line, found an empty file"),
        (
            "t.csv",
            f"{S} a,{S} b\n",
            {},
            "one column that can hold the sequences, found 2 (columns 1, 2); which one is it? Name it with `sequence`",
        ),
        ("t.csv", f"{S},b\n", {"sequence": "links"}, "one column 'links' (`sequence`), found none in 2 columns"),
        ("t.csv", f"{S},b\n", {"identifier": "id"}, "one column 'id' (`identifier`), found none in 2 columns"),
        ("t.csv", f"s,s\n{S},b\n", {"sequence": "s"}, "one column 's' (`sequence`), found 2 in 2 columns"),
        ("t.csv", f"id,s\n1,{S}\n2\n", {}, "line 3: expected 2 cells, as in the header, found 1"),
        ("t.csv", f"id,s\n1,{S},{S}\n", {}, "line 2: expected 2 cells, as in the header, found 3"),
        ("t.csv", f'id,s\n1,"{S}\n', {}, "line 2: expected comma-separated values"),
        (
            "t.csv",
            f"id,s\n1,{S}||{S}\n",
            {"separator": "|"},
            "line 2: expected a symbol between separators, found none",
        ),
        ("t.csv", f"id,s\n1,{S}\n", {"delimiter": ";;"}, "delimiter: expected one character"),
        (
            "t.jsonl",
            f'{{"s": ["{S}"]}}\n{{"t": ["{S}"]}}\n',
            {},
            "line 2: expected a list of symbols, found another value",
        ),
        (
            "t.jsonl",
            f'{{"s": ["{S}", null]}}\n',
            {},
            "line 1: expected strings or whole numbers as symbols, found another value, symbol 2",
        ),
        ("t.jsonl", f'{{"s": ["{S}", 1.5]}}\n', {}, "line 1: expected strings or whole numbers as symbols"),
        ("t.jsonl", f'{{"s": ["{S}"\n', {}, "line 1: expected JSON"),
        (
            "t.jsonl",
            f'["{S}"]\n',
            {},
            "line 1: expected a JSON object, found an array: in JSON Lines each line is an object",
        ),
        ("t.jsonl", f'{{"{S}": [], "{S}": []}}\n', {}, "line 1: expected each key once, found one again"),
        ("t.jsonl", f'{{"{S}": 1, "{S}2": 2}}\n', {}, "one column that can hold the sequences, found 2 (columns 1, 2)"),
        ("t.jsonl", "[" * 100_000, {}, "line 1: expected JSON nested at most 100 deep, found more"),
        ("t.txt", S, {}, "a file name ending in .csv, .tsv, .jsonl, .ndjson, .parquet or .xes"),
    ],
)
def test_what_is_wrong_is_said_without_a_symbol(written, name, text, options, message) -> None:
    with pytest.raises(InputError) as caught:
        list(read_sequences(written(text, name), **options))
    assert message in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([[SECRET], None]), "row 2: expected a sequence, found none"),
        (pa.array([[SECRET, None]]), "expected a symbol in every place of a list"),
        (pa.array([[1.5]]), "expected lists of strings or of whole numbers, found lists of double"),
        (pa.array([SECRET, None]), "row 2: expected a sequence, found none"),
        (pa.array([7]), "expected sequences as lists or as text, found a int64 column"),
    ],
)
def test_what_is_wrong_in_parquet_is_said_without_a_symbol(tmp_path, column, message: str) -> None:
    pq.write_table(pa.table({"s": column}), tmp_path / "t.parquet")
    with pytest.raises(FileError) as caught:
        list(read_sequences(tmp_path / "t.parquet"))
    assert message in str(caught.value)
    assert SECRET not in str(caught.value)


def test_damaged_and_missing_files(tmp_path) -> None:
    packed = tmp_path / "t.csv.gz"
    packed.write_bytes(gzip.compress(b"s\n" + json.dumps("a b " * 1000).encode() * 100)[:-20])
    with pytest.raises(FileError, match="damaged gzip file"):
        list(read_sequences(packed, separator=" "))
    with pytest.raises(FileError, match="No such file"):
        list(read_sequences(tmp_path / "none.csv"))


def test_a_line_without_an_end_is_refused_in_time(tmp_path) -> None:
    packed = tmp_path / "t.jsonl.gz"
    with gzip.open(packed, "wb", compresslevel=1) as file:
        for _ in range(70):
            file.write(b" " * 1024 * 1024)
    with pytest.raises(FileError, match="found a longer one, line 1"):
        list(read_sequences(packed))
