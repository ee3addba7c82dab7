"""What all central releases of a file share: their public support, and the protocol."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np

from symveil import __version__
from symveil.central.noise import Query
from symveil.drawing.road_map import Road
from symveil.engines.central_job import Answer, CentralJob, CentralWords, FileWords, FoundSymbols, PublicOrFound
from symveil.engines.central_promise import CentralRelease
from symveil.engines.protocol import Finished, Protocol
from symveil.engines.settings import Settings, WorkedOut, made_by, spelled_columns
from symveil.errors import InputError
from symveil.estimation.batches import Indices
from symveil.io.models.model_files import load_word_model
from symveil.io.models.zone_files import zones_of
from symveil.io.reading import MOST_TIMES
from symveil.io.sequences.columns import ColumnOptions
from symveil.io.sequences.records import LONGEST
from symveil.io.sequences.sequence_files import open_sequences
from symveil.languages.any_length import AnyLength, runs_of_any_length, words_of_any_length
from symveil.languages.graph import Model
from symveil.models.alphabet import Alphabet, Symbol
from symveil.workflows.parameters import Engine, check_again, check_ledger_apart, no_pyspark, read_engine


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
    source: Path,
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
) -> Finished:
    """A file through a central release, by the protocol: charged, written aside, put in its place.

    Persons over budget are left out: an error would tell that one of them is in the file. `found` holds the symbols
    of a file whose alphabet is not public.
    """
    check_again(again, release_id)
    check_ledger_apart(ledger, source, target)
    facts: dict[str, object] = {"format": target.suffix.lower()[1:], "form": form}
    language = release.language or found or FoundSymbols()
    words: CentralWords
    if read_engine(engine, master) == "spark":
        words = spark_words(source, columns, language, master)
    else:
        words = FileWords(open_sequences(source, columns, longest=longest, most_times=gzip_ratio), language)
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
            made_by=made_by(version=__version__, engine=engine, facts=job.facts),
        ),
        worked_out=lambda _job: WorkedOut("discrete-laplace", None),
        release_id=release_id,
        again=again,
    )
    return protocol.run(ledger, release.price, "drop")


def spark_words(source: Path, columns: ColumnOptions, language: PublicOrFound, master: str | None) -> CentralWords:
    """The words of a cluster."""
    try:  # imported when asked for: it needs pyspark, and starting a JVM takes its time
        from symveil.engines.spark_words import SparkWords  # noqa: PLC0415
    except ModuleNotFoundError:
        raise no_pyspark() from None
    return SparkWords(source, columns, language, master=master)
