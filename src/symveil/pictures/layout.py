"""From a diagram to coordinates: where nodes, arrows and texts go on the sheet.

Where the texts of a picture go: values beside nodes, labels and annotations along edges. Of several places the first
that touches nothing is taken, else the least crowded.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from symveil.pictures.bezier import SAMPLES, Outline, Path, Point, Points, line, route
from symveil.pictures.diagram import Diagram, Node
from symveil.pictures.text import width

_CLEARANCE = 1.5
_CELL = 48.0


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle around (x, y), turned clockwise by `angle` degrees."""

    x: float
    y: float
    width: float
    height: float
    angle: float = 0.0

    def grid(self) -> Points:
        """Points all over the box, close enough that no line of text slips between them."""
        across = np.linspace(-self.width / 2, self.width / 2, max(3, math.ceil(self.width / 5)))
        down = np.linspace(-self.height / 2, self.height / 2, max(3, math.ceil(self.height / 5)))
        local = np.stack(np.meshgrid(across, down), axis=-1).reshape(-1, 2)
        turn = math.radians(self.angle)
        rotation = np.array([[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]])
        return np.asarray(local @ rotation + (self.x, self.y))


class Obstacles:
    """What is already on the sheet, as a cloud of points. Grows while a picture is laid out.

    The points are kept by the cell of a coarse grid they lie in, so that a text asks its
    neighbourhood only and a picture of a thousand edges is still quick.
    """

    def __init__(self) -> None:
        self._cells: dict[tuple[int, int], list[Points]] = defaultdict(list)

    def add(self, points: Points) -> None:
        """Take up room."""
        cells = np.floor(points / _CELL).astype(np.int64)
        for cell in np.unique(cells, axis=0):
            self._cells[int(cell[0]), int(cell[1])].append(points[(cells == cell).all(axis=1)])

    def touched(self, box: Box) -> int:
        """How many points lie in a box or right beside it."""
        nearby = self._near(box)
        if not nearby:
            return 0
        turn = math.radians(box.angle)
        offsets = np.concatenate(nearby) - (box.x, box.y)
        across = np.abs(offsets @ (math.cos(turn), math.sin(turn)))
        down = np.abs(offsets @ (-math.sin(turn), math.cos(turn)))
        inside = (across <= box.width / 2 + _CLEARANCE) & (down <= box.height / 2 + _CLEARANCE)
        return int(np.count_nonzero(inside))

    def _near(self, box: Box) -> list[Points]:
        turn = math.radians(box.angle)
        cosine, sine = abs(math.cos(turn)), abs(math.sin(turn))
        half_width = (box.width * cosine + box.height * sine) / 2 + 2 * _CLEARANCE
        half_height = (box.width * sine + box.height * cosine) / 2 + 2 * _CLEARANCE
        columns = range(math.floor((box.x - half_width) / _CELL), math.floor((box.x + half_width) / _CELL) + 1)
        rows = range(math.floor((box.y - half_height) / _CELL), math.floor((box.y + half_height) / _CELL) + 1)
        return [points for column in columns for row in rows for points in self._cells.get((column, row), ())]

    def settle(self, groups: Iterable[tuple[Box, ...]]) -> tuple[tuple[Box, ...], bool]:
        """Choose among groups of boxes, best first, and take up their room; False where one touches something."""
        best: tuple[Box, ...] = ()
        fewest = math.inf
        for group in groups:
            touched = sum(map(self.touched, group))
            if touched < fewest:
                best, fewest = group, touched
            if fewest == 0:
                break
        for box in best:
            self.add(box.grid())
        return best, fewest == 0

    def room(self, groups: Iterable[tuple[Box, ...]]) -> tuple[Box, ...] | None:
        """The first group that touches nothing, if there is one; its room is not taken up yet."""
        return next((group for group in groups if not any(map(self.touched, group))), None)


LABEL_SIZE = 13.0
VALUE_SIZE = 12.5
LINE_HEIGHT = 1.25

Role = Literal["label", "annotation", "value"]

_OFF_THE_LINE = 5.0
_STEEP = 50.0  # degrees from which on a text is easier to read level, beside its line
_FURTHER = (0.0, 3.0, 6.0, 10.0, 15.0)
_TIMES = (0.5, 0.44, 0.56, 0.38, 0.62, 0.3, 0.7, 0.22, 0.78)


def breadth(text: str) -> float:
    """How wide the widest line of a text at an edge is."""
    return max(width(line, LABEL_SIZE) for line in text.split("\n"))


