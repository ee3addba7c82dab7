"""Sums over two sets of words that depend on Hamming distances only, without listing all pairs.

Symbol by symbol, the words summed over are exchanged for the words that the sums are for: after i symbols, a
table has a row for each prefix of i symbols of the latter and a column for each suffix of the former. Such a table is
far smaller than the number of pairs. In every step F' = x·ΣF + (1 − x)·(F where the symbols match), with x for a
mismatch: x is e^{−η} for sums of weights, and a shift of the distance by 1 for counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symveil.errors import TooLargeError
from symveil.languages.limits import LIMITS
from symveil.models.alphabet import Codes
from symveil.numbers.progress import Progress, silent

Table = NDArray[Any]
Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]


def all_distances(words: Codes, others: Codes) -> NDArray[np.int32]:
    """The Hamming distances of all pairs, a row for each word."""
    distance = np.zeros((len(words), len(others)), dtype=np.int32)
    for own, their in zip(words.T, others.T, strict=True):
        distance += own[:, None] != their
    return distance


def counts_by_row(distance: NDArray[np.int32], size: int) -> NDArray[np.int64]:
    """How often each row has the values 0 … size − 1."""
    keys = distance + size * np.arange(len(distance))[:, None]
    return np.bincount(keys.reshape(-1), minlength=size * len(distance)).reshape(len(distance), size)


def distance_counts(words: Codes, others: Codes, *, progress: Progress = silent) -> NDArray[np.int64]:
    """How many of `words` lie at distance 0, 1, 2 … from each of `others`: one row each.

    Both are distinct rows of codes, all of one length.

    >>> distance_counts(np.array([[0, 0], [0, 1], [1, 0]]), np.array([[0, 0], [1, 1]])).tolist()
    [[1, 2, 0], [0, 2, 1]]
    """

    def shifted(table: Table, before: int, after: int) -> Table:
        return np.pad(table, ((0, 0), (0, 0), (before, after)))

    if len(words) * len(others) <= LIMITS.now.listed_pairs:
        return counts_by_row(all_distances(others, words), words.shape[1] + 1)
    ones = np.ones((len(words), 1), dtype=np.int64)
    exchange = _Exchange(words, others, progress)
    return exchange.sums(
        ones, 0, np.add, lambda t: shifted(t, 1, 0), lambda t: shifted(t, 0, 1) - shifted(t, 1, 0), grows=True
    )


def log_sums(
    words: Codes, log_values: Table, others: Codes, *, rate: float, progress: Progress = silent
) -> NDArray[np.float64]:
    """ln Σ over `words` of value·e^{−rate·distance}, for each of `others` and each column of `log_values`.

    >>> values = np.log([[1.0], [2.0]])
    >>> round(float(np.exp(log_sums(np.array([[0], [1]]), values, np.array([[1]]), rate=math.log(4)))[0, 0]), 12)
    2.25
    """
    if len(words) * len(others) <= LIMITS.now.listed_pairs:
        terms = log_values - rate * all_distances(others, words)[:, :, None]
        return np.asarray(np.logaddexp.reduce(terms, axis=1))
    match = math.log(-math.expm1(-rate))
    exchange = _Exchange(words, others, progress)
    return exchange.sums(log_values, -math.inf, np.logaddexp, lambda t: t - rate, lambda t: t + match)


class _Exchange:
    """Words by their suffixes, and others by their prefixes: the columns and rows of the tables."""

    def __init__(self, words: Codes, others: Codes, progress: Progress) -> None:
        self._progress = progress
        # for each column of a table its first symbol, and the column of the next table that it goes on as
        self._suffixes: list[tuple[Numbers, Numbers]] = []
        column, size = np.zeros(len(words), dtype=np.int64), 1
        for symbols in words.T[::-1]:
            keys, column = np.unique(symbols.astype(np.int64) * size + column, return_inverse=True)
            self._suffixes.append((keys // size, keys % size))
            column, size = column.reshape(-1), len(keys)
        self._suffixes.reverse()
        self._column = column
        # for each row of a table its last symbol, and the row of the table before
        self._prefixes: list[tuple[Numbers, Numbers]] = []
        row, size = np.zeros(len(others), dtype=np.int64), 1
        for symbols in others.T:
            keys, row = np.unique(symbols.astype(np.int64) * size + row, return_inverse=True)
            self._prefixes.append((keys // size, keys % size))
            row, size = row.reshape(-1), len(keys)
        self._row = row

    def sums(
        self,
        values: Table,
        nothing: float,
        plus: Callable[[Table, Table], Table],
        mismatched: Callable[[Table], Table],
        corrected: Callable[[Table], Table],
        *,
        grows: bool = False,
    ) -> Table:
        """For each of `others`; with `grows` every step makes the last axis of a table longer by 1."""
        self._require_small(values.shape[1], grows=grows)
        table = np.empty((1, len(values), values.shape[1]), dtype=values.dtype)
        table[0, self._column] = values
        steps = list(zip(self._prefixes, self._suffixes, strict=True))
        for number, ((last, parent), (head, rest)) in enumerate(steps):
            self._progress(number, len(steps))
            total = np.full((len(table), int(rest.max()) + 1, table.shape[2]), nothing, dtype=table.dtype)
            parts = [
                (symbol, slice(*np.searchsorted(head, (symbol, symbol + 1)))) for symbol in np.unique(head).tolist()
            ]
            for _, own in parts:
                total[:, rest[own]] = plus(total[:, rest[own]], table[:, own])
            following = mismatched(total)[parent]
            for symbol, own in parts:
                rows = slice(*np.searchsorted(last, (symbol, symbol + 1)))
                matched = corrected(table[:, own][parent[rows]])
                following[rows][:, rest[own]] = plus(following[rows][:, rest[own]], matched)
            table = following
        return np.asarray(table[self._row, 0])

    def _require_small(self, width: int, *, grows: bool) -> None:
        """Refuse tables that are too large before any of them is made."""
        for number, ((last, _), (_, rest)) in enumerate(zip(self._prefixes, self._suffixes, strict=True)):
            numbers = len(last) * (int(rest.max(initial=0)) + 1) * (width + 1 + (number if grows else 0))
            if numbers > LIMITS.now.table_numbers:
                raise TooLargeError(
                    f"distances: expected at most {LIMITS.now.table_numbers} numbers in a table, found {numbers}; use "
                    "a shorter length"
                )


def log_totals(counts: NDArray[np.int64], rate: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """ln(N(ℓ)·e^{−ηℓ}) for each row of counts and each ℓ, and ln Z = ln Σ N(ℓ)·e^{−ηℓ} for each row."""
    with np.errstate(divide="ignore"):
        terms = np.log(counts) - rate * np.arange(counts.shape[1])
    top = terms.max(axis=1)
    return terms, top + np.log(np.exp(terms - top[:, None]).sum(axis=1))


def one_hot(codes: NDArray[np.int32], symbols: int) -> Floats:
    """A column for every position and symbol: 1 where the word has it there.

    >>> one_hot(np.array([[0, 1]], dtype=np.int32), 2).tolist()
    [[1.0, 0.0, 0.0, 1.0]]
    """
    columns = (codes[:, :, None] == np.arange(symbols)).astype(np.float64)
    return np.asarray(columns.reshape(len(codes), codes.shape[1] * symbols))
