"""The metrics as their definitions say them, in plain Python: what the fast ones are compared with."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

Word = tuple[int, ...]


def divergence(one: Counter, other: Counter) -> float:
    """½ KL(p‖m) + ½ KL(q‖m), cell by cell."""
    p = {cell: Fraction(count, sum(one.values())) for cell, count in one.items()}
    q = {cell: Fraction(count, sum(other.values())) for cell, count in other.items()}
    total = 0.0
    for cell in {*p, *q}:
        middle = (p.get(cell, 0) + q.get(cell, 0)) / 2
        for law in (p, q):
            if law.get(cell, 0):
                total += 0.5 * float(law[cell]) * math.log(law[cell] / middle)
    return total


def visits(words: Sequence[Word]) -> Counter:
    return Counter(symbol for word in words for symbol in word)


def windows(words: Sequence[Word], sizes: range) -> Counter:
    return Counter(word[at : at + size] for size in sizes for word in words for at in range(len(word) - size + 1))


def tau_b(one: Sequence[int], other: Sequence[int]) -> float:
    """Kendall's τ-b by its pairs."""
    concordant = tied_one = tied_other = 0
    pairs = list(itertools.combinations(range(len(one)), 2))
    for i, j in pairs:
        a, b = (one[i] > one[j]) - (one[i] < one[j]), (other[i] > other[j]) - (other[i] < other[j])
        concordant += a * b
        tied_one += a == 0
        tied_other += b == 0
    return concordant / math.sqrt((len(pairs) - tied_one) * (len(pairs) - tied_other))


def edit_distance(one: Word, other: Word) -> int:
    """The textbook's table."""
    row = list(range(len(other) + 1))
    for i, symbol in enumerate(one, start=1):
        before, row[0] = row[0], i
        for j, letter in enumerate(other, start=1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (symbol != letter))
    return row[-1]


def normalised(one: Word, other: Word) -> Fraction:
    return Fraction(edit_distance(one, other), max(len(one), len(other), 1))


def earth_movers_distance(true: Sequence[Word], private: Sequence[Word]) -> Fraction:
    """Over all ways to match every copy of a word with a copy of another: few words only."""
    copies = math.lcm(len(true), len(private))
    one = [word for word in true for _ in range(copies // len(true))]
    other = [word for word in private for _ in range(copies // len(private))]
    return min(
        sum((normalised(*pair) for pair in zip(one, order, strict=True)), Fraction(0)) / copies
        for order in itertools.permutations(other)
    )


def top(counts: Counter, k: int) -> list[Word]:
    """The most frequent ones; ties in the order of their symbols."""
    return sorted(counts, key=lambda pattern: (-counts[pattern], pattern))[:k]


def transition_tv(true: Sequence[Word], private: Sequence[Word], symbols: int) -> float:
    """Row by row."""
    one, other = windows(true, range(2, 3)), windows(private, range(2, 3))
    total = 0.0
    for a in range(symbols):
        row = {b: one[a, b] for b in range(symbols)}
        line = {b: other[a, b] for b in range(symbols)}
        if not sum(row.values()):
            continue
        if sum(line.values()):
            distance = sum(abs(row[b] / sum(row.values()) - line[b] / sum(line.values())) for b in row) / 2
        else:
            distance = 1.0
        total += sum(row.values()) / sum(one.values()) * distance
    return total
