"""Words that differ in two places, wherever these are: all pairs of them, at one cut.

See docs/theory/certificates.md, *Two hidden symbols*. Words are cut once, between two symbols x and y. Two places are
both
others than x, or both others than y, or they are x and y. In the first case both words have x in common: the table of
all beginnings that end in x, times that of all ends that may follow, has both. In the second they have y in common, and
in the third the symbol before x. Products are taken in 32 bits, which is much faster; what that may be wrong by is
added to the bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import combinations

import numpy as np

from symveil.calibration.affordable import halves_at
from symveil.calibration.costs.blocks import WHOLE, Kind
from symveil.calibration.costs.pairs import Pair
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
    worst_between,
    worst_in_groups,
)
from symveil.calibration.limits import LIMITS
from symveil.models.alphabet import Codes

_ONE, _TWO = Kind(WHOLE, 1), Kind(WHOLE, 2)  # all that differs, so that nothing is added to it


class TooLight(Exception):  # noqa: N818 - no error: the next precision is taken
    """Some word weighs too little beside others for numbers of 32 bits."""


class PositionsComparison:
    """The largest loss of words that differ in one place, and in two, where all symbols cost the same."""

    def __init__(self, tables: HalfTables, *, narrow: bool) -> None:
        self._tables, self._narrow = tables, narrow
        self._length, self._cut = (
            tables.language.length,
            halves_at(tables.language.length, public_start=tables.begin > 0),
        )
        self._first, self._last = tables.begin, self._cut - 1  # of the places in a beginning
        self._cached: dict[int, Floats] = {}  # Z of the words that have a symbol before the cut
        self._per_position = tables.rate if tables.costs.period == 1 else 0.0

    @staticmethod
    def is_narrow(tables: HalfTables, epsilon: float) -> bool:
        """Whether what numbers of 32 bits may be wrong by is little beside a budget."""
        return _narrow_rounding(tables.width) <= min(LIMITS.now.narrow_share * epsilon, LIMITS.now.narrow_error)

    def rounding(self, largest_log: float) -> float:
        """More than the error of ln Z(v)/Z(w)."""
        wide = self._tables.rounding * (1 + largest_log)
        return wide + _narrow_rounding(self._tables.width) if self._narrow else wide

    def compare(self, worst: Worst) -> Iterator[float]:
        """Compare all words; how much is done. Raises TooLight where 32 bits do not do."""
        beginnings, ends = self._tables.beginnings(self._cut), self._tables.ends(self._length - self._cut)
        self._before = _Rows(beginnings, -1, self._narrow)
        self._after = _Rows(ends, 0, self._narrow)
        self._cached.clear()
        self._keeps = self._word_count() <= LIMITS.now.cached_halves
        states: list[int] = np.unique(self._tables.language.graph.symbol).tolist()
        ways: tuple[Callable[[int], Worst], ...] = (self._with_last, self._with_next, self._around)
        with ThreadPoolExecutor(max_workers=THREADS) as pool:
            for number, way in enumerate(ways):
                for begin in range(0, len(states), THREADS):  # a few at a time, so that it can be interrupted
                    for result in pool.map(way, states[begin : begin + THREADS]):
                        worst.merge(result)
                    yield (number + begin / len(states)) / len(ways)

    # --- the three ways --------------------------------------------------------------------------

    def _with_last(self, state: int) -> Worst:
        """Words that have this symbol before the cut in common."""
        worst = Worst()
        words, vectors = self._before.of([state])
        ends, after = self._after.of(self._following(state))
        if not len(words) or not len(ends):
            return worst
        table = self._totals(vectors, after, worst)
        if self._keeps:
            self._cached[state] = table
        own, later = range(self._first, self._last), range(ends.shape[1])
        for positions in combinations(own, 2):
            self._rows(worst, table, groups_of(words, positions), words, ends)
        turned = np.ascontiguousarray(table.T)
        for positions in combinations(later, 2):
            self._rows(worst, turned, groups_of(ends, positions), ends, words, turned=True)
        columns = [groups_of(ends, (index,)) for index in later]
        for index in own:
            self._across(worst, table, groups_of(words, (index,), also_alone=True), columns, words, ends)
        return worst

    def _with_next(self, state: int) -> Worst:
        """Words that have this symbol after the cut in common, and another one before it."""
        worst = Worst()
        preceding = np.flatnonzero(self._tables.follows[:, state]).tolist()
        words, vectors = self._before.of(preceding)
        ends, after = self._after.of([state])
        if not len(words) or not len(ends):
            return worst
        if self._keeps:
            parts = [
                self._cached[symbol][:, self._columns(symbol, state)] for symbol in preceding if symbol in self._cached
            ]
            table = np.concatenate(parts)
        else:
            table = self._totals(vectors, after, worst)
        for index in range(self._first, self._last):
            self._rows(worst, table, groups_of(words, (index, self._last)), words, ends)
        columns = [groups_of(ends, (index,)) for index in range(1, ends.shape[1])]
        self._across(worst, table, groups_of(words, (self._last,), also_alone=True), columns, words, ends)
        return worst

    def _around(self, state: int) -> Worst:
        """Words that differ on both sides of the cut, and have this symbol before that in common."""
        worst = Worst()
        parts: list[Floats] = []
        strings: list[Codes] = []
        shared: Codes | None = None
        for symbol in self._following(state):
            words, vectors = self._before.of([symbol])
            ends, after = self._after.of(self._following(symbol))
            here = words[:, self._last - 1] == state
            if not here.any() or not len(ends):
                continue
            shared = words[here, : self._last]  # the same beginnings, in the same order, for every symbol after them
            parts.append(self._cached[symbol][here].T if self._keeps else self._totals(after, vectors[here], worst))
            strings.append(np.concatenate([np.full((len(ends), 1), symbol, dtype=np.int32), ends], axis=1))
        if shared is not None:
            together = np.concatenate(strings)
            self._rows(worst, np.concatenate(parts), groups_of(together, (0, 1)), together, shared, turned=True)
        return worst

    def _columns(self, symbol: int, first: int) -> slice:
        """Where the ends that begin with `first` stand among those that may follow a symbol."""
        begin = sum(self._after.count(each) for each in self._following(symbol) if each < first)
        return slice(begin, begin + self._after.count(first))

    def _following(self, state: int) -> list[int]:
        return [int(symbol) for symbol in np.flatnonzero(self._tables.follows[state])]

    # --- tables ----------------------------------------------------------------------------------

    def _word_count(self) -> int:
        count = range(len(self._tables.follows))
        before, after = (np.array([rows.count(symbol) for symbol in count]) for rows in (self._before, self._after))
        return int(before @ self._tables.follows @ after)

    def _totals(self, rows: Floats, columns: Floats, worst: Worst) -> Floats:
        """Z of every word, up to a factor that all have in common."""
        table = _product(rows, columns)
        least, most = float(table.min()), float(table.max())
        if self._narrow and least < LIMITS.now.lightest:
            raise TooLight
        scales = self._before.log_scale + self._after.log_scale
        logs = (abs(math.log(each) + scales) for each in (least, most))
        worst.largest_log = max(worst.largest_log, *logs)
        return table

    def _rows(
        self, worst: Worst, table: Floats, groups: Groups, rows: Codes, columns: Codes, *, turned: bool = False
    ) -> None:
        """Rows of a group, which differ in two places, are compared in each column; turned: rows are ends of words."""
        result = worst_in_groups(table, groups)
        if result is None:
            return
        ratio, one, two, column = result

        def words() -> Pair:
            parts = [(columns[column], rows[row]) if turned else (rows[row], columns[column]) for row in (one, two)]
            return np.concatenate(parts[0]), np.concatenate(parts[1])

        worst.add(_TWO, math.log(ratio) + 2 * self._per_position, words)

    def _across(
        self, worst: Worst, table: Floats, rows: Groups, columns: list[Groups], words: Codes, ends: Codes
    ) -> None:
        """Rows of a group with each other in one column, and in the columns of a group, each with each."""
        order, first = rows
        bounds = np.append(first, len(order))
        most, least = extremes_of(table, rows)

        def pair(group: int, beside: Integers) -> Pair:
            members = order[bounds[group] : bounds[group + 1]]
            values = table[np.ix_(members, beside)]
            top, low = int(values.argmax()), int(values.argmin())
            if top == low:  # all alike: any other
                low = (top + 1) % values.size
            at = [divmod(each, len(beside)) for each in (top, low)]
            one, two = (np.concatenate([words[members[row]], ends[beside[column]]]) for row, column in at)
            return one, two

        several = np.flatnonzero(np.diff(bounds) > 1)
        result = worst_between(most, least, (several, np.arange(len(several))))
        if result is not None:
            ratio, groups, column = result
            value = math.log(ratio) + self._per_position
            worst.add(_ONE, value, partial(pair, int(groups[0]), np.array([column])))
        most, least = np.ascontiguousarray(most.T), np.ascontiguousarray(least.T)
        for each in columns:
            result = worst_between(most, least, each)
            if result is not None:
                ratio, beside, group = result
                worst.add(_TWO, math.log(ratio) + 2 * self._per_position, partial(pair, group, beside))


class _Rows:
    """Halves of words with their vectors, by the symbol at the cut."""

    def __init__(self, half: Half, index: int, narrow: bool) -> None:
        symbol = half.words[:, index]
        order = np.argsort(symbol, kind="stable")
        table, self.log_scale = half.table, 0.0
        if narrow:
            exponent = math.frexp(float(table.max(initial=1e-300)))[1]
            table, self.log_scale = table * 2.0**-exponent, exponent * math.log(2.0)  # none is above 1
        self._words = half.words[order]
        self._vectors: Floats = (table.astype(np.float32) if narrow else table)[order]
        self._first = np.searchsorted(symbol[order], np.arange(int(symbol.max(initial=0)) + 2))

    def count(self, symbol: int) -> int:
        """How many have a symbol at the cut."""
        return int(self._first[symbol + 1] - self._first[symbol]) if symbol + 1 < len(self._first) else 0

    def of(self, symbols: list[int]) -> tuple[Codes, Floats]:
        """The halves with one of these symbols at the cut."""
        there = [symbol for symbol in symbols if symbol + 1 < len(self._first)]
        parts = [slice(self._first[symbol], self._first[symbol + 1]) for symbol in there]
        if len(parts) == 1:
            return self._words[parts[0]], self._vectors[parts[0]]
        if not parts:
            return self._words[:0], self._vectors[:0]
        return np.concatenate([self._words[part] for part in parts]), np.concatenate([self._vectors[p] for p in parts])


def _narrow_rounding(width: int) -> float:
    """More than the error of ln Z(v)/Z(w) by 32 bits: of both vectors, of the products and sums, and of a quotient."""
    return 2.1 * (width + 8) * 2.0**-24


def _product(rows: Floats, columns: Floats) -> Floats:
    """The products of all rows of two tables, in tiles that one thread computes.

    >>> _product(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 1.0]])).tolist()
    [[3.0], [7.0]]
    """
    width = rows.shape[1]
    tile = max(1, math.isqrt(LIMITS.now.halves_tile // width))
    table = np.empty((len(rows), len(columns)), dtype=rows.dtype)
    for top, many, high in _tiles(len(rows), tile):
        left = rows[top : top + many * high].reshape(many, 1, high, width)
        for begin, number, wide in _tiles(len(columns), tile):
            right = columns[begin : begin + number * wide].reshape(1, number, wide, width).transpose(0, 1, 3, 2)
            part = table[top : top + many * high, begin : begin + number * wide]
            np.matmul(left, right, out=part.reshape(many, high, number, wide).transpose(0, 2, 1, 3))
    return table


def _tiles(count: int, tile: int) -> Iterator[tuple[int, int, int]]:
    """(begin, how many, of what size): as many whole tiles as there are, and the rest."""
    if count >= tile:
        yield 0, count // tile, tile
    if count % tile:
        yield count - count % tile, 1, count % tile
