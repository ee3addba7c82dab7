"""Files of sequences: every format and form, there and back, with everything that real files do."""

from __future__ import annotations

import gzip
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from symveil import read_sequences
from symveil.errors import FileError, ParameterError
from symveil.formats.sequences.columns import ColumnOptions
from symveil.formats.sequences.sequence_files import open_sequences

XES = """<?xml version="1.0" encoding="UTF-8" ?>
<log xes.version="1.0" xmlns="http://www.xes-standard.org/">
 <extension name="Concept" prefix="concept" uri="http://www.xes-standard.org/concept.xesext"/>
 <global scope="event"><string key="concept:name" value="name"/></global>
 <string key="concept:name" value="the log"/>
 <trace><string key="concept:name" value="NA"/><int key="age" value="7"/>
  <event><string key="concept:name" value="b"/><date key="time:timestamp" value="2020-01-02T00:00:00Z"/>
         <list key="x"><values><string key="concept:name" value="inner"/></values></list></event>
  <event><date key="time:timestamp" value="2020-01-01T00:00:00+00:00"/>
         <string key="concept:name" value="a &amp; ü"/></event>
 </trace>
 <trace><string key="concept:name" value="2"/></trace>
</log>
"""


def sequences(file, **options):
    """All records of a file as (id, symbols)."""
    opened = open_sequences(file, ColumnOptions(**options))
    rows = [row for batch in opened.records() for row in batch.to_pylist()]
    return [(row.get("id"), row["symbols"]) for row in rows]


def written_again(file, target, **options) -> bytes:
    """The file's records, written as they were read."""
    opened = open_sequences(file, ColumnOptions(**options))
    out = io.BytesIO()
    writer = opened.writer(out, packed=target.name.endswith(".gz"))
    for batch in opened.records():
        writer.write(batch)
    writer.close()
    target.write_bytes(out.getvalue())
    return out.getvalue()


# --- wide --------------------------------------------------------------------------------------


def test_wide_csv(tmp_path):
    file = tmp_path / "trips.csv"
    file.write_text('trip_id,links,who\n1,a b  a,x\n"2",,y\nNA,ü,z\n\n4,"b\n",w\n', encoding="utf-8")
    with pytest.raises(FileError, match="which one is it.*`sequence`"):
        sequences(file)
    # the line end inside quotes belongs to the symbol: it is not a blank
    assert sequences(file, sequence="links") == [("1", ["a", "b", "a"]), ("2", []), ("NA", ["ü"]), ("4", ["b\n"])]
    text = written_again(file, tmp_path / "out.csv", sequence="links").decode()
    assert text == 'trip_id,links\n1,a b a\n2,\nNA,ü\n4,"b\n"\n'
    kept = written_again(file, tmp_path / "out.csv", sequence="links", keep=("who",)).decode()
    assert kept.startswith("trip_id,links,who\n1,a b a,x\n")


def test_windows_line_ends_and_a_byte_order_mark(tmp_path):
    file = tmp_path / "trips.csv"
    file.write_bytes("\ufefftrip_id,links\r\n1,a b\r\n2,b\r\n".encode())
    assert sequences(file) == [("1", ["a", "b"]), ("2", ["b"])]
    assert written_again(file, tmp_path / "out.csv") == b"trip_id,links\n1,a b\n2,b\n"


def test_a_separator_and_tabs(tmp_path):
    file = tmp_path / "trips.tsv.gz"
    file.write_bytes(gzip.compress(b"id\tpath\n1\tmain st|park rd\n2\t\n"))
    assert sequences(file, separator="|") == [("1", ["main st", "park rd"]), ("2", [])]
    again = written_again(file, tmp_path / "out.tsv.gz", separator="|")
    assert gzip.decompress(again) == b"id\tpath\n1\tmain st|park rd\n2\t\n"
    file = tmp_path / "bad.tsv"
    file.write_text("id\tpath\n1\ta|b\n2\ta||b\n")
    with pytest.raises(FileError, match=r"bad.tsv: line 3: expected a symbol"):
        sequences(file, separator="|")


def test_wide_json_lines(tmp_path):
    file = tmp_path / "trips.jsonl"
    lines = [
        '{"name": "x", "trip": ["a", "b"], "extra": {"z": [1, null, 2.50]}}',
        "",
        '{"trip": [], "name": 7, "extra": null}',
        '{"name": "ü", "trip": ["b"]}',
    ]
    file.write_text("\r\n".join(lines), encoding="utf-8")
    assert sequences(file, identifier="name") == [('"x"', ["a", "b"]), ("7", []), ('"ü"', ["b"])]
    text = written_again(file, tmp_path / "out.jsonl", identifier="name", keep=("extra",)).decode()
    assert text.splitlines() == [
        '{"name": "x", "trip": ["a", "b"], "extra": {"z": [1, null, 2.50]}}',
        '{"name": 7, "trip": [], "extra": null}',
        '{"name": "ü", "trip": ["b"], "extra": null}',
    ]


