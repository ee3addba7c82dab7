"""A utility report: how well a private file keeps what the true one says, for the holder of both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from symveil.comparison.distributions import (
    LONGEST,
    SHORTEST,
    TOP,
    CodedWords,
    FrequentPatterns,
    Integers,
    Pairs,
    coverage_kendall_tau,
    frequent_patterns,
    hotspot_ndcg,
    length_jsd,
    visits_jsd,
)
from symveil.comparison.geography import diameter_counts, diameter_jsd, od_jsd, range_query_error
from symveil.comparison.limits import LIMITS as COMPARISON
from symveil.comparison.times import TimedWords, time_metrics
from symveil.comparison.transport import log_similarity
from symveil.errors import InputError, ParameterError
from symveil.formats.reading import suffix
from symveil.formats.sequences.columns import PROCESS_MINING, ColumnOptions
from symveil.formats.sequences.sequence_files import open_sequences
from symveil.formats.shapes import middle, read_coordinates, zones_of
from symveil.models.alphabet import Word
from symveil.models.times import Period, WallClock
from symveil.parameters import check_names, shows_fields
from symveil.pictures.maps import Road, tame
from symveil.reports.page import Reported
from symveil.reports.report import Report
from symveil.tasks.compare_tables import HOLDER_ONLY, METRICS, Source, compared, read_both
from symveil.tasks.parameters import FileReading
from symveil.tasks.synthesize import what_it_is
from symveil.tasks.table_files import central_manifest

_MOST_PATTERN = 100
_DIFFERENCES = 20


@dataclass(frozen=True, slots=True, eq=False)
class ComparedFile:
    """One of the two files."""

    file: str | None
    """Its name; None where words were handed over."""
    words: CodedWords = field(repr=False)
    what: str | None = None
    """What it is, where its manifest says that its sequences are synthetic."""

    def document(self) -> dict[str, object]:
        """The JSON form."""
        what = {} if self.what is None else {"what": self.what}
        return {"file": self.file, "sequences": len(self.words), "symbols": len(self.words.codes), **what}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Comparison(Reported):
    """What was found. It depends on the secret sequences: for their holder only.

    >>> found = compare(["abca", "abc"], ["abca", "acc"])
    >>> found.metrics["length_jsd"], round(found.metrics["bigram_l1"], 3)
    (0.0, 0.8)
    """

    true: ComparedFile
    private: ComparedFile
    symbols: tuple[str, ...] = field(repr=False)
    metrics: Mapping[str, float]
    """Those that apply, by name: docs/statistics.md has their formulas."""
    left_out: Mapping[str, str]
    """Those that do not, and why."""
    top: int
    patterns: tuple[int, int]
    zones: str
    """What zones are: "symbols", "grid 6x6", or a file."""
    zone_of: tuple[str, ...] = field(repr=False)
    """The zone of each symbol."""
    frequent: FrequentPatterns | None = field(repr=False)
    pairs: Pairs | None = field(repr=False)
    diameters: tuple[NDArray[np.float64], Integers, Integers] | None = field(repr=False)
    """The ends of twenty buckets, and how many words of either file are in each."""
    roads: Mapping[str, Road] = field(repr=False)
    """Where symbols lie, if that is known."""
    times: tuple[TimedWords, TimedWords] | None = field(default=None, repr=False)
    """Both files with the times of their events, where both have real ones."""

    def document(self) -> dict[str, object]:
        """The JSON form."""
        edges: dict[str, object] | None = None
        if self.pairs is not None:
            rows = self.pairs.largest_differences(_DIFFERENCES)
            edges = {
                **self.pairs.directly_follows(),
                "largest_differences": [
                    {"symbols": self.spelled(pair), "true": true, "private": private} for pair, true, private in rows
                ],
            }
        return {
            "holder_only": HOLDER_ONLY,
            "true": self.true.document(),
            "private": self.private.document(),
            "top": self.top,
            "patterns": list(self.patterns),
            "zones": self.zones,
            "metrics": dict(self.metrics),
            "left_out": [{"metric": metric, "reason": reason} for metric, reason in self.left_out.items()],
            "directly_follows": edges,
        }

    def report(self) -> Report:
        """The metrics, and which were left out."""
        other = "private ones" if self.private.what is None else self.private.what
        title = f"For the holder only: {len(self.true.words):,} true sequences, {len(self.private.words):,} {other}"
        left_out = (f"{name} is left out: {why}" for name, why in self.left_out.items())
        return compared(self.metrics, METRICS, title=title, notes=left_out)

    def spelled(self, codes: Iterable[int]) -> list[str]:
        """The symbols of codes."""
        return [self.symbols[code] for code in codes]


@shows_fields(ColumnOptions, types=FileReading, first=("places", "zones", "top", "patterns"))
def compare(
    true: str | Path | Iterable[Word],
    private: str | Path | Iterable[Word],
    *,
    places: str | Path | None = None,
    zones: str | Path | None = None,
    top: int = TOP,
    patterns: tuple[int, int] = (SHORTEST, LONGEST),
    time: str | None = None,
    timezone: str | None = None,
    **reading: Unpack[FileReading],
) -> Comparison:
    """Compare two files of sequences: what the private one keeps of the true one. For the holder of both only.

    The numbers depend on the secret sequences; they are no release and must not be published.

    Parameters
    ----------
    true, private
        Files of sequences in any form that `privatize_file` reads or writes (a folder that a cluster wrote too), tables
        in memory, or words. They may come from anywhere and differ in form, in their number of sequences and in their
        symbols.
    places
        A CSV file of where symbols lie: symbol, x, y, or the two ends of each road.
    zones
        A grid over the places such as "6" (six by six, the default with places) or "6x4", or a CSV file with columns
        symbol and zone. Without places each symbol is a zone of its own.
    top
        How many of the most frequent patterns are compared.
    patterns
        The least and the largest number of symbols in a pattern.
    time, timezone
        The column of times, and the zone whose clock decides hours and dates: then times are compared too. Where the
        private file is synthetic and has learned times, its manifest says the zone, and the column of the true file is
        `time:timestamp` unless another one is given.
    sequence, separator, identifier, case, order, symbol, delimiter, date_format
        How the files are read, as for `privatize_file`. A private file with a manifest beside it is read as that says;
        columns that the private file does not have are looked for.

    Examples
    --------
    >>> found = compare(["abcd", "abc", "bcd"], ["abcd", "abd", "bcd"])
    >>> round(found.metrics["visits_jsd"], 4), round(found.metrics["log_similarity"], 4)
    (0.0101, 0.8889)
    >>> sorted(found.left_out)
    ['diameter_jsd', 'range_query_error']
    """
    if isinstance(top, bool) or not isinstance(top, int) or top < 1:
        raise ParameterError("top", expected="a whole number, 1 or more", found=top)
    sizes = _pattern_sizes(patterns)
    check_names("compare", FileReading, dict(reading))
    learned = _learned_times(private)
    columns = _with_time(true, ColumnOptions(**reading, time=time), learned)
    clock = WallClock.read(timezone or (learned or {}).get("timezone"))
    period = None if learned is None else Period.read(learned["period"])
    roads = {} if places is None else tame(read_coordinates(places))  # no metric knows the unit
    grid, zone_names = zones_of(zones, roads)
    symbols, (one, other), both = read_both(true, private, columns, known=roads)
    timed = (both[0].timed(one, clock), both[1].timed(other, clock))
    seen = [symbols[code] for code in np.flatnonzero(one.visits() + other.visits()).tolist()]
    _require_all(seen, roads, "places", "a place")
    _require_all(seen, zone_names, "zones", "a zone")
    zone_of = tuple(zone_names.get(symbol, symbol) for symbol in symbols)
    return _compared(
        ComparedFile(_named(true), one),
        ComparedFile(_named(private), other, _synthetic(private)),
        symbols=symbols,
        roads=roads,
        zones=grid,
        zone_of=zone_of,
        top=top,
        sizes=sizes,
        times=None if timed[0] is None or timed[1] is None else (timed[0], timed[1]),
        period=period,
    )


def _learned_times(private: object) -> dict[str, Any] | None:
    """What the manifest of synthetic words with learned times says of them; None: there is none."""
    document = central_manifest(Path(private)) if isinstance(private, str | Path) else None
    times = None if document is None else document.get("times")
    return times if isinstance(times, dict) and times.get("learned") is True else None


def _with_time(true: Source, columns: ColumnOptions, learned: dict[str, Any] | None) -> ColumnOptions:
    """The columns of the true file with that of its times, where the private one has learned times."""
    usual = PROCESS_MINING["order"]
    if learned is None or columns.time is not None or not isinstance(true, str | Path) or Path(true).is_dir():
        return columns
    file = open_sequences(Path(true), columns)
    return replace(columns, time=usual) if suffix(Path(true)) == ".xes" or usual in file.columns_in_file() else columns


def _compared(
    true: ComparedFile,
    private: ComparedFile,
    *,
    symbols: tuple[str, ...],
    roads: Mapping[str, Road],
    zones: str,
    zone_of: tuple[str, ...],
    top: int,
    sizes: range,
    times: tuple[TimedWords, TimedWords] | None = None,
    period: Period | None = None,
) -> Comparison:
    one, other = true.words, private.words
    frequent, pairs = frequent_patterns(one, other, top=top, sizes=sizes), Pairs.of(one, other)
    similarity = log_similarity(one, other)
    points = np.array([middle(roads[symbol]) for symbol in symbols]) if roads else None
    zone_codes = np.unique(np.array(zone_of), return_inverse=True)[1]
    no_positions, no_pair = "no places were given", "a file has no sequence of two symbols"
    results: dict[str, tuple[float | None, str]] = {
        "visits_jsd": (visits_jsd(one, other), ""),
        "coverage_kendall_tau": (
            coverage_kendall_tau(one, other),
            "all symbols are in equally many sequences of a file",
        ),
        "od_jsd": (od_jsd(one, other, zone_codes), no_pair),
        "length_jsd": (length_jsd(one, other), ""),
        "diameter_jsd": (None if points is None else diameter_jsd(one, other, points), no_positions),
        "pattern_f1": (None if frequent is None else frequent.f1(), "a file has no sequence of so many symbols"),
        "pattern_support_error": (
            None if frequent is None else frequent.support_error(),
            "a file has no sequence of so many symbols",
        ),
        "bigram_l1": (None if pairs is None else pairs.l1(), no_pair),
        "transition_tv": (None if pairs is None else pairs.transition_tv(), no_pair),
        "hotspot_ndcg": (hotspot_ndcg(one, other), ""),
        "range_query_error": (None if points is None else range_query_error(one, other, points), no_positions),
        "log_similarity": (
            similarity.value,
            f"{similarity.variants_true} and {similarity.variants_private} different sequences are more than "
            f"{COMPARISON.now.variant_pairs} pairs",
        ),
    }
    if times is not None:
        nothing = "a file has no such times, or the true ones are all 0"
        results |= {name: (value, nothing) for name, value in time_metrics(*times, period).items()}
    return Comparison(
        true=true,
        private=private,
        times=times,
        symbols=symbols,
        metrics=MappingProxyType({name: value for name, (value, _) in results.items() if value is not None}),
        left_out=MappingProxyType({name: why for name, (value, why) in results.items() if value is None}),
        top=top,
        patterns=(sizes.start, sizes.stop - 1),
        zones=zones,
        zone_of=zone_of,
        frequent=frequent,
        pairs=pairs,
        diameters=None if points is None else diameter_counts(one, other, points),
        roads=MappingProxyType(dict(roads)),
    )


def _pattern_sizes(patterns: tuple[int, int]) -> range:
    whole = isinstance(patterns, tuple) and len(patterns) == 2 and all(type(size) is int for size in patterns)
    if not whole or not 2 <= patterns[0] <= patterns[1] <= _MOST_PATTERN:
        raise ParameterError(
            "patterns",
            expected=f"two numbers of symbols from 2 to {_MOST_PATTERN}, the smaller first, such as 2..5",
            found="..".join(map(str, patterns)) if whole else repr(patterns),
        )
    return range(patterns[0], patterns[1] + 1)


def _require_all(symbols: Iterable[str], known: Mapping[str, object], option: str, what: str) -> None:
    missing = sum(symbol not in known for symbol in symbols)
    if known and missing:  # which ones is a secret
        raise InputError(f"{option}: expected {what} for every symbol, found none for {missing} of them")


def _synthetic(private: object) -> str | None:
    """What the manifest beside a private file says of synthetic words; None: it has none, or it says something else."""
    document = central_manifest(Path(private)) if isinstance(private, str | Path) else None
    return None if document is None or document["release"] != "synthesize" else what_it_is(document)


def _named(source: object) -> str | None:
    return str(source) if isinstance(source, str | Path) else None
