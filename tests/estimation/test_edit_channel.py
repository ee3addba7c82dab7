"""Estimators behind an edit channel against enumeration: unbiased up to the mass that is not enumerated."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import symveil as sv
from symveil.calibration.edit_channel import ChannelParameters
from symveil.estimation.edit_tables import EditNoise, EditTables, length_indicators
from symveil.estimation.statistics import read_statistic
from symveil.estimation.table import Batch

from .test_unbiased import true_table

CHANNEL = ChannelParameters.of(ratio="0.05", power=3, deletion="0.2", substitution="0.1")
LONGEST = 9


def law(word: tuple[int, ...], m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """All outputs of up to LONGEST symbols one after the other, their lengths, their probabilities, the mass left."""
    channel = sv.EditChannel("abc"[:m], epsilon=1000, parameters=CHANNEL)
    codes, lengths, chances = [], [], []
    for length in range(LONGEST + 1):
        rows = np.array(list(itertools.product(range(m), repeat=length)), dtype=np.int32).reshape(m**length, length)
        chances.append(np.exp(channel.log_probabilities(np.array(word, dtype=np.int32), rows)))
        codes.append(rows.reshape(-1))
        lengths.append(np.full(len(rows), length))
    probabilities = np.concatenate(chances)
    return np.concatenate(codes), np.concatenate(lengths), probabilities, 1 - float(probabilities.sum())


@pytest.mark.parametrize("word", [(), (0,), (1, 0), (0, 0, 1), (1, 0, 1, 1)], ids=str)
def test_the_expected_estimate_is_the_truth(word: tuple[int, ...]) -> None:
    m = 2
    codes, lengths, chances, rest = law(word, m)
    assert rest < 1e-5
    noise = EditNoise.of(CHANNEL, m)
    # the estimators grow linearly with the length, and by a power of x₀ with what they look at
    allowed = 1e-11 + 200 * rest
    for statistic in ("visits", "first", "last", "ngrams:2", "od"):
        tables = EditTables(read_statistic(statistic), noise, target="file", groups=len(lengths))
        tables.add(Batch(codes, lengths, np.arange(len(lengths))))
        mean = np.tensordot(chances, tables._sums, axes=1)
        assert np.abs(mean - true_table(statistic, word, m)).max() <= allowed, statistic
        naive = np.abs(true_table(statistic, word, m) - _naive(statistic, codes, lengths, chances, m)).max()
        assert naive > 50 * allowed  # what is estimated away is far more than what is left


def _naive(statistic: str, codes: np.ndarray, lengths: np.ndarray, chances: np.ndarray, m: int) -> np.ndarray:
    ends = np.cumsum(lengths)
    return sum(  # type: ignore[no-any-return]
        chance * true_table(statistic, tuple(codes[end - length : end].tolist()), m)
        for end, length, chance in zip(ends.tolist(), lengths.tolist(), chances.tolist(), strict=True)
    )


def test_the_expected_variance_of_first_symbols() -> None:
    word, m = (1, 0, 1), 2
    codes, lengths, chances, rest = law(word, m)
    tables = EditTables(read_statistic("first"), EditNoise.of(CHANNEL, m), target="file", groups=len(lengths))
    tables.add(Batch(codes, lengths, np.arange(len(lengths))))
    variance = np.tensordot(chances, (tables._sums - true_table("first", word, m)) ** 2, axes=1)
    closed = np.tensordot(chances, tables._sums**2 - tables._sums, axes=1)
    assert np.abs(variance - closed).max() < 1e-9 + 100 * rest


def test_lengths_are_unbiased() -> None:
    indicators = length_indicators(CHANNEL, LONGEST, lengths=6)
    for word in ((), (0,), (1, 0), (0, 0, 1)):
        _, lengths, chances, rest = law(word, 2)
        mean = chances @ indicators[lengths]
        assert np.abs(mean - (np.arange(6) == len(word))).max() < 1e-9 + 1e6 * rest
    noise = EditNoise.of(CHANNEL, 2)
    assert np.allclose(indicators[:, 0], noise.root ** np.arange(LONGEST + 1) / noise.gap, rtol=1e-12)
