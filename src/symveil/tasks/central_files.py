"""What all central releases of a file share: their public support, rules for words, and the protocol.

Rules say that no symbol occurs twice, or that every word is a word of a model.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self, cast

import numpy as np

from symveil import __version__
from symveil.central.noise import Quality
from symveil.central.rules import RuledLaw, Rules
from symveil.central.time_tables import words_and_times
from symveil.central.word_law import Support, no_parameters
from symveil.errors import InputError, ParameterError
from symveil.estimation.table import Indices
from symveil.formats.manifest import NOISE_NAMES, stamped_columns
from symveil.formats.models.model_files import load_word_model
from symveil.formats.reading import path_of
from symveil.formats.sequences.columns import ColumnOptions
from symveil.formats.sequences.frames import frame_digest, is_frame, opened_frame
from symveil.formats.sequences.sequence_files import open_sequences
from symveil.formats.shapes import zones_of
from symveil.languages.graph import Model, require_words
from symveil.languages.language import AnyLength, runs_of_any_length, words_of_any_length
from symveil.laws.parameters import read_epsilon
from symveil.models.alphabet import Alphabet, Symbol
from symveil.models.names import shown
from symveil.models.times import WallClock
from symveil.parameters import Domain, File, OneOf, declared
from symveil.pictures.maps import Road
from symveil.release.central_job import (
    NOTHING_BESIDE,
    Answer,
    Beside,
    CentralJob,
    CentralSpec,
    CentralWords,
    FileWords,
    FrameWords,
    ObservedSymbols,
    PublicOrObserved,
)
from symveil.release.protocol import Decisions, Finished, Protocol, Settings, check_ledger_apart, made_by
from symveil.tasks.parameters import RunOptions, no_pyspark

# Fields that both a count and a law have.
COORDINATES = declared("Where symbols lie: CSV with symbol, x, y.", label="Places", domain=File())
ZONES = declared(
    "Zones: a grid such as 6 or 6x4 over the places, or CSV with symbol, zone.",
    label="Zones",
    domain=Domain(placeholder="G|FILE"),
)
NEIGHBOURS = declared(
    "Which files are to look alike: without a person, or with other records in their place.",
    label="Neighbouring files",
    domain=OneOf(labels={"add-remove": "without a person", "replace": "with other records in their place"}),
)
TIMEZONE = declared(
    "Of times: the zone whose clock is meant, such as Europe/Amsterdam; UTC by default.",
    label="Time zone",
    domain=Domain(placeholder="Z"),
)
PERIOD = declared(
    "Of times: the dates of starts, both included, such as 2024-01-01..2024-12-31.",
    label="Period",
    domain=Domain(placeholder="A..B"),
    more="A public range.",
)
DURATIONS = declared(
    "Of times: the public bins of waits, such as 1s..365d (the default) or their edges, 0,1m,1h,1d.",
    label="Bins of durations",
    domain=Domain(placeholder="A..B|EDGES"),
)

TIME_GRAMMAR = 1
"""The version of `formats.sequences.stamps`: times that are read otherwise are another input."""


def public_language(
    alphabet: Alphabet | Iterable[Symbol] | None, model: Model | str | Path | None, *, what: str = "count"
) -> tuple[AnyLength, str | None]:
    """The words that count, and the plain name of the model's file."""
    if (alphabet is None) == (model is None):
        actual = "none" if model is None else "both"
        raise InputError(f"{what}: expected a public alphabet or a public model, found {actual}")
    if model is None:
        return words_of_any_length(cast("Iterable[Symbol]", alphabet)), None
    if isinstance(model, str | Path):
        return runs_of_any_length(load_word_model(Path(model))), Path(model).name
    return runs_of_any_length(model), None


def symbol_zones(
    symbols: Sequence[str], zones: str | Path | None, roads: Mapping[str, Road], *, public: bool = True
) -> tuple[Indices, tuple[str, ...]]:
    """The zone of each symbol, and the names of zones: those that have a symbol, in the order of their names.

    Where symbols are those of a secret file, and not `public`, no message names one.
    """
    _, zone_of = zones_of(zones, roads)
    missing = [symbol for symbol in symbols if symbol not in zone_of]
    if missing:
        others = f" and {len(missing) - 1} others" if len(missing) > 1 else ""
        which = f"{shown(missing[0])}{others}" if public else f"{len(missing)} of them"
        raise InputError(f"zones: expected a zone for every symbol, found none for {which}")
    names = tuple(sorted({zone_of[symbol] for symbol in symbols}))
    number = {name: index for index, name in enumerate(names)}
    return np.array([number[zone_of[symbol]] for symbol in symbols], dtype=np.int64), names


