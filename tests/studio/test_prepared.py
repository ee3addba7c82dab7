"""While an answer is looked at, those to other values of ε are prepared: each is the answer that would be computed."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from symveil.examples.paper_systems import TRIP
from symveil.numbers.progress import silent
from symveil.studio.answer import Answer
from symveil.studio.forms import Scale
from symveil.studio.panels import words as words_panel
from symveil.studio.panels.words import MapPanel, PreparingPanel, ReleasePanel
from symveil.studio.worker import Task, TaskHandle


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
    jobs = []
    monkeypatch.setattr(words_panel.background_tasks, "create", lambda job, name: jobs.append(job))
    monkeypatch.setattr(words_panel, "EPSILON", Scale.of("5.9", "6.1", "0.1"))

    def ask(**values: str) -> Answer:
        panel.values |= values
        panel.answer = asyncio.run(panel._computed(TaskHandle(None)))
        panel.answered()
        return panel.answer

    ask()
    (job,) = jobs
    asyncio.run(job)
    assert quick.asked == ["6"] and patient.asked == ["6", "5.9", "6.1"]
    for epsilon in ("5.9", "6.1", "6"):
        answer = ask(epsilon=epsilon)
        assert dict(answer.marks)["epsilon"] == epsilon
        assert dict(answer.marks)["guarantee"] == dict(kind.task(panel._question(), silent).marks)["guarantee"]
    assert quick.asked == ["6"] and len(jobs) == 1  # all of them were ready
    ask(epsilon="6.05")
    assert quick.asked == ["6", "6.05"]
    other = ask(epsilon="6.1", trip=" ".join(TRIP[:5]))  # another trip: nothing of the first one is shown
    assert quick.asked == ["6", "6.05", "6.1"] and len(jobs) == 2
    assert dict(other.marks)["error"] != dict(answer.marks)["error"]
    panel.values |= {"source": "alphabet"}
    panel.answered()
    jobs[1].close()
    assert len(jobs) == 2  # nothing is prepared where answers take no time
