"""The edit channel spelled out, for small words: nothing here is shared with the library."""

from __future__ import annotations

import itertools
import math
from functools import cache

from rapidfuzz.distance import Levenshtein

Word = tuple[int, ...]


def words(symbols: int, longest: int) -> list[Word]:
    return [word for length in range(longest + 1) for word in itertools.product(range(symbols), repeat=length)]


def neighbours(inputs: list[Word], adjacency: int) -> list[tuple[int, int]]:
    pairs = itertools.permutations(range(len(inputs)), 2)
    return [(i, j) for i, j in pairs if Levenshtein.distance(inputs[i], inputs[j]) <= adjacency]


class Channel:
    """P(released | word): which symbols of the output stand for which symbols of the word, summed over all ways."""

    def __init__(self, *, symbols: int, ratio: float, power: float, deletion: float, substitution: float) -> None:
        self.symbols, self.deletion, self.substitution = symbols, deletion, substitution
        self.keep = 1 - deletion - substitution
        weights = [ratio**t / (1 + t) ** power for t in range(4000)]
        total = math.fsum(weights)
        self.gap = [weight / total for weight in weights]

    def probability(self, word: Word, released: Word) -> float:
        @cache
        def rest(i: int, j: int) -> float:
            """From before the gap in front of symbol i, with the output from j on still to come."""
            found = 0.0
            for inserted in range(len(released) - j + 1):
                chance = self.gap[inserted] * self.symbols**-inserted
                after = j + inserted
                if i == len(word):
                    found += chance if after == len(released) else 0.0
                    continue
                found += chance * self.deletion * rest(i + 1, after)
                if after < len(released):
                    if released[after] == word[i]:
                        found += chance * self.keep * rest(i + 1, after + 1)
                    elif self.symbols > 1:
                        found += chance * self.substitution / (self.symbols - 1) * rest(i + 1, after + 1)
            return found

        return rest(0, 0)
