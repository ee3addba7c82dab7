"""A file of sequences in, a private file of the same form out, and a manifest that says what was promised."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from symveil.engines.batch import OnUnknown
from symveil.errors import ParameterError
from symveil.io.columns import ColumnOptions
from symveil.io.formulas import Apostrophes
from symveil.io.manifest import manifest_path
from symveil.io.model_files import load_word_model
from symveil.io.reading import MOST_TIMES
from symveil.io.records import LONGEST
from symveil.io.sequence_files import open_sequences
from symveil.io.symbols import check_separable
from symveil.languages.graph import Model
from symveil.ledger.charging import OverBudget
from symveil.ledger.store import Database
from symveil.mechanisms.choice import read_choice
from symveil.models.alphabet import Alphabet, Symbol
from symveil.numerics.rationals import Number, spelled
from symveil.privacy.parameters import Adjacency
from symveil.workflows.releasing.job import Job, Progress
from symveil.workflows.releasing.local_job import LocalJob
from symveil.workflows.releasing.promise import Release, manifest, parameters, price
from symveil.workflows.releasing.protocol import Finished, Protocol
from symveil.workflows.releasing.settings import Settings, made_by, spelled_columns, worked_out

_LONGEST_ID = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class FileRelease:
    """A private file, its manifest, and what there is to say about them."""

    out: Path
    manifest_file: Path
    manifest: dict[str, Any] = field(repr=False)
    already_done: bool = False
    """Whether an earlier run had finished this release: nothing was drawn and nobody charged."""
    notes: tuple[str, ...] = ()
    true_error: dict[str, float] | None = field(default=None, repr=False)
    """How many symbols were really changed. It depends on the secret words: do not publish it."""

    def document(self) -> dict[str, object]:
        """The JSON form: the manifest, and where it and the output are."""
        told: dict[str, object] = {
            **self.manifest,
            "out": str(self.out),
            "manifest": str(self.manifest_file),
            "already_done": self.already_done,
        }
        if self.true_error is not None:
            told["unsafe_true_error"] = self.true_error
        return told


def privatize_file(
    path: str | Path,
    out: str | Path,
    *,
    epsilon: Number,
    alphabet: Alphabet | Iterable[Symbol] | None = None,
    model: Model | str | Path | None = None,
    mechanism: str = "auto",
    adjacency: Adjacency = 1,
    calibration: str = "tight",
    prior: str = "uniform",
    utility: str = "distance",
    offset: Number = 1,
    public_start: bool = False,
    metric: str = "hamming",
    max_length: int | None = None,
    cutoff: int | None = None,
    sequence: str | None = None,
    separator: str | None = None,
    identifier: str | None = None,
    case: str | None = None,
    order: str | None = None,
    symbol: str | None = None,
    person: str | None = None,
    keep: Iterable[str] = (),
    on_unknown: OnUnknown = "error",
    ledger: str | Path | None = None,
    over_budget: OverBudget = "error",
    release_id: str | None = None,
    engine: Literal["local", "spark"] = "local",
    master: str | None = None,
    unsafe_report_true_error: bool = False,
    longest: int = LONGEST,
    gzip_ratio: int = MOST_TIMES,
    spreadsheet_safe: bool = False,
    progress: Progress | None = None,
) -> FileRelease:
    """Privatise a file of sequences (CSV, JSON Lines, Parquet, XES; long or wide; each also gzipped).

    The alphabet or the model is public and given; the columns are named, or found where there is only
    one reading. With a `ledger` (a file, or postgresql://…) every person is charged before anything is
    drawn; a run that was killed goes on under the same charge. `spreadsheet_safe` puts an apostrophe before
    cells of a CSV file that a spreadsheet would take for formulas. docs/files.md tells the rest.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source = Path(folder, "trips.csv")
    ...     _ = source.write_text("trip_id,links\\n1,a b a\\n2,b\\n")
    ...     release = privatize_file(source, Path(folder, "private.csv"), alphabet="ab", epsilon=2)
    ...     release.manifest["counts"]["released"], release.manifest["how"]
    (2, 'exact')
    """
    notes: list[str] = []
    model_file = Path(model) if isinstance(model, str | Path) else None
    loaded = load_word_model(model_file, notes=notes) if model_file is not None else cast("Model | None", model)
    choice = read_choice(
        epsilon,
        mechanism=mechanism,
        adjacency=adjacency,
        metric=metric,
        calibration=calibration,
        prior=prior,
        utility=utility,
        offset=offset,
        public_start=public_start,
        max_length=max_length,
        cutoff=cutoff,
        not_private=True,  # refused below, in the words for files
    )
    release = Release.of(choice, alphabet=alphabet, model=loaded)
    if unsafe_report_true_error and choice.metric == "levenshtein":
        raise ParameterError("unsafe_report_true_error", expected="metric hamming", found=choice.metric)
    if over_budget not in ("error", "drop"):
        raise ParameterError("over_budget", expected="error or drop", found=over_budget)
    if engine != "spark" and master is not None:
        raise ParameterError("master", expected="engine spark with it", found=engine)
    for name, value in (("longest", longest), ("gzip_ratio", gzip_ratio)):
        if value < 1:
            raise ParameterError(name, expected="a whole number, 1 or more", found=value)
    _check_release_id(release_id)
    columns = ColumnOptions(
        sequence=sequence,
        separator=separator,
        identifier=identifier,
        case=case,
        order=order,
        symbol=symbol,
        person=person,
        keep=tuple(keep),
    )
    source, target = Path(path), Path(out)
    _check_apart(ledger, source, target)
    job: Job
    if engine == "spark":
        # imported when asked for: it needs pyspark, and starting a JVM takes its time
        from symveil.workflows.releasing.spark_job import SparkJob  # noqa: PLC0415

        _check_local(unsafe_report_true_error=unsafe_report_true_error, spreadsheet_safe=spreadsheet_safe)
        job = SparkJob(source, target, columns, release.mechanism, on_unknown=on_unknown, master=master)
    elif engine == "local":
        apostrophes: Apostrophes = "written" if spreadsheet_safe else "none"
        file = open_sequences(source, columns, longest=longest, most_times=gzip_ratio, apostrophes=apostrophes)
        if file.separator is not None:
            check_separable(release.alphabet, file.separator)
        job = LocalJob(
            file,
            target,
            release.mechanism,
            on_unknown=on_unknown,
            true_error=unsafe_report_true_error,
            progress=progress or _silent,
            spreadsheet_safe=spreadsheet_safe,
        )
    else:
        raise ParameterError("engine", expected="local or spark", found=engine)
    protocol = Protocol(
        job=job,
        target=target,
        manifest_text=lambda name, written: manifest(
            release, job, name, written, model_file=model_file, charged=ledger is not None
        ).text(),
        settings=Settings(
            asked=parameters(
                release,
                on_unknown=on_unknown,
                columns=spelled_columns(columns),
                over_budget=over_budget,
                # only where it is asked for: the parameters of other releases stay what they were
                **({"spreadsheet_safe": True} if spreadsheet_safe else {}),
            ),
            made_by=made_by(engine=engine, facts=job.facts),
        ),
        worked_out=lambda job: worked_out(release.mechanism, job.lengths),
        release_id=release_id,
    )
    if ledger is not None and not job.has_ids and person is None:
        notes.append(
            f"each {job.unit} counts as a person of its own, known to the ledger by its number only; name --person "
            "or --id where the same people come again"
        )
    if release.mechanism.tells_nothing:
        notes.append(
            f"at epsilon {spelled(choice.epsilon)} the release carries no information: every sequence becomes empty; "
            "use a larger epsilon, or a public bound --max-length where sequences are short"
        )
    with job.explained():
        finished = _through(protocol, release, ledger, over_budget)
    return FileRelease(
        out=target,
        manifest_file=finished.manifest_file,
        manifest=finished.manifest,
        already_done=finished.already_done,
        notes=tuple(notes),
        true_error=None if finished.written is None else finished.written.true_error,
    )


def _through(protocol: Protocol, release: Release, ledger: str | Path | None, over_budget: OverBudget) -> Finished:
    if ledger is None:
        return protocol.without_ledger()
    database = Database(str(ledger))
    try:
        return protocol.with_ledger(database, price(release), over_budget)
    finally:
        database.close()


def _check_apart(ledger: str | Path | None, source: Path, target: Path) -> None:
    """A ledger in the output's place would be replaced by it, and every charge with it."""
    if ledger is None or "://" in str(ledger):
        return
    for other in (source, target, manifest_path(target)):
        if Path(ledger).absolute() == other.absolute():
            raise ParameterError("ledger", expected="a file of its own", found="the input or the output")


def _check_local(**asked: bool) -> None:
    """Refuse what only the local engine does."""
    for name, wanted in asked.items():
        if wanted:
            raise ParameterError(name, expected="the local engine", found="spark")


def _check_release_id(release_id: str | None) -> None:
    """A release id becomes part of a file's name."""
    if release_id is None:
        return
    plain = all(character.isalnum() or character in "._-" for character in release_id)
    if not plain or not 0 < len(release_id) <= _LONGEST_ID or release_id.startswith("."):
        raise ParameterError(
            "release_id", expected=f"1 to {_LONGEST_ID} letters, digits, dots, dashes or underscores", found=release_id
        )


def _silent(_what: str, _done: float, _records: int) -> None:
    return
