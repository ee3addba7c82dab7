"""Words that differ in one block, compared at two cuts: blocks that begin late lie in ends, all others in beginnings.

See docs/theory/certificates.md, *Words that are halves*.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from symveil.calibration.costs.blocks import FINAL, INITIAL, INNER, Kind
from symveil.calibration.effort import MOST_BYTES, splits
from symveil.calibration.meeting_groups import Groups, Worst, groups_of, worst_in_groups
from symveil.calibration.meeting_tables import THREADS, Floats, Half, HalfTables, Integers
from symveil.models.word import Codes

_AT_ONCE = 50_000  # ratios of pairs: as many as a processor keeps at hand


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
        if rows * self._tables.width * 8 > MOST_BYTES:
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
        step = max(1, _AT_ONCE // logs.shape[1])
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
