"""Where the texts of a picture go: values beside nodes, labels and annotations along edges.

Finding room for text: of several places the first that touches nothing, else the least crowded.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from symveil.pictures.bezier import Outline, Path, Point, Points
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
