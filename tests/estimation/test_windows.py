"""What statistics count in a batch, and the axes of their tables, against counts from the definition."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from symveil.estimation.statistics import Statistic, read_statistic
from symveil.estimation.table import Batch, windows

NAMES = (
    *("visits", "first", "last", "positions", "ngrams:1", "ngrams:2", "ngrams:3"),
    *("transitions", "od", "lengths", "presence"),
)


def counted(statistic: Statistic, word: tuple[int, ...]) -> Counter[tuple[int, ...]]:
    """How often each cell occurs in a word."""
    kind, order, n = statistic.kind, statistic.order, len(word)
    if kind == "lengths":
        return Counter({(n,): 1})
    if kind == "presence":
        return Counter((n, symbol) for symbol in set(word))
    if kind == "positions":
        return Counter(enumerate(word))
    if kind == "od":
        return Counter({(word[0], word[-1]): 1} if n >= 2 else {})
    if kind in ("first", "last"):
        return Counter({(word[0 if kind == "first" else -1],): 1} if n else {})
    return Counter(word[at : at + order] for at in range(n - order + 1))


def batch_of(words: list[tuple[int, ...]]) -> Batch:
    codes = np.array([symbol for word in words for symbol in word], dtype=np.int32)
    return Batch(codes, np.array([len(word) for word in words], dtype=np.int64), np.zeros(len(words), dtype=np.int64))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("symbols", [1, 2, 3])
def test_windows_and_shapes_are_those_of_the_definition(name: str, symbols: int) -> None:
    statistic = read_statistic(name)
    every = [word for n in range(4) for word in itertools.product(range(symbols), repeat=n)]
    dice = np.random.default_rng(symbols)
    files = [[], *([word] for word in every), *([every[i] for i in dice.integers(0, len(every), 6)] for _ in range(40))]
    for words in files:
        shape = statistic.shape(symbols, max(map(len, words), default=0))
        expected = np.zeros(shape, dtype=np.int64)
        for word in words:
            for cell, times in counted(statistic, word).items():
                expected[cell] += times
        result = windows(statistic, batch_of(words))
        table = np.bincount(result.cells(symbols), minlength=math.prod(shape)).reshape(shape)
        assert (table == expected).all()
        things = np.bincount(result.word, minlength=len(words)).tolist()
        assert things == [sum(counted(statistic, word).values()) for word in words]
