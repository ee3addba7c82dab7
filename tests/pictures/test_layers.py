"""Any graph finds places: nodes apart, edges at most one column onwards, lanes that no node stands in."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symveil.errors import ParameterError, TooLargeError
from symveil.pictures.diagram import Diagram, Edge, Node
from symveil.pictures.layers import layered, merged, state_diagram
from symveil.pictures.layout import lay_out
from symveil.pictures.limits import LIMITS


@st.composite
def graphs(draw):
    size = draw(st.integers(1, 9))
    ends = st.integers(0, size - 1)
    edges = draw(st.lists(st.tuples(ends, ends), max_size=20))
    return list(range(size)), edges, draw(st.lists(ends, max_size=2, unique=True))


def distances(edges, first):
    """Breadth-first distances, by repeated relaxation."""
    known = dict.fromkeys(first, 0)
    for _ in range(len(edges) + 1):
        for source, target in edges:
            if source in known:
                known[target] = min(known.get(target, len(edges) + 1), known[source] + 1)
    return known


@settings(max_examples=150)
@given(graphs())
def test_columns_are_distances_and_nothing_stands_in_the_way_of_anything(graph):
    keys, edges, first = graph
    grid = layered(keys, edges, first=first)
    assert set(grid.spots) == set(keys)
    for key, distance in distances(edges, first).items():
        assert grid.spots[key][0] == distance
    for one, other in itertools.combinations(keys, 2):
        (column, row), (its_column, its_row) = grid.spots[one], grid.spots[other]
        assert column != its_column or abs(row - its_row) >= 1
    spots = [spot for lane in grid.lanes.values() for spot in lane]
    for column, row in spots:
        assert all(
            abs(row - node_row) >= 0.75 for node_column, node_row in grid.spots.values() if node_column == column
        )
    for (column, row), (its_column, its_row) in itertools.combinations(spots, 2):
        assert column != its_column or abs(row - its_row) >= 0.5
    for (source, target), lane in grid.lanes.items():
        begin, end = grid.spots[source][0], grid.spots[target][0]
        assert [column for column, _ in lane] == list(range(begin, end, 1 if end > begin else -1))[1:]
    long_edges = {(s, t) for s, t in edges if abs(grid.spots[s][0] - grid.spots[t][0]) > 1}
    assert set(grid.lanes) == long_edges
    assert grid == layered(keys, edges, first=first)


def drawn(keys, edges, first, label="a state"):
    return state_diagram(
        title="",
        nodes=[Node(key=key, label=(label,), initial=key in first) for key in keys],
        edges=[Edge(source=source, target=target, label="go") for source, target in edges],
        advice="",
    )


@settings(max_examples=60)
@given(graphs(), st.sampled_from(["q", "a long name"]))
def test_lanes_and_loops_keep_off_the_nodes(graph, label):
    """Whatever goes over several columns passes no node but its two ends, however wide nodes are."""
    diagram = drawn(*graph, label=label)
    layout = lay_out(diagram)
    for edge, arrow in zip(diagram.edges, layout.arrows, strict=False):
        if edge.via or edge.source == edge.target:
            for placed in layout.nodes:
                if placed.node.key not in (edge.source, edge.target):
                    points = arrow.line.samples(100)
                    away = [layout.outline.distance(x - placed.x, y - placed.y) for x, y in points]
                    assert min(away) > 4


def test_a_chain_is_level_and_a_cycle_comes_back_in_a_lane_beside_it():
    grid = layered(range(6), [(n, (n + 1) % 6) for n in range(6)], first=[0])
    assert [grid.spots[n] for n in range(6)] == [(n, 0) for n in range(6)]
    (lane,) = grid.lanes.values()
    assert len({row for _, row in lane}) == 1


def test_crossings_are_removed():
    # Two layers given in opposite orders: sorted, nothing crosses.
    edges = [("s", f"a{n}") for n in range(5)] + [(f"a{n}", f"b{4 - n}") for n in range(5)]
    edges += [(f"b{n}", "t") for n in range(5)]
    keys = list(dict.fromkeys(key for edge in edges for key in edge))
    places = layered(keys, edges, first="s").spots
    middle = sorted((places[f"a{n}"][1], places[f"b{4 - n}"][1]) for n in range(5))
    assert [row for _, row in middle] == sorted(row for _, row in middle)


def test_a_state_nobody_reaches_stands_before_what_it_leads_to():
    places = layered("abcdx", ["ab", "bc", "cd", "xd"], first="a").spots
    assert places["x"][0] == places["d"][0] - 1


def test_edges_alike_become_one_arrow_and_others_stay_apart():
    edges = [
        Edge(source=0, target=1, label="a", annotation="1/2"),
        Edge(source=0, target=1, label="b", annotation="1/3"),
        Edge(source=0, target=1, label="u", annotation="1/6", dashed=True),
        Edge(source=1, target=0, label="a", annotation="1"),
    ]
    assert [(edge.label, edge.annotation, edge.dashed) for edge in merged(edges)] == [
        ("a, b", "1/2, 1/3", False),
        ("u", "1/6", True),
        ("a", "1", False),
    ]


def test_what_nobody_could_read_is_refused_at_once():
    size = LIMITS.now.states
    many = range(size + 1)
    with pytest.raises(TooLargeError, match=f"at most {size} states, found {size + 1}; try"):
        state_diagram(title="", nodes=[Node(key=key) for key in many], edges=[], advice="try")
    edges = [Edge(source=one, target=other) for one in range(30) for other in range(30)]
    with pytest.raises(TooLargeError, match=f"at most {LIMITS.now.arrows} arrows, found 900"):
        state_diagram(title="", nodes=[Node(key=key) for key in range(30)], edges=edges, advice="")


def test_ways_around_are_in_order():
    nodes = tuple(Node(key=key, column=key) for key in range(3))
    Diagram(title="", nodes=nodes, edges=(Edge(source=2, target=0, via=((1, 1),)),))
    for via in [((0, 1),), ((3, 1),), ((1, 1), (1, 2))]:
        with pytest.raises(ParameterError, match="edge 1"):
            Diagram(title="", nodes=nodes, edges=(Edge(source=0, target=2, via=via),))


def test_a_large_picture_takes_seconds_not_minutes():
    edges = [(n, (n * step + 1) % 90) for n in range(90) for step in (1, 7, 13)]
    layout = lay_out(drawn(range(90), edges, [0]))
    assert len(layout.nodes) == 90
    assert np.isfinite(layout.right)
