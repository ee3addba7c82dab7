"""Ledger: who has spent what, read-only."""

from __future__ import annotations

from typing import ClassVar

from symveil.errors import LedgerError, SymveilError
from symveil.studio.forms import Form
from symveil.studio.panel import Panel, Values
from symveil.studio.tasks.ledger import answer_ledger
from symveil.studio.worker import Task


class LedgerPanel(Panel):
    """Budgets."""

    name = "ledger"
    title = "The ledger: who has spent what"
    lead = "The budget of each person, as the releases have used it up. This page only reads."
    defaults: ClassVar = {"ledger": "", "person": ""}
    public = frozenset[str]()
    files = frozenset({"ledger"})

    def form(self) -> str:
        """Which ledger, whose budget."""
        form = Form(self.name, self.values)
        started = "The studio was started with a ledger." if self.studio.ledger else "Or start with --ledger."
        return form.file(
            "ledger", "Ledger file", hint=f"A SQLite ledger; it is copied and only read. {started}"
        ) + form.text(
            "person", "Person", hint="Empty: those who have spent most. A name stays out of links.", secret=True
        )

    def task(self) -> Task:
        """Seconds on a large ledger."""
        return answer_ledger

    def _question(self) -> Values:
        return {**super()._question(), "address": self.studio.ledger or ""}

    def _place_of(self, error: SymveilError) -> str | None:
        return "ledger" if isinstance(error, LedgerError) else super()._place_of(error)
