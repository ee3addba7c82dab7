"""A picture of a layered graph, before any format: what is where, and what is written on it.

A diagram as Graphviz DOT, with every node pinned to its place on the grid.
"""

from __future__ import annotations

import html
from collections.abc import Hashable
from dataclasses import dataclass

from symveil.errors import ParameterError
from symveil.pictures.text import BLUE, MARKED, RED, displayable, width


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
        positions: set[tuple[int, float]] = set()
        for number, node in enumerate(self.nodes, start=1):
            if node.key in keys:
                raise ParameterError("nodes", expected="distinct keys", found=f"node {number} with an earlier one")
            if (node.column, node.row) in positions:
                raise ParameterError(
                    "nodes",
                    expected="one node at a place",
                    found=f"node {number} at column {node.column}, row {node.row:g} with another one",
                )
            keys.add(node.key)
            positions.add((node.column, node.row))
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


_SHORTEST_STEP, _ROW_STEP = 1.8, 1.3  # inches
_LETTER = 14 / 72  # Graphviz' own font size, in inches


def to_dot(diagram: Diagram) -> str:
    r"""The diagram as a DOT graph; `dot -Tsvg` keeps the grid, since the graph asks for neato itself.

    >>> from symveil.pictures.diagram import Edge, Node
    >>> nodes = tuple(Node(key=place, column=place, row=0, label=(f'q"{place}',)) for place in (0, 1))
    >>> print(to_dot(Diagram(title="a step", nodes=nodes, edges=(Edge(source=0, target=1, label="\\"),))))
    digraph {
      graph [charset="UTF-8", layout=neato, splines=true, fontname="Helvetica", label="a step", labelloc=t];
      node [shape=circle, fontname="Helvetica"];
      edge [fontname="Helvetica"];
      n0 [label="q\"0", pos="0,0!"];
      n1 [label="q\"1", pos="1.8,0!"];
      n0 -> n1 [label="\\"];
    }
    """
    texts = (text for edge in diagram.edges for text in (edge.label, edge.annotation))
    column_step = max(_SHORTEST_STEP, 1.2 + round(max((width(text, _LETTER) for text in texts), default=0.0), 1))
    names = {node.key: f"n{number}" for number, node in enumerate(diagram.nodes)}
    lines = [
        "digraph {",
        '  graph [charset="UTF-8", layout=neato, splines=true, fontname="Helvetica", '
        f"label={_quoted(diagram.title)}, labelloc=t];",
        '  node [shape=circle, fontname="Helvetica"];',
        '  edge [fontname="Helvetica"];',
    ]
    for node in diagram.nodes:
        lines.append(f"  {names[node.key]} [{_node_attributes(node, column_step)}];")
        if node.initial:
            # Graphviz has no arrow from nowhere; it starts at a node that is not drawn.
            entry = f"{names[node.key]}_entry"
            position = _dot_position((node.column - 0.5) * column_step, node.row)
            lines.append(f'  {entry} [shape=point, style=invis, label="", {position}];')
            lines.append(f"  {entry} -> {names[node.key]};")
    lines += [f"  {names[edge.source]} -> {names[edge.target]} [{_edge_attributes(edge)}];" for edge in diagram.edges]
    lines.append("}")
    return "\n".join(lines) + "\n"


def _node_attributes(node: Node, column_step: float) -> str:
    attributes = [f"label={_quoted(chr(10).join(node.label))}", _dot_position(node.column * column_step, node.row)]
    if node.accepting:
        attributes.append("shape=doublecircle")
    if node.marked:
        attributes.append(f'style=filled, fillcolor="{MARKED}"')
    if node.value:
        attributes.append(f"xlabel=<{_coloured(node.value, BLUE)}>")
    return ", ".join(attributes)


def _edge_attributes(edge: Edge) -> str:
    dashed = ", style=dashed" if edge.dashed else ""
    if not edge.annotation:
        return f"label={_quoted(edge.label)}{dashed}"
    label = _marked_up(edge.label) + "<BR/>" if edge.label else ""
    return f"label=<{label}{_coloured(edge.annotation, RED)}>{dashed}"


def _dot_position(inches: float, row: float) -> str:
    return f'pos="{inches:g},{row * _ROW_STEP:g}!"'


def _quoted(text: str) -> str:
    r"""A DOT string. A backslash is doubled, or Graphviz would read \N, \l and the like as commands."""
    escaped = displayable(text).replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\r\n", "\\n").replace("\n", "\\n").replace("\r", "\\n") + '"'


def _coloured(text: str, colour: str) -> str:
    return f'<FONT COLOR="{colour}">{_marked_up(text)}</FONT>'


def _marked_up(text: str) -> str:
    """Text inside an HTML-like label, the only kind that has more than one colour."""
    return "<BR/>".join(html.escape(line) for line in displayable(text).splitlines() or [""])
