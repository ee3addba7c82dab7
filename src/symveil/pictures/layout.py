"""From a diagram to coordinates: where nodes, arrows and texts go on the sheet."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from symveil.pictures.bezier import Outline, Path, Point, line
from symveil.pictures.diagram import Diagram, Node
from symveil.pictures.placement import Box, Obstacles
from symveil.pictures.routing import route
from symveil.pictures.text import width
from symveil.pictures.writing import LINE_HEIGHT, VALUE_SIZE, PlacedText, along_edge, beside_node, beyond_loop, breadth

NODE_SIZE = 14.0

_SMALLEST_RADIUS = 21.0
_SHORTEST_EDGE = 78.0
_ROW_STEP = 100.0
_TIP = 9.0  # length of an arrowhead
_GAP = 2.5  # between an arrowhead and its node
_ENTRY = 30.0  # length of the arrow into an initial node
_CROSSING = 34.0  # room for edges that cross
_MOST_CROSSINGS = 6
_LANE_CLIMBS = 0.5  # lanes may be steep: their texts stand elsewhere
_SAMPLES = 64
_ENTRY_SAMPLES = 6


@dataclass(frozen=True, slots=True)
class PlacedNode:
    """A node and its centre."""

    node: Node
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Arrow:
    """A line, and the point of the arrowhead that continues it."""

    line: Path
    tip: Point
    dashed: bool = False


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

    Nodes keep to their grid, with columns as far apart as labels and crossings ask for; edges are
    straight unless another node or another edge is in the way; texts lie along their edges,
    label above and annotation below, and look for the nearest free place.
    """
    outline = _outline(diagram)
    across = _columns(diagram, outline)
    row_step = _ROW_STEP + 2 * (outline.radius - _SMALLEST_RADIUS)

    def spot(column: int, row: float) -> Point:
        return across[column], -row * row_step

    nodes = {node.key: PlacedNode(node, *spot(node.column, node.row)) for node in diagram.nodes}
    entries = [
        _arrow_along(placed.x - outline.half_width - _GAP - _ENTRY, placed.x - outline.half_width - _GAP, placed.y)
        for placed in nodes.values()
        if placed.node.initial
    ]
    centres = {key: (placed.x, placed.y) for key, placed in nodes.items()}
    blocked = [entry.line.samples(_ENTRY_SAMPLES) for entry in entries]
    paths = route(diagram.edges, centres, outline, spot=spot, entries=blocked)
    curves = [_shorten(path, outline) for path in paths]
    arrows = [_arrow(curve, dashed=edge.dashed) for edge, curve in zip(diagram.edges, curves, strict=True)]

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
    routed = list(zip(diagram.edges, curves, strict=True))
    for edge, curve in routed:  # a loop's texts have one place only, so they come first
        if edge.source == edge.target:
            texts += beyond_loop(edge.label, edge.annotation, curve, sheet)
    for edge, curve in routed:
        if edge.source != edge.target:
            texts += along_edge(edge.label, edge.annotation, curve, sheet)

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


def _columns(diagram: Diagram, outline: Outline) -> dict[int, float]:
    """Where each column is: room for the longest text along an edge, for wide values, and for crossings before it."""
    texts = (text for edge in diagram.edges for text in (edge.label, edge.annotation))
    longest = max((breadth(text) for text in texts), default=0.0)
    widest_value = max((width(node.value, VALUE_SIZE) for node in diagram.nodes), default=0.0)
    overhang = max(0.0, widest_value - 2 * outline.half_width - 16)
    step = 2 * outline.half_width + max(_SHORTEST_EDGE, longest + _TIP + 26) + overhang
    places = {node.key: (node.column, node.row) for node in diagram.nodes}
    climbs: dict[int, list[float]] = defaultdict(lambda: [0.0])
    for edge in diagram.edges:
        passed = (places[edge.source], *edge.via, places[edge.target])
        for (left, from_row), (right, to_row) in map(sorted, itertools.pairwise(passed)):
            for column in range(left + 1, right + 1):
                climbs[column].append((to_row - from_row) * (_LANE_CLIMBS if edge.via else 1))
    used = [column for column, _ in places.values()] + [column for edge in diagram.edges for column, _ in edge.via]
    across: dict[int, float] = {}
    x = 0.0
    for column in range(min(used, default=0), max(used, default=0) + 1):
        # Edges that climb alike are parallel; the more differently they climb, the more of them cross.
        crossings = max(0.0, max(climbs[column]) - min(climbs[column]) - 1)
        x += _CROSSING * min(crossings, _MOST_CROSSINGS)
        across[column] = x
        x += step
    return across


# --- edges ---------------------------------------------------------------------------------------


def _shorten(curve: Path, outline: Outline) -> Path:
    """The part of a curve between the outlines of its two nodes."""
    return curve.between(outline.leaves(curve, gap=0.0), outline.enters(curve, gap=_GAP))


def _arrow(curve: Path, *, dashed: bool) -> Arrow:
    """The line up to where the arrowhead begins, and the arrowhead's point."""
    times = np.linspace(0.0, 1.0, 200 * len(curve.pieces))
    tip_x, tip_y = curve.end
    last = 0.5
    for time in times[:0:-1].tolist():
        x, y = curve.at(time)
        if math.hypot(x - tip_x, y - tip_y) >= _TIP * 0.8:
            last = time
            break
    return Arrow(curve.between(0.0, last), curve.end, dashed)


def _arrow_along(x1: float, x2: float, y: float) -> Arrow:
    return Arrow(line(x1, y, x2 - _TIP * 0.8, y), (x2, y))


def _arrowhead_box(arrow: Arrow) -> Box:
    (back_x, back_y), (tip_x, tip_y) = arrow.line.end, arrow.tip
    return Box((back_x + tip_x) / 2, (back_y + tip_y) / 2, _TIP * 0.8, _TIP * 0.8)


def _loop_box(curve: Path) -> Box:
    points = curve.samples(_SAMPLES)
    (left, top), (right, bottom) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
    return Box((left + right) / 2, (top + bottom) / 2, right - left, bottom - top)


def _node_box(placed: PlacedNode, outline: Outline) -> Box:
    return Box(placed.x, placed.y, 2 * outline.half_width, 2 * outline.radius)
