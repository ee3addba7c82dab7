"""How a log is written that passed a policy: artificial times in XES, apostrophes for spreadsheets."""

from __future__ import annotations

import csv
import json
import re

import pytest

import symveil as sv
from cli.running import symveil

ASK = ("enforce", "system.json", "--epsilon", "2")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    moves = [("0", "=a", "1", "1/2"), ("0", "b", "2", "1/2"), ("1", "b", "0", 1), ("2", "b", "0", 1)]
    sv.save_model(
        sv.StochasticSystem.from_transitions(moves, initial="0", observable=["=a", "b"], secret=["1"]), "system.json"
    )
    events = "".join(
        '<event><string key="concept:name" value="b"/>'
        f'<date key="time:timestamp" value="1999-01-0{day}T00:00:00Z"/></event>'
        for day in (1, 2, 3)
    )
    (tmp_path / "log.xes").write_text(f'<log><trace><string key="concept:name" value="x"/>{events}</trace></log>')
    (tmp_path / "log.csv").write_text("run,seen\n-1,=a b b\n2,b b\n")
    return tmp_path


@pytest.mark.parametrize("release", [(), ("--release-id", "may")])
def test_times_in_xes_are_artificial_and_said(folder, release):
    ask = (*ASK, "--length", "3", "--log", "log.xes", "--out", "out.xes", *release)
    done = symveil(*ask, "--start", "2030-01-01", "--step", "1h", "--json")
    assert done.status == 0, done.err
    text = (folder / "out.xes").read_text()
    assert "1999" not in text
    found = re.findall(r'time:timestamp" value="([^"]*)"', text)[-3:]  # after the one of <global>
    assert [each[:16] for each in found] == ["2030-01-01T00:00", "2030-01-01T01:00", "2030-01-01T02:00"]
    if release:
        times = json.loads((folder / "out.xes.manifest.json").read_text())["output"]["times"]
        assert (times["artificial"], times["step"]) == (True, "1h")
        assert symveil("check", "out.xes.manifest.json").status == 0
    else:
        assert "the times of events are artificial: from 2030-01-01T00:00:00" in done.err


def test_cells_are_guarded_for_spreadsheets_where_that_is_asked_for(folder):
    ask = (*ASK, "--length", "3", "--log", "log.csv", "--id", "run", "--sequence", "seen", "--spreadsheet-safe")
    assert symveil(*ask, "--out", "same.csv").status == 0
    ids, shown = zip(*list(csv.reader((folder / "same.csv").read_text().splitlines()))[1:], strict=True)
    assert ids == ("'-1", "2")
    assert all(each.startswith(("b", "'=a")) for each in shown)
    assert symveil(*ask, "--out", "column.tsv").status == 0
    column = (folder / "column.tsv").read_text().splitlines()
    assert column[0] == '"observation"'
    assert all(each.startswith(('"b', "\"'=a")) for each in column[1:])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--log", "log.csv", "--out", "out.jsonl", "--spreadsheet-safe"), "spreadsheet-safe: expected CSV"),
        (("--log", "log.xes", "--out", "out.csv", "--start", "2030-01-01"), "start: expected an --out ending in .xes"),
        (("--spreadsheet-safe",), "spreadsheet-safe: expected --log and --out with it"),
        (("--step", "1h"), "time-step: expected --log and --out with it"),
    ],
)
def test_what_cannot_be_written_so_is_refused_before_any_work(folder, options, said):
    refused = symveil(*ASK, *options)  # without the length that the system needs: it is not asked for that
    assert (refused.status, refused.err.count("\n")) == (2, 1)
    assert said in refused.err
