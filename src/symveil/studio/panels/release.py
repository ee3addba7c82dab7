"""Release: type a word, move ε, see what would be released and why that is private."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from nicegui import background_tasks

from symveil.errors import SymveilError
from symveil.mechanisms.choice import names
from symveil.numbers.rationals import exact
from symveil.studio.forms import DEFAULTS, FIELDS, FILES, Form, Scale, mechanism_field
from symveil.studio.panels.subject import SUBJECT_DEFAULTS, SubjectPanel
from symveil.studio.tasks.release import answer_release, prepare_release
from symveil.studio.worker import BrokenError, StoppedError

EPSILON = Scale.of("0.1", "10", "0.1")

_FIRST = ("beyond", "mechanism", "max_length", "cost", "cap", "costs", "calibration")
_OF_ONE_LENGTH = "|".join(names("hamming"))
_PROVED_FOR = ("source", "model", *(name for name in FIELDS if name != "epsilon"))

# On a large model each proof takes long: preparing all of them would keep the worker from other panels for an hour.
_SLOW, _SLOW_STEPS = 2.0, 3  # seconds, times


class ReleasePanel(SubjectPanel):
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

    _prepared: tuple[str, ...] = ()

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

    def answered(self) -> None:
        """Prove the other values of the slider meanwhile, so that moving it finds them ready."""
        if self.answer is None or not self.answer.document:
            return  # b is still to be chosen
        key = self._key()
        if key == self._prepared or self.values["source"] == "alphabet":
            return
        self._prepared = key
        if self.values["calibration"] == "tight" and self.values["mechanism"] in ("auto", "exponential"):
            background_tasks.create(self._prepare(key), name="studio prepares")

    def _key(self) -> tuple[str, ...]:
        """What the guarantee depends on besides ε; of the secret trip its length only."""
        values = self.values
        length = self.answer.document["explain"]["length"] if self.answer else ""  # type: ignore[index]
        return (*(values[name] for name in _PROVED_FOR), str(length))

    async def _prepare(self, key: tuple[str, ...]) -> None:
        try:
            here, question = exact(self.values["epsilon"]), self._question()
        except SymveilError:
            return  # the form has changed meanwhile, and its own answer tells what is wrong with it
        steps = int((EPSILON.high - EPSILON.low) / EPSILON.step) + 1
        grid = sorted((EPSILON.low + EPSILON.step * step for step in range(steps)), key=lambda each: abs(each - here))
        slow = 0
        for number, epsilon in enumerate(grid):
            if key != self._key() or not self.client.has_socket_connection or slow > _SLOW_STEPS:
                return
            try:
                took = await self.studio.patient.run(prepare_release, {**question, "epsilon": str(float(epsilon))})
            except (SymveilError, StoppedError, BrokenError):
                return  # it would be told where it is asked for
            slow += took > _SLOW
            self._call("prepared", self.name, str(number + 1), str(len(grid)))
