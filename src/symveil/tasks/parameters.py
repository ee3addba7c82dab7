"""The parameters of a release, by their names: what a function takes that is given as objects or word by word.

A release is described by a `MechanismChoice`, by `ColumnOptions`, and by `RunOptions`. Python users may hand over these
objects, or the names of their fields: `privatize_file(path, out, epsilon=2, ledger="budgets.db")`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, get_args

from symveil.errors import ParameterError
from symveil.formats.reading import LONGEST, MOST_TIMES, check_sizes
from symveil.laws.parameters import ChoiceParameters
from symveil.parameters import Domain, Flag, OneOf, Whole, declared, listing_fields

if TYPE_CHECKING:  # options of commands are made from these fields: what they are made of must load at once
    from symveil.formats.sequences.stamps import ArtificialTimes
    from symveil.ledger.charging import OverBudget
    from symveil.numbers.rationals import Number
    from symveil.release.batch import OnUnknown
    from symveil.release.timed import TimeSettings

Engine = Literal["local", "spark"]

_LONGEST_ID = 100


@listing_fields
@dataclass(frozen=True, kw_only=True, slots=True)
class RunOptions:
    """How a file is released, apart from what is released by what.

    >>> RunOptions(release_id="r1", ledger="budgets.db").over_budget
    'error'
    """

    on_unknown: OnUnknown = field(
        default="error",
        metadata=declared(
            "What happens to sequences that the alphabet or model does not have.",
            label="Unknown sequences",
            domain=OneOf(labels={"error": "are an error", "drop-sequence": "are left out"}),
        ),
    )
    ledger: str | Path | None = field(
        default=None,
        metadata=declared(
            "The ledger: a file, or postgresql://user@host/database.",
            label="Ledger",
            domain=Domain(placeholder="URL"),
            more="None: no person is charged.",
        ),
    )
    over_budget: OverBudget = field(
        default="error",
        metadata=declared(
            "What happens to persons with too little budget.",
            label="Persons over budget",
            domain=OneOf(labels={"error": "are an error", "drop": "are left out"}),
        ),
    )
    release_id: str | None = field(
        default=None,
        metadata=declared(
            "The release's name; the same name is never charged twice.",
            label="Name of the release",
            domain=Domain(placeholder="ID"),
        ),
    )
    again: bool = field(
        default=False,
        metadata=declared(
            "Repeat a finished release; with `ledger` everyone is charged again.",
            label="Repeat",
            domain=Flag(),
            more="Not with a release id.",
        ),
    )
    engine: Engine = field(
        default="local",
        metadata=declared(
            "This machine, or a cluster.",
            label="Engine",
            domain=OneOf(labels={"local": "this machine", "spark": "a Spark cluster"}),
        ),
    )
    master: str | None = field(
        default=None,
        metadata=declared(
            "With `engine` spark: the cluster, such as local[2] or spark://host:7077.",
            label="Cluster",
            domain=Domain(placeholder="URL"),
        ),
    )
    unsafe_report_true_error: bool = field(
        default=False,
        metadata=declared(
            "Also report how many symbols were changed: not private.",
            label="True error",
            domain=Flag(),
        ),
    )
    longest: int = field(
        default=LONGEST,
        metadata=declared("Refuse longer sequences.", label="Longest sequence", domain=Whole(least=1)),
    )
    gzip_ratio: int = field(
        default=MOST_TIMES,
        metadata=declared(
            "Refuse gzip files that unpack to more times their size.", label="Gzip ratio", domain=Whole(least=1)
        ),
    )
    spreadsheet_safe: bool = field(
        default=False,
        metadata=declared(
            "CSV: an apostrophe before cells that a spreadsheet takes for formulas, such as =1+1. It changes values.",
            label="Safe for spreadsheets",
            domain=Flag(),
        ),
    )
    thin: bool = field(
        default=False,
        metadata=declared(
            "Release although more than half of the positions of a typical word of the model have no alternative.",
            label="Thin protection",
            domain=Flag(),
        ),
    )
    start: str | None = field(
        default=None,
        metadata=declared(
            "Artificial times of events, in order: the first one. XES logs always have some.",
            label="First artificial time",
            domain=Domain(placeholder="DATE"),
            more="A table with an event in each row has its order column rewritten to 1, 2, 3 … where there is none.",
        ),
    )
    time_step: str | None = field(
        default=None,
        metadata=declared(
            "From an artificial time to the next, such as 1h.",
            label="Artificial time step",
            domain=Domain(placeholder="T"),
        ),
    )
    time_grid: str | None = field(
        default=None,
        metadata=declared(
            "With `time`: release times too, on a public grid: hour, hour-of-week, or waits such as wait:1s..365d.",
            label="Grid of private times",
            domain=Domain(placeholder="G"),
            more="Over an alphabet one epsilon covers symbol and time.",
        ),
    )
    time_shift: str | int | None = field(
        default=None,
        metadata=declared(
            "With `time_grid`: by how many bins a time may differ that is to be hard to distinguish; any by default.",
            label="Shift of private times",
            domain=Domain(placeholder="N|any"),
        ),
    )
    timezone: str | None = field(
        default=None,
        metadata=declared(
            "Of times: the zone whose clock is meant, such as Europe/Amsterdam; UTC by default.",
            label="Time zone",
            domain=Domain(placeholder="Z"),
        ),
    )
    time_share: Number | None = field(
        default=None,
        metadata=declared(
            "With `time_grid` and a model: what times get of epsilon; 0.4 by default.",
            label="Share of private times",
            domain=Domain(placeholder="S"),
        ),
    )

    def __post_init__(self) -> None:
        if self.over_budget not in ("error", "drop"):
            raise ParameterError("over_budget", expected="error or drop", found=self.over_budget)
        if self.engine not in get_args(Engine):
            raise ParameterError("engine", expected="local or spark", found=self.engine)
        if self.engine != "spark" and self.master is not None:
            raise ParameterError("master", expected="engine spark with it", found=self.engine)
        check_sizes(longest=self.longest, gzip_ratio=self.gzip_ratio)
        for name in ("unsafe_report_true_error", "spreadsheet_safe"):
            if getattr(self, name) and self.engine == "spark":
                raise ParameterError(name, expected="the local engine", found="spark")
        if self.engine == "spark" and self.has_times:
            raise ParameterError("start", expected="the local engine", found="spark")
        self.times()
        self.released_times()
        if self.again and self.release_id is not None:
            raise ParameterError(
                "again", expected="no release id with it, whose release is never made twice", found="both"
            )
        self._check_release_id()

    @property
    def has_times(self) -> bool:
        """Whether artificial times were asked for."""
        return self.start is not None or self.time_step is not None

    def released_times(self) -> TimeSettings | None:
        """What was asked for where true times are released privately."""
        if self.time_grid is None:
            for name in ("time_shift", "timezone", "time_share"):
                if getattr(self, name) is not None:
                    raise ParameterError(name, expected="`time_grid` with it", found="none")
            return None
        if self.engine == "spark":
            raise ParameterError("time_grid", expected="the local engine", found="spark")
        # imported where it is needed: it stands on Arrow, and these fields make options
        from symveil.release.timed import ANY, TimeSettings  # noqa: PLC0415

        settings = TimeSettings(
            grid=self.time_grid,
            shift=ANY if self.time_shift is None else self.time_shift,
            timezone=self.timezone,
            share=self.time_share,
        )
        if settings.has_waits and self.time_step is not None:
            raise ParameterError("time_step", expected="none with waits, which are released", found=self.time_step)
        if self.ledger is not None and str(settings.shift) != ANY:
            raise ParameterError(
                "time_shift", expected="any with a ledger, whose budgets are for events that change arbitrarily",
                found=self.time_shift,
            )  # fmt: skip
        return settings

    def times(self) -> ArtificialTimes | None:
        """The artificial times that were asked for."""
        if not self.has_times:
            return None
        # imported where it is needed: it stands on Arrow, and these fields make options
        from symveil.formats.sequences.stamps import ArtificialTimes  # noqa: PLC0415

        return ArtificialTimes.read(self.start, self.time_step, longest=self.longest)

    def _check_release_id(self) -> None:
        """A release id becomes part of a file's name."""
        release_id = self.release_id
        if release_id is None:
            return
        plain = all(character.isalnum() or character in "._-" for character in release_id)
        if not plain or not 0 < len(release_id) <= _LONGEST_ID or release_id.startswith("."):
            raise ParameterError(
                "release_id",
                expected=f"1 to {_LONGEST_ID} letters, digits, dots, dashes or underscores",
                found=release_id,
            )