def test_numbers_in_json_stay_numbers(tmp_path):
    file = tmp_path / "trips.ndjson"
    file.write_text('{"id": 1, "t": []}\n{"id": 2, "t": [3, -4]}\n')
    assert written_again(file, tmp_path / "o.ndjson").decode() == '{"id": 1, "t": []}\n{"id": 2, "t": [3, -4]}\n'
    file.write_text('{"id": 1, "t": [1]}\n{"id": 2, "t": ["x"]}\n')
    with pytest.raises(FileError, match="line 2: expected whole numbers"):
        sequences(file)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", "line 2: expected a JSON object"),
        ('{"id": 2}', "line 2: expected"),
        ('{"id": 2, "t": "a"}', "line 2: expected a list"),
        ('{"id": 2, "t": [null]}', "line 2: expected strings or whole numbers"),
        ('{"id": 2, "t": [1.5]}', "line 2: expected strings or whole numbers"),
        ('{"id": 2, "id": 3, "t": []}', "line 2: expected each key once"),
        ('{"id": 2, "t": ["SECRET"', "line 2: expected JSON"),
    ],
)
def test_bad_json_lines(tmp_path, line, message):
    file = tmp_path / "trips.jsonl"
    file.write_text('{"id": 1, "t": ["a"]}\n' + line + "\n")
    with pytest.raises(FileError, match=message) as caught:
        sequences(file)
    assert "SECRET" not in str(caught.value)


def test_text_in_json_is_split(tmp_path):
    file = tmp_path / "trips.jsonl"
    file.write_text('{"id": "1", "t": "a b"}\n{"id": "2", "t": ""}\n')
    assert sequences(file) == [('"1"', ["a", "b"]), ('"2"', [])]
    assert written_again(file, tmp_path / "o.jsonl") == file.read_bytes()


@pytest.mark.parametrize("packed", [False, True])
def test_wide_parquet(tmp_path, packed):
    table = pa.table(
        {"uid": [1, 2, 3], "pages": pa.array([[1, 2], [], [17]], type=pa.list_(pa.int8())), "x": [1, 2, 3]}
    )
    file = tmp_path / ("t.parquet.gz" if packed else "t.parquet")
    plain = tmp_path / "plain.parquet"
    pq.write_table(table, plain)
    file.write_bytes(gzip.compress(plain.read_bytes()) if packed else plain.read_bytes())
    assert sequences(file, identifier="uid") == [(1, [1, 2]), (2, []), (3, [17])]
    assert sequences(file) == [(None, [1, 2]), (None, []), (None, [17])]  # "uid" is not known to be an id
    out = tmp_path / "out.parquet"
    written_again(file, out, identifier="uid")
    assert pq.read_table(out).equals(table.drop(["x"]))


def test_parquet_text_and_missing_cells(tmp_path):
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table({"id": ["a", "b"], "s": ["x y", ""]}), file)
    assert sequences(file) == [("a", ["x", "y"]), ("b", [])]
    pq.write_table(pa.table({"id": ["a", "b"], "s": [["x"], None]}), file)
    with pytest.raises(FileError, match="row 2: expected a sequence"):
        sequences(file)
    pq.write_table(pa.table({"id": ["a", None], "s": [["x"], ["y"]]}), file)
    with pytest.raises(FileError, match="row 2: expected an id"):
        sequences(file)
    pq.write_table(pa.table({"id": ["a"], "s": [1.5]}), file)
    with pytest.raises(FileError, match="lists or as text"):
        sequences(file)


# --- long --------------------------------------------------------------------------------------

LOG = "case:concept:name,concept:name,time:timestamp,cost\n"


