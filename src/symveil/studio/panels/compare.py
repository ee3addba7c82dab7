"""Compare: every mechanism's error against ε, and the least that any of them can have."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import ClassVar

from nicegui import background_tasks

from symveil.errors import SymveilError
from symveil.studio.answer import Answer, card
from symveil.studio.forms import FIELDS, Form, Scale
from symveil.studio.panel import working
from symveil.studio.panels.subject import SUBJECT_DEFAULTS, SubjectPanel
from symveil.studio.tasks.compare import Averages, answer_compare, average_more
from symveil.studio.worker import BrokenError, StoppedError, TaskHandle


class ComparePanel(SubjectPanel):
    """Error against ε."""

    name = "compare"
    title = "What does privacy cost?"
    task = staticmethod(answer_compare)
    lead = (
        "Expected error against ε for every mechanism, the papers' calibration against the tight one, and the least "
        "error that any private mechanism can have."
    )
    defaults: ClassVar = {**SUBJECT_DEFAULTS, "epsilon": "3", "adjacency": "", "beyond": "graceful", "which": "all"}
    public = frozenset({"source", "epsilon", "adjacency", "beyond", "which"})
    # the curves are computed at these steps, and one can look nowhere else
    scales: ClassVar = {"epsilon": Scale.of("0.5", "10", "0.5", only_steps=True)}

    _round = 0
    _slice: TaskHandle | None = None

    def fields(self, form: Form) -> Iterator[str]:
        """What it is about, and where to look."""
        yield from self.subject_fields(form)
        yield form.slider("epsilon", "Look at ε", self.scales["epsilon"])
        yield self.adjacency_field(form)
        yield form.parameter(FIELDS["beyond"])
        yield form.choice("which", "Curves", (("all", "all mechanisms"), ("few", "without the staircase")))

    def answered(self) -> None:
        """Find the averages over the public model meanwhile."""
        self._round += 1
        if self.answer is not None and self.answer.document:
            background_tasks.create(self._average(self._round, self.answer), name="studio averages")

    def cancel(self) -> None:
        """Stop the averages as well."""
        super().cancel()
        if self._slice is not None:
            self._slice.cancel()

    async def _average(self, this: int, answer: Answer) -> None:
        """Ask for a few averages at a time, until all are there or the form asks for something else."""
        self._follow("", working("Averaging over the public model", 0, 0, self.name))
        shown: Averages | None = None
        while shown is None or shown.done < shown.of:
            handle = self._slice = TaskHandle(None)
            try:
                averages: Averages = await self.studio.patient.run(average_more, self._question(), handle=handle)
            except (SymveilError, StoppedError, BrokenError) as error:
                if this == self._round and not self.stale:
                    known = "" if shown is None else card(shown.section)
                    self._follow(known, f'<p class="note">{html.escape(self._ending(error))}</p>')
                return
            finally:
                self._slice = None
            if this != self._round or self._running or self.stale or not self.client.has_socket_connection:
                return  # the next answer starts anew, and finds in the worker what is known already
            shown = averages
            self.answer = averages.added_to(answer)
            left = averages.done < averages.of
            bar = working("Averaging over the public model", averages.done, averages.of, self.name) if left else ""
            self._follow(card(averages.section), bar, done=averages.done)

    def _ending(self, error: Exception) -> str:
        if isinstance(error, StoppedError):
            return "The averages over the public model were stopped. Change something to start again."
        message = self._plain(error) if isinstance(error, SymveilError) else str(error)
        return f"No average over the public model: {message}."

    def _follow(self, card: str, state: str, *, done: int = 0) -> None:
        self._supplement.set_content(f'{state}<div class="cards" data-averages="{done}">{card}</div>')
