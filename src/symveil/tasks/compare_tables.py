"""How well a table of private counts tells what the true file has, for the holder of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import numpy as np

from symveil.central.counts import PrivateCounts
from symveil.central.unlisted_cells import PersonCells
from symveil.comparison.distributions import CodedWords, jensen_shannon
from symveil.errors import InputError, ParameterError
from symveil.estimation.statistics import Batch, Statistic, read_statistic
from symveil.formats.maps.coordinates import read_coordinates, zones_of
from symveil.formats.sequences.columns import ColumnOptions
from symveil.models.word import Word
from symveil.numbers.rationals import spelled
from symveil.pictures.road_map import tame
from symveil.reports.page import Reported
from symveil.reports.report import Report
from symveil.tasks.central_files import central_manifest, read_counts
from symveil.tasks.compare import read_words
from symveil.tasks.compare_metrics import HOLDER_ONLY, TABLE_METRICS, compared

_ANY_LENGTH = 1 << 40
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
        return f"a table of private counts: {counts.statistic}, epsilon {spelled(counts.epsilon)}{delta} per person"

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
    (0.0, 'a table of private counts: visits, epsilon 3 per person')
    """
    if isinstance(top, bool) or not isinstance(top, int) or top < 1:
        raise ParameterError("top", expected="a whole number, 1 or more", found=top)
    counts = read_counts(table)
    parameters = (central_manifest(Path(table)) or {})["parameters"]
    symbols, words = read_words(true, columns or ColumnOptions(), name="true")
    if parameters.get("zones") is not None:
        symbols = _zones(symbols, places, zones)
    longest = parameters["max_length"] or _ANY_LENGTH
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
    true = np.array([plain[cell] for cell in cells], dtype=np.float64)
    shown = np.array([counts.numbers["consistent"][released[cell]] if cell in released else 0.0 for cell in cells])
    metrics: dict[str, float] = {}
    if true.sum() > 0:
        metrics["listed_share"] = float(true[[cell in released for cell in cells]].sum() / true.sum())
    if true.sum() > 0 and shown.sum() > 0:
        metrics["l1"] = float(np.abs(true / true.sum() - shown / shown.sum()).sum())
        metrics["jsd"] = jensen_shannon(true, shown)
        most, best = (
            {cells[index] for index in np.argsort(-each, kind="stable")[:top].tolist() if each[index] > 0}
            for each in (true, shown)
        )
        metrics["top_f1"] = 2 * len(most & best) / (len(most) + len(best))
    if len(counts):
        low, high = counts.numbers["low"], counts.numbers["high"]
        metrics["covered"] = sum(bool(low[at] <= plain[cell] <= high[at]) for cell, at in released.items()) / len(
            counts
        )
    return {name: metrics[name] for name in TABLE_METRICS if name in metrics}


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
    zone_of = zones_of(zones, roads)[1]
    missing = sum(symbol not in zone_of for symbol in symbols)
    if missing:  # which ones is a secret
        raise InputError(f"zones: expected a zone for every symbol, found none for {missing} of them")
    return tuple(zone_of[symbol] for symbol in symbols)
