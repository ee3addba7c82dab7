"""The policy, function or supervisor that a system is put under, and the log of observations that goes through it.

A log keeps its form, file to file. With a ledger or a release id the policy private releases it as `privatize_file`
releases sequences: each person is charged first, and a manifest says what is promised, which `check` rechecks."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from symveil.enforcement.enforce import Enforcement
from symveil.enforcement.length_tables import DIRECT
from symveil.errors import FileError, InputError, ParameterError, WordError, either
from symveil.formats.manifest import model_digest
from symveil.formats.reading import guarded, suffix
from symveil.formats.sequences.columns import ColumnOptions
from symveil.formats.sequences.records import SYMBOLS
from symveil.formats.sequences.sequence_files import FORMATS, open_sequences, read_sequences
from symveil.laws.parameters import Adjacency
from symveil.mechanisms.choice import MechanismChoice
from symveil.models.names import counted
from symveil.models.stochastic_system import PartiallyObserved
from symveil.numbers.rationals import Number, exact
from symveil.parameters import (
    Exact,
    File,
    OneOf,
    Several,
    Whole,
    declared,
    listing_fields,
    parameters_of,
)
from symveil.release.spec import LocalSpec
from symveil.tasks.parameters import RunOptions
from symveil.tasks.privatize_file import release_file
from symveil.tasks.release_report import FileRelease

LOG_SUFFIXES = (".csv", ".tsv", ".jsonl")
"""What is written where the log has another format."""


class Replacing(Protocol):
    """A system whose observations are replaced, many at a time."""

    @property
    def system(self) -> PartiallyObserved:
        """The system that is observed."""

    def release_many(self, observations: Sequence[Sequence[str]]) -> list[tuple[str, ...] | str]:
        """What is shown for each observation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownLog:
    """What to write for a log, how many observations it has, and the artificial times of its events, if any."""

    content: bytes
    count: int
    times: dict[str, object] | None = None

    def notes(self, out: Path) -> list[str]:
        """What there is to say about it."""
        notes = [f"{counted(self.count, 'observation')} written to {out}"]
        if self.times:
            notes.append(f"the times of events are artificial: from {self.times['start']}, {self.times['step']} apart")
        return notes


def enforced_log(
    enforcement: Replacing,
    source: Path,
    out: Path,
    columns: ColumnOptions | None = None,
    form: RunOptions | None = None,
) -> ShownLog:
    """What to write to `out` for a log: what is shown for each of its observations.

    Where `out` has the format of the log it gets its form too: ids, the columns to `keep`, one run or one event in
    each row. Otherwise it is CSV or JSON Lines with one column, `observation`. Lengths are public. Nothing is
    written here.
    """
    if out.exists() and source.exists() and out.samefile(source):
        raise FileError(str(out), expected="another file than the log", found="the same")
    options = columns or ColumnOptions()
    write = _in_its_form if _same_format(source, out) else _in_one_column
    return write(enforcement, source, out, options, form or RunOptions())


def release_log(
    enforcement: Enforcement, source: Path, out: Path, *, columns: ColumnOptions, run: RunOptions, system_file: Path
) -> FileRelease:
    """A log through the policy private, by the protocol of a release.

    `columns.person` says whose budget an observation is charged to. The manifest has the plain name of `system_file`,
    which `check` looks for beside the manifest.
    """
    if not _same_format(source, out):
        raise ParameterError("out", expected=f"a file name ending in {suffix(source)}, as the log's", found=out.name)
    system = {"file": system_file.name, "digest": model_digest(enforcement.system)}
    return release_file(log_policy(enforcement, system), source, out, columns=columns, run=run)


def log_policy(enforcement: Enforcement, system: dict[str, str]) -> LocalSpec:
    """What is released by what, and the public parameters of the policy; `system` is its file and its digest."""
    mechanism = enforcement.mechanism()
    policy: dict[str, object] = {
        "name": enforcement.policy,
        "k": enforcement.question.shown_k,
        "length": enforcement.horizon,
        "secret": list(enforcement.system.secret),
        "system": system,
    }
    if enforcement.release_by != DIRECT:  # manifests of former versions have no such entry, and that is what they mean
        policy["mechanism"] = enforcement.release_by
    choice = MechanismChoice(epsilon=mechanism.epsilon, adjacency=enforcement.adjacency)
    return LocalSpec(choice=choice, mechanism=mechanism, policy=policy)


def check_log_name(source: Path, out: Path, form: RunOptions | None = None) -> None:
    """Refuse a name that promises what cannot be written, before anything is computed."""
    if form is not None and form.has_times and not _same_format(source, out):
        raise ParameterError("start", expected=f"an `out` ending in {suffix(source)}, as the log's", found=out.name)
    if form is not None and form.spreadsheet_safe and FORMATS.get(suffix(out)) != "CSV":
        raise ParameterError("spreadsheet_safe", expected="CSV, which spreadsheets open, with it", found=out.name)
    if not _same_format(source, out) and out.suffix.lower() not in LOG_SUFFIXES:
        endings = either([*LOG_SUFFIXES, "as the log's does"])
        raise ParameterError("out", expected=f"a file name ending in {endings}", found=repr(out.name))