def zones_digest(names: Sequence[str], zone: Indices) -> str:
    """Of the zone of each symbol, in the order of the symbols."""
    return hashlib.sha256(json.dumps([names[each] for each in zone.tolist()]).encode()).hexdigest()


_OF_A_RUN = ("ledger", "release_id", "again", "engine", "master", "longest", "gzip_ratio")


def run_options(named: dict[str, Any]) -> RunOptions:
    """How a central release is made, by the names that were given; they are taken out of `named`."""
    return RunOptions(**{name: named.pop(name) for name in _OF_A_RUN if name in named})


def counts_records(manifest: Mapping[str, Any]) -> bool:
    """Whether each record counts as one person, since no column of persons was given; older manifests do not say."""
    return manifest.get("person", "") is None


RECORDS_COUNT = (
    "each case or sequence counts as one person, since no person column was given: a person with k of them loses k "
    "times epsilon"
)
"""What the loss means where no column says whose a record is."""


ENOUGH_FOR_TIMES = 400
"""Persons, times the ε of times: with fewer, times are mostly noise."""


def law_warnings(promise: Mapping[str, Any] | None, quality: Quality | None) -> tuple[str, ...]:
    """Where the words of a law, or its times, are mostly noise: by the released number of persons, and nothing else."""
    if quality is None:
        return ()
    if promise is None or "times" not in promise:
        return quality.warnings
    attributes = sum((Fraction(each["share"]) for each in promise.get("attributes", ())), Fraction(0))
    _, of_times = words_and_times(
        read_epsilon(promise["epsilon_exact"]), times=Fraction(promise["times"]["share"]), attributes=attributes
    )
    needed = ENOUGH_FOR_TIMES / of_times
    if quality.persons >= needed:
        return quality.warnings
    return (
        *quality.warnings,
        f"times are mostly noise: {quality.persons:,.0f} persons, a noisy number, and {float(needed):,.0f} would do at "
        "this epsilon; count times instead (symveil count --time), which costs less",
    )


@dataclass(frozen=True, kw_only=True)
class CentralFile:
    """What a central release wrote: a file, and its manifest.

    Parameters
    ----------
    out, manifest_file
        The file, and the manifest beside it.
    manifest
        What was promised.
    already_done
        Whether an earlier run had finished this release.
    """

    out: Path
    manifest_file: Path
    manifest: dict[str, Any] = field(repr=False)
    already_done: bool = False

    @classmethod
    def from_finished(cls, out: Path, finished: Finished, **results: Any) -> Self:
        """What the protocol put in its place, with what else there is to say."""
        return cls(
            out=out,
            manifest_file=finished.manifest_file,
            manifest=finished.manifest,
            already_done=finished.already_done,
            **results,
        )

    def release_notes(self, what: str) -> tuple[str, ...]:
        """Remarks for the holder about this run.

        `what` is what the file has: a model or a table.
        """
        left_out = "persons whose budget does not cover epsilon are left out; their number is not shown"
        before = (
            f"this release was finished before: its {what} is unchanged, nothing was drawn, no one was charged again"
        )
        again = f"no ledger keeps count: every further {what} from the same file costs each person its epsilon again"
        charged = self.manifest["charged"] is not None
        return (
            *((RECORDS_COUNT,) if counts_records(self.manifest) else ()),
            left_out if charged else again,
            *((before,) if self.already_done else ()),
        )

    def _release_document(self) -> dict[str, object]:
        """What the JSON form says of the release."""
        return {
            "manifest": str(self.manifest_file),
            "release_id": self.manifest["release_id"],
            "person": self.manifest.get("person"),
            "charged": self.manifest["charged"],
            "passes_unprotected": self.manifest.get("passes_unprotected"),
            "already_done": self.already_done,
        }


