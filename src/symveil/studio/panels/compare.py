"""Compare: every mechanism's error against ε."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from symveil.studio.forms import Form, Scale
from symveil.studio.panels.subject import SUBJECT_DEFAULTS, SubjectPanel
from symveil.studio.tasks.compare import answer_compare


class ComparePanel(SubjectPanel):
    """Error against ε."""

    name = "compare"
    title = "What does privacy cost?"
    task = staticmethod(answer_compare)
    lead = "Expected error against ε for every mechanism: the papers' calibration against the tight one."
    defaults: ClassVar = {**SUBJECT_DEFAULTS, "epsilon": "3", "adjacency": "1", "which": "all"}
    public = frozenset({"source", "epsilon", "adjacency", "which"})
    # the curves are computed at these steps, and one can look nowhere else
    scales: ClassVar = {
        "epsilon": Scale.of("0.5", "10", "0.5", only_steps=True),
        "adjacency": Scale.of("1", "10", "1"),
    }

    def fields(self, form: Form) -> Iterator[str]:
        """What it is about, and where to look."""
        yield from self.subject_fields(form)
        yield form.slider("epsilon", "Look at ε", self.scales["epsilon"])
        yield form.slider(
            "adjacency",
            "Hidden symbols b",
            self.scales["adjacency"],
            hint="Words that differ in up to b symbols are to look alike.",
        )
        yield form.choice("which", "Curves", (("all", "all mechanisms"), ("few", "without the staircase")))
