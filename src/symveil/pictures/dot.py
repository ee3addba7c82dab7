"""A diagram as Graphviz DOT, with every node pinned to its place on the grid."""

from __future__ import annotations

import html

from symveil.pictures.colours import BLUE, MARKED, RED
from symveil.pictures.diagram import Diagram, Edge, Node
from symveil.pictures.text import displayable, width

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
            place = _place((node.column - 0.5) * column_step, node.row)
            lines.append(f'  {entry} [shape=point, style=invis, label="", {place}];')
            lines.append(f"  {entry} -> {names[node.key]};")
    lines += [f"  {names[edge.source]} -> {names[edge.target]} [{_edge_attributes(edge)}];" for edge in diagram.edges]
    lines.append("}")
    return "\n".join(lines) + "\n"


def _node_attributes(node: Node, column_step: float) -> str:
    attributes = [f"label={_quoted(chr(10).join(node.label))}", _place(node.column * column_step, node.row)]
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


def _place(inches: float, row: float) -> str:
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
