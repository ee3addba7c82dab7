"""The parameters of a release, by their names: what a function takes that is given as objects or word by word.

A release is described by a `MechanismChoice`, by `ColumnOptions`, and by `RunOptions`. Python users may hand over these
objects, or the names of their fields: `privatize_file(path, out, epsilon=2, ledger="budgets.db")`.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable
from dataclasses import MISSING, dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, TypedDict, TypeVar, get_args

from symveil.errors import ParameterError
from symveil.formats.manifest import manifest_path
from symveil.formats.reading import MOST_TIMES
from symveil.formats.sequences.artificial_times import ArtificialTimes
from symveil.formats.sequences.records import LONGEST, check_sizes
from symveil.languages.cost_table import CostTable
from symveil.laws.parameters import Adjacency
from symveil.ledger.charging import OverBudget
from symveil.mechanisms.choice import MechanismChoice
from symveil.mechanisms.cost_choice import Cap
from symveil.numbers.rationals import Number
from symveil.release.batch import OnUnknown
from symveil.release.timed import ANY, TimeSettings

Engine = Literal["local", "spark"]
Described = TypeVar("Described")
Function = TypeVar("Function", bound=Callable[..., Any])

_LONGEST_ID = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class RunOptions:
    """How a file is released, apart from what is released by what.

    Parameters
    ----------
    on_unknown
        What happens to sequences that the alphabet or model does not have: "error", or "drop-sequence".
    ledger
        Where budgets are kept: a file, or postgresql://…; None: no person is charged.
    over_budget
        What happens to persons with too little budget: "error", or "drop".
    release_id
        The name of the release; the same name is never charged twice.
    again
        Without a release id: make a release once more whose output stands, and charge everybody a second time.
    engine, master
        "local", or "spark" with the address of the cluster.
    unsafe_report_true_error
        Also report how many symbols were changed, which depends on the secret words.
    longest
        Refuse longer sequences.
    gzip_ratio
        Refuse gzip files that unpack to more times their size.
    spreadsheet_safe
        Put an apostrophe before cells of a CSV file that a spreadsheet would take for formulas.
    thin
        Release although more than half of the positions of a typical word of the model have no alternative within b.
    start, time_step
        Artificial times of events, in the place of true ones: that of each first event, and from each to the next (such
        as "1h"). An XES log has some also where neither is given; a table with an event in each row has its order
        column rewritten to 1, 2, 3 … then.
    """

    on_unknown: OnUnknown = "error"
    ledger: str | Path | None = None
    over_budget: OverBudget = "error"
    release_id: str | None = None
    again: bool = False
    engine: Engine = "local"
    master: str | None = None
    unsafe_report_true_error: bool = False
    longest: int = LONGEST
    gzip_ratio: int = MOST_TIMES
    spreadsheet_safe: bool = False
    thin: bool = False
    start: str | None = None
    time_step: str | None = None
    time_grid: str | None = None
    time_shift: str | int | None = None
    timezone: str | None = None
    time_share: Number | None = None

    def __post_init__(self) -> None:
        if self.over_budget not in get_args(OverBudget):
            raise ParameterError("over_budget", expected="error or drop", found=self.over_budget)
        read_engine(self.engine, self.master)
        check_sizes(longest=self.longest, gzip_ratio=self.gzip_ratio)
        for name in ("unsafe_report_true_error", "spreadsheet_safe"):
            if getattr(self, name) and self.engine == "spark":
                raise ParameterError(name, expected="the local engine", found="spark")
        if self.engine == "spark" and self.has_times:
            raise ParameterError("start", expected="the local engine", found="spark")
        self.times()
        self.released_times()
        check_again(self.again, self.release_id)
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
        return ArtificialTimes.read(self.start, self.time_step, longest=self.longest) if self.has_times else None

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


class ChoiceParameters(TypedDict, total=False):
    """The fields of `MechanismChoice`, as they may be given: numbers of any kind."""

    epsilon: Number
    mechanism: str
    adjacency: Adjacency
    calibration: str
    prior: str
    utility: str
    offset: Number
    public_start: bool
    metric: str
    max_length: int | None
    cutoff: int | None
    cost: str | None
    cap: Cap | None
    balanced: bool
    beyond: str | Number | None
    step: int | None
    costs: CostTable | None


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


def read_engine(engine: str, master: str | None) -> Engine:
    """The engine that was asked for; a cluster's address goes with Spark only."""
    if engine not in get_args(Engine):
        raise ParameterError("engine", expected="local or spark", found=engine)
    if engine != "spark" and master is not None:
        raise ParameterError("master", expected="engine spark with it", found=engine)
    return "spark" if engine == "spark" else "local"


