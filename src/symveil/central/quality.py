"""How good a learned law can be: the noise of each of its tables, beside how many persons there are.

Everything here is public or follows from released numbers: cells, shares of ε, and the noisy number of persons.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from symveil.central.contributions import GRID
from symveil.central.noise import Query

BLURRED, DROWNED = 0.5, 2.0
"""From which noise on, relative to what persons add, a table is blurred, and from which on it is mostly noise."""


@dataclass(frozen=True, slots=True)
class TableNoise:
    """A table: how many cells it has, and how far the noise of a cell is from 0 on average, in units of its bound."""

    table: str
    cells: int
    noise: float


@dataclass(frozen=True, slots=True)
class Quality:
    """What is known beforehand of the words of a law: the noise in each of its tables.

    Parameters
    ----------
    persons
        How many persons there are, from noisy totals.
    tables
        The tables that decide most.

    >>> few = Quality(889.0, (TableNoise("moves", 1737, 2.0), TableNoise("lengths", 35, 25.0)))
    >>> [(table, f"{share:.0%}", verdict) for table, share, verdict in few.rows()]
    [('moves', '391%', 'mostly noise'), ('lengths', '98%', 'blurred')]
    >>> few.warnings[0]
    'words are mostly noise: noise in the tables ... persons add, is moves 391%; about 6,948 persons would do ...'
    """

    persons: float
    tables: tuple[TableNoise, ...]

    @classmethod
    def of(cls, persons: float, cells: Mapping[str, int], queries: Mapping[str, Query]) -> Quality:
        """From the public cells of tables and the queries that were asked for them."""
        return cls(
            max(1.0, persons),
            tuple(
                TableNoise(name, count, float(queries[name].scale / GRID / queries[name].bound))
                for name, count in cells.items()
            ),
        )

    def share(self, table: TableNoise) -> float:
        """Expected noise in all cells of a table, as a share of what persons add to it."""
        return table.cells * table.noise / self.persons

    def rows(self) -> list[tuple[str, float, str]]:
        """Each table, its share of noise, and what that means."""
        shares = [(each.table, self.share(each)) for each in self.tables]
        return [(name, share, _verdict(share)) for name, share in shares]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Where tables are mostly noise: which, and how many persons, or how much ε, would be enough."""
        drowned = [each for each in self.tables if self.share(each) >= DROWNED]
        if not drowned:
            return ()
        shares = ", ".join(f"{each.table} {self.share(each):.0%}" for each in drowned)
        needed = max(each.cells * each.noise for each in drowned) / BLURRED
        return (
            f"words are mostly noise: noise in the tables that they are learned from, as a share of what about "
            f"{self.persons:,.0f} persons add, is {shares}; about {needed:,.0f} persons would do at this epsilon, or "
            f"{needed / self.persons:.2g} times the epsilon with these persons",
        )

    def document(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "persons": self.persons,
            "tables": [{"table": each.table, "cells": each.cells, "noise": each.noise} for each in self.tables],
        }


def _verdict(share: float) -> str:
    if share >= DROWNED:
        return "mostly noise"
    return "blurred" if share >= BLURRED else "near what was counted"
