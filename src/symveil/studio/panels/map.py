"""Map: trips before and after."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from symveil.errors import ModelError, ParameterError, SymveilError, WordError
from symveil.mechanisms.choice import names
from symveil.studio.forms import DEFAULTS, FIELDS, FILES, Form, Scale, mechanism_field
from symveil.studio.panel import Panel
from symveil.studio.panels.subject import ADJACENCIES
from symveil.studio.tasks.map import MOST_SAMPLES, answer_map
from symveil.studio.tasks.subject import EXAMPLE_ADJACENCY

NOT_OF_TRIPS = frozenset({"metric", "max_length"})
"""Trips keep their lengths, which are public: they are drawn over each other, road by road."""
_KINDS = names("hamming")


class MapPanel(Panel):
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
        **{name: value for name, value in DEFAULTS.items() if name not in NOT_OF_TRIPS},
        "epsilon": "6",  # at b = 2 about half of the roads of the example change
        "samples": "4",
    }
    public = frozenset(FIELDS) - NOT_OF_TRIPS - FILES | {"source", "samples"}
    files = FILES - NOT_OF_TRIPS | {"model", "coordinates"}
    scales: ClassVar = {
        "epsilon": Scale.of("0.1", "10", "0.1"),
        "samples": Scale.of("1", str(MOST_SAMPLES), "1"),
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
        others = [name for name in FIELDS if name not in NOT_OF_TRIPS | {"epsilon", "adjacency", "beyond"}]
        yield form.further(
            "More parameters",
            [mechanism_field(form, name, usual=self.defaults[name], kinds=_KINDS) for name in others],
            shown=any(self.values[name] != self.defaults[name] for name in others),
        )

    def _field_for(self, error: SymveilError) -> str | None:
        if isinstance(error, WordError) or (isinstance(error, ParameterError) and error.name == "word"):
            return "trip"
        if isinstance(error, ModelError) and error.where in self.defaults:
            return error.where
        return super()._field_for(error)
