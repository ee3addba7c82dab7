"""Optimal transport between two lists of counts, exactly: an assignment, or shortest augmenting paths.

Where the counts are few enough to be written out one by one, scipy's `linear_sum_assignment`; else the same method with
amounts in the place of units (`send_everything`). Whichever it was, the plan is in whole numbers, so its cost is exact
up to the rounding of one sum, and prices prove that no plan costs less. A general linear programme (scipy's HiGHS on
the pairs that matter) took minutes where this takes a second, and failed where counts were large.

Transport by shortest augmenting paths: plain loops over arrays, compiled for large ones.

Rows have something to send, columns room for it, and prices such that no pair costs less than the price of its row and
of its column together; pairs that carry something cost just that. All rows that have something left look for the
cheapest ways to columns with room, also by taking back what others send (Dijkstra's search, with what pairs cost above
their prices as lengths), prices move along, and as much as possible is sent along these ways. This is the Hungarian
method with amounts in the place of single units (Ford and Fulkerson 1957, Edmonds and Karp 1972).

How similar two event logs are: one minus the earth mover's distance of their variants.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from symveil.comparison.distributions import CodedWords
from symveil.errors import InputError, InternalError
from symveil.languages.edit_distance import edit_distances_between

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


def send_everything(  # noqa: PLR0912, PLR0915 - one loop, because it is compiled as a whole
    cost: Floats, supply: Counts, demand: Counts, row_price: Floats, column_price: Floats, sent: Counts
) -> None:
    """The cheapest plan, in `sent`, a row for each column; its prices in `row_price` and `column_price`.

    Parameters
    ----------
    cost
        What a unit costs from each row to each column.
    supply, demand
        Whole numbers with the same sum; both are used up.
    row_price, column_price
        Prices that no pair contradicts, to begin with.
    sent
        Zeros, to be filled: what each column gets from each row.
    """
    rows, columns = cost.shape
    distance, via = np.empty(columns), np.empty(columns, dtype=np.int64)
    done, seen = np.empty(columns, dtype=np.bool_), np.empty(rows, dtype=np.bool_)
    came, reached = np.empty(rows, dtype=np.int64), np.empty(rows)
    waiting, targets = np.empty(rows, dtype=np.int64), np.empty(columns, dtype=np.int64)
    while True:
        distance[:], done[:] = np.inf, False
        first = last = 0
        for row in range(rows):  # all rows that have something left look at once
            seen[row] = supply[row] > 0
            if seen[row]:
                came[row], reached[row], waiting[last] = -1, 0.0, row
                last += 1
        if not last:
            return
        wanted, result, so_far = last, 0, 0.0
        while result < wanted:
            while first < last:
                row = waiting[first]
                first += 1
                base = so_far - row_price[row]
                for column in range(columns):
                    length = base + cost[row, column] - column_price[column]
                    if length < distance[column] and not done[column]:
                        distance[column], via[column] = length, row
            nearest, least = -1, np.inf
            for column in range(columns):
                if distance[column] < least and not done[column]:
                    nearest, least = column, distance[column]
            if nearest < 0:
                break  # everything is reached
            so_far = max(so_far, least)  # rounding must not lead backwards
            done[nearest], distance[nearest] = True, so_far
            if demand[nearest] > 0:
                targets[result] = nearest
                result += 1
            for row in range(rows):
                if sent[nearest, row] > 0 and not seen[row]:
                    seen[row], came[row], reached[row], waiting[last] = True, nearest, so_far, row
                    last += 1
        for row in range(rows):
            if seen[row]:
                row_price[row] += so_far - reached[row]
        for column in range(columns):
            if done[column]:
                column_price[column] -= so_far - distance[column]
        for target in targets[:result]:  # the nearest first; what one has used another may not find any more
            amount, column, row = demand[target], target, via[target]
            while came[row] >= 0 and amount > 0:
                column = came[row]
                amount = min(amount, sent[column, row])
                row = via[column]
            amount = min(amount, supply[row]) if came[row] < 0 else 0
            if amount > 0:
                supply[row] -= amount
                demand[target] -= amount
                column = target
                while column >= 0:
                    row = via[column]
                    sent[column, row] += amount
                    column = came[row]
                    if column >= 0:
                        sent[column, row] -= amount


_MOST_ASSIGNED = 3000
_COPIES = 4
_NOT_WORTH_COMPILING = 200_000
"""Rows × columns × both: up to here the loops take less than a compiler."""
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
    if total <= min(_MOST_ASSIGNED, _COPIES * max(cost.shape)):
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
    solve = send_everything
    if cost.size * sum(cost.shape) > _NOT_WORTH_COMPILING:
        solve = compiled_send_everything()
    solve(np.ascontiguousarray(cost), supply.copy(), demand.copy(), row_price, column_price, sent)
    _require(np.array_equal(sent.sum(axis=0), supply) and np.array_equal(sent.sum(axis=1), demand), "a plan")
    columns, rows = np.nonzero(sent)
    least = math.fsum(sent[columns, rows] * cost[rows, columns]) / total
    # prices that no pair contradicts, whatever was rounded: what they earn is a lower bound
    proved = math.fsum([*(supply * row_price), *(demand * (cost - row_price[:, None]).min(axis=0))]) / total
    _require(least - proved <= _GAP * max(1.0, float(cost.max())), "optimality of a plan")
    return Transport(least, max(0.0, least - proved))


@cache
def compiled_send_everything() -> Callable[..., None]:
    """`send_everything` as machine code."""
    from symveil.languages.compiling import compiled  # noqa: PLC0415 - brings a compiler

    return compiled(send_everything)


def _require(holds: object, what: str) -> None:
    if not holds:
        raise InternalError(f"internal error: {what} was not found; this is a mistake in symveil: please report it")


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
