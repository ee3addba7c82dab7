"""Map: trips before and after."""

from __future__ import annotations

from typing import ClassVar

from symveil.errors import ModelError, SymveilError, WordError
from symveil.studio.forms import Form
from symveil.studio.panel import Panel
from symveil.studio.tasks.map import MOST_SAMPLES, answer_map
from symveil.studio.worker import Task, Worker


class MapPanel(Panel):
    """Trips on roads."""

    name = "map"
    title = "Private trips on a map"
    lead = "A trip before and after, drawn from coordinates: every private trip is one that could be driven."
    defaults: ClassVar = {
        "source": "network",
        "alphabet": "",
        "word": "",
        "model": "",
        "coordinates": "",
        "trip": "",
        "separator": "|",
        "epsilon": "3",
        "adjacency": "1",
        "mechanism": "auto",
        "calibration": "tight",
        "samples": "4",
    }
    public = frozenset({"source", "epsilon", "adjacency", "samples"})
    files = frozenset({"model", "coordinates"})

    def form(self) -> str:
        """Which roads, which trip, how private."""
        form = Form(self.name, self.values)
        return "".join(
            (
                form.choice("source", "Roads", (("network", "the example roads (43 segments)"), ("file", "my own"))),
                form.file(
                    "model",
                    "Model",
                    hint="A Markov chain whose states are the roads (JSON or a table).",
                    when="source=file",
                ),
                form.file(
                    "coordinates",
                    "Coordinates",
                    hint="A CSV file: state, x1, y1, x2, y2, or state, x, y.",
                    when="source=file",
                ),
                form.text("trip", "Trip", hint="Secret. Leave it empty to look at a typical trip.", secret=True),
                form.text("separator", "Between roads", when="source=file"),
                form.slider(
                    "epsilon", "Privacy budget ε", low=0.1, high=10, step=0.1, hint="Small: private. Large: accurate."
                ),
                form.slider("adjacency", "Hidden roads b", low=1, high=10, step=1),
                form.slider("samples", "Private trips shown", low=1, high=MOST_SAMPLES, step=1),
            )
        )

    def task(self) -> Task:
        """Answered at once, like Release."""
        return answer_map

    @property
    def worker(self) -> Worker:
        """The quick one."""
        return self.studio.quick

    def _place_of(self, error: SymveilError) -> str | None:
        if isinstance(error, WordError):
            return "trip"
        if isinstance(error, ModelError) and error.where in self.defaults:
            return error.where
        return super()._place_of(error)
