"""What substitutions that all words of one length suffer alike do to a table: its eigenvalues.

On Σⁿ, given the distance d, the changed positions are a uniform d-subset and each changed symbol is a uniform other
one. So a product of r mean-zero functions of different positions keeps its shape in expectation and is multiplied by

    λ_r(n) = E[ Σ_j C(d,j)·C(n−d,r−j)/C(n,r) · (−1/(m−1))^j ],      j: how many of the r positions were changed.

(docs/theory/central.md). Each summand is between −1 and 1, so the expectation has an absolute error of some 1e-16
although signs alternate.

Sums over windows of functions that only ask, symbol by symbol, whether a window has the symbol of a cell.

An estimator of how often a₁…a_k occurs is a function φ of the k answers "is the i-th symbol a_i?", 2^k numbers. Its sum
over all windows, for every cell at once, needs the table of the windows and its margins only.

The variance of counts: what windows of one word have to do with each other.

A word's estimate of a count is ĝ = Σ_s S^s/λ_s, with S^s the sum of the parts of degree s over its windows (S⁰ is
public). The variance given the true words is estimated without bias by Σ (ĝ² − est(g²)), and est(g²) needs products of
parts of *two* windows. Windows without a common position contribute U^s·U^t/λ_{s+t}; so

    V̂ = Σ_words Σ_{s,t ≥ 1} (1/(λ_sλ_t) − 1/λ_{s+t}) S^s S^t                    (0 where symbols are independent)
      + Σ_windows Σ_{s,t} U^s U^t/λ_{s+t}  −  ĝ                                   (a window with itself)
      + 2 Σ_neighbours Σ_{s,t} U^s_i U^t_{i+1}/λ_{s+t}  −  2 [a = b] (trigram aaa)^   (pairs that share a position)

where the last line is for pairs of symbols only (docs/theory/central.md). Sums of products over words are taken from
the symbols that a word has: linear in the data, not in the table.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from symveil.estimation.limits import LIMITS
from symveil.estimation.table import Batch, Floats
from symveil.laws.law import DistanceLaw
from symveil.numbers.once import Memo, computed_once


@dataclass(frozen=True, slots=True)
class LengthNoise:
    """The noise in words of one length: by its rate where each symbol is drawn by itself, else by its distances."""

    symbols: int
    length: int
    rate: float | None = None
    """η where a symbol stays with probability ∝ 1 and becomes each other one with probability ∝ e^{−η}."""
    distances: NDArray[np.int64] | None = None
    probabilities: Floats | None = None

    def eigenvalue(self, order: int) -> float:
        """λ_r(n) for r ≤ n; beyond it the product of two smaller ones, which formulas multiply by nothing.

        >>> round(LengthNoise(symbols=2, length=5, rate=math.log(3)).eigenvalue(2), 12)
        0.25
        """
        if order == 0 or self.symbols == 1:
            return 1.0
        if self.rate is not None:
            away = math.exp(-self.rate)
            return float((-math.expm1(-self.rate) / (1 + (self.symbols - 1) * away)) ** order)
        if order > self.length:
            return self.eigenvalue(order // 2) * self.eigenvalue(order - order // 2)
        assert self.distances is not None and self.probabilities is not None  # noqa: S101 - one of the two is given
        shape = _multipliers(self.distances, self.length, order, self.symbols)
        return math.fsum((self.probabilities * shape).tolist())

    @classmethod
    def from_law(cls, law: DistanceLaw, *, symbols: int) -> LengthNoise:
        """The noise of a mechanism on Σⁿ, by the law of its distance.

        >>> import symveil as sv
        >>> law = sv.Exponential(sv.words("ab", 3), epsilon=1).distances()
        >>> noise = LengthNoise.from_law(law, symbols=2)
        >>> round(noise.eigenvalue(2), 12) == round(math.tanh(0.5) ** 2, 12)
        True
        """
        return cls(symbols=symbols, length=law.length, distances=law.distances, probabilities=law.probabilities)


def _multipliers(distances: NDArray[np.int64], length: int, order: int, symbols: int) -> Floats:
    """What a product of `order` mean-zero functions is multiplied by, given each distance."""
    changed = distances.astype(np.float64)
    total = np.zeros(len(changed))
    for hit in range(order + 1):
        chance = np.full(len(changed), float(math.comb(order, hit)))
        for step in range(order):
            above = changed - step if step < hit else length - changed - (step - hit)
            chance *= np.maximum(above, 0.0) / (length - step)
        total += chance * (-1.0 / (symbols - 1)) ** hit
    return total


@dataclass(frozen=True, eq=False)
class SubstitutionNoise:
    """The noise in words of every length over an alphabet of `symbols` symbols.

    Parameters
    ----------
    symbols
        How many symbols the alphabet has.
    of_length
        The noise in words of a length.
    constant
        The noise of all words, where it is the same for every length.
    """

    symbols: int
    of_length: Callable[[int], LengthNoise] = field(repr=False)
    constant: LengthNoise | None = None

    @computed_once
    def _cache(self) -> Memo[tuple[int, int], float]:
        return Memo(lambda key: self._noise[key[1]].eigenvalue(key[0]))

    @computed_once
    def _noise(self) -> Memo[int, LengthNoise]:
        return Memo(self.of_length)

    def is_product(self, length: int) -> bool:
        """Whether the symbols of words of this length are drawn independently of each other."""
        return self.constant is not None or self._noise[length].rate is not None or self.symbols == 1

    def eigenvalue(self, order: int, length: int) -> float:
        """λ_r(n)."""
        return self.constant.eigenvalue(order) if self.constant is not None else self._cache[order, length]

    def inverses(self, orders: tuple[int, ...], lengths: NDArray[np.int64]) -> Floats:
        """Π 1/λ_r for r in `orders`, for words of these lengths; 0 where an eigenvalue is 0."""
        different, number = np.unique(lengths, return_inverse=True)
        products = [math.prod(self.eigenvalue(order, length) for order in orders) for length in different.tolist()]
        values = np.array([1.0 / product if product else 0.0 for product in products])
        return np.asarray(values[number], dtype=np.float64)

    def added_variance(self, order: int, length: int) -> float:
        """What noise adds to the variance of whether a piece of a word is in a row of average size.

        With q = 1/m a piece of r symbols is there with a variance of Σ_j C(r,j)·q^(2(r−j))·(q(1−q))^j, and its estimate
        with 1/λ_j² of each part. Overlaps of pieces are left out.
        """
        each, variance = 1 / self.symbols, 0.0
        for degree in range(1, order + 1):
            size = math.comb(order, degree) * each ** (2 * (order - degree)) * (each * (1 - each)) ** degree
            variance += size * (self.eigenvalue(degree, length) ** -2 - 1)
        return variance

    def usable(self, order: int, length: int, *, sequences: int) -> bool:
        """Whether tables of `order` symbols can be estimated from words of this length; short words have no row."""
        enough = min(LIMITS.now.least_eigenvalue, LIMITS.now.large_enough / math.sqrt(max(sequences, 1)))
        return length < order or all(abs(self.eigenvalue(each, length)) >= enough for each in range(1, order + 1))


Orders = tuple[int, ...]


def cell_sums(table: Floats, answers: Floats) -> Floats:
    """Σ over the windows of a table of φ(answers), for each of its cells.

    A cell of the table has the number or the weight of its windows; the last axes are their symbols, and what stands
    before them is kept apart. φ has an axis of two for each symbol of a window: 0 "another symbol", 1 "the cell's".

    >>> cell_sums(np.array([3.0, 1.0]), np.array([10.0, 1.0]))       # cell 0: 3 windows have it, 1 does not
    array([13., 31.])
    """
    order, coefficients = answers.ndim, _coefficients(answers)
    total = np.zeros(table.shape)
    for pattern in itertools.product((0, 1), repeat=order):
        if coefficients[pattern]:
            summed = tuple(axis - order for axis in range(order) if not pattern[axis])
            total += coefficients[pattern] * (table.sum(axis=summed, keepdims=True) if summed else table)
    return total


def part(degree: int, order: int, symbols: int) -> Floats:
    """The part of the indicator of a cell that depends on exactly `degree` symbols: φ, for `cell_sums`.

    The parts of all degrees add up to the indicator [x₁ = a₁]⋯[x_k = a_k]; noise multiplies each by an eigenvalue.

    >>> sum(part(degree, 2, 4) for degree in range(3))
    array([[0., 0.],
           [0., 1.]])
    """
    answers = np.zeros((2,) * order)
    for pattern in itertools.product((0, 1), repeat=order):
        centred = [answer - 1.0 / symbols for answer in pattern]
        answers[pattern] = math.fsum(
            math.prod(centred[axis] for axis in axes) for axes in itertools.combinations(range(order), degree)
        )
    return answers / float(symbols) ** (order - degree)


class WeighedTables:
    """Tables of windows, one for each weight Π 1/λ_r(n) that is asked for.

    Where the noise is the same for words of every length the weights are numbers, and one table of counts is kept.
    """

    def __init__(self, size: int, noise: SubstitutionNoise, weights: tuple[Orders, ...]) -> None:
        self._noise = noise
        self.counts = np.zeros(size, dtype=np.int64)
        self._sums = {} if noise.constant is not None else {weight: np.zeros(size) for weight in weights if any(weight)}

    @staticmethod
    def stored_numbers(noise: SubstitutionNoise, weights: tuple[Orders, ...]) -> int:
        """How many tables are kept for these weights."""
        return 1 if noise.constant is not None else 1 + sum(any(weight) for weight in weights)

    def add(self, cells: NDArray[np.int64], weigh: Callable[[Orders], Floats]) -> None:
        """Some more windows, by their cells; `weigh` gives a weight of each."""
        self.counts += np.bincount(cells, minlength=len(self.counts))
        for weight in self._sums:
            self._sums[weight] += np.bincount(cells, weights=weigh(weight), minlength=len(self.counts))

    def table(self, weight: Orders) -> Floats:
        """The sums for a weight."""
        return self.table_slice(weight, 0, len(self.counts))

    def table_slice(self, weight: Orders, number: int, size: int) -> Floats:
        """The same for one of several tables of `size` cells that stand one after the other."""
        cells = slice(number * size, (number + 1) * size)
        if weight in self._sums:
            return self._sums[weight][cells]
        constant = float(self._noise.inverses(weight, np.array([0]))[0]) if weight else 1.0
        return np.asarray(self.counts[cells] * constant, dtype=np.float64)


class Excess:
    """1/(λ_sλ_t) − 1/λ_{s+t} for words of each length: how far the noise is from independent symbols."""

    def __init__(self, noise: SubstitutionNoise, order: int) -> None:
        self._noise, self._order = noise, order
        self.known, self.noisy = True, False

    def of(self, lengths: NDArray[np.int64]) -> dict[tuple[int, int], Floats]:
        """The factors for words of these lengths, by (s, t) with s ≤ t; none where all are 0."""
        noise, order = self._noise, self._order
        different, number = np.unique(lengths, return_inverse=True)
        mixed = [each for each in different.tolist() if each > 1 and not noise.is_product(each)]
        if not mixed:
            return {}
        for length in mixed:
            sizes = [abs(noise.eigenvalue(each, length)) for each in range(order + 1, min(2 * order, length) + 1)]
            self.known = self.known and min(sizes, default=1.0) >= LIMITS.now.least_eigenvalue
            self.noisy = self.noisy or min(sizes, default=1.0) < LIMITS.now.noisy
        if not self.known:
            return {}
        total = {}
        for s, t in itertools.combinations_with_replacement(range(1, order + 1), 2):
            values = np.zeros(len(different))
            for index, length in enumerate(different.tolist()):
                if length in mixed and length >= s + t:
                    product = noise.eigenvalue(s, length) * noise.eigenvalue(t, length)
                    values[index] = 1 / product - 1 / noise.eigenvalue(s + t, length)
            total[s, t] = values[number]
        return total


class VisitTerms:
    """The first line for single symbols: Σ_words excess·(c_a − n/m)²."""

    def __init__(self, noise: SubstitutionNoise) -> None:
        self._m = noise.symbols
        self.excess = Excess(noise, 1)
        self._total = np.zeros(self._m)

    def add(self, batch: Batch) -> None:
        """Some more words."""
        factors = self.excess.of(batch.lengths)
        if not factors:
            return
        m, n, factor = self._m, batch.lengths.astype(np.float64), factors[1, 1]
        keys, counts = np.unique(batch.word * m + batch.codes, return_counts=True)
        word, symbol = keys // m, keys % m
        weights = factor[word] * counts * (counts - 2 * n[word] / m)
        self._total += np.bincount(symbol, weights=weights, minlength=m) + float(factor @ n**2) / m**2

    def total(self) -> Floats:
        """The sum for every symbol."""
        return self._total


class NeighbourTerms:
    """The first and the last line for pairs of neighbouring symbols."""

    def __init__(self, noise: SubstitutionNoise) -> None:
        self._m = m = noise.symbols
        self.excess = Excess(noise, 2)
        self._quadratic = np.zeros((m, m))
        weights = tuple((degree,) if degree else () for degree in range(5))
        self._noise = noise
        self._tables = {name: WeighedTables(m * m, noise, weights) for name in ("xy", "yz", "xz", "abb", "aab")}

    def add(self, batch: Batch) -> None:
        """Some more words."""
        m = self._m
        at = batch.windows_of(3)
        x, y, z = (batch.codes[at + step].astype(np.int64) for step in range(3))
        lengths = batch.lengths[batch.word[at]]
        everywhere = np.ones(len(at), dtype=np.bool_)
        for name, first, second, where in (
            ("xy", x, y, everywhere),
            ("yz", y, z, everywhere),
            ("xz", x, z, everywhere),
            ("abb", x, y, y == z),
            ("aab", x, z, x == y),
        ):
            cells, sizes = (first * m + second)[where], lengths[where]
            self._tables[name].add(cells, lambda weight, sizes=sizes: self._noise.inverses(weight, sizes))  # type: ignore[misc]
        self._add_quadratic(batch)

    def _add_quadratic(self, batch: Batch) -> None:
        factors = self.excess.of(batch.lengths)
        if not factors:
            return
        batch = batch.only(batch.lengths > 1)
        factors = self.excess.of(batch.lengths)
        m, pairs = self._m, batch.lengths - 1.0
        ends = batch.position + 1 == batch.lengths[batch.word]
        own = batch.word * m + batch.codes
        key_a, count_a = np.unique(own[~ends], return_counts=True)  # α_a: a's that have a successor
        key_b, count_b = np.unique(own[batch.position > 0], return_counts=True)  # β_b: b's that have a predecessor
        at = batch.windows_of(2)
        key_g, count_g = np.unique(own[at] * m + batch.codes[at + 1], return_counts=True)
        word_a, word_b, word_g = key_a // m, key_b // m, key_g // (m * m)
        alpha = count_a[np.searchsorted(key_a, key_g // m)]
        beta = count_b[np.searchsorted(key_b, word_g * m + key_g % m)]
        right = sparse.csr_array((count_b.astype(np.float64), (word_b, key_b % m)), shape=(len(pairs), m))

        def of_pairs(values: Floats) -> Floats:
            sums = np.bincount(key_g % (m * m), weights=values, minlength=m * m).reshape(m, m)
            return np.asarray(sums, dtype=np.float64)

        for (s, t), factor in factors.items():
            d_a, d_b, d_g, n_a, n_b = factor[word_a], factor[word_b], factor[word_g], pairs[word_a], pairs[word_b]
            squares = np.bincount(key_a % m, weights=d_a * count_a**2, minlength=m)[:, None]
            squares = squares + np.bincount(key_b % m, weights=d_b * count_b**2, minlength=m)[None, :]
            weighed = sparse.csr_array((d_a * count_a, (word_a, key_a % m)), shape=(len(pairs), m))
            squares = squares + 2 * (weighed.T @ right).toarray()  # Σ (α+β)²
            linear = np.bincount(key_a % m, weights=d_a * count_a * n_a, minlength=m)[:, None]
            linear = linear + np.bincount(key_b % m, weights=d_b * count_b * n_b, minlength=m)[None, :]  # Σ (α+β)n'
            constant = float(factor @ pairs**2)
            if (s, t) == (1, 1):
                self._quadratic += (squares - 4 / m * linear + 4 / m**2 * constant) / m**2
                continue
            crossed = of_pairs(d_g * count_g * (alpha + beta))
            with_length = of_pairs(d_g * count_g * pairs[word_g])
            if (s, t) == (1, 2):
                mixed = crossed - 2 / m * with_length - squares / m + 3 / m**2 * linear - 2 / m**3 * constant
                self._quadratic += 2 * mixed / m
            else:
                self._quadratic += of_pairs(d_g * count_g**2) + squares / m**2 + constant / m**4
                self._quadratic += -2 / m * crossed + 2 / m**2 * with_length - 2 / m**3 * linear

    def total(self) -> Floats:
        """The sum for every pair."""
        m = self._m
        apart, alike = np.zeros((m, m)), np.zeros(m)
        for degree in range(5):
            tables = {
                name: tables.table((degree,) if degree else ()).reshape(m, m) for name, tables in self._tables.items()
            }
            answers = np.zeros((2, 2, 2, 2))
            for s in range(max(0, degree - 2), min(degree, 2) + 1):
                answers += np.multiply.outer(part(s, 2, m), part(degree - s, 2, m))
            apart += 2 * _of_different(tables, answers)
            same = np.einsum("abbc->abc", answers)
            if degree <= 3:
                same = same - part(degree, 3, m)  # the trigram aaa
            alike += 2 * _of_same(tables, same)
        np.fill_diagonal(apart, alike)
        return apart + self._quadratic


def _coefficients(answers: Floats) -> Floats:
    """From values at answers to coefficients of products of indicators."""
    for axis in range(answers.ndim):
        low, high = np.split(answers, 2, axis=axis)
        answers = np.concatenate([low, high - low], axis=axis)
    return answers


def _of_different(tables: dict[str, Floats], answers: Floats) -> Floats:
    """Σ over windows xyz of φ([x=a], [y=b], [y=a], [z=b]) for a ≠ b."""
    xy, yz, xz = tables["xy"], tables["yz"], tables["xz"]
    x, y, z = xy.sum(1), xy.sum(0), yz.sum(0)
    sums: dict[tuple[int, ...], Floats | float] = {
        (0, 0, 0, 0): float(xy.sum()),
        (1, 0, 0, 0): x[:, None],
        (0, 1, 0, 0): y[None, :],
        (0, 0, 1, 0): y[:, None],
        (0, 0, 0, 1): z[None, :],
        (1, 1, 0, 0): xy,
        (1, 0, 1, 0): np.diag(xy)[:, None],
        (1, 0, 0, 1): xz,
        (0, 1, 0, 1): np.diag(yz)[None, :],
        (0, 0, 1, 1): yz,
        (1, 1, 0, 1): tables["abb"],
        (1, 0, 1, 1): tables["aab"],
    }
    return _weighed(sums, answers, np.zeros(xy.shape))


def _of_same(tables: dict[str, Floats], answers: Floats) -> Floats:
    """Σ over windows xyz of φ([x=a], [y=a], [z=a])."""
    xy, yz, xz = tables["xy"], tables["yz"], tables["xz"]
    sums: dict[tuple[int, ...], Floats | float] = {
        (0, 0, 0): float(xy.sum()),
        (1, 0, 0): xy.sum(1),
        (0, 1, 0): xy.sum(0),
        (0, 0, 1): yz.sum(0),
        (1, 1, 0): np.diag(xy),
        (1, 0, 1): np.diag(xz),
        (0, 1, 1): np.diag(yz),
        (1, 1, 1): np.diag(tables["abb"]),
    }
    return _weighed(sums, answers, np.zeros(len(xy)))


def _weighed(sums: dict[tuple[int, ...], Floats | float], answers: Floats, total: Floats) -> Floats:
    """Σ over windows of φ(answers), from the number of windows in which the answers of a pattern are all 1."""
    coefficients = _coefficients(answers)
    for pattern, result in sums.items():
        total = total + coefficients[pattern] * result
    return total
