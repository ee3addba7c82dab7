"""The public support of a law of words: which moves there are, in which zone symbols lie, how long words may be."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from symveil.central.cells import MOST_CELLS, Cells, cells_of
from symveil.errors import ModelError, ParameterError, TooLargeError
from symveil.estimation.batches import Indices
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
    """

    symbols: int
    source: Indices = field(repr=False)
    target: Indices = field(repr=False)
    zone: Indices = field(repr=False)
    shortest: int
    longest: int

    @classmethod
    def of(cls, *, symbols: int, graph: WordGraph | None, zone: Indices | None, shortest: int, longest: int) -> Support:
        """The support of all words over an alphabet, or of a chain's; without zones each symbol has its own."""
        if not 1 <= shortest <= longest:
            raise ParameterError(
                "lengths", expected="a shortest length, 1 or more, up to a longest", found=f"{shortest} to {longest}"
            )
        zones = symbols if zone is None else int(zone.max(initial=-1)) + 1
        sums, pairs = symbols * zones * longest, max(zones**2, symbols**2 if graph is None else 0)
        if sums > MOST_SUMS or pairs > MOST_CELLS:
            raise TooLargeError(
                f"learn: expected at most {MOST_SUMS:,} symbols x zones x lengths and {MOST_CELLS:,} pairs, found "
                f"{sums:,} and {pairs:,}; give a graph of the moves, fewer zones or shorter lengths"
            )
        if graph is None:
            source, target = (each.reshape(-1) for each in np.indices((symbols, symbols)))
        elif graph.state_is_symbol:
            moves = cells_of("ngrams:2", symbols=symbols, longest=longest, graph=graph).codes()
            source, target = moves[:, 0], moves[:, 1]
        else:
            raise ModelError("graph", expected="a graph of states, such as a Markov chain", found="another model")
        own = np.arange(symbols) if zone is None else zone
        return cls(symbols=symbols, source=source, target=target, zone=own, shortest=shortest, longest=longest)

    @property
    def zones(self) -> int:
        """How many zones there are."""
        return int(self.zone.max(initial=-1)) + 1

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
