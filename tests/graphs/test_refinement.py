"""The coarsest stable partition against comparing rows of Fractions, on random graphs with parallel edges and loops."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from symveil.graphs.csr import offsets
from symveil.graphs.limits import LIMITS
from symveil.graphs.refinement import Weighted, coarsest_stable

WEIGHTS = (Fraction(1, 6), Fraction(1, 3), Fraction(1, 7))

Rows = list[list[tuple[int, int]]]
"""For each state its edges: target, number of the weight."""


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Rows, list[int]]:
    """At most three edges from a state, so that weights add up to at most 1."""
    size = draw(st.integers(1, 9))
    edge = st.tuples(st.integers(0, size - 1), st.integers(0, len(WEIGHTS) - 1))
    rows = draw(st.lists(st.lists(edge, min_size=1, max_size=3), min_size=size, max_size=size))
    return rows, draw(st.lists(st.integers(0, 1), min_size=size, max_size=size))


def weighted(rows: Rows) -> Weighted:
    edges = [edge for row in rows for edge in row]
    return Weighted(
        first=offsets(np.array([len(row) for row in rows])),
        target=np.array([target for target, _ in edges], dtype=np.int64),
        code=np.array([code for _, code in edges], dtype=np.int64),
        distinct=tuple(fmpq(weight.numerator, weight.denominator) for weight in WEIGHTS),
    )


def by_definition(rows: Rows, start: list[int]) -> list[int]:
    classes = start
    while True:
        marks = []
        for own, row in zip(classes, rows, strict=True):
            into: dict[int, Fraction] = {}
            for target, code in row:
                into[classes[target]] = into.get(classes[target], Fraction(0)) + WEIGHTS[code]
            marks.append((own, tuple(sorted(into.items()))))
        numbers = {mark: number for number, mark in enumerate(dict.fromkeys(marks))}
        if len(numbers) == len(set(classes)):
            return [numbers[mark] for mark in marks]
        classes = [numbers[mark] for mark in marks]


@settings(max_examples=300, deadline=None)
@given(graphs(), st.sampled_from([0, 1000]))
def test_the_coarsest_stable_partition(graph: tuple[Rows, list[int]], few: int) -> None:
    rows, start = graph
    expected = by_definition(rows, start)
    with LIMITS.changed(few_edges=few):
        result = coarsest_stable(weighted(rows), np.array(start))
    assert result is not None
    assert result.tolist() == expected


@settings(max_examples=200, deadline=None)
@given(graphs(), st.sampled_from([0, 1000]), st.integers(1, 9))
def test_none_where_there_are_more_classes_than_wanted(graph: tuple[Rows, list[int]], few: int, most: int) -> None:
    rows, start = graph
    expected = by_definition(rows, start)
    with LIMITS.changed(few_edges=few):
        result = coarsest_stable(weighted(rows), np.array(start), at_most=most)
    assert (None if result is None else result.tolist()) == (expected if len(set(expected)) <= most else None)
