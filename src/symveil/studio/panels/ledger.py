"""Ledger."""

from symveil.studio.panel import Panel
from symveil.studio.worker import Task


def nothing(values, progress):
    from symveil.studio.answer import Answer
    return Answer(title="", sections=(), document={}, columns=(), rows=())


class LedgerPanel(Panel):
    """x."""

    name = "ledger"
    title = "Ledger"
    lead = "."
    defaults = {}
    public = frozenset()

    def form(self) -> str:
        return ""

    def task(self) -> Task:
        return nothing
