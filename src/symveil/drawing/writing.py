"""Where the texts of a picture go: values beside nodes, labels and annotations along edges."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from symveil.drawing.bezier import Bezier, Outline
from symveil.drawing.placement import Box, Obstacles
from symveil.drawing.text import width

LABEL_SIZE = 13.0
VALUE_SIZE = 12.5
LINE_HEIGHT = 1.25

Role = Literal["label", "annotation", "value"]

_OFF_THE_LINE = LABEL_SIZE / 2 + 5
_FURTHER = (0.0, 3.0, 6.0, 10.0, 15.0)
_TIMES = (0.5, 0.44, 0.56, 0.38, 0.62, 0.3, 0.7, 0.22, 0.78)


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
    places = [above[0], above[1], below[0], above[2], *below[1:], above[3]]
    (box,), clear = sheet.settle((Box(x + right, y + down, wide, high),) for right, down in places)
    return PlacedText(value, "value", box, clear)


def along_edge(label: str, annotation: str, curve: Bezier, sheet: Obstacles) -> list[PlacedText]:
    """An edge's label above its line and its annotation below: at the same point of it, if there is room."""
    written = _written(label, annotation)
    together = sheet.room(_places_along(curve, written))
    if together is not None:
        return _settled(written, [together], sheet)
    return [text for one in written for text in _settled([one], _places_along(curve, [one]), sheet)]


def beyond_loop(label: str, annotation: str, curve: Bezier, sheet: Obstacles) -> list[PlacedText]:
    """A loop's label and annotation, one after the other beyond its far end."""
    written = _written(label, annotation)
    x, y = curve.at(0.5)
    outwards = -1 if y < curve.start[1] else 1
    boxes = tuple(
        Box(
            x,
            y + outwards * (LABEL_SIZE / 2 + 4 + number * LABEL_SIZE * LINE_HEIGHT),
            width(text, LABEL_SIZE),
            LABEL_SIZE,
        )
        for number, (text, _) in enumerate(written)
    )
    return _settled(written, [boxes], sheet)


_Written = list[tuple[str, Role]]


def _written(label: str, annotation: str) -> _Written:
    texts: _Written = [(label, "label"), (annotation, "annotation")]
    return [(text, role) for text, role in texts if text]


def _settled(written: _Written, groups: Iterable[tuple[Box, ...]], sheet: Obstacles) -> list[PlacedText]:
    boxes, clear = sheet.settle(groups)
    return [PlacedText(text, role, box, clear) for (text, role), box in zip(written, boxes, strict=True)]


def _places_along(curve: Bezier, written: _Written) -> Iterator[tuple[Box, ...]]:
    """Places for texts along an edge, the best first: near the line rather than near its middle."""
    for further in _FURTHER:
        for time in _TIMES:
            x, y = curve.at(time)
            right, down = curve.direction(time)
            if right < -1e-9 or (abs(right) <= 1e-9 and down > 0):  # read from left to right, or upwards
                right, down = -right, -down
            angle = math.degrees(math.atan2(down, right))
            yield tuple(
                Box(x + down * offset, y - right * offset, width(text, LABEL_SIZE), LABEL_SIZE, angle)
                for text, offset in (
                    (text, (_OFF_THE_LINE + further) * (1 if role == "label" else -1)) for text, role in written
                )
            )