def test_long_csv_sorts_events_and_keeps_cases_in_order(tmp_path):
    file = tmp_path / "log.csv"
    file.write_text(
        LOG + "NA,second,2020-01-02T00:00:00Z,5\nB,only,2020-01-01T00:00:00Z,6\n"
        "NA,first,2020-01-01T23:00:00-00:30,7\nNA,third,2020-01-02T00:00:00+00:00,8\n"
    )
    # the third event has the second one's time: as in the file
    assert sequences(file) == [("NA", ["first", "second", "third"]), ("B", ["only"])]
    assert written_again(file, tmp_path / "o.csv").decode() == (
        "case:concept:name,concept:name,time:timestamp\nNA,first,1\nNA,second,2\nNA,third,3\nB,only,1\n"
    )
    kept = written_again(file, tmp_path / "o.csv", keep=("cost", "time:timestamp")).decode().splitlines()
    assert kept[1] == "NA,first,2020-01-01T23:00:00-00:30,7"


def test_numbers_sort_as_numbers(tmp_path):
    file = tmp_path / "log.csv"
    file.write_text("who,at,what\nx,10,c\nx,9,b\nx,-1.5,a\nx,9007199254740993,e\nx,9007199254740992,d\n")
    assert sequences(file, case="who", order="at", symbol="what") == [("x", list("abcde"))]


@pytest.mark.parametrize(
    "values",
    [["1", "soon"], ["soon"], ["2020-01-01", "1"], ["2020-01-01T00:00:00", "2020-01-01T00:00:00Z"], ["nan"], [""]],
)
def test_an_order_that_is_none(tmp_path, values):
    file = tmp_path / "log.csv"
    file.write_text("who,at,what\n" + "".join(f"x,{value},a\n" for value in values))
    with pytest.raises(FileError, match=f"log.csv: line {len(values) + 1}: expected numbers or ISO 8601"):
        sequences(file, case="who", order="at", symbol="what")


def test_without_an_order_events_stay_as_they_stand(tmp_path):
    file = tmp_path / "log.csv"
    file.write_text("who,what\nx,b\ny,c\nx,a\n")
    assert sequences(file, case="who", symbol="what") == [("x", ["b", "a"]), ("y", ["c"])]
    assert written_again(file, tmp_path / "o.csv", case="who", symbol="what") == b"who,what\nx,b\nx,a\ny,c\n"


def test_long_json_and_parquet(tmp_path):
    rows = [("x", 2, "b"), ("y", 1, "c"), ("x", 1, "a")]
    file = tmp_path / "log.jsonl"
    file.write_text("".join(json.dumps({"c": c, "o": o, "s": s}) + "\n" for c, o, s in rows))
    assert sequences(file, case="c", order="o", symbol="s") == [('"x"', ["a", "b"]), ('"y"', ["c"])]
    again = written_again(file, tmp_path / "o.jsonl", case="c", order="o", symbol="s").decode().splitlines()
    assert [json.loads(line) for line in again] == [
        {"c": "x", "o": 1, "s": "a"}, {"c": "x", "o": 2, "s": "b"}, {"c": "y", "o": 1, "s": "c"}
    ]  # fmt: skip
    table = pa.table({"c": ["x", "y", "x"], "o": pa.array([2, 1, 1], pa.timestamp("ms", "UTC")), "s": ["b", "c", "a"]})
    pq.write_table(table, tmp_path / "log.parquet")
    assert sequences(tmp_path / "log.parquet", case="c", order="o", symbol="s") == [("x", ["a", "b"]), ("y", ["c"])]


def test_one_person_in_a_case(tmp_path):
    file = tmp_path / "log.csv"
    file.write_text("who,what,p\nx,b,1\ny,c,2\nx,a,1\n")
    opened = open_sequences(file, ColumnOptions(case="who", symbol="what", person="p"))
    assert [opened.persons(batch).to_pylist() for batch in opened.records()] == [["1", "2"]]
    file.write_text("who,what,p\ny,c,2\nx,b,1\nx,a,2\n")
    opened = open_sequences(file, ColumnOptions(case="who", symbol="what", person="p"))
    with pytest.raises(FileError, match="the case of line 3: expected one person"):
        list(opened.records())


# --- XES ---------------------------------------------------------------------------------------


def test_xes(tmp_path):
    file = tmp_path / "log.xes.gz"
    file.write_bytes(gzip.compress(XES.encode()))
    assert sequences(file) == [("NA", ["b", "a & ü"]), ("2", [])]
    assert sequences(file, order="time:timestamp") == [("NA", ["a & ü", "b"]), ("2", [])]
    out = tmp_path / "out.xes"
    written_again(file, out, keep=("time:timestamp", "case:age"))
    assert sequences(out) == [("NA", ["b", "a & ü"]), ("2", [])]
    text = out.read_text(encoding="utf-8")
    assert '<int key="age" value="7"/>' in text
    assert '<date key="time:timestamp" value="2020-01-02T00:00:00Z"/>' in text
    assert "inner" not in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<html/>", "expected an XES log"),
        ("<log><trace></log>", "line 1: expected XML, found mismatched tag"),
        ("<log><trace><string key='concept:name' value='1'/><event/></trace></log>", "trace 1: expected a symbol"),
        ("<log><trace><string key='concept:name'/></trace></log>", "expected a value"),
        ("", "expected XML, found no element$"),
    ],
)
def test_xes_that_is_none(tmp_path, text, message):
    file = tmp_path / "log.xes"
    file.write_text(text)
    with pytest.raises(FileError, match=message):
        sequences(file)


