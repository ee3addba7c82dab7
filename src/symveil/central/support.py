"""The public support of a law of words: which moves there are, in which zone symbols lie, how long words may be."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from symveil.central.cells import MOST_CELLS, Cells, cells_of
from symveil.errors import ParameterError, TooLargeError
from symveil.estimation.statistics import Indices
from symveil.languages.graph import WordGraph

MOST_SUMS = 50_000_000
"""Numbers that the forward pass keeps: symbols × zones × positions."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Support:
    """Everything public that a law of words stands on.

    Parameters
    ----------
    symbols
        How many symbols there are.
    source, target
        The moves, from symbol to symbol, in order.
    zone
        The zone of each symbol.
    shortest, longest
        Between which lengths words are.
    split
        Where moves and ends from the first so many positions and from later ones are in different cells: so many. None:
        they are in the same.
    """

    symbols: int
    source: Indices = field(repr=False)
    target: Indices = field(repr=False)
    zone: Indices = field(repr=False)
    shortest: int
    longest: int
    split: int | None = None

    @classmethod
    def of(
        cls,
        *,
        symbols: int,
        graph: WordGraph | None,
        zone: Indices | None,
        shortest: int,
        longest: int,
        phases: int = 1,
    ) -> Support:
        """The support of all words over an alphabet, or of a model's; without zones each symbol has its own.

        It has every pair of symbols that stand side by side in a path of the model. Where that allows words that are
        none of the model's, the model is also a rule (`rules.Rules`). With two phases each move will count twice.
        """
        if not 1 <= shortest <= longest:
            raise ParameterError(
                "lengths", expected="a shortest length, 1 or more, up to a longest", found=f"{shortest} to {longest}"
            )
        zones = symbols if zone is None else int(zone.max(initial=-1)) + 1
        sums, pairs = symbols * zones * longest, max(zones**2, phases * symbols**2 if graph is None else 0)
        if sums > MOST_SUMS or pairs > MOST_CELLS:
            raise TooLargeError(
                f"learn: expected at most {MOST_SUMS:,} symbols x zones x lengths and {MOST_CELLS:,} pairs, found "
                f"{sums:,} and {pairs:,}; give a graph of the moves, fewer zones or shorter lengths"
            )
        if graph is None:
            source, target = (each.reshape(-1) for each in np.indices((symbols, symbols)))
        else:
            moves = cells_of("ngrams:2", symbols=symbols, longest=longest, graph=graph).codes()
            source, target = moves[:, 0], moves[:, 1]
        own = np.arange(symbols) if zone is None else zone
        return cls(symbols=symbols, source=source, target=target, zone=own, shortest=shortest, longest=longest)

    @property
    def zones(self) -> int:
        """How many zones there are."""
        return int(self.zone.max(initial=-1)) + 1

    @property
    def phases(self) -> int:
        """How many kinds of positions there are: one, or early and late ones."""
        return 1 if self.split is None else 2

    def phase(self, position: int) -> int:
        """The kind of a position, counted from 0."""
        return int(self.split is not None and position >= self.split)

    def shared(self, position: int) -> float:
        """What a move counts in a word whose last position this is: its share of what the word adds to the table.

        Without a split a word adds 1, shared among its moves; with one, at most `split`, shared among its moves, its
        start and its end.
        """
        if self.split is None:
            return 1.0 / max(position, 1)
        return min(1.0, self.split / (position + 2))

    @property
    def base(self) -> NDArray[np.float64]:
        """What a move weighs before anything is learned: all moves from a symbol alike."""
        return 1.0 / np.bincount(self.source, minlength=self.symbols)[self.source]

    def cells(self) -> dict[str, Cells]:
        """The tables that a law is fitted to, by its features; words outside the lengths do not count."""
        moves = cells_of("ngrams:2", symbols=self.symbols, longest=self.longest)
        every = {
            "moves": replace(moves, listed=self.source * self.symbols + self.target),
            "starts": cells_of("first", symbols=self.symbols, longest=self.longest),
            "ends": cells_of("last", symbols=self.symbols, longest=self.longest),
            "od": cells_of("od", symbols=self.symbols, longest=self.longest, zones=self.zone),
            "lengths": cells_of("lengths", symbols=self.symbols, longest=self.longest),
        }
        return {name: replace(cells, shortest=self.shortest) for name, cells in every.items()}
