"""The walk that all searches share: nodes once, in the order of shortest ways, each with such a way."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from symveil.graphs.walk import Walk

graphs = st.lists(st.lists(st.integers(0, 7), max_size=3), min_size=8, max_size=8)
starts = st.lists(st.integers(0, 7), min_size=1, max_size=3)


def ways_of(successors: list[list[int]], begin: list[int], length: int) -> dict[int, list[tuple[int, ...]]]:
    """All ways of so many labels, listed, by where they end; a label is the position of a successor."""
    ways: dict[int, list[tuple[int, ...]]] = {}
    for start in dict.fromkeys(begin):
        for labels in itertools.product(range(3), repeat=length):
            node: int | None = start
            for label in labels:
                node = successors[node][label] if node is not None and label < len(successors[node]) else None
            if node is not None:
                ways.setdefault(node, []).append(labels)
    return ways


@given(graphs, starts)
def test_nodes_come_in_the_order_of_their_shortest_ways(successors: list[list[int]], begin: list[int]) -> None:
    walk: Walk[int, int] = Walk(begin)
    lengths = []
    for length, layer in enumerate(walk.layers()):
        lengths += [length] * len(layer)
        for number in layer:
            for label, target in enumerate(successors[walk.nodes[number]]):
                assert walk.nodes[walk.meet(target, number, label)] == target
    listed = [ways_of(successors, begin, length) for length in range(8)]  # 8 nodes: no shortest way is longer
    assert set(walk.nodes) == {node for ways in listed for node in ways}
    assert len(walk) == len(set(walk.nodes))
    for number, node in enumerate(walk.nodes):
        shortest = next(length for length, ways in enumerate(listed) if node in ways)
        assert lengths[number] == shortest
        assert walk.way_to(number) in listed[shortest][node]


@given(graphs, starts)
def test_reading_it_node_by_node_is_the_same_walk(successors: list[list[int]], begin: list[int]) -> None:
    by_layers: Walk[int, int] = Walk(begin)
    for layer in by_layers.layers():
        for number in layer:
            for label, target in enumerate(successors[by_layers.nodes[number]]):
                by_layers.meet(target, number, label)
    one_by_one: Walk[int, int] = Walk(begin)
    for number, node in one_by_one:
        for label, target in enumerate(successors[node]):
            one_by_one.meet(target, number, label)
    assert one_by_one.nodes == by_layers.nodes
    assert [one_by_one.way_to(each) for each in range(len(one_by_one))] == [
        by_layers.way_to(each) for each in range(len(by_layers))
    ]
