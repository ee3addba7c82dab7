"""A picture of a layered graph, before any format: what is where, and what is written on it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from symveil.errors import ParameterError


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A state at a place of the grid; rows count upwards, as on graph paper, and may be fractions.

    `label` is its lines of text, `value` what is annotated beside it in blue. An initial node has
    an arrow from nowhere, an accepting one a double outline, a marked one a tinted ground, a current
    one a halo: where one may be now.
    """

    key: Hashable
    column: int = 0
    row: float = 0
    label: tuple[str, ...] = ()
    value: str = ""
    initial: bool = False
    accepting: bool = False
    marked: bool = False
    current: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """An arrow between two nodes, given by their keys, with a label and an annotation in red.

    Parallel edges, opposite edges and loops are all welcome. A long edge may be led through free
    places (column, row) between its ends, in their order: `via`.
    """

    source: Hashable
    target: Hashable
    label: str = ""
    annotation: str = ""
    dashed: bool = False
    via: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagram:
    """Nodes on a grid and the edges between them; the meanings, where given, make a legend.

    >>> start = Node(key=0, column=0, row=0, label=("start",), initial=True)
    >>> end = Node(key=1, column=1, row=0, label=("end",), accepting=True)
    >>> Diagram(title="one step", nodes=(start, end), edges=(Edge(source=0, target=1, label="a"),)).title
    'one step'
    >>> Diagram(title="lost", nodes=(start,), edges=(Edge(source=0, target=1),))
    Traceback (most recent call last):
    symveil.errors.ParameterError: edges: expected sources and targets among the 1 nodes, found another
    one in edge 1
    """

    title: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    label_meaning: str = ""
    value_meaning: str = ""
    annotation_meaning: str = ""
    marked_meaning: str = ""
    dashed_meaning: str = ""
    current_meaning: str = ""

    def __post_init__(self) -> None:
        # A key may be a secret (a state that a word visits), so an offender is named by its number.
        keys: set[Hashable] = set()
        places: set[tuple[int, float]] = set()
        for number, node in enumerate(self.nodes, start=1):
            if node.key in keys:
                raise ParameterError("nodes", expected="distinct keys", found=f"node {number} with an earlier one")
            if (node.column, node.row) in places:
                raise ParameterError(
                    "nodes",
                    expected="one node at a place",
                    found=f"node {number} at column {node.column}, row {node.row:g} with another one",
                )
            keys.add(node.key)
            places.add((node.column, node.row))
        for number, edge in enumerate(self.edges, start=1):
            if edge.source not in keys or edge.target not in keys:
                raise ParameterError(
                    "edges",
                    expected=f"sources and targets among the {len(keys)} nodes",
                    found=f"another one in edge {number}",
                )
            if edge.via:
                self._require_passable(edge, number)

    def _require_passable(self, edge: Edge, number: int) -> None:
        columns = {node.key: node.column for node in self.nodes}
        passed = [columns[edge.source], *(column for column, _ in edge.via), columns[edge.target]]
        if passed not in (sorted(set(passed)), sorted(set(passed), reverse=True)):
            raise ParameterError(
                "edges",
                expected="places in columns between the two ends, in their order",
                found=f"others in edge {number}",
            )
