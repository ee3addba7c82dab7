"""What both comparisons need, files of words and metrics; and how well a private table tells what the true file has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import compress
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from symveil.central.cells import ANY_LENGTH
from symveil.central.counts import PrivateCounts
from symveil.central.unlisted_cells import PersonCells
from symveil.comparison.distributions import CodedWords, table_metrics
from symveil.comparison.times import TimedWords
from symveil.errors import FileError, ParameterError, SymveilError, WordError
from symveil.estimation.statistics import Statistic, read_statistic
from symveil.estimation.table import Batch
from symveil.formats.manifest import CENTRAL_FORMAT, manifest_path, only_file_errors, read_any_manifest
from symveil.formats.reading import suffix
from symveil.formats.sequences.columns import PROCESS_MINING, ColumnOptions
from symveil.formats.sequences.frames import is_frame, open_input
from symveil.formats.sequences.records import ROW_NUMBER, SYMBOLS, TIME, symbols_of_lists
from symveil.formats.sequences.sequence_file import SequenceFile, reported_records
from symveil.formats.sequences.sequence_files import FORMATS, open_sequences
from symveil.formats.shapes import read_coordinates
from symveil.models.alphabet import Word
from symveil.models.times import Stamps, WallClock
from symveil.numbers.rationals import spelled
from symveil.pictures.maps import tame
from symveil.release.private_file import PrivateFile
from symveil.reports.page import Reported
from symveil.reports.report import Report, Section, Table
from symveil.storage.files import released_files
from symveil.tasks.central_files import symbol_zones
from symveil.tasks.table_files import central_manifest, read_counts

Source = str | Path | Iterable[Word]


class _Gathered:
    """The words of one file, in codes of its own."""

    def __init__(self) -> None:
        self.code: dict[str, int] = {}
        self._codes: list[NDArray[np.int64]] = []
        self._lengths: list[NDArray[np.int64]] = []
        self._stamps: list[Stamps] = []

    def add_times(self, stamps: Stamps) -> None:
        """The times of the symbols that were added last."""
        self._stamps.append(stamps)

    def timed(self, words: CodedWords, clock: WallClock) -> TimedWords | None:
        """The words with their times; None where none were read."""
        if not self._stamps:
            return None
        parts = [(each.microseconds, each.kind) for each in self._stamps]
        return TimedWords(words, Stamps(*(np.concatenate(each) for each in zip(*parts, strict=True))), clock)

    def add(self, texts: list[str], indices: NDArray[np.int64], lengths: NDArray[np.int64]) -> None:
        """Some more words: the different symbols as text, the number of each one's text, how many each word has."""
        own = np.array([self.code.setdefault(text, len(self.code)) for text in texts], dtype=np.int64)
        self._codes.append(own[indices] if len(own) else np.empty(0, dtype=np.int64))
        self._lengths.append(lengths)

    def words(self, number: dict[str, int]) -> CodedWords:
        """The words, in the codes of all symbols."""
        renamed = np.array([number[text] for text in self.code], dtype=np.int32)
        codes = np.concatenate([np.empty(0, dtype=np.int64), *self._codes])
        lengths = np.concatenate([np.empty(0, dtype=np.int64), *self._lengths])
        return CodedWords(renamed[codes] if len(codes) else np.empty(0, dtype=np.int32), lengths, len(number))


def read_pair(
    true: Source, private: Source, columns: ColumnOptions, *, known: Iterable[str] = ()
) -> tuple[tuple[str, ...], tuple[CodedWords, CodedWords]]:
    """The symbols of both files and those that are `known`, in the order of their text; and the words of each file.

    >>> symbols, (true, private) = read_pair(["ab"], [("b", "c")], ColumnOptions())
    >>> symbols, true.codes.tolist(), private.codes.tolist()
    (('a', 'b', 'c'), [0, 1], [1, 2])
    """
    symbols, words, _ = read_both(true, private, columns, known=known)
    return symbols, words