class ReadingParameters(TypedDict, total=False):
    """The fields of `ColumnOptions` that say how a table is read."""

    sequence: str | None
    separator: str | None
    identifier: str | None
    case: str | None
    order: str | None
    symbol: str | None
    date_format: str | None


class FileReading(ReadingParameters, total=False):
    """The fields of `ColumnOptions` that say how the sequences of a file are read."""

    delimiter: str | None


class ColumnParameters(FileReading, total=False):
    """The fields of `ColumnOptions` that say how a file is read, and whose its sequences are."""

    person: str | None


class TableParameters(ChoiceParameters, ReadingParameters, total=False):
    """The fields of `MechanismChoice`, and of `ColumnOptions` as far as a table in memory has them."""

    keep: Iterable[str]


class FileParameters(ChoiceParameters, ColumnParameters, total=False):
    """The fields of `MechanismChoice`, `ColumnOptions` and `RunOptions`."""

    keep: Iterable[str]
    on_unknown: OnUnknown
    ledger: str | Path | None
    over_budget: OverBudget
    release_id: str | None
    again: bool
    engine: Engine
    master: str | None
    unsafe_report_true_error: bool
    longest: int
    gzip_ratio: int
    spreadsheet_safe: bool
    thin: bool
    start: str | None
    time_step: str | None
    time: str | None
    time_grid: str | None
    time_shift: str | int | None
    timezone: str | None
    time_share: Number | None


def no_pyspark() -> ParameterError:
    """The error where Spark is requested and not installed."""
    return ParameterError(
        "engine",
        expected="pyspark to be installed for spark (the extra symveil[spark], see docs/install.md)",
        found="none",
    )
