"""What is given up beyond the adjacency, and where protection is thin, is said wherever a mechanism is used."""

from __future__ import annotations

from pathlib import Path

import pytest

import symveil as sv
from cli.running import symveil
from symveil.errors import ParameterError
from symveil.formats.cost_files import read_costs
from symveil.studio.panels.words import MapPanel, ReleasePanel
from symveil.tasks.doubts import doubts, given_up_notes
from symveil.tasks.explain import average_over_model, explain_word

CERTAIN = "some can be distinguished with certainty"
COSTS = "symbol,symbol,cost\na,b,1\nb,c,2\nc,d,1\na,c,2\nb,d,1\na,d,2\n"
ROWS = [("a", "b", "1/2"), ("a", "c", "1/2"), ("b", "d", 1), ("c", "d", 1), ("d", "a", 1)]
ROADS = sv.MarkovChain.from_transitions(ROWS)  # only b and c can be swapped


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory):
    file = tmp_path_factory.mktemp("costs") / "costs.csv"
    file.write_text(COSTS)
    return read_costs(file)


@pytest.mark.parametrize(
    ("options", "said", "certain"),
    [
        ({}, None, False),
        ({"cost": "swap", "cap": 3}, "up to 3 times as much as by Hamming distance", False),
        ({"cost": "swap"}, "up to 15 times as much as by Hamming distance", False),
        ({"cost": "swap", "cap": "none"}, CERTAIN, True),
        ({"cost": "given"}, "a symbol counts what it costs, up to 2", False),
    ],
    ids=["hamming", "a cap", "the default cap", "no cap", "given"],
)
def test_what_is_given_up_is_said(tmp_path: Path, costs, options, said: str | None, certain: bool) -> None:
    given = {"costs": costs} if options.get("cost") == "given" else {}
    mechanism = sv.Exponential(sv.runs(ROADS, 4), epsilon=2, adjacency=1, **options, **given)
    notes = given_up_notes(mechanism)
    assert (notes == []) == (said is None) and (said is None or said in notes[0])
    explanation, averages = explain_word("abda", mechanism, bounded=False), average_over_model(mechanism)
    for document in (explanation.document(), averages.document()):
        assert document["given_up"] == mechanism.remarks.given_up
        assert ("expected_cost" in document) == bool(given)  # both units, where there are two
    warnings = doubts(mechanism, explanation.protection)
    assert warnings[-1].startswith("protection is thin: on average 1.45 feasible words")  # whatever the costs are
    assert warnings[:-1] == (notes if certain else [])
    # every feasible word keeps a positive probability, unless somebody asked for no cap
    words = sv.runs(ROADS, 4).enumerate_codes(at_most=100)
    possible = [(mechanism.log_probabilities(word, words) > float("-inf")).all() for word in words]
    assert all(possible) != certain
    (tmp_path / "trips.csv").write_text("id,trip\n1,a b d a\n2,a c d a\n")
    choice = sv.MechanismChoice(epsilon=2, mechanism="exponential", adjacency=1, **options, **given)
    release = sv.privatize_file(tmp_path / "trips.csv", tmp_path / "private.csv", model=ROADS, choice=choice, thin=True)
    assert [note for note in release.notes if note.startswith("given up")] == notes


def test_no_cap_is_warned_of_on_the_command_line(tmp_path: Path) -> None:
    sv.save_model(ROADS, tmp_path / "roads.json")
    own = ("--model", str(tmp_path / "roads.json"), "--epsilon", "2", "--adjacency", "1", "--mechanism", "exponential")
    own += ("--cost", "swap", "--cap", "none", "--calibration", "classic")
    for done in (symveil("explain", "--length", "3", *own), symveil("release", "abd", *own, "--thin")):
        assert done.err.count("given up") == 1
        assert f"warning: given up: words that differ in more than one symbol: {CERTAIN}" in done.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"cost": "swap"}, "up to 30 times as much as by Hamming distance"),
        ({"cost": "swap", "cap": "none"}, f"Given up: words that differ in more than one symbol: {CERTAIN}"),
        ({"cost": "given", "cap": "2"}, "a symbol counts what it costs, up to 2"),
    ],
)
def test_the_studio_says_it_of_costs_that_are_asked_for(tmp_path: Path, options: dict[str, str], said: str) -> None:
    sv.save_model(ROADS, tmp_path / "roads.json")
    (tmp_path / "costs.csv").write_text(COSTS)
    about = {"source": "file", "model": str(tmp_path / "roads.json"), "trip": "abda", "mechanism": "exponential"}
    about |= {"adjacency": "1", "costs": str(tmp_path / "costs.csv"), "epsilon": "1"}
    answer = ReleasePanel.task({**ReleasePanel.defaults, **about, **options}, lambda *_: None)
    assert said in answer.html() and answer.document["explain"]["parameters"]["cost"] == options["cost"]
    with pytest.raises(ParameterError) as refused:
        ReleasePanel.task({**ReleasePanel.defaults, **about, "cost": "given", "costs": ""}, lambda *_: None)
    assert refused.value.name == "costs"
    free = {**ReleasePanel.defaults, "cost": "swap"}  # what is hidden on the page is not asked for
    assert "cost" not in ReleasePanel.task(free, lambda *_: None).document["explain"]["parameters"]


def test_the_studio_says_it_too(tmp_path: Path) -> None:
    sv.save_model(ROADS, tmp_path / "roads.json")
    (tmp_path / "places.csv").write_text("state,x,y\na,0,0\nb,1,0\nc,0,1\nd,1,1\n")
    about = {"source": "file", "model": str(tmp_path / "roads.json"), "trip": "abda", "separator": "", "adjacency": "1"}
    for panel, own in ((ReleasePanel, {}), (MapPanel, {"coordinates": str(tmp_path / "places.csv")})):
        answer = panel.task({**panel.defaults, **about, **own, "epsilon": "1"}, lambda *_: None)
        assert "Protection is thin: on average" in answer.html()
        assert "times as much as by Hamming distance" not in answer.html()  # auto keeps the loss in proportion