def read_both(
    true: Source, private: Source, columns: ColumnOptions, *, known: Iterable[str]
) -> tuple[tuple[str, ...], tuple[CodedWords, CodedWords], tuple[_Gathered, _Gathered]]:
    """As `read_pair`, and what was gathered of each, which has its times."""
    one = _gathered(true, columns, name="true")
    other = _gathered(private, columns, name="private", may_differ=True)
    symbols = tuple(sorted({*one.code, *other.code, *known}))
    number = {symbol: index for index, symbol in enumerate(symbols)}
    return symbols, (one.words(number), other.words(number)), (one, other)


def read_words(source: Source, columns: ColumnOptions, *, name: str) -> tuple[tuple[str, ...], CodedWords]:
    """The symbols of one file, in the order of their text, and its words."""
    gathered = _gathered(source, columns, name=name, may_differ=name != "true")
    symbols = tuple(sorted(gathered.code))
    return symbols, gathered.words({symbol: index for index, symbol in enumerate(symbols)})


def _gathered(source: Source, columns: ColumnOptions, *, name: str, may_differ: bool = False) -> _Gathered:
    gathered = _Gathered()
    if isinstance(source, str | Path):
        for file in _files(Path(source), columns, may_differ=may_differ):
            for batch in reported_records(file, "reading"):
                gathered.add(*_coded(batch, file))
                if TIME in batch.schema.names:
                    gathered.add_times(file.stamps(batch))
    elif is_frame(source):
        table = _opened_as_it_may_be(source, columns) if may_differ else open_input(source, columns)
        for batch in table.records():
            gathered.add(*_coded(batch, table))
            if TIME in batch.schema.names:
                gathered.add_times(table.stamps(batch))
    else:
        gathered.add(*_coded_words(source, name))
    if not gathered.code:
        raise FileError(
            str(source) if isinstance(source, str | Path) else name,
            expected="at least one sequence with a symbol",
            found="none",
        )
    return gathered


def _files(path: Path, columns: ColumnOptions, *, may_differ: bool) -> Iterator[SequenceFile]:
    private = _described(path) if may_differ else None
    if private is not None:
        # only times that were learned say anything; those of events in other private files are artificial
        learned = columns.time is not None and private.document.get("times", {}).get("learned")
        yield from private.files(time=PROCESS_MINING["order"] if learned else None)
        return
    inside = [file for file in released_files(path) if suffix(file) in FORMATS] if path.is_dir() else [path]
    if not inside:
        raise FileError(str(path), expected="files of sequences in the folder", found="none")
    for file in inside:
        if may_differ:
            yield _opened_as_it_may_be(file, columns)
        else:
            yield open_sequences(file, columns)


def _opened_as_it_may_be(file: Any, columns: ColumnOptions) -> SequenceFile:
    """A private file or table, read as the true one is; else without an order, which logs may lose; else as found."""
    try:
        return open_input(file, columns)
    except SymveilError as error:
        time = columns.time
        others = [
            replace(columns, order=None),
            ColumnOptions(separator=columns.separator, time=time),
            ColumnOptions(time=time),
            replace(columns, order=None, time=None),
            ColumnOptions(separator=columns.separator),
            ColumnOptions(),
        ]
        for other in others:
            if other != columns:
                with suppress(SymveilError):
                    return open_input(file, other)
        raise error  # of the options as they were typed


def _described(path: Path) -> PrivateFile | None:
    """The private file with the manifest beside it; None where there is none."""
    manifest = manifest_path(path)
    if not manifest.is_file():
        return None
    document = read_any_manifest(manifest).document
    if document["format"] == CENTRAL_FORMAT and document["release"] != "synthesize":
        actual = "a table of counts, for compare_table" if document["release"] == "count" else "a model"
        raise FileError(str(path), expected="a file of sequences", found=actual)
    with only_file_errors(manifest):
        ColumnOptions.from_names(document["output"]["columns"])
    return PrivateFile(path, document)


def _coded(batch: pa.RecordBatch, file: SequenceFile) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    rows = batch.column(ROW_NUMBER)
    texts, indices, lengths = symbols_of_lists(
        batch.column(SYMBOLS), where=lambda row: f"{file.file}: {file.unit} {rows[row].as_py()}"
    )
    seen = np.bincount(indices, minlength=len(texts)) > 0  # a dictionary may have symbols that do not occur
    return list(compress(texts, seen.tolist())), (np.cumsum(seen) - 1)[indices], lengths