def height(text: str) -> float:
    """How high the lines of a text at an edge are together."""
    return LABEL_SIZE * (1 + text.count("\n") * LINE_HEIGHT)


@dataclass(frozen=True, slots=True)
class PlacedText:
    """A text in its box; one that could not keep clear of everything wants a plate behind it."""

    text: str
    role: Role
    box: Box
    clear: bool


def beside_node(value: str, x: float, y: float, outline: Outline, sheet: Obstacles) -> PlacedText:
    """A node's value: above the node, or wherever around it there is room."""
    wide, high = width(value, VALUE_SIZE), VALUE_SIZE
    up = outline.radius + 4 + high / 2
    lean = outline.half_width * 0.5 + wide / 2
    above = [(0.0, -up), (-lean * 0.6, -up), (-lean, -up), (lean, -up)]
    below = [(0.0, up), (lean * 0.6, up), (lean, up), (-lean, up)]
    positions = [above[0], above[1], below[0], above[2], *below[1:], above[3]]
    (box,), clear = sheet.settle((Box(x + right, y + down, wide, high),) for right, down in positions)
    return PlacedText(value, "value", box, clear)


def along_edge(label: str, annotation: str, curve: Path, sheet: Obstacles) -> list[PlacedText]:
    """An edge's label above its line and its annotation below: at the same point of it, if there is room."""
    written = _written(label, annotation)
    together = sheet.room(_boxes_along(curve, written))
    if together is not None:
        return _settled(written, [together], sheet)
    return [text for one in written for text in _settled([one], _boxes_along(curve, [one]), sheet)]


def beyond_loop(label: str, annotation: str, curve: Path, sheet: Obstacles) -> list[PlacedText]:
    """A loop's label and annotation, one after the other beyond its far end."""
    written = _written(label, annotation)
    x, y = curve.at(0.5)
    outwards = -1 if y < curve.start[1] else 1
    boxes: list[Box] = []
    away = 4.0
    for text, _ in written:
        high = height(text)
        boxes.append(Box(x, y + outwards * (away + high / 2), breadth(text), high))
        away += high + LABEL_SIZE * (LINE_HEIGHT - 1)
    return _settled(written, [tuple(boxes)], sheet)


_Written = list[tuple[str, Role]]


def _written(label: str, annotation: str) -> _Written:
    texts: _Written = [(label, "label"), (annotation, "annotation")]
    return [(text, role) for text, role in texts if text]


def _settled(written: _Written, groups: Iterable[tuple[Box, ...]], sheet: Obstacles) -> list[PlacedText]:
    boxes, clear = sheet.settle(groups)
    return [PlacedText(text, role, box, clear) for (text, role), box in zip(written, boxes, strict=True)]


def _boxes_along(curve: Path, written: _Written) -> Iterator[tuple[Box, ...]]:
    """Places for texts along an edge, the best first: near the line rather than near its middle."""
    for further in _FURTHER:
        for time in _TIMES:
            x, y = curve.at(time)
            right, down = curve.direction(time)
            if right < -1e-9 or (abs(right) <= 1e-9 and down > 0):  # read from left to right, or upwards
                right, down = -right, -down
            angle = math.degrees(math.atan2(down, right))
            for upright in (True, False) if abs(angle) > _STEEP else (False,):
                yield tuple(
                    _beside(text, role, (x, y), (right, down), further, angle=0.0 if upright else angle)
                    for text, role in written
                )


def _beside(text: str, role: Role, point: Point, direction: Point, further: float, *, angle: float) -> Box:
    """A box beside a line, turned by `angle`: a label to the left of its direction, an annotation to the right."""
    (x, y), (right, down) = point, direction
    wide, high = breadth(text), height(text)
    # How far the box reaches towards the line, which it is turned against unless it lies along it.
    turned = math.atan2(down, right) - math.radians(angle)
    reach = (abs(math.sin(turned)) * wide + abs(math.cos(turned)) * high) / 2
    offset = (reach + _OFF_THE_LINE + further) * (1 if role == "label" else -1)
    return Box(x + down * offset, y - right * offset, wide, high, angle)


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
        sheet.add(arrow.line.samples(SAMPLES))
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
    cloud += [arrow.line.samples(SAMPLES) for arrow in (*arrows, *entries)]
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
    points = curve.samples(SAMPLES)
    (left, top), (right, bottom) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
    return Box((left + right) / 2, (top + bottom) / 2, right - left, bottom - top)


def _node_box(placed: PlacedNode, outline: Outline) -> Box:
    return Box(placed.x, placed.y, 2 * outline.half_width, 2 * outline.radius)
