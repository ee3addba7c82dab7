"""Metrics of single symbols, of lengths and of symbols in a row: how much, how often, in which order.

Sources: AdaTrace is Gursoy, Liu, Truex, Yu, Wei, CCS 2018, and its code git-disl/AdaTrace (`Evaluation.java`);
LDPTrace is Du, Hu, Zhang, Fang, Chen, Zheng, Gao, PVLDB 2023, and its code zealscott/LDPTrace (`experiment.py`,
`utils.py`); the directly-follows graph is that of van der Aalst, Process Mining (2016), §6.

Words as arrays: all codes one after the other, and the lengths; two files over one list of symbols.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import kendalltau

from symveil.models.alphabet import Codes

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class CodedWords:
    """The words of a file.

    >>> words = CodedWords.from_words([[0, 1, 1], [], [2]], symbols=3)
    >>> words.visits().tolist(), words.starts.tolist()
    ([1, 2, 1], [0, 3, 3])
    """

    codes: Codes
    lengths: Integers
    symbols: int
    """How many symbols there are: codes are 0, 1, …, symbols − 1, in the order of the symbols as text."""

    @classmethod
    def from_words(cls, words: Iterable[Sequence[int]], *, symbols: int) -> CodedWords:
        """The same words, given one by one."""
        rows = [np.asarray(word, dtype=np.int32) for word in words]
        codes = np.concatenate(rows) if rows else np.empty(0, dtype=np.int32)
        return cls(codes, np.array([len(row) for row in rows], dtype=np.int64), symbols)

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def starts(self) -> Integers:
        """Where each word begins."""
        return np.asarray(np.cumsum(self.lengths) - self.lengths)

    @property
    def word_of(self) -> Integers:
        """The number of the word that each code is in."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def visits(self) -> Integers:
        """How often each symbol occurs."""
        return np.bincount(self.codes, minlength=self.symbols)

    def coverage(self) -> Integers:
        """How many words each symbol occurs in.

        >>> CodedWords.from_words([[0, 1, 1], [1]], symbols=3).coverage().tolist()
        [1, 2, 0]
        """
        in_words = np.unique(self.word_of * max(self.symbols, 1) + self.codes)
        return np.bincount(in_words % max(self.symbols, 1), minlength=self.symbols)

    def ends(self) -> tuple[Codes, Codes]:
        """First and last symbol of each word that has two or more.

        >>> [ends.tolist() for ends in CodedWords.from_words([[0, 1, 2], [1], [2, 0]], symbols=3).ends()]
        [[0, 2], [2, 0]]
        """
        long = self.lengths >= 2
        first = self.starts[long]
        return self.codes[first], self.codes[first + self.lengths[long] - 1]

    def variants(self) -> tuple[list[Codes], Integers]:
        """The different words, and how often each occurs; shorter ones first, then in the order of their codes.

        >>> [word.tolist() for word in CodedWords.from_words([[1], [0, 1], [1]], symbols=2).variants()[0]]
        [[1], [0, 1]]
        """
        words: list[Codes] = []
        counts: list[Integers] = []
        starts = self.starts
        for length in np.unique(self.lengths):
            begins = starts[self.lengths == length]
            rows = self.codes[begins[:, None] + np.arange(length)]
            if length == 0:
                words.append(np.empty(0, dtype=np.int32))
                counts.append(np.array([len(begins)], dtype=np.int64))
                continue
            different, times = np.unique(rows, axis=0, return_counts=True)
            words.extend(different)
            counts.append(times.astype(np.int64))
        return words, np.concatenate(counts) if counts else np.empty(0, dtype=np.int64)


HOTSPOTS = 5

Weights = NDArray[np.float64]


def table_metrics(
    true: Floats, shown: Floats, interval: tuple[Floats, Floats], *, listed: NDArray[np.bool_], top: int
) -> dict[str, float]:
    """How a table with intervals differs from the true one, cell by cell, by the names of its metrics.

    Cells that are not `listed` are not in it, and show 0. Of the frequent cells `top` are compared.

    >>> one = np.array([3.0, 1.0])
    >>> table_metrics(one, one, (one, one), listed=np.array([True, False]), top=1)
    {'l1': 0.0, 'jsd': 0.0, 'covered': 1.0, 'top_f1': 1.0, 'listed_share': 0.75}
    """
    metrics: dict[str, float] = {}
    if true.sum() > 0 and shown.sum() > 0:
        metrics["l1"] = float(np.abs(true / true.sum() - shown / shown.sum()).sum())
        metrics["jsd"] = jensen_shannon(true, shown)
    if listed.any():
        low, high = interval
        metrics["covered"] = int(np.count_nonzero((low <= true) & (true <= high) & listed)) / int(listed.sum())
    if "l1" in metrics:
        most, best = (
            {index for index in np.argsort(-each, kind="stable")[:top].tolist() if each[index] > 0}
            for each in (true, shown)
        )
        metrics["top_f1"] = 2 * len(most & best) / (len(most) + len(best))
    if true.sum() > 0:
        metrics["listed_share"] = float(true[listed].sum() / true.sum())
    return metrics