def _coded_words(words: Iterable[Word], name: str) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    code: dict[str, int] = {}
    codes: list[int] = []
    lengths: list[int] = []
    if not isinstance(words, Iterable):
        raise WordError(f"{name}: expected a file or words, found a {type(words).__name__}")
    for number, word in enumerate(words, start=1):
        if not isinstance(word, Iterable):
            raise WordError(f"{name}: expected words as sequences of symbols, found another thing as word {number}")
        symbols = [str(symbol) for symbol in word]
        codes.extend(code.setdefault(symbol, len(code)) for symbol in symbols)
        lengths.append(len(symbols))
    return list(code), np.array(codes, dtype=np.int64), np.array(lengths, dtype=np.int64)


HOLDER_ONLY = (
    "for the holder of the true file only: these numbers depend on the secret sequences and are not private; do not "
    "publish them, nor choose by them which private file to publish"
)


@dataclass(frozen=True, slots=True)
class Metric:
    """How a metric is presented."""

    label: str
    best: str
    meaning: str
    source: str


METRICS = {
    "visits_jsd": Metric("visits: divergence", "0, at most 0.693", "how often each symbol occurs", "LDPTrace, density"),
    "coverage_kendall_tau": Metric(
        "coverage: Kendall's τ", "1, at least −1", "symbols in the order of how many sequences have them", "AdaTrace"
    ),
    "hotspot_ndcg": Metric("hotspots: NDCG", "1, at least 0", "the five most visited symbols, in order", "LDPTrace"),
    "od_jsd": Metric(
        "origin–destination: divergence", "0, at most 0.693", "first and last zone", "AdaTrace, trip error"
    ),
    "length_jsd": Metric(
        "lengths: divergence", "0, at most 0.693", "how many symbols sequences have", "AdaTrace, adapted"
    ),
    "diameter_jsd": Metric(
        "diameters: divergence", "0, at most 0.693", "largest distance within a sequence, 20 buckets", "AdaTrace"
    ),
    "range_query_error": Metric(
        "range queries: relative error", "0", "visits in 225 squares on the map", "LDPTrace, lattice"
    ),
    "pattern_f1": Metric("frequent patterns: F1", "1, at least 0", "the most frequent patterns", "AdaTrace"),
    "pattern_support_error": Metric(
        "frequent patterns: support error", "0", "how often the true file's top patterns occur", "AdaTrace"
    ),
    "bigram_l1": Metric("pairs: L1", "0, at most 2", "which symbol follows which, as shares of all pairs", "formula"),
    "transition_tv": Metric(
        "transitions: total variation", "0, at most 1", "the next symbol, given the last", "formula"
    ),
    "log_similarity": Metric(
        "log similarity: 1 − EMD", "1, at least 0", "whole sequences, normalised edit distance", "Leemans et al. 2019"
    ),
    "cycle_mean_error": Metric("cycle time, mean: relative error", "0", "from the first to the last event", "formula"),
    "cycle_median_error": Metric("cycle time, median: relative error", "0", "the same, median", "formula"),
    "cycle_p90_error": Metric("cycle time, 90 %: relative error", "0", "the same, 0.9 quantile", "formula"),
    "cycle_w1": Metric("cycle time: W1 ÷ mean", "0", "all quantiles of cycle times", "formula"),
    "wait_median_log2": Metric("median waits: |log₂|", "0, at most 10", "doublings, moves with ten waits", "formula"),
    "wait_mean_log2": Metric("mean waits: |log₂|", "0, at most 10", "doublings, moves with ten waits", "formula"),
    "hour_jsd": Metric("hours: divergence", "0, at most 0.693", "at which hour events happen", "formula"),
    "start_hour_jsd": Metric("start hours: divergence", "0, at most 0.693", "at which hour cases start", "formula"),
    "weekday_jsd": Metric("weekdays: divergence", "0, at most 0.693", "on which weekday events happen", "formula"),
    "week_l1": Metric("weeks: L1", "0, at most 2", "in which week cases start", "formula"),
}
"""Of two files of sequences, in the order of the report."""

