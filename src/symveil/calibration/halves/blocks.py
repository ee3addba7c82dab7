"""Words that differ in one block, compared at two cuts: blocks that begin late lie in ends, all others in beginnings.

See docs/theory/certificates.md, *Words that are halves*, also for the largest Z over the smallest of words that agree
outside a window, for windows of all lengths, at one cut. The table of all beginnings that end in one state, times that
of all ends that follow it, has Z of every word through that state. Words that agree outside a window that holds the
state have a beginning of the beginning and an end of the end in common: rows that begin alike are merged, a symbol at a
time, then columns that end alike, and what is left is compared over all states.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import numpy as np

from symveil.calibration.affordable import splits
from symveil.calibration.costs.blocks import FINAL, INITIAL, INNER, Kind
from symveil.calibration.halves.tables import (
    THREADS,
    Floats,
    Groups,
    Half,
    HalfTables,
    Integers,
    Worst,
    extremes_of,
    groups_of,
    worst_in_groups,
)
from symveil.calibration.limits import LIMITS
from symveil.models.alphabet import Codes


class BlockComparison:
    """The largest value of each kind of block, over all pairs of words."""

    def __init__(self, tables: HalfTables, *, also: Callable[[Codes, Codes, Floats], None] | None = None) -> None:
        self._tables = tables
        self._also = also  # gets Z of all words at the second cut, a state at a time: beginnings, ends, and the table

    def rounding(self, largest_log: float) -> float:
        """More than the error of ln Z(v)/Z(w)."""
        return self._tables.rounding * (1 + largest_log)

    def compare(self, worst: Worst) -> Iterator[float]:
        """Compare all words; how much is done."""
        tables = self._tables
        language, adjacency = tables.language, tables.weighting.adjacency
        first, second = splits(language.length, adjacency, public_start=language.public_start)
        for number, (split, in_ends) in enumerate(((first, True), (second, False))):
            for share in self._compare(split, first, in_ends, worst):
                yield (number + share) / 2

    def _compare(self, split: int, first: int, in_ends: bool, worst: Worst) -> Iterator[float]:
        """Compare all words with a block in their end, or in their beginning before `first`; how much is done."""
        shorter, shorter_ends = (
            self._tables.beginnings(split - 1),
            self._tables.ends(self._tables.language.length - split - 1),
        )
        states: list[int] = np.unique(self._tables.language.graph.symbol).tolist()
        longer = self._ends_by_symbol(shorter_ends, states)

        def compared(state: int) -> Worst:
            before = self._tables.longer_beginnings(shorter, state)
            following = np.flatnonzero(self._tables.follows[state])
            if longer is None or not len(following):
                after = self._tables.longer_ends(shorter_ends, following)
            else:
                after = _joined([longer[symbol] for symbol in following.tolist()])
            return self._compared(before, after, split, first, in_ends, Worst())

        with ThreadPoolExecutor(max_workers=THREADS) as pool:
            for begin in range(0, len(states), THREADS):  # a few at a time, so that it can be interrupted
                for result in pool.map(compared, states[begin : begin + THREADS]):
                    worst.merge(result)
                yield begin / len(states)

    def _ends_by_symbol(self, shorter: Half, symbols: list[int]) -> dict[int, Half] | None:
        """The ends that begin with each symbol: several states lead to one. None where they would take much memory."""
        first = shorter.words[:, 0] if shorter.words.shape[1] else np.empty(0, dtype=np.int32)
        rows = int(self._tables.follows.sum(axis=0)[first].sum())
        if rows * self._tables.width * 8 > LIMITS.now.halves_bytes:
            return None
        with ThreadPoolExecutor(max_workers=THREADS) as pool:
            made = pool.map(lambda symbol: self._tables.longer_ends(shorter, np.array([symbol])), symbols)
            return dict(zip(symbols, made, strict=True))

    def _compared(self, before: Half, after: Half, split: int, first: int, in_ends: bool, worst: Worst) -> Worst:
        if not len(before.words) or not len(after.words):
            return worst
        length = self._tables.language.length
        known, other = (after, before) if in_ends else (before, after)
        totals = known.table @ other.table.T  # a row for each of the halves that blocks lie in
        worst.largest_log = max(abs(math.log(float(totals.max()))), abs(math.log(float(totals.min()))))
        if self._also is not None and not in_ends:
            self._also(before.words, after.words, totals)
        begins = range(split, length) if in_ends else range(self._tables.begin, first)
        until = length if in_ends else split - 1
        sizes = range(1, self._tables.weighting.adjacency + 1)
        blocks = [(i, size) for size in sizes for i in begins if i + size <= until]
        self._pairs(known.words, split if in_ends else 0, blocks, totals, other.words, in_ends, worst)
        return worst

    def _pairs(
        self,
        strings: Codes,
        offset: int,
        blocks: list[tuple[int, int]],
        totals: Floats,
        others: Codes,
        in_ends: bool,
        worst: Worst,
    ) -> None:
        def words(row: int, column: int) -> Codes:
            parts = (others[column], strings[row]) if in_ends else (strings[row], others[column])
            return np.concatenate(parts)

        logs = None if self._tables.costs_alike else np.log(totals)
        for begin, size in blocks:
            if begin + size == self._tables.language.length:
                kind = Kind(FINAL, size)
            else:
                kind = Kind(INITIAL if begin == 0 else INNER, size)
            groups = groups_of(strings, range(begin - offset, begin - offset + size))
            if logs is None:
                result = self._within_groups(totals, groups, size)
            else:
                result = self._one_by_one(strings, offset, begin, size, groups, logs)
            for value, one, two, column in result:
                worst.add(kind, value, lambda: (words(one, column), words(two, column)))  # noqa: B023 - called at once

    def _within_groups(self, totals: Floats, groups: Groups, size: int) -> Iterator[tuple[float, int, int, int]]:
        """The largest over the smallest Z of all groups: also of rows that differ in a part of the block only."""
        worst = worst_in_groups(totals, groups)
        if worst is not None:
            fixed = self._tables.rate * size if self._tables.costs.period == 1 else 0.0
            yield math.log(worst[0]) + fixed, *worst[1:]

    def _one_by_one(
        self, strings: Codes, offset: int, begin: int, size: int, groups: Groups, logs: Floats
    ) -> Iterator[tuple[float, int, int, int]]:
        """The worst pairs of rows that differ at every place of a block and nowhere else, what they cost included."""
        one, two = _pairs_in_groups(strings[:, begin - offset : begin - offset + size], groups)
        fixed = np.zeros(len(one))
        if self._tables.costs.period == 1:
            for index in range(begin, begin + size):
                own, other = strings[one, index - offset], strings[two, index - offset]
                fixed += self._tables.rate * self._tables.cost_between(index, own, other)
        step = max(1, LIMITS.now.halves_ratios // logs.shape[1])
        for start in range(0, len(one), step):
            part = slice(start, start + step)
            ratio = np.abs(logs[one[part]] - logs[two[part]])
            value = ratio.max(axis=1) + fixed[part]
            top = int(value.argmax())
            yield float(value[top]), int(one[start + top]), int(two[start + top]), int(ratio[top].argmax())


def _joined(halves: list[Half]) -> Half:
    """One after the other."""
    if len(halves) == 1:
        return halves[0]
    return Half(np.concatenate([half.words for half in halves]), np.concatenate([half.vectors for half in halves]))


def _pairs_in_groups(blocks: Codes, groups: Groups) -> tuple[Integers, Integers]:
    """All pairs of rows of a group whose blocks differ at every place."""
    order, first = groups
    group = np.searchsorted(first, np.arange(len(order)), side="right")
    sorted_blocks = blocks[order]
    ones, twos = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for apart in range(1, len(order)):
        same = np.flatnonzero(group[apart:] == group[:-apart])
        if not len(same):
            break
        differ = (sorted_blocks[same] != sorted_blocks[same + apart]).all(axis=1)
        ones.append(order[same[differ]])
        twos.append(order[same[differ] + apart])
    return np.concatenate(ones), np.concatenate(twos)


# --- windows of all lengths ------------------------------------------------------------------------


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
        return len(self._prefixes[before]) * len(self._suffixes[after]) <= LIMITS.now.compared_halves

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
