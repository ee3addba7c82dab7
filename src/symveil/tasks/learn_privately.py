"""Learn a law of words from a whole file, with one ε per person.

Rules for words as a user declares them: no symbol twice, or a model that every word must be a word of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Literal, Unpack, get_args

import numpy as np

from symveil.central.attribute_law import USUAL_ATTRIBUTE_SHARE, require_small
from symveil.central.fit import link_lengths, map_classes
from symveil.central.learned import LOG_SHARES, SHARES, learn_law, learn_log
from symveil.central.noise import Neighbours, Quality, Query, read_neighbours, require_writable_noise
from symveil.central.rules import RuledLaw, Rules
from symveil.central.support import Support
from symveil.central.time_tables import USUAL_TIME_SHARE, Steps, TimeSettings, row_rule
from symveil.central.word_law import no_parameters
from symveil.errors import ParameterError, either
from symveil.estimation.statistics import Batch
from symveil.formats.manifest import model_digest
from symveil.formats.maps.coordinates import read_coordinates
from symveil.formats.models.model_files import load_word_model
from symveil.formats.models.model_json import law_text, read_law
from symveil.formats.reading import LONGEST, MOST_TIMES, path_of, read_text
from symveil.formats.sequences.columns import ColumnOptions
from symveil.formats.sequences.frames import Table
from symveil.languages.any_length import AnyLength
from symveil.languages.graph import Model, require_words
from symveil.laws.guarantee import Guarantee
from symveil.laws.parameters import read_epsilon, require_spellable
from symveil.models.alphabet import Alphabet, Symbol
from symveil.models.attributes import PublicValues
from symveil.models.times import Period, WaitGrid, WallClock
from symveil.numbers.once import computed_once
from symveil.numbers.rationals import Number, exact, spelled
from symveil.parameters.signature import check_names, described, shows_fields
from symveil.randomness import RecordKey
from symveil.release.central_job import Beside, ReadWords
from symveil.release.central_spec import CentralSpec
from symveil.tasks.central_files import (
    public_language,
    reading_of_times,
    release_centrally,
    symbol_zones,
    zones_digest,
)
from symveil.tasks.doubts import large_loss, warn
from symveil.tasks.parameters import ColumnParameters, Engine, RunOptions


def declared_rules(symbols: Sequence[str], *, no_repeats: bool, constraint: Model | str | Path | None) -> Rules:
    """The rules of a law over these symbols.

    Parameters
    ----------
    symbols
        The names of the law's symbols.
    no_repeats
        Whether a word has every symbol at most once.
    constraint
        A model or its file: words must be words of it.

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


LawKind = Literal["auto", "trips", "log"]
"""Which law is learned: of trips, or of the cases of an event log."""