TABLE_METRICS = {
    "l1": Metric("shares: L1", "0, at most 2", "differences of shares, over all cells", "formula"),
    "jsd": Metric("shares: divergence", "0, at most 0.693", "divergence of the two tables", "formula"),
    "covered": Metric("intervals: coverage", "1", "rows whose interval holds the true raw count", "formula"),
    "top_f1": Metric("frequent rows: F1", "1, at least 0", "the most frequent rows found", "AdaTrace, adapted"),
    "listed_share": Metric(
        "listed share", "1", "of all that is counted in the true file, what the table has rows for", "formula"
    ),
}
"""Of a table beside the true file."""


def compared(
    metrics: Mapping[str, float], meanings: Mapping[str, Metric], *, title: str, notes: Iterable[str] = ()
) -> Report:
    """What was compared, as a table of metrics, with whom it is for.

    `METRICS` or `TABLE_METRICS` say how each is presented, and in which order.

    >>> compared({"l1": 0.25}, TABLE_METRICS, title="A table").sections[0].parts[0].rows
    (('shares: L1', '0.25', '0, at most 2', 'differences of shares, over all cells', 'formula', 'l1'),)
    """
    rows = [
        (each.label, f"{metrics[name]:.4g}", each.best, each.meaning, each.source, name)
        for name, each in meanings.items()
        if name in metrics
    ]
    table = Table.from_rows(("metric", "value", "best", "of", "as in", "name"), rows, words=(5,))
    return Report(title=title, sections=(Section(title, (table,)),), notes=tuple(notes), warnings=(HOLDER_ONLY,))


_DIFFERENCES = 20

