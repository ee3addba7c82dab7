"""Files made to hurt: bombs, endless lines, deep nesting. Refused in one line, in bounded memory and time."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import zlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import symveil as sv
from symveil.errors import AlphabetError, FileError
from symveil.formats.limits import LIMITS
from symveil.formats.models.model_files import load_model
from symveil.formats.sequences import xes_writer
from symveil.formats.sequences.columns import ColumnOptions
from symveil.formats.sequences.rows_parquet import ParquetRows
from symveil.formats.sequences.sequence_files import open_sequences

READ = """
import resource, sys
from symveil.formats.sequences.columns import ColumnOptions
from symveil.formats.sequences.rows_parquet import ParquetRows
from symveil.formats.sequences.sequence_files import open_sequences
from symveil.errors import SymveilError
import pyarrow.compute
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    for batch in open_sequences(sys.argv[1], ColumnOptions(**eval(sys.argv[2]))).records():
        pass
    print("read")
except SymveilError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def read(file, **options) -> tuple[str, int]:
    """What reading a file in a new process says, and how many MiB it took."""
    done = subprocess.run(
        [sys.executable, "-c", READ, str(file), repr(options)], capture_output=True, text=True, check=True, timeout=120
    )
    message, size = done.stdout.strip().splitlines()
    return message, int(size)


def bomb(path, head: bytes, unit: bytes, times: int) -> None:
    """`head` and then `unit` over and over: a thousand times smaller than what it unpacks to."""
    packer = zlib.compressobj(9, wbits=31)
    with path.open("wb") as file:
        file.write(packer.compress(head))
        for _ in range(times):
            file.write(packer.compress(unit))
        file.write(packer.flush())


