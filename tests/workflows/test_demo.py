"""The demo: private files that check, and a page that asks nobody for anything."""

from __future__ import annotations

import csv
import itertools
import re

import pytest

from symveil.drawing.curves import PALETTE
from symveil.examples.road_network import town_trips
from symveil.io.models.model_files import load_model
from symveil.workflows.demo import EPSILONS, Demo, run_demo, trip_map

pytestmark = pytest.mark.xdist_group("demo")  # run once


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Demo:
    return run_demo(tmp_path_factory.mktemp("demo") / "out")


def test_every_released_trip_is_one_that_the_network_allows(demo):
    chain = load_model(demo.report.parent / "roads.json")
    allowed = {(source, target) for source, target, _ in chain.transitions}
    originals = town_trips()
    assert demo.trips == len(originals) == 280 and demo.streets == 43
    for row in demo.rows:
        with row.release.out.open(encoding="utf-8", newline="") as file:
            released = {line["trip_id"]: line["streets"].split() for line in csv.DictReader(file)}
        assert list(released) == list(originals)
        for name, trip in released.items():
            assert len(trip) == len(originals[name])
            assert all(move in allowed for move in itertools.pairwise(trip))
        assert row.checked and row.loss <= row.epsilon and row.how == "certified"
    errors = [row.expected_error for row in demo.rows]
    assert errors == sorted(errors, reverse=True)


def test_the_report_is_self_contained(demo):
    report = demo.report.read_text(encoding="utf-8")
    # names of XML namespaces are not requests
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!#)|url\((?!["']?#)|@import""", report)
    assert all(f"ε = {epsilon}" in report for epsilon in EPSILONS)
    assert report.count("<title>a trip over ") == 16 and "<figure" in report


def test_the_document_says_where_everything_is(demo):
    document = demo.document()
    assert document["trips"] == 280
    assert [release["epsilon"] for release in document["releases"]] == list(EPSILONS)
    assert not [path for path in demo.report.parent.iterdir() if path.name.startswith(".")]


def test_a_map_marks_what_was_changed():
    original = town_trips()["trip-000"]
    changed = PALETTE[1]
    assert changed not in trip_map(original, original)
    other = town_trips()["trip-007"]
    places = [street for street, true in zip(other, original, strict=True) if street != true]
    picture = trip_map(other, original)
    assert picture.count(changed) == picture.count("stroke-dasharray") == len(set(places)) > 0
    assert f"{len(places)} of them changed" in picture