# --- which column ------------------------------------------------------------------------------


def test_columns_are_checked(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("a,b,c\n1,2,3\n")
    for options, message in [
        ({"sequence": "z"}, "one column 'z' .`sequence`"),
        ({"case": "a"}, "concept:name, or `symbol`"),
        ({"sequence": "a", "keep": ("a",)}, "another column"),
        ({"sequence": "a", "keep": ("q",)}, "one column 'q' .`keep`"),
        ({"case": "a", "symbol": "a"}, "different columns"),
    ]:
        with pytest.raises((FileError, ParameterError), match=message):
            sequences(file, **options)
    with pytest.raises(ParameterError, match="`sequence` with `case`"):
        ColumnOptions(sequence="a", case="b")
    for delimiter in ("", ";;", '"', "\n"):
        with pytest.raises(ParameterError, match="delimiter: expected one character"):
            ColumnOptions(delimiter=delimiter)
    with pytest.raises(ParameterError, match="each column once"):
        ColumnOptions(keep=("a", "a"))
    with pytest.raises(FileError, match="ending in .csv"):
        open_sequences(tmp_path / "t.xlsx")
    with pytest.raises(ParameterError, match="with XES"):
        open_sequences(tmp_path / "t.xes", ColumnOptions(sequence="a"))


def test_a_header_is_never_shown(tmp_path):
    """A file without a header has a sequence in its place."""
    file = tmp_path / "t.csv"
    file.write_text("SECRET1,SECRET2\nx,y\n")
    with pytest.raises(FileError, match="columns 1, 2") as caught:
        sequences(file)
    assert "SECRET" not in str(caught.value)


# --- names that are none, attributes that nobody has, halves of characters ----------------------


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("t.csv", "id,s,p\n1,a,x\n2,b,\n", {"person": "p", "sequence": "s"}, "line 3: expected a person"),
        ("t.csv", "id,s\n1,a\n,b\n", {"sequence": "s"}, "line 3: expected an id"),
        ("t.csv", "c,s\n1,a\n,b\n", {"case": "c", "symbol": "s"}, "line 3: expected a case"),
        ("t.csv", "c,s,p\n1,a,x\n2,b,\n", {"case": "c", "symbol": "s", "person": "p"}, "line 3: expected a person"),
        ("t.jsonl", '{"id": 1, "s": ["a"], "p": ""}\n', {"person": "p"}, "line 1: expected a person"),
        ("t.jsonl", '{"id": "", "s": ["a"]}\n', {}, "line 1: expected an id"),
        ("t.xes", "<log><trace><string key='concept:name' value=''/></trace></log>", {}, "trace 1: expected a name"),
    ],
)
def test_an_empty_text_names_nobody(tmp_path, name, text, options, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(FileError, match=f"{message}.* found an empty one"):
        sequences(tmp_path / name, **options)


def test_quotes_are_a_name_where_they_are_text(tmp_path):
    (tmp_path / "t.csv").write_text('id,s\n"""""",a\n')
    assert sequences(tmp_path / "t.csv", sequence="s") == [('""', ["a"])]


@pytest.mark.parametrize("name", ["typo", "case:typo", "age", "case:time:timestamp"])
def test_xes_does_not_keep_what_is_not_there(tmp_path, name):
    (tmp_path / "log.xes").write_text(XES)
    with pytest.raises(FileError, match="`keep`"):
        sequences(tmp_path / "log.xes", keep=(name,))
    assert len(sequences(tmp_path / "log.xes", keep=("case:age", "time:timestamp"))) == 2
    (tmp_path / "log.xes").write_text("<log/>")
    assert sequences(tmp_path / "log.xes", keep=(name,)) == []


@pytest.mark.parametrize(
    "half", [r'{"id":2,"s":["a","\ud800"]}', r'{"id":"\uDC00","s":["a"]}', r'{"id":2,"s":[],"\udfff":1}']
)
def test_half_a_character_is_none(tmp_path, half):
    (tmp_path / "t.jsonl").write_text(f'{{"id":1,"s":["a"]}}\n{half}\n')
    with pytest.raises(FileError, match="line 2: expected text of whole characters"):
        sequences(tmp_path / "t.jsonl", sequence="s")
    (tmp_path / "t.jsonl").write_text(r'{"id":1,"s":["\ud83d\ude00", "\\ud800"]}')
    assert sequences(tmp_path / "t.jsonl") == [("1", ["😀", r"\ud800"])]


# --- types of Parquet --------------------------------------------------------------------------


def test_lists_of_dictionaries_in_several_row_groups(tmp_path):
    """Arrow cannot read them across row groups; the file is a good one all the same."""
    kind = pa.list_(pa.dictionary(pa.int32(), pa.string()))
    words = [["a", "b"], [], ["c"], ["b", "c", "a"]]
    pq.write_table(pa.table({"s": pa.array(words, type=kind)}), tmp_path / "t.parquet", row_group_size=1)
    assert [symbols for _, symbols in sequences(tmp_path / "t.parquet")] == words
    written_again(tmp_path / "t.parquet", tmp_path / "o.parquet")
    again = pq.ParquetFile(tmp_path / "o.parquet")
    assert again.schema_arrow.field("s").type == kind
    assert [word for _, word in sequences(tmp_path / "o.parquet")] == words


TEXTS = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]


