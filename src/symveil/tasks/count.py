"""Private counts of a whole file: one ε per person, by the protocol of a release."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from symveil.central.cells import ANY_LENGTH, Cells, Read, cells_of
from symveil.central.counts import Bound, CountTerms, PrivateCounts, private_counts, read_bound
from symveil.central.noise import Neighbours, Query, read_delta, read_neighbours, require_writable_noise
from symveil.central.time_cells import ON_GRID, SHARED_OUT, TIME_STATISTICS, TimeCells, TimeQuestion, time_cells
from symveil.central.time_counts import private_time_counts
from symveil.central.unlisted_cells import counted_plainly, selected_counts
from symveil.errors import ParameterError, either
from symveil.estimation.statistics import Statistic, read_statistic
from symveil.formats.reading import path_of
from symveil.formats.sequences.columns import ColumnOptions
from symveil.formats.sequences.frames import Table, open_input
from symveil.formats.shapes import read_coordinates
from symveil.languages.graph import Model
from symveil.laws.parameters import read_epsilon, require_spellable
from symveil.models.alphabet import Alphabet, Symbol
from symveil.models.times import Period, WaitGrid, WallClock, read_duration
from symveil.numbers.rationals import Number, exact
from symveil.parameters import Domain, Whole, check_names, declared, described, listing_fields, shows_fields
from symveil.randomness import RecordKey, new_release_key
from symveil.release.central_job import Beside, CentralSpec, FileWords, ObservedSymbols
from symveil.release.protocol import new_release_id
from symveil.tasks.central_files import (
    COORDINATES,
    DURATIONS,
    NEIGHBOURS,
    PERIOD,
    TIMEZONE,
    ZONES,
    CentralFile,
    public_language,
    reading_of_times,
    release_centrally,
    run_options,
    symbol_zones,
    zones_digest,
)
from symveil.tasks.doubts import large_loss, warn
from symveil.tasks.parameters import ColumnParameters, Engine, RunOptions
from symveil.tasks.table_files import SUFFIXES, check_table_name, table_bytes


@listing_fields
@dataclass(frozen=True, kw_only=True, slots=True)
class CountOptions:
    """What is counted, and how."""

    bound: Bound = field(
        default="auto",
        metadata=declared(
            "What one person adds at most: a number, chosen privately, or 1 shared among all their records.",
            label="Bound of a person",
            domain=Domain(placeholder="L|auto|normalised"),
            more='To all cells together; "auto" chooses it privately, for ε/20.',
        ),
    )
    zones: str | Path | None = field(default=None, metadata=ZONES)
    places: str | Path | None = field(default=None, metadata=COORDINATES)
    max_length: int | None = field(
        default=None,
        metadata=declared(
            "The longest sequence that counts, a public number; longer ones add nothing.",
            label="Longest sequence",
            domain=Whole(),
            more="The statistic lengths needs it.",
        ),
    )
    neighbours: Neighbours = field(default="add-remove", metadata=NEIGHBOURS)
    confidence: float = field(
        default=0.95,
        metadata=declared("How often intervals are to cover.", label="Confidence", domain=Domain(placeholder="C")),
    )
    delta: Number | None = field(
        default=None,
        metadata=declared(
            "Instead of `alphabet` or `model`: show frequent rows, and promise (epsilon, delta).",
            label="δ",
            domain=Domain(placeholder="D"),
            more="With a chance of up to δ a row may be shown that reveals one person.",
        ),
    )
    by: str | None = field(
        default=None,
        metadata=declared(
            "Of times: hour, weekday, hour-of-week, week or month of starts; move or activity of waits.",
            label="Rows by",
            domain=Domain(placeholder="WHAT"),
        ),
    )
    timezone: str | None = field(default=None, metadata=TIMEZONE)
    period: str | None = field(default=None, metadata=PERIOD)
    durations: str | None = field(default=None, metadata=DURATIONS)
    cap: str | None = field(
        default=None,
        metadata=declared(
            "Of mean-waits: longer waits count as so long, such as 7d.", label="Cap", domain=Domain(placeholder="C")
        ),
    )
    threshold: str | None = field(
        default=None,
        metadata=declared(
            "Of longest-waits: from which wait on one is called long; 14d by default.",
            label="Long from",
            domain=Domain(placeholder="T"),
            option="--from",
        ),
    )
    quantiles: str | Sequence[Number] = field(
        default=(),
        metadata=declared(
            "Of durations and cycle-times: which quantiles, such as 0.5,0.9.",
            label="Quantiles",
            domain=Domain(placeholder="P,..."),
        ),
    )

    def question(self, statistic: str) -> TimeQuestion | None:
        """What is counted of times; None where the statistic is none of times."""
        kind = next((each for each in TIME_STATISTICS if each == statistic), None)
        if kind is None:
            for name in _OF_TIMES:
                if getattr(self, name):
                    raise ParameterError(name, expected=f"{either(TIME_STATISTICS)} with it", found=statistic)
            return None
        if self.durations is not None and kind not in ON_GRID:
            raise ParameterError("durations", expected=f"{either(ON_GRID)} with it", found=kind)
        parts = self.quantiles.split(",") if isinstance(self.quantiles, str) else self.quantiles
        wanted = "numbers between 0 and 1 such as 0.5,0.9"
        return TimeQuestion(
            kind=kind,
            by=self.by,
            clock=WallClock.read(self.timezone),
            grid=WaitGrid.read(self.durations),
            period=None if self.period is None else Period.read(self.period),
            cap=None if self.cap is None else read_duration(self.cap, "cap"),
            threshold=None if self.threshold is None else read_duration(self.threshold, "threshold"),
            quantiles=tuple(exact(each, name="quantiles", expected=wanted) for each in parts if each != ""),
        )

    def terms(self, epsilon: Fraction, delta: Fraction = Fraction(0)) -> CountTerms:
        """What each person loses and adds at most."""
        return CountTerms(
            epsilon=epsilon, delta=delta, bound=self.bound, confidence=self.confidence, neighbours=self.neighbours
        )

    def __post_init__(self) -> None:
        if self.delta is not None:
            object.__setattr__(self, "delta", read_delta(self.delta))
        object.__setattr__(self, "bound", read_bound(self.bound))
        read_neighbours(self.neighbours)
        if isinstance(self.confidence, bool) or not 0 < self.confidence < 1:
            raise ParameterError("confidence", expected="a number between 0 and 1 such as 0.95", found=self.confidence)
        if self.max_length is not None and (isinstance(self.max_length, bool) or self.max_length < 1):
            raise ParameterError("max_length", expected="a whole number, 1 or more", found=self.max_length)


class CountParameters(ColumnParameters, total=False):
    """The fields of `ColumnOptions` and `CountOptions`, as they are given by name."""

    bound: Bound
    zones: str | Path | None
    places: str | Path | None
    max_length: int | None
    neighbours: Neighbours
    confidence: float
    delta: Number | None
    time: str | None
    by: str | None
    timezone: str | None
    period: str | None
    durations: str | None
    cap: str | None
    threshold: str | None
    quantiles: str | Sequence[Number]


class CountFileParameters(CountParameters, total=False):
    """The same, and the fields of `RunOptions` that a count of a file has."""

    ledger: str | Path | None
    release_id: str | None
    again: bool
    engine: Engine
    master: str | None


_OF_TIMES = ("by", "timezone", "period", "durations", "cap", "threshold", "quantiles")
"""Options that only statistics of times have."""


@dataclass(frozen=True, kw_only=True)
class CountedFile(CentralFile):
    """A private table in a file, and its manifest."""

    counts: PrivateCounts | None
    """None where an earlier run had finished this release: the table stands in its file."""

    def document(self, top: int | None = None) -> dict[str, object]:
        """The JSON form: the table, and where it and the manifest are."""
        table = {} if self.counts is None else self.counts.document(top)
        return {**table, "out": str(self.out), **self._release_document()}


@shows_fields(CountOptions, ColumnOptions, types=CountParameters, first=("epsilon", "alphabet", "model"))
def count(
    path: str | Path | Table,
    statistic: str,
    *,
    epsilon: Number,
    alphabet: Alphabet | Iterable[Symbol] | None = None,
    model: Model | str | Path | None = None,
    columns: ColumnOptions | None = None,
    counting: CountOptions | None = None,
    **named: Unpack[CountParameters],
) -> PrivateCounts:
    """Count sequences privately: ε for each person, with intervals; nothing is written or charged.

    Parameters
    ----------
    path
        The file of sequences: CSV, JSON Lines, Parquet or XES; or a table in memory (pandas, polars or Arrow).
    statistic
        visits, first, last, transitions, od, ngrams:K, lengths or directly-follows; with `time` also starts, durations,
        cycle-times, longest-waits, time-shares or mean-waits.
    epsilon
        What each person loses at most, whatever their number of records.
    alphabet, model
        One of them: the public symbols, or the model whose words count. Other words add nothing, silently. With delta,
        neither.
    columns
        How the file is read; or by name: sequence, separator, identifier, case, order, symbol, person,
        delimiter, date_format, time.
    counting
        What is counted, and how; or by name: bound, zones, places, max_length, neighbours, confidence, delta,
        by, timezone, period, durations, cap, threshold, quantiles.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source = Path(folder, "visits.csv")
    ...     _ = source.write_text("id,pages\\n" + "".join(f"{i},a b a\\n" for i in range(500)))
    ...     table = count(source, "ngrams:2", epsilon=1, alphabet="abc", bound=2, confidence=0.999999)
    >>> table.row(0)["low_all"] < 500 < table.row(0)["high_all"], len(table)
    (True, 9)

    Of a table in memory; `to_pandas` and `table` have the counts as tables:

    >>> import pyarrow as pa
    >>> visits = pa.table({"who": ["ann", "ben"], "pages": [["a", "b"], ["b"]]})
    >>> count(visits, "visits", epsilon=1, alphabet="ab", bound=2, sequence="pages", person="who").table.num_rows
    2
    """
    request = _Counting.of(statistic, epsilon, alphabet, model, columns, counting, dict(named))
    file = open_input(path, request.columns)
    words = FileWords(file, request.release.language or request.observed, request.beside)
    numbers = words.numbered()
    keys = RecordKey(new_release_key(), new_release_id())
    table = request.answered(lambda: words.read(numbers), list(numbers), keys)
    warn([*large_loss(epsilon), *table.warnings])
    return table


@shows_fields(
    CountOptions, ColumnOptions, RunOptions, types=CountFileParameters, first=("epsilon", "alphabet", "model"),
    last=("out", "columns", "counting", "ledger", "release_id", "again", "engine", "master", "spreadsheet_safe"),
)  # fmt: skip
def count_file(
    path: str | Path | Table,
    statistic: str,
    *,
    epsilon: Number,
    out: str | Path,
    alphabet: Alphabet | Iterable[Symbol] | None = None,
    model: Model | str | Path | None = None,
    columns: ColumnOptions | None = None,
    counting: CountOptions | None = None,
    spreadsheet_safe: bool = False,
    **named: Unpack[CountFileParameters],
) -> CountedFile:
    """Count a file privately into a table with a manifest, by the protocol of a release.

    Parameters
    ----------
    path, statistic, epsilon, alphabet, model
        As in `count`.
    columns
        How the file is read; or by name: sequence, separator, identifier, case, order, symbol, person,
        delimiter, date_format, time.
    counting
        What is counted, and how; or by name: bound, zones, places, max_length, neighbours, confidence, delta,
        by, timezone, period, durations, cap, threshold, quantiles.
    out
        The table, as .csv, .parquet or .json.
    ledger
        Where budgets are kept. Each person is charged ε once; those with less are left out, silently.
    release_id
        The release's name; the same name is never charged twice.
    again
        Without a name: whether a release that is done, with its output in place, may be made and charged once more.
    engine, master
        "local", or "spark" with the address of the cluster, for a Parquet folder or table:NAME; the table is the same.
    spreadsheet_safe
        Put an apostrophe before symbols in a CSV file that a spreadsheet would take for formulas.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source = Path(folder, "visits.csv")
    ...     _ = source.write_text("id,pages\\n1,a b a\\n2,b\\n")
    ...     release = count_file(source, "visits", epsilon=1, alphabet="ab", out=Path(folder, "visits.json"))
    ...     release.manifest["release"], release.manifest["guarantee"]["epsilon"], release.out.exists()
    ('count', 1.0, True)
    """
    loose: dict[str, Any] = dict(named)
    check_names("count_file", CountFileParameters, loose)
    run = run_options(loose)
    request = _Counting.of(statistic, epsilon, alphabet, model, columns, counting, loose)
    target = path_of(out, name="out")
    if target.suffix.lower() not in SUFFIXES:
        raise ParameterError("out", expected=f"a file name ending in {either(SUFFIXES)}", found=repr(target.name))
    check_table_name(target, spreadsheet_safe=spreadsheet_safe)
    made: list[PrivateCounts] = []

    def answer(read: Read, persons: Sequence[str], keys: RecordKey) -> tuple[bytes, Sequence[Query]]:
        made[:] = [request.answered(read, persons, keys)]
        return table_bytes(made[0], target, spreadsheet_safe=spreadsheet_safe), made[0].queries

    finished = release_centrally(
        request.release,
        path,
        target,
        answer,
        columns=request.columns,
        run=run,
        facts={"form": "table", **({"spreadsheet_safe": True} if spreadsheet_safe else {})},
        observed=request.observed,
        beside=request.beside,
        read_by=request.read_by,
    )
    warn([*large_loss(epsilon), *(made[0].warnings if made else ())])
    return CountedFile.from_finished(target, finished, counts=made[0] if made else None)


@dataclass(frozen=True, kw_only=True)
class _Counting:
    """A count as it was asked for: read and refused once, before any data is read."""

    release: CentralSpec
    columns: ColumnOptions
    options: CountOptions
    cells: Cells | TimeCells | Statistic
    """The public cells; with a δ, what is counted in whatever cells there are."""
    names: tuple[str, ...]
    observed: ObservedSymbols = field(default_factory=ObservedSymbols, repr=False)

    @classmethod
    def of(
        cls,
        statistic: str,
        epsilon: Number,
        alphabet: Alphabet | Iterable[Symbol] | None,
        model: Model | str | Path | None,
        columns: ColumnOptions | None,
        options: CountOptions | None,
        loose: dict[str, Any],
    ) -> _Counting:
        check_names("count", CountParameters, loose)
        columns = described(ColumnOptions, columns, loose, name="columns")
        options = described(CountOptions, options, loose, name="counting")
        budget = require_writable_noise(require_spellable(read_epsilon(epsilon), "epsilon"))
        question = options.question(statistic)
        wanted: TimeQuestion | Statistic
        zoned: tuple[str, ...]
        if question is not None:
            _require_times(question, columns, options)
            wanted, zoned = question, ("starts", "cycle-times")
        elif columns.time is not None:
            raise ParameterError("time", expected=f"{either(TIME_STATISTICS)} with it", found=statistic)
        else:
            wanted, zoned = (plain := read_statistic(statistic)), ("od",)
            if options.delta is not None:
                return cls._unlisted(plain, budget, (alphabet, model), columns, options)
        language, model_file = public_language(alphabet, model)
        if wanted.kind == "lengths" and options.max_length is None:
            raise ParameterError(
                "max_length", expected="the largest length that counts, a public number, for lengths", found="none"
            )
        symbols = tuple(str(symbol) for symbol in language.alphabet.symbols)
        zone_of, names = None, symbols
        if options.zones is not None or options.places is not None:
            if wanted.kind not in zoned:
                expected = f"the statistic {either(zoned)} with zones or places"
                raise ParameterError("zones", expected=expected, found=wanted.kind)
            roads = {} if options.places is None else read_coordinates(options.places)
            zone_of, names = symbol_zones(symbols, options.zones, roads)
        cells_over = partial(time_cells, wanted) if isinstance(wanted, TimeQuestion) else partial(cells_of, wanted)
        cells = cells_over(
            symbols=len(symbols), longest=options.max_length or ANY_LENGTH, graph=language.graph, zones=zone_of
        )
        release = CentralSpec(
            kind="count",
            epsilon=budget,
            neighbours=options.neighbours,
            language=language,
            parameters={
                "statistic": wanted.kind if isinstance(wanted, TimeQuestion) else wanted.name,
                "bound": "normalised" if wanted.kind in SHARED_OUT else options.bound,
                "max_length": options.max_length,
                "confidence": options.confidence,
                "zones": None if zone_of is None else zones_digest(names, zone_of),
                **({"time": wanted.document()} if isinstance(wanted, TimeQuestion) else {}),
            },
            model_file=model_file,
            person=columns.person,
            zones=None if zone_of is None else tuple(names[number] for number in zone_of.tolist()),
        )
        return cls(release=release, columns=columns, options=options, cells=cells, names=names)

    @property
    def beside(self) -> Beside:
        """What is read of events beside their symbols."""
        return Beside(times=isinstance(self.cells, TimeCells))

    @property
    def read_by(self) -> dict[str, object]:
        """What decides how times are read beside the parameters."""
        return reading_of_times(self.cells.question.clock) if isinstance(self.cells, TimeCells) else {}

    @classmethod
    def _unlisted(
        cls,
        statistic: Statistic,
        epsilon: Fraction,
        public: tuple[object, object],
        columns: ColumnOptions,
        options: CountOptions,
    ) -> _Counting:
        """A count over whatever cells there are."""
        for name, value in zip(
            ("alphabet", "model", "zones", "places"), (*public, options.zones, options.places), strict=True
        ):
            if value is not None:
                raise ParameterError(
                    "delta",
                    expected=f"no {name} with it: what is public needs no delta",
                    found=f"both a {name} and it",
                )
        release = CentralSpec(
            kind="count",
            epsilon=epsilon,
            delta=read_delta(options.delta),
            neighbours=options.neighbours,
            language=None,
            parameters={
                "statistic": counted_plainly(statistic).name,
                "bound": options.bound,
                "max_length": options.max_length,
                "confidence": options.confidence,
            },
            person=columns.person,
        )
        return cls(release=release, columns=columns, options=options, cells=statistic, names=())

    def answered(self, read: Read, persons: Sequence[str], keys: RecordKey) -> PrivateCounts:
        """The table."""
        per = "record" if self.release.person is None else "person"
        return replace(self._counted(read, persons, keys), per=per)

    def _counted(self, read: Read, persons: Sequence[str], keys: RecordKey) -> PrivateCounts:
        terms = self.options.terms(self.release.epsilon, self.release.delta)
        if isinstance(self.cells, Statistic):
            longest = self.options.max_length or ANY_LENGTH
            return selected_counts(
                self.cells, read, persons, terms, name=self.observed.name, longest=longest, keys=keys
            )
        if isinstance(self.cells, TimeCells):
            return private_time_counts(self.cells, read, len(persons), terms, names=self.names, keys=keys)
        return private_counts(self.cells, read, len(persons), terms, names=self.names, keys=keys)


def _require_times(question: TimeQuestion, columns: ColumnOptions, options: CountOptions) -> None:
    """Refuse options that no count of times has."""
    if columns.time is None:
        raise ParameterError("time", expected=f"the column of times with {question.kind}", found="none")
    if options.delta is not None:
        raise ParameterError("delta", expected="a public alphabet or model with times", found="delta")
    if question.kind in SHARED_OUT and options.bound not in ("auto", "normalised", 1):
        expected = f"normalised, or nothing, with {question.kind}: each person adds 1 in all"
        raise ParameterError("bound", expected=expected, found=options.bound)
