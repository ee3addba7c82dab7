"""How similar two event logs are: one minus the earth mover's distance of their variants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symveil.comparison.coded_words import CodedWords
from symveil.comparison.transport import cheapest_transport
from symveil.languages.edit_distance_bits import edit_distances_between

MOST_PAIRS = 4_000_000
"""Of variants. Beyond, distances and transport take minutes."""


@dataclass(frozen=True, slots=True)
class LogSimilarity:
    """1 − EMD, and how many different words there are."""

    value: float | None
    """None: too many pairs of variants."""
    variants_true: int
    variants_private: int


def log_similarity(true: CodedWords, private: CodedWords, *, most_pairs: int = MOST_PAIRS) -> LogSimilarity:
    """1 − EMD of the two laws of variants, with normalised Levenshtein distances: from 0 to 1, and 1 for the same law.

    The earth mover's distance is min Σ plan(v, v′)·lev(v, v′)/max(|v|, |v′|) over all plans that have the two laws as
    margins (Leemans, Syring, van der Aalst, BPM 2019; "relative log similarity" of Rafiei, Wangelik, van der Aalst
    2022). Two empty words are at distance 0. It is equal to an exact solver's value on the same matrix. The published
    code is not: TraVaS' `emd_utility` and p-privacy-qt's `emd_distance_pyemd` hand pyemd a matrix whose i-th row is
    the i-th variant of one log and whose i-th column is the i-th variant of the other, and pyemd takes row i and
    column i for the same thing, between which it moves for nothing (docs/compare.md shows it). pm4py's
    `earth_mover_distance` numbers all variants once, so it is right wherever leaving in place what both logs have is
    cheapest, which it mostly is: the normalised distance is no metric.

    >>> true = CodedWords.from_words([[0, 1], [0, 1]], symbols=2)
    >>> private = CodedWords.from_words([[0, 1], [0, 1, 1, 1]], symbols=2)
    >>> log_similarity(true, private)
    LogSimilarity(value=0.75, variants_true=1, variants_private=2)
    """
    (words, counts), (others, other_counts) = true.variants(), private.variants()
    if len(words) * len(others) > most_pairs:
        return LogSimilarity(None, len(words), len(others))
    longest = np.maximum(*np.ix_([len(word) for word in words], [len(word) for word in others]))
    costs = edit_distances_between(words, others) / np.maximum(longest, 1)
    cost = cheapest_transport(costs, counts, other_counts).cost
    return LogSimilarity(1 - min(1.0, cost), len(words), len(others))