@pytest.mark.parametrize("kind", TEXTS, ids=str)
@pytest.mark.parametrize("form", ["wide", "long"])
def test_text_goes_out_in_the_type_it_came_in(tmp_path, kind, form):
    file, again = tmp_path / "t.parquet", tmp_path / "o.parquet"
    table = pa.table({name: pa.array(cells, type=kind) for name, cells in (("id", ["x", "y"]), ("s", ["a", "b"]))})
    pq.write_table(table, file)
    options = {"case": "id", "symbol": "s"} if form == "long" else {"sequence": "s", "identifier": "id"}
    assert sequences(file, **options) == [("x", ["a"]), ("y", ["b"])]
    written_again(file, again, **options)
    assert pq.read_table(again) == table


STRANGE = {
    "bytes": pa.array([b"\xff", b"b"]),
    "struct": pa.array([{"x": 1}, {"x": 2}]),
    "list": pa.array([[1], [2]]),
    "map": pa.array([[("a", 1)], []], type=pa.map_(pa.string(), pa.int64())),
}


@pytest.mark.parametrize("kind", STRANGE)
@pytest.mark.parametrize("role", ["id", "person", "case", "order"])
def test_columns_that_name_or_order_nothing(tmp_path, kind, role):
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table({"c": ["1", "2"], "x": STRANGE[kind], "s": ["a", "b"]}), file)
    options = {
        "id": {"identifier": "x", "sequence": "s"},
        "person": {"identifier": "c", "sequence": "s", "person": "x"},
        "case": {"case": "x", "symbol": "s"},
        "order": {"case": "c", "symbol": "s", "order": "x"},
    }[role]
    with pytest.raises(FileError, match="as text or a number|numbers or ISO 8601 timestamps"):
        sequences(file, **options)


def test_an_order_beyond_sixty_four_bits_and_half_floats(tmp_path, recwarn):
    table = {"c": ["x", "x"], "s": ["a", "b"]}
    pq.write_table(pa.table({**table, "o": pa.array([1, 2**64 - 1], type=pa.uint64())}), tmp_path / "t.parquet")
    with pytest.raises(FileError, match="row 2: expected numbers"):
        sequences(tmp_path / "t.parquet", case="c", symbol="s", order="o")
    pq.write_table(pa.table({**table, "o": pa.array([2, 1], type=pa.float16())}), tmp_path / "t.parquet")
    assert sequences(tmp_path / "t.parquet", case="c", symbol="s", order="o") == [("x", ["b", "a"])]
    assert not recwarn.list


def test_events_of_a_log_without_names_are_named_by_an_attribute(tmp_path):
    log = tmp_path / "log.xes"
    events = "".join(f'<event><string key="activity" value="{symbol}"/></event>' for symbol in "ab")
    log.write_text(f'<log><trace><string key="concept:name" value="c1"/>{events}</trace></log>')
    found = r"trace 1: expected a symbol \(concept:name\), found none; name .* `symbol`"
    with pytest.raises(FileError, match=found):
        list(read_sequences(log))
    assert [list(word) for word in read_sequences(log, symbol="activity")] == [["a", "b"]]
