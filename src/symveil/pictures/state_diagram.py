"""A picture of any graph of states: parallel edges become one arrow, and every state finds its place."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace

from symveil.errors import TooLargeError
from symveil.pictures.diagram import Diagram, Edge, Node
from symveil.pictures.labels import joined
from symveil.pictures.layers import layered

MOST_STATES_DRAWN = 100
MOST_ARROWS_DRAWN = 300


def state_diagram(
    *,
    title: str,
    nodes: Sequence[Node],
    edges: Iterable[Edge],
    advice: str,
    label_meaning: str = "",
    annotation_meaning: str = "",
    marked_meaning: str = "",
    dashed_meaning: str = "",
) -> Diagram:
    """The states and edges as a diagram; refused, with advice, when it would be too large to read.

    Where `nodes` were placed before does not matter. A meaning is left out of the legend where nothing has it.

    >>> nodes = [Node(key=0, label=("p",), initial=True), Node(key=1, label=("q",), marked=True)]
    >>> edges = [Edge(source=0, target=1, label="a"), Edge(source=0, target=1, label="b")]
    >>> diagram = state_diagram(title="two", nodes=nodes, edges=edges, advice="", marked_meaning="secret")
    >>> [node.column for node in diagram.nodes], [edge.label for edge in diagram.edges]
    ([0, 1], ['a, b'])
    """
    arrows = merged(edges)
    for most, found, noun in ((MOST_STATES_DRAWN, len(nodes), "states"), (MOST_ARROWS_DRAWN, len(arrows), "arrows")):
        if found > most:
            raise TooLargeError(f"drawing: expected at most {most} {noun}, found {found}; {advice}")
    grid = layered(
        [node.key for node in nodes],
        [(edge.source, edge.target) for edge in arrows],
        first=[node.key for node in nodes if node.initial],
    )
    placed = []
    for node in nodes:
        column, row = grid.places[node.key]
        placed.append(replace(node, column=column, row=row))
    return Diagram(
        title=title,
        nodes=tuple(placed),
        edges=tuple(replace(edge, via=grid.lanes.get((edge.source, edge.target), ())) for edge in arrows),
        label_meaning=label_meaning,
        annotation_meaning=annotation_meaning if any(edge.annotation for edge in arrows) else "",
        marked_meaning=marked_meaning if any(node.marked for node in nodes) else "",
        dashed_meaning=dashed_meaning if any(edge.dashed for edge in arrows) else "",
    )


def merged(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    """Edges alike from one node to another as one arrow, with their labels and annotations in the same order.

    >>> two = [Edge(source=0, target=1, label=label, annotation="1/4") for label in "ab"]
    >>> [(edge.label, edge.annotation) for edge in merged(two)]
    [('a, b', '1/4 each')]
    """
    alike: dict[tuple[Hashable, Hashable, bool], list[Edge]] = {}
    for edge in edges:
        alike.setdefault((edge.source, edge.target, edge.dashed), []).append(edge)
    return tuple(_merged(together) for together in alike.values())


def _merged(edges: Sequence[Edge]) -> Edge:
    if len(edges) == 1:
        return edges[0]
    annotations = [edge.annotation for edge in edges]
    if len(set(annotations)) == 1:
        annotation = f"{annotations[0]} each" if annotations[0] else ""
    else:
        annotation = joined(annotations)
    return replace(edges[0], label=joined([edge.label for edge in edges]), annotation=annotation)
