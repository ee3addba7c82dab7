"""Release: type a word, move ε, see what would be released and why that is private."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, get_args

from nicegui import background_tasks

from symveil.errors import SymveilError
from symveil.mechanisms.choice import AUTO, REGISTERED, names
from symveil.mechanisms.cost_choice import CostName
from symveil.numbers.rationals import exact
from symveil.studio.forms import Form, Scale
from symveil.studio.panels.subject import BEYOND, SUBJECT_DEFAULTS, SubjectPanel
from symveil.studio.tasks.release import answer_release, prepare_release
from symveil.studio.worker import BrokenError, StoppedError

EPSILON = Scale.of("0.1", "10", "0.1")

MECHANISMS = (
    (AUTO, "the best for these numbers"),
    *((kind.name, kind.label) for kind in REGISTERED if kind.private),
)
_OF_ONE_LENGTH, _OF_SECRET_LENGTHS = ("|".join(names(metric)) for metric in ("hamming", "levenshtein"))


_COSTS: dict[str, str] = {
    "hamming": "the same, whichever it is",
    "swap": "as many swaps as it needs",
    "given": "what a file says",
}
_PROVED_FOR = ("source", "model", "adjacency", "beyond", "mechanism", "calibration", "cost", "cap", "costs")

# On a large model each proof takes long: preparing all of them would keep the worker from other panels for an hour.
_SLOW, _SLOW_STEPS = 2.0, 3  # seconds, times


class ReleasePanel(SubjectPanel):
    """The first panel."""

    name = "release"
    title = "Release a private word"
    task = staticmethod(answer_release)
    quick = True
    lead = "A word goes in; a nearby word comes out, drawn so that neighbouring words are hard to tell apart."
    defaults: ClassVar = {
        **SUBJECT_DEFAULTS,
        "epsilon": "2",
        "adjacency": "",
        "beyond": "graceful",
        "mechanism": "auto",
        "cost": "auto",
        "cap": "",
        "costs": "",
        "calibration": "tight",
        "distance": "auto",
        "max_length": "16",
    }
    public = frozenset(
        {
            "max_length",
            "source",
            "epsilon",
            "adjacency",
            "beyond",
            "mechanism",
            "calibration",
            "distance",
            "cost",
            "cap",
        }
    )
    files = frozenset({"model", "costs"})

    scales: ClassVar = {"epsilon": EPSILON}

    _prepared: tuple[str, ...] = ()

    def fields(self, form: Form) -> Iterator[str]:
        """What it is about, how private, by which mechanism."""
        yield from self.subject_fields(form)
        yield form.slider(
            "epsilon", "Privacy budget ε", self.scales["epsilon"], hint="Small: private. Large: accurate."
        )
        yield self.adjacency_field(form)
        yield form.choice(
            "beyond",
            "Kept beyond b",
            BEYOND,
            hint="What words lose that differ in d &gt; b symbols.",
            when=f"mechanism={AUTO}",
        )
        yield form.choice("mechanism", "Mechanism", MECHANISMS)
        yield form.text(
            "max_length",
            "Longest word",
            hint="A public bound: no word has more symbols.",
            when=f"mechanism={_OF_SECRET_LENGTHS}".replace(f"{AUTO}|", ""),
            public=True,
        )
        yield from self._cost_fields(form)
        yield form.choice(
            "calibration",
            "Calibration",
            (("tight", "tight: spends all of ε"), ("classic", "classic: the papers' rate")),
        )
        yield form.choice(
            "distance",
            "Automaton at distance",
            (("auto", "the likeliest"), *((str(each), str(each)) for each in range(1, 13))),
            when=f"mechanism={_OF_ONE_LENGTH}",
        )

    def _cost_fields(self, form: Form) -> Iterator[str]:
        """What a wrong symbol costs, on the words of a model."""
        chosen = [("auto", "chosen with the mechanism"), *((name, _COSTS[name]) for name in get_args(CostName))]
        yield form.choice("cost", "A wrong symbol costs", chosen, when="source=network|file")
        yield form.text(
            "cap",
            "At most",
            hint="A whole number, or none. Empty: so that every word of the model can come out.",
            when="source=network|file&cost=swap|given",
            public=True,
        )
        yield form.file(
            "costs",
            "Costs",
            hint="A CSV file: symbol, symbol, cost. It stays on this machine.",
            when="source=network|file&cost=given",
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
