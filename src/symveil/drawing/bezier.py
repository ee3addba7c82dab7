"""The lines of a picture: cubic Bézier curves, and the outlines of nodes that they stop at."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Point = tuple[float, float]
Points = NDArray[np.float64]

_STEPS = 128
_HALVINGS = 20


@dataclass(frozen=True, slots=True)
class Bezier:
    """A cubic curve in screen coordinates (y grows downwards)."""

    start: Point
    first_control: Point
    second_control: Point
    end: Point

    def at(self, time: float) -> Point:
        """The point at a time between 0 (start) and 1 (end)."""
        return self._split(time)[0].end

    def direction(self, time: float) -> Point:
        """The unit tangent at a time; (1, 0) where the curve stands still."""
        before, after = self.at(max(time - 1e-3, 0.0)), self.at(min(time + 1e-3, 1.0))
        across, down = after[0] - before[0], after[1] - before[1]
        length = math.hypot(across, down)
        return (across / length, down / length) if length > 0 else (1.0, 0.0)

    def between(self, begin: float, finish: float) -> Bezier:
        """The piece of the curve between two times, begin < finish.

        >>> line(0, 0, 8, 0).between(0.25, 0.5).end
        (4.0, 0.0)
        """
        head, _ = self._split(finish)
        _, piece = head._split(begin / finish)
        return piece

    def samples(self, count: int) -> Points:
        """`count` points along the curve, ends included, as rows."""
        corners = np.array([self.start, self.first_control, self.second_control, self.end])
        time = np.linspace(0.0, 1.0, count)[:, None]
        rest = 1.0 - time
        weights = np.hstack([rest**3, 3 * rest**2 * time, 3 * rest * time**2, time**3])
        return np.asarray(weights @ corners)

    def _split(self, time: float) -> tuple[Bezier, Bezier]:
        """De Casteljau: the pieces before and after a time."""

        def mix(one: Point, other: Point) -> Point:
            return (one[0] + (other[0] - one[0]) * time, one[1] + (other[1] - one[1]) * time)

        left, middle, right = (
            mix(self.start, self.first_control),
            mix(self.first_control, self.second_control),
            mix(self.second_control, self.end),
        )
        left_middle, middle_right = mix(left, middle), mix(middle, right)
        split = mix(left_middle, middle_right)
        return Bezier(self.start, left, left_middle, split), Bezier(split, middle_right, right, self.end)


def line(x1: float, y1: float, x2: float, y2: float, *, bend: float = 0.0) -> Bezier:
    """A line whose middle is moved by `bend` to the left of its direction (upwards, going right).

    >>> line(0, 0, 30, 0, bend=6).at(0.5)
    (15.0, -6.0)
    """
    length = math.hypot(x2 - x1, y2 - y1) or 1.0
    # At time ½ the two inner controls weigh ¾ together.
    right, down = (y2 - y1) / length * bend * 4 / 3, -(x2 - x1) / length * bend * 4 / 3
    third_x, third_y = (x2 - x1) / 3, (y2 - y1) / 3
    return Bezier(
        (x1, y1),
        (x1 + third_x + right, y1 + third_y + down),
        (x2 - third_x + right, y2 - third_y + down),
        (x2, y2),
    )


def loop(x: float, y: float, *, reach: float, spread: float) -> Bezier:
    """A loop from a point back to it whose far end lies `reach` away: above for a positive reach, else below."""
    return Bezier((x, y), (x - spread, y - reach * 4 / 3), (x + spread, y - reach * 4 / 3), (x, y))


@dataclass(frozen=True, slots=True)
class Outline:
    """The shape of a node around its centre: a circle, drawn out sideways for a long label."""

    half_width: float
    radius: float

    def distance(self, dx: float, dy: float) -> float:
        """How far a point at this offset from the centre lies outside; negative inside."""
        return math.hypot(max(abs(dx) - (self.half_width - self.radius), 0.0), dy) - self.radius

    def leaves(self, curve: Bezier, *, gap: float) -> float:
        """The first time at which a curve from the centre is `gap` outside."""
        centre_x, centre_y = curve.start

        def is_outside(time: float) -> bool:
            x, y = curve.at(time)
            return self.distance(x - centre_x, y - centre_y) > gap

        step = next((index for index in range(1, _STEPS) if is_outside(index / _STEPS)), _STEPS // 2)
        inside, outside = (step - 1) / _STEPS, step / _STEPS
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            inside, outside = (inside, middle) if is_outside(middle) else (middle, outside)
        return outside

    def enters(self, curve: Bezier, *, gap: float) -> float:
        """The last time at which a curve to the centre is `gap` outside."""
        backwards = Bezier(curve.end, curve.second_control, curve.first_control, curve.start)
        return 1.0 - self.leaves(backwards, gap=gap)
