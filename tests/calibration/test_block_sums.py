"""How blocks add up: the best way to fit them into a word, by trying all of them; and a bound where they are many."""

from __future__ import annotations

from fractions import Fraction

from calibration_oracle import certified_loss
from hypothesis import given, settings
from hypothesis import strategies as st

import symveil as sv
from symveil.calibration.costs.blocks import FINAL, INNER, Kind, total_over_blocks
from symveil.calibration.limits import LIMITS

worths = st.one_of(st.none(), st.just(0.0), st.floats(0, 4))
Worths = tuple[float | None, ...]


def _best(inner: Worths, final: Worths, differ: int, room: int) -> Fraction:
    """Every first block, then every way to go on; only the last block may end the word."""
    most = Fraction(0)
    for size in range(1, min(differ, room) + 1):
        if (worth := inner[size]) is not None and size < room:
            most = max(most, Fraction(worth) + _best(inner, final, differ - size, room - size - 1))
        if (worth := final[size]) is not None:
            nothing = (None,) * len(final)
            most = max(most, Fraction(worth) + _best(inner, nothing, differ - size, room - size))
    return most


@settings(max_examples=150)
@given(length=st.integers(1, 8), adjacency=st.integers(1, 9), data=st.data())
def test_the_best_way_to_fit_blocks_into_a_word(length, adjacency, data) -> None:
    sizes = min(length, adjacency)
    inner, final = ((None, *data.draw(st.lists(worths, min_size=sizes, max_size=sizes))) for _ in range(2))
    outcomes = {
        Kind(where, size): Fraction(worth)
        for where, each in ((INNER, inner), (FINAL, final))
        for size, worth in enumerate(each)
        if worth is not None
    }
    exact = _best(inner, final, sizes, length)
    assert total_over_blocks(outcomes, length, adjacency) == exact
    with LIMITS.changed(fitted_positions=0):
        each = max((worth / kind.length for kind, worth in outcomes.items()), default=Fraction(0))
        assert exact <= total_over_blocks(outcomes, length, adjacency) <= sizes * each


def test_whole_words_of_a_thousand_symbols_have_a_proved_loss() -> None:
    """This took hours, or ended in a RecursionError."""
    chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    loss, _ = certified_loss(sv.runs(chain, 1000), rate=Fraction(1, 10), adjacency=1000)
    assert 0 < loss <= 2 * 1000 * Fraction(1, 10)
