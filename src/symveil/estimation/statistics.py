"""The statistics that can be estimated, by their names.

Some words of a private file, and the windows in them that a statistic counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ParameterError
from symveil.estimation.names import LONGEST_GRAM, NAMES
from symveil.models.alphabet import Codes, Lengths
from symveil.models.times import Stamps
from symveil.numbers.once import computed_once

_ORDERS = {
    "visits": 1,
    "first": 1,
    "last": 1,
    "positions": 1,
    "transitions": 2,
    "od": 2,
    "lengths": 0,
    "presence": 1,
    "directly-follows": 2,
}


@dataclass(frozen=True, slots=True)
class Statistic:
    """A statistic: what is counted, and how many symbols name a row of its table.

    `kind` is its name without a number: "ngrams" for ngrams:3. Transitions are counted as pairs of neighbours.
    """

    name: str
    kind: str
    order: int


def read_statistic(name: str | Statistic) -> Statistic:
    """The statistic of this name.

    >>> read_statistic("ngrams:3").order, read_statistic("od").order
    (3, 2)
    """
    if isinstance(name, Statistic):
        return name
    if name in _ORDERS:
        kind = "ngrams" if name == "directly-follows" else name
        return Statistic(name, kind, _ORDERS[name])
    kind, _, number = str(name).partition(":")
    if kind == "ngrams" and number.isascii() and number.isdigit() and 1 <= int(number) <= LONGEST_GRAM:
        return Statistic(f"ngrams:{int(number)}", "ngrams", int(number))
    raise ParameterError(
        "statistic",
        expected=f"one of {', '.join(NAMES)} with K from 1 to {LONGEST_GRAM}, or directly-follows",
        found=name,
    )


Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Batch:
    """Words one after the other, with their lengths and the group that each belongs to."""

    codes: Codes
    lengths: Lengths
    groups: Indices
    stamps: Stamps | None = None
    """The times of the symbols, where they were asked for."""
    attributes: tuple[Indices, ...] = ()
    """Other values of the symbols as codes, -1 where there is none that is public: an array for each attribute."""

    @computed_once
    def starts(self) -> Indices:
        """Where each word begins."""
        return np.asarray(np.cumsum(self.lengths) - self.lengths)

    @computed_once
    def word(self) -> Indices:
        """For each symbol, which word it is in."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @computed_once
    def position(self) -> Indices:
        """For each symbol, how many stand before it in its word."""
        return np.arange(len(self.codes)) - self.starts[self.word]

    def windows_of(self, order: int) -> Indices:
        """Where each run of `order` symbols of one word begins."""
        return np.flatnonzero(self.position + order <= self.lengths[self.word])

    def only(self, wanted: NDArray[np.bool_]) -> Batch:
        """Some of the words."""
        if wanted.all():
            return self
        symbols = wanted[self.word]
        return Batch(
            self.codes[symbols],
            self.lengths[wanted],
            self.groups[wanted],
            None if self.stamps is None else self.stamps.only(symbols),
            tuple(values[symbols] for values in self.attributes),
        )


@dataclass(frozen=True, slots=True)
class Windows:
    """What a statistic counts in a batch: the symbols of each window, its word, and its row of the table."""

    symbols: tuple[Codes, ...]
    word: Indices
    row: Indices | None = None
    """The position, where positions are distinguished."""

    def cells(self, symbols: int) -> Indices:
        """The cell of each window in a table with `symbols` columns for each of its symbols."""
        total = np.zeros(len(self.word), dtype=np.int64) if self.row is None else self.row.astype(np.int64)
        for each in self.symbols:
            total = total * symbols + each
        return total


def windows(statistic: Statistic, batch: Batch) -> Windows:
    """The windows of a batch that a statistic counts.

    >>> from symveil.estimation.statistics import read_statistic
    >>> batch = Batch(np.array([2, 0, 1, 1], dtype=np.int32), np.array([3, 0, 1]), np.zeros(3, dtype=np.int64))
    >>> [each.tolist() for each in windows(read_statistic("ngrams:2"), batch).symbols]
    [[2, 0], [0, 1]]
    >>> [each.tolist() for each in windows(read_statistic("od"), batch).symbols]
    [[2], [1]]
    """
    codes, kind = batch.codes, statistic.kind
    if kind in ("visits", "positions"):
        return Windows((codes,), batch.word, batch.position if kind == "positions" else None)
    if kind in ("ngrams", "transitions"):
        at = batch.windows_of(statistic.order)
        return Windows(tuple(codes[at + step] for step in range(statistic.order)), batch.word[at])
    words = np.flatnonzero(batch.lengths >= statistic.order)
    first, last = batch.starts[words], batch.starts[words] + batch.lengths[words] - 1
    ends = {"first": (first,), "last": (last,), "od": (first, last)}[kind]
    return Windows(tuple(codes[at] for at in ends), words)