def _same_format(source: Path, out: Path) -> bool:
    return suffix(source) == suffix(out) and suffix(out) in FORMATS


def _in_its_form(enforcement: Replacing, source: Path, out: Path, options: ColumnOptions, form: RunOptions) -> ShownLog:
    log = open_sequences(
        source, options, apostrophes="written" if form.spreadsheet_safe else "none", times=form.times()
    )
    if log.separator is not None:
        _require_separable(enforcement, log.separator)
    batches = list(log.records())
    observations = [
        [str(event) for event in events] for batch in batches for events in batch.column(SYMBOLS).to_pylist()
    ]
    shown = iter(_released(enforcement, source, observations))
    content = io.BytesIO()
    writer = log.writer(content, packed=out.name.lower().endswith(".gz"))
    for batch in batches:
        index = batch.schema.get_field_index(SYMBOLS)
        column = pa.array([list(next(shown)) for _ in range(len(batch))], type=pa.list_(pa.string()))
        if pa.types.is_integer(batch.column(index).type.value_type):
            column = column.cast(pa.list_(batch.column(index).type.value_type))
        writer.write(batch.set_column(index, SYMBOLS, column))
    writer.close()
    times = None if log.times is None else log.times.document()
    return ShownLog(content=content.getvalue(), count=len(observations), times=times)


def _in_one_column(
    enforcement: Replacing, source: Path, out: Path, options: ColumnOptions, form: RunOptions
) -> ShownLog:
    if options.keep or options.is_long:
        raise ParameterError(
            "out", expected="the format of the log where `keep` or `case` names its columns", found=repr(out.name)
        )
    between = " " if options.separator is None else options.separator
    as_lists = out.suffix.lower() == ".jsonl"
    if not as_lists:
        _require_separable(enforcement, between)
    named = read_sequences(
        source,
        sequence=options.sequence,
        separator=options.separator,
        identifier=options.identifier,
        delimiter=options.delimiter,
    )
    with closing(named) as rows:
        shown = _released(enforcement, source, list(rows))
    text = io.StringIO()
    if as_lists:
        for each in shown:
            text.write(json.dumps({"observation": list(each)}, ensure_ascii=False) + "\n")
    else:
        writer = csv.writer(
            text,
            delimiter="\t" if out.suffix.lower() == ".tsv" else ",",
            lineterminator="\n",
            quoting=csv.QUOTE_ALL if form.spreadsheet_safe else csv.QUOTE_MINIMAL,
        )
        cells = (between.join(each) for each in shown)
        writer.writerow(["observation"])
        writer.writerows([guarded(cell) if form.spreadsheet_safe else cell] for cell in cells)
    return ShownLog(content=text.getvalue().encode(), count=len(shown))


def _require_separable(enforcement: Replacing, separator: str) -> None:
    if any((separator in event) if separator else len(event) != 1 for event in enforcement.system.observable):
        raise ParameterError(
            "separator", expected="one that occurs in no event, or an `out` that ends in .jsonl", found=repr(separator)
        )


def _released(
    enforcement: Replacing, source: Path, observations: Sequence[Sequence[str]]
) -> list[tuple[str, ...] | str]:
    try:
        return enforcement.release_many(observations)
    except WordError as error:
        raise WordError(f"{source}: {error}", position=error.position) from None


FUNCTIONS = ("insertion", "edit", "supervisor")
"""The policies that are functions or supervisors: deterministic, and where there is none, that is proved."""

_EVENT = Several(placeholder="E")
_EVENT_COST = Several(placeholder="E=C")


@listing_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyOptions:
    """What is done to a system, and how.

    >>> PolicyOptions(epsilon=2).policy
    'private'
    """

    policy: str = field(
        default="private",
        metadata=declared(
            "What is done: see above.",
            label="Policy",
            domain=OneOf(
                labels={
                    "private": "observations are released privately",
                    "safe": "sensitive strings are replaced by safe ones",
                    "substitution": "sensitive strings are replaced by any",
                    "insertion": "events are shown that did not happen",
                    "edit": "events are inserted and left out",
                    "supervisor": "controllable events are prevented",
                }
            ),
        ),
    )
    epsilon: Number | None = field(
        default=None,
        metadata=declared(
            "Privacy budget: a decimal or a fraction, above 0.",
            label="ε of the policy private",
            domain=Exact(placeholder="E"),
        ),
    )
    adjacency: Adjacency = field(
        default=1,
        metadata=declared(
            "Observations that differ in up to B events are to look alike.",
            label="Hidden events b",
            domain=Whole(placeholder="B|all", least=1, words=("all",)),
        ),
    )
    omega: int | None = field(
        default=None,
        metadata=declared(
            "With policy safe or substitution: the exact distance of substitutes.",
            label="Distance ω",
            domain=Whole(placeholder="W"),
        ),
    )
    length: int | None = field(
        default=None,
        metadata=declared(
            "At most so many observed events; needed where there are loops.",
            label="At most so many events",
            domain=Whole(),
        ),
    )


