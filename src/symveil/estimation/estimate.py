"""An estimate as users get it: a table with names, and what it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from symveil.estimation.named_table import NamedTable
from symveil.estimation.statistics import Statistic
from symveil.estimation.table import EstimatedTable

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
        axes = [np.asarray(axis)[order] for axis in where]
        positions = axes.pop(0) if table.leading else None
        return cls(
            statistic=statistic.name,
            method=method,
            target=target,
            confidence=confidence,
            assumptions=(*table.warnings, *assumptions, *table.notes),
            warnings=table.warnings,
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
            return ", noise not undone"
        return ", assuming a Markov chain" if self.method == "chain-assumed" else ""

    def __repr__(self) -> str:
        return f"Estimate({self.statistic!r}, {len(self)} rows, {self.method}, target {self.target!r})"
