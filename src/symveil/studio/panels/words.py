"""The panels about one word or trip: Release, Compare and Map."""

from __future__ import annotations

import asyncio
import html
import time
from collections.abc import Iterator
from typing import ClassVar

from nicegui import background_tasks

from symveil.errors import ModelError, ParameterError, SymveilError, WordError
from symveil.mechanisms.choice import names
from symveil.numbers.rationals import exact
from symveil.studio.answer import Answer, card
from symveil.studio.forms import DEFAULTS, FIELDS, FILES, Form, Scale, mechanism_field
from symveil.studio.limits import LIMITS
from symveil.studio.panel import Panel, Values, working
from symveil.studio.tasks.compare import Averages, answer_compare, average_more
from symveil.studio.tasks.release import answer_at_once, answer_release, timed_answer
from symveil.studio.tasks.subject import EXAMPLE_ADJACENCY, MOST_ADJACENCY
from symveil.studio.tasks.trip_map import answer_map
from symveil.studio.worker import BrokenError, StoppedError, TaskHandle

SUBJECT_DEFAULTS = {
    "source": "alphabet",
    "alphabet": "abcd",
    "word": "abcdabcd",
    "model": "",
    "trip": "",
    "separator": "",
}

ADJACENCIES = (("", "not chosen"), *((str(b), str(b)) for b in range(1, MOST_ADJACENCY + 1)), ("all", "all symbols"))
NOT_CHOSEN = f"Not chosen: 1 over an alphabet, {EXAMPLE_ADJACENCY} on the example roads. On your own model you decide."


class SubjectPanel(Panel):
    """A panel about a word, or a trip of a model."""

    files = frozenset({"model"})

    def subject_fields(self, form: Form) -> Iterator[str]:
        """The fields."""
        yield form.choice(
            "source",
            "About",
            (
                ("alphabet", "a word over an alphabet"),
                ("network", "a trip on example roads"),
                ("file", "a trip of my own model"),
            ),
        )
        yield form.text(
            "alphabet", "Alphabet", hint="Characters, or a list with commas. It is public.", when="source=alphabet"
        )
        yield form.text(
            "word",
            "Word",
            hint="Secret: it stays on this machine, and out of links.",
            when="source=alphabet",
            secret=True,
        )
        yield form.file(
            "model",
            "Model",
            hint="JSON, GraphML, DOT or a transition table. It stays on this machine.",
            when="source=file",
        )
        yield form.text(
            "trip",
            "Trip",
            hint="Secret. Leave it empty to look at a typical trip of the public model.",
            when="source=network|file",
            secret=True,
        )
        yield form.text(
            "separator",
            "Between symbols",
            hint="Leave it empty where each character is a symbol.",
            when="source=alphabet|file",
        )

    def adjacency_field(self, form: Form) -> str:
        """How much is hidden."""
        hint = f"Words that differ in up to b symbols are to look alike. {NOT_CHOSEN}"
        return form.choice("adjacency", FIELDS["adjacency"].label, ADJACENCIES, hint=hint)

    def _field_for(self, error: SymveilError) -> str | None:
        if isinstance(error, WordError) or (isinstance(error, ParameterError) and error.name == "word"):
            return "word" if self.values["source"] == "alphabet" else "trip"
        return super()._field_for(error)


EPSILON = Scale.of("0.1", "10", "0.1")

_FIRST = ("beyond", "mechanism", "max_length", "cost", "cap", "costs", "calibration")
_OF_ONE_LENGTH = "|".join(names("hamming"))

# On a large model each answer takes long: preparing all of them would keep the worker from other panels for an hour.
_SLOW, _SLOW_STEPS, _TOO_LONG = 4.0, 3, 20.0  # seconds of the processor, times, seconds
_AT_REST = 0.25  # seconds: a slider that has not moved for so long is let go of


class PreparingPanel(Panel):
    """A panel with a slider of ε: while an answer is looked at, those to the other values are made by the other worker.

    So moving the slider finds them ready, and elsewhere a preliminary answer at once, until the slider has come to rest
    and its guarantee is proved. Over an alphabet answers take no time; one that took long is not prepared.
    """

    _took = 0.0
    _proving: TaskHandle | None = None
    """The task behind a preliminary answer."""

    _ready: dict[str, Answer]
    _prepared: Values | None = None

    def answered(self) -> None:
        """Prepare the answers to other values of ε, from the nearest to the farthest."""
        if self.answer is None or not self.answer.document:
            return  # b is still to be chosen
        others = self._others()
        if others != self._prepared and self.values["source"] != "alphabet" and self._took <= _TOO_LONG:
            self._prepared, self._ready = others, {}
            background_tasks.create(self._prepare(others), name="studio prepares")

    async def _computed(self, handle: TaskHandle) -> Answer | None:
        if self._prepared is not None and self._others() == self._prepared:
            ready = self._ready.get(self.values["epsilon"])
            if ready is not None:
                return ready
        if self.values["source"] != "alphabet" and self.values["calibration"] == "tight":
            await self._show_at_once(handle)
            if self._pending:
                return None
            self._proving = handle
        began = time.monotonic()
        try:
            answer = await super()._computed(handle)
        except StoppedError:
            if not self._pending:
                raise
            return None
        finally:
            self._proving = None
        self._took = time.monotonic() - began
        return answer

    def ask(self) -> None:
        """Compute the answer to the form as it is now; what is being proved for an earlier one gives way."""
        super().ask()
        if self._proving is not None:
            self._proving.give_way()

    async def _show_at_once(self, handle: TaskHandle) -> None:
        """Show a preliminary answer, if there is one, and wait a moment for the next move of the slider."""
        answer: Answer | None = await self.worker.run(answer_at_once, self.task, self._question(), handle=handle)
        if answer is None:
            return
        self.stale = True
        self._call("fine", self.name)
        self._call("stale", self.name, "soon")
        self._results.set_content(answer.html())
        await asyncio.sleep(_AT_REST)

    def _others(self) -> Values:
        """What an answer depends on besides ε."""
        return {name: value for name, value in self.values.items() if name != "epsilon"}

    async def _prepare(self, others: Values) -> None:
        try:
            here, question = exact(self.values["epsilon"]), self._question()
        except SymveilError:
            return  # the form has changed meanwhile, and its own answer tells what is wrong with it
        steps = int((EPSILON.high - EPSILON.low) / EPSILON.step) + 1
        grid = sorted((EPSILON.low + EPSILON.step * step for step in range(steps)), key=lambda each: abs(each - here))
        slow = 0
        for number, epsilon in enumerate(grid):
            if others != self._others() or not self.client.has_socket_connection or slow > _SLOW_STEPS:
                return
            text = f"{float(epsilon):g}"
            try:
                took, answer = await self.studio.patient.run(timed_answer, self.task, {**question, "epsilon": text})
            except (SymveilError, StoppedError, BrokenError):
                return  # it would be told where it is asked for
            if others == self._prepared:
                self._ready[text] = answer
            slow += took > _SLOW
            self._call("prepared", self.name, str(number + 1), str(len(grid)))


