"""The largest Z over the smallest of words that agree outside a window, for windows of all lengths, at one cut.

See docs/theory/beyond-b.md, *Graceful certificates*. The table of all beginnings that end in one state, times that of
all ends that follow it, has Z of every word through that state. Words that agree outside a window that holds the state
have a beginning of the beginning and an end of the end in common: rows that begin alike are merged, a symbol at a time,
then columns that end alike, and what is left is compared over all states.
"""

from __future__ import annotations

import math
from threading import Lock

import numpy as np

from symveil.calibration.meeting_groups import Floats, Groups, extremes_of, groups_of, worst_in_groups
from symveil.calibration.meeting_tables import HalfTables, Integers
from symveil.models.word import Codes

_MOST_ENTRIES = 4_000_000


class WindowSpread:
    """The largest and the smallest Z of words that agree outside each window around a cut.

    Rows are added for one state at the cut at a time, by several threads.
    """

    def __init__(self, tables: HalfTables, cut: int, shortest: int) -> None:
        self._length, self._cut, self._begin = tables.language.length, cut, tables.begin
        self._from = shortest  # the length of the shortest windows that are looked at
        self._lock = Lock()
        self._sides: dict[int, float] = {}
        self._letters = len(tables.language.alphabet)
        self._prefixes = {size: self._keys(tables.beginnings(size).words) for size in range(self._begin, cut)}
        self._suffixes = {size: self._keys(tables.ends(size).words) for size in range(self._length - cut + 1)}
        self._most: dict[tuple[int, int], Floats] = {}
        self._least: dict[tuple[int, int], Floats] = {}

    def _keys(self, words: Codes) -> Integers:
        """The numbers of all rows, rising."""
        return np.sort(self._key(words))

    def _key(self, words: Codes) -> Integers:
        """A number for each row, the first symbol as the highest digit."""
        key = np.zeros(len(words), dtype=np.int64)
        for symbols in words.T:
            key = key * self._letters + symbols
        return key

    def _is_small(self, before: int, after: int) -> bool:
        return len(self._prefixes[before]) * len(self._suffixes[after]) <= _MOST_ENTRIES

    def add(self, beginnings: Codes, ends: Codes, totals: Floats) -> None:
        """Z of all words through one state at the cut: a row for each beginning, a column for each end."""
        self._add_sides(beginnings, ends, totals)
        order = np.argsort(self._key(beginnings), kind="stable")
        rows, most, least = beginnings[order], totals, totals
        turned = np.argsort(self._key(ends[:, ::-1]), kind="stable")
        columns = ends[turned]
        for before in range(self._cut - 1, self._begin - 1, -1):
            key = self._key(rows[:, :before])
            first = np.flatnonzero(np.diff(key, prepend=-1))
            most, least = _merged(most, least, (order, first))
            rows, order = rows[first], np.arange(len(first))
            row = np.searchsorted(self._prefixes[before], key[first])
            self._merge_columns(before, row, columns, (turned, most, least))

    def _add_sides(self, beginnings: Codes, ends: Codes, totals: Floats) -> None:
        """Windows on one side of the state: rows, or columns, that agree outside them."""
        for strings, offset, low, high, table in (
            (beginnings, 0, self._begin, self._cut - 1, totals),
            (ends, self._cut, self._cut, self._length, np.ascontiguousarray(totals.T)),
        ):
            for size in range(self._from, high - low + 1):
                for begin in range(low, high - size + 1):
                    worst = worst_in_groups(table, groups_of(strings, range(begin - offset, begin - offset + size)))
                    if worst is not None:
                        with self._lock:
                            self._sides[size] = max(self._sides.get(size, 1.0), worst[0])

    def _merge_columns(
        self, before: int, row: Integers, columns: Codes, merged: tuple[Integers, Floats, Floats]
    ) -> None:
        count = columns.shape[1]
        order, most, least = merged
        most, least = np.ascontiguousarray(most.T), np.ascontiguousarray(least.T)
        for after in range(count, -1, -1):
            key = self._key(columns[:, count - after :][:, ::-1])
            first = np.flatnonzero(np.diff(key, prepend=-1))
            most, least = _merged(most, least, (order, first))
            columns, order = columns[first], np.arange(len(first))
            if not self._is_small(before, after):
                continue
            column = np.searchsorted(self._suffixes[after], self._key(columns[:, count - after :]))
            where = np.ix_(column, row)
            with self._lock:
                if (before, after) not in self._most:
                    shape = (len(self._suffixes[after]), len(self._prefixes[before]))
                    self._most[before, after], self._least[before, after] = np.zeros(shape), np.full(shape, np.inf)
                self._most[before, after][where] = np.maximum(self._most[before, after][where], most)
                self._least[before, after][where] = np.minimum(self._least[before, after][where], least)

    def log_ratios(self) -> dict[int, float]:
        """M(ℓ): the largest ln Z(v)/Z(w) of words that agree outside some window of ℓ symbols, for each ℓ; or more."""
        around: dict[tuple[int, int], float] = {}
        for window, most in self._most.items():
            held = most > 0
            around[window] = float(np.log(most[held] / self._least[window][held]).max(initial=0.0))
        ratios = {}
        for size in range(self._from, self._length - self._begin + 1):
            # around the state at the cut; those on one side of it were looked at
            windows = [
                (first, first + size)
                for first in range(self._begin, self._length - size + 1)
                if first < self._cut <= first + size
            ]
            largest = max((self._within(around, *each) for each in windows), default=0.0)
            ratios[size] = max(largest, math.log(self._sides.get(size, 1.0)))
        return ratios

    def _within(self, around: dict[tuple[int, int], float], first: int, end: int) -> float:
        """The least of the known windows that hold this one."""
        known = [value for (before, after), value in around.items() if before <= first and self._length - after >= end]
        return min(known, default=math.inf)


def _merged(most: Floats, least: Floats, groups: Groups) -> tuple[Floats, Floats]:
    """The largest of each column in each group, and the smallest."""
    if most is least:
        return extremes_of(most, groups)
    return extremes_of(most, groups)[0], extremes_of(least, groups)[1]
