"""What an outsider sees of central releases of files that differ by one person, with the same noise: only the tables.

Everything that is printed and written is compared: names of files, standard output and error, exit statuses, manifests,
the form of tables and models. Numbers that come out of the noise may differ, and nothing else.
"""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from symveil.cli.main import main
from symveil.release import protocol

COMMON = [(f"p{number:03}", "a b c a") for number in range(150)]
NEIGHBOURS: dict[str, list[tuple[str, str]]] = {
    "nobody more": [],
    "an illegal word": [("new", "a z b")],
    "an empty word": [("new", "")],
    "a word that is too long": [("new", "a b " * 500)],
    "many records": [("new", "b c")] * 300,
    "many symbols": [("new", " ".join(f"s{number}" for number in range(200)))],
    "the last in the file": [("zzz", "c")],
    "a name like a number": [("0", "c c")],
    "two illegal words and a legal one": [("new", "x"), ("new", "y"), ("new", "a")],
}
READING = ["--person", "who", "--id", "trip", "--sequence", "links", "--release-id", "r"]
COUNTS = ["count", "IN", "--statistic", "ngrams:2", "--epsilon", "1"]
LEARNING = ["learn", "IN", "--epsilon", "1", "--alphabet", "abc", "--lengths", "1..4", "--out", "model.json"]
RELEASES = {
    "count": [*COUNTS, "--alphabet", "abc", "--bound", "4", "--max-length", "9", "--out", "table.csv"],
    "count, auto, json": [*COUNTS, "--alphabet", "abc", "--out", "table.json", "--json"],
    "count, picture": [*COUNTS, "--alphabet", "abc", "--bound", "2", "--out", "table.parquet", "--plot", "plot.svg"],
    "count, delta": [*COUNTS, "--delta", "1e-6", "--bound", "3", "--out", "table.csv"],
    "learn": [*LEARNING, "--kind", "trips"],
    "learn a log": [*LEARNING, "--kind", "log"],
}
FEW = {"learn a log": ("nobody more", "a word that is too long", "many records")}
"""Where a release takes its time."""
NUMBER = re.compile(r"-?\d[\d,.]*(?:e-?\d+)?%?")


def form(value: Any) -> Any:
    """A JSON document without its numbers, and without the order of its rows."""
    if isinstance(value, dict):
        return {key: form(each) for key, each in value.items()}
    if isinstance(value, list):
        return sorted(json.dumps(form(each), sort_keys=True) for each in value)
    return "a number" if isinstance(value, int | float) and not isinstance(value, bool) else value


def shape(path: Path) -> Any:
    """What a file looks like, but for numbers that come out of the noise."""
    if path.name.endswith(".manifest.json"):
        document = json.loads(path.read_text())
        document["digests"].pop("output")
        document.pop("date")  # a run may be the first of a day
        if document["parameters"].get("bound") == "auto":  # it is chosen from noisy bins
            document["queries"][-1].pop("bound")
            document["queries"][-1].pop("scale")
        return document
    if path.suffix == ".json":
        return without_noise(json.loads(path.read_text()))
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        return table.schema, sorted(zip(*(table[name].to_pylist() for name in ("symbol_1", "symbol_2")), strict=True))
    if path.suffix == ".csv":
        with path.open(newline="") as file:
            rows = list(csv.reader(file))
        return rows[0], sorted(row[:2] for row in rows[1:])
    return sorted(re.findall("<[a-z]+", path.read_text()))


def without_noise(document: dict[str, Any]) -> Any:
    if "notes" in document:  # they tell the bound and the share that it cuts off
        document["notes"] = [NUMBER.sub("#", note) for note in document["notes"]]
    if "transitions" in document:  # chances as text
        document["transitions"] = json.loads(NUMBER.sub("0", json.dumps(document["transitions"])))
    return form(document)


def seen(folder: Path, rows: list[tuple[str, str]], arguments: list[str], capsys, monkeypatch) -> dict[str, Any]:
    (folder / "out").mkdir(parents=True)
    with (folder / "in.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([("trip", "who", "links"), *((number, *row) for number, row in enumerate(rows))])
    monkeypatch.chdir(folder / "out")
    with pytest.raises(SystemExit) as ended:
        main([str(folder / "in.csv") if each == "IN" else each for each in arguments] + READING)
    printed = capsys.readouterr()
    if "--json" in arguments:
        out = without_noise(json.loads(printed.out))
    else:  # rows come in the order of noisy counts, and columns are as wide as numbers are
        plain = re.sub("[─━┄┳┃│╇┡┩└┘┴┏┓ ]+", " ", NUMBER.sub("#", printed.out))
        out = sorted(" ".join(line.split()) for line in plain.splitlines())
    files = {path.name: shape(path) for path in sorted((folder / "out").iterdir())}
    return {"exit": ended.value.code or 0, "out": out, "error": NUMBER.sub("#", printed.err), "files": files}


@pytest.mark.parametrize("name", RELEASES)
def test_only_the_tables_tell_files_apart(name, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(protocol, "new_release_key", lambda: bytes(range(32)))
    found = {
        why: seen(tmp_path / str(number), [*COMMON, *more], RELEASES[name], capsys, monkeypatch)
        for number, (why, more) in enumerate(NEIGHBOURS.items())
        if why in FEW.get(name, NEIGHBOURS)
    }
    plain = found["nobody more"]
    assert plain["exit"] == 0 and len(plain["files"]) >= 2
    for why, each in found.items():
        for part, told in each.items():
            assert told == plain[part], f"{name}: {part} tells of {why}"