class ReleasePanel(PreparingPanel, SubjectPanel):
    """The first panel."""

    name = "release"
    title = "Release a private word"
    task = staticmethod(answer_release)
    quick = True
    lead = "A word goes in; a nearby word comes out, drawn so that neighbouring words are hard to tell apart."
    defaults: ClassVar = {**DEFAULTS, **SUBJECT_DEFAULTS, "epsilon": "2", "distance": "auto"}
    public = frozenset(FIELDS) - FILES | {"source", "distance"}
    files = FILES | {"model"}

    scales: ClassVar = {"epsilon": EPSILON}

    def fields(self, form: Form) -> Iterator[str]:
        """What it is about, how private, by which mechanism."""
        yield from self.subject_fields(form)
        yield form.slider_of(FIELDS["epsilon"], self.scales["epsilon"])
        yield self.adjacency_field(form)
        yield from (mechanism_field(form, name) for name in _FIRST)
        yield form.choice(
            "distance",
            "Automaton at distance",
            (("auto", "the likeliest"), *((str(each), str(each)) for each in range(1, 13))),
            when=f"mechanism={_OF_ONE_LENGTH}",
        )
        others = [name for name in FIELDS if name not in (*_FIRST, "epsilon", "adjacency")]
        yield form.further(
            "More parameters",
            [mechanism_field(form, name, usual=self.defaults[name]) for name in others],
            shown=any(self.values[name] != self.defaults[name] for name in others),
        )


class MapPanel(PreparingPanel):
    """Trips on roads."""

    name = "map"
    title = "Private trips on a map"
    task = staticmethod(answer_map)
    quick = True
    lead = "A trip before and after, drawn from coordinates: every private trip is one that could be driven."
    defaults: ClassVar = {
        "source": "network",
        "alphabet": "",
        "word": "",
        "model": "",
        "coordinates": "",
        "trip": "",
        "separator": "|",
        **DEFAULTS,
        "epsilon": "6",  # at b = 2 about half of the roads of the example change
        "samples": "4",
    }
    public = frozenset(FIELDS) - FILES | {"source", "samples"}
    files = FILES | {"model", "coordinates"}
    scales: ClassVar = {
        "epsilon": Scale.of("0.1", "10", "0.1"),
        "samples": Scale.of("1", str(LIMITS.now.samples), "1"),
    }

    def fields(self, form: Form) -> Iterator[str]:
        """Which roads, which trip, how private."""
        yield form.choice("source", "Roads", (("network", "example roads"), ("file", "my own")))
        yield form.file(
            "model", "Model", hint="A Markov chain whose states are the roads (JSON or a table).", when="source=file"
        )
        yield form.file(
            "coordinates", "Coordinates", hint="A CSV file: state, x1, y1, x2, y2, or state, x, y.", when="source=file"
        )
        yield form.text("trip", "Trip", hint="Secret. Leave it empty to look at a typical trip.", secret=True)
        yield form.text("separator", "Between roads", when="source=file")
        yield form.slider_of(FIELDS["epsilon"], self.scales["epsilon"])
        hint = f"Trips that differ in up to b roads are to look alike. Not chosen: {EXAMPLE_ADJACENCY} on the example."
        yield form.choice("adjacency", "Hidden roads b", ADJACENCIES, hint=f"{hint} On your own roads you decide.")
        yield form.parameter(FIELDS["beyond"], hint="What trips lose that differ in d roads, more than b.")
        yield form.slider("samples", "Private trips shown", self.scales["samples"])
        others = [name for name in FIELDS if name not in ("epsilon", "adjacency", "beyond")]
        yield form.further(
            "More parameters",
            [mechanism_field(form, name, usual=self.defaults[name]) for name in others],
            shown=any(self.values[name] != self.defaults[name] for name in others),
        )

    def _field_for(self, error: SymveilError) -> str | None:
        if isinstance(error, WordError) or (isinstance(error, ParameterError) and error.name == "word"):
            return "trip"
        if isinstance(error, ModelError) and error.where in self.defaults:
            return error.where
        return super()._field_for(error)


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
