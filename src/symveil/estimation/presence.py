"""In how many sequences a symbol occurs, by length: only where symbols are drawn independently of each other.

Π u(w'_i) with u = −(1−p)/(p−q) where a symbol is a and p/(p−q) elsewhere has the expectation [a is not in w], and it is
the only function of w' that has. Its variance grows like (E u²)ⁿ: beyond some length nothing useful can be estimated.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from symveil.estimation.statistics import Batch
from symveil.estimation.substitution_noise import SubstitutionNoise
from symveil.estimation.table import EstimatedTable, TableEstimator, Target, Variances

Floats = NDArray[np.float64]

USEFUL = 0.1
"""A half-width of more than this share of the sequences of a length is of no use."""


def growth(noise: SubstitutionNoise, length: int) -> float:
    """E u² of a symbol that is not a: the variance of one word is about its n-th power."""
    absent, present, p, q = _factors(noise, length)
    del p
    return float(q * present**2 + (1 - q) * absent**2)


def useful_length(noise: SubstitutionNoise, length: int, words: int, confidence: float) -> bool:
    """Whether so many words of a length, none of which has the symbol, give an interval of some use."""
    if length == 0:
        return True
    spread = growth(noise, length) ** length - 1
    return float(ndtri((1 + confidence) / 2)) * math.sqrt(max(spread, 0.0) * words) <= USEFUL * words


def _factors(noise: SubstitutionNoise, length: int) -> tuple[float, float, float, float]:
    """u of another symbol, u of the symbol itself, p and q."""
    eigenvalue, m = noise.eigenvalue(1, length), noise.symbols
    q = (1 - eigenvalue) / m
    p = eigenvalue + q
    return p / (p - q), -(1 - p) / (p - q), p, q


class Presence(TableEstimator):
    """For each length up to `longest` and each symbol: in how many of the sequences it occurs."""

    def __init__(self, noise: SubstitutionNoise, *, target: Target, groups: int, longest: int) -> None:
        super().__init__(target=target, groups=groups)
        self._noise, self._m, self._longest = noise, noise.symbols, longest
        shape = (longest + 1, self._m)
        self._released, self._sum, self._squares = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self._words = np.zeros(longest + 1, dtype=np.int64)
        self._by_group = np.zeros((groups, *shape))

    def add(self, batch: Batch) -> None:
        """Some more words; longer ones are passed over."""
        super().add(batch.only(batch.lengths <= self._longest))

    def _add(self, batch: Batch) -> None:
        m, n = self._m, batch.lengths
        lengths = np.unique(n)
        constants = {length: _factors(self._noise, length)[:2] for length in lengths.tolist()}
        table = np.zeros((self._longest + 1, 2))
        for length, pair in constants.items():
            table[length] = pair
        absent, present = table[n].T
        without = absent ** n.astype(np.float64)  # a word that shows no a
        self._words += np.bincount(n, minlength=self._longest + 1)
        keys, counts = np.unique(batch.word * m + batch.codes, return_counts=True)
        word, symbol = keys // m, keys % m
        shown = 1 - present[word] ** counts * absent[word] ** (n[word] - counts)
        cells, size = n[word] * m + symbol, self._sum.size
        hidden = 1 - without

        def total(of_shown: Floats, of_hidden: Floats) -> Floats:
            """Over the words that show a symbol, and over those that do not."""
            own = np.bincount(cells, weights=of_shown - of_hidden[word], minlength=size).reshape(self._sum.shape)
            return np.asarray(own + np.bincount(n, weights=of_hidden, minlength=self._longest + 1)[:, None])

        self._released += np.bincount(cells, minlength=size).reshape(self._sum.shape)
        self._sum += total(shown, hidden)
        self._squares += total(shown**2, hidden**2)
        if self.groups:
            own = batch.groups[word] * size + cells
            by_group = np.bincount(own, weights=shown - hidden[word], minlength=self._by_group.size)
            every = np.bincount(batch.groups * (self._longest + 1) + n, weights=hidden,
                                minlength=self.groups * (self._longest + 1))  # fmt: skip
            self._by_group += by_group.reshape(self._by_group.shape)
            self._by_group += every.reshape(self.groups, self._longest + 1)[:, :, None]

    def _group_sums(self) -> list[Floats]:
        return list(self._by_group)

    def finish(self, confidence: float) -> EstimatedTable:
        """The table, a row for each length that can be estimated."""
        lengths = [length for length in range(1, self._longest + 1) if self._words[length]]
        useful = [
            length for length in lengths if useful_length(self._noise, length, int(self._words[length]), confidence)
        ]
        listed = np.zeros(self._sum.shape, dtype=np.bool_)
        listed[useful] = True
        in_closed_form = Variances.from_squares(self._squares, self._sum)
        words = np.broadcast_to(self._words[:, None].astype(np.float64), self._sum.shape)
        return EstimatedTable(
            released=self._released,
            estimate=self._sum,
            variances=in_closed_form if self._target == "file" else self._by_groups(self._sum.size),
            consistent=np.clip(self._sum, 0.0, words),
            most=words,
            listed=listed,
            leading="length",
        )
