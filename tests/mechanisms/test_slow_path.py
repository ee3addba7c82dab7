"""The exact decision behind the fast one (docs/theory/hidden-lengths.md): widening the filter changes no released word.

With 64 filter bits the slow path is taken once in 2⁶⁴ draws. With 4 or 1 it is taken nearly always;
since it decides on the same bits and asks for no others, the same seed must give the same words.
"""

from __future__ import annotations

import numpy as np
import pytest

import symveil as sv
from symveil.mechanisms.permute_and_flip import PermuteAndFlip
from symveil.randomness import Boundaries, NotPrivateSeededBits
from symveil.randomness.limits import LIMITS as BITS

SEED = 20190


@pytest.fixture
def slow_decisions(monkeypatch) -> list[int]:
    """The prefixes that the slow path had to decide."""
    decided: list[int] = []
    real = Boundaries.resolve

    def resolve(self, prefix, bits):
        decided.append(prefix)
        return real(self, prefix, bits)

    monkeypatch.setattr(Boundaries, "resolve", resolve)
    return decided


@pytest.mark.parametrize("filter_bits", [1, 4, 20])
@pytest.mark.parametrize(("length", "size", "b", "epsilon"), [(3, 3, 2, 1), (1, 2, 1, 3), (7, 2, 3, "1/10")])
def test_the_slow_path_releases_the_same_words(
    variant, length, size, b, epsilon, filter_bits, set_limits, slow_decisions
):
    rows = 16 if isinstance(variant.make(sv.words("ab", 1), 1), PermuteAndFlip) else 80
    codes = np.arange(rows * length, dtype=np.int32).reshape(rows, length) % size
    fast = variant.make(sv.words(range(size), length), epsilon, b)
    bits = NotPrivateSeededBits(SEED)
    expected = fast.release_codes(codes, bits=bits)
    assert slow_decisions == []

    set_limits(BITS, filter_bits=filter_bits)
    slow = variant.make(sv.words(range(size), length), epsilon, b)
    slow_bits = NotPrivateSeededBits(SEED)
    found = slow.release_codes(codes, bits=slow_bits)
    np.testing.assert_array_equal(found, expected)
    assert bits.words(1) == slow_bits.words(1), "the slow path drew bits that the fast one did not"
    if filter_bits == 1:
        assert len(slow_decisions) > rows // 4
    assert len(set(map(tuple, found.tolist()))) > 1


def test_the_filter_decides_all_but_one_in_a_million_at_twenty_bits(set_limits, slow_decisions):
    """So the slow path is rare, not merely right: at most 2·k/2²⁰ of the draws for k cut points."""
    set_limits(BITS, filter_bits=20)
    mechanism = sv.Staircase(sv.words("abc", 5), epsilon=1, adjacency=2)
    mechanism.release_codes(np.zeros((100_000, 5), dtype=np.int32), bits=NotPrivateSeededBits(1))
    assert len(slow_decisions) < 20
