"""A table with names: rows of symbols, a position or a length, and numbers with intervals.

An estimate as users get it is such a table, and says what it rests on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from symveil.errors import InputError, ParameterError
from symveil.estimation.statistics import Statistic
from symveil.estimation.table import EstimatedTable
from symveil.numbers.rationals import percent
from symveil.pictures.charts import Whisker, heat_chart, whiskers_chart
from symveil.pictures.maps import Road, flows_svg, road_weights_svg
from symveil.reports.page import Reported
from symveil.reports.report import Report, Section, Table

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]
    import pyarrow as pa


SHOWN = 50
"""Rows of a report."""
COLUMNS = (
    *("mean", "count", "released", "estimate", "standard_error"),
    *("low", "high", "low_all", "high_all", "consistent"),
)
"""All columns of numbers that people are shown, in their order."""
_OF_INTERVALS = ("standard_error", "low", "high", "low_all", "high_all")
"""Not shown where no row has an interval: a standard error alone looks like one."""
_UNKNOWN_BIAS = (
    "no interval can be given: how far an estimate is from the truth is not known, a standard error is that of the "
    "noise alone, and the order of the rows can be wrong"
)
_MOST_BARS, _LARGEST_MAP = 30, 40
_HOUR = re.compile(r"[0-9]{1,4}(?::[0-9]{2})?\s?h?")  # 7, 07, 07:30, 7h: bars stand in their order


@dataclass(frozen=True, kw_only=True, eq=False)
class NamedTable(Reported):
    """What an estimate and a private count have in common: rows with names, the largest first.

    Parameters
    ----------
    statistic
        What was asked for.
    confidence
        How often intervals cover.
    symbols
        All symbols, in the order of their codes.
    leading
        "position" or "length" where rows have one.
    places
        The positions or lengths of the rows.
    codes
        The symbols of the rows as codes, a column for each.
    numbers
        The columns of numbers: `low`, `high` and `consistent` among them.
    """

    statistic: str
    confidence: float
    symbols: tuple[str, ...] = field(repr=False)
    leading: str | None = field(repr=False)
    places: NDArray[np.int64] | None = field(repr=False)
    codes: NDArray[np.int64] = field(repr=False)
    numbers: dict[str, NDArray[np.float64]] = field(repr=False)

    drawn_beside: ClassVar[tuple[str, str] | None] = None
    """A column that pictures show beside the bars, and what it is called."""
    what: ClassVar[str] = "numbers"
    """What the numbers are, for a title."""

    @property
    def caveat(self) -> str:
        """What a picture must say too; nothing as a rule."""
        return ""

    def __len__(self) -> int:
        return len(self.codes)

    def row(self, index: int) -> dict[str, Any]:
        """One row, by its rank."""
        position = {} if self.leading is None or self.places is None else {self.leading: int(self.places[index])}
        names = [self.symbols[code] for code in self.codes[index].tolist()]
        return {"symbols": names, **position, **{name: _number(values[index]) for name, values in self.numbers.items()}}

    @property
    def has_intervals(self) -> bool:
        """Whether any row has an interval; a table without rows counts as one that has."""
        return not len(self) or not bool(np.isnan(self.numbers["low"]).all())

    def largest(self, count: int) -> Self:
        """The first so many rows.

        Parameters
        ----------
        count
            How many; all where there are fewer.
        """
        return replace(
            self,
            places=None if self.places is None else self.places[:count],
            codes=self.codes[:count],
            numbers={name: values[:count] for name, values in self.numbers.items()},
        )

    def as_text(self, columns: Sequence[str], *, top: int) -> tuple[list[str], list[list[str]]]:
        """The heads and the first rows of a table for people.

        Parameters
        ----------
        columns
            Which numbers.
        top
            How many rows, from the largest on.
        """
        position = [] if self.leading is None else [self.leading]
        named = ["symbols"] if self.codes.shape[1] else []  # lengths have no symbols
        rows = []
        for index in range(min(len(self), top)):
            row = self.row(index)
            own = [str(row[name]) for name in position] + [_spelled(row[name]) for name in columns]
            rows.append([" → ".join(row["symbols"]), *own] if named else own)
        return [*named, *position, *(name.replace("_", " ") for name in columns)], rows

    def document(self, top: int | None = None) -> dict[str, Any]:
        """The JSON form.

        Parameters
        ----------
        top
            How many rows, from the largest on; None: all.
        """
        shown = len(self) if top is None else min(top, len(self))
        return {
            "statistic": self.statistic,
            "confidence": self.confidence,
            "cells": len(self),
            "rows": [self.row(index) for index in range(shown)],
        }

    @property
    def table(self) -> pa.Table:
        """All rows as an Arrow table: symbol columns, position or length, and the numbers."""
        import pyarrow as pa  # noqa: PLC0415 - heavy, and many look at rows only

        names = np.array(self.symbols, dtype=object)
        order = self.codes.shape[1]
        columns: dict[str, Any] = {
            column: pa.array(names[self.codes[:, axis]], type=pa.string())
            for axis, column in enumerate(symbol_columns(order))
        }
        if self.leading is not None:
            columns[self.leading] = pa.array(self.places)
        return pa.table(columns | {name: pa.array(values) for name, values in self.numbers.items()})

    def to_pandas(self) -> pd.DataFrame:
        """All rows as a DataFrame; needs pandas."""
        try:
            return self.table.to_pandas()
        except ModuleNotFoundError:
            raise InputError("pandas: expected it to be installed (pip install pandas), found none") from None

    # --- as pictures ---------------------------------------------------------------------------

    def _name(self, index: int) -> str:
        name = " → ".join(self.symbols[code] for code in self.codes[index].tolist())
        if self.places is None:
            return name
        return f"{name}, {self.leading} {self.places[index]}" if name else str(self.places[index])

    def to_svg(self, places: Mapping[str, Road] | None = None) -> str:
        """A table of all pairs for transitions, od and directly-follows; bars with whiskers for the largest rows else.

        Parameters
        ----------
        places
            Where symbols lie, as points or as the two ends of roads: then flows on a map, or visits.
        """
        if places is not None:
            return self._on_map(places)
        if self.codes.shape[1] == 2 and len(self.symbols) <= _LARGEST_MAP:
            values = np.full((len(self.symbols), len(self.symbols)), np.nan)
            values[self.codes[:, 0], self.codes[:, 1]] = self.numbers["consistent"]
            return heat_chart(
                values, names=self.symbols, title=f"{self.statistic}: {self.what}, consistent{self.caveat}"
            ).to_svg()
        middle = self.numbers["consistent"]
        low, high = (np.where(np.isnan(self.numbers[name]), middle, self.numbers[name]) for name in ("low", "high"))
        column, label = self.drawn_beside or (None, "")
        bars = [
            Whisker(
                self._name(index),
                value=float(middle[index]),
                low=float(low[index]),
                high=float(high[index]),
                reference=None if column is None else float(self.numbers[column][index]),
            )
            for index in range(min(_MOST_BARS, len(self)))
        ]
        if all(_HOUR.fullmatch(bar.name) for bar in bars):
            bars.sort(key=lambda bar: [int(part) for part in re.findall(r"[0-9]+", bar.name)])
        intervals = f"with {percent(self.confidence)} intervals" if self.has_intervals else "without intervals"
        title = f"{self.statistic}: {self.what} {intervals}{self.caveat}"
        return whiskers_chart(bars, title=title, reference=label).titled().to_svg()

    def _on_map(self, places: Mapping[str, Road]) -> str:
        order = self.codes.shape[1]
        if order not in (1, 2) or self.leading is not None:
            raise ParameterError(
                "places", expected="a statistic that names one place or two, such as visits, od or transitions",
                found=self.statistic,
            )  # fmt: skip
        wanting = [symbol for symbol in self.symbols if symbol not in places]
        if wanting:
            raise ParameterError(
                "places", expected="a place for every symbol", found=f"none for {len(wanting)}, such as {wanting[0]!r}"
            )
        names = [tuple(self.symbols[code] for code in row) for row in self.codes.tolist()]
        values = self.numbers["consistent"].tolist()
        roads = {symbol: places[symbol] for symbol in self.symbols}
        title = f"{self.statistic}: {self.what}, consistent{self.caveat}"
        if order == 2:
            return flows_svg(roads, {(a, b): value for (a, b), value in zip(names, values, strict=True)}, title=title)
        weights = {name[0]: value for name, value in zip(names, values, strict=True)}
        return road_weights_svg(roads, weights, title=title, heaviest=max(values, default=1.0))

    @property
    def kind(self) -> str:
        """What kind of numbers they are, for the title of a table."""
        return self.what

    def report(self, top: int = SHOWN) -> Report:
        """The first rows.

        Rows are sorted by numbers that have noise, so the first ones are among those that noise has raised: the title
        says which intervals hold for rows that were picked so.

        Parameters
        ----------
        top
            How many rows.
        """
        columns = [name for name in COLUMNS if name in self.numbers]
        if not self.has_intervals:
            columns = [name for name in columns if name not in _OF_INTERVALS]
        heads, rows = self.as_text(columns, top=top)
        level = percent(self.confidence)
        if not self.has_intervals:
            covers = "without intervals: how far the numbers are from the truth is not known, nor is their order"
        elif "low_all" in columns:
            covers = f"low all to high all covers all {len(self)} rows at once ({level}), also the largest"
        else:
            covers = f"low to high covers a row that was picked beforehand ({level}), not the largest"
        heading = f"{self.statistic}: {len(rows)} of {len(self)} rows, {self.kind}\n{covers}"
        return Report(title=heading, sections=(Section(heading, (Table.from_rows(heads, rows),)),))

    def _repr_svg_(self) -> str:
        return self.to_svg()


def symbol_columns(order: int) -> list[str]:
    """The columns of a table that have the symbols of a row, of which there are so many.

    >>> symbol_columns(0), symbol_columns(1), symbol_columns(2)
    ([], ['symbol'], ['symbol_1', 'symbol_2'])
    """
    return ["symbol"] if order == 1 else [f"symbol_{axis + 1}" for axis in range(order)]


def _number(value: float) -> float | None:
    """A number as JSON has it: none where an interval could not be given."""
    return None if np.isnan(value) else float(value)


def _spelled(value: float | None) -> str:
    if value is None:
        return "not known"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


Method = Literal["exact-unbiased", "iterated-release", "chain-assumed"]
NUMBERS = ("released", "estimate", "standard_error", "low", "high", "low_all", "high_all", "consistent")
"""The columns of numbers, in their order."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimate(NamedTable):
    """Statistics of the true sequences, estimated from private ones, the largest first.

    `low` and `high` bound each number with the confidence; `low_all` and `high_all` bound all of them at once. The
    estimate is unbiased and may be negative; `consistent` is the nearest table that could be true.

    Parameters
    ----------
    method
        How: "exact-unbiased", "iterated-release" or "chain-assumed".
    target
        As it was asked for.
    assumptions
        What it rests on, and what it leaves out, in sentences; warnings are the first.
    warnings
        Those without which the table would be misread: the noise could not be undone.
    statistic, confidence, symbols, leading, places, codes, numbers
        As in `NamedTable`.

    >>> import pathlib, tempfile
    >>> import symveil as sv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source = pathlib.Path(folder, "true.csv")
    ...     _ = source.write_text("id,word\\n" + "".join(f"{i},a b\\n" for i in range(200)))
    ...     release = sv.privatize_file(source, source.with_name("private.csv"), alphabet="ab", epsilon=4)
    ...     answer = sv.estimate(release.out, "first")
    >>> answer.row(0)["symbols"], answer.table.column_names[:3]
    (['a'], ['symbol', 'released', 'estimate'])
    """

    method: Method
    target: str
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    what: ClassVar[str] = "estimates"
    drawn_beside: ClassVar[tuple[str, str] | None] = ("released", "as released")

    @property
    def kind(self) -> str:
        """How they were estimated."""
        return self.method + self.caveat

    @classmethod
    def of(
        cls,
        statistic: Statistic,
        table: EstimatedTable,
        *,
        symbols: Sequence[object],
        method: Method,
        target: str,
        confidence: float,
        assumptions: Sequence[str],
        **others: Any,
    ) -> Self:
        """The estimate with the cells of a table as rows; `others` are the fields that a kind of its own has."""
        low, high, low_all, high_all = table.intervals(confidence)
        columns = {
            "released": table.released,
            "estimate": table.estimate,
            "standard_error": np.sqrt(np.maximum(table.variances.values, 0.0)),
            "low": low,
            "high": high,
            "low_all": low_all,
            "high_all": high_all,
            "consistent": table.consistent,
        }
        listed = np.ones(table.estimate.shape, dtype=np.bool_) if table.listed is None else table.listed
        where = np.nonzero(listed)
        numbers = {name: np.asarray(values)[where].astype(np.float64) for name, values in columns.items()}
        order = np.lexsort((-numbers["estimate"], -numbers["consistent"]))
        is_unknown = method == "iterated-release" and len(order) > 0 and np.isnan(numbers["low"]).all()
        warnings = (*table.warnings, _UNKNOWN_BIAS) if is_unknown else table.warnings
        axes = [np.asarray(axis)[order] for axis in where]
        positions = axes.pop(0) if table.leading else None
        return cls(
            statistic=statistic.name,
            method=method,
            target=target,
            confidence=confidence,
            assumptions=(*warnings, *assumptions, *table.notes),
            warnings=warnings,
            symbols=tuple(map(str, symbols)),
            leading=table.leading,
            places=positions + 1 if positions is not None and table.leading == "position" else positions,
            codes=np.stack(axes, axis=1) if axes else np.empty((len(order), 0), dtype=np.int64),
            numbers={name: values[order] + 0.0 for name, values in numbers.items()},
            **others,
        )

    def document(self, top: int | None = None) -> dict[str, Any]:
        """The JSON form, with the method, what it is of, and what it rests on.

        Parameters
        ----------
        top
            How many rows, from the largest on; None: all.
        """
        rows = super().document(top)
        return {
            "statistic": rows.pop("statistic"),
            "method": self.method,
            "target": self.target,
            "confidence": rows.pop("confidence"),
            "assumptions": list(self.assumptions),
            **rows,
        }

    @property
    def caveat(self) -> str:
        """What the picture must say too."""
        if self.warnings:
            return ", bias not known" if self.warnings == (_UNKNOWN_BIAS,) else ", noise not undone"
        return ", assuming a Markov chain" if self.method == "chain-assumed" else ""

    def __repr__(self) -> str:
        return f"Estimate({self.statistic!r}, {len(self)} rows, {self.method}, target {self.target!r})"