def release_centrally(
    release: CentralSpec,
    source: Any,
    target: Path,
    answer: Answer,
    *,
    columns: ColumnOptions,
    run: RunOptions,
    facts: Mapping[str, object],
    observed: ObservedSymbols | None = None,
    beside: Beside = NOTHING_BESIDE,
    read_by: Mapping[str, object] = MappingProxyType({}),
) -> Finished:
    """A file, or a table in memory, through a central release by the protocol: charged, written, put in its place.

    Persons over budget are left out: an error would tell that one of them is in the file. `facts` are public facts
    about the output, its form among them. `observed` holds the symbols of a file whose alphabet is not public; `beside`
    says what is read of events beside their symbols, and `read_by` what decides how beside the parameters: the rules of
    a time zone. A run with other ones cannot finish the release.
    """
    in_memory = is_frame(source)
    path = target if in_memory else path_of(source)
    check_ledger_apart(run.ledger, path, target)
    language = release.language or observed or ObservedSymbols()
    words: CentralWords
    if run.engine == "spark":
        if in_memory:
            raise ParameterError("engine", expected="local with a table in memory", found=run.engine)
        words = spark_words(path, columns, language, run.master, beside)
    elif in_memory:
        frame = opened_frame(source, columns, longest=run.longest)
        words = FrameWords(frame, language, beside, digest=frame_digest(source))
    else:
        file = open_sequences(path, columns, longest=run.longest, most_times=run.gzip_ratio)
        words = FileWords(file, language, beside)
    job = CentralJob(words, target, answer, facts={"format": target.suffix.lower()[1:], **facts})
    protocol = Protocol(
        job=job,
        target=target,
        manifest_text=lambda name, written, date: release.manifest(
            name,
            written.digest,
            queries=job.queries,
            output=job.facts,
            version=__version__,
            charged=run.ledger is not None,
            date=date,
        ).text(),
        describe=lambda: Settings(
            options=release.options(columns=stamped_columns(columns)),
            made_by=made_by(version=__version__, engine=run.engine, facts=job.facts) | NOISE_NAMES | dict(read_by),
        ),
        calibrate=lambda _job: Decisions("discrete-laplace", None),
        release_id=run.release_id,
        again=run.again,
    )
    return protocol.run(run.ledger, release.price, "drop")


def reading_of_times(clock: WallClock) -> dict[str, object]:
    """What decides how times are read, for the stamp of a release: the grammar, and the rules of the time zone."""
    return {"reading of times": {"grammar": TIME_GRAMMAR, "zone": clock.zone, "zone rules": clock.digest()}}


def spark_words(
    source: Path,
    columns: ColumnOptions,
    language: PublicOrObserved,
    master: str | None,
    beside: Beside = NOTHING_BESIDE,
) -> CentralWords:
    """The words of a cluster."""
    try:  # imported when asked for: it needs pyspark, and starting a JVM takes its time
        from symveil.release.spark_records import SparkWords  # noqa: PLC0415
    except ModuleNotFoundError:
        raise no_pyspark() from None
    return SparkWords(source, columns, language, beside, master=master)


def declared_rules(symbols: Sequence[str], *, no_repeats: bool, constraint: Model | str | Path | None) -> Rules:
    """The rules of a law over these symbols.

    With `no_repeats` a word has every symbol at most once; words must be words of the `constraint`, a model or its
    file.

    >>> declared_rules("ab", no_repeats=True, constraint=None)
    Rules(once=(0, 1))
    """
    if not isinstance(no_repeats, bool):
        raise ParameterError("no_repeats", expected="True or False", found=no_repeats)
    models: tuple[Model, ...] = ()
    if isinstance(constraint, str | Path):
        models = (load_word_model(Path(constraint)),)
    elif constraint is not None:
        models = (require_words(constraint),)
    return Rules(once=tuple(range(len(symbols))) if no_repeats else (), constraints=models)


def require_legal_words(support: Support, rules: Rules, symbols: Sequence[str]) -> None:
    """Refuse rules that no word of the public lengths obeys, as far as automata and lengths can tell."""
    if len(rules.once) == support.symbols < support.shortest:
        raise ParameterError(
            "no_repeats",
            expected=f"words of at most {support.symbols} symbols, as many as there are",
            found=f"{support.shortest} and more",
        )
    RuledLaw.of(support, no_parameters(support), rules, symbols).trellis()


def needs_model_as_rule(language: AnyLength) -> bool:
    """Whether pairs of symbols do not decide what a word of the model is: it is no chain that begins anywhere."""
    graph = language.graph
    return graph is not None and not (graph.state_is_symbol and graph.start == len(graph.alphabet))
