"""Distances of released words on languages too large to list: the exact law, and neither less nor more noise.

Each fit fails a right sampler once in 10⁶ seeds (see conftest).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import symveil as sv
from symveil.randomness import NotPrivateSeededBits

LARGE = [(40, 20, 3, 6), (14, 43, 1, 5), (200, 4, 1, 3)]
DRAWS = 20_000


def word(length: int, size: int) -> np.ndarray:
    return (np.arange(length, dtype=np.int32) * 7) % size


def released(mechanism, length: int, size: int, draws: int = DRAWS) -> np.ndarray:
    codes = np.repeat(word(length, size)[None, :], draws, axis=0)
    return mechanism.release_codes(codes, bits=NotPrivateSeededBits(length))


@pytest.mark.parametrize(("length", "size", "b", "epsilon"), LARGE)
def test_distances_follow_the_law_and_no_other(fits, variant, length, size, b, epsilon):
    language = sv.words(range(size), length)
    found = released(variant.make(language, epsilon, b), length, size)
    observed = np.bincount(np.count_nonzero(found != word(length, size), axis=1), minlength=length + 1)
    assert fits(observed, variant.make(language, epsilon, b).distances().probabilities)


@pytest.mark.parametrize("factor", ["6/5", "5/6"])
def test_a_budget_wrong_by_a_fifth_is_noticed(fits, variant, factor):
    length, size, b, epsilon = 6, 3, 2, 4
    language = sv.words(range(size), length)
    found = released(variant.make(language, epsilon, b), length, size, draws=200_000)
    observed = np.bincount(np.count_nonzero(found != word(length, size), axis=1), minlength=length + 1)
    other = variant.make(language, epsilon * Fraction(factor), b)
    assert fits(observed, variant.make(language, epsilon, b).distances().probabilities)
    assert not fits(observed, other.distances().probabilities)


@pytest.mark.parametrize("size", [3, 5, 43])
def test_a_changed_symbol_becomes_every_other_symbol_equally_often_at_every_place(fits, one_of_each, size):
    length = 8
    found = released(one_of_each.make(sv.words(range(size), length), 3), length, size)
    changed = found != word(length, size)
    places = changed.sum(axis=0)
    assert fits(places, np.full(length, 1 / length))
    for place in range(length):
        old = int(word(length, size)[place])
        new = np.bincount(found[changed[:, place], place], minlength=size)
        assert new[old] == 0
        assert fits(np.delete(new, old), np.full(size - 1, 1 / (size - 1)))
