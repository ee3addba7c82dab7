"""A log of observations through a policy, file to file: what is shown for each of them, in the form of the log.

With a ledger or a release id the policy private releases it as `privatize_file` releases sequences: each person is
charged first, and a manifest says what is promised, which `check` rechecks.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from symveil.enforcement.enforce import Enforcement
from symveil.enforcement.length_tables import DIRECT
from symveil.errors import FileError, ParameterError, WordError, either
from symveil.formats.manifest import model_digest
from symveil.formats.reading import guarded, suffix
from symveil.formats.sequences.columns import ColumnOptions
from symveil.formats.sequences.records import SYMBOLS
from symveil.formats.sequences.sequence_files import FORMATS, open_sequences, read_sequences
from symveil.mechanisms.choice import MechanismChoice
from symveil.models.stochastic_system import PartiallyObserved
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
        notes = [f"{self.count} observation{'' if self.count == 1 else 's'} written to {out}"]
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

    Parameters
    ----------
    enforcement
        A system under the policy private.
    source, out
        The log, and the file to write: of the same format and form.
    columns
        How the log is read; `person` says whose budget an observation is charged to.
    run
        How it is released: ledger, over_budget, release_id.
    system_file
        Where the system was read from; the manifest has its plain name, and `check` looks for it beside the manifest.
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
