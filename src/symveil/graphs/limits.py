"""Up to how much work graphs are treated in the plain way: beyond it they go another way, to the same answer."""

from __future__ import annotations

from dataclasses import dataclass

from symveil.numbers.limits import Adjustable


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphLimits:
    """The most of each."""

    few_edges: int = 300
    """Edges of a graph whose rows are compared to find its stable partition, which is then quicker than signatures."""


LIMITS = Adjustable(GraphLimits())
