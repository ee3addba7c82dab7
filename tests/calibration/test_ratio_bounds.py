"""The climbing bounds inside the certificates, each alone, against the corners of the box in exact rationals.

A ratio of two sums that are linear in g, and so a mean with weights g, is largest at a corner of the box
that g lies in; a bound must not lie below that, and is of use only if it lies close above.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from symveil.calibration.costs.step_loops import Arcs, fraction_bound
from symveil.calibration.path_loops import raised_ratio as raised_ratio_of_paths
from symveil.calibration.window_loops import raised_mean

SLACK = 2.0**-45
CLOSE = 1e-9

SOME = st.floats(2.0**-20, 2.0**20)
SOME_OR_NONE = st.just(0.0) | SOME


@st.composite
def boxes_and_rows(draw: st.DrawFn) -> tuple[list[float], list[float], list[float], list[float]]:
    """Above, below, low, high: up to four places, low ≤ high, nothing everywhere among them."""
    size = draw(st.integers(1, 4))
    rows = [draw(st.lists(SOME_OR_NONE, min_size=size, max_size=size)) for _ in range(2)]
    ends = [sorted(draw(st.tuples(SOME_OR_NONE, SOME_OR_NONE))) for _ in range(size)]
    return rows[0], rows[1], [low for low, _ in ends], [high for _, high in ends]


def largest_ratio(above: Sequence[float], below: Sequence[float], low: Sequence[float], high: Sequence[float]):
    """The least R ≥ 0 with Σ above·g ≤ R·Σ below·g at every corner; infinite where there is none."""
    found: Fraction | float = Fraction(0)
    for corner in itertools.product(*zip(low, high, strict=True)):
        over, under = (
            sum((Fraction(each) * Fraction(g) for each, g in zip(row, corner, strict=True)), Fraction(0))
            for row in (above, below)
        )
        if over > 0:
            found = max(found, over / under if under else math.inf)
    return found


def raised_ratio(above: np.ndarray, below: np.ndarray, low: np.ndarray, high: np.ndarray, least: float) -> float:
    """As windows ask: whole rows, with zeros where there is no edge."""
    size = len(above)
    begins, others = np.array([0, size, 2 * size]), np.arange(2 * size) % size
    arcs = Arcs(begins, others, np.concatenate([above, below]))
    return fraction_bound(arcs, low, high, 0, 1, least, SLACK)


def assert_close_above(bound: float, true: Fraction | float, least: float) -> None:
    assert bound >= max(true, Fraction(least))
    if true < math.inf:
        assert bound <= max(float(true), least) * (1 + CLOSE)


@given(boxes_and_rows(), SOME)
def test_a_ratio_of_rows(case, least) -> None:
    above, below, low, high = (np.array(each) for each in case)
    bound = raised_ratio(above, below, low, high, least)
    assert_close_above(bound, largest_ratio(*case), least)


@given(boxes_and_rows(), SOME_OR_NONE)
def test_a_ratio_of_edges(case, least) -> None:
    """State 0 reads the row above, state 1 the row below; an edge without weight is not there."""
    above, below, low, high = case
    edges = [[(place, each) for place, each in enumerate(row) if each > 0] for row in (above, below)]
    first = np.cumsum([0, *map(len, edges)])
    other = np.array([place for row in edges for place, _ in row], dtype=np.int64)
    weight = np.array([each for row in edges for _, each in row], dtype=np.float64)
    bound = fraction_bound(Arcs(first, other, weight), np.array(low), np.array(high), 0, 1, least, SLACK)
    assert_close_above(bound, largest_ratio(*case), least)


@given(boxes_and_rows())
def test_a_ratio_known_to_be_infinite_stays_so(case) -> None:
    above, below, low, high = (np.array(each) for each in case)
    with np.errstate(invalid="ignore"):  # 0·∞, where this is interpreted
        assert raised_ratio(above, below, low, high, math.inf) == math.inf


@given(boxes_and_rows(), SOME)
def test_a_mean_with_uncertain_weights(case, mean) -> None:
    """Σ λ·value / Σ λ is a ratio with 1 everywhere below; without any weight it is at most the largest value."""
    value, _, least, most = case
    bound = raised_mean(np.array(value), np.array(least), np.array(most), mean, SLACK)
    if any(most):
        true = largest_ratio(value, [1.0] * len(value), least, most)
        assert bound >= max(true, Fraction(mean))
        highest = max(float(each) for each in value)
        assert bound <= max(mean, highest) * (1 + CLOSE)
        if any(least):
            assert bound <= max(float(true), mean) * (1 + CLOSE)


@st.composite
def blocks_of_weights(draw: st.DrawFn):
    """What two paths touch: (y, P, plain P) with P > plain, the plain weight of a place being the same for both."""
    size = draw(st.integers(1, 3))
    plain = draw(st.lists(SOME, min_size=size, max_size=size))
    touched = [sorted(draw(st.sets(st.integers(0, size - 1)))) for _ in range(2)]
    gains = [{place: draw(SOME) for place in each} for each in touched]
    ends = [sorted(draw(st.tuples(SOME_OR_NONE, SOME_OR_NONE))) for _ in range(size)]
    return plain, gains, [low for low, _ in ends], [high for _, high in ends]


@given(blocks_of_weights())
def test_a_ratio_of_two_paths(case) -> None:
    """Z(v)/Z(w) of a final block, at least 1: what neither path touches is common to both sums."""
    plain, (gains_w, gains_v), low, high = case
    sums = [[each + gain.get(place, 0.0) for place, each in enumerate(plain)] for gain in (gains_w, gains_v)]
    everything = sum(Fraction(a) * Fraction(b) for a, b in zip(low, plain, strict=True))
    keys = [np.array(sorted(gain), dtype=np.int64) for gain in (gains_w, gains_v)]
    values = [
        np.array([[row[place], plain[place]] for place in each], dtype=np.float64).reshape(-1, 2)
        for row, each in zip(sums, keys, strict=True)
    ]
    bound = raised_ratio_of_paths(
        1.0, keys[0], values[0], keys[1], values[1], np.array([low]), np.array([high]),
        float(everything) * (1 - SLACK), SLACK,
    )  # fmt: skip
    of_w, of_v = ([Fraction(each) for each in row] for row in sums)
    true = largest_ratio(of_v, of_w, low, high)
    assert bound >= true
    if true < math.inf and any(low):
        assert bound <= max(float(true), 1.0) * (1 + CLOSE)
