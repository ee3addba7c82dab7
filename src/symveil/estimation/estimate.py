"""An estimate as users get it: a table with names, and what it rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from symveil.drawing.heat_map import heat_map_svg
from symveil.drawing.road_map import Road, flows_svg, road_weights_svg
from symveil.drawing.whiskers import Whisker, whiskers_svg
from symveil.errors import InputError, ParameterError
from symveil.estimation.statistics import Statistic
from symveil.estimation.table import EstimatedTable

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]
    import pyarrow as pa

Method = Literal["exact-unbiased", "iterated-release", "chain-assumed"]
NUMBERS = ("released", "estimate", "standard_error", "low", "high", "low_all", "high_all", "consistent")
"""The columns of numbers, in their order."""
_MOST_BARS, _LARGEST_MAP = 30, 40


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimate:
    """Statistics of the true sequences, estimated from private ones, the largest first.

    `low` and `high` bound each number with the confidence; `low_all` and `high_all` bound all of them at once. The
    estimate is unbiased and may be negative; `consistent` is the nearest table that could be true.

    Parameters
    ----------
    statistic
        What was asked for.
    method
        How: "exact-unbiased", "iterated-release" or "chain-assumed".
    target, confidence
        As they were asked for.
    assumptions
        What it rests on, and what it leaves out, in sentences.
    symbols
        All symbols, in the order of their codes.
    leading
        "position" or "length" where rows have one.
    places
        The positions or lengths of the rows.
    codes
        The symbols of the rows as codes, a column for each.
    numbers
        The columns of numbers.

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

    statistic: str
    method: Method
    target: str
    confidence: float
    assumptions: tuple[str, ...]
    symbols: tuple[str, ...] = field(repr=False)
    leading: str | None = field(repr=False)
    places: NDArray[np.int64] | None = field(repr=False)
    codes: NDArray[np.int64] = field(repr=False)
    numbers: dict[str, NDArray[np.float64]] = field(repr=False)

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
    ) -> Estimate:
        """The estimate with the cells of a table as rows."""
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
        axes = [np.asarray(axis)[order] for axis in where]
        places = axes.pop(0) if table.leading else None
        return cls(
            statistic=statistic.name,
            method=method,
            target=target,
            confidence=confidence,
            assumptions=(*assumptions, *table.notes),
            symbols=tuple(map(str, symbols)),
            leading=table.leading,
            places=places + 1 if places is not None and table.leading == "position" else places,
            codes=np.stack(axes, axis=1) if axes else np.empty((len(order), 0), dtype=np.int64),
            numbers={name: values[order] + 0.0 for name, values in numbers.items()},
        )

    def __len__(self) -> int:
        return len(self.codes)

    # --- as data -------------------------------------------------------------------------------

    def row(self, index: int) -> dict[str, Any]:
        """One row, by its rank."""
        place = {} if self.leading is None or self.places is None else {self.leading: int(self.places[index])}
        names = [self.symbols[code] for code in self.codes[index].tolist()]
        return {"symbols": names, **place, **{name: _number(values[index]) for name, values in self.numbers.items()}}

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
            "method": self.method,
            "target": self.target,
            "confidence": self.confidence,
            "assumptions": list(self.assumptions),
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
            "symbol" if order == 1 else f"symbol_{axis + 1}": pa.array(names[self.codes[:, axis]], type=pa.string())
            for axis in range(order)
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
        assumed = ", assuming a Markov chain" if self.method == "chain-assumed" else ""
        title = f"{self.statistic}: estimates with {self.confidence:.0%} intervals{assumed}"
        if places is not None:
            return self._on_map(places, assumed)
        if self.codes.shape[1] == 2 and len(self.symbols) <= _LARGEST_MAP:
            values = np.full((len(self.symbols), len(self.symbols)), np.nan)
            values[self.codes[:, 0], self.codes[:, 1]] = self.numbers["consistent"]
            return heat_map_svg(values, names=self.symbols, title=f"{self.statistic}: estimated, consistent{assumed}")
        shown = range(min(_MOST_BARS, len(self)))
        bars = [
            Whisker(
                self._name(index),
                value=float(self.numbers["consistent"][index]),
                low=float(np.nan_to_num(self.numbers["low"][index], nan=self.numbers["consistent"][index])),
                high=float(np.nan_to_num(self.numbers["high"][index], nan=self.numbers["consistent"][index])),
                reference=float(self.numbers["released"][index]),
            )
            for index in shown
        ]
        return whiskers_svg(bars, title=title, reference="as released")

    def _on_map(self, places: Mapping[str, Road], assumed: str) -> str:
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
        title = f"{self.statistic}: estimated, consistent{assumed}"
        if order == 2:
            return flows_svg(roads, {(a, b): value for (a, b), value in zip(names, values, strict=True)}, title=title)
        weights = {name[0]: value for name, value in zip(names, values, strict=True)}
        return road_weights_svg(roads, weights, title=title, heaviest=max(values, default=1.0))

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def __repr__(self) -> str:
        return f"Estimate({self.statistic!r}, {len(self)} rows, {self.method}, target {self.target!r})"


def _number(value: float) -> float | None:
    """A number as JSON has it: none where an interval could not be given."""
    return None if np.isnan(value) else float(value)
