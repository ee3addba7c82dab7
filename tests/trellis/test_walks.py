"""Walks by weight and by rank, against all walks of random layered graphs."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symveil.trellis.passes import RankedWalks, WeightedWalk

Node = tuple[int, int]
Steps = dict[Node, list[tuple[int, Node, int]]]


@st.composite
def layered(draw: st.DrawFn) -> tuple[int, Steps]:
    """Nodes (layer, number) with steps to the next layer, some of which lead nowhere or weigh nothing."""
    length = draw(st.integers(0, 4))
    steps: Steps = {}
    for layer in range(length):
        for number in range(3):
            some = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=3))
            steps[layer, number] = [(symbol, (layer + 1, to), w) for symbol, (to, w) in enumerate(some)]
    return length, steps


def walks(steps: Steps, length: int, node: Node) -> list[tuple[list[int], list[int], Node]]:
    if node[0] == length:
        return [([], [], node)]
    return [
        ([symbol, *rest], [weight, *weights], end)
        for symbol, after, weight in steps[node]
        for rest, weights, end in walks(steps, length, after)
    ]


@given(layered())
def test_moves_have_the_chances_of_all_walks(case: tuple[int, Steps]) -> None:
    length, steps = case
    walk = WeightedWalk(
        lambda node: [(s, Fraction(w, 3), after) for s, after, w in steps.get(node, [])],
        lambda node: Fraction(int(node[0] == length) * (1 + node[1])),
    )
    weight = [(s, math.prod(Fraction(w, 3) for w in ws) * (1 + end[1])) for s, ws, end in walks(steps, length, (0, 0))]
    whole = sum((w for _, w in weight), start=Fraction(0))
    assert walk.total((0, 0)) == whole
    if whole:
        moves = list(walk.moves((0, 0)))
        for first in range(3):
            assert sum((chance for symbol, _, chance in moves if symbol == first), start=Fraction(0)) == (
                sum((w for symbols, w in weight if symbols and symbols[0] == first), start=Fraction(0)) / whole
            )


def test_long_walks_need_no_deep_recursion() -> None:
    walk = WeightedWalk(
        lambda left: [(0, Fraction(1), left - 1), (1, Fraction(1), left - 1)] if left else [],
        lambda left: Fraction(left == 0),
    )
    assert walk.total(3000) == 2**3000


@given(layered(), st.sampled_from([1, 2, 32]))
def test_walks_by_rank_are_all_walks_in_order(case: tuple[int, Steps], stretch: int) -> None:
    length, steps = case

    def choices(node: Node) -> list[tuple[int, Node, int]]:
        ahead = [(symbol, after, len(walks(steps, length, after))) for symbol, after, _ in steps.get(node, [])]
        return [each for each in ahead if each[2]]

    expected = [symbols for symbols, _, _ in walks(steps, length, (0, 0))]
    ranked = RankedWalks(choices, longest_stretch=stretch)
    for _ in range(2):
        assert [ranked.walk((0, 0), rank) for rank in range(len(expected))] == expected


@pytest.mark.parametrize("length", [0, 1])
def test_shortest_walks(length: int) -> None:
    ranked = RankedWalks(lambda left: [(7, left - 1, 1)] if left else [])
    assert ranked.walk(length, 0) == [7] * length
