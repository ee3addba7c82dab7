"""Proved prices of short tiles, averaged exactly over all contexts of a window around them.

Windows grow as long as the work that is left pays for it: a price of a window of K words costs about K² operations a
step, and windows that look alike are priced once.

All words of a window of a few positions, by what is known around it.

A *context* of a window is the state before it, and the symbol after it with the state that this symbol leads to
(nothing where the window ends the word). All words of a context can be exchanged without touching the rest of the word,
so a mechanism must keep ε among them; they are the same at every position.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symveil.bounds.limits import LIMITS
from symveil.bounds.prior import LEAST_PRODUCT, Floats, Integers, Prior, Tile, best_tiling
from symveil.bounds.spread_price import Pattern, constant_prices, spread_prices
from symveil.graphs.csr import offsets
from symveil.numbers.progress import Progress
from symveil.trellis.passes import Trellis, forward
from symveil.trellis.semirings import FLOATS


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """The words of all contexts of windows of one length: context c has rows `begin[c]` … `begin[c+1]−1` of `words`.

    `words` are symbols relabelled per context and position, in the order of their appearance: prices do not depend on
    names, so contexts with equal rows share theirs. `weights` are the prior's, of the window and the symbol after it.
    Contexts with a single word are left out: nothing can be hidden there.
    """

    length: int
    to_end: bool
    left: Integers
    right: Integers | None
    begin: Integers
    words: NDArray[np.int32]
    weights: Floats

    @property
    def sizes(self) -> Integers:
        """How many words each context has."""
        return np.diff(self.begin)

    def context_weights(self) -> Floats:
        """The weight of all words of each context."""
        return np.add.reduceat(self.weights, self.begin[:-1]) if len(self.left) else np.zeros(0)

    def probabilities(self, prior: Prior, position: int) -> Floats:
        """π of each context, where the window begins at a position."""
        return prior.probability(
            position, self.left, self.context_weights(), position + self.length + 1, None if self.to_end else self.right
        )


def windows(prior: Prior, length: int, *, to_end: bool, most_rows: int = 1_000_000) -> Windows | None:
    """The windows of a length, within the word or at its end; None where they have more than `most_rows` words.

    >>> import symveil as sv
    >>> rows = [("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)]
    >>> prior = Prior(sv.runs(sv.MarkovChain.from_transitions(rows), 4), "uniform")
    >>> found = windows(prior, 1, to_end=False)
    >>> found.sizes.tolist()                 # between a and a, and between the start and a, there may be a or b
    [2, 2]
    """
    graph = prior.language.graph
    last = prior.language.length - length
    begins = [last] if to_end else range(prior.first, last)
    reached = np.zeros(graph.state_count, dtype=np.bool_)
    for position in begins:
        reached |= prior.chance_of[position] > 0
    steps = length if to_end else length + 1
    if _row_count(prior, reached, steps) > most_rows:
        return None
    left = state = np.flatnonzero(reached)
    weights = np.ones(len(left))
    symbols = np.empty((len(left), 0), dtype=np.int32)
    for step in range(steps):
        rows, edges = graph.expand(state)
        left, weights = left[rows], weights[rows] * prior.edge_weights[edges]
        symbols = symbols[rows]
        if step < length:
            symbols = np.concatenate([symbols, graph.symbol[edges][:, None]], axis=1)
        else:
            following = graph.symbol[edges].astype(np.int64)
        state = graph.target[edges].astype(np.int64)
    if weights.min(initial=1.0) < LEAST_PRODUCT:
        return None  # too small for a relative error that is known
    remaining = np.ones(len(state), dtype=np.bool_)
    if to_end:
        remaining = graph.accepting[state]
        context = left
    else:
        context = (left * graph.state_count + state) * len(graph.alphabet) + following
    left, state, context = left[remaining], state[remaining], context[remaining]
    symbols, weights = symbols[remaining], weights[remaining]
    order = np.argsort(context, kind="stable")  # rows of a context stay in alphabetical order
    _, begin, sizes = np.unique(context[order], return_index=True, return_counts=True)
    order = order[np.repeat(sizes > 1, sizes)]
    sizes = sizes[sizes > 1]
    begin = offsets(sizes)
    heads = order[begin[:-1]]
    return Windows(
        length=length,
        to_end=to_end,
        left=left[heads],
        right=None if to_end else state[heads],
        begin=begin,
        words=_relabelled(symbols[order], np.repeat(np.arange(len(sizes)), sizes), begin),
        weights=weights[order],
    )


def _row_count(prior: Prior, reached: NDArray[np.bool_], steps: int) -> float:
    paths = Trellis(edges=prior.language.graph, length=steps, semiring=FLOATS, final=reached)
    *_, rows = forward(paths, FLOATS.ends(reached))
    return float(rows.sum())


def _relabelled(symbols: NDArray[np.int32], context: Integers, begin: Integers) -> NDArray[np.int32]:
    """Symbols renamed 0, 1 … in the order in which a context first has them at a position."""
    relabelled = np.empty_like(symbols)
    for column in range(symbols.shape[1]):
        key = context * (int(symbols.max(initial=0)) + 1) + symbols[:, column]
        _, appears, number = np.unique(key, return_index=True, return_inverse=True)
        in_order = np.argsort(appears, kind="stable")
        rank = np.empty(len(in_order), dtype=np.int64)
        rank[in_order] = np.arange(len(in_order))
        rank = rank[number]
        relabelled[:, column] = rank - np.repeat(rank[begin[:-1]], np.diff(begin))
    return relabelled


# Up to this length of window tiles of all lengths are tried, beyond it those that have been of use.
_TRY_ALL = 3

Offers = dict[tuple[int, int], Tile]


class _Contexts:
    """The contexts of a window, those that look alike together."""

    def __init__(self, result: Windows, *, weighted: bool) -> None:
        self.windows = result
        numbers: dict[bytes, int] = {}
        self.patterns: list[Pattern] = []
        self.pattern_of: Integers = np.zeros(len(result.left), dtype=np.int64)
        for context in range(len(result.left)):
            part = slice(result.begin[context], result.begin[context + 1])
            words, weights = result.words[part], result.weights[part]
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
        searched = [number for number in numbers.tolist() if self.sizes[number] <= LIMITS.now.window_words]
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
        limits = LIMITS.now
        self._known: dict[tuple[int, bool], _Contexts | None] = {}
        self._work = float(limits.quick_window_work if quick else limits.window_work)
        self._work_left = self._work
        self._most_rows = limits.quick_window_rows if quick else limits.window_rows
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
                if self._total(others) < before * (1 + LIMITS.now.least_gain):
                    break
            window += 1

    def _offer_cliques(self) -> None:
        """Constant prices of windows whose words are all adjacent: they cost little, and may exceed 1."""
        longest = LIMITS.now.clique_positions if self._adjacency is None else self._adjacency
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
        positions: dict[tuple[bool, int], list[tuple[int, int]]] = {}
        for tile in range(self.first, self.length - tile_length + 1):
            begin = min(max(tile - (window - tile_length) // 2, self.first), self.length - window)
            if self.first <= begin <= tile:
                positions.setdefault((begin + window == self.length, tile - begin), []).append((tile, begin))
        for (to_end, offset), tiles in sorted(positions.items(), key=lambda each: -len(each[1])):
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
            result = windows(self._prior, window, to_end=to_end, most_rows=self._most_rows)
            weighted = self._prior.kind != "uniform"
            self._known[window, to_end] = None if result is None else _Contexts(result, weighted=weighted)
        return self._known[window, to_end]

    def _affordable(self, contexts: _Contexts, tile: slice, seen: Integers, *, alone: bool) -> bool:
        if contexts.windows.length == 1:
            return True
        return contexts.work(tile, contexts.missing(tile, seen)) <= min(
            self._work_left, self._work * (LIMITS.now.share_of_a_position if alone else 1)
        )

    def _prices(self, contexts: _Contexts, tile: slice, seen: Integers) -> tuple[Floats, str]:
        """The price of each pattern that is seen, the better of two where both apply; and the name of the method."""
        missing = contexts.missing(tile, seen)
        prices = contexts.prices[tile.start, tile.stop]
        length = contexts.windows.length
        constant = self._between_any(length) > 0 and tile.stop - tile.start == length
        patterns = [contexts.patterns[number] for number in missing]
        results = np.zeros(len(missing))
        if length > 1:
            small = [index for index, number in enumerate(missing) if contexts.sizes[number] <= LIMITS.now.window_words]
            some = [patterns[index] for index in small]
            results[small] = spread_prices(some, tile, self._decay, self._adjacency)
            self._work_left -= contexts.work(tile, missing)
        if constant:
            results = np.maximum(results, constant_prices(patterns, self._between_any(length)))
        prices[missing] = results
        return np.nan_to_num(prices, nan=0.0), "constant" if length == 1 else "spread"


def better(one: Offers, other: Offers) -> Offers:
    """The better offer for each tile."""
    both = dict(other)
    for key, tile in one.items():
        if key not in both or tile.value >= both[key].value:
            both[key] = tile
    return both
