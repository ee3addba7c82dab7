"""Price C: the best price of a window, found by solving its linear programme approximately.

A window has words u with weights π(u); the loss is counted on a tile J of its positions. For every output x of the tile
let *supply* be π(w)(d(w_J,x) − λ̄(w)) at the words with w_J ≠ x, and let it flow to the words with u_J = x; of what w
sends, u receives the fraction e^{−εg(w,u)}. Whatever the flows are, as long as no word sends more than the supply,

    λ(u) = min(λ̄(u), received(u)/π(u)),   0 ≤ λ̄ ≤ 1,

is a price (docs/theory/lower-bounds.md, Theorem 3.10). So flows and λ̄ may come from any search, and rounding matters
only in the last step. The search: λ̄ and the probabilities p(u) of releasing u_J for u are the two sides of a saddle
point; both follow their gradients, and flows prefer the words where p is large. What counts is the mean over many
steps.

Price A: one price for all words of a window whose words are all adjacent to each other.

For an output x let m(t) be the weight of the words at distance t from it. λ is a price if Σ m(t)·φ(t − λ) ≥ 0 with
φ(s) = s for s < 0 and e^{−ε}s otherwise, for every x. φ is the smaller of two lines, so the largest such λ is the
smallest, over k, of the mean distance when the words farther than k count e^{−ε} only (docs/theory/lower-bounds.md,
Theorem 3.8).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symveil.bounds.limits import LIMITS
from symveil.bounds.prior import Floats

# The search: lengths of its epochs, its step, how sharply flows prefer, and how carefully p moves for it.
_EPOCHS = (16, 16, 32, 32)
_STEP, _SHARPNESS, _CAUTION = 0.45, 4.0, 0.5
_LEAST_CHANCE = 1e-4
# Sums below this are not trusted to keep their relative precision: nothing flows there.
_LEAST_SUM = 1e-280


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """The words of a window as rows of small numbers, and their weights."""

    words: NDArray[np.int32]
    weights: Floats


def spread_prices(patterns: Sequence[Pattern], tile: slice, decay: Floats, adjacency: int | None) -> Floats:
    """For each window a lower bound on the expected loss on a tile of it, below the best possible by little.

    The loss counts in the positions of `tile`. `decay` has lower bounds of e^{−εg} for g = 0, 1 …; words farther apart
    are taken to have nothing to do with each other. Without an adjacency it is the graceful promise, where g is the
    number of positions in which words differ.
    """
    prices = np.zeros(len(patterns))
    order = sorted(range(len(patterns)), key=lambda number: len(patterns[number].words))
    begin = 0
    while begin < len(order):
        size = len(patterns[order[begin]].words)
        end = begin
        while end < len(order):
            largest = len(patterns[order[end]].words)
            many = (end - begin + 1) * largest**2 > LIMITS.now.cells_at_once
            if largest > max(size + 2, 1.2 * size) or (end > begin and many):
                break
            end += 1
        part = order[begin:end]
        prices[part] = _Search([patterns[number] for number in part], tile, decay, adjacency).price()
        begin = end
    return prices


class _Search:
    """Some windows of about the same size, searched together; words that fill up have weight 0."""

    def __init__(self, patterns: Sequence[Pattern], tile: slice, decay: Floats, adjacency: int | None) -> None:
        most = max(len(pattern.words) for pattern in patterns)
        length = patterns[0].words.shape[1]
        words = np.full((len(patterns), most, length), -1, dtype=np.int32)
        self.share = np.zeros((len(patterns), most))
        for row, pattern in enumerate(patterns):
            words[row, : len(pattern.words)] = pattern.words
            self.share[row, : len(pattern.words)] = pattern.weights / pattern.weights.sum()
        self.real = self.share > 0
        self._divisor = np.where(self.real, self.share, 1.0)
        apart = np.zeros((len(patterns), most, most), dtype=np.int16)
        on_tile = np.zeros_like(apart)
        for column in range(length):
            differs = words[:, :, None, column] != words[:, None, :, column]
            apart += differs
            if tile.start <= column < tile.stop:
                on_tile += differs
        both = self.real[:, :, None] & self.real[:, None, :]
        self._outputs(on_tile)
        self._decays(apart, both, decay, adjacency)

    def _outputs(self, on_tile: NDArray[np.int16]) -> None:
        """A column for each output x of the tile that some word has: `member[u, x]`, and the loss `d(w_J, x)`."""
        most = on_tile.shape[1]
        head = np.where(self.real, (on_tile == 0).argmax(axis=2), most - 1)
        heads = (head == np.arange(most)) & self.real
        number = np.cumsum(heads, axis=1) - 1
        column = np.where(self.real, np.take_along_axis(number, head, axis=1), -1)
        columns = int(number.max(initial=0)) + 1
        self.member = (column[:, :, None] == np.arange(columns)).astype(np.float64)
        used = self.member.any(axis=1)
        example = self.member.argmax(axis=1)
        loss = np.take_along_axis(on_tile, example[:, None, :], axis=2).astype(np.float64)
        self.loss = np.where(used[:, None, :] & self.real[:, :, None], loss, 0.0)
        self.may_send = (self.loss > 0).astype(np.float64)
        self.columns = np.maximum(used.sum(axis=1), 1)[:, None]

    def _decays(self, apart: NDArray[np.int16], both: NDArray[np.bool_], decay: Floats, adjacency: int | None) -> None:
        """e^{−εg} for every two words, g their distance in steps of adjacent words of the window, or in positions."""
        if adjacency is None:
            factor = np.where(both, np.append(decay, 0.0)[np.minimum(apart, len(decay))], 0.0)
        else:
            factor = self._by_steps(apart, both, decay, adjacency)
        self.preference = factor**_SHARPNESS
        self.flow = self.preference * factor
        self.flow_back = np.ascontiguousarray(self.flow.transpose(0, 2, 1))
        self.first_decay = float(decay[1])

    @staticmethod
    def _by_steps(apart: NDArray[np.int16], both: NDArray[np.bool_], decay: Floats, adjacency: int) -> Floats:
        adjacent = (apart <= adjacency) & both
        factor = np.where((apart == 0) & both, decay[0], 0.0)
        factor[adjacent & (apart > 0)] = decay[1]
        within, one_step = adjacent, adjacent.astype(np.float32)
        for steps in range(2, len(decay)):
            following = np.matmul(within.astype(np.float32), one_step) > 0
            new = following & ~within
            if not new.any():
                break
            factor[new] = decay[steps]
            within = following
        return factor

    def price(self) -> Floats:
        """The best mean price of all epochs, rounded down."""
        with_columns = self.columns - 1
        price = np.where(self.real, with_columns * self.first_decay / (1 + with_columns * self.first_decay), 0.0)
        chance = np.where(self.real, 1 / (1 + with_columns * self.first_decay), 0.0)
        best = np.zeros(len(self.share))
        for steps in _EPOCHS:
            price, received, chance = self._epoch(price, chance, steps)
            best = np.maximum(best, (self.share * np.minimum(price, received)).sum(axis=1))
        # Sums of positive numbers: K of them for what is preferred, K for what is received, a few products, the mean.
        most = self.share.shape[1]
        return best * (1 - (4 * most + 4 * sum(_EPOCHS) + 64) * 2.0**-53)

    def _epoch(self, price: Floats, chance: Floats, steps: int) -> tuple[Floats, Floats, Floats]:
        """So many steps of both sides: the means of λ̄, of what was received per weight, and of p."""
        totals = [np.zeros_like(price) for _ in range(3)]
        before: tuple[Floats, Floats] | None = None
        step_of_price = step_of_chance = np.zeros_like(price)
        for step in range(steps):
            rank, per_unit = self._preferences(chance)
            if step == 0:
                sent = (np.matmul(self.flow, rank) * per_unit).sum(axis=2)
                taken = self._received(rank, per_unit * self.share[:, :, None])
                step_of_price, step_of_chance = _STEP / (1 + sent), 1 + taken
            received = self._received(rank, per_unit * self.share[:, :, None] * (self.loss - price[:, :, None]))
            elsewhere = (np.matmul(self.flow, rank * chance[:, :, None]) * per_unit).sum(axis=2)
            totals = [total + value for total, value in zip(totals, (price, received, chance), strict=True)]
            slopes = np.where(self.real, 1 - chance - elsewhere, 0.0), np.where(self.real, received - price, 0.0)
            ahead = slopes if before is None else tuple(2 * new - old for new, old in zip(slopes, before, strict=True))
            before = slopes
            pace = _STEP / (step_of_chance + _CAUTION * _SHARPNESS * received / np.maximum(chance, _LEAST_CHANCE))
            price = np.where(self.real, np.clip(price + step_of_price * ahead[0], 0.0, 1.0), 0.0)
            chance = np.where(self.real, np.maximum(chance - pace * ahead[1], _LEAST_CHANCE), 0.0)
        return totals[0] / steps, totals[1] / steps, totals[2] / steps

    def _preferences(self, chance: Floats) -> tuple[Floats, Floats]:
        """How much flows prefer each word, in its output's column; and one over the sum for each sender and output."""
        top = (chance[:, :, None] * self.member).max(axis=1, keepdims=True)
        own_top = np.maximum((self.member * top).sum(axis=2), 1e-300)
        rank = ((chance / own_top) ** _SHARPNESS)[:, :, None] * self.member
        sums = np.matmul(self.preference, rank)
        return rank, np.divide(self.may_send, sums, out=np.zeros_like(sums), where=sums > _LEAST_SUM)

    def _received(self, rank: Floats, sent: Floats) -> Floats:
        """What each word receives for its output, per weight of its own."""
        return np.asarray((rank * np.matmul(self.flow_back, sent)).sum(axis=2) / self._divisor)


