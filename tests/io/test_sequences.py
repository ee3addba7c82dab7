"""Sequences in wide form: read the same from every format, and no symbol of them in a message."""

from __future__ import annotations

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from symveil.errors import FileError, InputError
from symveil.io.sequences.word_lists import read_sequences

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


def test_a_case_called_na_is_not_missing(written) -> None:
    assert list(read_sequences(written("id,s\nNA,NA nan null\n", "t.csv"))) == [("NA", "nan", "null")]


S = SECRET


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("t.csv", "", {}, "with a header line, found an empty file"),
        ("t.csv", f"{S} a,{S} b\n", {}, "one column of sequences besides the id, found 2; name it with --sequence"),
        ("t.csv", f"{S},b\n", {"sequence": "links"}, "one column 'links' (--sequence), found none in 2 columns"),
        ("t.csv", f"{S},b\n", {"identifier": "id"}, "one column 'id' (--id), found none in 2 columns"),
        ("t.csv", f"s,s\n{S},b\n", {"sequence": "s"}, "one column 's' (--sequence), found 2 in 2 columns"),
        ("t.csv", f"id,s\n1,{S}\n2\n", {}, "line 3: expected 2 cells, as in the header, found 1"),
        ("t.csv", f"id,s\n1,{S},{S}\n", {}, "line 2: expected 2 cells, as in the header, found 3"),
        ("t.csv", f'id,s\n1,"{S}\n', {}, "line 2: expected comma-separated values"),
        (
            "t.csv",
            f"id,s\n1,{S}||{S}\n",
            {"separator": "|"},
            "line 2: expected symbols between the separators, found none, symbol 2",
        ),
        ("t.csv", f"id,s\n1,{S}\n", {"separator": ""}, "separator: expected at least one character"),
        (
            "t.jsonl",
            f'{{"s": ["{S}"]}}\n{{"t": ["{S}"]}}\n',
            {},
            "line 2: expected a list of symbols or a string, found neither",
        ),
        (
            "t.jsonl",
            f'{{"s": ["{S}", null]}}\n',
            {},
            "line 1: expected strings or whole numbers as symbols, found another, symbol 2",
        ),
        ("t.jsonl", f'{{"s": ["{S}", 1.5]}}\n', {}, "line 1: expected strings or whole numbers as symbols"),
        ("t.jsonl", f'{{"s": ["{S}"\n', {}, "line 1: expected JSON"),
        ("t.jsonl", f'["{S}"]\n', {}, "line 1: expected a JSON object, found another value"),
        ("t.jsonl", f'{{"{S}": [], "{S}": []}}\n', {}, "line 1: expected each key once, found one again"),
        ("t.jsonl", f'{{"{S}": 1, "{S}2": 2}}\n', {}, "besides the id, found 2"),
        ("t.jsonl", "[" * 100_000, {}, "line 1: expected JSON nested at most 100 deep, found more"),
        ("t.txt", S, {}, "a file name ending in .csv, .tsv, .jsonl, .ndjson or .parquet"),
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
        (pa.array([[SECRET], None]), "row 2: expected a list of symbols, found none"),
        (pa.array([[SECRET, None]]), "expected a symbol in every place of a list"),
        (pa.array([[1.5]]), "expected lists of strings or of whole numbers, found lists of double"),
        (pa.array([SECRET, None]), "row 2: expected a list of symbols or a string, found neither"),
        (pa.array([7]), "row 1: expected a list of symbols or a string, found neither"),
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