def no_pyspark() -> ParameterError:
    """The error where Spark is requested and not installed."""
    return ParameterError(
        "engine",
        expected="pyspark to be installed for spark (the extra symveil[spark], see docs/install.md)",
        found="none",
    )


def check_again(again: bool, release_id: str | None) -> None:
    """Refuse to make a release once more that has a name."""
    if again and release_id is not None:
        raise ParameterError("again", expected="no release id with it, whose release is never made twice", found="both")


def check_ledger_apart(ledger: str | Path | None, source: Path, target: Path) -> None:
    """A ledger in the output's place would be replaced by it, and every charge with it."""
    if ledger is None or "://" in str(ledger):
        return
    for other in (source, target, manifest_path(target)):
        # real paths, and not `resolve`: links that lead in a circle are refused where they are opened
        if os.path.realpath(ledger) == os.path.realpath(other):
            raise ParameterError("ledger", expected="a file of its own", found="the input or the output")


def described(kind: type[Described], given: Described | None, named: dict[str, Any], *, name: str) -> Described:
    """The object that was given as the parameter `name`, or the one that the named fields make.

    `named` has parameters of this description and of others; those of this one are taken out of it.

    >>> described(RunOptions, None, {"release_id": "r1"}, name="run").release_id
    'r1'
    """
    known = {each.name for each in fields(kind)}  # type: ignore[arg-type]  # a dataclass
    own = {key: named.pop(key) for key in list(named) if key in known}
    if given is None:
        return kind(**own)
    if not isinstance(given, kind):
        raise ParameterError(name, expected=f"a {kind.__name__}", found=f"a {type(given).__name__}")
    if own:
        raise ParameterError(next(iter(own)), expected=f"it inside {name}, which was given", found="both")
    return given


def described_choice(given: MechanismChoice | None, named: dict[str, Any]) -> MechanismChoice:
    """The choice that was given or named; one that is not private is refused by `Release.of`, in words for files."""
    if given is None:
        named["not_private"] = True
    return described(MechanismChoice, given, named, name="choice")


def check_choice_names(function: str, types: type, named: dict[str, Any], choice: MechanismChoice | None) -> None:
    """Refuse names that a function does not take, and a missing ε, as Python does."""
    check_names(function, types, named)
    if choice is None and "epsilon" not in named:
        raise TypeError(f"{function}() missing 1 required keyword-only argument: 'epsilon'")


def check_names(function: str, types: type, named: dict[str, Any]) -> None:
    """Refuse names that a function does not take, as Python does."""
    unknown = next((name for name in named if name not in types.__annotations__), None)
    if unknown is not None:
        raise TypeError(f"{function}() got an unexpected keyword argument {unknown!r}")


def shows_fields(*kinds: type, types: type, first: tuple[str, ...]) -> Callable[[Function], Function]:
    """Let a function's signature list the fields of descriptions that it takes by name, `first` before the others.

    Their types are those of `types`, the dictionary that the function takes them as.
    """

    def decorate(function: Function) -> Function:
        plain = inspect.signature(function)
        own = {name: each for name, each in plain.parameters.items() if each.kind is not each.VAR_KEYWORD}
        taken = {
            each.name: inspect.Parameter(
                each.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=_default(each.default),
                annotation=types.__annotations__[each.name].__forward_arg__,
            )
            for kind in kinds
            for each in fields(kind)
            if each.name in types.__annotations__
        }
        positional = [each for each in own.values() if each.kind is not each.KEYWORD_ONLY]
        by_name = {name: each for name, each in own.items() if each.kind is each.KEYWORD_ONLY}
        everything = taken | by_name
        ordered = [everything.pop(name) for name in first] + list(everything.values())
        function.__signature__ = plain.replace(parameters=[*positional, *ordered])  # type: ignore[attr-defined]
        return function

    return decorate


def _default(value: object) -> object:
    if value is MISSING:
        return inspect.Parameter.empty
    return int(value) if isinstance(value, Fraction) and value.denominator == 1 else value
