"""The cells of a private table: a public list, known before any data is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from symveil.central.contributions import cell_name
from symveil.errors import ModelError, ParameterError, TooLargeError
from symveil.estimation.batches import Batch, Indices, windows
from symveil.estimation.statistics import Statistic, read_statistic
from symveil.languages.graph import WordGraph
from symveil.models.word import Lengths

STATISTICS = ("visits", "first", "last", "transitions", "od", "ngrams:K", "lengths", "directly-follows")
"""What can be counted centrally, as it is typed."""
MOST_CELLS = 4_000_000
"""A table with more would take minutes of noise alone."""
_LARGEST_NUMBER = 2**63 - 1


@dataclass(frozen=True, kw_only=True, eq=False)
class Cells:
    """Which cells a table has, and in which of them a word counts.

    Parameters
    ----------
    statistic
        What is counted.
    symbols
        How many symbols the alphabet has; where pairs of zones are counted, how many zones.
    listed
        The cells as numbers, increasing, where not all of them can occur: a model's moves. None: all.
    zones
        The zone of each symbol, where origins and destinations are counted by zone.
    longest, shortest
        The longest and the shortest word that counts. Others add nothing.
    """

    statistic: Statistic
    symbols: int
    listed: Indices | None = field(default=None, repr=False)
    zones: Indices | None = field(default=None, repr=False)
    longest: int
    shortest: int = 0

    def __len__(self) -> int:
        if self.listed is not None:
            return len(self.listed)
        if self.statistic.kind == "lengths":
            return self.longest - self.shortest + 1
        return int(self.symbols**self.statistic.order)

    def of(self, batch: Batch) -> tuple[Indices, Indices]:
        """For everything in a batch that counts: its cell, and which word it is in. Over-long words do not count."""
        if self.statistic.kind == "lengths":
            words = np.flatnonzero(self._counts(batch.lengths))
            return batch.lengths[words].astype(np.int64) - self.shortest, words
        found = windows(self.statistic, batch)
        cells, words = self._numbers(found.symbols), found.word
        counted = self._counts(batch.lengths)[words]
        if self.listed is not None:
            at = np.searchsorted(self.listed, cells)
            counted &= self.listed[np.minimum(at, len(self.listed) - 1)] == cells if len(self.listed) else False
            cells = at
        return cells[counted], words[counted]

    def codes(self) -> NDArray[np.int64]:
        """The symbols (or zones) of each cell, a column for each; the lengths where lengths are counted."""
        cells = np.arange(len(self)) if self.listed is None else self.listed
        if self.statistic.kind == "lengths":
            return cells[:, None] + self.shortest
        columns = []
        for _ in range(self.statistic.order):
            cells, code = np.divmod(cells, self.symbols)
            columns.append(code)
        return np.stack(columns[::-1], axis=1)

    def names(self, symbols: Sequence[object]) -> list[bytes]:
        """The name of each cell: its symbols (or zones), or its length.

        >>> cells_of("lengths", symbols=2, longest=1).names("ab"), cells_of("first", symbols=2, longest=9).names("ab")
        ([b'["0"]', b'["1"]'], [b'["a"]', b'["b"]'])
        """
        if self.statistic.kind == "lengths":
            return [cell_name(map(str, row)) for row in self.codes().tolist()]
        texts = [str(symbol) for symbol in symbols]
        return [cell_name([texts[code] for code in row]) for row in self.codes().tolist()]

    def _counts(self, lengths: Lengths) -> NDArray[np.bool_]:
        return np.asarray((lengths >= self.shortest) & (lengths <= self.longest))

    def _numbers(self, columns: tuple[NDArray[np.int32], ...]) -> Indices:
        total = np.zeros(len(columns[0]), dtype=np.int64)
        for each in columns:
            total = total * self.symbols + (each if self.zones is None else self.zones[each])
        return total


def cells_of(
    statistic: str | Statistic,
    *,
    symbols: int,
    longest: int,
    graph: WordGraph | None = None,
    zones: Indices | None = None,
) -> Cells:
    """The public cells of a statistic over an alphabet, a model's moves, or zones.

    Parameters
    ----------
    statistic
        visits, first, last, transitions, od, ngrams:K, lengths or directly-follows.
    symbols
        How many symbols there are.
    longest
        The longest word that counts.
    graph
        The model's graph: n-grams are those that it has a path for.
    zones
        The zone of each symbol, for origins and destinations.

    >>> table = cells_of("ngrams:2", symbols=3, longest=10)
    >>> len(table), table.codes()[5].tolist()
    (9, [1, 2])
    """
    asked = read_statistic(statistic)
    if asked.kind in ("positions", "presence"):
        raise ParameterError("statistic", expected=f"one of {', '.join(STATISTICS)}", found=asked.name)
    if zones is not None and asked.kind != "od":
        raise ParameterError("zones", expected="the statistic od with them", found=asked.name)
    if longest < 1:
        raise ParameterError("longest", expected="a whole number, 1 or more", found=longest)
    size = symbols if zones is None else int(zones.max(initial=-1)) + 1
    listed = None
    if graph is not None and asked.kind in ("ngrams", "transitions") and asked.order > 1:
        listed = _paths(graph, asked.order, symbols)
    cells = Cells(statistic=asked, symbols=size, listed=listed, zones=zones, longest=longest)
    if not len(cells):
        raise ModelError("model", expected=f"at least one path of {asked.order} symbols", found="none")
    if len(cells) > MOST_CELLS:
        raise TooLargeError(
            f"statistic {asked.name}: expected at most {MOST_CELLS:,} cells, found {len(cells):,}; count shorter "
            "pieces, give a model whose moves are the cells, or zones"
        )
    return cells


def _paths(graph: WordGraph, order: int, symbols: int) -> Indices:
    """The symbols along each path of `order` of them, as numbers, each once and increasing."""
    if symbols**order * graph.state_count > _LARGEST_NUMBER:
        raise TooLargeError(
            f"statistic: expected pieces over {symbols} symbols whose numbers fit into 64 bits, found {order} in a "
            "piece; count shorter ones"
        )
    states, numbers = np.arange(graph.state_count), np.zeros(graph.state_count, dtype=np.int64)
    degree = np.diff(graph.first)
    for _ in range(order):
        fan = degree[states]
        if int(fan.sum()) > 4 * MOST_CELLS:
            raise TooLargeError(
                f"statistic: expected at most {MOST_CELLS:,} cells, found more than {MOST_CELLS:,} paths of the model; "
                "count shorter pieces"
            )
        begin = np.repeat(np.cumsum(fan) - fan, fan)
        edge = np.repeat(graph.first[states], fan) + np.arange(int(fan.sum())) - begin
        numbers = np.repeat(numbers, fan) * symbols + graph.symbol[edge]
        pairs = np.unique(numbers * graph.state_count + graph.target[edge])
        numbers, states = np.divmod(pairs, graph.state_count)
    return np.unique(numbers)
