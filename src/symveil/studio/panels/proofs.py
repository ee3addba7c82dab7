"""Proofs: load a labelled chain, see δ(ε) with both ends proved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from symveil.errors import ModelError, SymveilError
from symveil.studio.forms import Form, Scale
from symveil.studio.panel import Panel
from symveil.studio.tasks.proofs import answer_proofs


class ProofsPanel(Panel):
    """A labelled chain and its δ."""

    name = "proofs"
    title = "Proofs: how private is it really?"
    task = staticmethod(answer_proofs)
    lead = (
        "Any mechanism written as a labelled chain: its δ at every ε, bracketed by proofs, and the pair that is worst."
    )
    defaults: ClassVar = {"source": "pin", "model": "", "pairs": "", "epsilon": "0.1", "delta": "", "upto": "0.3"}
    public = frozenset({"source", "epsilon", "delta", "upto"})
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

    def _field_for(self, error: SymveilError) -> str | None:
        if isinstance(error, ModelError) and error.where.startswith("pairs"):
            return "pairs"
        return super()._field_for(error)
