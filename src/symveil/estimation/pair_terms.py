"""The variance of counts: what windows of one word have to do with each other.

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

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from symveil.estimation.statistics import Batch
from symveil.estimation.substitution_noise import SMALLEST, Floats, SubstitutionNoise, WeighedTables, part

NOISY = 0.05
"""Below this an eigenvalue of products of two windows makes V̂ too noisy to be used alone (seen in one case)."""


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
            self.known = self.known and min(sizes, default=1.0) >= SMALLEST
            self.noisy = self.noisy or min(sizes, default=1.0) < NOISY
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
    sums: dict[tuple[int, int, int, int], Floats | float] = {
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
    coefficients = _coefficients(answers)
    total = np.zeros(xy.shape)
    for pattern, result in sums.items():
        total = total + coefficients[pattern] * result
    return total


def _of_same(tables: dict[str, Floats], answers: Floats) -> Floats:
    """Σ over windows xyz of φ([x=a], [y=a], [z=a])."""
    xy, yz, xz = tables["xy"], tables["yz"], tables["xz"]
    sums: dict[tuple[int, int, int], Floats | float] = {
        (0, 0, 0): float(xy.sum()),
        (1, 0, 0): xy.sum(1),
        (0, 1, 0): xy.sum(0),
        (0, 0, 1): yz.sum(0),
        (1, 1, 0): np.diag(xy),
        (1, 0, 1): np.diag(xz),
        (0, 1, 1): np.diag(yz),
        (1, 1, 1): np.diag(tables["abb"]),
    }
    coefficients = _coefficients(answers)
    total = np.zeros(len(xy))
    for pattern, result in sums.items():
        total = total + coefficients[pattern] * result
    return total
