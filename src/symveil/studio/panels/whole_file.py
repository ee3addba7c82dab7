"""File: private counts of a whole file, or synthetic sequences from a law that was learned from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from symveil.errors import ModelError, SymveilError
from symveil.formats.sequences.columns import ColumnOptions
from symveil.parameters.declaration import parameters_of
from symveil.studio.forms import Form, Scale
from symveil.studio.guard import LARGEST_UPLOAD
from symveil.studio.panel import Panel, Values
from symveil.studio.tasks.whole_file import COLUMNS, EXAMPLE, STATISTICS, TIME_ROWS, answer_whole_file

_OWN, _LEARN, _COUNT = "source=file", "task=synthesize", "task=count"
_OF_TIMES = f"{_LEARN};{_COUNT}&statistic={'|'.join(TIME_ROWS)}"


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
        "lengths": EXAMPLE["lengths"],
        "count": "4000",
        "kind": "auto",
        "places": "",
        "zones": EXAMPLE["zones"],
        "period": EXAMPLE["period"],
        "timezone": "",
        "durations": "",
        "time_share": "",
        "no_repeats": "no",
        "constraint": "",
        "neighbours": "add-remove",
        "bound": "auto",
        "max_length": "",
        "confidence": "0.95",
        "delta": "",
        "by": "",
        "cap": EXAMPLE["cap"],
        "threshold": "",
        "quantiles": "",
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
        by = (("", "not distinguished"), *((each, each) for each in _BY))
        yield form.choice("by", "By", by, when=f"{_COUNT}&statistic={'|'.join(TIME_ROWS)}")
        hint = "Public: the shortest and the longest, such as 2..12. Others add nothing."
        yield form.text("lengths", "Lengths", hint=hint, when=_LEARN, public=True)
        yield form.text("count", "Synthetic sequences", hint="Declared, not counted.", when=_LEARN, public=True)
        columns = {each.name: each for each in parameters_of(ColumnOptions)}
        yield form.further(
            "Columns of the file", [form.parameter(columns[name], when=_OWN) for name in COLUMNS], when=_OWN
        )
        yield form.further("More parameters", self._others(form))

    @staticmethod
    def _others(form: Form) -> Iterator[str]:
        yield form.choice(
            "kind", "Law", (("auto", "by the file"), ("trips", "of trips"), ("log", "of cases")), when=_LEARN
        )
        yield form.file("places", "Places", hint="A CSV file: symbol, x, y, or the two ends of roads.", when=_OWN)
        yield form.text("zones", "Zones", hint="A grid over the places, such as 6 or 6x4.", public=True)
        hint = "Public: the first and the last date, such as 2024-01-01..2024-12-31."
        yield form.text("period", "Dates", hint=hint, when=_OF_TIMES)
        yield form.text("timezone", "Time zone", hint="Whose clock decides hours; UTC by default.", when=_OF_TIMES)
        yield form.text("durations", "Bins of waits", hint="Public: 1s..365d, or 0,1m,1h,1d.", when=_OF_TIMES)
        yield form.text("time_share", "Share of times", hint="Of ε; 0.4 by default.", when=_LEARN)
        yield form.choice("no_repeats", "No symbol twice", (("no", "no"), ("yes", "yes")), when=_LEARN)
        yield form.file("constraint", "Rule", hint="A model that every sequence must be a word of.", when=_LEARN)
        neighbours = (("add-remove", "with or without a person"), ("replace", "other records of a person"))
        yield form.choice("neighbours", "Files that look alike", neighbours)
        yield form.text("bound", "A person adds at most", hint="A number, auto, or normalised.", when=_COUNT)
        yield form.text("max_length", "Longest sequence", hint="Public. Longer ones add nothing.", when=_COUNT)
        yield form.text("confidence", "Confidence", hint="How often intervals are to cover.", when=_COUNT)
        hint = "Instead of an alphabet or a model: another promise, (ε, δ)."
        yield form.text("delta", "δ", hint=hint, when=f"{_COUNT}&{_OWN}")
        yield form.text(
            "quantiles", "Quantiles", hint="Such as 0.5,0.9.", when=f"{_COUNT}&statistic=durations|cycle-times"
        )
        yield form.text("cap", "Waits count at most as", hint="Such as 7d.", when=f"{_COUNT}&statistic=mean-waits")
        yield form.text(
            "threshold", "Long waits from", hint="14d by default.", when=f"{_COUNT}&statistic=longest-waits"
        )

    def _question(self) -> Values:
        return {**super()._question(), "folder": str(self.studio.folder)}

    def _field_for(self, error: SymveilError) -> str | None:
        if isinstance(error, ModelError):
            return "model"
        return super()._field_for(error)


_BY = ("hour", "weekday", "hour-of-week", "week", "month", "move", "activity")
