"""Price B: what each word can charge to the words around it, over a whole word or a long tile of it.

For 0 < Λ ≤ 1, λ(o) = min(Λ, G₀(o) − Λ·G₁(o)) is a price, where G₁ is the sum of π(w)/π(o)·ζ(w,o) over the other words w
of the tile, G₀ the same times d(w,o), and ζ ≤ e^{−εg} (docs/theory/lower-bounds.md, Theorem 3.9). A word that leaves
o's path and comes back to it makes a *detour*; detours can be taken one by one, so packs of detours with at most b
changes in all are steps between adjacent words, and ζ = e^{−ε·packs}. Sums over all such words take one pass over the
positions.

Λ need not be the same for all words: any toll H ≥ 0 with λ ≤ H will do, where Σ ζ·H(w) takes its
place. A toll that is a sum over the states of a word needs one more sum in the same pass (Theorem 3.9).

Detours depend on a short piece of the word only, so each piece that occurs in a sample is looked at once.

Prices are averaged over words drawn from public seeds: a small sample chooses tiles, Λ and tolls, a fresh one evaluates
them. Prices of a word lie between 0 and ΣΛ, so the empirical-Bernstein inequality of Maurer and Pontil (2009, Theorem
4) gives a limit that the true mean is below with probability at most δ: with N prices of mean m and sample variance V,

    m − √(2V·ln(2/δ)/N) − (7/3)·ΣΛ·ln(2/δ)/(N−1).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from symveil.bounds.limits import LIMITS
from symveil.bounds.prior import LEAST_PRODUCT, Floats, Integers, Prior, Tile
from symveil.graphs.csr import spread
from symveil.randomness import NotPrivateSeededBits

Kind = tuple[int, int, int]
"""(positions from the first to the last that may differ, 1 if the next symbol must agree, symbols that differ)."""


@dataclass(frozen=True, slots=True, eq=False)
class Detours:
    """The weights of the detours of each kind that begin at each position of each sampled word, relative to its own.

    Detours of more than `steps` steps are left out, or there are none. With tolls of states, `tolls` are the weights
    times the tolls of the states that a detour has after each of its positions, and `own_tolls` those of the words.
    No sum of weights has seen more than `operations` roundings.
    """

    count: int
    length: int
    steps: int
    operations: int
    by_kind: dict[Kind, Floats] = field(repr=False)
    tolls: dict[Kind, Floats] | None = field(default=None, repr=False)
    own_tolls: Floats | None = field(default=None, repr=False)


def find_detours(
    prior: Prior,
    states: Integers,
    edges: Integers,
    adjacency: int,
    *,
    most: int | None = None,
    longest: int | None = None,
    tolls: Floats | None = None,
) -> Detours:
    """All detours of sampled words with at most `adjacency` changes.

    `states` and `edges` have a row for each sampled word, as `Prior.draw` returns them. Detours with more than
    `longest` steps are left out, and longer ones beyond `most` unfinished ones: ζ = 0 is allowed for them. `tolls` ≥ 0
    of states are summed along detours.
    """
    graph, length = prior.language.graph, prior.language.length
    count = len(states)
    results: dict[Kind, Floats] = {}
    charged: dict[Kind, Floats] = {}  # with tolls
    # pieces of length 0: the state in which a detour begins; its only unfinished detour is the word itself
    begins = np.unique(states[:, prior.first : length])
    piece = np.searchsorted(begins, states[:, prior.first : length])
    unfinished = _Unfinished(
        piece=np.arange(len(begins)),
        state=begins,
        changes=np.zeros(len(begins), dtype=np.int64),
        weight=np.ones(len(begins)),
        toll=np.zeros(len(begins)),
    )
    steps = operations = 0
    for steps in range(1, min(length - prior.first, length if longest is None else longest) + 1):
        own = edges[:, prior.first + steps - 1 :]
        piece = piece[:, : own.shape[1]]
        pieces, number = np.unique(piece * graph.edge_count + own, return_inverse=True)
        piece = number.reshape(own.shape)
        unfinished, closed = unfinished.extended(
            prior, pieces // graph.edge_count, pieces % graph.edge_count, adjacency, tolls
        )
        accepted = unfinished.taken(graph.accepting[unfinished.state])
        ended = _Closed(accepted.piece, accepted.changes, accepted.weight, accepted.toll)
        operations += 6 + unfinished.terms + closed.terms(len(pieces)) + ended.terms(len(pieces))
        for sums, of_closed, of_ended in ((results, closed.weight, ended.weight), (charged, closed.toll, ended.toll)):
            if sums is charged and tolls is None:
                continue
            for (agrees, changes), weights in closed.by_kind(of_closed, len(pieces)):
                target = sums.setdefault((steps - agrees, agrees, changes), np.zeros((count, length)))
                target[:, prior.first : length - steps + 1] += weights[piece]
            for (_, changes), weights in ended.by_kind(of_ended, len(pieces)):
                target = sums.setdefault((steps, 0, changes), np.zeros((count, length)))
                target[:, length - steps] += weights[piece[:, -1]]
        if not len(unfinished.piece) or (most is not None and len(unfinished.piece) > most):
            break
    by_kind = {kind: each for kind, each in results.items() if each.any()}
    if tolls is None:
        return Detours(count, length, steps, operations, by_kind)
    charged = {kind: charged[kind] for kind in by_kind}
    return Detours(count, length, steps, operations, by_kind, charged, own_tolls=tolls[states[:, 1:]])


@dataclass(frozen=True, slots=True, eq=False)
class _Closed:
    """Detours that are back on the path: of which piece, with how many changes, and whether the last symbol agreed."""

    piece: Integers
    changes: Integers
    weight: Floats
    toll: Floats
    agrees: NDArray[np.bool_] | None = None

    def terms(self, pieces: int) -> int:
        """No sum of `by_kind` has more."""
        return int(np.bincount(self.piece, minlength=pieces).max(initial=0))

    def by_kind(self, values: Floats, pieces: int) -> Iterator[tuple[tuple[int, int], Floats]]:
        """For each (last symbol agrees, changes) that occurs, the sum of some values for each piece."""
        agrees = np.zeros(len(self.piece), dtype=np.bool_) if self.agrees is None else self.agrees
        kind = 2 * self.changes + agrees
        for each in np.unique(kind).tolist():
            rows = kind == each
            sums = np.bincount(self.piece[rows], weights=values[rows], minlength=pieces)
            yield (each % 2, each // 2), sums.astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class _Unfinished:
    """Detours that have left a piece of a word and not come back: (piece, state, changes so far), and their weight.

    `toll` is the weight times the tolls of their states so far. No weight is a sum of more than `terms` others.
    """

    piece: Integers
    state: Integers
    changes: Integers
    weight: Floats
    toll: Floats
    terms: int = 1

    def taken(self, rows: NDArray[np.bool_]) -> _Unfinished:
        """Some of them."""
        return _Unfinished(self.piece[rows], self.state[rows], self.changes[rows], self.weight[rows], self.toll[rows])

    def extended(
        self, prior: Prior, parent: Integers, own: Integers, adjacency: int, tolls: Floats | None
    ) -> tuple[_Unfinished, _Closed]:
        """One more symbol: for each longer piece (its parent, its last edge) what is still away, and what came back."""
        graph = prior.language.graph
        begin = np.searchsorted(self.piece, np.arange(int(parent.max(initial=-1)) + 2))
        child, index = spread(begin[parent + 1] - begin[parent], begin[parent])
        row, edge = graph.expand(self.state[index])
        child, index = child[row], index[row]
        own_edge = own[child]
        agrees = graph.symbol[edge] == graph.symbol[own_edge]
        changes = self.changes[index] + ~agrees
        weight = self.weight[index] * prior.edge_weights[edge]
        weight = np.divide(weight, prior.edge_weights[own_edge], out=np.zeros_like(weight), where=weight > 0)
        # an edge that is the word's own at the first step has not left the path
        possible = (changes <= adjacency) & (changes > 0) & (weight > 0)
        back = graph.target[edge] == graph.target[own_edge]
        closed = possible & back
        away = possible & ~back
        toll = weight  # without tolls nobody asks
        if tolls is not None:
            before = self.toll[index] * prior.edge_weights[edge]
            before = np.divide(before, prior.edge_weights[own_edge], out=np.zeros_like(before), where=before > 0)
            # where the last symbol agrees, its position is the word's own again, and so is its toll
            toll = np.where(closed & agrees, before, before + weight * tolls[graph.target[edge]])
        gone = _Unfinished(
            child[away], graph.target[edge[away]].astype(np.int64), changes[away], weight[away], toll[away]
        )
        return gone.merged(adjacency, with_tolls=tolls is not None), _Closed(
            child[closed], changes[closed], weight[closed], toll[closed], agrees[closed]
        )

    def merged(self, adjacency: int, *, with_tolls: bool) -> _Unfinished:
        """Those that are in the same state with the same number of changes become one."""
        states = int(self.state.max(initial=0)) + 1
        key = (self.piece * states + self.state) * (adjacency + 1) + self.changes
        unique, number = np.unique(key, return_inverse=True)
        weight = np.bincount(number, weights=self.weight, minlength=len(unique)).astype(np.float64)
        toll = weight
        if with_tolls:
            toll = np.bincount(number, weights=self.toll, minlength=len(unique)).astype(np.float64)
        return _Unfinished(
            piece=unique // (adjacency + 1) // states,
            state=unique // (adjacency + 1) % states,
            changes=unique % (adjacency + 1),
            weight=weight,
            toll=toll,
            terms=int(np.bincount(number).max(initial=1)),
        )


@dataclass(frozen=True, slots=True, eq=False)
class StarSums:
    """G₁ and G₀ of a tile for each sampled word, and a bound on their relative error.

    With tolls of states, `toll` is the sum of weights times the tolls of the tile's states, `own_toll` the word's own.
    """

    weight: Floats
    loss: Floats
    relative_error: float
    toll: Floats | None = None
    own_toll: Floats | None = None

    def prices(self, level: float) -> Floats:
        """λ(o) for Λ = `level`, rounded down."""
        error = self.relative_error
        charged = self.loss * (1 - error) - level * self.weight * (1 + error)
        # more than floats can hold is no information; what is lost in numbers too small for them is less than this
        return np.clip(np.nan_to_num(charged, nan=0.0, posinf=0.0) - LEAST_PRODUCT, 0.0, level)

    def prices_with_tolls(self, base: float, scale: float, level: float) -> Floats:
        """λ(o) = min(`level`, H(o), G₀ − Σ ζH) for H = `base` + `scale`·(tolls of the tile's states), rounded down."""
        if self.toll is None or self.own_toll is None:
            return self.prices(min(base, level))
        error = self.relative_error
        own = (base + scale * self.own_toll) * (1 - error)
        charged = self.loss * (1 - error) - (base * self.weight + scale * self.toll) * (1 + 2 * error)
        charged = np.nan_to_num(charged, nan=0.0, posinf=0.0) - LEAST_PRODUCT
        return np.clip(np.minimum(charged, own), 0.0, min(level, 1.0))

    def best_level(self, cost: float) -> float:
        """The Λ ≤ 1 with the largest mean price less `cost`·Λ.

        The mean of min(Λ, G₀ − ΛG₁) is concave in Λ, with a corner at G₀/(1+G₁) of each word.
        """
        with np.errstate(invalid="ignore"):
            corner = np.nan_to_num(self.loss / (1 + self.weight), nan=0.0)
        order = np.argsort(corner)
        slope = np.arange(len(order), 0, -1) - np.concatenate([[0.0], np.cumsum(self.weight[order])[:-1]])
        rising = np.flatnonzero(slope / len(order) > cost)
        return float(min(corner[order[rising[-1]]], 1.0)) if len(rising) else 0.0


def star_sums(detours: Detours, begin: int, ends: range, decay: Floats, adjacency: int | None) -> Iterator[StarSums]:
    """The sums of the tiles `begin` … `end` (both included), for each end, in one pass.

    `ends` are the last positions of the tiles, rising; `decay` has lower bounds of e^{−εg} for g = 0, 1 … Without an
    adjacency it is the graceful promise, where g counts changes and nothing is packed.
    """
    rooms, sums = 1 if adjacency is None else adjacency + 1, 2 if detours.tolls is None else 3
    kinds = sorted(detours.by_kind)
    # words that left the path, by (must the next symbol agree?, changes in the open pack): weight, weight × changes,
    # and, where there are tolls, weight × tolls up to here
    shape = (2, rooms, sums, detours.count)
    at = {begin: np.zeros(shape)}
    passed = np.zeros(detours.count)
    operations = 8
    for position in range(begin, ends.stop):
        here, following = at.pop(position), at.setdefault(position + 1, np.zeros(shape))
        operations += 2 * (len(kinds) + 1) * (rooms + 2) + detours.operations
        following[0] += here[0]
        following[0] += here[1]
        if detours.own_tolls is not None:
            following[0, :, 2] += (here[0, :, 0] + here[1, :, 0]) * detours.own_tolls[:, position]
        for kind in kinds:
            extent, agrees, changes = kind
            if position + extent > ends.stop:
                continue
            weight = detours.by_kind[kind][:, position]
            if not weight.any():
                continue
            target = at.setdefault(position + extent, np.zeros(shape))[agrees]
            # from the path itself: the first pack is opened, or its changes are paid for
            paid = 1 if adjacency is not None else changes
            factor = float(decay[paid]) if paid < len(decay) else 0.0
            room = changes if adjacency is not None else 0
            opened = factor * weight
            target[room, :2] += (opened, changes * opened)
            # from words that have left it before: into the open pack while it has room, else into a new one
            moved = here[0] * weight
            moved[:, 1] += changes * moved[:, 0]
            if detours.tolls is not None:
                toll = detours.tolls[kind][:, position]
                target[room, 2] += factor * toll + opened * passed
                moved[:, 2] += here[0, :, 0] * toll
            if adjacency is None:
                target += factor * moved
                continue
            target[changes:] += moved[: rooms - changes]
            target[changes] += factor * moved[rooms - changes :].sum(axis=0)
        if detours.own_tolls is not None:
            passed = passed + detours.own_tolls[:, position]
        if position in ends:
            total = at[position + 1].sum(axis=(0, 1))
            error = operations * 2.0**-52
            if detours.tolls is None:
                yield StarSums(weight=total[0], loss=total[1], relative_error=error)
            else:
                yield StarSums(total[0], total[1], error, toll=total[2], own_toll=passed)


_SWEEPS = 100
# As if each state had been seen so many more times with an average toll: what was seen once or twice says little.
_CAUTION = 10.0


def fitted_tolls(states: Integers, wanted: Floats, count: int) -> Floats:
    """A toll ≥ 0 for each state; states that no row has get the mean.

    `states` has a row for each word, `wanted` what the tolls of each row are to add up to, `count` is how many states
    there are.

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
# Tolls are tried at these shares of the fit.
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
        limits = LIMITS.now
        self._changes = min(len(decay) - 1, length) if adjacency is None else adjacency
        """So many symbols of one detour may differ: without an adjacency (the graceful promise) as decays are known."""
        self._share = limits.quick_share if quick else 1.0
        self.sample_size = int(np.clip(self._share * limits.star_symbols // max(length, 1), *limits.star_words))
        self._quick = quick
        self._rules: dict[tuple[int, int], _Rule] = {}
        self.offers: dict[tuple[int, int], Tile] = {}
        bits = NotPrivateSeededBits(_PILOT_SEED)
        longest = int(np.clip(self._share * limits.tiles / max(length, 1), *limits.tile_lengths))
        detours = find_detours(
            prior, *prior.draw(self._pilot_words(longest), bits), self._changes, most=int(self._share * limits.detours)
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
        return int(min(LIMITS.now.pilot_words, max(100, self._share * LIMITS.now.pilot_work / passes)))

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
        words = max(LIMITS.now.toll_words, LIMITS.now.toll_symbols // max(self._prior.language.length, 1))
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
        for begin in range(0, self.sample_size, LIMITS.now.star_words_at_once):
            part = slice(begin, begin + LIMITS.now.star_words_at_once)
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
