"""Compare: every mechanism's error against ε."""

from __future__ import annotations

from typing import ClassVar

from symveil.studio.forms import Form
from symveil.studio.panels.subject import SUBJECT_DEFAULTS, SubjectPanel
from symveil.studio.tasks.compare import answer_compare
from symveil.studio.worker import Task


class ComparePanel(SubjectPanel):
    """Error against ε."""

    name = "compare"
    title = "What does privacy cost?"
    lead = "Expected error against ε for every mechanism: the papers' calibration against the tight one."
    defaults: ClassVar = {**SUBJECT_DEFAULTS, "epsilon": "3", "adjacency": "1", "which": "all"}
    public = frozenset({"source", "epsilon", "adjacency", "which"})

    def form(self) -> str:
        """What it is about, and where to look."""
        form = Form(self.name, self.values)
        return self.subject_fields(form) + "".join(
            (
                form.slider("epsilon", "Look at ε", low=0.5, high=10, step=0.5),
                form.slider(
                    "adjacency",
                    "Hidden symbols b",
                    low=1,
                    high=10,
                    step=1,
                    hint="Words that differ in up to b symbols are to look alike.",
                ),
                form.choice("which", "Curves", (("all", "all mechanisms"), ("few", "without the staircase"))),
            )
        )

    def task(self) -> Task:
        """Some seconds on a model."""
        return answer_compare
