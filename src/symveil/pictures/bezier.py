"""The lines of a picture: paths of cubic Bézier curves, and the outlines of nodes that they stop at.

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
from numpy.typing import NDArray

from symveil.pictures.diagram import Edge

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

    def between(self, begin: float, finish: float) -> Bezier:
        """The piece of the curve between two times, begin < finish."""
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


@dataclass(frozen=True, slots=True)
class Path:
    """Curves joined end to end; time runs from 0 to 1 over all of them, as long over one as over another."""

    pieces: tuple[Bezier, ...]

    @property
    def start(self) -> Point:
        """Where the path begins."""
        return self.pieces[0].start

    @property
    def end(self) -> Point:
        """Where the path ends."""
        return self.pieces[-1].end

    @property
    def backwards(self) -> Path:
        """The same path from its end to its start."""
        return Path(
            tuple(
                Bezier(piece.end, piece.second_control, piece.first_control, piece.start)
                for piece in reversed(self.pieces)
            )
        )

    def at(self, time: float) -> Point:
        """The point at a time between 0 (start) and 1 (end)."""
        index = min(int(time * len(self.pieces)), len(self.pieces) - 1)
        return self.pieces[index].at(time * len(self.pieces) - index)

    def direction(self, time: float) -> Point:
        """The unit tangent at a time; (1, 0) where the path stands still."""
        before, after = self.at(max(time - 1e-3, 0.0)), self.at(min(time + 1e-3, 1.0))
        across, down = after[0] - before[0], after[1] - before[1]
        length = math.hypot(across, down)
        return (across / length, down / length) if length > 0 else (1.0, 0.0)

    def between(self, begin: float, finish: float) -> Path:
        """The part of the path between two times, begin < finish.

        >>> line(0, 0, 8, 0).between(0.25, 0.5).end
        (4.0, 0.0)
        >>> through([(0, 0), (3, 0), (6, 0)]).between(0.25, 1.0).start
        (1.5, 0.0)
        """
        count = len(self.pieces)
        first = min(int(begin * count), count - 1)
        last = max(first, math.ceil(finish * count) - 1)
        if first == last:
            return Path((self.pieces[first].between(begin * count - first, finish * count - first),))
        head = self.pieces[first].between(begin * count - first, 1.0)
        tail = self.pieces[last].between(0.0, finish * count - last)
        return Path((head, *self.pieces[first + 1 : last], tail))

    def samples(self, count: int) -> Points:
        """`count` points along each piece, ends included, as rows."""
        return np.concatenate([piece.samples(count) for piece in self.pieces])


def line(x1: float, y1: float, x2: float, y2: float, *, bend: float = 0.0) -> Path:
    """A line whose middle is moved by `bend` to the left of its direction (upwards, going right).

    >>> line(0, 0, 30, 0, bend=6).at(0.5)
    (15.0, -6.0)
    """
    length = math.hypot(x2 - x1, y2 - y1) or 1.0
    # At time ½ the two inner controls weigh ¾ together.
    right, down = (y2 - y1) / length * bend * 4 / 3, -(x2 - x1) / length * bend * 4 / 3
    third_x, third_y = (x2 - x1) / 3, (y2 - y1) / 3
    curve = Bezier(
        (x1, y1), (x1 + third_x + right, y1 + third_y + down), (x2 - third_x + right, y2 - third_y + down), (x2, y2)
    )
    return Path((curve,))


def through(points: Sequence[Point]) -> Path:
    """A smooth path through points that go only rightwards or only leftwards.

    Its slope at a point is the harmonic mean of the slopes before and after it, or zero at a turn,
    so it never swings beyond the points (monotone cubic interpolation): where it keeps between
    the nodes at the points, it does so everywhere.

    >>> through([(0, 0), (3, 6), (6, 6)]).samples(9)[:, 1].max().item()
    6.0
    """
    rises = [(y2 - y1) / (x2 - x1) for (x1, y1), (x2, y2) in itertools.pairwise(points)]
    slopes = [rises[0], *map(_slope_between, rises, rises[1:]), rises[-1]]
    pieces = []
    for (x1, y1), (x2, y2), leaving, arriving in zip(points, points[1:], slopes, slopes[1:], strict=False):
        third = (x2 - x1) / 3
        pieces.append(
            Bezier((x1, y1), (x1 + third, y1 + third * leaving), (x2 - third, y2 - third * arriving), (x2, y2))
        )
    return Path(tuple(pieces))


def _slope_between(before: float, after: float) -> float:
    return 2 * before * after / (before + after) if before * after > 0 else 0.0


def loop(x: float, y: float, *, reach: float, spread: float) -> Path:
    """A loop from a point back to it whose far end lies `reach` away: above for a positive reach, else below."""
    curve = Bezier((x, y), (x - spread, y - reach * 4 / 3), (x + spread, y - reach * 4 / 3), (x, y))
    return Path((curve,))


@dataclass(frozen=True, slots=True)
class Outline:
    """The shape of a node around its centre: a circle, drawn out sideways for a long label."""

    half_width: float
    radius: float

    def distance(self, dx: float, dy: float) -> float:
        """How far a point at this offset from the centre lies outside; negative inside."""
        return math.hypot(max(abs(dx) - (self.half_width - self.radius), 0.0), dy) - self.radius

    def leaves(self, path: Path, *, gap: float) -> float:
        """The first time at which a path from the centre is `gap` outside."""
        centre_x, centre_y = path.start

        def is_outside(time: float) -> bool:
            x, y = path.at(time)
            return self.distance(x - centre_x, y - centre_y) > gap

        step = next((index for index in range(1, _STEPS) if is_outside(index / _STEPS)), _STEPS // 2)
        inside, outside = (step - 1) / _STEPS, step / _STEPS
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            inside, outside = (inside, middle) if is_outside(middle) else (middle, outside)
        return outside

    def enters(self, path: Path, *, gap: float) -> float:
        """The last time at which a path to the centre is `gap` outside."""
        return 1.0 - self.leaves(path.backwards, gap=gap)


# --- the way of each edge ----------------------------------------------------------

_LOOP_REACH = 34.0  # how far a loop rises above its node

_BEND = 26.0
_SECOND_LOOP = 26.0
_LOOP_HALF_WIDTH = 18.0
_CLEARANCE = 8.0
SAMPLES = 64
"""Points along each piece of a line, to see what it comes near to."""


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
    points = path.samples(SAMPLES)
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
    points = np.concatenate([tops, *(path.samples(SAMPLES) for path in paths.values())])
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
