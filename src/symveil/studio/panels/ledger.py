"""Ledger: who has spent what, read-only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from symveil.errors import LedgerError, SymveilError
from symveil.studio.forms import Form
from symveil.studio.panel import Panel, Values
from symveil.studio.tasks.ledger import answer_ledger


class LedgerPanel(Panel):
    """Budgets."""

    name = "ledger"
    title = "The ledger: who has spent what"
    task = staticmethod(answer_ledger)
    lead = "The budget of each person, as the releases have used it up. This page only reads."
    defaults: ClassVar = {"ledger": "", "person": ""}
    public = frozenset[str]()
    files = frozenset({"ledger"})

    def fields(self, form: Form) -> Iterator[str]:
        """Which ledger, whose budget."""
        started = "The studio was started with a ledger." if self.studio.ledger else "Or start with --ledger."
        yield form.file("ledger", "Ledger file", hint=f"A SQLite ledger; it is copied and only read. {started}")
        hint = "Empty: those who have spent most. A name stays out of links."
        yield form.text("person", "Person", hint=hint, secret=True)

    def _question(self) -> Values:
        return {**super()._question(), "address": self.studio.ledger or ""}

    def _field_for(self, error: SymveilError) -> str | None:
        return "ledger" if isinstance(error, LedgerError) else super()._field_for(error)
