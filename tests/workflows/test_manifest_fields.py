"""What a manifest says, field by field: its schema, what passes unprotected, and the day of the release."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path

import jsonschema
import pytest

from symveil.engines.local import LocalJob
from symveil.io.json_schema import first_fault, shipped_schema
from symveil.ledger import charging, lifecycle
from symveil.workflows.budgets import grant_budget
from symveil.workflows.check import check_manifest
from symveil.workflows.count import count_file
from symveil.workflows.privatize_file import privatize_file

ROOT = Path(__file__).parents[2]


@pytest.fixture
def trips(tmp_path: Path) -> Path:
    file = tmp_path / "trips.csv"
    file.write_text("id,rider,town,s\n1,ann,X,a b\n2,bob,Y,b b\n3,ann,X,a a\n")
    return file


def released(trips: Path, **options: object):
    named = {"alphabet": "ab", "epsilon": 2, "sequence": "s", **options}
    return privatize_file(trips, trips.with_name("o.csv"), **named)


def rows(manifest: Path) -> dict[str, tuple[bool, str]]:
    return {each.name: (each.holds, each.note) for each in check_manifest(manifest).checks}


def test_the_fields(trips):
    release = released(trips, keep=["town"], person="rider")
    said = release.manifest
    assert (said["kept"], said["person"], said["unit"], said["record"]) == (
        ["town"],
        "rider",
        "adjacency 1, hamming",
        "row",
    )
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", said["date"])
    assert said["expected_error"] == {"length": 2, "symbols": 0.238406, "standard_error": 0.0, "words": "uniform"}
    checked = rows(release.manifest_file)
    assert all(holds for holds, _ in checked.values())
    note = "id, town, how many sequences there are, and the length of each"
    assert checked["passes unprotected"] == (True, note)
    assert checked["fields"] == (True, "as manifest.schema.json says")
    assert checked["expected error"][1] == "0.2384 of 2 symbols on average, computed again"
    edits = released(trips, metric="levenshtein", epsilon=9, again=True).manifest
    assert edits["expected_error"] is None and edits["kept"] == [] and edits["person"] is None


@pytest.mark.parametrize(
    ("change", "check"),
    [
        ({"kept": []}, "passes unprotected"),
        ({"date": "yesterday"}, "fields"),
        ({"kept": "town"}, "fields"),
        ({"expected_error": {"length": 2, "symbols": 0.01, "standard_error": 0, "words": "uniform"}}, "expected error"),
        ({"expected_error": {"length": 2}}, "fields"),
    ],
)
def test_what_is_not_so_does_not_check(trips, change, check):
    release = released(trips, keep=["town"])
    release.manifest_file.write_text(json.dumps({**release.manifest, **change}))
    try:
        assert not rows(release.manifest_file)[check][0]
    except ValueError as refused:  # of a field that is needed for another check
        assert "expected a manifest as symveil writes it" in str(refused)


def test_manifests_without_the_new_fields_still_check(trips):
    release = released(trips, keep=["town"])
    new = ("date", "kept", "person", "unit", "record", "expected_error")
    release.manifest_file.write_text(json.dumps({k: v for k, v in release.manifest.items() if k not in new}))
    checked = rows(release.manifest_file)
    assert all(holds for holds, _ in checked.values())
    assert "this older manifest does not list" in checked["passes unprotected"][1]


def test_the_day_is_that_of_the_charge(trips, monkeypatch):
    ledger = trips.with_name("l.db")
    grant_budget(ledger, 9, everyone=True)
    with monkeypatch.context() as killed:
        killed.setattr(charging, "now", lambda: "2020-02-29T23:59:59.000000+00:00")
        killed.setattr(LocalJob, "write", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            released(trips, ledger=ledger)
    assert released(trips, ledger=ledger).manifest["date"] == "2020-02-29"
    assert lifecycle.now()[:10] != "2020-02-29"


def test_a_central_manifest_has_a_day_and_no_numbers_of_persons(trips):
    counted = count_file(
        trips, "visits", out=trips.with_name("c.csv"), epsilon=1, alphabet="ab", sequence="s", person="rider"
    )
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", counted.manifest["date"])
    assert not {"persons", "largest_charge", "kept", "expected_error", "counts"} & set(counted.manifest)
    assert rows(counted.manifest_file)["fields"] == (True, "as central.schema.json says")


# --- the schemas -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["manifest", "central"])
def test_the_schema_that_is_shipped_is_the_one_that_is_shown(name):
    assert json.loads((ROOT / "docs" / f"{name}.schema.json").read_text()) == shipped_schema(name)
    jsonschema.Draft202012Validator.check_schema(shipped_schema(name))


@pytest.mark.parametrize("name", ["manifest", "central"])
def test_the_page_has_every_field(name):
    page = (ROOT / "docs" / "manifest.md").read_text(encoding="utf-8")
    (section,) = (part for part in page.split("## Of a ") if f"[{name}.schema.json]" in part)
    listed = set(re.findall(r"^\| `(\w+)`", section, flags=re.MULTILINE))
    assert listed == set(shipped_schema(name)["properties"])


def _mutations(document: object, path: tuple = ()):
    """The document with one value exchanged or left out, everywhere."""
    inner = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in inner:
        yield from _mutations(value, (*path, key))
        for other in (None, -1, 0.5, "x", [], {}, True):
            yield (*path, key), other
    if isinstance(document, dict):
        yield (*path, "unknown"), 1
        for key in document:
            yield (*path, key), _mutations  # left out


@pytest.mark.parametrize("name", ["manifest", "central"])
def test_our_reader_of_schemas_agrees_with_the_library(trips, name):
    if name == "manifest":
        document = released(trips, keep=["town"]).manifest
    else:
        document = count_file(
            trips, "visits", out=trips.with_name("c.csv"), epsilon=1, alphabet="ab", sequence="s"
        ).manifest
    schema = shipped_schema(name)
    library = jsonschema.Draft202012Validator(schema)
    assert first_fault(document, schema) is None
    verdicts = set()
    for path, value in _mutations(document):
        changed = copy.deepcopy(document)
        place = changed
        for key in path[:-1]:
            place = place[key]
        if value is _mutations:
            del place[path[-1]]
        else:
            place[path[-1]] = value
        ours = first_fault(changed, schema) is None
        assert ours == library.is_valid(changed), path
        verdicts.add(ours)
    assert verdicts == {True, False}


def test_a_schema_with_an_unknown_rule_is_not_passed_over():
    with pytest.raises(ValueError, match="the keyword oneOf"):
        first_fault({}, {"oneOf": []})
