"""A row of the table: what was timed, against what, and the bar it has to pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from benchmarks.fit import Growth
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
    "speed-up" is peer/ours and must reach it, "exponent" is how our time grows (`growth` has the
    points), "seconds" is our time itself, "symbols" is an expected error and "megabytes" is memory (then
    nothing in the row is a time). Without a limit the row only informs. A benchmark that broke leaves a
    row with its `error`.
    """

    name: str
    ours: float | None
    peer: str
    peer_time: float | None
    quantity: Quantity
    limit: float | None = None
    growth: Growth | None = None
    unit: str = "word"
    note: str = ""
    error: str = ""

    @classmethod
    def broken(cls, name: str, error: str) -> Row:
        """What is left of a benchmark that raised an error."""
        return cls(name=name, ours=None, peer="", peer_time=None, quantity="seconds", error=error)

    @property
    def exponent(self) -> float | None:
        """How our time grows."""
        return None if self.growth is None else self.growth.fitted.value

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
        """Whether the bar is passed; None where there is no bar or nothing to judge, False where it broke."""
        if self.error:
            return False
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
            return f"{relation} {duration(self.limit)}"
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
            "quantity": self.quantity,
            "unit": self.unit,
            "ours": self.ours,
            "peer": self.peer,
            "peer_time": self.peer_time,
            "ratio": self.ratio,
            "ratio_of": "peer/ours" if self.quantity == "speed-up" else "ours/peer",
            "exponent": self.exponent,
            "growth": None if self.growth is None else self.growth.document(),
            "bar": bar,
            "passed": self.passed,
            "note": self.note,
            "error": self.error,
            "shown": self.shown(),
        }

    def shown(self) -> dict[str, str]:
        """The cells of the table, as text: the same on a screen and on a page."""
        verdict = {True: "pass", False: "FAIL", None: "" if self.limit is None else "n/a"}[self.passed]
        return {
            "ours": self._amount(self.ours),
            "peer": self._amount(self.peer_time),
            "ratio": self._ratio_text(),
            "bar": self.bar(),
            "ok": "broken" if self.error else verdict,
        }

    def _ratio_text(self) -> str:
        if self.growth is not None and self.quantity == "exponent":
            fitted = self.growth.fitted
            known = f" ({fitted.low:.2f} … {fitted.high:.2f})" if math.isfinite(fitted.low) else ""
            return f"n^{fitted.value:.2f}{known}"
        if self.ratio is None:
            return "—"
        return f"{self.ratio:,.0f}×" if self.ratio >= 100 else f"{self.ratio:.3g}×"

    def _amount(self, value: float | None) -> str:
        """A time, or memory, or a number of symbols in the rows that are about errors."""
        if value is None:
            return "—"
        if self.quantity == "megabytes":
            return f"{value:,.0f} MB"
        return f"{value:.3g}" if self.quantity == "symbols" else duration(value)


Benchmark = Callable[[Effort], Iterable[Row]]


def duration(seconds: float | None) -> str:
    """Seconds with three digits and a fitting unit."""
    if seconds is None:
        return "—"
    for scale, unit in _UNITS:
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
