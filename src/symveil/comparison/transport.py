"""Optimal transport between two lists of counts, exactly: an assignment, or shortest augmenting paths.

Where the counts are few enough to be written out one by one, scipy's `linear_sum_assignment`; else the same method with
amounts in the place of units (`send_everything`). Whichever it was, the plan is in whole numbers, so its cost is exact
up to the rounding of one sum, and prices prove that no plan costs less. A general linear programme (scipy's HiGHS on
the pairs that matter) took minutes where this takes a second, and failed where counts were large.

How similar two event logs are: one minus the earth mover's distance of their variants.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from symveil.comparison.distributions import CodedWords
from symveil.comparison.limits import LIMITS
from symveil.comparison.transport_loops import send_everything
from symveil.errors import InputError, InternalError
from symveil.languages.edit_distance import edit_distances_between

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


_MOST_UNITS = 1 << 62
_GAP = 1e-9

Costs = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Transport:
    """The cheapest way to turn one distribution into another."""

    cost: float
    """Of a whole unit: a mean of costs."""
    gap: float
    """How far below it the prices prove the least cost to be: 0 but for rounding."""


def cheapest_transport(costs: ArrayLike, supply: ArrayLike, demand: ArrayLike) -> Transport:
    """The least Σ plan(i, j)·cost(i, j) over all plans whose margins are the two lists, divided by their sums.

    Costs need not be a metric: a row and a column of the same number have nothing to do with each other. Normalised
    Levenshtein distances are none either, so what is in both lists may not simply be left where it is.

    Parameters
    ----------
    costs
        The cost of moving a unit from each row to each column.
    supply, demand
        Whole numbers above 0, one for each row, one for each column; their sums may differ.

    Examples
    --------
    >>> cheapest_transport([[1.0, 0.0], [0.0, 1.0]], [1, 1], [1, 1]).cost
    0.0
    >>> cheapest_transport([[0.0, 3.0]], [5], [2, 1]).cost
    1.0
    """
    cost = np.asarray(costs, dtype=np.float64)
    one, other = np.asarray(supply, dtype=np.int64), np.asarray(demand, dtype=np.int64)
    total = math.lcm(int(one.sum()), int(other.sum()))
    times = total // int(one.sum()), total // int(other.sum())
    shared = math.gcd(*(times[0] * count for count in one.tolist()), *(times[1] * count for count in other.tolist()))
    if total // shared > _MOST_UNITS:
        raise InputError("transport: expected counts whose sums have a common multiple below 2^62, found larger ones")
    one, other = (
        np.array([each * count // shared for count in counts.tolist()], dtype=np.int64)
        for each, counts in zip(times, (one, other), strict=True)
    )
    total //= shared
    if total <= min(LIMITS.now.assigned_units, LIMITS.now.assigned_copies * max(cost.shape)):
        return _assigned(cost, one, other, total)
    return _augmented(cost, one, other, total)


def _assigned(cost: Costs, supply: Counts, demand: Counts, total: int) -> Transport:
    """Every unit by itself."""
    rows, columns = np.repeat(np.arange(len(supply)), supply), np.repeat(np.arange(len(demand)), demand)
    chosen = linear_sum_assignment(cost[rows[:, None], columns])
    return Transport(math.fsum(cost[rows[chosen[0]], columns[chosen[1]]]) / total, 0.0)


def _augmented(cost: Costs, supply: Counts, demand: Counts, total: int) -> Transport:
    """By shortest augmenting paths; what its prices earn is checked against what its plan costs."""
    column_price = cost.min(axis=0)
    row_price = (cost - column_price).min(axis=1)
    sent = np.zeros((len(demand), len(supply)), dtype=np.int64)
    send_everything(np.ascontiguousarray(cost), supply.copy(), demand.copy(), row_price, column_price, sent)
    _require(np.array_equal(sent.sum(axis=0), supply) and np.array_equal(sent.sum(axis=1), demand), "a plan")
    columns, rows = np.nonzero(sent)
    least = math.fsum(sent[columns, rows] * cost[rows, columns]) / total
    # prices that no pair contradicts, whatever was rounded: what they earn is a lower bound
    proved = math.fsum([*(supply * row_price), *(demand * (cost - row_price[:, None]).min(axis=0))]) / total
    _require(least - proved <= _GAP * max(1.0, float(cost.max())), "optimality of a plan")
    return Transport(least, max(0.0, least - proved))


def _require(holds: object, what: str) -> None:
    if not holds:
        raise InternalError(f"internal error: {what} was not found; this is a mistake in symveil: please report it")


@dataclass(frozen=True, slots=True)
class LogSimilarity:
    """1 − EMD, and how many different words there are."""

    value: float | None
    """None: too many pairs of variants."""
    variants_true: int
    variants_private: int


def log_similarity(true: CodedWords, private: CodedWords) -> LogSimilarity:
    """1 − EMD of the two laws of variants, with normalised Levenshtein distances: from 0 to 1, and 1 for the same law.

    The earth mover's distance is min Σ plan(v, v′)·lev(v, v′)/max(|v|, |v′|) over all plans that have the two laws as
    margins (Leemans, Syring, van der Aalst, BPM 2019; "relative log similarity" of Rafiei, Wangelik, van der Aalst
    2022). Two empty words are at distance 0. It is equal to an exact solver's value on the same matrix. The published
    code is not: TraVaS' `emd_utility` and p-privacy-qt's `emd_distance_pyemd` hand pyemd a matrix whose i-th row is
    the i-th variant of one log and whose i-th column is the i-th variant of the other, and pyemd takes row i and
    column i for the same thing, between which it moves for nothing (docs/statistics.md shows it). pm4py's
    `earth_mover_distance` numbers all variants once, so it is right wherever leaving in place what both logs have is
    cheapest, which it mostly is: the normalised distance is no metric.

    >>> true = CodedWords.from_words([[0, 1], [0, 1]], symbols=2)
    >>> private = CodedWords.from_words([[0, 1], [0, 1, 1, 1]], symbols=2)
    >>> log_similarity(true, private)
    LogSimilarity(value=0.75, variants_true=1, variants_private=2)
    """
    (words, counts), (others, other_counts) = true.variants(), private.variants()
    if len(words) * len(others) > LIMITS.now.variant_pairs:
        return LogSimilarity(None, len(words), len(others))
    longest = np.maximum(*np.ix_([len(word) for word in words], [len(word) for word in others]))
    costs = edit_distances_between(words, others) / np.maximum(longest, 1)
    cost = cheapest_transport(costs, counts, other_counts).cost
    return LogSimilarity(1 - min(1.0, cost), len(words), len(others))
