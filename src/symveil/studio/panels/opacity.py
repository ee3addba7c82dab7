"""Opacity: load a system, step through an observation, see what an observer concludes and what can be done."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import ClassVar

from symveil.errors import SymveilError
from symveil.studio.forms import Form, Scale
from symveil.studio.panel import Panel
from symveil.studio.tasks.opacity import answer_opacity, read_observed

_SYSTEM = ("source", "model", "observable")
"""The fields that decide what can be observed."""


class OpacityPanel(Panel):
    """A partially observed system."""

    name = "opacity"
    title = "Opacity: what does an observer conclude?"
    task = staticmethod(answer_opacity)
    quick = True
    lead = "A system with secret states, seen from outside. Step through what it shows, and compare three ways to hide."
    defaults: ClassVar = {
        "source": "example-4",
        "model": "",
        "secret": "",
        "observable": "",
        "controllable": "",
        "k": "1",
        "notion": "weak",
        "epsilon": "2",
        "omega": "1",
        "length": "",
        "observed": "",
    }
    public = frozenset({"source", "k", "notion", "epsilon", "omega", "length"})
    files = frozenset({"model"})
    scales: ClassVar = {"epsilon": Scale.of("0.1", "10", "0.1"), "omega": Scale.of("1", "6", "1")}
    field_of: ClassVar[Mapping[str, str]] = {"system": "model"}

    def fields(self, form: Form) -> Iterator[str]:
        """Which system, which notion, how the policies are set."""
        yield form.choice(
            "source",
            "System",
            (
                ("example-4", "Zhao 2025, Example 4"),
                ("medical", "Zhao 2025, medical visits"),
                ("example-3", "Zhao 2025, Example 3"),
                ("file", "my own"),
            ),
        )
        yield form.file(
            "model", "System file", hint="JSON, .fsm, .stoc or .pfa. It stays on this machine.", when="source=file"
        )
        hint = "Names with commas between them. Empty: what the system itself says."
        yield form.text("secret", "Secret states", hint=hint)
        yield form.text("observable", "Events that are observed", hint=hint)
        yield form.text("controllable", "Events that can be prevented", hint=f"For a supervisor. {hint}")
        yield form.choice(
            "k",
            "Steps back k",
            (*((str(k), "0: now" if k == 0 else str(k)) for k in range(6)), ("infinite", "as far as one likes")),
            hint="How long a secret must stay secret.",
        )
        yield form.choice(
            "notion",
            "Notion",
            (("weak", "weak: the state"), ("strong", "strong: the whole time"), ("initial", "initial: the start")),
        )
        yield form.slider(
            "epsilon", "ε of the policy private", self.scales["epsilon"], hint="Small: private. Large: accurate."
        )
        yield form.slider("omega", "Distance ω", self.scales["omega"], hint="Of what safe and substitution show.")
        yield form.text("length", "At most so many events", hint="Needed where a system has loops.", public=True)

    def change(self, values: Mapping[str, str]) -> None:
        """Another system starts a new observation."""
        if any(values.get(name, self.values[name]) != self.values[name] for name in _SYSTEM):
            self.values["observed"] = ""
        super().change({name: value for name, value in values.items() if name != "observed"})

    def _field_for(self, error: SymveilError) -> str | None:
        field = super()._field_for(error)
        return None if field == "observed" else field  # it is no field of the form

    def act(self, action: str, value: str) -> None:
        """One event more, one back, or from the start."""
        observed = list(read_observed(self.values["observed"]))
        if action == "observe":
            observed.append(value)
        elif action == "back":
            observed = observed[:-1]
        elif action == "again":
            observed = []
        else:
            return
        self.values["observed"] = json.dumps(observed)
        self.ask()
