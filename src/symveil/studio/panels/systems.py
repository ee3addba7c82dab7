"""Opacity: load a system, step through an observation, see what an observer concludes and what can be done.

Proofs: load a labelled chain, see δ(ε) with both ends proved.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import ClassVar

from symveil.errors import ModelError, SymveilError
from symveil.studio.forms import Form, Scale
from symveil.studio.panel import Panel
from symveil.studio.tasks.opacity import answer_opacity, read_observed
from symveil.studio.tasks.proofs import answer_proofs

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
        "theta": "",
        "within": "",
        "adjacency": "",
        "observed": "",
    }
    public = frozenset({"source", "k", "notion", "epsilon", "omega", "length", "theta", "within", "adjacency"})
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
            (*((str(k), "0: now" if k == 0 else str(k)) for k in range(6)), ("infinite", "any number")),
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
        others = (
            ("theta", "Accepted probability θ", "Violations less probable than that are accepted."),
            ("within", "Within so many events", "Later violations do not count."),
            ("adjacency", "Hidden events b", "Observations that differ in up to b events look alike; 1 by default."),
        )
        yield form.further(
            "More parameters",
            [form.text(name, label, hint=hint, public=True, usual="") for name, label, hint in others],
            shown=any(self.values[name] for name, *_ in others),
        )

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


class ProofsPanel(Panel):
    """A labelled chain and its δ."""

    name = "proofs"
    title = "Proofs: how private is it really?"
    task = staticmethod(answer_proofs)
    lead = (
        "Any mechanism written as a labelled chain: its δ at every ε, bracketed by proofs, and the pair that is worst."
    )
    defaults: ClassVar = {
        "source": "pin",
        "model": "",
        "pairs": "",
        "epsilon": "0.1",
        "delta": "",
        "upto": "0.3",
        "silent": "",
        "width": "",
        "nodes": "",
        "horizon": "",
        "lumped": "no",
    }
    public = frozenset({"source", "epsilon", "delta", "upto", "width", "nodes", "horizon", "lumped"})
    files = frozenset({"model"})
    scales: ClassVar = {"epsilon": Scale.of("0", "5", "0.01")}

    def fields(self, form: Form) -> Iterator[str]:
        """Which chain, which pairs, where to look."""
        yield form.choice(
            "source",
            "Chain",
            (
                ("pin", "Chistikov 2019, PIN checker"),
                ("response", "Chistikov 2019, randomised response"),
                ("file", "my own"),
            ),
        )
        yield form.file(
            "model", "Chain file", hint="JSON (labelled-chain). It stays on this machine.", when="source=file"
        )
        yield form.text("pairs", "Pairs of states", hint="s,t; u,v. Empty: the related pairs of the file.")
        yield form.slider("epsilon", "Look at ε", self.scales["epsilon"])
        yield form.text(
            "delta", "Is δ at most …?", hint="A number such as 0.01 or 1/100. Empty: no question.", public=True
        )
        yield form.text("upto", "Curve up to ε", public=True)
        yield form.further("More parameters", self._others(form))

    @staticmethod
    def _others(form: Form) -> Iterator[str]:
        yield form.text("silent", "Labels that are not seen", hint="With commas between them; nor how long they last.")
        for name, label, hint in (
            ("width", "Narrow enough", "The bracket stops when it is this narrow; 1e-4 by default."),
            ("nodes", "Nodes", "It stops after so many kinds of words."),
            ("horizon", "Labels", "It stops after so many labels."),
        ):
            yield form.text(name, label, hint=hint, public=True, usual="")
        merged = (("no", "no"), ("yes", "yes"))
        yield form.choice("lumped", "Merge bisimilar states first", merged, usual="no")

    def _field_for(self, error: SymveilError) -> str | None:
        if isinstance(error, ModelError) and error.where.startswith("pairs"):
            return "pairs"
        return super()._field_for(error)
