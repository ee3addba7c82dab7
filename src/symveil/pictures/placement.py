"""Finding room for text: of several places the first that touches nothing, else the least crowded."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from symveil.pictures.bezier import Points

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