BOMBS = {
    "rows": ("t.csv.gz", b"id,s\n", b"1,a a a a a a a\n" * 4096),
    "one cell": ("t.csv.gz", b"id,s\n1,", b"a " * 32_768),
    "json": ("t.jsonl.gz", b'{"id": 1, "s": ["a"]}\n', b'{"id": 1, "s": ["a"]}\n' * 3000),
    "xes": ("t.xes.gz", b"<log>", b"<trace><string key='concept:name' value='1'/></trace>" * 1000),
    "parquet": ("t.parquet.gz", b"PAR1", bytes(1 << 16)),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_gzip_bombs(tmp_path, kind, set_limits):
    set_limits(LIMITS, suspicious_bytes=1 << 20)  # as with the large ones, in less time
    name, head, unit = BOMBS[kind]
    bomb(tmp_path / name, head, unit, 60)
    assert (tmp_path / name).stat().st_size < 20_000
    with pytest.raises(FileError, match="unpacks to at most 200 times its size"):
        list(open_sequences(tmp_path / name).records())


MODEL_BOMBS = {
    "transitions": ("m.tra.gz", b"dtmc\n", b"0 0 1\n" * 8192),
    "states": ("m.fsm.gz", b"1\n\na 0 9000000\n", b"go a c o\n" * 8192),
    "table": ("m.csv.gz", b"from,to\n", b"a,b\n" * 8192),
}


@pytest.mark.parametrize("kind", MODEL_BOMBS)
def test_gzip_bombs_that_are_models(tmp_path, kind, set_limits):
    set_limits(LIMITS, suspicious_bytes=1 << 20)
    bomb(tmp_path / MODEL_BOMBS[kind][0], *MODEL_BOMBS[kind][1:], 60)
    with pytest.raises(FileError, match="unpacks to at most 200 times its size"):
        load_model(tmp_path / MODEL_BOMBS[kind][0])


@pytest.mark.parametrize("kind", ["one cell", "parquet"])
def test_large_gzip_bombs_in_bounded_memory(tmp_path, kind):
    name, head, unit = BOMBS[kind]
    bomb(tmp_path / name, head, unit, 6400)
    message, size = read(tmp_path / name)
    assert "unpacks to at most 200 times its size" in message or "lines of at most" in message
    assert size < 500


def test_a_bomb_that_is_none_can_be_let_through(tmp_path, set_limits):
    set_limits(LIMITS, suspicious_bytes=1 << 20)
    file = tmp_path / "t.csv.gz"
    bomb(file, *BOMBS["rows"][1:], 30)
    with pytest.raises(FileError, match="`gzip_ratio`"):
        list(open_sequences(file).records())
    assert sum(len(batch) for batch in open_sequences(file, most_times=2000).records()) == 30 * 4096


LAUGHS = """<?xml version="1.0"?><!DOCTYPE log [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<log><trace><string key="concept:name" value="&b;"/></trace></log>"""
OUTSIDE = '<!DOCTYPE log [<!ENTITY x SYSTEM "file:///etc/passwd">]><log><trace>&x;</trace></log>'


@pytest.mark.parametrize("text", [LAUGHS, OUTSIDE, '<!DOCTYPE log SYSTEM "http://example.com/x.dtd"><log/>'])
def test_entities_and_document_types(tmp_path, text):
    file = tmp_path / "log.xes"
    file.write_text(text)
    with pytest.raises(FileError, match="without a document type"):
        list(open_sequences(file).records())


def test_deep_xml(tmp_path):
    file = tmp_path / "log.xes"
    file.write_text("<log>" + "<list>" * 100_000)
    with pytest.raises(FileError, match="nested at most 100 deep"):
        list(open_sequences(file).records())


def test_markup_without_an_end(tmp_path):
    file = tmp_path / "log.xes"
    with file.open("wb") as sink:
        sink.write(b'<log><trace><string key="concept:name" value="')
        for _ in range(64):
            sink.write(b"a" * (1 << 20))
    message, size = read(file)
    assert "markup without an end" in message
    assert size < 500


def test_deep_json(tmp_path):
    file = tmp_path / "t.jsonl"
    file.write_text('{"id": 1, "s": ' + "[" * 200_000 + "\n")
    with pytest.raises(FileError, match="line 1: expected JSON nested at most 100 deep, found more"):
        list(open_sequences(file).records())


def test_an_endless_line(tmp_path):
    for name, head in (("t.csv", b"id,s\n1,"),):
        file = tmp_path / name
        with file.open("wb") as sink:
            sink.write(head)
            for _ in range(130):
                sink.write(b"a " * (1 << 19))
        message, size = read(file)
        assert "lines of at most" in message
        assert size < 800


NAMED = "<trace><string key='concept:name' value='0'/></trace>"


def test_absurd_lengths(tmp_path):
    long = ["a"] * 2000
    (tmp_path / "t.csv").write_text("id,s\n1,a\n2," + " ".join(long) + "\n")
    (tmp_path / "t.jsonl").write_text(
        json.dumps({"id": 1, "s": ["a"]}) + "\n" + json.dumps({"id": 2, "s": long}) + "\n"
    )
    pq.write_table(pa.table({"id": [1, 2], "s": [["a"], long]}), tmp_path / "t.parquet")
    events = "".join("<event><string key='concept:name' value='a'/></event>" for _ in long)
    (tmp_path / "t.xes").write_text(f"<log>{NAMED}<trace><string key='concept:name' value='1'/>{events}</trace></log>")
    for name, place in (("t.csv", "line 3"), ("t.jsonl", "line 2"), ("t.parquet", "row 2"), ("t.xes", "trace 2")):
        with pytest.raises(FileError, match=f"{name}: {place}: expected at most 1500 symbols.*`longest`"):
            list(open_sequences(tmp_path / name, longest=1500).records())
    assert len(list(open_sequences(tmp_path / "t.csv", longest=2000).records())) == 1


def test_a_parquet_file_that_packs_a_thousand_million_symbols_into_a_few_bytes(tmp_path):
    file = tmp_path / "t.parquet"
    values = pa.array([0], type=pa.int8()).take(pa.array([0] * 3_000_000))
    lists = pa.LargeListArray.from_arrays(pa.array([0, 3_000_000]), values)
    pq.write_table(pa.table({"s": lists}), file)
    assert file.stat().st_size < 100_000
    with pytest.raises(FileError, match="row group 1: expected at most 1000000 symbols"):
        list(open_sequences(file).records())


@pytest.mark.parametrize("packed", [False, True])
def test_a_long_text_that_parquet_stores_once_for_all_rows(tmp_path, packed):
    """A batch is as large as its texts are, not as the file is."""
    file = tmp_path / ("t.parquet.gz" if packed else "t.parquet")
    text = "a " * 50_000
    rows = pa.DictionaryArray.from_arrays(pa.array([0] * 30_000, type=pa.int32()), pa.array([text]))
    pq.write_table(pa.table({"id": range(30_000), "s": rows}), tmp_path / "t.parquet")
    if packed:
        file.write_bytes(gzip.compress((tmp_path / "t.parquet").read_bytes()))
    for read in (open_sequences(file).records(), ParquetRows(file).batches(["id", "s"], "s")):
        assert 1 <= len(next(read)) <= (1 << 24) // len(text)


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet", "t.xes", "t.csv.gz", "t.parquet.gz"])
@pytest.mark.parametrize(
    "content",
    [b"", bytes(range(256)) * 40, b"\x1f\x8b\x08broken", b"PAR1" + bytes(100) + b"PAR1", b"id,s\n\xff\xfe,a\n"],
    ids=["empty", "binary", "gzip", "parquet", "utf-8"],
)
def test_what_is_no_such_file(tmp_path, name, content):
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(FileError) as caught:
        list(open_sequences(file, ColumnOptions(sequence="s")).records()) if "xes" not in name else list(
            open_sequences(file).records()
        )
    assert "\n" not in str(caught.value) and name in str(caught.value)


def test_cut_files(tmp_path):
    pq.write_table(pa.table({"s": [["a"] * 50] * 1000}), tmp_path / "t.parquet")
    whole = (tmp_path / "t.parquet").read_bytes()
    for keep in (10, len(whole) // 2, len(whole) - 3):
        (tmp_path / "t.parquet").write_bytes(whole[:keep])
        with pytest.raises(FileError, match="t.parquet: expected a Parquet file"):
            list(open_sequences(tmp_path / "t.parquet").records())
    packed = gzip.compress(b"id,s\n" + b"1,a\n" * 1000)
    (tmp_path / "t.csv.gz").write_bytes(packed[:-10])
    with pytest.raises(FileError, match="damaged gzip"):
        list(open_sequences(tmp_path / "t.csv.gz").records())


def test_a_broken_row_is_named_by_file_and_line(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("id,s\n" + "1,a\n" * 500 + "2,SECRET,c\n")
    with pytest.raises(FileError, match=r"t.csv: line 502: expected 2 cells, as in the header, found 3") as caught:
        list(open_sequences(file).records())
    assert "SECRET" not in str(caught.value)
    file.write_text('id,s\n1,a\n2,"SECRET\n')
    with pytest.raises(FileError, match=r"t.csv: line 3") as caught:
        list(open_sequences(file).records())
    assert "SECRET" not in str(caught.value)


def _log(*traces: str) -> str:
    return f"<log>{''.join(traces)}</log>"


def _trace(*events: str, name: str = "1") -> str:
    return f'<trace><string key="concept:name" value="{name}"/>{"".join(events)}</trace>'


def _event(symbol: str, more: str = "") -> str:
    return f'<event><string key="concept:name" value="{symbol}"/>{more}</event>'


_AGAIN = '<string key="concept:name" value="b"/>'


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (_log(_trace(_event("a", _AGAIN))), "each attribute once"),
        (_log(_trace(_event("a"), _AGAIN)), "each attribute once"),
        (_log(_trace(_event("a", '<evil:string xmlns:evil="urn:x" key="concept:name" value="b"/>'))), "each attribute"),
        (_log(_trace(_event("a"), _trace(_event("b"), name="2"))), "traces in the log"),
        (_log(_trace(_event("a", _event("b")))), "events in a trace"),
        (_log(_trace(_event("a", f'<list key="l"><values>{_event("b")}</values></list>'))), "events in a trace"),
        (_log(_log(_trace(_event("a")))), "a log around everything"),
    ],
)
def test_what_a_log_says_in_two_ways_is_refused(tmp_path, content: str, expected: str) -> None:
    """Readers differ in what they take of it: another case would be charged, or events would be lost in silence."""
    file = tmp_path / "log.xes"
    file.write_text(content)
    with pytest.raises(FileError, match=expected) as caught:
        list(open_sequences(file).records())
    assert "urn:x" not in str(caught.value)
    file.write_text(_log(_trace(_event("a", '<string key="note" value="x"/><string key="note" value="y"/>'))))
    (batch,) = open_sequences(file).records()  # what is not read may be there twice
    assert batch.column("symbols").to_pylist() == [["a"]]


def test_a_time_that_is_there_twice_refuses_nothing(tmp_path) -> None:
    file = tmp_path / "log.xes"
    dates = "".join(f'<date key="time:timestamp" value="2024-05-0{day}"/>' for day in (1, 2))
    file.write_text(_log(_trace(_event("a", dates))))
    (batch,) = open_sequences(file, ColumnOptions(time="time:timestamp")).records()
    assert batch.column("time").to_pylist() == [["2024-05-01"]]


def test_large_traces_are_refused_and_many_are_read_a_few_at_a_time(tmp_path, set_limits) -> None:
    """Symbols may be long: what is held is counted in characters, not in events alone."""
    set_limits(LIMITS, line_characters=1000, trace_characters=1000)
    file = tmp_path / "log.xes"
    file.write_text(_log(*(_trace(_event("a" * 300), _event("b" * 300), name=str(number)) for number in range(5))))
    assert [len(batch) for batch in open_sequences(file).records()] == [2, 2, 1]
    file.write_text(_log(_trace(*[_event("a" * 300)] * 4)))
    with pytest.raises(FileError, match="traces of at most 1000 characters"):
        list(open_sequences(file).records())


@pytest.mark.parametrize(("symbol", "found"), [("\x01", "control"), ("￾", "control"), ("\ud800", "half of one")])
def test_symbols_that_a_log_cannot_hold_are_refused_before_anything_is_drawn(tmp_path, symbol: str, found: str) -> None:
    file, out = tmp_path / "log.xes", tmp_path / "private.xes"
    file.write_text(_log(_trace(_event("a"))))
    with pytest.raises(AlphabetError, match=found):
        sv.privatize_file(file, out, alphabet=("a", symbol), epsilon=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.xes"]
    with pytest.raises(FileError, match="XML cannot hold"):  # and nothing else may write one either
        xes_writer._attribute(symbol)


def test_what_is_wrong_with_a_line_of_json_is_in_its_own_line(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"id": 1, "s": ["a"]}\n{"id": 2, "s": ["a\x01"]}\n')
    with pytest.raises(FileError, match="line 2: expected JSON, found invalid control character at column 19$"):
        list(open_sequences(tmp_path / "t.jsonl").records())


@pytest.mark.parametrize("table", ["symbol,symbol,x,y\na,b,0,0\n", "symbol,x,x,y\na,0,1,0\n"])
def test_a_column_of_a_map_that_is_there_twice_is_not_guessed(tmp_path, table):
    (tmp_path / "places.csv").write_text(table)
    with pytest.raises(FileError, match="expected a column state .or symbol, .*, found 4 other columns"):
        sv.read_coordinates(tmp_path / "places.csv")
