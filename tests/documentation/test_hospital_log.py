"""The data of tutorials is synthetic: it is what its scripts make, small, and along public pathways and roads."""

from __future__ import annotations

import re
import runpy
from itertools import pairwise
from pathlib import Path

import symveil as sv

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_it_is_what_its_script_makes() -> None:
    made = runpy.run_path(str(EXAMPLES / "make_hospital_log.py"))["log"]()
    assert made == (EXAMPLES / "hospital.xes").read_text(encoding="utf-8")
    assert len(made.encode()) < 50_000


def test_so_is_the_log_with_many_visits() -> None:
    made = runpy.run_path(str(EXAMPLES / "make_hospital_log.py"))["many_visits"]()
    assert made == (EXAMPLES / "hospital_visits.csv").read_text(encoding="utf-8")
    pathway = sv.load_model(EXAMPLES / "visits.json")
    words = [tuple(word) for word in sv.read_sequences(EXAMPLES / "hospital_visits.csv", sequence="steps")]
    assert len(words) == 3000
    for word in set(words):
        sv.runs(pathway, len(word)).encode(word)


def test_every_visit_is_one_of_the_pathway() -> None:
    pathway = sv.load_model(EXAMPLES / "visits.json")
    traces = (EXAMPLES / "hospital.xes").read_text(encoding="utf-8").split("<trace>")[1:]
    for trace in traces:
        steps = re.findall(r'<event><string key="concept:name" value="([^"]+)"', trace)
        sv.runs(pathway, len(steps)).encode(tuple(steps))  # refuses a visit that the pathway does not have
    assert len(traces) == 40


def test_trips_are_what_their_script_makes_and_can_be_driven() -> None:
    made = runpy.run_path(str(EXAMPLES / "make_city_trips.py"))["trips"]()
    assert made == (EXAMPLES / "city_trips.csv").read_text(encoding="utf-8") and len(made.encode()) < 100_000
    turns = {(one, other) for one, other, _ in sv.load_model(EXAMPLES / "roads.json").transitions}
    trips = list(sv.read_sequences(EXAMPLES / "city_trips.csv", sequence="streets", separator="|"))
    assert len(trips) == 2000 and {pair for trip in trips for pair in pairwise(trip)} <= turns
