"""Proved prices of short tiles, averaged exactly over all contexts of a window around them.

Windows grow as long as the work that is left pays for it: a price of a window of K words costs about K² operations a
step, and windows that look alike are priced once.
"""

from __future__ import annotations

import numpy as np

from symveil.bounds.constant_price import constant_prices
from symveil.bounds.prior import Floats, Integers, Prior
from symveil.bounds.spread_price import Pattern, spread_prices
from symveil.bounds.tiling import Tile, best_tiling
from symveil.bounds.windows import Windows, windows
from symveil.numbers.progress import Progress

# Windows with more words have price 0: the search would take too long.
_MOST_WORDS = 200
# In squares of numbers of words, times eighths of the number of outputs of the tile: all searches together; and the
# share of one that serves a single position.
_MOST_WORK, _QUICK_WORK = 10_000_000, 1_000_000
# Words of all contexts of a window together; beyond it the window is not looked at.
_MOST_ROWS, _QUICK_ROWS = 1_000_000, 200_000
_SHARE_FOR_ONE = 0.1
# A longer window for a tile must gain this share of the whole bound, or the next one is not tried.
_LEAST_GAIN = 0.002
# Constant prices of longer windows are of no use under the graceful promise.
_LONGEST_CLIQUE = 4
# Up to this length of window tiles of all lengths are tried, beyond it those that have been of use.
_TRY_ALL = 3

Offers = dict[tuple[int, int], Tile]


class _Contexts:
    """The contexts of a window, those that look alike together."""

    def __init__(self, found: Windows, *, weighted: bool) -> None:
        self.windows = found
        numbers: dict[bytes, int] = {}
        self.patterns: list[Pattern] = []
        self.pattern_of: Integers = np.zeros(len(found.left), dtype=np.int64)
        for context in range(len(found.left)):
            part = slice(found.begin[context], found.begin[context + 1])
            words, weights = found.words[part], found.weights[part]
            weights = weights / weights.max()
            key = words.tobytes() + (weights.tobytes() if weighted else b"")
            if key not in numbers:
                numbers[key] = len(self.patterns)
                self.patterns.append(Pattern(words, weights))
            self.pattern_of[context] = numbers[key]
        self.sizes = np.array([len(pattern.words) for pattern in self.patterns], dtype=np.int64)
        self.prices: dict[tuple[int, int], Floats] = {}

    def missing(self, tile: slice, needed: Integers) -> Integers:
        """The patterns among `needed` whose price for a tile is not known yet."""
        known = self.prices.setdefault((tile.start, tile.stop), np.full(len(self.patterns), np.nan))
        return np.flatnonzero(np.isnan(known) & np.isin(np.arange(len(known)), needed))

    def work(self, tile: slice, numbers: Integers) -> float:
        """What the search for the prices of a tile in some patterns costs; the largest ones are not searched."""
        searched = [number for number in numbers.tolist() if self.sizes[number] <= _MOST_WORDS]
        outputs = [len(np.unique(self.patterns[number].words[:, tile], axis=0)) for number in searched]
        return float(
            sum(self.sizes[number] ** 2 * max(each, 8) / 8 for number, each in zip(searched, outputs, strict=True))
        )


