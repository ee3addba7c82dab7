"""Answers: what a private file still says about the true sequences.

Ledger: who has spent what, read-only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, get_args

from symveil.errors import LedgerError, SymveilError
from symveil.estimation.statistics import CHOICES, LONGEST_GRAM, NGRAMS
from symveil.estimation.table import Target
from symveil.studio.forms import Form
from symveil.studio.guard import LARGEST_UPLOAD
from symveil.studio.panel import Panel, Values
from symveil.studio.tasks.answers import answer_answers
from symveil.studio.tasks.ledger import answer_ledger
from symveil.tasks.estimate_runs import DURATIONS


class AnswersPanel(Panel):
    """Statistics of the true sequences, from a private file."""

    name = "answers"
    title = "Answers: what does a private file still say?"
    task = staticmethod(answer_answers)
    lead = (
        "Counting a private file counts the noise too. Its law is known and is undone here: estimates for the true "
        "sequences, with intervals, at no further cost in privacy."
    )
    defaults: ClassVar = {
        "source": "example",
        "private": "",
        "manifest": "",
        "model": "",
        "places": "",
        "statistic": "visits",
        "by": "",
        "order": "2",
        "target": "file",
        "cluster": "",
        "assume": "",
        "confidence": "0.95",
    }
    public = frozenset({"source", "statistic", "by", "order", "target", "assume", "confidence"})
    files = frozenset({"private", "manifest", "model", "places"})

    def fields(self, form: Form) -> Iterator[str]:
        """Which files, which statistic, how sure."""
        most = LARGEST_UPLOAD >> 20
        yield form.choice("source", "File", (("example", "clicks in a made-up shop"), ("file", "my own")))
        yield form.file(
            "private",
            "Private file",
            hint=f"As symveil privatize, count or synthesize writes it, at most {most} MiB. It stays on this machine, "
            "until you leave.",
            when=_OWN,
        )
        yield form.file("manifest", "Its manifest", hint="It was written beside the private file.", when=_OWN)
        yield form.file("model", "Its model", hint="Only where the release was on the words of a model.", when=_OWN)
        yield form.choice("statistic", "Statistic", [(name, name) for name in (*CHOICES, DURATIONS)])
        yield form.choice(
            "order",
            "Symbols in a row K",
            [(str(each), str(each)) for each in range(1, LONGEST_GRAM + 1)],
            when=f"statistic={NGRAMS}",
        )
        hours = (
            ("", "not apart"),
            ("hour", "hour"),
            ("hour-of-week", "hour of the week"),
            ("activity", "activity"),
        )
        yield form.choice("by", "By", hours, when=f"{_OWN}&statistic=visits|{DURATIONS}")
        yield form.choice(
            "target",
            "About",
            [(name, _TARGETS[name]) for name in get_args(Target)],
        )
        yield form.text(
            "cluster", "Belong together by", hint="A kept column, such as that of the person. Or empty.", when=_OWN
        )
        yield form.choice(
            "assume",
            "Assume",
            (("", "nothing"), ("chain", "a Markov chain (online releases)")),
            when=_OWN,
        )
        hint = "A CSV file: symbol, x, y. The picture is then a map with flows."
        yield form.file("places", "Places", hint=hint, when=_OWN)
        yield form.text("confidence", "Confidence", hint="How often intervals are to cover.", public=True)

    def _question(self) -> Values:
        return {**super()._question(), "folder": str(self.studio.folder)}


_OWN = "source=file"
_TARGETS: dict[str, str] = {"file": "these sequences", "population": "as many of their population"}


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
        return {**super()._question(), "address": self.studio.ledger or "", "folder": str(self.studio.folder)}

    def _field_for(self, error: SymveilError) -> str | None:
        return "ledger" if isinstance(error, LedgerError) else super()._field_for(error)