def jensen_shannon(true: ArrayLike, private: ArrayLike) -> float:
    """The Jensen–Shannon divergence of two tables of counts: natural logarithm, no root; from 0 to ln 2.

    ½ Σ p ln(p/m) + ½ Σ q ln(q/m), where p and q are the tables divided by their sums and m = (p + q)/2 (Lin 1991). As
    `calcJSD` of AdaTrace. LDPTrace's `jensen_shannon_distance` adds 1e-8 inside its logarithms, which makes it too
    small by 5e-9 for every cell that only one table has; it is no distance either, since it takes no root.

    >>> round(jensen_shannon([1, 1], [1, 3]), 12), jensen_shannon([1, 0], [0, 2]) == math.log(2)
    (0.033822075569, True)
    """
    p, q = _shares(true), _shares(private)
    middle = (p + q) / 2
    divergence = 0.0
    for each in (p, q):
        seen = each > 0
        divergence += 0.5 * math.fsum(each[seen] * np.log(each[seen] / middle[seen]))
    return min(max(divergence, 0.0), math.log(2))  # rounding must not leave the range


def _shares(table: ArrayLike) -> Weights:
    counts = np.asarray(table, dtype=np.float64)
    return np.asarray(counts / counts.sum())


def visits_jsd(true: CodedWords, private: CodedWords) -> float:
    """The divergence of the visits of all symbols: "density error" of LDPTrace (`main.py`), with each symbol as a cell.

    >>> words = CodedWords.from_words([[0, 1], [1]], symbols=2)
    >>> visits_jsd(words, words)
    0.0
    """
    return jensen_shannon(true.visits(), private.visits())


def length_jsd(true: CodedWords, private: CodedWords) -> float:
    """The divergence of the numbers of symbols in a word, each length by itself.

    AdaTrace's "length error" is of kilometres in twenty buckets (`calculateTravelDistanceError`); a word has a length
    without a map, and needs no buckets.

    >>> length_jsd(CodedWords.from_words([[0]], symbols=1), CodedWords.from_words([[0, 0]], symbols=1)) == math.log(2)
    True
    """
    longest = int(max(true.lengths.max(), private.lengths.max()))
    return jensen_shannon(*(np.bincount(words.lengths, minlength=longest + 1) for words in (true, private)))


def coverage_kendall_tau(true: CodedWords, private: CodedWords) -> float | None:
    """Kendall's τ-b of the symbols' coverage, which is how many words a symbol is in; None where one file ties all.

    (C − D)/√((P − T)(P − T′)): C pairs of symbols in the same order, D in opposite order, P pairs in all, T and T′ of
    them tied in one file (Kendall 1945). Without ties it is AdaTrace's `locationCoverageKendallTau` and LDPTrace's
    `calculate_coverage_kendall_tau`. With ties both are wrong: a pair tied in the private file counts as reversed in
    LDPTrace, in AdaTrace as reversed or as concordant, by which of the two comes first, so that two files without any
    relation get a value that depends on how places are numbered; and a file compared with itself gets less than 1.

    >>> words = CodedWords.from_words([[0, 1, 2], [1, 2], [2]], symbols=3)
    >>> coverage_kendall_tau(words, words)
    1.0
    """
    one, other = true.coverage(), private.coverage()
    untied = _untied_pairs(one), _untied_pairs(other)
    if not all(untied):
        return None
    root = math.sqrt(untied[0] * untied[1])
    # C − D is a whole number: said by one quotient, τ of a file with itself is exactly 1, and τ is symmetric
    return round(float(kendalltau(one, other).statistic) * root) / root


def _untied_pairs(counts: Integers) -> int:
    times = np.unique(counts, return_counts=True)[1].tolist()
    return math.comb(len(counts), 2) - sum(math.comb(count, 2) for count in times)


def hotspot_ndcg(true: CodedWords, private: CodedWords, *, top: int = HOTSPOTS) -> float:
    """How well the private file ranks the most visited symbols: 1 where it has the same `top` in the same order.

    DCG/IDCG, where the i-th hotspot of the private file adds 1/(r·log₂(i + 1)) if it is the r-th of the true one, and
    nothing if it is not among its first `top` (Järvelin, Kekäläinen 2002; `calculate_hotspot_ndcg` of LDPTrace). Ties
    are in the order of the symbols, as there.

    >>> true = CodedWords.from_words([[0, 0, 0, 1, 1, 2]], symbols=3)
    >>> private = CodedWords.from_words([[1, 1, 1, 0, 0, 2]], symbols=3)
    >>> hotspot_ndcg(true, true), round(hotspot_ndcg(true, private, top=2), 6)
    (1.0, 0.859719)
    """
    ranked = [np.argsort(-words.visits(), kind="stable")[:top].tolist() for words in (true, private)]
    discount = 1 / np.log2(np.arange(2, len(ranked[0]) + 2))
    best = 1 / np.arange(1, len(ranked[0]) + 1)
    gained = [best[ranked[0].index(symbol)] if symbol in ranked[0] else 0.0 for symbol in ranked[1]]
    return float(math.fsum(gained * discount) / math.fsum(best * discount))


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
