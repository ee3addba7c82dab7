"""Metrics of symbols in a row: patterns, pairs, transitions, the directly-follows graph.

Sources as in `distributions`; the directly-follows graph is that of van der Aalst, Process Mining (2016), §6.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from symveil.comparison.distributions import CodedWords, Integers

TOP, SHORTEST, LONGEST = 100, 2, 5

Pattern = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class NgramTables:
    """The windows of one length in both files, each different one in a row, in the order of their symbols."""

    size: int
    true: Integers
    private: Integers
    """How often each occurs in either file."""
    patterns: Integers
    """The symbols of each, a row of codes."""


def ngram_tables(true: CodedWords, private: CodedWords, sizes: range) -> Iterator[NgramTables]:
    """The tables of all sizes; windows do not cross from a word into the next.

    A window of k symbols is named by the number of its first k − 1 symbols and its last one, so that names stay small
    whatever the alphabet, and their order is that of the symbols.

    >>> words = CodedWords.from_words([[0, 1, 0, 1], [1]], symbols=2)
    >>> [(table.patterns.tolist(), table.true.tolist()) for table in ngram_tables(words, words, range(2, 4))]
    [([[0, 1], [1, 0]], [2, 1]), ([[0, 1, 0], [1, 0, 1]], [1, 1])]
    """
    codes = np.concatenate([true.codes, private.codes]).astype(np.int64)
    lengths = np.concatenate([true.lengths, private.lengths])
    remaining = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(codes))  # symbols up to the end of the word
    symbols = max(true.symbols, 1)
    at = np.arange(len(codes))
    names = codes
    for size in range(2, sizes.stop):
        keep = remaining[at] >= size
        at, names = at[keep], names[keep]
        different, where, names = np.unique(
            names * symbols + codes[at + size - 1], return_index=True, return_inverse=True
        )
        if size in sizes:
            of_true = at < len(true.codes)
            yield NgramTables(
                size=size,
                true=np.bincount(names[of_true], minlength=len(different)),
                private=np.bincount(names[~of_true], minlength=len(different)),
                patterns=codes[at[where][:, None] + np.arange(size)],
            )


@dataclass(frozen=True, slots=True)
class FrequentPatterns:
    """The most frequent patterns of both files, the most frequent first, with their supports in both."""

    true: tuple[tuple[Pattern, int, int], ...]
    private: tuple[tuple[Pattern, int, int], ...]
    """A pattern, how often it occurs in the true file, and in the private one."""

    def f1(self) -> float:
        """Harmonic mean of precision and recall of the private file's top patterns: 2|A ∩ B|/(|A| + |B|).

        AdaTrace's `calcF1`, which divides 0 by 0 where no pattern is shared: 0 here. LDPTrace's
        `calculate_pattern_f1_error` is the same where both files have as many patterns as are asked for, and too small
        where they have fewer.
        """
        shared = {pattern for pattern, *_ in self.true} & {pattern for pattern, *_ in self.private}
        return 2 * len(shared) / (len(self.true) + len(self.private))

    def support_error(self) -> float:
        """Mean of |s − s′|/s over the true file's top patterns, s and s′ their numbers of occurrences.

        `patternMiningSupport` of AdaTrace. Numbers are not scaled: a private file of half as many sequences is off by a
        half. It is not symmetric, and it has no upper bound.
        """
        return math.fsum(abs(one - other) / one for _, one, other in self.true) / len(self.true)


def frequent_patterns(
    true: CodedWords, private: CodedWords, *, top: int = TOP, sizes: range = range(SHORTEST, LONGEST + 1)
) -> FrequentPatterns | None:
    """The `top` contiguous patterns of these sizes in each file, by occurrences; None where a file has none.

    AdaTrace and LDPTrace mine 2 to 8 cells (`minePatterns`, `mine_patterns`) and break ties by whatever their hash
    tables do; here ties are in the order of the symbols, so that a number can be computed again.

    >>> true, private = (CodedWords.from_words(words, symbols=3) for words in ([[0, 1, 0, 1]], [[0, 1, 2]]))
    >>> found = frequent_patterns(true, private, top=2)
    >>> found.true, found.f1(), found.support_error()
    ((((0, 1), 2, 1), ((0, 1, 0), 1, 0)), 0.5, 0.75)
    """
    best: dict[str, list[tuple[Pattern, int, int]]] = {"true": [], "private": []}
    for table in ngram_tables(true, private, sizes):
        for name, counts in (("true", table.true), ("private", table.private)):
            first = np.argsort(-counts, kind="stable")[:top]
            best[name] += [
                (tuple(table.patterns[row].tolist()), int(table.true[row]), int(table.private[row]))
                for row in first.tolist()
                if counts[row]
            ]
    if not best["true"] or not best["private"]:
        return None
    return FrequentPatterns(
        true=tuple(sorted(best["true"], key=lambda row: (-row[1], row[0]))[:top]),
        private=tuple(sorted(best["private"], key=lambda row: (-row[2], row[0]))[:top]),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Which symbol follows which directly, how often, in both files."""

    table: NgramTables

    @classmethod
    def of(cls, true: CodedWords, private: CodedWords) -> Pairs | None:
        """The pairs of two files; None where one of them has none."""
        (table,) = ngram_tables(true, private, range(2, 3))
        return cls(table) if table.true.any() and table.private.any() else None

    def l1(self) -> float:
        """Σ |p(a, b) − q(a, b)| over all pairs, p and q the shares of all pairs: from 0 to 2.

        Twice the total variation of the two laws of pairs; the formula is the source.

        >>> true, private = (CodedWords.from_words(words, symbols=2) for words in ([[0, 1, 0]], [[0, 1, 1]]))
        >>> Pairs.of(true, private).l1()
        1.0
        """
        one, other = self.table.true, self.table.private
        return min(2.0, math.fsum(np.abs(one / one.sum() - other / other.sum())))

    def transition_tv(self) -> float:
        """Σ_a w(a)·½ Σ_b |P(b|a) − Q(b|a)|, w(a) the share of the true file's pairs that begin with a: from 0 to 1.

        The expected total variation of the next symbol, from a symbol drawn as the true file has them. A symbol that
        the private file never leaves counts 1. It is not symmetric; the formula is the source.

        >>> true, private = (CodedWords.from_words(words, symbols=2) for words in ([[0, 1, 0]], [[0, 1, 1]]))
        >>> Pairs.of(true, private).transition_tv()      # from 0: right; from 1: wrong
        0.5
        """
        source = self.table.patterns[:, 0]
        rows = np.bincount(source, weights=self.table.true)
        others = np.bincount(source, weights=self.table.private, minlength=len(rows))
        left = np.divide(self.table.private, others[source], where=others[source] > 0, out=np.zeros(len(source)))
        seen = rows[source] > 0
        differences = np.abs(self.table.true[seen] / rows[source[seen]] - left[seen])
        total = math.fsum(rows[source[seen]] * differences) / 2
        # no pair of such a row is in the private file: half of the difference is missing in the sum
        total += math.fsum(rows[(rows > 0) & (others == 0)]) / 2
        return min(1.0, total / float(rows.sum()))

    def directly_follows(self) -> dict[str, int]:
        """The edges of both directly-follows graphs, and how many are in both.

        >>> true, private = (CodedWords.from_words(words, symbols=2) for words in ([[0, 1, 0]], [[0, 1, 1]]))
        >>> Pairs.of(true, private).directly_follows()
        {'edges_true': 2, 'edges_private': 2, 'edges_both': 1}
        """
        one, other = self.table.true > 0, self.table.private > 0
        counts = {"edges_true": one, "edges_private": other, "edges_both": one & other}
        return {name: int(np.count_nonzero(edges)) for name, edges in counts.items()}

    def largest_differences(self, most: int) -> list[tuple[Pattern, int, int]]:
        """The pairs whose shares differ most: a pair, how often it occurs in the true file, and in the private one."""
        one, other = self.table.true, self.table.private
        order = np.argsort(-np.abs(one / one.sum() - other / other.sum()), kind="stable")[:most]
        return [
            (tuple(self.table.patterns[row].tolist()), int(one[row]), int(other[row]))
            for row in order.tolist()
            if one[row] / one.sum() != other[row] / other.sum()
        ]
