"""A file of sequences in, a private file of the same form out, and a manifest that says what was promised.

Columns that pass as they are, looked at in the private file: times, and columns that work like names.

Everything here is read from the output, where these columns are public, and only the first records: nothing depends on
a secret sequence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Unpack, cast

import pyarrow as pa

from symveil import __version__
from symveil.errors import FileError, ParameterError
from symveil.formats.manifest import stamped_columns
from symveil.formats.models.model_files import load_word_model
from symveil.formats.reading import Apostrophes, path_of
from symveil.formats.sequences.columns import PROCESS_MINING, ColumnOptions
from symveil.formats.sequences.records import is_list, keep_column
from symveil.formats.sequences.sequence_file import SequenceFile
from symveil.formats.sequences.sequence_files import open_sequences
from symveil.formats.sequences.stamps import ArtificialTimes, PrivateWaits
from symveil.languages.graph import Model
from symveil.ledger.units import shown_units
from symveil.mechanisms.calibrate import attacker_of_file, averaged_lengths, expected_error_of_file
from symveil.mechanisms.choice import MechanismChoice, requested_choice
from symveil.models.alphabet import Alphabet, Symbol, split_word
from symveil.numbers.progress import Progress, accepted, silent
from symveil.numbers.rationals import spelled
from symveil.parameters import described, shows_fields
from symveil.release.batch import Job, Written
from symveil.release.local import LocalJob
from symveil.release.private_file import PrivateFile
from symveil.release.protocol import Decisions, Protocol, Settings, check_ledger_apart, decisions, made_by
from symveil.release.spec import LocalSpec
from symveil.tasks.doubts import (
    dropped_ids,
    given_up_notes,
    large_dropped_share,
    large_loss,
    warn,
)
from symveil.tasks.limits import LIMITS
from symveil.tasks.parameters import FileParameters, RunOptions, no_pyspark
from symveil.tasks.release_report import FileRelease

_FEWEST = 20
"""With fewer records there is no warning about the number of values."""
_NEARLY = 0.9
_EMPTY = (None, "", '""')
_STAMP = re.compile(r"\s*\"?(\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{4}/\d\d/\d\d|\d{1,2}:\d\d(:\d\d|\b))")


def passed_column_warnings(out: Path, manifest: Mapping[str, Any]) -> list[str]:
    """A line for each kept column that holds times, or nearly as many values as there are sequences or events.

    `out` may be the folder that Spark wrote.

    >>> import tempfile
    >>> from symveil.tasks.privatize_file import privatize_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source = Path(folder, "in.csv")
    ...     _ = source.write_text("s,day\\na b,2024-05-01\\nb,2024-05-01\\n")
    ...     options = {"alphabet": "ab", "epsilon": 1, "sequence": "s", "keep": ["day"]}
    ...     released = privatize_file(source, Path(folder, "out.csv"), **options)
    >>> released.warnings[0][:38]
    "`keep` of 'day' passes times as they a"
    """
    names = tuple(manifest.get("kept", ()))
    if not names or not (out.is_file() or out.is_dir()):  # a table of a catalogue is not read again for this
        return []
    columns = [_Column(name) for name in names]
    left = LIMITS.now.passed_records
    for batch in chain.from_iterable(file.records() for file in PrivateFile(out, dict(manifest)).files(keep=names)):
        for index, column in enumerate(columns):
            column.add(batch.column(keep_column(index)).slice(0, left))
        left -= len(batch)
        if left <= 0:
            break
    return [doubt for column in columns if (doubt := column.doubt()) is not None]


class _Column:
    """The first values of a kept column, those of all rows and the first of each sequence."""

    def __init__(self, name: str) -> None:
        self._name, self._is_time = name, name == PROCESS_MINING["order"]
        self._values: list[Any] = []
        self._first: list[Any] = []

    def add(self, cells: Any) -> None:
        kind = cells.type.value_type if is_list(cells.type) else cells.type
        self._is_time = self._is_time or pa.types.is_temporal(kind)
        rows = cells.to_pylist()
        if is_list(cells.type):
            self._first += [row[0] for row in rows if row]
            self._values += [value for row in rows for value in row or ()]
        else:
            self._values += rows

    def doubt(self) -> str | None:
        filled = [value for value in self._values if value not in _EMPTY]
        stamps = sum(1 for value in filled if isinstance(value, str) and _STAMP.match(value))
        what = f"`keep` of {self._name!r}"
        if self._is_time or (filled and stamps >= _NEARLY * len(filled)):
            return (
                f"{what} passes times as they are, unprotected: an attacker who knows when a person was somewhere can "
                "find the sequence; leave it out, or keep a coarser column"
            )
        if _nearly_all_differ(self._values) or _nearly_all_differ(self._first):
            return (
                f"{what} passes nearly as many values as there are rows, unprotected: it works like a name; leave "
                "it out, or keep a coarser column"
            )
        return None


def _nearly_all_differ(values: list[Any]) -> bool:
    filled = [repr(value) for value in values if value not in _EMPTY]
    return len(filled) >= _FEWEST and len(set(filled)) >= _NEARLY * len(filled)


@shows_fields(MechanismChoice, ColumnOptions, RunOptions, types=FileParameters, first=("epsilon", "alphabet", "model"))
def privatize_file(
    path: str | Path,
    out: str | Path,
    *,
    alphabet: Alphabet | Iterable[Symbol] | None = None,
    model: Model | str | Path | None = None,
    choice: MechanismChoice | None = None,
    columns: ColumnOptions | None = None,
    run: RunOptions | None = None,
    progress: Progress | None = None,
    **named: Unpack[FileParameters],
) -> FileRelease:
    """Privatise a file of sequences (CSV, JSON Lines, Parquet, XES; long or wide; each also gzipped).

    The alphabet or the model is public and given; the columns are named, or found where there is only
    one reading. With a ledger every person is charged before anything is
    drawn; a run that was killed goes on under the same charge. docs/files.md has the rest.

    Parameters
    ----------
    path, out
        The file of sequences, and the private file to write: of the same format and form.
    alphabet, model
        One of them: the symbols, or the model (or its file) whose words are released.
    choice
        Which mechanism with which parameters; or its fields by name: epsilon, mechanism, adjacency, calibration, prior,
        utility, offset, public_start, metric, max_length, cutoff, cost, cap, balanced, step, costs, beyond.
    columns
        How the file is read; or by name: sequence, separator, identifier, case, order, symbol, person,
        delimiter, date_format, keep, time.
    run
        How it is released; or by name: on_unknown, ledger, over_budget, release_id, again, engine, master,
        unsafe_report_true_error, longest, gzip_ratio, spreadsheet_safe, thin, start, time_step,
        time_grid, time_shift, timezone, time_share.
    progress
        Called with how much of a pass over the file is done, and of how much; with `what` (charging, releasing) and
        `records` (how many were read), if it takes them by name.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source = Path(folder, "trips.csv")
    ...     _ = source.write_text("trip_id,links\\n1,a b a\\n2,b\\n")
    ...     release = privatize_file(source, Path(folder, "private.csv"), alphabet="ab", epsilon=2)
    ...     release.manifest["counts"]["released"], release.manifest["how"]
    (2, 'exact')
    """
    progress = accepted(progress, before=3)
    request = ReleaseRequest.of(
        "privatize_file", dict(named), alphabet=alphabet, model=model, choice=choice, columns=columns, run=run
    )
    made = release_file(
        request.release,
        path_of(path),
        path_of(out, name="out"),
        columns=request.columns,
        run=request.run,
        model_file=request.model_file,
        notes=list(request.notes),
        progress=progress,
    )
    warn(made.warnings)
    return made


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleaseRequest:
    """What `privatize_file` was asked for: what is released by what, how the file is read, and how it is released."""

    release: LocalSpec
    columns: ColumnOptions
    run: RunOptions
    model_file: Path | None
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        function: str,
        loose: dict[str, Any],
        *,
        alphabet: Alphabet | Iterable[Symbol] | None,
        model: Model | str | Path | None,
        choice: MechanismChoice | None,
        columns: ColumnOptions | None = None,
        run: RunOptions | None = None,
    ) -> ReleaseRequest:
        """From objects, or from the names of their fields in `loose`; `function` is what messages call the caller."""
        choice = requested_choice(function, FileParameters, loose, given=choice, not_private=True)
        if "keep" in loose:
            loose["keep"] = tuple(cast("Iterable[str]", loose["keep"]))
        columns = described(ColumnOptions, columns, loose, name="columns")
        run = described(RunOptions, run, loose, name="run")
        notes: list[str] = []
        model_file = Path(model) if isinstance(model, str | Path) else None
        loaded = load_word_model(model_file, notes=notes) if model_file is not None else cast("Model | None", model)
        release = LocalSpec.from_choice(choice, alphabet=alphabet, model=loaded, times=run.released_times())
        if (columns.time is None) != (release.times is None):
            wanting = "time_grid" if release.times is None else "time"
            raise ParameterError(wanting, expected="`time` and `time_grid` together", found="one of them")
        if columns.time is not None and columns.time in columns.keep:
            raise ParameterError("keep", expected="no column of times whose grid is released", found=repr(columns.time))
        if run.unsafe_report_true_error and choice.metric == "levenshtein":
            raise ParameterError("unsafe_report_true_error", expected="metric hamming", found=choice.metric)
        return cls(release=release, columns=columns, run=run, model_file=model_file, notes=tuple(notes))


def release_file(
    release: LocalSpec,
    source: Path,
    target: Path,
    *,
    columns: ColumnOptions,
    run: RunOptions,
    model_file: Path | None = None,
    notes: list[str] | None = None,
    progress: Progress | None = None,
) -> FileRelease:
    """A file through the mechanism of a release, by the protocol: charged, written aside, put in its place."""
    choice, notes = release.choice, list(notes or ())
    check_ledger_apart(run.ledger, source, target)
    job = file_job(source, target, release, columns, run, progress or silent)

    def calibrate(job: Job[Any]) -> Decisions:
        nonlocal release
        release.refuse_thin(job.legal_lengths, thin=run.thin)  # before anybody is charged
        job.calibrate(partial(averaged_lengths, release.mechanism))
        release = replace(release, mechanism=job.mechanism)
        return decisions(release.mechanism, job.lengths)

    def manifest_text(name: str, written: Written, date: str) -> str:
        if run.ledger is None:
            release.refuse_thin(written.lengths, thin=run.thin)  # before the output is put in its place
        joint = release.times is not None and release.times.joint  # averages are of words that are drawn alone
        return release.manifest(
            job.facts,
            name,
            written,
            version=__version__,
            record=job.record,
            model_file=model_file,
            charged=run.ledger is not None,
            further={
                "date": date,
                "kept": list(columns.keep),
                "person": columns.person,
                "expected_error": None if joint else expected_error_of_file(release.mechanism, written.lengths),
                "attacker": None if joint else attacker_of_file(release.mechanism, written.lengths),
            },
        ).text()

    protocol = Protocol(
        job=job,
        target=target,
        manifest_text=manifest_text,
        describe=lambda: Settings(
            options=release.options(
                on_unknown=run.on_unknown,
                columns=stamped_columns(columns),
                over_budget=run.over_budget,
                # only where it is asked for: the parameters of other releases stay what they were
                **({"spreadsheet_safe": True} if run.spreadsheet_safe else {}),
                **({"times": [run.start, run.time_step]} if run.has_times else {}),
                **({} if release.times is None else {"time_law": release.times.decided()}),
            ),
            made_by=made_by(version=__version__, engine=run.engine, facts=job.facts),
        ),
        calibrate=calibrate,
        release_id=run.release_id,
        again=run.again,
    )
    if run.ledger is not None and not job.has_ids and columns.person is None:
        notes.append(
            f"each {job.unit} counts as a person of its own, known to the ledger by its number only; name `person` "
            "or `identifier` where the same people come again"
        )
    if release.mechanism.law.tells_nothing:
        notes.append(
            f"at epsilon {spelled(choice.epsilon)} the release carries no information: every sequence becomes empty; "
            "use a larger epsilon, or a public bound `max_length` where sequences are short"
        )
    if run.ledger is None and columns.person is not None:
        notes.append("no one is charged: `person` says who pays, and there is no `ledger`")
    with job.explained():
        finished = protocol.run(run.ledger, release.price, run.over_budget)
    bill = finished.bill
    if bill is not None and job.has_ids and columns.person is None:
        notes.append(
            f"{bill.persons} persons for {bill.sequences} sequences: each pays as a person of its own, known by its "
            "id; name `person` if people recur"
        )
    charged = None if bill is None else shown_units(bill.largest)
    if columns.person is not None:
        notes.append(_cost_of_a_person(choice.epsilon, finished.written))
    return FileRelease(
        out=target,
        manifest_file=finished.manifest_file,
        manifest=finished.manifest,
        already_done=finished.already_done,
        persons=None if bill is None else bill.persons,
        largest_charge=charged,
        notes=(*notes, *release.mechanism.remarks.notes, *given_up_notes(release.mechanism)),
        warnings=(
            *large_loss(choice.epsilon, charged),
            *large_dropped_share(finished.manifest["counts"]),
            *dropped_ids(job.dropped_ids),
            *passed_column_warnings(target, finished.manifest),
        ),
        true_error=None if finished.written is None else finished.written.true_error,
    )


def _cost_of_a_person(epsilon: Fraction, written: Written | None) -> str:
    """What all sequences of one person cost together, for the holder, and what costs less."""
    most = None if written is None else written.most_of_a_person
    here = "" if most is None else f", here up to {most} × {spelled(epsilon)} = {spelled(most * epsilon)}"
    return (
        f"a person loses epsilon for every sequence of theirs{here}; if you may see the whole file, symveil count and "
        "symveil learn with synthesize cost one epsilon per person"
    )


def _require_header(file: SequenceFile, alphabet: Alphabet) -> None:
    """Refuse a file whose first line is a sequence: as a header it would pass unprotected."""
    name, separator = file.names()["sequence"], file.separator
    symbols = name.split() if separator == " " else split_word(name, separator)
    if len(symbols) > 1 and set(map(str, alphabet.symbols)).issuperset(symbols):
        raise FileError(
            str(file.file),
            expected="a header in the first line",
            found="what reads as a sequence, which would pass unprotected; write a header above it, or name the column "
            "with `sequence` if this is its name",
        )


def file_job(
    source: Path,
    target: Path,
    release: LocalSpec,
    columns: ColumnOptions,
    run: RunOptions,
    progress: Progress,
    *,
    proved: bool = True,
) -> Job[Any]:
    """The input, the output, and the engine between them; `proved` as `whole_loss` has it."""
    job = _job(source, target, release, columns, run, progress)
    if run.on_unknown == "error":  # a word that is left out has no others in its place
        job.whole_loss = release.whole_loss(proved=proved)
    return job


def _job(
    source: Path, target: Path, release: LocalSpec, columns: ColumnOptions, run: RunOptions, progress: Progress
) -> Job[Any]:
    if run.engine == "spark":
        try:  # imported when asked for: it needs pyspark, and starting a JVM takes its time
            from symveil.release.spark_job import SparkJob  # noqa: PLC0415
        except ModuleNotFoundError:
            raise no_pyspark() from None
        return SparkJob(source, target, columns, release.mechanism, on_unknown=run.on_unknown, master=run.master)
    apostrophes: Apostrophes = "written" if run.spreadsheet_safe else "none"
    file = open_sequences(
        source,
        columns,
        longest=run.longest,
        most_times=run.gzip_ratio,
        apostrophes=apostrophes,
        times=_written_times(release, run),
    )
    file.check_symbols(release.alphabet)
    if file.separator is not None and columns.sequence is None:
        _require_header(file, release.alphabet)
    return LocalJob(
        file,
        target,
        release.mechanism,
        on_unknown=run.on_unknown,
        true_error=run.unsafe_report_true_error,
        progress=progress,
        spreadsheet_safe=run.spreadsheet_safe,
        times=release.times,
    )


def _written_times(release: LocalSpec, run: RunOptions) -> ArtificialTimes | PrivateWaits | None:
    """What stands in the place of the true times."""
    if release.times is None or release.times.grid.waits is None:
        return run.times()
    return PrivateWaits(ArtificialTimes.read(run.start).start)
