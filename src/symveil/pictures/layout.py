"""From a diagram to coordinates: where nodes, arrows and texts go on the sheet.

The way of each edge: straight where it can be, bent around nodes, in a lane over several columns, a loop.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from symveil.pictures.bezier import Outline, Path, Point, Points, line, loop, through
from symveil.pictures.diagram import Diagram, Edge, Node
from symveil.pictures.text import width
from symveil.pictures.writing import (
    LINE_HEIGHT,
    VALUE_SIZE,
    Box,
    Obstacles,
    PlacedText,
    along_edge,
    beside_node,
    beyond_loop,
    breadth,
)

_LOOP_REACH = 34.0  # how far a loop rises above its node

_BEND = 26.0
_SECOND_LOOP = 26.0
_LOOP_HALF_WIDTH = 18.0
_CLEARANCE = 8.0
_SAMPLES = 64


def route(
    edges: Sequence[Edge],
    centres: Mapping[Hashable, Point],
    outline: Outline,
    *,
    spot: Callable[[int, float], Point],
    entries: Sequence[Points] = (),
) -> list[Path]:
    """A path from centre to centre for each edge; `spot` tells where a place of the grid lies on the sheet.

    Among edges that share both ends each gets a bend of its own; the bend is the smallest one that
    keeps clear of the other nodes and of the arrows from nowhere (`entries`). Loops come last and
    choose the emptier side of their node.
    """
    together: dict[frozenset[Hashable], int] = defaultdict(int)
    for edge in edges:
        if not edge.via:
            together[frozenset((edge.source, edge.target))] += 1
    order = {key: number for number, key in enumerate(centres)}
    taken: dict[frozenset[Hashable], set[float]] = defaultdict(set)
    paths: dict[int, Path] = {}
    for number, edge in enumerate(edges):
        if edge.source == edge.target:
            continue
        source, target = centres[edge.source], centres[edge.target]
        ends = frozenset((edge.source, edge.target))
        others = np.array([centre for key, centre in centres.items() if key not in ends]).reshape(-1, 2)
        is_clear = partial(_is_clear, others=others, outline=outline, entries=entries)
        if edge.via:
            spots = [spot(*row_column) for row_column in edge.via]
            lane, level = (_lane(source, target, spots, outline, level_ends=level) for level in (False, True))
            paths[number] = lane if is_clear(lane) else level
            continue
        # A bend is to the left of its edge; seen from the other end it is to the right.
        sense = 1.0 if order[edge.source] < order[edge.target] else -1.0
        free = [bend for bend in _bends(together[ends]) if bend * sense not in taken[ends]]
        bend = next((bend for bend in free if is_clear(line(*source, *target, bend=bend))), free[0])
        taken[ends].add(bend * sense)
        paths[number] = line(*source, *target, bend=bend)
    loops = {number: edge for number, edge in enumerate(edges) if edge.source == edge.target}
    paths |= _loops(loops, paths, centres, outline)
    return [paths[number] for number in range(len(edges))]


def _bends(together: int) -> list[float]:
    """Bends to try, the smallest first; an even number of edges lies on both sides of the straight line."""
    steps = range(1, 2 * together + 12)
    sides = [side * step * _BEND for step in steps for side in (1.0, -1.0)]
    return sides if together % 2 == 0 else [0.0, *sides]


def _is_clear(path: Path, *, others: Points, outline: Outline, entries: Sequence[Points]) -> bool:
    points = path.samples(_SAMPLES)
    offsets = np.abs(points[:, None, :] - others[None, :, :])
    sideways = np.maximum(offsets[..., 0] - (outline.half_width - outline.radius), 0.0)
    if not bool((np.hypot(sideways, offsets[..., 1]) > outline.radius + _CLEARANCE).all()):
        return False
    return all(
        bool((np.hypot(*(points[:, None, :] - entry[None, :, :]).transpose(2, 0, 1)) > _CLEARANCE).all())
        for entry in entries
    )


def _lane(source: Point, target: Point, spots: Sequence[Point], outline: Outline, *, level_ends: bool) -> Path:
    """Through the spots, level while it passes the nodes above and below each of them.

    Where nodes are wide it may have to be level at its ends too, to get past the nodes above and
    below these.
    """
    shift = outline.half_width if target[0] > source[0] else -outline.half_width
    passed = [(x + side * shift, y) for x, y in spots for side in (-1, 1)]
    if level_ends:
        passed = [(source[0] + shift, source[1]), *passed, (target[0] - shift, target[1])]
    return through([source, *passed, target])


def _loops(
    loops: Mapping[int, Edge], paths: Mapping[int, Path], centres: Mapping[Hashable, Point], outline: Outline
) -> dict[int, Path]:
    """Each loop above its node, or below where fewer lines are in its way; a second one on the other side."""
    tops = np.array([(x, y + side * outline.radius) for x, y in centres.values() for side in (-1, 1)]).reshape(-1, 2)
    points = np.concatenate([tops, *(path.samples(_SAMPLES) for path in paths.values())])
    sides: dict[Hashable, list[float]] = defaultdict(list)
    drawn: dict[int, Path] = {}
    for number, edge in loops.items():
        x, y = centres[edge.source]
        used = sides[edge.source]
        if not used:
            used.append(min((1.0, -1.0), key=lambda side: _crowd(points, x, y, side, outline)))
        else:
            used.append(-used[-1])
        reach = outline.radius + _LOOP_REACH + _SECOND_LOOP * ((len(used) - 1) // 2)
        drawn[number] = loop(x, y, reach=used[-1] * reach, spread=reach * 0.8)
    return drawn


def _crowd(points: Points, x: float, y: float, side: float, outline: Outline) -> int:
    """How many points of lines and nodes lie where a loop and its texts would be."""
    across = np.abs(points[:, 0] - x) < _LOOP_HALF_WIDTH
    away = (y - points[:, 1]) * side - outline.radius
    return int(np.count_nonzero(across & (away > 1) & (away < 2 * _LOOP_REACH)))


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
    positions = {node.key: (node.column, node.row) for node in diagram.nodes}
    climbs: dict[int, list[float]] = defaultdict(lambda: [0.0])
    for edge in diagram.edges:
        passed = (positions[edge.source], *edge.via, positions[edge.target])
        for (left, from_row), (right, to_row) in map(sorted, itertools.pairwise(passed)):
            for column in range(left + 1, right + 1):
                climbs[column].append((to_row - from_row) * (_LANE_CLIMBS if edge.via else 1))
    used = [column for column, _ in positions.values()] + [column for edge in diagram.edges for column, _ in edge.via]
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
