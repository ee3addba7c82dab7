"""`check` on central releases: one value of a manifest, a table or a model changed by hand is found out.

Each change fits the digest of the output to it. What no file decides is listed with its reason, and shown to pass.
"""

from __future__ import annotations

import copy
import hashlib
import json
import math
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import symveil as sv
from symveil.central.counts import GRID
from symveil.errors import SymveilError
from symveil.formats.manifest import manifest_path
from symveil.randomness import NotPrivateSeededBits
from symveil.tasks.count import count_file
from symveil.tasks.learn_privately import learn
from symveil.tasks.synthesize import synthesize
from symveil.tasks.table_files import read_counts

ROADS = [("a", "b", 1), ("b", "c", "1/2"), ("b", "a", "1/2"), ("c", "a", 1)]
COUNTS: dict[str, dict[str, Any]] = {
    "visits.csv": {"statistic": "visits", "alphabet": "abcd", "bound": "normalised"},
    "formulas.csv": {"statistic": "visits", "alphabet": ["a", "b", "c", "=d"], "bound": 2, "spreadsheet_safe": True},
    "visits.json": {"statistic": "visits", "alphabet": "abcd", "neighbours": "replace"},
    "pairs.parquet": {"statistic": "ngrams:2", "model": "roads.json", "bound": 3, "confidence": 0.9},
    "lengths.json": {"statistic": "lengths", "alphabet": "abcd", "max_length": 9, "bound": 1},
    "od.csv": {"statistic": "od", "alphabet": "abcd", "zones": "zones.csv", "bound": 1},
    "rare.csv": {"statistic": "visits", "delta": "0.01", "bound": 2},
    "rare.json": {"statistic": "lengths", "delta": "0.01"},
}
LAWS: dict[str, dict[str, Any]] = {
    "trips.json": {"kind": "trips", "alphabet": "abcd"},
    "log.json": {"kind": "log", "alphabet": "abcd"},
    "roads-law.json": {"kind": "trips", "model": "roads.json", "zones": "zones.csv"},
}
UNDECIDED: dict[tuple[str, ...], str] = {
    ("version",): "any version may have made it",
    ("release_id",): "a name",
    ("date",): "a day",
    ("charged",): "whether a ledger was used",
    ("person",): "the name of a column, or whether there was one",
    ("parameters", "max_length"): "which words were too long shows in lengths only",
    ("parameters", "places"): "a map changes how a law is fitted, not what it consists of",
    ("parameters", "no_repeats"): "a log may have learned the rule; only without the rule the declaration is wrong",
    ("drawn_from", "file"): "words may be given away without their model",
    ("model", "file"): "a name; it is looked for beside the manifest",
    ("output", "spreadsheet_safe"): "only apostrophes",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All releases in one folder: a fit takes its time."""
    folder = tmp_path_factory.mktemp("made")
    words = ["a b c a", "b c", "a b", "c a b", "b a", "a b c a b"] * 50
    source = folder / "in.csv"
    source.write_text("id,links\n" + "".join(f"{number},{word}\n" for number, word in enumerate(words)))
    (folder / "zones.csv").write_text("symbol,zone\na,west\nb,west\nc,east\nd,east\n")
    sv.save_model(sv.MarkovChain.from_transitions(ROADS), folder / "roads.json")

    def in_folder(given: dict[str, Any]) -> dict[str, Any]:
        return {
            name: folder / value if str(value).endswith((".csv", ".json")) else value for name, value in given.items()
        }

    for name, given in COUNTS.items():
        count_file(source, epsilon=1, out=folder / name, **in_folder(given))
    for name, given in LAWS.items():
        learn(source, folder / name, epsilon=1, lengths=(2, 5), **in_folder(given))
    for name in ("trips", "log"):
        synthesize(folder / f"{name}.json", folder / f"{name}.csv", count=30, bits=NotPrivateSeededBits(1))
    return folder


RELEASES = (*COUNTS, *LAWS, "trips.csv", "log.csv")


def holds(manifest: Path) -> bool:
    try:
        return sv.check_manifest(manifest).holds
    except SymveilError:
        return False  # refused in one line


@pytest.mark.parametrize("name", RELEASES)
def test_an_honest_release_holds_and_what_is_not_checked_of_another_is_listed(
    made: Path, tmp_path: Path, name: str
) -> None:
    checked = sv.check_manifest(made / f"{name}.manifest.json")
    assert checked.holds and checked.not_run == (), checked
    names = {each.name for each in checked.checks}
    assert names >= {"cells", "intervals"} if name in COUNTS else {"law"}
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    (tmp_path / name).write_bytes(b"")
    changed_output = sv.check_manifest(tmp_path / f"{name}.manifest.json")
    assert not changed_output.holds and changed_output.not_run  # what reads the output
    assert {each.name for each in changed_output.checks} | {*changed_output.not_run} == names


def others(value: Any) -> Iterator[Any]:
    """Values that could stand in the place of one: of its kind, and not."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (value + 1, value / 2 if isinstance(value, float) else max(value - 1, 0), -value - 1)
    elif isinstance(value, str):
        yield from (value + "x", value.upper() if value.upper() != value else value.lower() + "1", "")
        yield from {"auto": [4, "normalised"], "normalised": ["auto", 2], "trips": ["log"], "log": ["trips"]}.get(
            value, ()
        )
        yield from {"visits": ["first"], "table": ["model"], "csv": ["json"], "1": ["2"]}.get(value, ())
    elif isinstance(value, list):
        yield from (value[:-1], [*value, *value[-1:]]) if value else ([1],)
        if value != value[::-1]:
            yield value[::-1]
    yield from (each for each in (None, 7, "x", [], {}) if each != value)


def changes(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every path of a document with a value to stand there; LEFT_OUT: nothing does."""
    inner = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in inner:
        yield from changes(value, (*path, key))
        yield from (((*path, key), other) for other in others(value))
        if isinstance(document, dict):
            yield (*path, key), LEFT_OUT
    if isinstance(document, dict):
        yield (*path, "unknown"), 1


LEFT_OUT = object()


def changed(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    result = copy.deepcopy(document)
    place = result
    for key in path[:-1]:
        place = place[key]
    if value is LEFT_OUT:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return result


@pytest.mark.parametrize("name", RELEASES)
def test_every_other_value_in_a_manifest_is_found_out(made: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    manifest = tmp_path / f"{name}.manifest.json"
    document = json.loads(manifest.read_text())
    passed: dict[tuple[Any, ...], Any] = {}
    for path, value in changes(document):
        manifest.write_text(json.dumps(changed(document, path, value)))
        if holds(manifest) and not any(path[: len(each)] == each for each in UNDECIDED):
            passed[path] = value
    assert not passed
    if "parameters" in document and "shares" in document["parameters"]:  # shares that add up, at other queries
        told = document["parameters"]["shares"]
        swapped = dict(zip(told, reversed(told.values()), strict=True))
        manifest.write_text(json.dumps(changed(document, ("parameters", "shares"), swapped)))
        assert not holds(manifest)


@pytest.mark.parametrize(("name", "hidden"), [("visits.csv", "passes_unprotected"), ("od.csv", "zones")])
def test_only_a_manifest_of_an_older_version_lists_less(made: Path, tmp_path: Path, name: str, hidden: str) -> None:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    manifest = tmp_path / f"{name}.manifest.json"
    document = json.loads(manifest.read_text())
    del document[hidden]
    manifest.write_text(json.dumps(document))
    fault = next(each for each in sv.check_manifest(manifest).checks if not each.holds)
    assert (fault.name, fault.note) == ("fields", f"the manifest has no {hidden}, which its version lists")
    manifest.write_text(json.dumps({**document, "version": "0.3.0"}))
    assert holds(manifest)


@pytest.mark.parametrize("path", [("release_id",), ("version",), ("date",)])
def test_what_no_file_decides_passes(made: Path, tmp_path: Path, path: tuple[str, ...]) -> None:
    """The list of exceptions is no wish: such values do pass."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    manifest = tmp_path / "visits.csv.manifest.json"
    value = "2020-01-31" if path == ("date",) else "another"
    manifest.write_text(json.dumps(changed(json.loads(manifest.read_text()), path, value)))
    assert holds(manifest)


# --- rows -----------------------------------------------------------------------------------------

Rows = list[dict[str, Any]]


def read_rows(path: Path) -> Rows:
    if path.suffix == ".json":
        return list(json.loads(path.read_text())["rows"])
    table = pa.parquet.read_table(path) if path.suffix == ".parquet" else pa.csv.read_csv(path)
    return list(table.to_pylist())


def write_rows(path: Path, rows: Rows) -> None:
    if path.suffix == ".json":
        path.write_text(json.dumps({**json.loads(path.read_text()), "rows": rows, "cells": len(rows)}))
    else:
        table = pa.Table.from_pylist(rows)
        pa.parquet.write_table(table, path) if path.suffix == ".parquet" else pa.csv.write_csv(table, path)
    fit_digest(path)


def fit_digest(path: Path) -> None:
    manifest = path.with_name(f"{path.name}.manifest.json")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    document = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(changed(document, ("digests", "output"), digest)))


def renamed(row: dict[str, Any]) -> dict[str, Any]:
    if row.get("symbols"):
        return {**row, "symbols": ["elsewhere"]}
    return {**row, "length": 77} if "length" in row else {**row, next(iter(row)): "elsewhere"}


def replaced(rows: Rows, at: int, **values: float) -> Rows:
    return [{**row, **values} if number == at else row for number, row in enumerate(rows)]


FORGERIES: dict[str, Callable[[Rows], Rows]] = {
    "a row outside the alphabet": lambda rows: [renamed(rows[0]), *rows[1:]],
    "a row more": lambda rows: [*rows, renamed(rows[-1])],
    "a row missing": lambda rows: rows[:-1],
    "the first row missing": lambda rows: rows[1:],
    "a row twice": lambda rows: [*rows, rows[-1]],
    "zero-width intervals": lambda rows: [
        {**row, **{name: max(row["count"], 0.0) for name in row if name.startswith(("low", "high"))}} for row in rows
    ],
    "another count": lambda rows: replaced(rows, 0, count=rows[0]["count"] + 1),
    "a count off the grid": lambda rows: replaced(rows, 0, count=rows[0]["count"] + 2.0**-40),
    "a count that is none": lambda rows: replaced(rows, 0, count=math.inf),
    "another order": lambda rows: [rows[1], rows[0], *rows[2:]],
    "a column more": lambda rows: [{**row, "true": 5.0} for row in rows],
    **{
        f"another {name}": lambda rows, name=name: replaced(rows, 0, **{name: rows[0][name] + 2.0**-20})  # type: ignore[misc]
        for name in ("low", "high", "low_all", "high_all")
    },
    "another consistent": lambda rows: replaced(rows, 0, consistent=rows[0]["consistent"] + 1),
    **{
        f"no {name}": lambda rows, name=name: [{key: row[key] for key in row if key != name} for row in rows]  # type: ignore[misc]
        for name in ("count", "low", "high", "low_all", "high_all", "consistent")
    },
}


@pytest.mark.parametrize("name", COUNTS)
def test_every_forged_row_is_found_out(made: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    manifest, path = tmp_path / f"{name}.manifest.json", tmp_path / name
    before, rows = path.read_bytes(), read_rows(path)
    write_rows(path, rows)
    assert holds(manifest), "the same rows, written by another hand"
    shown_only = "delta" in COUNTS[name]
    for forgery, forge in FORGERIES.items():
        path.write_bytes(before)
        if shown_only and (forgery.endswith("missing") or forgery in ("a row outside the alphabet", "a row more")):
            continue  # without a public alphabet no file decides which rows there are
        if shown_only and forgery.endswith("_all"):
            continue  # there are none
        if name == "rare.json" and forgery == "another order" and len(rows) < 2:
            continue
        write_rows(path, forge(rows))
        assert not holds(manifest), forgery


def test_a_row_below_the_threshold_is_found_out(made: Path, tmp_path: Path) -> None:
    """A whole row moved down, with its intervals: one step below what is shown, and at it."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "rare.csv"
    table = read_counts(path)
    least = table.queries[-1].threshold
    half = table.queries[-1].half_width(table.confidence)
    for steps, good in ((least, True), (least - 1, False)):
        count = steps / GRID
        row = {**read_rows(path)[0], "count": count, "low": (steps - half) / GRID, "high": (steps + half) / GRID}
        write_rows(path, [{**row, "consistent": count}])
        assert holds(tmp_path / "rare.csv.manifest.json") is good


@pytest.mark.parametrize("name", [name for name in COUNTS if name.endswith(".json")])
def test_every_other_value_beside_the_rows_is_found_out(made: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    path = tmp_path / name
    document = json.loads(path.read_text())
    passed = {}
    for place, value in changes({key: document[key] for key in document if key not in ("rows", "notes")}):
        path.write_text(json.dumps(changed(document, place, value)))
        fit_digest(path)
        if holds(tmp_path / f"{name}.manifest.json") and place != ("clipped_share",):
            passed[place] = value
    assert not passed  # a clipped share is a private estimate: no file decides it, but it is a share


def test_large_counts_are_rounded_and_hold(tmp_path: Path) -> None:
    """Beyond 2²¹ a count is written in fewer places than the grid has: intervals follow within their rounding."""
    source = tmp_path / "in.csv"
    source.write_text("id,links\n" + "".join(f"{number},{'a ' * 3000}b\n" for number in range(1200)))
    release = count_file(
        source, "visits", epsilon=1, alphabet="ab", bound=4000, out=tmp_path / "out.csv", confidence=0.5
    )
    assert release.counts is not None and release.counts.numbers["count"][0] > 1 << 21
    assert holds(release.manifest_file)
    rows = read_rows(release.out)
    write_rows(release.out, replaced(rows, 0, high=rows[0]["high"] + 1e-6))
    assert not holds(release.manifest_file)


# --- laws -----------------------------------------------------------------------------------------

_DRAWN_ONLY = {"at_most_once": "a log's rules are learned", "parameters": "fitted, but the chain has to fit to them"}


@pytest.mark.parametrize("name", LAWS)
def test_every_other_value_in_a_model_is_found_out(made: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    path, manifest = tmp_path / name, tmp_path / f"{name}.manifest.json"
    document = json.loads(path.read_text())
    passed = []
    for key, value in document["law"].items():
        if key in _DRAWN_ONLY and not (key == "at_most_once" and name != "log.json"):
            continue
        for other in others(value):
            path.write_text(json.dumps(changed(document, ("law", key), other)))
            fit_digest(path)
            if holds(manifest) and (key, other) != ("quality", None):  # 0.3 did not write it
                passed.append((key, other))
    for place, value in (
        (("law", "parameters", "moves", 1), 1.5),
        (("law", "parameters", "starts", 0), 3.0),
        (("law", "quality", "tables", 0, "noise"), 0.01),
        (("law", "quality", "tables", 0, "cells"), 1),
        (("law", "quality", "tables"), document["law"]["quality"]["tables"][1:]),
        (("transitions",), document["transitions"][1:]),
        (("transitions", 0, 2), "1/7"),
    ):
        path.write_text(json.dumps(changed(document, place, value)))
        fit_digest(path)
        if holds(manifest):
            passed.append((place, value))
    assert not passed


def test_words_are_held_against_the_model_that_they_were_drawn_from(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    manifest = tmp_path / "trips.csv.manifest.json"
    shutil.copy(tmp_path / "log.json", tmp_path / "trips.json")
    assert not holds(manifest)
    (tmp_path / "trips.json").unlink()
    (law,) = (each for each in sv.check_manifest(manifest).checks if each.name == "law")
    assert law.holds and "is not there" in law.note


@pytest.mark.parametrize("person", [None, "who"])
def test_the_check_says_whether_records_or_persons_were_counted(tmp_path: Path, person: str | None) -> None:
    """Without a column of persons each row counts as one: the recipient must not read the loss of a row as theirs."""
    source = tmp_path / "in.csv"
    source.write_text("id,who,links\n" + "".join(f"{number},p{number // 2},a b\n" for number in range(40)))
    settings = {"epsilon": 1, "alphabet": "ab", "sequence": "links", "person": person}
    counted = count_file(source, "visits", out=tmp_path / "t.json", **settings)
    learned = sv.learn(source, tmp_path / "m.json", lengths=(1, 3), **settings)
    drawn = sv.synthesize(learned.out, tmp_path / "drawn.csv", count=3)
    each = "record" if person is None else "person"
    assert counted.counts is not None and f"epsilon 1 per {each}" in counted.counts.kind
    assert read_counts(counted.out).kind == counted.counts.kind
    assert f"loss per {each}" in learned.report().facts("Learned privately")
    assert any("a person with k of them" in note for note in learned.report().notes) is (person is None)
    for out in (counted.out, learned.out, drawn.out):
        manifest = manifest_path(out)
        document = json.loads(manifest.read_text())
        assert (document["person"], document["unit"]) == (person, "person")
        checked = sv.check_manifest(manifest)
        (said,) = [check.note for check in checked.checks if check.name == "guarantee"]
        assert checked.holds and said.startswith(f"at most 1.0 for each {each}")
        assert ("a person with k of them loses k times epsilon" in said) is (person is None)
        del document["person"]  # as older versions wrote it
        manifest.write_text(json.dumps(document))
        older = [check.note for check in sv.check_manifest(manifest).checks if check.name == "guarantee"]
        assert older == ["at most 1.0 for each person, computed again"]