@dataclass(frozen=True, kw_only=True)
class LearnedPrivately:
    """A model that was learned with one ε per person, and its manifest.

    Parameters
    ----------
    out, manifest_file
        The model's file, and the manifest beside it.
    manifest
        What was promised.
    already_done
        Whether an earlier run had finished this release.
    """

    out: Path
    manifest_file: Path
    manifest: dict[str, Any] = field(repr=False)
    already_done: bool = False

    @property
    def guarantee(self) -> Guarantee:
        """What each person loses at most."""
        return Guarantee.of_loss(read_epsilon(self.manifest["epsilon_exact"]), "certified")

    @computed_once
    def quality(self) -> Quality | None:
        """The noise of its tables beside the noisy number of persons; None where an older version wrote the model."""
        return read_law(self.out).quality

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know: where tables are mostly noise. It follows from released numbers alone."""
        return () if self.quality is None else (*self.quality.warnings, *time_warnings(self.manifest, self.quality))

    def document(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "model": str(self.out),
            "guarantee": self.guarantee.document(),
            "quality": None if self.quality is None else self.quality.document(),
            "unit": "person",
            "manifest": str(self.manifest_file),
            "release_id": self.manifest["release_id"],
            "charged": self.manifest["charged"],
            "passes_unprotected": self.manifest.get("passes_unprotected"),
            "already_done": self.already_done,
        }


class LearnParameters(ColumnParameters, total=False):
    """The fields of `ColumnOptions` that `learn` takes by name."""

    time: str | None


_LARGEST_LIST = 1 << 24
"""Bytes of a file of public values."""
ENOUGH_FOR_TIMES = 400
"""Persons, times the ε of times: with fewer, times are mostly noise."""


def time_warnings(promise: dict[str, Any] | None, quality: Quality | None) -> tuple[str, ...]:
    """That there are few persons for times, where there are: by the released number of them, and by nothing else.

    Parameters
    ----------
    promise
        The manifest of a model.
    quality
        The noise that the model was learned from.
    """
    if promise is None or quality is None or "times" not in promise:
        return ()
    epsilon = read_epsilon(promise["epsilon_exact"]) * Fraction(promise["times"]["share"])
    needed = ENOUGH_FOR_TIMES / epsilon
    if quality.persons >= needed:
        return ()
    return (
        f"times are mostly noise: {quality.persons:,.0f} persons, a noisy number, and {float(needed):,.0f} would do at "
        "this epsilon; count times instead (symveil count --time), which costs less",
    )


@shows_fields(ColumnOptions, types=LearnParameters, first=("epsilon", "lengths", "alphabet", "model"))
def learn(
    path: str | Path | Table,
    out: str | Path,
    *,
    epsilon: Number,
    lengths: tuple[int, int],
    alphabet: Alphabet | Iterable[Symbol] | None = None,
    model: Model | str | Path | None = None,
    places: str | Path | None = None,
    zones: str | Path | None = None,
    kind: LawKind = "auto",
    no_repeats: bool = False,
    constraint: Model | str | Path | None = None,
    neighbours: Neighbours = "add-remove",
    columns: ColumnOptions | None = None,
    ledger: str | Path | None = None,
    release_id: str | None = None,
    again: bool = False,
    period: str | None = None,
    durations: str | None = None,
    timezone: str | None = None,
    time_share: Number | None = None,
    attributes: Mapping[str, str | Path | Sequence[str]] | None = None,
    attribute_share: Number | None = None,
    longest: int = LONGEST,
    gzip_ratio: int = MOST_TIMES,
    engine: Engine = "local",
    master: str | None = None,
    **named: Unpack[LearnParameters],
) -> LearnedPrivately:
    """Learn a law of words on a public support, with one ε per person.

    Parameters
    ----------
    path, out
        The file of sequences, or a table in memory (pandas, polars or Arrow); and the model file to write (.json).
    epsilon
        What each person loses at most, whatever their number of records.
    lengths
        Between which lengths words are: public numbers. Other words add nothing.
    alphabet, model
        One of them: the public symbols, or the model (or its file) whose words are the possible ones.
    places
        Where symbols lie. Turns and distances between zones then tell moves and trips apart from the start.
    zones
        A grid such as 6 or 6x4 over the places, or a file with the zone of each symbol; without places and zones
        each symbol is its own.
    kind
        "trips": moves, first and last symbols, zones of both, lengths. "log": lengths, activities that a case has at
        most once, moves at the beginning of a case and later; longer words count as far as the longest length goes.
        "auto": "log" where there is neither a chain nor a map.
    no_repeats
        Whether words have every symbol at most once. Others are illegal: they add nothing and are never drawn.
    constraint
        A model (or its file) that every word must also be a word of: an automaton for "no consultation before an exam".
    neighbours
        "add-remove" or "replace".
    columns
        How the file is read; or by name: sequence, separator, identifier, case, order, symbol, person, delimiter,
        date_format, time. With `time`, the column of times, the times of synthetic words are learned too.
    period
        With `time`: the first and the last date on which cases start, such as 2024-01-01..2024-12-31, a public range.
    durations
        With `time`: the public bins of waits, such as 1s..365d (the default) or their edges, 0,1m,1h,1d.
    timezone
        With `time`: the zone whose clock decides hours and dates; UTC by default.
    time_share
        With `time`: what times get of ε; 0.4 by default.
    attributes
        With `time`: columns of other attributes of events, each with its public values: a list, a file with one in each
        line, or edges of bins of a number such as "0,10,100". The values of a case have a name that begins with case:.
    attribute_share
        What each attribute gets of ε; 0.1 by default. Words and times share the rest.
    ledger, release_id, again
        As in `count_file`.
    longest, gzip_ratio
        What is too large to be meant: longer sequences, and gzip files that unpack to so many times their size.
    engine, master
        As in `count_file`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source, model = Path(folder, "trips.csv"), Path(folder, "model.json")
    ...     _ = source.write_text("id,links\\n" + "".join(f"{i},a b a\\n" for i in range(300)))
    ...     learned = learn(source, model, epsilon=1, lengths=(2, 4), alphabet="ab")
    >>> learned.guarantee, learned.manifest["release"]
    (Guarantee(epsilon=1.0, how='certified'), 'learn')
    """
    loose: dict[str, Any] = dict(named)
    check_names("learn", LearnParameters, loose)
    target, reading = path_of(out, name="out"), described(ColumnOptions, columns, loose, name="columns")
    _require_json(target)
    budget = require_writable_noise(require_spellable(read_epsilon(epsilon), "epsilon"))
    language, graph_file = public_language(alphabet, model, what="learn")
    settings = _time_settings(reading, period=period, durations=durations, timezone=timezone, share=time_share)
    symbols = tuple(str(symbol) for symbol in language.alphabet.symbols)
    listed, own_share = _public_attributes(attributes, attribute_share, settings, len(symbols))
    reading = replace(reading, attributes=tuple(each.name for each in listed))
    roads = {} if places is None else read_coordinates(places)
    own_kind = _law_kind(kind, language, mapped=zones is not None or places is not None)
    zone, names = np.arange(len(symbols)), symbols
    if own_kind == "log":
        zone, names = np.zeros(len(symbols), dtype=np.int64), ("all",)
    elif zones is not None or roads:
        zone, names = symbol_zones(symbols, zones, roads)
    missing = sum(symbol not in roads for symbol in symbols) if roads else 0
    if missing:
        raise ParameterError("places", expected="a place for every symbol", found=f"none for {missing} of them")
    if not (isinstance(lengths, tuple) and [type(each) for each in lengths] == [int, int]):
        raise ParameterError("lengths", expected="a shortest and a longest length, whole numbers", found=lengths)
    support = Support.of(
        symbols=len(symbols), graph=language.graph, zone=zone, shortest=lengths[0], longest=lengths[1],
        phases=2 if own_kind == "log" else 1,
    )  # fmt: skip
    rules = declared_rules(symbols, no_repeats=no_repeats, constraint=constraint)
    if language.model is not None and needs_model_as_rule(language):
        rules = rules.and_those(Rules(constraints=(language.model,)))
    require_legal_words(support, rules, symbols)  # before anybody is charged
    release = CentralSpec(
        kind="learn",
        epsilon=budget,
        neighbours=read_neighbours(neighbours),
        language=language,
        parameters={
            "law": own_kind,
            "lengths": list(lengths),
            "zones": zones_digest(names, zone),
            "places": bool(roads),
            "shares": {name: spelled(share) for name, share in (SHARES if own_kind == "trips" else LOG_SHARES).items()},
            "no_repeats": no_repeats,
            "constraints": [model_digest(each) for each in rules.constraints],
        },
        model_file=graph_file,
        times=None if settings is None else settings.document(),
        attributes=tuple({**each.document(), "share": spelled(own_share)} for each in listed),
    )
    requested: list[Query] = []
    rest = budget * (1 - own_share * len(listed))
    of_words = rest if settings is None else rest * (1 - settings.share)
    steps = Steps.of(support, link_lengths(roads, symbols) if roads and own_kind == "trips" else None)

    def answer(read: ReadWords, persons: Sequence[str], keys: RecordKey) -> bytes:
        def legal(*, beside: bool = True) -> Iterable[Batch]:
            return (batch.only(rules.legal(batch, symbols)) for batch in read(beside=beside))

        if own_kind == "log":
            learn_it = partial(learn_log, support)
        else:
            classes = map_classes(support, roads, symbols)
            learn_it = partial(learn_law, support, zone_names=names, classes=classes)
        learned, queries = learn_it(
            partial(legal, beside=False),
            len(persons),
            symbols=symbols,
            rules=rules,
            epsilon=of_words,
            neighbours=release.neighbours,
            keys=keys,
        )
        if settings is not None:
            learned, more = learned.with_times(
                settings, steps, legal, cut=own_kind == "log", epsilon=rest * settings.share,
                neighbours=release.neighbours, keys=keys,
            )  # fmt: skip
            queries = (*queries, *more)
        if listed:
            learned, more = learned.with_attributes(
                listed, legal, cut=own_kind == "log", epsilon=budget * own_share,
                neighbours=release.neighbours, keys=keys,
            )  # fmt: skip
            queries = (*queries, *more)
        requested[:] = queries
        return law_text(learned).encode()

    finished = release_centrally(
        release, path, target, answer, lambda: requested, columns=reading, form="model",
        run=RunOptions(
            ledger=ledger, release_id=release_id, again=again, longest=longest, gzip_ratio=gzip_ratio, engine=engine,
            master=master,
        ),
        beside=Beside(times=settings is not None, attributes=listed),
        read_by={} if settings is None else {**reading_of_times(settings.clock), "rows of times": row_rule()},
    )  # fmt: skip
    warn(large_loss(budget))
    return LearnedPrivately(
        out=target,
        manifest_file=finished.manifest_file,
        manifest=finished.manifest,
        already_done=finished.already_done,
    )


def _require_json(target: Path) -> None:
    if target.suffix.lower() != ".json":
        raise ParameterError("out", expected="a file name ending in .json", found=repr(target.name))


def _time_settings(
    columns: ColumnOptions, *, period: str | None, durations: str | None, timezone: str | None, share: Number | None
) -> TimeSettings | None:
    """What is public about times; None where none are learned."""
    if columns.time is None:
        for name, value in (
            ("period", period),
            ("durations", durations),
            ("timezone", timezone),
            ("time_share", share),
        ):
            if value is not None:
                raise ParameterError(name, expected="the column of times (`time`) with it", found="none")
        return None
    if period is None:
        raise ParameterError(
            "period", expected="with `time` the dates on which cases start, a public range such as "
            "2024-01-01..2024-12-31", found="none",
        )  # fmt: skip
    wanted = "a number between 0 and 1 such as 0.4"
    part = USUAL_TIME_SHARE if share is None else exact(share, name="time_share", expected=wanted)
    if not 0 < part < 1:
        raise ParameterError("time_share", expected=wanted, found=share)
    return TimeSettings(
        period=Period.read(period),
        grid=WaitGrid.read(durations),
        clock=WallClock.read(timezone),
        share=require_spellable(part, "time_share"),
    )


def _public_attributes(
    attributes: Mapping[str, str | Path | Sequence[str]] | None,
    share: Number | None,
    settings: TimeSettings | None,
    symbols: int,
) -> tuple[tuple[PublicValues, ...], Fraction]:
    """The public values of attributes, and the share of ε of each."""
    if not attributes:
        if share is not None:
            raise ParameterError("attribute_share", expected="attributes with it", found="none")
        return (), Fraction(0)
    if settings is None:
        raise ParameterError("attributes", expected="the column of times (`time`) with them", found="none")

    def lines(text: str) -> list[str]:
        return read_text(
            path_of(text, name="attributes"), what="file of public values", at_most=_LARGEST_LIST
        ).splitlines()

    listed = tuple(
        PublicValues.read(name, str(values), lines)
        if isinstance(values, str | Path)
        else PublicValues.from_names(name, values)
        for name, values in attributes.items()
    )
    require_small(listed, symbols)
    wanted = f"a number above 0 such as 0.1, so that {len(listed)} of them leave something for words"
    own = USUAL_ATTRIBUTE_SHARE if share is None else exact(share, name="attribute_share", expected=wanted)
    if not 0 < own * len(listed) < 1:
        raise ParameterError("attribute_share", expected=wanted, found=spelled(own))
    return listed, require_spellable(own, "attribute_share")


def _law_kind(kind: LawKind, language: AnyLength, *, mapped: bool) -> LawKind:
    """Which law is learned: that of an event log where there is neither a chain nor a map, or as it was asked."""
    if kind not in get_args(LawKind):
        raise ParameterError("kind", expected=either(get_args(LawKind)), found=kind)
    if kind == "log" and mapped:
        raise ParameterError("kind", expected="trips with places or zones", found=kind)
    if kind != "auto":
        return kind
    graph = language.graph
    return "trips" if mapped or (graph is not None and graph.state_is_symbol) else "log"


def needs_model_as_rule(language: AnyLength) -> bool:
    """Whether pairs of symbols do not decide what a word of the model is: it is no chain that begins anywhere."""
    graph = language.graph
    return graph is not None and not (graph.state_is_symbol and graph.start == len(graph.alphabet))
