"""Star prices averaged over sampled words: a small sample chooses tiles, Λ and tolls, a fresh one evaluates them.

Prices of a word lie between 0 and ΣΛ, so the empirical-Bernstein inequality of Maurer and Pontil (2009, Theorem 4)
gives a limit that the true mean is below with probability at most δ: with N prices of mean m and sample variance V,

    m − √(2V·ln(2/δ)/N) − (7/3)·ΣΛ·ln(2/δ)/(N−1).

Words are drawn from public seeds; nothing here is secret.

Tolls of states whose sum along a word is near a given number: how dear the streets of a word are.

Any tolls ≥ 0 give a sound price (docs/theory/lower-bounds.md, Theorem 3.9), so that the fit may be a rough one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from symveil.bounds.prior import Floats, Integers, Prior, Tile
from symveil.bounds.star_price import Detours, StarSums, find_detours, star_sums
from symveil.randomness import NotPrivateSeededBits

_SWEEPS = 100
# As if each state had been seen so many more times with an average toll: what was seen once or twice says little.
_CAUTION = 10.0


def fitted_tolls(states: Integers, wanted: Floats, count: int) -> Floats:
    """A toll ≥ 0 for each state; states that no row has get the mean.

    Parameters
    ----------
    states
        A row of states for each word.
    wanted
        What the tolls of each row are to add up to, about.
    count
        How many states there are.

    >>> rows = np.array([[0, 0, 1], [1, 1, 0], [0, 1, 1], [0, 0, 0]] * 500)
    >>> fitted_tolls(rows, np.array([4.0, 5.0, 5.0, 3.0] * 500), 3).round(2)
    array([1.  , 2.  , 1.42])
    """
    length = states.shape[1]
    tolls: Floats = np.full(count, float(wanted.mean()) / max(length, 1))
    seen = np.bincount(states.ravel(), minlength=count) + _CAUTION
    for _ in range(_SWEEPS):
        missing = wanted - tolls[states].sum(axis=1)
        # a step along the gradient of the squared error, measured so that no state takes more than its share
        tolls += np.bincount(states.ravel(), weights=np.repeat(missing, length), minlength=count) / (seen * length)
    return np.asarray(np.maximum(tolls, 0.0))


_PILOT_SEED, _SEED = 15, 16
_PILOT_WORDS = 2_000
_SYMBOLS = 800_000
"""How many symbols all words of the evaluation have together."""
_FEWEST_WORDS, _MOST_WORDS = 2_000, 40_000
_AT_ONCE = 2_000
_QUICK_SHARE = 0.15
_MOST_DETOURS = 1_000_000
# Tiles of every length up to this are tried, of fewer lengths in long words, and the whole word.
_LONGEST_TILE, _SHORTEST_LIMIT = 64, 4
_MOST_TILES = 12_800
# Numbers that a pass over all pilot tiles may touch; beyond it fewer words are looked at.
_PILOT_WORK = 4e8
# Tolls are fitted to words of the pilot's seed with so many symbols together, and tried at these shares of the fit.
_TOLL_SYMBOLS, _FEWEST_TOLL_WORDS = 120_000, 200
_SHARES = np.linspace(0.0, 1.6, 17)


@dataclass(frozen=True, slots=True)
class _Rule:
    """How a tile is priced: H = `base` + `scale`·(tolls of the tile's states), and no price above `level`."""

    level: float
    base: float
    scale: float = 0.0

    def prices(self, sums: StarSums) -> Floats:
        return sums.prices_with_tolls(self.base, self.scale, self.level) if self.scale else sums.prices(self.level)


class StarPrices:
    """Offers of star prices, chosen on a pilot sample: their values are estimates until they are evaluated."""

    def __init__(self, prior: Prior, decay: Floats, adjacency: int | None, *, quick: bool = False) -> None:
        self._prior, self._decay, self._adjacency = prior, decay, adjacency
        length = prior.language.length
        self._changes = min(len(decay) - 1, length) if adjacency is None else adjacency
        """So many symbols of one detour may differ: without an adjacency (the graceful promise) as decays are known."""
        self._share = _QUICK_SHARE if quick else 1.0
        self.sample_size = int(min(_MOST_WORDS, max(_FEWEST_WORDS, self._share * _SYMBOLS // max(length, 1))))
        self._quick = quick
        self._rules: dict[tuple[int, int], _Rule] = {}
        self.offers: dict[tuple[int, int], Tile] = {}
        bits = NotPrivateSeededBits(_PILOT_SEED)
        longest = int(max(_SHORTEST_LIMIT, min(_LONGEST_TILE, self._share * _MOST_TILES / max(length, 1))))
        detours = find_detours(
            prior, *prior.draw(self._pilot_words(longest), bits), self._changes, most=int(self._share * _MOST_DETOURS)
        )
        # the fresh sample must be priced by what was chosen before it was drawn
        self._longest_detour = detours.steps
        for begin in range(prior.first, length):
            last = length if begin == prior.first else min(length, begin + longest)
            self._offer(detours, begin, range(begin, last))

    def _pilot_words(self, longest: int) -> int:
        length = self._prior.language.length
        rooms = 2 if self._adjacency is None else self._adjacency + 1
        passes = (length * min(length, longest) + length) * rooms**2 * 4
        return int(min(_PILOT_WORDS, max(100, self._share * _PILOT_WORK / passes)))

    def _offer(self, detours: Detours, begin: int, ends: range) -> None:
        for end, sums in zip(ends, star_sums(detours, begin, ends, self._decay, self._adjacency), strict=True):
            level = sums.best_level(self._cost)
            value = float(sums.prices(level).mean()) - self._cost * level
            if value > 0:
                self._rules[begin, end] = _Rule(level, level)
                self.offers[begin, end] = Tile(begin, end, "star", value, (begin, end))

    @property
    def _cost(self) -> float:
        """What a price that may be as large as 1 takes off the limit, whatever its values are."""
        return 7 / 3 * math.log(2 / 0.01) / (self.sample_size - 1)

    def _rules_with_tolls(self, tiles: Sequence[Tile]) -> tuple[Floats | None, dict[tuple[int, int], _Rule]]:
        """Tolls of states that tell words with a large price from those with a small one; the best rule for each tile.

        Tolls follow the price that a word would have if its neighbours had the same, G₀/(1+G₁), summed over the tiles.
        """
        rules = {(tile.first, tile.last): self._rules[tile.first, tile.last] for tile in tiles}
        if self._quick:
            return None, rules
        words = max(_FEWEST_TOLL_WORDS, _TOLL_SYMBOLS // max(self._prior.language.length, 1))
        states, edges = self._prior.draw(min(words, self.sample_size), NotPrivateSeededBits(_PILOT_SEED))
        wanted, inside = np.zeros(len(states)), np.zeros(states.shape[1] - 1, dtype=np.bool_)
        detours = find_detours(self._prior, states, edges, self._changes, longest=self._longest_detour)
        for tile in tiles:
            sums = self._sums(detours, tile)
            with np.errstate(invalid="ignore"):
                wanted += np.nan_to_num(np.minimum(sums.loss / (1 + sums.weight), 1.0))
            inside[tile.first : tile.last + 1] = True
        tolls = fitted_tolls(states[:, 1:][:, inside], wanted, self._prior.language.graph.state_count)
        detours = find_detours(self._prior, states, edges, self._changes, longest=self._longest_detour, tolls=tolls)
        for tile in tiles:
            sums, plain = self._sums(detours, tile), rules[tile.first, tile.last]
            most = float(sums.own_toll.max()) if sums.own_toll is not None else 0.0
            tried = [plain] + [
                _Rule(min(1.0, plain.level * share + scale * most), plain.level * share, float(scale))
                for share in _SHARES
                for scale in _SHARES[1:]
            ]
            rules[tile.first, tile.last] = max(
                tried, key=lambda rule: float(rule.prices(sums).mean()) - self._cost * rule.level
            )
        return (tolls if any(rule.scale for rule in rules.values()) else None), rules

    def _sums(self, detours: Detours, tile: Tile) -> StarSums:
        (sums,) = star_sums(detours, tile.first, range(tile.last, tile.last + 1), self._decay, self._adjacency)
        return sums

    def evaluated(self, tiles: Sequence[Tile], confidence: float) -> tuple[float, tuple[Tile, ...]]:
        """The sum of the tiles' prices, those of star tiles limited from below with that confidence, and the tiles.

        The value of a star tile is the mean of the fresh sample, less its share of what the limit costs.
        """
        stars = [tile for tile in tiles if tile.price == "star"]
        sure = math.fsum(tile.value for tile in tiles if tile.price != "star")
        if not stars:
            return sure, tuple(tiles)
        tolls, rules = self._rules_with_tolls(stars)
        prices = self._fresh_prices(stars, tolls, rules)
        total = prices.sum(axis=0)
        span = math.fsum(rule.level for rule in rules.values())
        limit = lower_limit(total, span, 1 - confidence) - self._prior.drawing_error * span
        mean = float(total.mean())
        share = limit / mean if mean > 0 else 0.0
        values = {tile: float(price.mean()) * share for tile, price in zip(stars, prices, strict=True)}
        return sure + max(limit, 0.0), tuple(
            Tile(tile.first, tile.last, tile.price, values.get(tile, tile.value), tile.window) for tile in tiles
        )

    def _fresh_prices(self, tiles: Sequence[Tile], tolls: Floats | None, rules: dict[tuple[int, int], _Rule]) -> Floats:
        """A row of prices for each tile, a column for each word of a sample that chose nothing."""
        bits = NotPrivateSeededBits(_SEED)
        states, edges = self._prior.draw(self.sample_size, bits)
        parts = []
        for begin in range(0, self.sample_size, _AT_ONCE):
            part = slice(begin, begin + _AT_ONCE)
            detours = find_detours(
                self._prior,
                states[part],
                edges[part],
                self._changes,
                longest=self._longest_detour,
                tolls=tolls,
            )
            parts.append(np.stack([rules[tile.first, tile.last].prices(self._sums(detours, tile)) for tile in tiles]))
        return np.concatenate(parts, axis=1)


def lower_limit(values: Floats, span: float, risk: float) -> float:
    """The one-sided empirical-Bernstein limit of the mean of independent values between 0 and `span`.

    >>> values = np.array([0.0, 1.0] * 5_000)
    >>> round(lower_limit(values, 1.0, 0.01), 4)
    0.4825
    """
    count, log = len(values), math.log(2 / risk)
    variance = float(values.var(ddof=1))
    return float(values.mean()) - math.sqrt(2 * variance * log / count) - 7 / 3 * span * log / (count - 1)
