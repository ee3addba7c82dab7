"""Private counts of times: starts by hour, waits and cycle times on a public grid, bottlenecks, means.

Cells are those of `time_cells`, noise and intervals those of `noise.Query`; quantiles and means have intervals of their
own (`time_intervals`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from symveil.central.cells import GRID, Read
from symveil.central.counts import CountTerms, PrivateCounts
from symveil.central.noise import Query
from symveil.central.time_cells import SHARED_OUT, TimeCells, TimeQuestion, group_columns
from symveil.central.time_intervals import mean_interval, mean_widths, quantile_bins, quantile_widths
from symveil.estimation.named_table import SHOWN
from symveil.models.times import spelled_duration
from symveil.numbers.rationals import percent
from symveil.randomness import RecordKey
from symveil.reports.report import Report, Section, Table


@dataclass(frozen=True, kw_only=True, eq=False)
class TimeCounts(PrivateCounts):
    """Private counts of times: rows have the hour, the date or the bin that they count.

    Parameters
    ----------
    question
        What was counted.
    keys
        The columns that tell rows of one group apart.
    quantile_rows
        The rows of quantiles, each with the ends of its interval.
    epsilon, bound, clipped_share, queries, notes, delta, threshold
        As in `PrivateCounts`.
    statistic, confidence, symbols, leading, places, codes, numbers
        As in `NamedTable`.
    """

    question: TimeQuestion
    keys: dict[str, list[Any]] = field(repr=False)
    quantile_rows: tuple[dict[str, Any], ...] = ()
    what: ClassVar[str] = "private counts of times"

    def row(self, index: int) -> dict[str, Any]:
        """One row, by its rank."""
        plain = super().row(index)
        own = {name: values[index] for name, values in self.keys.items()}
        return _with_group(self.question, plain["symbols"]) | own | {k: v for k, v in plain.items() if k != "symbols"}

    def largest(self, count: int) -> TimeCounts:
        """The first so many rows."""
        return replace(super().largest(count), keys={name: values[:count] for name, values in self.keys.items()})

    def as_text(self, columns: Sequence[str], *, top: int) -> tuple[list[str], list[list[str]]]:
        """The heads and the first rows of a table for people."""
        names = [name for name in self.keys if not name.endswith("_seconds")]
        grid = "from_seconds" in self.keys
        shown = [name for name in columns if name in self.numbers]
        heads = [*(["symbols"] if self.codes.shape[1] else []), *names, *(["wait"] if grid else []), *shown]
        rows = []
        for index in range(min(len(self), top)):
            row = self.row(index)
            text = [" → ".join(row["symbols"])] if self.codes.shape[1] else []
            text += [str(row[name]) for name in names]
            if grid:
                text.append(_bin_text(row["from_seconds"], row["to_seconds"]))
            rows.append(text + [_short(row[name], self.question, name) for name in shown])
        return [name.replace("_", " ") for name in heads], rows

    def document(self, top: int | None = None) -> dict[str, Any]:
        """The JSON form; rows of quantiles stand behind the others."""
        plain = super().document(top)
        return {**plain, "rows": [*plain["rows"], *self.quantile_rows], "time": self.question.document()}

    @property
    def table(self) -> pa.Table:
        """All rows as an Arrow table, those of quantiles at the end."""
        plain = super().table
        order = self.codes.shape[1]
        own = group_columns(self.question, order)
        columns = {name: plain[at] for at, name in enumerate(own)}
        columns |= {
            name: pa.array(values, type=pa.string() if values and isinstance(values[0], str) else pa.int64())
            for name, values in self.keys.items()
        }
        columns |= {name: plain[name] for name in self.numbers}
        table = pa.table(columns)
        if not self.quantile_rows:
            return table
        listed = self.quantile_rows
        rows = {name: pa.array([row["symbols"][at] for row in listed], type=pa.string()) for at, name in enumerate(own)}
        rows |= {
            name: pa.array([row[name] for row in listed], type=pa.float64()) for name in ("quantile", "low", "high")
        }
        return pa.concat_tables([table, pa.table(rows)], promote_options="default")

    def report(self, top: int = SHOWN) -> Report:
        """The first rows, and those of quantiles."""
        plain = super().report(top)
        if not self.quantile_rows:
            return plain

        def ended(seconds: float | None) -> str:
            return "open" if seconds is None else spelled_duration(int(seconds))

        rows = [
            (" → ".join(row["symbols"]) or "all", f"{row['quantile']:g}", ended(row["low"]), ended(row["high"]))
            for row in self.quantile_rows[:SHOWN]
        ]
        table = Table.from_rows(("of", "quantile", "low", "high"), rows)
        quantiles = Section(f"Quantiles, {percent(self.confidence)} intervals each", (table,))
        return replace(plain, sections=(*plain.sections, quantiles))

    def _name(self, index: int) -> str:
        row = self.row(index)
        parts = [" → ".join(row["symbols"])] if row["symbols"] else []
        if "from_seconds" in row:
            parts.append(_bin_text(row["from_seconds"], row["to_seconds"]))
        parts += [str(values[index]) for name, values in self.keys.items() if not name.endswith("_seconds")]
        return ", ".join(parts)


def _with_group(question: TimeQuestion, symbols: list[str]) -> dict[str, Any]:
    """What names the group of a row."""
    own: dict[str, Any] = {"symbols": symbols}
    if question.by == "activity":
        own["activity"] = symbols[0]
    elif question.by == "move":
        own["move"] = symbols
    return own


def _bin_text(low: int, high: int | None) -> str:
    return (
        f"{spelled_duration(low)} or more" if high is None else f"{spelled_duration(low)} to {spelled_duration(high)}"
    )


def _about(seconds: float) -> str:
    """A duration for readers, with three digits."""
    size, unit = next(
        ((size, unit) for size, unit in ((86_400, "d"), (3600, "h"), (60, "m")) if seconds >= size), (1, "s")
    )
    return f"{seconds / size:.3g}{unit}"


def _short(value: float | None, question: TimeQuestion, name: str) -> str:
    if value is None:
        return "not known"
    if question.kind == "mean-waits" and name != "count":
        return _about(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def private_time_counts(
    cells: TimeCells, read: Read, persons: int, terms: CountTerms, *, names: Sequence[object], keys: RecordKey
) -> TimeCounts:
    """Count times with one ε per person.

    Parameters
    ----------
    cells
        The public cells.
    read
        Reads all legal words with their times; their groups are persons, numbered from 0.
    persons
        How many persons there are: a secret.
    terms
        What each person loses and adds at most.
    names
        The names of symbols or zones.
    keys
        Where noise comes from.
    """
    question = cells.question
    if question.kind in SHARED_OUT:
        queries, share = replace(terms, bound="normalised").queries(question.name, 1), None
        sums = cells.shared_out(read)
    else:
        queries, sums, share = terms.sums(question.name, cells, read, persons, keys)
    answers = queries[-1].answered(sums, keys, cells=cells.names(names))
    return released_times(cells, answers, queries, names=names, clipped_share=share, confidence=terms.confidence)


def released_times(
    cells: TimeCells,
    answers: Sequence[int],
    queries: Sequence[Query],
    *,
    names: Sequence[object],
    clipped_share: float | None,
    confidence: float,
) -> TimeCounts:
    """The table that noisy sums lead to: everything here reads released numbers only.

    Parameters
    ----------
    cells, answers, queries
        The public cells, their noisy sums in steps of the grid, and the queries.
    names
        Of symbols or zones.
    clipped_share, confidence
        As in `PrivateCounts`.
    """
    question = cells.question
    plain = PrivateCounts.of(
        cells.statistic, cells.codes(), answers, queries,
        names=names, clipped_share=clipped_share, confidence=confidence,
    )  # fmt: skip
    every = {each.name: getattr(plain, each.name) for each in fields(PrivateCounts)}
    order = np.argsort(-np.array([answer / GRID for answer in answers]), kind="stable").tolist()
    own = {name: [values[at] for at in order] for name, values in cells.keys().items()}
    if question.kind == "mean-waits":
        every |= _mean_rows(cells, answers, queries[-1], confidence)
        own = {}
    return TimeCounts(
        **every,
        question=question,
        keys=own,
        quantile_rows=_quantile_rows(cells, answers, queries[-1], names, confidence),
    )


def _quantile_rows(
    cells: TimeCells, answers: Sequence[int], query: Query, names: Sequence[object], confidence: float
) -> tuple[dict[str, Any], ...]:
    question, bins = cells.question, cells.slots
    rows = []
    for wanted in question.quantiles:
        widths = quantile_widths(bins, wanted, query.scale, confidence)
        for group, codes in enumerate(cells.groups.tolist()):
            noisy = answers[group * bins : (group + 1) * bins]
            low, high = quantile_bins(noisy, wanted, widths)
            rows.append(
                {
                    **_with_group(question, [str(names[code]) for code in codes]),
                    "quantile": float(wanted),
                    "low": float(question.grid.edges[low - 1]),
                    "high": None if high == bins else float(question.grid.edges[high]),
                }
            )
    return tuple(rows)


def _mean_rows(cells: TimeCells, answers: Sequence[int], query: Query, confidence: float) -> dict[str, Any]:
    """The columns of a table of means: the weight of each row, what its waits have of it, the mean and its interval."""
    cap = float(cells.question.cap or 1)
    waited, rest = np.array(answers[::2], dtype=object), np.array(answers[1::2], dtype=object)
    total = waited + rest
    rows = len(total)
    columns: dict[str, NDArray[np.float64]] = {
        "mean": np.array([
            cap * min(max(a / t, 0.0), 1.0) if t > 0 else math.nan for a, t in zip(waited, total, strict=True)
        ]),
        "count": np.array([value / GRID for value in total]),
        "waited": np.array([value / GRID for value in waited]),
    }  # fmt: skip
    for suffix, level in (("", confidence), ("_all", confidence ** (1 / max(rows, 1)))):
        widths = mean_widths(level, query.scale)
        ends = [mean_interval(a, t, widths) for a, t in zip(waited, total, strict=True)]
        columns[f"low{suffix}"] = np.array([math.nextafter(low * cap, -1.0) if low > 0 else 0.0 for low, _ in ends])
        columns[f"high{suffix}"] = np.array([min(math.nextafter(high * cap, math.inf), cap) for _, high in ends])
    columns["consistent"] = np.where(np.isnan(columns["mean"]), 0.0, columns["mean"])
    # by what is sure: a row of noise alone may have any mean, and its interval begins at 0
    order = np.lexsort((-columns["consistent"], -columns["low"], -columns["low_all"]))
    return {"codes": cells.groups[order], "numbers": {name: values[order] for name, values in columns.items()}}
