"""The way of each edge: straight where it can be, bent around nodes, in a lane over several columns, a loop."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence

import numpy as np

from symveil.drawing.bezier import Outline, Path, Point, Points, line, loop, through
from symveil.drawing.diagram import Edge

LOOP_REACH = 34.0  # how far a loop rises above its node

_BEND = 26.0
_SECOND_LOOP = 26.0
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
        if edge.via:
            paths[number] = _lane(source, target, [spot(*place) for place in edge.via], outline)
            continue
        ends = frozenset((edge.source, edge.target))
        # A bend is to the left of its edge; seen from the other end it is to the right.
        sense = 1.0 if order[edge.source] < order[edge.target] else -1.0
        others = np.array([centre for key, centre in centres.items() if key not in ends]).reshape(-1, 2)
        free = [bend for bend in _bends(together[ends]) if bend * sense not in taken[ends]]
        bend = next((bend for bend in free if _is_clear(source, target, bend, others, outline, entries)), free[0])
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


def _is_clear(
    source: Point, target: Point, bend: float, others: Points, outline: Outline, entries: Sequence[Points]
) -> bool:
    curve = line(*source, *target, bend=bend).samples(_SAMPLES)
    offsets = np.abs(curve[:, None, :] - others[None, :, :])
    sideways = np.maximum(offsets[..., 0] - (outline.half_width - outline.radius), 0.0)
    if not bool((np.hypot(sideways, offsets[..., 1]) > outline.radius + _CLEARANCE).all()):
        return False
    return all(
        bool((np.hypot(*(curve[:, None, :] - entry[None, :, :]).transpose(2, 0, 1)) > _CLEARANCE).all())
        for entry in entries
    )


def _lane(source: Point, target: Point, spots: Sequence[Point], outline: Outline) -> Path:
    """Through the spots, level while it passes the nodes above and below each of them."""
    onwards = 1.0 if target[0] > source[0] else -1.0
    passed = [(x + side * onwards * outline.half_width, y) for x, y in spots for side in (-1.0, 1.0)]
    return through([source, *passed, target])


def _loops(
    loops: Mapping[int, Edge], paths: Mapping[int, Path], centres: Mapping[Hashable, Point], outline: Outline
) -> dict[int, Path]:
    """Each loop above its node, or below where fewer lines are in its way; a second one on the other side."""
    lines = [path.samples(_SAMPLES) for path in paths.values()]
    lines += [np.array(list(centres.values())).reshape(-1, 2)]
    points = np.concatenate(lines)
    sides: dict[Hashable, list[float]] = defaultdict(list)
    drawn: dict[int, Path] = {}
    for number, edge in loops.items():
        x, y = centres[edge.source]
        used = sides[edge.source]
        if not used:
            used.append(min((1.0, -1.0), key=lambda side: _crowd(points, x, y, side, outline)))
        else:
            used.append(-used[-1])
        reach = outline.radius + LOOP_REACH + _SECOND_LOOP * ((len(used) - 1) // 2)
        drawn[number] = loop(x, y, reach=used[-1] * reach, spread=reach * 0.8)
    return drawn


def _crowd(points: Points, x: float, y: float, side: float, outline: Outline) -> int:
    """How many points of lines and nodes lie where a loop and its label would be."""
    across = np.abs(points[:, 0] - x) < outline.radius
    away = (y - points[:, 1]) * side
    return int(np.count_nonzero(across & (away > outline.radius) & (away < outline.radius + 2 * LOOP_REACH)))
