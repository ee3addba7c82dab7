"""How many words lie within ℓ edits of a word: bounds that hold for every word of a length.

Let C_w(ℓ, j) be the number of words of j symbols within distance ℓ of w. Write w = au. A word that begins
with a is ay with d(au, ay) = d(u, y); one that begins with another symbol c is near iff one of

    d(u, cy) ≤ ℓ−1,     d(au, y) ≤ ℓ−1,     d(u, y) ≤ ℓ−1.

So C_{au}(ℓ, j) = C_u(ℓ, j−1) + Σ_{c≠a} |union of three sets of words y|.
**From below**, take the larger of the last two sets. For the word aa…a this is no loss: there the recursion
is an equation. By induction *no word has fewer near words of any length than aa…a*, for which they are
counted in closed form: d(aⁿ, v) = max(n, |v|) − min(n, number of a's in v).
**From above**, add the three sets up and subtract what is counted twice: y with d(u, y) ≤ ℓ−2 is in all of
them. For ℓ = 1 that is exact for the words with the most near words.
**On a model** the recursion runs along its states, M_s(n, ℓ, j) for the words that start in state s: a
symbol c leads to s_c, its three sets are added up, T_c, and the word's own symbol a is the one for which
M_{s_a}(n−1, ℓ, j−1) gains the most over T_a. No more words are near than there are.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symveil.languages.graph import WordGraph

Floats = NDArray[np.float64]


class BallBounds:
    """Bounds on the number of words within ℓ ≤ `within` edits of a word of n ≤ `longest` symbols, by their length.

    >>> bounds = BallBounds(symbols=3, within=1, longest=5)
    >>> bounds.fewest(4, 1, 4), bounds.most(4, 1, 4)        # four symbols, each may become one of two others
    (9, 9)
    >>> bounds.fewest(4, 1, 3), bounds.most(4, 1, 3)        # from aaaa one deletion gives one word, from abcd four
    (1, 4)
    """

    def __init__(self, *, symbols: int, within: int, longest: int) -> None:
        self._symbols = symbols
        self._most: dict[tuple[int, int, int], int] = {}
        for length in range(longest + 1):
            for edits in range(within + 1):
                # M(n, ℓ, j) asks for M(n, ℓ−1, j−1) and M(n−1, …): both are there already
                for other in range(max(0, length - edits), length + edits + 1):
                    self._most[length, edits, other] = self._bound(length, edits, other)

    def fewest(self, length: int, edits: int, other: int) -> int:
        """The number of words of `other` symbols within `edits` of aa…a: no word has fewer."""
        if edits < 0 or other < 0:
            return 0
        kept = max(length, other) - edits  # at least so many symbols must be a, and only n of them help
        if kept > length:
            return 0
        others = self._symbols - 1
        return sum(math.comb(other, changed) * int(others**changed) for changed in range(other - max(kept, 0) + 1))

    def most(self, length: int, edits: int, other: int) -> int:
        """A number of words of `other` symbols within `edits` of a word that no word exceeds."""
        return self._most.get((length, edits, other), 0)

    def _bound(self, length: int, edits: int, other: int) -> int:
        everything = int(self._symbols**other)
        if length == 0 or other == 0:
            return everything if abs(length - other) <= edits else 0
        if edits == 0:
            return 1
        shared = self.fewest(length - 1, edits - 2, other - 1)
        either = self.most(length, edits - 1, other - 1) + self.most(length - 1, edits - 1, other - 1)
        far = (self._symbols - 1) * (either - 2 * shared) + self.most(length - 1, edits - 1, other) - shared
        return min(everything, self.most(length - 1, edits, other - 1) + far)


class RunBallBounds:
    """An upper bound as `BallBounds.most`, for the words of a model; in floats, rounded upwards.

    >>> import symveil as sv
    >>> roads = sv.runs_up_to(sv.load_model("examples/roads.json"), 6)
    >>> bounds = RunBallBounds(roads.graph, roads.ways, within=1, longest=6)
    >>> bounds.most(6, 1, 6)                  # the word with the most near it has 8
    21
    """

    def __init__(self, graph: WordGraph, ways: list[NDArray[Any]], *, within: int, longest: int) -> None:
        self._graph = graph
        # only ever the smaller of two numbers is taken with these, so infinity is as good as too many
        self._ways = [np.array([float(n) if n < _LARGEST_COUNT else math.inf for n in layer]) for layer in ways]
        self._none = np.zeros(graph.state_count)
        self._most: dict[tuple[int, int, int], Floats] = {}
        for length in range(longest + 1):
            for edits in range(within + 1):
                for other in range(max(0, length - edits), min(longest, length + edits) + 1):
                    self._most[length, edits, other] = self._bound(length, edits, other)

    def most(self, length: int, edits: int, other: int) -> int:
        """A number of words of `other` symbols within `edits` of a word that no word of the model exceeds."""
        # a sum of fewer than 10⁶ positive terms: a relative error below 10⁻⁹
        return math.floor(float(self._at(length, edits, other)[self._graph.start]) * (1 + 1e-9))

    def _at(self, length: int, edits: int, other: int) -> Floats:
        return self._most.get((length, edits, other), self._none)

    def _bound(self, length: int, edits: int, other: int) -> Floats:
        everything = self._ways[other]
        if length == 0 or other == 0:
            return everything if abs(length - other) <= edits else self._none
        if edits == 0:
            return np.asarray(np.minimum(everything, 1.0))
        target = self._graph.target
        after = self._at(length, edits - 1, other - 1) + self._at(length - 1, edits - 1, other - 1)
        changed = np.minimum(after, self._ways[other - 1])[target]
        own = self._at(length - 1, edits, other - 1)[target]
        gain = np.zeros(self._graph.state_count)
        filled = np.flatnonzero(np.diff(self._graph.first))
        gain[filled] = np.maximum.reduceat(own - changed, self._graph.first[filled])
        total = self._graph.sum_over_edges(changed) + np.maximum(gain, 0.0) + self._at(length - 1, edits - 1, other)
        return np.asarray(np.minimum(everything, total))


_LARGEST_COUNT = 10**300
