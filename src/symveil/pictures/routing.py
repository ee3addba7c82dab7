"""The way of each edge: straight where it can be, bent around nodes, in a lane over several columns, a loop."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial

import numpy as np

from symveil.pictures.bezier import Outline, Path, Point, Points, line, loop, through
from symveil.pictures.diagram import Edge

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
            spots = [spot(*place) for place in edge.via]
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
    aside = outline.half_width if target[0] > source[0] else -outline.half_width
    passed = [(x + side * aside, y) for x, y in spots for side in (-1, 1)]
    if level_ends:
        passed = [(source[0] + aside, source[1]), *passed, (target[0] - aside, target[1])]
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
