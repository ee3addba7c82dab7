"""A trip on a map of roads, drawn from coordinates alone: no tiles, so nobody is asked for them.

A road is a line between two points, or a place with one point. Where a trip leaves the true one its
roads are dashed, not only coloured; a small number says in which order they are driven.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from symveil.drawing.colours import BLUE, BORDER, CARD, GREY, INK
from symveil.drawing.svg import FONT, escaped

Point = tuple[float, float]
Road = tuple[Point, Point]
"""Its two ends, x to the right and y upwards; the same point twice for a place."""

STREET = "#d9e0e7"
CHANGED = "#b84a00"
_SIZE, _MARGIN = 420.0, 26.0
_MOST_NUMBERS = 40


def road_map_svg(
    roads: Mapping[str, Road], trip: Sequence[str], *, title: str, original: Sequence[str] | None = None
) -> str:
    """The roads with a trip on them; with `original`, what differs from it, place by place, is dashed.

    >>> roads = {"a": ((0, 0), (1, 0)), "b": ((1, 0), (1, 1)), "c": ((1, 0), (2, 0))}
    >>> picture = road_map_svg(roads, ["a", "c"], title="a trip", original=["a", "b"])
    >>> picture.count('stroke="#d9e0e7"'), picture.count('stroke="#b84a00"')
    (4, 1)
    """
    place = _projection(roads)
    step = _scale(roads, place)
    pieces = [_line(place, road, STREET, 0.55 * step) for road in roads.values()]
    drawn: dict[str, list[int]] = defaultdict(list)
    changed: set[str] = set()
    for number, name in enumerate(trip, start=1):
        drawn[name].append(number)
        if original is not None and original[number - 1] != name:
            changed.add(name)
    before: Point | None = None
    for name in trip:  # places with one point are joined by thin lines, which roads that meet do not need
        middle = _middle(place, roads[name])
        if before is not None and roads[name][0] == roads[name][1]:
            pieces.append(f'<path d="M{_at(before)}L{_at(middle)}" stroke="{BLUE}" stroke-width="1.5" fill="none"/>')
        before = middle
    for name in sorted(drawn, key=lambda each: each in changed):  # what was changed lies on top
        if name in changed:
            pieces.append(_line(place, roads[name], CHANGED, 0.5 * step, dashes=f"{1.1 * step:.1f} {0.7 * step:.1f}"))
        else:
            pieces.append(_line(place, roads[name], BLUE, 0.5 * step))
    if len(trip) <= _MOST_NUMBERS:
        pieces += [_number(place, roads[name], numbers, step) for name, numbers in drawn.items()]
    high = _height(roads)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{_SIZE:g}" height="{high:.0f}" '
            f'viewBox="0 0 {_SIZE:g} {high:.0f}" style="max-width:100%;height:auto" font-family="{FONT}">',
            f"<title>{escaped(title)}</title>",
            f'<rect x="0.5" y="0.5" width="{_SIZE - 1:g}" height="{high - 1:.0f}" rx="12" fill="{CARD}" '
            f'stroke="{BORDER}"/>',
            *pieces,
            "</svg>\n",
        ]
    )


def _bounds(roads: Mapping[str, Road]) -> tuple[float, float, float, float]:
    xs = [x for road in roads.values() for x, _ in road]
    ys = [y for road in roads.values() for _, y in road]
    return min(xs), max(xs), min(ys), max(ys)


def _factor(roads: Mapping[str, Road]) -> float:
    left, right, low, high = _bounds(roads)
    return (_SIZE - 2 * _MARGIN) / (max(right - left, high - low) or 1.0)


def _height(roads: Mapping[str, Road]) -> float:
    _, _, low, high = _bounds(roads)
    return max(120.0, (high - low) * _factor(roads) + 2 * _MARGIN)


class _projection:  # noqa: N801 - used as a function
    """Coordinates to the sheet: the longer side fills it, y turns downwards."""

    def __init__(self, roads: Mapping[str, Road]) -> None:
        left, right, low, high = _bounds(roads)
        self._factor = _factor(roads)
        self._left = (left + right) / 2 - (_SIZE / 2) / self._factor
        self._top = (low + high) / 2 + (_height(roads) / 2) / self._factor

    def __call__(self, point: Point) -> Point:
        return (point[0] - self._left) * self._factor, (self._top - point[1]) * self._factor


def _scale(roads: Mapping[str, Road], place: _projection) -> float:
    """How thick lines are: by the length of a typical road on the sheet."""
    lengths = sorted(math.dist(place(one), place(other)) for one, other in roads.values())
    typical = lengths[len(lengths) // 2] or 40.0
    return min(14.0, max(4.0, typical / 6))


def _line(place: _projection, road: Road, colour: str, wide: float, *, dashes: str = "") -> str:
    one, other = place(road[0]), place(road[1])
    if one == other:
        return f'<circle cx="{one[0]:.1f}" cy="{one[1]:.1f}" r="{wide:.1f}" stroke="{colour}" fill="{colour}"/>'
    pattern = f' stroke-dasharray="{dashes}"' if dashes else ' stroke-linecap="round"'
    return f'<path d="M{_at(one)}L{_at(other)}" stroke="{colour}" stroke-width="{wide:.1f}" fill="none"{pattern}/>'


def _middle(place: _projection, road: Road) -> Point:
    one, other = place(road[0]), place(road[1])
    return (one[0] + other[0]) / 2, (one[1] + other[1]) / 2


def _number(place: _projection, road: Road, numbers: Sequence[int], step: float) -> str:
    x, y = _middle(place, road)
    size = min(12.0, max(8.0, step * 0.95))
    text = ", ".join(map(str, numbers[:3])) + ("…" if len(numbers) > 3 else "")
    wide = size * (0.62 * len(text) + 0.7)
    start = 1 in numbers
    return (
        f'<rect x="{x - wide / 2:.1f}" y="{y - size * 0.75:.1f}" width="{wide:.1f}" height="{size * 1.5:.1f}" '
        f'rx="{size * 0.75:.1f}" fill="{CARD}" stroke="{INK if start else GREY}" '
        f'stroke-width="{2 if start else 0.8}"/>'
        f'<text x="{x:.1f}" y="{y + size * 0.36:.1f}" text-anchor="middle" font-size="{size:.1f}" '
        f'font-weight="{700 if start else 500}" fill="{INK}">{text}</text>'
    )


def _at(point: Point) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"
