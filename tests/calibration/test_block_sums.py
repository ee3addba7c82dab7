"""How blocks add up: the best way to fit them into a word, by trying all of them; and a bound where they are many."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symveil as sv
from symveil.calibration import block_bounds
from symveil.calibration.block_bounds import BlockBounds
from symveil.calibration.certify import certified_loss

bounds = st.one_of(st.none(), st.just(math.inf), st.just(0.0), st.floats(0, 4))


def _best(found: BlockBounds, rate: Fraction, differ: int, room: int, *, at_the_end: bool) -> Fraction:
    """Every first block, then every way to go on; only the last block may end the word."""

    def worth(size: int, bound: float) -> Fraction:
        return rate * size + min(rate * size, rate * size if bound == math.inf else Fraction(bound))

    most = Fraction(0)
    for size in range(1, min(differ, room) + 1):
        if (bound := found.inner[size]) is not None and size < room:
            rest = _best(found, rate, differ - size, room - size - 1, at_the_end=at_the_end)
            most = max(most, worth(size, bound) + rest)
        if at_the_end and (bound := found.final[size]) is not None:
            rest = _best(found, rate, differ - size, room - size, at_the_end=False)
            most = max(most, worth(size, bound) + rest)
    return most


@settings(max_examples=150)
@given(length=st.integers(1, 8), adjacency=st.integers(1, 9), rate=st.fractions("1/100", 5), data=st.data())
def test_the_best_way_to_fit_blocks_into_a_word(length, adjacency, rate, data) -> None:
    sizes = min(length, adjacency)
    inner, final = ((None, *data.draw(st.lists(bounds, min_size=sizes, max_size=sizes))) for _ in range(2))
    found = BlockBounds(length, inner, final)
    exact = _best(found, rate, sizes, length, at_the_end=True)
    assert found.loss(rate, adjacency) == exact
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(block_bounds, "_MOST_SHARED_OUT", 0)
        assert exact <= found.loss(rate, adjacency) <= 2 * sizes * rate


def test_whole_words_of_a_thousand_symbols_have_a_proved_loss() -> None:
    """This took hours, or ended in a RecursionError."""
    chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    loss, _ = certified_loss(sv.runs(chain, 1000), rate=Fraction(1, 10), adjacency=1000)
    assert 0 < loss <= 2 * 1000 * Fraction(1, 10)