@listing_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionOptions:
    """What only the policies insertion, edit and supervisor look at.

    >>> FunctionOptions(insertable=("a",)).costs
    (None, None)
    """

    against: str | None = field(
        default=None,
        metadata=declared(
            "With insertion, edit: whether the attacker knows the function; default: informed if one is found.",
            label="Against an observer",
            domain=OneOf(labels={"informed": "who knows the function", "unaware": "who does not"}),
        ),
    )
    insertable: tuple[str, ...] = field(
        default=(),
        metadata=declared(
            "With insertion, edit: an event to insert; default: all. Repeatable.",
            label="Events that may be inserted",
            domain=_EVENT,
        ),
    )
    erasable: tuple[str, ...] = field(
        default=(),
        metadata=declared(
            "With edit: an event to leave out; default: all. Repeatable.",
            label="Events that may be left out",
            domain=_EVENT,
        ),
    )
    controllable: tuple[str, ...] = field(
        default=(),
        metadata=declared(
            "With supervisor: an event to disable; default: the controllable ones of MODEL. Repeatable.",
            label="Events that can be prevented",
            domain=_EVENT,
        ),
    )
    insert_cost: tuple[str, ...] = field(
        default=(),
        metadata=declared(
            "With insertion, edit: the cost of an inserted event; find the cheapest. Repeatable.",
            label="Costs of inserted events",
            domain=_EVENT_COST,
        ),
    )
    erase_cost: tuple[str, ...] = field(
        default=(),
        metadata=declared(
            "With edit: the cost of an event left out; find the cheapest. Repeatable.",
            label="Costs of events left out",
            domain=_EVENT_COST,
        ),
    )
    function: Path | None = field(
        default=None,
        metadata=declared(
            "With insertion, edit, supervisor: write it as JSON.", label="File of the function", domain=File()
        ),
    )

    @property
    def costs(self) -> tuple[dict[str, Fraction] | None, dict[str, Fraction] | None]:
        """What inserted events cost, and what events cost that are left out."""
        return (
            read_event_costs(self.insert_cost, name="insert_cost"),
            read_event_costs(self.erase_cost, name="erase_cost"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFiles:
    """A log that goes through a policy: both files or neither."""

    log: Path | None
    out: Path | None
    draw: Path | None
    columns: ColumnOptions
    run: RunOptions

    @property
    def is_release(self) -> bool:
        """Whether persons are charged and a manifest is written."""
        return self.run.ledger is not None or self.run.release_id is not None

    def check(self, policy: str, unobservable: Sequence[str]) -> None:
        """Refuse files and options that do not go together, before anything is computed."""
        if (self.log is None) != (self.out is None):
            raise InputError("log: expected `log` and `out` together, found one of them")
        if self.is_release and (self.log is None or policy != "private"):
            raise InputError(
                "ledger: expected `log` with the policy private, found a ledger or a release id without them"
            )
        if self.is_release and unobservable:
            raise InputError("unobservable: expected a MODEL that says it, which a check reads again, found an option")
        if not self.is_release and self.run.on_unknown != "error":
            reason = "neither; only a release drops"
            raise ParameterError("on_unknown", expected="`ledger` or `release_id` with it", found=reason)
        if self.log and self.out:
            check_log_name(self.log, self.out, self.run)
        elif self.run.spreadsheet_safe or self.run.has_times:
            name = "spreadsheet_safe" if self.run.spreadsheet_safe else "start" if self.run.start else "time_step"
            raise ParameterError(name, expected="`log` and `out` with it", found="neither")
        if self.log and policy == "supervisor":
            raise InputError("log: expected a policy that replaces observations, found supervisor, which prevents them")


def check_function_options(policy: PolicyOptions, notion: str, function: FunctionOptions) -> None:
    """Refuse options that the policy does not look at."""
    if policy.policy in FUNCTIONS:
        for each in parameters_of(PolicyOptions):
            value = getattr(policy, each.name)
            if each.name != "policy" and value != each.default:
                raise ParameterError(each.name, expected=f"none with the policy {policy.policy}", found=value)
        return
    for each in parameters_of(FunctionOptions):
        if getattr(function, each.name):
            raise ParameterError(each.name, expected=f"none with the policy {policy.policy}", found="some")
    if notion != "weak":
        raise ParameterError("notion", expected=f"none with the policy {policy.policy}", found="some")


def read_event_costs(texts: Sequence[str], *, name: str) -> dict[str, Fraction] | None:
    """Costs as they are typed, `event=cost` each; None where there is none.

    >>> read_event_costs(["main st=2", "a=b=1/2"], name="insert-cost")
    {'main st': Fraction(2, 1), 'a=b': Fraction(1, 2)}
    """
    costs: dict[str, Fraction] = {}
    for text in texts:
        event, between, cost = text.rpartition("=")
        if not between:
            raise ParameterError(name, expected="EVENT=COST", found=repr(text))
        if event in costs:
            raise ParameterError(name, expected="each event once", found=repr(event))
        costs[event] = exact(cost, name=name, expected="EVENT=COST with a number, 0 or more")
    return costs or None
