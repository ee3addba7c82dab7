"""Flat edges against lists of edges, on random graphs with parallel edges, loops and states without edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symveil.graphs.csr import Csr, offsets, spread, stable_order


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    states = draw(st.integers(1, 5))
    state = st.integers(0, states - 1)
    return states, draw(st.lists(st.tuples(state, state), max_size=12))


def listed(states: int, edges: list[tuple[int, int]]) -> Csr:
    source, target = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    return Csr.from_edges(source, target, states)


@given(graphs(), st.randoms())
def test_sums_go_over_the_edges_that_leave_a_state_or_enter_it(graph, random) -> None:
    states, edges = graph
    values = np.array([random.randrange(100) for _ in edges], dtype=np.int64)
    flat = listed(states, edges)
    for side, order in ((0, flat), (1, flat.reversed()), (0, flat.reversed().reversed())):
        expected = [sum(v for v, edge in zip(values, edges, strict=True) if edge[side] == s) for s in range(states)]
        assert order.sum_over(values).tolist() == expected
        least = [min([v for v, e in zip(values, edges, strict=True) if e[side] == s], default=7) for s in range(states)]
        assert order.sum_over(values, np.minimum, 7).tolist() == least
        pairs = np.stack([values, 2 * values], axis=1)
        assert order.sum_over(pairs).tolist() == [[each, 2 * each] for each in expected]
        many = np.tile(values[:, None, None].astype(np.float64), (1, 64, 65))  # so many are summed by a matrix
        assert (order.sum_over(many) == np.array(expected)[:, None, None]).all()


@given(graphs(), st.randoms())
def test_the_edges_of_some_states_are_listed_one_state_after_the_other(graph, random) -> None:
    states, edges = graph
    flat = listed(states, edges)
    some = [random.randrange(states) for _ in range(random.randrange(6))]
    row, number = flat.expand(np.array(some, dtype=np.int64))
    pairs = [(index, edge) for index, state in enumerate(some) for edge in flat.edges(state)]
    assert list(zip(row.tolist(), number.tolist(), strict=True)) == pairs
    assert all(edges[flat.number[edge]] == (some[index], flat.target[edge]) for index, edge in pairs)


@given(graphs(), st.randoms())
def test_some_edges_keep_their_numbers(graph, random) -> None:
    states, edges = graph
    keep = np.array([random.random() < 0.5 for _ in edges], dtype=np.bool_)
    ones = np.ones(len(edges), dtype=np.int64)
    for order in (listed(states, edges), listed(states, edges).reversed()):
        assert sorted(order.restricted(keep).number) == np.flatnonzero(keep).tolist()
        assert order.restricted(keep).sum_over(ones).tolist() == order.sum_over(ones * keep).tolist()


@pytest.mark.parametrize("counts", [[], [0], [3], [2, 0, 0, 1], [0, 4, 0]])
def test_ranges(counts: list[int]) -> None:
    ends = offsets(np.array(counts, dtype=np.int64))
    assert ends.tolist() == [sum(counts[:number]) for number in range(len(counts) + 1)]
    owner, within = spread(np.array(counts, dtype=np.int64))
    assert list(zip(owner, within, strict=True)) == [(n, i) for n, count in enumerate(counts) for i in range(count)]
    assert spread(np.array(counts, dtype=np.int64), ends[:-1])[1].tolist() == list(range(sum(counts)))


@given(
    st.lists(st.one_of(st.integers(0, 5), st.integers(0, 2**62)), max_size=40), st.sampled_from([np.int64, np.int32])
)
def test_the_stable_order_is_that_of_sorted(values: list[int], kind: type) -> None:
    small = [value % 2**31 if kind is np.int32 else value for value in values]
    assert stable_order(np.array(small, dtype=kind)).tolist() == sorted(range(len(small)), key=lambda at: small[at])
