"""Private logs can be mined: what tools for process mining ask of a log is there, and tells nothing but positions."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import symveil as sv
from cli.running import symveil
from symveil.errors import FileError, SymveilError
from symveil.formats.sequences.stamps import ArtificialTimes

XES = "{http://www.xes-standard.org/}"
# the head of a log as ProM, Disco and pm4py write it: extensions, globals, classifiers, then traces
LOG = """<?xml version="1.0" encoding="UTF-8"?>
<log xes.version="1849-2016" xes.features="nested-attributes" xmlns="http://www.xes-standard.org/">
 <extension name="Concept" prefix="concept" uri="http://www.xes-standard.org/concept.xesext"/>
 <extension name="Time" prefix="time" uri="http://www.xes-standard.org/time.xesext"/>
 <global scope="event"><string key="concept:name" value="?"/></global>
 {traces}
</log>
"""
OTHER = "<trace>{name}{events}</trace>"
EVENT = (
    '<event><string key="concept:name" value="{}"/><string key="org:resource" value="r1"/>'
    '<date key="time:timestamp" value="20{:02}-03-04T05:06:07.000+01:00"/></event>'
)


def log(folder: Path, *traces: tuple[str | None, str]) -> Path:
    texts = []
    for name, symbols in traces:
        named = "" if name is None else f'<string key="concept:name" value="{name}"/>'
        events = "".join(EVENT.format(symbol, 10 + place) for place, symbol in enumerate(symbols))
        texts.append(OTHER.format(name=named, events=events))
    file = folder / "log.xes"
    file.write_text(LOG.format(traces="\n".join(texts)))
    return file


def released(folder: Path, source: Path, **options: object) -> tuple[ET.Element, dict]:
    out = folder / f"private{source.suffix}"
    done = sv.privatize_file(source, out, alphabet="abc", epsilon=1000, **options)
    assert sv.check_manifest(done.manifest_file).holds
    return ET.parse(out).getroot() if source.suffix == ".xes" else out, done.manifest  # noqa: S314 - our own file


def test_a_log_has_what_the_standard_asks_for_in_its_order(tmp_path: Path) -> None:
    root, manifest = released(tmp_path, log(tmp_path, ("x", "abc"), ("y", "b")))
    tags = [child.tag.removeprefix(XES) for child in root]
    assert tags == ["extension", "extension", "global", "global", "classifier", "string", "trace", "trace"]
    assert {(each.get("name"), each.get("prefix"), each.get("uri")) for each in root.findall(f"{XES}extension")} == {
        ("Concept", "concept", "http://www.xes-standard.org/concept.xesext"),
        ("Time", "time", "http://www.xes-standard.org/time.xesext"),
    }
    declared = {each.get("scope"): {child.get("key") for child in each} for each in root.findall(f"{XES}global")}
    assert declared == {"trace": {"concept:name"}, "event": {"concept:name", "time:timestamp"}}
    for trace in root.findall(f"{XES}trace"):
        times = [each.find(f"{XES}date").get("value") for each in trace.findall(f"{XES}event")]
        start = ["2000-01-01T00:00:00.000+00:00", "2000-01-01T00:01:00.000+00:00", "2000-01-01T00:02:00.000+00:00"]
        assert times == start[: len(times)]
    assert manifest["output"]["times"] == {"artificial": True, "start": "2000-01-01T00:00:00+00:00", "step": "1m"}


def test_start_and_step_are_what_was_asked_for(tmp_path: Path) -> None:
    root, manifest = released(tmp_path, log(tmp_path, ("x", "ab")), start="2024-05-01T02:00:00+02:00", time_step="90s")
    assert [each.get("value") for each in root.iter(f"{XES}date")][1:] == [
        "2024-05-01T00:00:00.000+00:00",
        "2024-05-01T00:01:30.000+00:00",
    ]
    assert manifest["output"]["times"]["step"] == "90s"


def test_true_times_pass_only_when_they_are_kept(tmp_path: Path) -> None:
    root, manifest = released(tmp_path, log(tmp_path, ("x", "ab")), keep=["time:timestamp", "org:resource"])
    assert [each.get("value")[:4] for each in root.iter(f"{XES}date")] == ["2010", "2011"]
    assert "times" not in manifest["output"]
    assert "org" in {each.get("prefix") for each in root.findall(f"{XES}extension")}
    with pytest.raises(SymveilError, match=r"start: expected no `keep` of the times that it replaces, found both"):
        released(tmp_path, tmp_path / "log.xes", keep=["time:timestamp"], start="2020-01-01")


def test_times_do_not_depend_on_the_secret_words(tmp_path: Path) -> None:
    """Other true times and other symbols: the same bytes but for the symbols, at an ε that keeps every symbol."""
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one = log(tmp_path / "one", ("x", "aab"))
    two = log(tmp_path / "two", ("x", "cba"))
    two.write_text(two.read_text().replace("2010-", "1990-"))
    texts = []
    for each, word in ((one, "aab"), (two, "cba")):
        root, _ = released(each.parent, each)
        assert [event.find(f"{XES}string").get("value") for event in root.iter(f"{XES}event")] == list(word)
        texts.append([date.get("value") for date in root.iter(f"{XES}date")])
    assert texts[0] == texts[1]


def test_traces_without_a_name_are_numbered(tmp_path: Path) -> None:
    root, _ = released(tmp_path, log(tmp_path, (None, "ab"), ("x", "b"), (None, "c")))
    assert [trace.find(f"{XES}string").get("value") for trace in root.findall(f"{XES}trace")] == ["1", "x", "3"]
    # a number is no person: in another log it is somebody else's
    ledger = tmp_path / "budgets.db"
    sv.grant_budget(ledger, epsilon=5000, persons=["trace 1", "x", "trace 3"])
    released(tmp_path, tmp_path / "log.xes", ledger=ledger)
    assert {person: sv.person_status(ledger, person).spent for person in ("trace 1", "x")} == {
        "trace 1": "1000",
        "x": "1000",
    }
    with pytest.raises(FileError, match="each id once"):
        released(tmp_path, log(tmp_path, (None, "ab"), ("1", "b")))
    with pytest.raises(FileError, match=r"trace 1: expected a name \(patient\), found none"):
        released(tmp_path, log(tmp_path, (None, "ab")), case="case:patient")


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_tables_get_dates_where_they_are_asked_for(tmp_path: Path, kind: str) -> None:
    table = pa.table({"who": ["x", "y", "x"], "what": ["b", "c", "a"], "when": [2, 1, 1]})
    source = tmp_path / f"log.{kind}"
    if kind == "csv":
        pyarrow.csv.write_csv(table, source)
    elif kind == "parquet":
        pq.write_table(table, source)
    else:
        source.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    columns = {"case": "who", "symbol": "what", "order": "when"}
    out, manifest = released(tmp_path, source, **columns)
    assert "times" not in manifest["output"]  # as ever: 1, 2, 3
    out, manifest = released(tmp_path, source, **columns, start="2020-02-28T23:00:00", time_step="1h")
    assert manifest["output"]["times"]["artificial"] is True
    if kind == "parquet":
        written = pq.read_table(out)
        assert written.schema.field("when").type == pa.timestamp("us", tz="UTC")
    elif kind == "csv":
        written = pyarrow.csv.read_csv(out)
        assert pa.types.is_timestamp(written.schema.field("when").type)
    else:
        written = pa.Table.from_pylist([json.loads(line) for line in out.read_text().splitlines()])
    assert written["who"].to_pylist() == ["x", "x", "y"]
    assert [str(time)[:13].replace("T", " ") for time in written["when"].to_pylist()] == [
        "2020-02-28 23", "2020-02-29 00", "2020-02-28 23",
    ]  # fmt: skip
    # without an order column one is added, with the name that event logs have for it
    out, manifest = released(tmp_path, source, case="who", symbol="what", start="2020-01-01")
    assert manifest["output"]["columns"]["order"] == "time:timestamp"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": "yesterday"}, "start: expected a date such as 2024-05-01"),
        ({"start": "2020-01-01T00:00:00.000001"}, "start: expected whole milliseconds"),
        ({"time_step": "60"}, "time_step: expected a whole number above 0 with a unit"),
        ({"time_step": "0s"}, "time_step: expected a whole number above 0 with a unit"),
        ({"time_step": "3000d"}, "time_step: expected a step with which 1000000 events end before the year 9999"),
        ({"start": "9999-12-30"}, "time_step: expected a step with which"),
    ],
)
def test_times_that_are_none(tmp_path: Path, options: dict, message: str) -> None:
    with pytest.raises(SymveilError, match=message):
        released(tmp_path, log(tmp_path, ("x", "ab")), **options)


def test_a_file_of_whole_sequences_has_no_place_for_times(tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text("id,trip\n1,a b\n")
    with pytest.raises(SymveilError, match=r"start: expected one event in each row"):
        released(tmp_path, tmp_path / "wide.csv", start="2020-01-01")


def test_the_year_is_the_only_limit() -> None:
    texts = ArtificialTimes.read("9999-12-30", "1ms", longest=10_000).texts(20_000)
    assert texts[-1] == "9999-12-30T00:00:19.999+00:00"
    assert texts == sorted(set(texts))


def test_symbols_of_a_public_log(tmp_path: Path) -> None:
    found = sv.alphabet_of(log(tmp_path, ("x", "ca"), ("y", "b"), ("z", "")))
    assert found.document() == {"symbols": ["a", "b", "c"], "size": 3, "sequences": 3}
    assert found.alphabet() == sv.Alphabet.from_symbols("abc")


MINED = """
import pm4py, sys
log = pm4py.read_xes(sys.argv[1])
tree = pm4py.discover_process_tree_inductive(log)
print("".join(child.label for child in tree.children))
print(len(log), log["case:concept:name"].nunique(), log["time:timestamp"].dtype)
"""


def test_pm4py_mines_what_was_released(tmp_path: Path) -> None:
    """pm4py is a peer for this test, in a process of its own: it is under the AGPL and never imported by symveil."""
    if importlib.util.find_spec("pm4py") is None:
        pytest.skip("pm4py is not installed: it is in the extra peers, which make test installs")
    source = log(tmp_path, ("x", "abc"), (None, "abc"), ("y", "abc"))
    released(tmp_path, source)
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", MINED, tmp_path / "private.xes"],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = run.stdout.splitlines()
    assert lines[-2:] == ["abc", "9 3 datetime64[ns, UTC]"]


def test_the_command_line(tmp_path: Path) -> None:
    source, out = log(tmp_path, ("x", "ab")), tmp_path / "out.xes"
    released = ("privatize", str(source), "--out", str(out), "--alphabet", "abc", "--epsilon", "1000")
    done = symveil(*released, "--start", "2020-01-01", "--step", "1h", "--json")
    assert done.document["output"]["times"] == {
        "artificial": True, "start": "2020-01-01T00:00:00+00:00", "step": "1h",
    }  # fmt: skip
    assert "T01:00:00.000" in out.read_text()
    assert "found both" in symveil(*released, "--step", "1h", "--time-step", "1h").err
    refused = symveil("release", "ab", "--alphabet", "ab", "--epsilon", "1", "--mechanism", "staircase", "--step", "1h")
    assert (refused.status, refused.err.strip()) == (
        2,
        "symveil: error: step: expected a whole number, 1 or more, found 1h",
    )
    listed = symveil("alphabet", str(source), "--out", str(tmp_path / "symbols.txt"))
    assert (tmp_path / "symbols.txt").read_text() == "a\nb\n"
    assert "only if the log is public" in listed.err
    assert symveil("alphabet", str(source)).out == "a\nb\n"
    assert symveil("alphabet", str(source), "--json").document == {"symbols": ["a", "b"], "size": 2, "sequences": 1}
