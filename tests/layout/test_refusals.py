"""Of several faults in a file the same one is told, whatever the other sequences are.

Files are read in batches whose sizes follow the secret words, and batches are looked through column by column, on
several threads, in memory or by way of the disk. Where batches end must not decide which fault is met first.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import symveil as sv
from symveil.errors import SymveilError
from symveil.formats.limits import LIMITS

LONG = "a symbol with a rather long name"
SECRETS = ("a", LONG)
FIRST, SECOND, COUNT = 25, 40, 90
WIDE = {"sequence": "trip", "identifier": "uid", "separator": "|"}
LISTS = {"sequence": "trip", "identifier": "uid"}
EVENTS = {"case": "uid", "order": "at", "symbol": "trip"}


def told(file: Path, options: dict, **others) -> str:
    with pytest.raises(SymveilError) as refused:
        sv.privatize_file(
            file, file.with_name(f"out{file.suffix}"), alphabet=["a", LONG], epsilon=1, **options, **others
        )
    assert sorted(path.name for path in file.parent.iterdir() if path.suffix != ".db") == [file.name]
    return str(refused.value)


def refused_alike(tmp_path: Path, suffix: str, content, options: dict) -> str:
    """What is told about files that hold other secrets, and the same faults."""
    messages = set()
    for symbol in SECRETS:
        file = tmp_path / f"in{suffix}"
        content(file, symbol)
        messages.add(told(file, options))
    assert len(messages) == 1, messages
    return messages.pop()


def lines_with(good, faults: dict[int, bytes], head: bytes = b"", end: bytes = b""):
    """Writes a file of lines, some of them faulty."""

    def write(file: Path, symbol: str) -> None:
        lines = [faults.get(number, good(number, symbol).encode()) for number in range(COUNT)]
        file.write_bytes(head + b"\n".join(lines) + b"\n" + end)

    return write


CSV = {
    "unknown symbol": b"x,a|unknown",
    "no id": b",a|a",
    "no symbol between separators": b"x,a||a",
    "too many cells": b"x,a,a",
    "no UTF-8": b"x,a|\xff",
    "a quote in the wrong place": b'x,"a"a',
}


@pytest.mark.parametrize(("one", "other"), list(itertools.permutations(CSV, 2)))
def test_csv(tmp_path, small_pieces, one, other):
    faults = {FIRST: CSV[one], SECOND: CSV[other].replace(b"x,", b"y,")}
    write = lines_with(lambda n, symbol: f"u{n},{'|'.join([symbol] * (n % 5))}", faults, b"uid,trip\n")
    assert f"in.csv: line {FIRST + 2}: " in refused_alike(tmp_path, ".csv", write, WIDE)


JSON = {
    "unknown symbol": b'{"uid": "x", "trip": ["a", "unknown"]}',
    "no id": b'{"uid": null, "trip": []}',
    "no JSON": b'{"uid": "x", "trip": ["a"',
    "a number": b'{"uid": "x", "trip": ["a", 7]}',
    "no UTF-8": b'{"uid": "x", "trip": ["\xff"]}',
}


@pytest.mark.parametrize(("one", "other"), list(itertools.permutations(JSON, 2)))
def test_json_lines(tmp_path, small_pieces, one, other):
    faults = {FIRST: JSON[one], SECOND: JSON[other].replace(b'"x"', b'"y"')}
    good = lambda n, symbol: f'{{"uid": "u{n}", "trip": [{", ".join([chr(34) + symbol + chr(34)] * (n % 5))}]}}'  # noqa: E731
    assert f"in.jsonl: line {FIRST + 1}: " in refused_alike(tmp_path, ".jsonl", lines_with(good, faults), LISTS)


PARQUET = {
    "unknown symbol": ("x", ["a", "unknown"]),
    "no id": (None, ["a"]),
    "no sequence": ("x", None),
    "no symbol": ("x", ["a", None]),
}


@pytest.mark.parametrize("ledger", [False, True])
@pytest.mark.parametrize(("one", "other"), list(itertools.permutations(PARQUET, 2)))
def test_parquet(tmp_path, small_pieces, one, other, ledger):
    def write(file: Path, symbol: str) -> None:
        rows = [(f"u{number}", [symbol] * (number % 5)) for number in range(COUNT)]
        rows[FIRST], rows[SECOND] = PARQUET[one], (PARQUET[other][0] and "y", PARQUET[other][1])
        ids, words = zip(*rows, strict=True)
        pq.write_table(pa.table({"uid": ids, "trip": pa.array(words, pa.list_(pa.string()))}), file, row_group_size=20)

    options = LISTS | ({"ledger": tmp_path / "l.db"} if ledger else {})
    assert f"in.parquet: row {FIRST + 1}: " in refused_alike(tmp_path, ".parquet", write, options)


def trace(name: str | None, events: str) -> str:
    named = "" if name is None else f"<string key='concept:name' value={quoteattr(name)}/>"
    return f"<trace>{named}{events}</trace>"


def event(symbol: str) -> str:
    return f"<event><string key='concept:name' value={quoteattr(symbol)}/></event>"


XES = {
    "unknown symbol": trace("x", event("a") + event("unknown")).encode(),
    "no name": trace("", event("a")).encode(),
    "no symbol": trace("x", event("a") + "<event/>").encode(),
    "no XML": b"<trace><event></trace>",
}


@pytest.mark.parametrize(("one", "other"), list(itertools.permutations(XES, 2)))
def test_xes(tmp_path, small_pieces, one, other):
    faults = {FIRST: XES[one], SECOND: XES[other].replace(b'"x"', b'"y"')}
    write = lines_with(lambda n, symbol: trace(f"u{n}", event(symbol) * (n % 5)), faults, b"<log>\n", b"</log>")
    message = refused_alike(tmp_path, ".xes", write, {})
    assert f"trace {FIRST + 1}: " in message or f"line {FIRST + 2}: " in message


LOG = {
    "unknown symbol": b"x,1,unknown",
    "no case": b",1,a",
    "no order": b"x,soon,a",
    "too many cells": b"x,1,a,a",
    "two persons": b"u1,1,a",
}


@pytest.mark.parametrize(("one", "other"), list(itertools.permutations(LOG, 2)))
def test_event_logs(tmp_path, set_limits, small_pieces, one, other):
    """Faults of lines come first, then those of cases, then unknown symbols: in memory and by way of the disk."""
    set_limits(LIMITS, grouped_bytes=6000)
    faults = {FIRST: LOG[one] + b",p", SECOND: LOG[other].replace(b"x,", b"y,") + b",p"}
    write = lines_with(lambda n, symbol: f"u{n % 20},{n},{symbol},q", faults, b"uid,at,trip,who\n")
    message = refused_alike(tmp_path, ".csv", write, EVENTS | {"person": "who"})
    late = ("two persons", "unknown symbol")
    expected = min((one, FIRST), (other, SECOND), key=lambda fault: (fault[0] in late, fault[0] == late[1], fault[1]))
    assert f"line {3 if expected[0] == late[0] else expected[1] + 2}: " in message
