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
"""

from __future__ import annotations

import math


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