def constant_prices(patterns: Sequence[Pattern], decay: float) -> Floats:
    """For each window, whose words must all be adjacent, a price rounded down; 0 where it is too large to look at.

    `decay` is a lower bound of e^{−ε}.

    >>> pair = Pattern(np.array([[0], [1], [2]]), np.ones(3))
    >>> constant_prices([pair], decay=0.5)[0].round(6)          # (K−1)/(e^ε+K−1) for K = 3, e^ε = 2
    np.float64(0.5)
    """
    return np.array([_price(pattern, decay) for pattern in patterns])


def _price(pattern: Pattern, decay: float) -> float:
    weights, (size, length) = pattern.weights, pattern.words.shape
    alike = bool((weights == weights[0]).all())
    outputs = float(np.prod(pattern.words.max(axis=0) + 1, dtype=np.float64))
    if outputs * (length + 1 if alike else size) > LIMITS.now.clique_cells:
        return 0.0
    mass = _counts(pattern) if alike else _masses(pattern)
    loss = mass * np.arange(length + 1)
    near_mass, near_loss = np.cumsum(mass, axis=1), np.cumsum(loss, axis=1)
    far_mass, far_loss = (np.cumsum(each[:, ::-1], axis=1)[:, ::-1] for each in (mass, loss))
    # entry k: the words at distance up to k count fully, those beyond it e^{−ε}
    means = (near_loss[:, :-1] + decay * far_loss[:, 1:]) / (near_mass[:, :-1] + decay * far_mass[:, 1:])
    # where k = the length all words count fully, and the mean is that of k = −1
    all_alike = near_loss[:, -1] / near_mass[:, -1]
    least = min(float(means.min(initial=np.inf)), float(all_alike.min()))
    return float(least * (1 - (4 * size + 4 * length + 32) * 2.0**-53))


def _masses(pattern: Pattern) -> Floats:
    """For each output, the weight of the words at each distance from it."""
    words, weights = pattern.words, pattern.weights
    size, length = words.shape
    distances = np.zeros((1, size), dtype=np.int16)
    for column in range(length):
        differs = np.arange(words[:, column].max() + 1)[:, None] != words[None, :, column]
        distances = (distances[:, None, :] + differs[None, :, :]).reshape(-1, size)
    return np.stack([(distances == distance) @ weights for distance in range(length + 1)], axis=1)


def _counts(pattern: Pattern) -> Floats:
    """For each output, the number of words at each distance from it.

    Position by position: words that agree with the output there keep their distance, the others are one farther.
    Whole numbers, so that nothing is rounded, and the work does not depend on how many words there are.
    """
    length = pattern.words.shape[1]
    counts = np.zeros((length + 1, *(pattern.words.max(axis=0) + 1)))
    np.add.at(counts[0], tuple(pattern.words.T), 1.0)
    for axis in range(1, length + 1):
        others = counts.sum(axis=axis, keepdims=True) - counts
        counts[1:] += others[:-1]
    return np.ascontiguousarray(counts.reshape(length + 1, -1).T)
