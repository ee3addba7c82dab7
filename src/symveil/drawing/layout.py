"""From a diagram to coordinates: where nodes, arrows and texts go on the sheet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from symveil.drawing.bezier import Bezier, Outline, Point, Points, line, loop
from symveil.drawing.diagram import Diagram, Node
from symveil.drawing.placement import Box, Obstacles
from symveil.drawing.text import width
from symveil.drawing.writing import (
    LABEL_SIZE,
    LINE_HEIGHT,
    VALUE_SIZE,
    PlacedText,
    along_edge,
    beside_node,
    beyond_loop,
)

NODE_SIZE = 14.0

_SMALLEST_RADIUS = 21.0
_SHORTEST_EDGE = 78.0
_ROW_STEP = 100.0
_TIP = 9.0  # length of an arrowhead
_GAP = 2.5  # between an arrowhead and its node
_ENTRY = 30.0  # length of the arrow into an initial node
_BEND = 26.0
_CROSSING = 34.0  # room for edges that cross
_MOST_CROSSINGS = 6
_SAMPLES = 64


@dataclass(frozen=True, slots=True)
class PlacedNode:
    """A node and its centre."""

    node: Node
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Arrow:
    """A line, and the point of the arrowhead that continues it."""

    line: Bezier
    tip: Point


@dataclass(frozen=True, slots=True)
class Layout:
    """Everything with its place, in units of CSS pixels around an arbitrary origin."""

    outline: Outline
    nodes: tuple[PlacedNode, ...]
    arrows: tuple[Arrow, ...]
    texts: tuple[PlacedText, ...]
    left: float
    top: float
    right: float
    bottom: float


def lay_out(diagram: Diagram) -> Layout:
    """Coordinates for everything in a diagram.

    Nodes keep to their grid, with columns as far apart as the longest label asks for; edges are
    straight unless another node or another edge is in the way; texts lie along their edges,
    label above and annotation below, and look for the nearest free place.
    """
    outline = _outline(diagram)
    column_step = _column_step(diagram, outline)
    row_step = _ROW_STEP + 2 * (outline.radius - _SMALLEST_RADIUS)
    nodes = {node.key: PlacedNode(node, node.column * column_step, -node.row * row_step) for node in diagram.nodes}
    curves = [_shorten(curve, outline) for curve in _route(diagram, nodes, outline)]
    arrows = [_arrow(curve) for curve in curves]
    entries = [
        _arrow_along(placed.x - outline.half_width - _GAP - _ENTRY, placed.x - outline.half_width - _GAP, placed.y)
        for placed in nodes.values()
        if placed.node.initial
    ]

    sheet = Obstacles()
    for arrow in (*arrows, *entries):
        sheet.add(arrow.line.samples(_SAMPLES))
        sheet.add(_arrowhead_box(arrow).grid())
    for placed in nodes.values():
        sheet.add(_node_box(placed, outline).grid())
    for edge, curve in zip(diagram.edges, curves, strict=True):
        if edge.source == edge.target:
            sheet.add(_loop_box(curve).grid())  # nothing is written inside a loop
    texts = [
        beside_node(placed.node.value, placed.x, placed.y, outline, sheet)
        for placed in nodes.values()
        if placed.node.value
    ]
    for edge, curve in zip(diagram.edges, curves, strict=True):
        write = beyond_loop if edge.source == edge.target else along_edge
        texts += write(edge.label, edge.annotation, curve, sheet)

    cloud = [text.box.grid() for text in texts]
    cloud += [arrow.line.samples(_SAMPLES) for arrow in (*arrows, *entries)]
    cloud += [_node_box(placed, outline).grid() for placed in nodes.values()]
    points = np.concatenate(cloud) if cloud else np.zeros((1, 2))
    (left, top), (right, bottom) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
    return Layout(
        outline=outline,
        nodes=tuple(nodes.values()),
        arrows=(*arrows, *entries),
        texts=tuple(texts),
        left=left,
        top=top,
        right=right,
        bottom=bottom,
    )


def _outline(diagram: Diagram) -> Outline:
    """One shape for all nodes, large enough for the largest label."""
    lines = max((len(node.label) for node in diagram.nodes), default=1)
    widest = max((width(text, NODE_SIZE) for node in diagram.nodes for text in node.label), default=0.0)
    radius = max(_SMALLEST_RADIUS, lines * NODE_SIZE * LINE_HEIGHT / 2 + 8)
    half_width = max(radius, widest / 2 + 11)
    if half_width < 1.3 * radius:  # nearly round looks like a mistake
        radius = half_width
    return Outline(half_width, radius)


def _column_step(diagram: Diagram, outline: Outline) -> float:
    """How far columns are apart: enough for the longest text along an edge, for wide values, for crossings."""
    texts = (text for edge in diagram.edges for text in (edge.label, edge.annotation))
    longest = max((width(text, LABEL_SIZE) for text in texts), default=0.0)
    widest_value = max((width(node.value, VALUE_SIZE) for node in diagram.nodes), default=0.0)
    overhang = max(0.0, widest_value - 2 * outline.half_width - 16)
    rows = {node.key: node.row for node in diagram.nodes}
    climbs = [rows[edge.target] - rows[edge.source] for edge in diagram.edges]
    # Edges that climb alike are parallel; the more differently they climb, the more of them cross.
    crossings = max(0, max([0, *climbs]) - min([0, *climbs]) - 1)
    edge_length = max(_SHORTEST_EDGE, longest + _TIP + 26) + _CROSSING * min(crossings, _MOST_CROSSINGS)
    return 2 * outline.half_width + edge_length + overhang


# --- edges ---------------------------------------------------------------------------------------


def _route(diagram: Diagram, nodes: dict[Hashable, PlacedNode], outline: Outline) -> list[Bezier]:
    """A curve from centre to centre for each edge.

    Among edges that share both ends each gets a bend of its own; the bend is the smallest one
    that keeps clear of the other nodes.
    """
    together: dict[frozenset[Hashable], int] = defaultdict(int)
    for edge in diagram.edges:
        together[frozenset((edge.source, edge.target))] += 1
    centres = np.array([(placed.x, placed.y) for placed in nodes.values()]).reshape(-1, 2)
    order = {key: number for number, key in enumerate(nodes)}
    taken: dict[frozenset[Hashable], set[float]] = defaultdict(set)
    curves = []
    for edge in diagram.edges:
        ends = frozenset((edge.source, edge.target))
        source, target = nodes[edge.source], nodes[edge.target]
        if edge.source == edge.target:
            count = len(taken[ends])
            taken[ends].add(count)
            reach = outline.radius + 34 + 26 * (count // 2)
            curves.append(loop(source.x, source.y, reach=-reach if count % 2 else reach, spread=reach * 0.8))
            continue
        # A bend is to the left of its edge; seen from the other end it is to the right.
        sense = 1.0 if order[edge.source] < order[edge.target] else -1.0
        others = np.array([key not in ends for key in nodes])
        free = [bend for bend in _bends(together[ends]) if bend * sense not in taken[ends]]
        bend = next(
            (bend for bend in free if _is_clear(source, target, bend, centres[others], outline)),
            free[0],
        )
        taken[ends].add(bend * sense)
        curves.append(line(source.x, source.y, target.x, target.y, bend=bend))
    return curves


def _bends(together: int) -> list[float]:
    """Bends to try, the smallest first; an even number of edges lies on both sides of the straight line."""
    steps = range(1, 2 * together + 12)
    sides = [side * step * _BEND for step in steps for side in (1.0, -1.0)]
    return sides if together % 2 == 0 else [0.0, *sides]


def _is_clear(source: PlacedNode, target: PlacedNode, bend: float, centres: Points, outline: Outline) -> bool:
    curve = line(source.x, source.y, target.x, target.y, bend=bend).samples(_SAMPLES)
    offsets = np.abs(curve[:, None, :] - centres[None, :, :])
    sideways = np.maximum(offsets[..., 0] - (outline.half_width - outline.radius), 0.0)
    return bool((np.hypot(sideways, offsets[..., 1]) > outline.radius + 8).all())


def _shorten(curve: Bezier, outline: Outline) -> Bezier:
    """The part of a curve between the outlines of its two nodes."""
    return curve.between(outline.leaves(curve, gap=0.0), outline.enters(curve, gap=_GAP))


def _arrow(curve: Bezier) -> Arrow:
    """The line up to where the arrowhead begins, and the arrowhead's point."""
    steps = curve.samples(200)
    far = np.hypot(*(steps - curve.end).T) >= _TIP * 0.8
    last = int(np.nonzero(far)[0][-1]) / 199 if far.any() else 0.5
    return Arrow(curve.between(0.0, last), curve.end)


def _arrow_along(x1: float, x2: float, y: float) -> Arrow:
    return Arrow(line(x1, y, x2 - _TIP * 0.8, y), (x2, y))


def _arrowhead_box(arrow: Arrow) -> Box:
    (back_x, back_y), (tip_x, tip_y) = arrow.line.end, arrow.tip
    return Box((back_x + tip_x) / 2, (back_y + tip_y) / 2, _TIP * 0.8, _TIP * 0.8)


def _loop_box(curve: Bezier) -> Box:
    points = curve.samples(_SAMPLES)
    (left, top), (right, bottom) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
    return Box((left + right) / 2, (top + bottom) / 2, right - left, bottom - top)


def _node_box(placed: PlacedNode, outline: Outline) -> Box:
    return Box(placed.x, placed.y, 2 * outline.half_width, 2 * outline.radius)
