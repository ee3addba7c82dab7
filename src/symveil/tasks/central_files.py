"""What all central releases of a file share: their public support, and the protocol."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from symveil import __version__
from symveil.central.noise import Query
from symveil.errors import InputError, ParameterError
from symveil.estimation.batches import Indices
from symveil.formats.maps.zone_files import zones_of
from symveil.formats.models.model_files import load_word_model
from symveil.formats.reading import MOST_TIMES, path_of
from symveil.formats.sequences.columns import ColumnOptions
from symveil.formats.sequences.frames import frame_digest, is_frame, opened_frame
from symveil.formats.sequences.records import LONGEST
from symveil.formats.sequences.sequence_files import open_sequences
from symveil.languages.any_length import AnyLength, runs_of_any_length, words_of_any_length
from symveil.languages.graph import Model
from symveil.models.alphabet import Alphabet, Symbol
from symveil.pictures.road_map import Road
from symveil.release.central_job import (
    Answer,
    CentralJob,
    CentralWords,
    FileWords,
    FoundSymbols,
    FrameWords,
    PublicOrFound,
)
from symveil.release.central_promise import CentralRelease
from symveil.release.protocol import Finished, Protocol
from symveil.release.settings import Settings, WorkedOut, made_by, spelled_columns
from symveil.tasks.parameters import Engine, check_again, check_ledger_apart, no_pyspark, read_engine

NOISE_NAMES = {"naming of noise": "by content"}
"""In the stamp of a release: what names the noise of a cell. 0.3 numbered cells; what it began cannot be finished."""


def public_language(
    alphabet: Alphabet | Iterable[Symbol] | None, model: Model | str | Path | None, *, what: str = "count"
) -> tuple[AnyLength, str | None]:
    """The words that count, and the plain name of the model's file."""
    if (alphabet is None) == (model is None):
        found = "none" if model is None else "both"
        raise InputError(f"{what}: expected a public alphabet or a public model, found {found}")
    if model is None:
        return words_of_any_length(cast("Iterable[Symbol]", alphabet)), None
    if isinstance(model, str | Path):
        return runs_of_any_length(load_word_model(Path(model))), Path(model).name
    return runs_of_any_length(model), None


def symbol_zones(
    symbols: Sequence[str], zones: str | Path | None, roads: Mapping[str, Road]
) -> tuple[Indices, tuple[str, ...]]:
    """The zone of each symbol, and the names of zones: those that have a symbol, in the order of their names."""
    _, zone_of = zones_of(zones, roads)
    missing = sum(symbol not in zone_of for symbol in symbols)
    if missing:
        raise InputError(f"zones: expected a zone for every symbol, found none for {missing} of them")
    names = tuple(sorted({zone_of[symbol] for symbol in symbols}))
    number = {name: index for index, name in enumerate(names)}
    return np.array([number[zone_of[symbol]] for symbol in symbols], dtype=np.int64), names


def zones_digest(names: Sequence[str], zone: Indices) -> str:
    """Of the zone of each symbol, in the order of the symbols."""
    return hashlib.sha256(json.dumps([names[each] for each in zone.tolist()]).encode()).hexdigest()


def release_centrally(
    release: CentralRelease,
    source: Any,
    target: Path,
    answer: Answer,
    queries: Callable[[], Sequence[Query]],
    *,
    columns: ColumnOptions,
    form: str,
    ledger: str | Path | None,
    release_id: str | None,
    again: bool,
    found: FoundSymbols | None = None,
    engine: Engine = "local",
    master: str | None = None,
    longest: int = LONGEST,
    gzip_ratio: int = MOST_TIMES,
    spreadsheet_safe: bool = False,
) -> Finished:
    """A file, or a table in memory, through a central release by the protocol: charged, written, put in its place.

    Persons over budget are left out: an error would tell that one of them is in the file. `found` holds the symbols
    of a file whose alphabet is not public.
    """
    check_again(again, release_id)
    in_memory = is_frame(source)
    path = target if in_memory else path_of(source)
    check_ledger_apart(ledger, path, target)
    facts: dict[str, object] = {"format": target.suffix.lower()[1:], "form": form}
    if spreadsheet_safe:
        facts["spreadsheet_safe"] = True
    language = release.language or found or FoundSymbols()
    words: CentralWords
    if read_engine(engine, master) == "spark":
        if in_memory:
            raise ParameterError("engine", expected="local with a table in memory", found=engine)
        words = spark_words(path, columns, language, master)
    elif in_memory:
        words = FrameWords(opened_frame(source, columns, longest=longest), language, digest=frame_digest(source))
    else:
        words = FileWords(open_sequences(path, columns, longest=longest, most_times=gzip_ratio), language)
    job = CentralJob(words, target, answer, facts=facts)
    protocol = Protocol(
        job=job,
        target=target,
        manifest_text=lambda name, written, date: release.manifest(
            name,
            written.digest,
            queries=queries(),
            output=job.facts,
            version=__version__,
            charged=ledger is not None,
            date=date,
        ).text(),
        settings=Settings(
            asked=release.asked(columns=spelled_columns(columns)),
            made_by=made_by(version=__version__, engine=engine, facts=job.facts) | NOISE_NAMES,
        ),
        worked_out=lambda _job: WorkedOut("discrete-laplace", None),
        release_id=release_id,
        again=again,
    )
    return protocol.run(ledger, release.price, "drop")


def spark_words(source: Path, columns: ColumnOptions, language: PublicOrFound, master: str | None) -> CentralWords:
    """The words of a cluster."""
    try:  # imported when asked for: it needs pyspark, and starting a JVM takes its time
        from symveil.release.spark_words import SparkWords  # noqa: PLC0415
    except ModuleNotFoundError:
        raise no_pyspark() from None
    return SparkWords(source, columns, language, master=master)
