"""A row of the table: what was timed, against what, and the bar it has to pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from benchmarks.measure import Effort

Quantity = Literal["cost", "speed-up", "exponent", "seconds", "symbols", "megabytes"]

# How the figure must stand to the bar.
_RELATION: dict[Quantity, str] = {
    "cost": "≤", "speed-up": "≥", "exponent": "≤", "seconds": "<", "symbols": "≤", "megabytes": "≤"
}  # fmt: skip
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measurement. Times are seconds per unit; a time that could not be taken is None.

    `quantity` says what the row is about: "cost" is ours/peer and must stay at or below `limit`,
    "speed-up" is peer/ours and must reach it, "exponent" is how our time grows, "seconds" is our time
    itself, "symbols" is an expected error and "megabytes" is memory (then nothing in the row is a time).
    Without a limit the row only informs.
    """

    name: str
    ours: float | None
    peer: str
    peer_time: float | None
    quantity: Quantity
    limit: float | None = None
    exponent: float | None = None
    unit: str = "word"
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """peer/ours for a speed-up, ours/peer otherwise."""
        if self.ours is None or self.peer_time is None:
            return None
        if self.quantity == "speed-up":
            return self.peer_time / self.ours
        return self.ours / self.peer_time

    @property
    def figure(self) -> float | None:
        """The number that the bar judges."""
        if self.quantity == "exponent":
            return self.exponent
        return self.ours if self.quantity in ("seconds", "symbols", "megabytes") else self.ratio

    @property
    def passed(self) -> bool | None:
        """Whether the bar is passed; None where there is no bar or nothing to judge."""
        figure = self.figure
        if self.limit is None or figure is None:
            return None
        if self.quantity == "speed-up":
            return figure >= self.limit
        return figure < self.limit if self.quantity == "seconds" else figure <= self.limit

    def bar(self) -> str:
        """The bar as text, or nothing."""
        if self.limit is None:
            return ""
        relation = _RELATION[self.quantity]
        if self.quantity == "seconds":
            return f"{relation} {self.limit:g} s"
        if self.quantity == "megabytes":
            return f"{relation} {self.limit:g} MB"
        if self.quantity == "symbols":
            return f"{relation} {self.limit:g}"
        if self.quantity == "exponent":
            return f"{relation} n^{self.limit:g}"
        return f"{relation} {self.limit:g}×"

    def document(self) -> dict[str, object]:
        """The row in JSON."""
        bar = None
        if self.limit is not None:
            bar = {"quantity": self.quantity, "relation": _RELATION[self.quantity], "limit": self.limit}
        return {
            "name": self.name,
            "unit": self.unit,
            "ours": self.ours,
            "peer": self.peer,
            "peer_time": self.peer_time,
            "ratio": self.ratio,
            "ratio_of": "peer/ours" if self.quantity == "speed-up" else "ours/peer",
            "exponent": self.exponent,
            "bar": bar,
            "passed": self.passed,
            "note": self.note,
        }


Benchmark = Callable[[Effort], Iterable[Row]]


def duration(seconds: float | None) -> str:
    """Seconds with three digits and a fitting unit."""
    if seconds is None:
        return "—"
    for scale, unit in _UNITS:
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
