"""The panels about files: Answers of a private one, File for a whole one, and the Ledger, which is only read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, get_args

from symveil.errors import LedgerError, ModelError, SymveilError
from symveil.estimation.statistics import CHOICES, LONGEST_GRAM, NGRAMS
from symveil.estimation.table import Target
from symveil.formats.sequences.columns import ColumnOptions
from symveil.parameters import parameters_of
from symveil.studio.forms import Form, Scale, usual_value
from symveil.studio.guard import LARGEST_UPLOAD
from symveil.studio.panel import Panel, Values
from symveil.studio.tasks.answers import answer_answers, answer_ledger
from symveil.studio.tasks.whole_file import COLUMNS, EXAMPLE, STATISTICS, TIME_ROWS, answer_whole_file
from symveil.tasks.count import CountOptions
from symveil.tasks.estimate_runs import DURATIONS
from symveil.tasks.learn_privately import LearnOptions


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


_LEARN, _COUNT = "task=synthesize", "task=count"
_OF_TIMES = f"{_LEARN};{_COUNT}&statistic={'|'.join(TIME_ROWS)}"

_BY = ("hour", "weekday", "hour-of-week", "week", "month", "move", "activity")
_NAMES = (
    *("kind", "places", "zones", "period", "timezone", "durations", "time_share", "no_repeats", "constraint"),
    *("attributes", "attribute_share", "neighbours", "bound", "max_length", "confidence", "delta", "quantiles", "cap"),
    "threshold",
)
_DECLARED = {each.name: each for kind in (CountOptions, LearnOptions) for each in parameters_of(kind)}
_OTHERS = {name: _DECLARED[name] for name in _NAMES}
_SHOWN = {
    "places": _OWN,
    "delta": f"{_COUNT}&{_OWN}",
    "by": f"{_COUNT}&statistic={'|'.join(TIME_ROWS)}",
    "quantiles": f"{_COUNT}&statistic=durations|cycle-times",
    "cap": f"{_COUNT}&statistic=mean-waits",
    "threshold": f"{_COUNT}&statistic=longest-waits",
    **dict.fromkeys(("kind", "time_share", "attributes", "attribute_share", "no_repeats", "constraint"), _LEARN),
    **dict.fromkeys(("period", "timezone", "durations"), _OF_TIMES),
    **dict.fromkeys(("bound", "max_length", "confidence"), _COUNT),
}
"""Of what is chosen which parameters are about; others are always shown."""


_HINTS = {
    "attributes": "With times: other columns and their public values, or edges of bins of a number, such as "
    "case:purpose=work,school; amount=0,10,100.",
}
"""What a form says otherwise than the command line, where values stand in files."""


class FilePanel(Panel):
    """A whole file, with one ε for each person."""

    name = "file"
    title = "A whole file: synthetic sequences, private counts"
    task = staticmethod(answer_whole_file)
    lead = (
        "One ε for each person, whatever their number of records. Synthetic sequences beside the true ones, or a table "
        "of counts with intervals: a try-out for the holder of the file, before anything is released."
    )
    defaults: ClassVar = {
        "source": "millford",
        "data": "",
        "alphabet": "",
        "model": "",
        "task": "synthesize",
        "epsilon": "4",
        "statistic": "visits",
        "gram": "2",
        "count": "4000",
        "by": "",
        **{name: usual_value(each) for name, each in _OTHERS.items()},
        **EXAMPLE,
        **dict.fromkeys(COLUMNS, ""),
    }
    public = frozenset({"source", "task", "epsilon", "statistic", "gram", "lengths", "count", "zones"})
    files = frozenset({"data", "model", "places", "constraint"})
    scales: ClassVar = {"epsilon": Scale.of("0.1", "10", "0.1")}
    field_of: ClassVar[Mapping[str, str]] = {"path": "data"}

    def fields(self, form: Form) -> Iterator[str]:
        """Which file, what is made of it, how private."""
        yield form.choice("source", "File", (("millford", "a week in a made-up town"), ("file", "my own")))
        most = f"CSV, JSON Lines, Parquet or XES, at most {LARGEST_UPLOAD >> 20} MiB. It stays on this machine."
        yield form.file("data", "Sequences", hint=most, when=_OWN)
        yield form.text("alphabet", "Alphabet", hint="Public: characters, or a list with commas.", when=_OWN)
        yield form.file("model", "Or a model", hint="Public: its words are the possible ones.", when=_OWN)
        yield form.choice(
            "task", "Make", (("synthesize", "synthetic sequences"), ("count", "a table of private counts"))
        )
        yield form.slider("epsilon", "ε for each person", self.scales["epsilon"], hint="What a person loses at most.")
        yield form.choice("statistic", "Count", [(each, each) for each in STATISTICS], when=_COUNT)
        yield form.choice(
            "gram", "Symbols in a row K", [(str(each), str(each)) for each in range(1, 6)],
            when=f"{_COUNT}&statistic=ngrams:K",
        )  # fmt: skip
        by = [("", "not distinguished"), *((each, each) for each in _BY)]
        yield form.parameter(_DECLARED["by"], options=by, when=_SHOWN["by"])
        yield form.text(
            "lengths", "Lengths", hint="Public: such as 2..12. Others add nothing.", when=_LEARN, public=True
        )
        yield form.text("count", "Synthetic sequences", hint="Declared, not counted.", when=_LEARN, public=True)
        columns = {each.name: each for each in parameters_of(ColumnOptions)}
        yield form.further(
            "Columns of the file", [form.parameter(columns[name], when=_OWN) for name in COLUMNS], when=_OWN
        )
        others = (
            form.parameter(each, when=_SHOWN.get(name, ""), hint=_HINTS.get(name)) for name, each in _OTHERS.items()
        )
        yield form.further("More parameters", others)

    def _question(self) -> Values:
        return {**super()._question(), "folder": str(self.studio.folder)}

    def _field_for(self, error: SymveilError) -> str | None:
        if isinstance(error, ModelError):
            return "model"
        return super()._field_for(error)
