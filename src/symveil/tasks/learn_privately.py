"""Learn a law of words from a whole file, with one ε per person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Literal, Unpack, get_args

import numpy as np

from symveil.central.attribute_law import USUAL_ATTRIBUTE_SHARE, learn_attributes, require_small
from symveil.central.fit import link_lengths, map_classes
from symveil.central.learned import LAW_SHARES, LearnedLaw, learn_law, learn_log
from symveil.central.noise import Neighbours, Quality, Query, read_neighbours, require_writable_noise
from symveil.central.rules import Rules
from symveil.central.time_law import learn_times
from symveil.central.time_tables import USUAL_TIME_SHARE, Steps, TimeSettings, row_rule, words_and_times
from symveil.central.word_law import Support
from symveil.errors import ParameterError, either
from symveil.estimation.table import Batch
from symveil.formats.manifest import model_digest
from symveil.formats.models.model_json import law_text, read_law
from symveil.formats.reading import path_of, read_text
from symveil.formats.sequences.columns import ColumnOptions
from symveil.formats.sequences.frames import Table
from symveil.formats.shapes import read_coordinates
from symveil.languages.graph import Model
from symveil.languages.language import AnyLength
from symveil.laws.guarantee import Guarantee
from symveil.laws.parameters import read_epsilon, require_spellable
from symveil.models.alphabet import Alphabet, Symbol
from symveil.models.times import Period, PublicValues, WaitGrid, WallClock
from symveil.numbers.once import computed_once
from symveil.numbers.rationals import Number, exact, spelled
from symveil.parameters import (
    Domain,
    File,
    Flag,
    OneOf,
    Several,
    check_names,
    declared,
    described,
    listing_fields,
    shows_fields,
)
from symveil.pictures.maps import Road
from symveil.randomness import RecordKey
from symveil.release.central_job import Beside, CentralSpec, ReadWords
from symveil.reports.page import Reported
from symveil.reports.report import Report, facts_report
from symveil.tasks.central_files import (
    COORDINATES,
    DURATIONS,
    NEIGHBOURS,
    PERIOD,
    TIMEZONE,
    ZONES,
    CentralFile,
    counts_records,
    declared_rules,
    law_warnings,
    needs_model_as_rule,
    public_language,
    reading_of_times,
    release_centrally,
    require_legal_words,
    run_options,
    symbol_zones,
    zones_digest,
)
from symveil.tasks.doubts import large_loss, warn
from symveil.tasks.limits import LIMITS
from symveil.tasks.parameters import ColumnParameters, Engine, RunOptions

LawKind = Literal["auto", "trips", "log"]
"""Which law is learned: of trips, or of the cases of an event log."""


@dataclass(frozen=True, kw_only=True)
class LearnedPrivately(CentralFile, Reported):
    """A model that was learned with one ε per person, and its manifest."""

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
        return law_warnings(self.manifest, self.quality)

    def document(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "model": str(self.out),
            "guarantee": self.guarantee.document(),
            "quality": None if self.quality is None else self.quality.document(),
            "unit": "person",
            **self._release_document(),
        }

    def report(self) -> Report:
        """Where the model is, what a person loses, and how much of each table is noise."""
        epsilon = read_epsilon(self.manifest["epsilon_exact"])
        unit, meant = (
            ("record", "a case or sequence") if counts_records(self.manifest) else ("person", "for all their records")
        )
        loss = f"epsilon = {spelled(epsilon)}, {meant}"
        facts = [("model", str(self.out)), ("manifest", str(self.manifest_file)), (f"loss per {unit}", loss)]
        noise = () if self.quality is None else self.quality.report().sections
        notes, warnings = self.release_notes("model"), (*large_loss(epsilon), *self.warnings)
        return replace(facts_report("Learned privately", facts, *noise), notes=notes, warnings=warnings)


@listing_fields
@dataclass(frozen=True, kw_only=True, slots=True)
class LearnOptions:
    """Which law is learned, and what is public about it."""

    places: str | Path | None = field(default=None, metadata=COORDINATES)
    zones: str | Path | None = field(default=None, metadata=ZONES)
    kind: LawKind = field(
        default="auto",
        metadata=declared(
            "With `epsilon`: of trips, or of the cases of an event log.",
            label="Kind of law",
            domain=OneOf(
                labels={
                    "auto": "a log where there is neither a chain nor a map",
                    "trips": "moves, first and last symbols, zones of both, lengths",
                    "log": "lengths, activities that a case has at most once, moves early and late in a case",
                }
            ),
            more="In a log longer words count as far as the longest length goes.",
        ),
    )
    no_repeats: bool = field(
        default=False,
        metadata=declared(
            "Words have every symbol at most once; others are illegal.",
            label="No repeats",
            domain=Flag(),
            more="They add nothing and are never drawn.",
        ),
    )
    constraint: Model | str | Path | None = field(
        default=None,
        metadata=declared(
            "A model: words must be words of it too.",
            label="Rule",
            domain=File(),
            more='Such as an automaton for "no consultation before an exam".',
        ),
    )
    neighbours: Neighbours = field(default="add-remove", metadata=NEIGHBOURS)
    period: str | None = field(default=None, metadata=PERIOD)
    durations: str | None = field(default=None, metadata=DURATIONS)
    timezone: str | None = field(default=None, metadata=TIMEZONE)
    time_share: Number | None = field(
        default=None,
        metadata=declared(
            "With `time`: what times get of epsilon; 0.4 by default.",
            label="Share of times",
            domain=Domain(placeholder="S"),
        ),
    )
    attributes: Mapping[str, str | Path | Sequence[str]] | None = field(
        default=None,
        metadata=declared(
            "With `time`: another attribute of events and its public values, a file with one in each line or edges of "
            "bins of a number such as 0,10,100. Repeatable.",
            label="Attributes",
            domain=Several(placeholder="COL=VALUES"),
            option="--attribute",
            more="Or a list of them. The values of a case have a name that begins with case:.",
        ),
    )
    attribute_share: Number | None = field(
        default=None,
        metadata=declared(
            "What each attribute gets of epsilon; 0.1 by default.",
            label="Share of an attribute",
            domain=Domain(placeholder="S"),
            more="Words and times share the rest.",
        ),
    )

    def __post_init__(self) -> None:
        read_neighbours(self.neighbours)
        if self.kind not in get_args(LawKind):
            raise ParameterError("kind", expected=either(get_args(LawKind)), found=self.kind)

    def times(self, columns: ColumnOptions) -> TimeSettings | None:
        """What is public about times; None where none are learned."""
        if columns.time is None:
            for name in ("period", "durations", "timezone", "time_share"):
                if getattr(self, name) is not None:
                    raise ParameterError(name, expected="the column of times (`time`) with it", found="none")
            return None
        if self.period is None:
            raise ParameterError(
                "period", expected="with `time` the dates on which cases start, a public range such as "
                "2024-01-01..2024-12-31", found="none",
            )  # fmt: skip
        wanted = "a number between 0 and 1 such as 0.4"
        share = self.time_share
        part = USUAL_TIME_SHARE if share is None else exact(share, name="time_share", expected=wanted)
        if not 0 < part < 1:
            raise ParameterError("time_share", expected=wanted, found=share)
        return TimeSettings(
            period=Period.read(self.period),
            grid=WaitGrid.read(self.durations),
            clock=WallClock.read(self.timezone),
            share=require_spellable(part, "time_share"),
        )

    def public_attributes(self, *, timed: bool, symbols: int) -> tuple[tuple[PublicValues, ...], Fraction]:
        """The public values of attributes, and the share of ε of each."""
        share = self.attribute_share
        if not self.attributes:
            if share is not None:
                raise ParameterError("attribute_share", expected="attributes with it", found="none")
            return (), Fraction(0)
        if not timed:
            raise ParameterError("attributes", expected="the column of times (`time`) with them", found="none")

        def lines(text: str) -> list[str]:
            file = path_of(text, name="attributes")
            return read_text(file, what="file of public values", at_most=LIMITS.now.list_bytes).splitlines()

        listed = tuple(
            PublicValues.read(name, str(values), lines)
            if isinstance(values, str | Path)
            else PublicValues.from_names(name, values)
            for name, values in self.attributes.items()
        )
        require_small(listed, symbols)
        wanted = f"a number above 0 such as 0.1, so that {len(listed)} of them leave something for words"
        own = USUAL_ATTRIBUTE_SHARE if share is None else exact(share, name="attribute_share", expected=wanted)
        if not 0 < own * len(listed) < 1:
            raise ParameterError("attribute_share", expected=wanted, found=spelled(own))
        return listed, require_spellable(own, "attribute_share")

    def law_kind(self, language: AnyLength) -> LawKind:
        """Which law is learned: that of an event log where there is neither a chain nor a map, or as it was asked."""
        mapped = self.zones is not None or self.places is not None
        if self.kind == "log" and mapped:
            raise ParameterError("kind", expected="trips with places or zones", found=self.kind)
        if self.kind != "auto":
            return self.kind
        graph = language.graph
        return "trips" if mapped or (graph is not None and graph.state_is_symbol) else "log"


OF_TIMES = ("period", "durations", "timezone", "time_share", "attributes", "attribute_share")
"""Options that a law has only with times."""


class LearnParameters(ColumnParameters, total=False):
    """The fields of `LearnOptions`, `ColumnOptions` and `RunOptions` that `learn` takes by name."""

    time: str | None
    places: str | Path | None
    zones: str | Path | None
    kind: LawKind
    no_repeats: bool
    constraint: Model | str | Path | None
    neighbours: Neighbours
    period: str | None
    durations: str | None
    timezone: str | None
    time_share: Number | None
    attributes: Mapping[str, str | Path | Sequence[str]] | None
    attribute_share: Number | None
    ledger: str | Path | None
    release_id: str | None
    again: bool
    longest: int
    gzip_ratio: int
    engine: Engine
    master: str | None


@shows_fields(
    ColumnOptions, LearnOptions, RunOptions, types=LearnParameters, first=("epsilon", "lengths", "alphabet", "model"),
    last=(
        "columns", "learning", "ledger", "release_id", "again", *OF_TIMES, "longest", "gzip_ratio", "engine", "master",
    ),
)  # fmt: skip
def learn(
    path: str | Path | Table,
    out: str | Path,
    *,
    epsilon: Number,
    lengths: tuple[int, int],
    alphabet: Alphabet | Iterable[Symbol] | None = None,
    model: Model | str | Path | None = None,
    learning: LearnOptions | None = None,
    columns: ColumnOptions | None = None,
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
    learning
        Which law is learned; or by name: places, zones, kind, no_repeats, constraint, neighbours, period, durations,
        timezone, time_share, attributes, attribute_share.
    columns
        How the file is read; or by name: sequence, separator, identifier, case, order, symbol, person, delimiter,
        date_format, time. With `time`, the column of times, the times of synthetic words are learned too.
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
    target = path_of(out, name="out")
    if target.suffix.lower() != ".json":
        raise ParameterError("out", expected="a file name ending in .json", found=repr(target.name))
    run = run_options(loose)
    request = _Learning.of(epsilon, lengths, (alphabet, model), columns, learning, loose)

    def answer(read: ReadWords, persons: Sequence[str], keys: RecordKey) -> tuple[bytes, Sequence[Query]]:
        learned, queries = request.answered(read, len(persons), keys)
        return law_text(learned).encode(), queries

    finished = release_centrally(
        request.release, path, target, answer, columns=request.columns, run=run, facts={"form": "model"},
        beside=Beside(times=request.times is not None, attributes=request.attributes), read_by=request.read_by,
    )  # fmt: skip
    warn(large_loss(request.release.epsilon))
    return LearnedPrivately.from_finished(target, finished)


@dataclass(frozen=True, kw_only=True)
class _Learning:
    """A law as it was asked for: read and refused once, before any data is read."""

    release: CentralSpec
    columns: ColumnOptions
    support: Support
    rules: Rules
    symbols: tuple[str, ...]
    zone_names: tuple[str, ...]
    roads: Mapping[str, Road] = field(repr=False)
    times: TimeSettings | None
    attributes: tuple[PublicValues, ...]
    attribute_share: Fraction

    @classmethod
    def of(
        cls,
        epsilon: Number,
        lengths: tuple[int, int],
        public: tuple[Alphabet | Iterable[Symbol] | None, Model | str | Path | None],
        columns: ColumnOptions | None,
        options: LearnOptions | None,
        loose: dict[str, Any],
    ) -> _Learning:
        options = described(LearnOptions, options, loose, name="learning")
        columns = described(ColumnOptions, columns, loose, name="columns")
        budget = require_writable_noise(require_spellable(read_epsilon(epsilon), "epsilon"))
        language, graph_file = public_language(*public, what="learn")
        settings = options.times(columns)
        symbols = tuple(str(symbol) for symbol in language.alphabet.symbols)
        listed, own_share = options.public_attributes(timed=settings is not None, symbols=len(symbols))
        roads = {} if options.places is None else read_coordinates(options.places)
        kind = options.law_kind(language)
        zone, names = np.arange(len(symbols)), symbols
        if kind == "log":
            zone, names = np.zeros(len(symbols), dtype=np.int64), ("all",)
        elif options.zones is not None or roads:
            zone, names = symbol_zones(symbols, options.zones, roads)
        missing = sum(symbol not in roads for symbol in symbols) if roads else 0
        if missing:
            raise ParameterError("places", expected="a place for every symbol", found=f"none for {missing} of them")
        if not (isinstance(lengths, tuple) and [type(each) for each in lengths] == [int, int]):
            raise ParameterError("lengths", expected="a shortest and a longest length, whole numbers", found=lengths)
        support = Support.of(
            symbols=len(symbols), graph=language.graph, zone=zone, shortest=lengths[0], longest=lengths[1],
            phases=2 if kind == "log" else 1,
        )  # fmt: skip
        rules = declared_rules(symbols, no_repeats=options.no_repeats, constraint=options.constraint)
        if language.model is not None and needs_model_as_rule(language):
            rules = rules.and_those(Rules(constraints=(language.model,)))
        require_legal_words(support, rules, symbols)  # before anybody is charged
        release = CentralSpec(
            kind="learn",
            epsilon=budget,
            neighbours=options.neighbours,
            language=language,
            parameters={
                "law": kind,
                "lengths": list(lengths),
                "zones": zones_digest(names, zone),
                "places": bool(roads),
                "shares": {name: spelled(share) for name, share in LAW_SHARES[kind].items()},
                "no_repeats": options.no_repeats,
                "constraints": [model_digest(each) for each in rules.constraints],
            },
            model_file=graph_file,
            person=columns.person,
            times=None if settings is None else settings.document(),
            attributes=tuple({**each.document(), "share": spelled(own_share)} for each in listed),
        )
        return cls(
            release=release,
            columns=replace(columns, attributes=tuple(each.name for each in listed)),
            support=support,
            rules=rules,
            symbols=symbols,
            zone_names=names,
            roads=roads,
            times=settings,
            attributes=listed,
            attribute_share=own_share,
        )

    @property
    def of_log(self) -> bool:
        """Whether the law is that of an event log: there longer words count with their first events."""
        return bool(self.release.parameters["law"] == "log")

    @property
    def steps(self) -> Steps:
        """The moves, with the lengths of links on a map."""
        mapped = bool(self.roads) and not self.of_log
        return Steps.of(self.support, link_lengths(self.roads, self.symbols) if mapped else None)

    @property
    def read_by(self) -> dict[str, object]:
        """What decides how times are read and counted beside the parameters."""
        if self.times is None:
            return {}
        return {**reading_of_times(self.times.clock), "rows of times": row_rule(self.steps)}

    def answered(self, read: ReadWords, persons: int, keys: RecordKey) -> tuple[LearnedLaw, list[Query]]:
        """The law, and the queries that it cost: of words, then of times, then of attributes."""
        epsilon, neighbours = self.release.epsilon, self.release.neighbours
        share = Fraction(0) if self.times is None else self.times.share
        of_words, of_times = words_and_times(
            epsilon, times=share, attributes=self.attribute_share * len(self.attributes)
        )

        def legal(*, beside: bool = True) -> Iterable[Batch]:
            return (batch.only(self.rules.legal(batch, self.symbols)) for batch in read(beside=beside))

        if self.of_log:
            learn_it = partial(learn_log, self.support)
        else:
            classes = map_classes(self.support, self.roads, self.symbols)
            learn_it = partial(learn_law, self.support, zone_names=self.zone_names, classes=classes)
        learned, queries = learn_it(
            partial(legal, beside=False),
            persons,
            symbols=self.symbols,
            rules=self.rules,
            epsilon=of_words,
            neighbours=neighbours,
            keys=keys,
        )
        all_queries = list(queries)
        if self.times is None:
            return learned, all_queries
        released = learned.released(legal, cut=self.of_log, neighbours=neighbours, keys=keys)
        times, queries = learn_times(released, self.times, self.steps, of_times)
        all_queries += queries
        laws, queries = learn_attributes(released, self.attributes, epsilon * self.attribute_share)
        return replace(learned, times=times, attributes=laws), [*all_queries, *queries]
