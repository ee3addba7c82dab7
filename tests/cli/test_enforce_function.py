"""`symveil enforce` with functions and supervisors: answers, files, one line for bad input."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from symveil.enforcement.edit_game import EditGame

from .test_opacity_command import here

__all__ = ["here"]  # a fixture

EXAMPLES = Path(__file__).parents[2] / "examples"
MEDICAL = str(EXAMPLES / "medical.json")


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text("run_id,seen\n1,a b e a\n2,a d e a\n3,a c e a\n")


@pytest.fixture
def enforce(here):
    return lambda *arguments: here("enforce", MEDICAL, "--k", "2", *arguments)


def test_function_as_json_picture_and_log(enforce):
    done = enforce(
        *("--policy", "edit", "--erasable", "d", "--function", "f.json", "--draw", "f.svg", "--json"),
        *("--log", "log.csv", "--out", "shown.csv", "--id", "run_id"),
    )
    assert done.status == 0
    document = done.document
    assert document["enforceable"] is True
    assert document["holds"] and document["holds_informed"]
    assert (document["violation_before"], document["violation_after"]) == ("1/3", "0")
    assert json.loads(Path("f.json").read_text()) == document["function"]
    assert Path("f.svg").read_text().startswith("<svg")
    shown = list(csv.DictReader(io.StringIO(Path("shown.csv").read_text())))
    assert [row["run_id"] for row in shown] == ["1", "2", "3"]
    assert (shown[0]["seen"], shown[2]["seen"]) == ("a b e a", "a c e a")
    assert shown[1]["seen"] in {"a b e a", "a c e a"}
    machine = {(state, event): (answer, after) for state, event, answer, after in document["function"]["answers"]}
    state, by_hand = 0, []
    for event in "adea":
        answer, state = machine[state, event]
        by_hand += answer
    assert " ".join(by_hand) == shown[1]["seen"]


def test_what_cannot_be_is_proved_and_nothing_is_written(enforce):
    done = enforce("--policy", "insertion", "--function", "f.json", "--log", "log.csv", "--out", "shown.csv", "--json")
    assert done.status == 1
    assert done.document["enforceable"] is False
    assert done.document["refutation"] == [["a", "d"]]
    assert not Path("f.json").exists() and not Path("shown.csv").exists()
    assert "whatever is shown for a d" in enforce("--policy", "insertion").out


def test_supervisor_and_its_refutation(enforce):
    done = enforce("--policy", "supervisor", "--controllable", "d", "--json")
    assert done.status == 0
    assert done.document["supervisor"]["disabled"] == [[1, "d"]]
    done = enforce("--policy", "supervisor", "--controllable", "b")
    assert done.status == 1
    assert "no disabling of such events prevents a d" in done.out


def test_costs(enforce):
    done = enforce("--policy", "edit", "--erasable", "d", "--erase-cost", "d=3", "--insert-cost", "b=1/2", "--json")
    assert done.document["cost_in_total"] == "7/2"
    assert done.document["cost_per_event"] == "0"
    done = enforce("--policy", "edit", "--erasable", "d", "--erase-cost", "d=3", "--insert-cost", "b=1/2")
    assert "in total at most 7/2" in done.out


def test_an_observer_who_knows_is_warned_of(here, monkeypatch):
    rows = ["0 b secret", "0 a 1", "1 b 2", "2 d too", "2 e 3", "3 d 4", "0 c 5", "5 a 6", "6 b 7", "7 d 8", "7 e 9"]
    model = {"format": "symveil/1", "kind": "stochastic-system", "initial": "0", "observable": list("abcde"),
             "secret": ["secret", "too"], "transitions": [row.split() for row in [*rows, "9 d 8"]]}  # fmt: skip
    Path("model.json").write_text(json.dumps(model))
    asked = ("enforce", "model.json", "--policy", "insertion", "--insert-cost", "e=5")
    done = here(*asked, "--against", "unaware")
    assert done.status == 0
    assert "holds for an observer who does not know the function" in done.out
    assert "an observer who knows the function can be sure of a secret after a" in done.err
    done = here(*asked, "--against", "informed")
    assert done.status == 0 and "also if the observer knows" in done.out and done.err == ""
    # where the construction finds nothing, nothing is claimed and nothing is written
    monkeypatch.setattr(EditGame, "informed", lambda _: None)
    done = here(*asked, "--against", "informed", "--function", "f.json")
    assert done.status == 1 and "not found for an observer who knows" in done.out
    assert not Path("f.json").exists()
    assert here(*asked, "--against", "informed", "--json").document["enforceable"] is None
    assert here(*asked).status == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--policy", "insertion", "--epsilon", "1"), "epsilon: expected none with the policy insertion, found 1"),
        (("--policy", "edit", "--length", "3"), "length: expected none with the policy edit, found 3"),
        (("--policy", "edit", "--adjacency", "2"), "adjacency: expected none with the policy edit, found 2"),
        (("--epsilon", "1", "--erasable", "a"), "erasable: expected none with the policy private, found some"),
        (("--epsilon", "1", "--notion", "strong"), "notion: expected none with the policy private, found some"),
        (("--policy", "insertion", "--insert-cost", "a"), "insert-cost: expected EVENT=COST, found 'a'"),
        (("--policy", "insertion", "--insert-cost", "a=x"), "insert-cost: expected EVENT=COST with a number"),
        (("--policy", "insertion", "--erase-cost", "a=1"), "erase-cost: expected none with the policy insertion"),
        (("--policy", "supervisor"), "controllable: expected the events that can be disabled, found none"),
        (("--policy", "supervisor", "--log", "log.csv", "--out", "o.csv"), "log: expected a policy that replaces"),
        (("--policy", "edit", "--function", "f.txt"), "function: expected"),
        (("--policy", "edit", "--against", "all"), "against: expected one of informed, unaware, found 'all'"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(enforce, options, message):
    done = enforce(*options)
    assert done.status == 2
    assert done.err.startswith(f"symveil: error: {message}") and done.err.count("\n") == 1
