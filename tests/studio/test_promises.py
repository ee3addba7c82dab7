"""What the panels promise and what they do not: b is chosen, losses and attackers are shown, and a secret is needed."""

from __future__ import annotations

from pathlib import Path

import pytest

import symveil as sv
from symveil.errors import ParameterError
from symveil.examples.paper_systems import TRIP
from symveil.reports.page import section_html
from symveil.studio.answer import Answer
from symveil.studio.panel import Panel
from symveil.studio.panels.systems import OpacityPanel
from symveil.studio.panels.words import ComparePanel, MapPanel, ReleasePanel
from symveil.tasks import opacity as opacity_workflow

from .test_tasks import averages_of, chain_file, opacity, task_of

PLANT = Path(__file__).parents[2] / "examples" / "plant.fsm"


def test_nothing_is_proved_without_a_secret() -> None:
    """A file that cannot name secrets: nothing green, and no verdict."""
    answer = opacity(model=str(PLANT))
    verdict = answer.sections[0]
    assert "No state is secret" in section_html(verdict) and "nothing is proved" in section_html(verdict)
    assert "badge" not in section_html(verdict) and "No secret is given away" not in answer.html()
    assert "idle, busy, down" in section_html(verdict) and "start, done" in section_html(verdict)
    assert dict(answer.marks)["holds"] == "no secret" and len(answer.sections) == 2


def plant(states: str, **values: str) -> Answer:
    return opacity(**{"model": str(PLANT), "secret": states, **values})


def test_secrets_and_events_of_the_form() -> None:
    hidden = plant("down")
    assert "No secret is given away" in section_html(hidden.sections[0]) and dict(hidden.marks)["holds"] == "True"
    seen = plant("down", observable="start, done, break")
    assert "is violated" in section_html(seen.sections[0]) and ">break</button>" in seen.html()
    report = opacity_workflow.judge_opacity(opacity_workflow.load_system(PLANT, secret=["down"]), "1", notion="weak")
    assert hidden.document["opacity"] == report.document()
    busy = plant("busy", k="0")
    (supervised,) = (each for each in busy.sections if each.heading.startswith("A supervisor"))
    assert "nothing yet" in section_html(supervised) and "start" in section_html(
        supervised
    )  # the file calls start controllable
    none = plant("busy", controllable="done", k="0")
    (refuted,) = (each for each in none.sections if each.heading.startswith("A supervisor"))
    assert "None can" in section_html(refuted)


@pytest.mark.parametrize("name", ["secret", "observable", "controllable"])
def test_a_name_that_the_system_does_not_have_is_refused_in_its_field(name: str) -> None:
    with pytest.raises(ParameterError, match=f"{name}: expected (states|events) of the system.*found 'nobody'"):
        opacity(model=str(PLANT), **{name: "nobody"})
    assert name in OpacityPanel.defaults and name not in OpacityPanel.public


@pytest.mark.parametrize("kind", [ReleasePanel, ComparePanel, MapPanel], ids=lambda each: each.name)
def test_on_a_model_of_ones_own_b_is_a_decision(kind: type[Panel], tmp_path: Path) -> None:
    """Before it is taken nothing is released: what each b hides is shown, by the public model."""
    (tmp_path / "roads.csv").write_text("state,x,y\na,0,0\nb,1,0\n")
    values = {**kind.defaults, "source": "file", "model": chain_file(tmp_path), "trip": "abaa", "separator": ""}
    values |= {"coordinates": str(tmp_path / "roads.csv")} if kind is MapPanel else {}
    asked = task_of(kind)(values, lambda *_: None)
    assert "b is a decision" in asked.html() and not asked.document and not asked.rows
    table = sv.adjacency_table(sv.runs(sv.load_model(values["model"]), 4))
    for row in table.rows:
        assert f"<td>{100 * row.positions_with_alternatives:.0f} %</td><td>{row.alternatives:.3g}</td>" in asked.html()
    answer = task_of(kind)({**values, "adjacency": "2"}, lambda *_: None)
    assert answer.document
    for wrong in ("0", "11", "1.5", "-1", "99999999999"):
        with pytest.raises(ParameterError, match="adjacency: expected a whole number from 1 to 10"):
            task_of(kind)({**values, "adjacency": wrong}, lambda *_: None)


def released_on_roads(**values: str) -> Answer:
    small = {"source": "network", "trip": " ".join(TRIP[:4]), "epsilon": "3", "adjacency": "1"}
    answer = task_of(ReleasePanel)({**ReleasePanel.defaults, **small, **values}, lambda *_: None)
    assert isinstance(answer, Answer)
    return answer


def test_what_is_kept_beyond_b_is_chosen_and_shown() -> None:
    kept, given_up = (released_on_roads(beyond=beyond).document["explain"] for beyond in ("graceful", "nothing"))
    most = [[row["epsilon"] for row in each["guarantee"]["loss_at"]] for each in (kept, given_up)]
    assert all(loss <= 3 * d + 1e-9 for d, loss in enumerate(most[0], start=1)) and most[1][-1] > most[0][-1] + 1
    for beyond in ("graceful", "nothing"):
        answer = released_on_roads(beyond=beyond)
        assert "ε by distance: sequences that differ in 1 symbol lose at most " in answer.html()
        assert "; in all 4 symbols " in answer.html()
    with pytest.raises(ParameterError, match="beyond"):
        released_on_roads(beyond="everything")
    # where the mechanism or the cost is named there is nothing to choose: its loss says what it keeps
    assert released_on_roads(mechanism="online", beyond="graceful").document
    assert released_on_roads(cost="swap", beyond="graceful").document


def test_what_an_attacker_learns_is_shown_and_called_by_its_name() -> None:
    for epsilon, little in (("1", False), ("6", True)):
        answer = task_of(ReleasePanel)({**ReleasePanel.defaults, "epsilon": epsilon}, lambda *_: None)
        view = sv.average_over_model(sv.Exponential(sv.words("abcd", 8), epsilon=epsilon)).attacker
        assert view is not None and view.sentence() in answer.html()
        assert answer.document["explain"]["attacker"] == view.document()
        assert ("An attacker is right nine times in ten: this setting hides little." in answer.html()) == little
    averages = averages_of(word="abca", epsilon="6")
    assert "attacker names" in section_html(averages.section) and "for scale, " in section_html(averages.section)


def test_the_map_opens_with_trips_that_change() -> None:
    """At what is promised for b = 2, kept in proportion beyond: by the law, not by luck."""
    answer = task_of(MapPanel)(dict(MapPanel.defaults), lambda *_: None)
    changed = answer.document["expected_error"]
    assert isinstance(changed, float) and 1.5 < changed < 10
    assert answer.document["attacker"]["symbol"]["after"] < 0.9
    assert (
        "Two trips" not in answer.html()
        and "ε by distance: trips that differ in 1 symbol lose at most" in answer.html()
    )