class WindowPrices:
    """The prices of tiles of a language by what is seen in windows around them.

    Without an adjacency the promise is the graceful one: `decay` is by the number of positions in which words differ.
    """

    def __init__(
        self,
        prior: Prior,
        decay: Floats,
        adjacency: int | None,
        *,
        quick: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self._prior, self._decay, self._adjacency, self._quick = prior, decay, adjacency, quick
        self._known: dict[tuple[int, bool], _Contexts | None] = {}
        self._work = float(_QUICK_WORK if quick else _MOST_WORK)
        self._work_left = self._work
        self._most_rows = _QUICK_ROWS if quick else _MOST_ROWS
        self._progress = progress
        self.first, self.length = prior.first, prior.language.length
        self.offers: Offers = {}

    def grow(self, others: Offers) -> None:
        """Price tiles in longer and longer windows; `others` are offers that need not be beaten."""
        if not self._quick:
            self._offer_cliques()
        useful = set(range(1, self.length + 1))
        window = 1
        while useful and window <= self.length - self.first and self._work_left > 0:
            before = self._total(others)
            tried = sorted(length for length in useful if length <= window)
            if not tried:
                break
            for tile in tried:
                if self._progress:
                    self._progress(int(self._work - self._work_left), int(self._work))
                gained = self._offer_all(tile, window)
                if window >= _TRY_ALL and (gained == 0 or not self._is_used(tile, others)):
                    useful.discard(tile)
            if window >= _TRY_ALL:
                useful = {tile for tile in useful if tile <= window}
                if self._total(others) < before * (1 + _LEAST_GAIN):
                    break
            window += 1

    def _offer_cliques(self) -> None:
        """Constant prices of windows whose words are all adjacent: they cost little, and may exceed 1."""
        longest = _LONGEST_CLIQUE if self._adjacency is None else self._adjacency
        for window in range(2, min(longest, self.length - self.first) + 1):
            for to_end in (True, False):
                contexts = self._contexts(window, to_end)
                if contexts is None:
                    return
                if not len(contexts.patterns):
                    continue
                prices = constant_prices(contexts.patterns, self._between_any(window))
                last = self.length - window
                for begin in [last] if to_end else range(self.first, last):
                    self._offer(contexts, begin, (begin, begin + window - 1), prices, "constant")

    def _between_any(self, window: int) -> float:
        """What a chance at one word of a window is at least worth at any other; 0 where nothing is known."""
        if self._adjacency is None:
            return float(self._decay[window]) if window < len(self._decay) else 0.0
        return float(self._decay[1]) if window <= self._adjacency else 0.0

    def _offer(self, contexts: _Contexts, begin: int, tile: tuple[int, int], prices: Floats, method: str) -> bool:
        """Average the prices over the contexts of a window that begins at a position; whether the tile got better."""
        chances = contexts.windows.probabilities(self._prior, begin)
        # sums of positive numbers: of the contexts, and of what the probabilities were made of
        error = self._prior.relative_error + (2 * len(contexts.pattern_of) + 8) * 2.0**-53
        value = float(chances @ prices[contexts.pattern_of]) * (1 - error)
        if value <= 0 or (tile in self.offers and value <= self.offers[tile].value):
            return False
        self.offers[tile] = Tile(*tile, method, value, (begin, begin + contexts.windows.length - 1))
        return True

    def _total(self, others: Offers) -> float:
        return sum(tile.value for tile in best_tiling(better(self.offers, others), self.first, self.length))

    def _is_used(self, tile_length: int, others: Offers) -> bool:
        """Whether the best tiling has such a tile, priced here."""
        tiles = best_tiling(better(self.offers, others), self.first, self.length)
        return any(tile.last - tile.first + 1 == tile_length and tile.price != "star" for tile in tiles)

    def _offer_all(self, tile_length: int, window: int) -> int:
        """Price the tiles of a length in windows of a length, wherever they lie; how many got better."""
        better_ones = 0
        places: dict[tuple[bool, int], list[tuple[int, int]]] = {}
        for tile in range(self.first, self.length - tile_length + 1):
            begin = min(max(tile - (window - tile_length) // 2, self.first), self.length - window)
            if self.first <= begin <= tile:
                places.setdefault((begin + window == self.length, tile - begin), []).append((tile, begin))
        for (to_end, offset), tiles in sorted(places.items(), key=lambda each: -len(each[1])):
            contexts = self._contexts(window, to_end)
            if contexts is None or not len(contexts.patterns):
                continue
            chances = [contexts.windows.probabilities(self._prior, begin) for _, begin in tiles]
            seen = np.unique(contexts.pattern_of[np.sum(chances, axis=0) > 0])
            part = slice(offset, offset + tile_length)
            if not self._affordable(contexts, part, seen, alone=len(tiles) == 1):
                continue
            prices, method = self._prices(contexts, part, seen)
            for tile, begin in tiles:
                better_ones += self._offer(contexts, begin, (tile, tile + tile_length - 1), prices, method)
        return better_ones

    def _contexts(self, window: int, to_end: bool) -> _Contexts | None:
        if (window, to_end) not in self._known:
            found = windows(self._prior, window, to_end=to_end, most_rows=self._most_rows)
            weighted = self._prior.kind != "uniform"
            self._known[window, to_end] = None if found is None else _Contexts(found, weighted=weighted)
        return self._known[window, to_end]

    def _affordable(self, contexts: _Contexts, tile: slice, seen: Integers, *, alone: bool) -> bool:
        if contexts.windows.length == 1:
            return True
        return contexts.work(tile, contexts.missing(tile, seen)) <= min(
            self._work_left, self._work * (_SHARE_FOR_ONE if alone else 1)
        )

    def _prices(self, contexts: _Contexts, tile: slice, seen: Integers) -> tuple[Floats, str]:
        """The price of each pattern that is seen, the better of two where both apply; and the name of the method."""
        missing = contexts.missing(tile, seen)
        prices = contexts.prices[tile.start, tile.stop]
        length = contexts.windows.length
        constant = self._between_any(length) > 0 and tile.stop - tile.start == length
        patterns = [contexts.patterns[number] for number in missing]
        found = np.zeros(len(missing))
        if length > 1:
            small = [place for place, number in enumerate(missing) if contexts.sizes[number] <= _MOST_WORDS]
            some = [patterns[place] for place in small]
            found[small] = spread_prices(some, tile, self._decay, self._adjacency)
            self._work_left -= contexts.work(tile, missing)
        if constant:
            found = np.maximum(found, constant_prices(patterns, self._between_any(length)))
        prices[missing] = found
        return np.nan_to_num(prices, nan=0.0), "constant" if length == 1 else "spread"


def better(one: Offers, other: Offers) -> Offers:
    """The better offer for each tile."""
    both = dict(other)
    for key, tile in one.items():
        if key not in both or tile.value >= both[key].value:
            both[key] = tile
    return both
