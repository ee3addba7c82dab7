"""The log of the tutorial is synthetic: it is what its script makes, small, and along the public pathway."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import symveil as sv

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_it_is_what_its_script_makes() -> None:
    made = runpy.run_path(str(EXAMPLES / "make_hospital_log.py"))["log"]()
    assert made == (EXAMPLES / "hospital.xes").read_text(encoding="utf-8")
    assert len(made.encode()) < 50_000


def test_every_visit_is_one_of_the_pathway() -> None:
    pathway = sv.load_model(EXAMPLES / "visits.json")
    traces = (EXAMPLES / "hospital.xes").read_text(encoding="utf-8").split("<trace>")[1:]
    for trace in traces:
        steps = re.findall(r'<event><string key="concept:name" value="([^"]+)"', trace)
        sv.runs(pathway, len(steps)).encode(tuple(steps))  # refuses a visit that the pathway does not have
    assert len(traces) == 40
