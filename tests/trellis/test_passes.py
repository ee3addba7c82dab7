"""Passes against the list of all paths, on random small graphs, in every semiring.

Graphs have parallel edges, loops, dead ends, several starts and ends, and may have no path at all; paths have 0 to 4
steps, and what a step is worth depends on the edge and the position.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from symveil.graphs.csr import Csr
from symveil.trellis import semirings
from symveil.trellis.passes import (
    Trellis,
    backward,
    chosen_edges,
    forward,
    scaled_backward,
    through_edges,
)
from symveil.trellis.semirings import NEVER, ByDistance


@dataclass
class Case:
    """A graph, its starts and ends, and a whole number for each position and edge."""

    edges: Csr
    starts: np.ndarray
    ends: np.ndarray
    numbers: np.ndarray

    @property
    def length(self) -> int:
        return len(self.numbers)

    def paths(self) -> list[tuple[int, list[int]]]:
        """Every path: where it begins, and its edges."""
        paths = [(start, start, []) for start in np.flatnonzero(self.starts).tolist()]
        for _ in range(self.length):
            paths = [(s, int(self.edges.target[e]), [*path, e]) for s, at, path in paths for e in self.edges.edges(at)]
        return [(start, path) for start, at, path in paths if self.ends[at]]

    def worths(self, path: list[int]) -> list[int]:
        return [int(self.numbers[position, edge]) for position, edge in enumerate(path)]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    states = draw(st.integers(1, 4))
    state = st.integers(0, states - 1)
    pairs = sorted(draw(st.lists(st.tuples(state, state), max_size=8)))
    source, target = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    some = st.lists(st.booleans(), min_size=states, max_size=states)
    length = draw(st.integers(0, 4))
    numbers = st.lists(st.integers(0, 3), min_size=len(pairs), max_size=len(pairs))
    rows = draw(st.lists(numbers, min_size=length, max_size=length))
    first = np.searchsorted(source, np.arange(states + 1))
    return Case(
        Csr(first=first, target=target), np.array(draw(some)), np.array(draw(some)),
        np.array(rows, dtype=np.int64).reshape(length, len(pairs)),
    )  # fmt: skip


def ball(value: object) -> arb:
    return arb(value.numerator) / value.denominator if isinstance(value, Fraction) else arb(value)


# by name: the semiring, what a step of a number is worth, how steps multiply, how paths add, the sum of nothing
KINDS = {
    "booleans": (semirings.BOOLEANS, lambda n: n > 0, all, any),
    "counts": (semirings.COUNTS, lambda n: n, math.prod, sum),
    "rationals": (
        semirings.RATIONALS,
        lambda n: Fraction(n, 7),
        lambda steps: math.prod(steps, start=Fraction(1)),
        lambda paths: sum(paths, start=Fraction(0)),
    ),
    "balls": (
        semirings.BALLS,
        lambda n: ball(Fraction(n, 7)),
        lambda steps: math.prod(steps, start=arb(1)),
        lambda paths: sum(paths, start=arb(0)),
    ),
    "floats": (semirings.FLOATS, lambda n: n / 4, lambda steps: math.prod(steps, start=1.0), lambda ps: sum(ps, 0.0)),
    "logarithms": (
        semirings.LOGARITHMS,
        lambda n: math.log(n) if n else -math.inf,
        lambda steps: sum(steps, 0.0),
        lambda paths: float(np.logaddexp.reduce([-np.inf, *paths])),
    ),
    "lengths": (semirings.LENGTHS, lambda n: n, sum, lambda paths: min(paths, default=NEVER)),
}


def agrees(actual: object, expected: object) -> bool:
    if isinstance(actual, arb):
        return bool(actual.overlaps(expected)) and actual.rad() < 1e-12
    if isinstance(actual, float):
        return actual == expected or math.isclose(actual, expected, rel_tol=1e-12)
    return bool(actual == expected)


@pytest.mark.parametrize("kind", KINDS)
@given(case=cases())
def test_passes_are_sums_over_all_paths(kind: str, case: Case) -> None:
    semiring, worth_of, product, total = KINDS[kind]
    worths = [np.array([worth_of(n) for n in row], dtype=semiring.dtype) for row in case.numbers.tolist()]
    trellis = Trellis(
        edges=case.edges,
        length=case.length,
        semiring=semiring,
        final=semiring.ends(case.ends),
        worth=lambda position: worths[position],
    )
    start = semiring.ends(case.starts)
    all_paths = case.paths()
    value = {id(path): product([worth_of(n) for n in case.worths(path)]) for _, path in all_paths}
    layers = backward(trellis)
    for state in np.flatnonzero(case.starts).tolist():
        expected = total([value[id(path)] for begin, path in all_paths if begin == state])
        assert agrees(layers[0][state], expected)
    ahead = list(forward(trellis, start))
    assert len(ahead) == len(layers) == case.length + 1
    whole = total([value[id(path)] for _, path in all_paths])
    assert agrees(total([ahead[-1][state] for state in np.flatnonzero(case.ends)]), whole)
    for position, values in enumerate(through_edges(trellis, start)):
        for edge in range(case.edges.edge_count):
            taken = [value[id(path)] for _, path in all_paths if path[position] == edge]
            assert agrees(values[edge], total(taken))


@pytest.mark.parametrize("kind", KINDS)
@given(case=cases())
def test_a_reversed_graph_has_the_same_totals(kind: str, case: Case) -> None:
    semiring, worth_of, _, total = KINDS[kind]
    worths = [np.array([worth_of(n) for n in row], dtype=semiring.dtype) for row in case.numbers.tolist()]
    turned = case.edges.reversed()
    back = Csr(first=turned.first, target=turned.target)
    one = Trellis(
        edges=case.edges,
        length=case.length,
        semiring=semiring,
        final=semiring.ends(case.ends),
        worth=lambda position: worths[position],
    )
    two = Trellis(
        edges=back,
        length=case.length,
        semiring=semiring,
        final=semiring.ends(case.starts),
        worth=lambda position: worths[case.length - 1 - position][turned.number],
    )
    ahead = list(forward(one, semiring.ends(case.starts)))
    for position, layer in enumerate(backward(two)):
        for state in range(case.edges.state_count):
            assert agrees(layer[state], ahead[case.length - position][state])
    totals = [
        total([layer[state] for state in np.flatnonzero(chosen)])
        for layer, chosen in ((backward(one)[0], case.starts), (backward(two)[0], case.ends))
    ]
    assert agrees(*totals)


@pytest.mark.parametrize("kind", ["booleans", "counts", "rationals", "floats", "logarithms"])
@pytest.mark.parametrize("most", [None, 0, 1, 2])
@pytest.mark.parametrize("weighted", [False, True])
@given(case=cases())
def test_counts_by_distance(kind: str, most: int | None, weighted: bool, case: Case) -> None:
    semiring, worth_of, product, total = KINDS[kind]
    counted = case.numbers % 2 == 1
    worths = [np.array([worth_of(n) for n in row], dtype=semiring.dtype) for row in case.numbers.tolist()]
    by_distance = ByDistance(semiring, most)
    trellis = Trellis(
        edges=case.edges,
        length=case.length,
        semiring=by_distance,
        final=by_distance.ends(case.ends),
        worth=lambda position: (counted[position], worths[position] if weighted else None),
    )
    powers = case.length + 1 if most is None else min(case.length, most) + 1
    starts = by_distance.ends(case.starts)
    paths = [
        (begin, path, sum(n % 2 for n in case.worths(path)),
         product([worth_of(n) for n in case.worths(path)]) if weighted else product([]))
        for begin, path in case.paths()
    ]  # fmt: skip
    layers = backward(trellis)
    assert layers[0].shape[-1] == powers
    for state in np.flatnonzero(case.starts).tolist():
        for distance in range(powers):
            expected = total([value for begin, _, far, value in paths if (begin, far) == (state, distance)])
            assert agrees(layers[0][state, distance], expected)
    for position, values in enumerate(through_edges(trellis, starts)):
        for edge in range(case.edges.edge_count):
            for distance in range(values.shape[-1]):
                taken = [value for _, path, far, value in paths if path[position] == edge and far == distance]
                assert agrees(values[edge, distance], total(taken))


@given(case=cases(), seed=st.integers(0, 99))
def test_several_lanes_are_several_passes(case: Case, seed: int) -> None:
    random = np.random.default_rng(seed)
    lanes = random.integers(0, 3, (case.length, case.edges.edge_count, 3)).astype(np.float64)
    counted = random.random(lanes.shape) < 0.5
    final = semirings.FLOATS.ends(case.ends)
    together = Trellis(
        edges=case.edges, length=case.length, semiring=semirings.FLOATS, worth=lambda position: lanes[position],
        final=final[:, None].repeat(3, axis=1),
    )  # fmt: skip
    far = Trellis(
        edges=case.edges, length=case.length, semiring=ByDistance(semirings.FLOATS),
        final=final[:, None, None].repeat(3, axis=1), worth=lambda position: (counted[position], lanes[position]),
    )  # fmt: skip
    for lane in range(3):
        alone = Trellis(
            edges=case.edges, length=case.length, semiring=semirings.FLOATS, final=final,
            worth=lambda position, lane=lane: lanes[position, :, lane],
        )  # fmt: skip
        one = backward(alone)[0]
        assert np.array_equal(backward(together)[0][:, lane], one)
        assert np.allclose(backward(far)[0][:, lane].sum(axis=-1), one, rtol=1e-12)


@given(case=cases())
def test_scaled_layers_are_the_layers(case: Case) -> None:
    final = semirings.FLOATS.ends(case.ends)
    trellis = Trellis(
        edges=case.edges,
        length=case.length,
        semiring=semirings.FLOATS,
        final=final,
        worth=lambda position: case.numbers[position] * 1e200,
    )
    small = Trellis(
        edges=case.edges,
        length=case.length,
        semiring=semirings.FLOATS,
        final=final,
        worth=lambda position: case.numbers[position].astype(np.float64),
    )
    layers, logs = scaled_backward(trellis, None)
    for position, (layer, log, plain) in enumerate(zip(layers, logs, backward(small), strict=True)):
        steps = (case.length - position) * math.log(1e200)
        if plain.any():
            assert np.allclose(layer * math.exp(float(log) - steps), plain, rtol=1e-9)
        else:
            assert not layer.any()


@given(case=cases())
def test_wide_floats_do_not_leave_their_range(case: Case) -> None:
    wide = semirings.WIDE_FLOATS
    trellis = Trellis(
        edges=case.edges,
        length=case.length,
        semiring=wide,
        final=wide.ends(case.ends),
        worth=lambda position: case.numbers[position] * (1e250 if position % 2 else 1e-250),
    )
    exact = Trellis(
        edges=case.edges,
        length=case.length,
        semiring=semirings.RATIONALS,
        final=semirings.RATIONALS.ends(case.ends),
        worth=lambda position: np.array(
            [Fraction(1e250 if position % 2 else 1e-250) * number for number in case.numbers[position].tolist()],
            dtype=object,
        ),
    )

    def number(value: np.ndarray) -> Fraction:
        return Fraction(value[0]) * Fraction(2) ** int(value[1]) if value[0] else Fraction(0)

    for layer, rationals in zip(backward(trellis), backward(exact), strict=True):
        for one, two in zip(layer, rationals, strict=True):
            assert abs(number(one) - two) <= Fraction(1, 10**12) * two
    through = through_edges(trellis, wide.ends(case.starts))
    for one, two in zip(through, through_edges(exact, semirings.RATIONALS.ends(case.starts)), strict=True):
        for values, value in zip(one, two, strict=True):
            assert abs(number(values) - value) <= Fraction(1, 10**12) * value


def test_counts_leave_64_bits_when_they_have_to() -> None:
    edges = Csr(first=np.array([0, 3]), target=np.zeros(3, dtype=np.int64))
    trellis = Trellis(edges=edges, length=80, semiring=semirings.COUNTS, final=semirings.COUNTS.ends(np.array([True])))
    layers = backward(trellis)
    assert [int(layer[0]) for layer in layers] == [3 ** (80 - position) for position in range(81)]
    assert layers[60].dtype == np.int64 and layers[0].dtype == object


def test_a_layer_that_repeats_is_one_object() -> None:
    edges = Csr(first=np.array([0, 1, 1]), target=np.array([1]))
    trellis = Trellis(
        edges=edges, length=5, semiring=semirings.BOOLEANS, final=semirings.BOOLEANS.ends(np.array([True, True]))
    )
    layers = backward(trellis, settles=True)
    assert [layer.tolist() for layer in layers] == [layer.tolist() for layer in backward(trellis)]
    assert layers[0] is layers[3]


@given(case=cases(), seed=st.integers(0, 10**6))
def test_drawn_edges_leave_the_state_and_are_possible(case: Case, seed: int) -> None:
    random = np.random.default_rng(seed)
    values = random.integers(0, 3, case.edges.edge_count).astype(np.float64)
    usable = np.flatnonzero(case.edges.sum_over(values) > 0)
    if not len(usable):
        values = np.ones(case.edges.edge_count)
        usable = np.flatnonzero(case.edges.degrees)
    states = np.repeat(usable, 5)
    uniform = random.random(len(states))
    edge = chosen_edges(case.edges, values, states, uniform)
    assert np.array_equal(case.edges.source[edge], states)
    assert (values[edge] > 0).all()
    for state, point, number in zip(states.tolist(), uniform, edge.tolist(), strict=True):
        own = list(case.edges.edges(state))
        below = sum(values[other] for other in own if other < number) / sum(values[own])
        assert below - 1e-12 <= point <= below + values[number] / sum(values[own]) + 1e-12