Cell = tuple[str, ...]
"""The symbols of a cell, or a length as text."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableComparison(Reported):
    """What was found. It depends on the secret sequences: for their holder only.

    Parameters
    ----------
    true, private
        The names of the files; None where words were handed over.
    counts
        The private table.
    sequences
        How many true sequences there are.
    metrics
        By name: docs/statistics.md has their formulas.
    top
        How many rows count as the most frequent.
    differences
        The rows with the largest differences: symbols, the true count, the released one.
    """

    true: str | None
    private: str
    counts: PrivateCounts = field(repr=False)
    sequences: int
    metrics: Mapping[str, float]
    top: int
    differences: tuple[tuple[Cell, int, float], ...] = field(repr=False)

    @property
    def what(self) -> str:
        """What the private file is."""
        counts = self.counts
        delta = f", delta {spelled(counts.delta)}" if counts.delta else ""
        return (
            f"a table of private counts: {counts.statistic}, epsilon {spelled(counts.epsilon)}{delta} per {counts.per}"
        )

    def document(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "holder_only": HOLDER_ONLY,
            "true": {"file": self.true, "sequences": self.sequences},
            "private": {"file": self.private, "what": self.what, "rows": len(self.counts)},
            "top": self.top,
            "metrics": dict(self.metrics),
            "largest_differences": [
                {"symbols": list(cell), "true": true, "count": count} for cell, true, count in self.differences
            ],
        }

    def report(self) -> Report:
        """The metrics, and what the table covers."""
        title = f"For the holder only: {self.sequences:,} true sequences, {self.what}"
        return compared(self.metrics, TABLE_METRICS, title=title, notes=self.counts.notes)


def is_table(private: object) -> bool:
    """Whether a file is a table of private counts, by the manifest beside it."""
    document = central_manifest(Path(private)) if isinstance(private, str | Path) else None
    return document is not None and document["release"] == "count"


def compare_table(
    true: str | Path | Iterable[Word],
    table: str | Path,
    *,
    places: str | Path | None = None,
    zones: str | Path | None = None,
    top: int = 100,
    columns: ColumnOptions | None = None,
) -> TableComparison:
    """Compare a table of private counts with the raw counts of the true file. For the holder of both only.

    Parameters
    ----------
    true
        The true file of sequences, or words.
    table
        The table that `count_file` wrote, with its manifest beside it.
    places, zones
        As they were given to `count_file`, where zones were counted.
    top
        How many of the most frequent rows are compared.
    columns
        How the true file is read.

    >>> import tempfile
    >>> from symveil.tasks.count import count_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source, out = Path(folder, "in.csv"), Path(folder, "table.csv")
    ...     _ = source.write_text("id,pages\\n" + "".join(f"{n},a b a\\n" for n in range(5000)))
    ...     _ = count_file(source, "visits", epsilon=3, alphabet="ab", bound=3, out=out)
    ...     found = compare_table(source, out)
    >>> round(found.metrics["l1"], 2), found.what
    (0.0, 'a table of private counts: visits, epsilon 3 per record')
    """
    if isinstance(top, bool) or not isinstance(top, int) or top < 1:
        raise ParameterError("top", expected="a whole number, 1 or more", found=top)
    counts = read_counts(table)
    parameters = (central_manifest(Path(table)) or {})["parameters"]
    symbols, words = read_words(true, columns or ColumnOptions(), name="true")
    if parameters.get("zones") is not None:
        symbols = _zones(symbols, places, zones)
    longest = parameters["max_length"] or ANY_LENGTH
    plain = plain_counts(read_statistic(counts.statistic), symbols, words, longest=longest)
    released = {_cell(counts, index): index for index in range(len(counts))}
    return TableComparison(
        true=str(true) if isinstance(true, str | Path) else None,
        private=str(table),
        counts=counts,
        sequences=len(words),
        metrics=MappingProxyType(_metrics(plain, released, counts, top)),
        top=top,
        differences=_differences(plain, released, counts),
    )


def plain_counts(statistic: Statistic, symbols: tuple[str, ...], words: CodedWords, *, longest: int) -> Counter[Cell]:
    """How often each cell occurs, without noise and without a bound.

    >>> words = CodedWords.from_words([[0, 1, 0]], symbols=2)
    >>> plain_counts(read_statistic("ngrams:2"), ("a", "b"), words, longest=9) == {("a", "b"): 1, ("b", "a"): 1}
    True
    """
    batch = Batch(words.codes, words.lengths, np.zeros(len(words), dtype=np.int64))
    result = PersonCells.of(statistic, [batch], longest=longest)
    counts: Counter[Cell] = Counter()
    for codes, times in zip(result.cells.tolist(), result.times.tolist(), strict=True):
        cell = (str(codes[0]),) if statistic.kind == "lengths" else tuple(symbols[code] for code in codes)
        counts[cell] += times  # several symbols may be in one zone
    return counts


def _metrics(plain: Counter[Cell], released: dict[Cell, int], counts: PrivateCounts, top: int) -> dict[str, float]:
    cells = sorted({*plain, *released})
    at = np.array([released.get(cell, -1) for cell in cells], dtype=np.int64)
    true = np.array([plain[cell] for cell in cells], dtype=np.float64)
    numbers = {name: np.append(counts.numbers[name], 0.0)[at] for name in ("consistent", "low", "high")}
    return table_metrics(true, numbers["consistent"], (numbers["low"], numbers["high"]), listed=at >= 0, top=top)


def _differences(
    plain: Counter[Cell], released: dict[Cell, int], counts: PrivateCounts
) -> tuple[tuple[Cell, int, float], ...]:
    rows = [(cell, plain[cell], float(counts.numbers["count"][at])) for cell, at in released.items()]
    return tuple(sorted(rows, key=lambda row: (-abs(row[1] - row[2]), row[0]))[:_DIFFERENCES])


def _cell(counts: PrivateCounts, index: int) -> Cell:
    row = counts.row(index)
    return (str(row["length"]),) if counts.leading is not None else tuple(row["symbols"])


def _zones(symbols: tuple[str, ...], places: str | Path | None, zones: str | Path | None) -> tuple[str, ...]:
    if places is None and zones is None:
        wanted = "the zones, or the places, that the table was counted with"
        raise ParameterError("zones", expected=wanted, found="none")
    roads = {} if places is None else tame(read_coordinates(places))
    zone, names = symbol_zones(symbols, zones, roads, public=False)
    return tuple(names[number] for number in zone.tolist())
