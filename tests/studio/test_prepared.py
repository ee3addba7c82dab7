"""While an answer is looked at, those to other values of ε are prepared: each is the answer that would be computed.

Elsewhere a preliminary answer comes first, which keeps ε too.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest

from symveil.examples.paper_systems import TRIP
from symveil.numbers.once import counted_searches
from symveil.numbers.progress import silent
from symveil.reports.report import text_report
from symveil.studio.answer import Answer
from symveil.studio.forms import Scale
from symveil.studio.panels import words as words_panel
from symveil.studio.panels.words import MapPanel, PreparingPanel, ReleasePanel
from symveil.studio.tasks.release import answer_at_once, answer_release
from symveil.studio.worker import StoppedError, Task, TaskHandle

EXAMPLES = Path(__file__).parents[2] / "examples"
ROADS, COORDINATES = EXAMPLES / "roads.json", EXAMPLES / "roads_map.csv"


class _Inside:
    """A worker that computes in this process, and notes for which ε it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def run(self, task: Task, *arguments, handle: TaskHandle | None = None):
        self.asked.append(arguments[-1]["epsilon"])
        return task(*arguments, silent)


@pytest.mark.parametrize("kind", [ReleasePanel, MapPanel])
def test_moving_the_slider_finds_answers_ready(kind: type[PreparingPanel], monkeypatch) -> None:
    panel, quick, patient = object.__new__(kind), _Inside(), _Inside()
    panel.studio = SimpleNamespace(quick=quick, patient=patient)
    panel.client = SimpleNamespace(has_socket_connection=True, run_javascript=lambda _code: None)
    panel.values = {**kind.defaults, "source": "network", "mechanism": "permute-and-flip", "epsilon": "6"}
    panel._pending = panel._running = False
    jobs, shown = [], []
    panel._results = SimpleNamespace(set_content=shown.append)
    monkeypatch.setattr(words_panel.background_tasks, "create", lambda job, name: jobs.append(job))
    monkeypatch.setattr(words_panel, "EPSILON", Scale.of("5.9", "6.1", "0.1"))

    def ask(**values: str) -> Answer:
        panel.values |= values
        panel.answer = asyncio.run(panel._computed(TaskHandle(None)))
        assert panel.answer is not None and not panel.answer.preliminary
        panel.answered()
        return panel.answer

    ask()
    (job,) = jobs
    asyncio.run(job)
    assert quick.asked == ["6", "6"] and patient.asked == ["6", "5.9", "6.1"]
    (preliminary,) = shown
    assert "data-preliminary" in preliminary and 'data-epsilon="6"' in preliminary and "is being proved" in preliminary
    for epsilon in ("5.9", "6.1", "6"):
        answer = ask(epsilon=epsilon)
        assert dict(answer.marks)["epsilon"] == epsilon
        assert dict(answer.marks)["guarantee"] == dict(kind.task(panel._question(), silent).marks)["guarantee"]
    assert quick.asked == ["6", "6"] and len(jobs) == 1  # all of them were ready
    ask(epsilon="6.05")
    assert quick.asked == ["6", "6", "6.05", "6.05"]
    other = ask(epsilon="6.1", trip=" ".join(TRIP[:5]))  # another trip: nothing of the first one is shown
    assert quick.asked[4:] == ["6.1", "6.1"] and len(jobs) == 2
    assert dict(other.marks)["error"] != dict(answer.marks)["error"]
    panel.values |= {"source": "alphabet"}
    panel.answered()
    jobs[1].close()
    assert len(jobs) == 2  # nothing is prepared where answers take no time


@pytest.mark.parametrize(("kind", "cost"), [(ReleasePanel, "explain"), (MapPanel, None)])
def test_what_is_shown_at_once_keeps_the_budget_and_proves_nothing(
    kind: type[PreparingPanel], cost: str | None
) -> None:
    values = {**kind.defaults, "source": "network", "epsilon": "5.5"}
    with counted_searches() as searches:
        answer = answer_at_once(kind.task, values, silent)
    assert answer is not None and answer.preliminary and len(searches) == 0
    document = answer.document if cost is None else answer.document[cost]
    assert document["guarantee"]["how"] == "classic" and document["guarantee"]["epsilon"] <= 5.5
    assert document["attacker"] is None
    chosen_first = {**values, "source": "file", "model": str(ROADS), "coordinates": str(COORDINATES)}
    assert answer_at_once(kind.task, chosen_first, silent) is None  # b is still to be chosen
    assert answer_at_once(kind.task, {**values, "adjacency": "99"}, silent) is None  # the task itself is refused


def test_a_new_move_is_not_kept_waiting_by_the_proof_for_an_earlier_one() -> None:
    """Neither when the slider moves on at once, nor when it does so while a guarantee is proved."""
    panel = object.__new__(ReleasePanel)
    panel.values = {**ReleasePanel.defaults, "source": "network", "epsilon": "6"}
    panel._running, panel._pending = True, False
    panel.client = SimpleNamespace(run_javascript=lambda _code: None)
    panel._results = SimpleNamespace(set_content=lambda _html: None)
    asked = []

    async def run(task: Task, *_arguments, handle: TaskHandle) -> Answer:
        asked.append(task)
        if task is answer_at_once or len(asked) > 2:
            return Answer(report=text_report("at once", []), document={"a": 1}, preliminary=True)
        handle.give_way = lambda: asked.append("gave way")
        panel.ask()
        raise StoppedError

    panel.studio = SimpleNamespace(quick=SimpleNamespace(run=run))
    panel._pending = True
    assert asyncio.run(panel._computed(TaskHandle(None))) is None and asked == [answer_at_once]
    panel._pending = False
    asked.clear()
    assert asyncio.run(panel._computed(TaskHandle(None))) is None and asked == [
        answer_at_once,
        answer_release,
        "gave way",
    ]
