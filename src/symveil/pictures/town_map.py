"""A small town as SVG: its streets and its river, the names of streets, one-way arrows, and a trip in its lane.

Unlike `road_map`, which draws any roads as they are, this one knows blocks: both directions of a street are one street
on the sheet, and a trip keeps to the right of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from symveil.pictures.bezier import Point
from symveil.pictures.charts import PALETTE
from symveil.pictures.road_map import Road
from symveil.pictures.svg import FONT, escaped
from symveil.pictures.text import BLUE, BORDER, CARD, GREY, GROUND, INK

CHANGED = PALETTE[1]
_WATER, _TRUE, _CASING = "#bcdcf0", "#9cc3ea", "#c9d2db"
_MARGIN = 55.0
_LANE, _STREET, _WIDE_RIVER = 8.0, 22.0, 60.0
"""Metres: from the middle of a street to a lane, and how wide streets and rivers are drawn."""


@dataclass(frozen=True, slots=True)
class TownPlan:
    """What is drawn of a town: its blocks by name, which of them are one-way, its river, and the names of streets.

    >>> TownPlan({"a": ((0, 0), (100, 0))}).size
    (210.0, 110.0)
    """

    blocks: Mapping[str, Road]
    one_way: frozenset[str] = frozenset()
    river: Sequence[Point] = ()
    names: Sequence[tuple[str, str]] = ()
    places: Sequence[tuple[str, Point]] = ()

    @property
    def corner(self) -> Point:
        """The least x and the largest y of the sheet."""
        points = [point for road in self.blocks.values() for point in road]
        return min(x for x, _ in points) - _MARGIN, max(y for _, y in points) + _MARGIN

    @property
    def size(self) -> Point:
        """How wide and how high the sheet is, in metres."""
        points = [point for road in self.blocks.values() for point in road]
        left, top = self.corner
        return max(x for x, _ in points) + _MARGIN - left, top - min(y for _, y in points) + _MARGIN

    def at(self, point: Point) -> Point:
        """A point on the sheet: y downwards."""
        left, top = self.corner
        return point[0] - left, top - point[1]

    def lane(self, name: str) -> Road:
        """A block on the sheet: in the middle of the street if it is one-way, else on the right of it."""
        (x1, y1), (x2, y2) = map(self.at, self.blocks[name])
        if name in self.one_way:
            return (x1, y1), (x2, y2)
        length = math.dist((x1, y1), (x2, y2)) or 1.0
        right = -(y2 - y1) / length * _LANE, (x2 - x1) / length * _LANE
        return (x1 + right[0], y1 + right[1]), (x2 + right[0], y2 + right[1])


def town_svg(
    plan: TownPlan,
    trip: Sequence[str] = (),
    *,
    title: str,
    original: Sequence[str] | None = None,
    named: bool = False,
) -> str:
    """The town with a trip in it. A picture with the true trip beside the private one is for its holder only.

    Parameters
    ----------
    plan
        The town.
    trip
        The names of its blocks, in order.
    title
        What the picture is called, and what it says to who cannot see it.
    original
        The true trip: it lies pale below, and blocks that differ from its block at the same position are dashed.
    named
        Whether streets have their names, and one-way streets arrows.

    >>> plan = TownPlan({"a": ((0, 0), (100, 0)), "b": ((100, 0), (200, 0)), "c": ((100, 0), (100, 90))})
    >>> town_svg(plan, ["a", "c"], original=["a", "b"], title="a trip").count(CHANGED)
    1
    """
    wide, high = plan.size
    pieces = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{wide:.0f}" height="{high:.0f}" '
        f'viewBox="0 0 {wide:.0f} {high:.0f}" style="max-width:100%;height:auto" font-family="{FONT}">',
        f"<title>{escaped(title)}</title>",
        f'<rect x="1" y="1" width="{wide - 2:.0f}" height="{high - 2:.0f}" rx="18" fill="{GROUND}" stroke="{BORDER}"/>',
    ]
    if plan.river:
        pieces.append(_river([plan.at(point) for point in plan.river]))
    streets = {frozenset(road): road for road in plan.blocks.values()}.values()
    for colour, wide_street in ((_CASING, _STREET + 5), (CARD, _STREET)):
        pieces += [_line(map(plan.at, road), colour, wide_street) for road in streets]
        pieces += [
            _dot(plan.at(point), colour, wide_street / 2) for point in {p: None for road in streets for p in road}
        ]
    if named:
        written = {block for _, block in plan.names}
        pieces += [_arrow(plan.lane(name)) for name in plan.blocks if name in plan.one_way and name not in written]
        pieces += [_written(name, *map(plan.at, plan.blocks[block])) for name, block in plan.names]
        pieces += [_place(name, plan.at(point)) for name, point in plan.places]
    if original is not None:
        pieces.append(_line(_through(plan, original), _TRUE, 34.0))
    pieces += _driven(plan, trip, original)
    return "\n".join([*pieces, "</svg>\n"])


def _driven(plan: TownPlan, trip: Sequence[str], original: Sequence[str] | None) -> list[str]:
    if not trip:
        return []
    wrong = [original is not None and name != original[index] for index, name in enumerate(trip)]
    lanes = [plan.lane(name) for name in trip]
    pieces = [_line((before[1], after[0]), BLUE, 14.0) for before, after in pairwise(lanes)]  # across the crossings
    for lane, differs in sorted(zip(lanes, wrong, strict=True), key=lambda each: each[1]):  # what differs lies on top
        pieces.append(_line(lane, CHANGED if differs else BLUE, 16.0, dashes="26 12" if differs else ""))
    (x, y), end = lanes[0][0], _towards(lanes[-1])
    pieces.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="17" fill="{CARD}" stroke="{INK}" stroke-width="8"/>')
    pieces.append(_polygon(end, INK))
    return pieces


def _through(plan: TownPlan, trip: Sequence[str]) -> list[Point]:
    return [point for name in trip for point in plan.lane(name)]


def _towards(lane: Road, *, long: float = 46.0, wide: float = 24.0, at: float = 1.0) -> list[Point]:
    """The corners of an arrow head on a lane, its tip at a share of the way."""
    (x1, y1), (x2, y2) = lane
    length = math.dist(*lane) or 1.0
    across, down = (x2 - x1) / length, (y2 - y1) / length
    tip = x1 + at * (x2 - x1), y1 + at * (y2 - y1)
    neck = tip[0] - long * across, tip[1] - long * down
    return [tip, *((neck[0] - side * down * wide, neck[1] + side * across * wide) for side in (1, -1))]


def _arrow(lane: Road) -> str:
    return _polygon(_towards(lane, long=17.0, wide=7.0, at=0.55), GREY)


def _river(points: Sequence[Point]) -> str:
    """Smooth through the middles between points."""
    middles = [((x1 + x2) / 2, (y1 + y2) / 2) for (x1, y1), (x2, y2) in pairwise(points)]
    bends = " ".join(
        f"Q{x:.1f} {y:.1f} {u:.1f} {v:.1f}" for (x, y), (u, v) in zip(points[1:], middles[1:], strict=False)
    )
    (x, y), (u, v) = points[0], points[-1]
    path = f"M{x:.1f} {y:.1f}L{middles[0][0]:.1f} {middles[0][1]:.1f}{bends}L{u:.1f} {v:.1f}"
    return f'<path d="{path}" stroke="{_WATER}" stroke-width="{_WIDE_RIVER:g}" fill="none"/>'


def _place(name: str, at: Point) -> str:
    return (
        f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" text-anchor="middle" font-size="15" font-style="italic" '
        f'fill="{GREY}">{escaped(name)}</text>'
    )


def _dot(at: Point, colour: str, radius: float) -> str:
    return f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius:.1f}" fill="{colour}"/>'


def _polygon(corners: Iterable[Point], colour: str) -> str:
    return f'<path d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in corners)}Z" fill="{colour}"/>'


def _line(points: Iterable[Point], colour: str, wide: float, *, dashes: str = "") -> str:
    pattern = f' stroke-dasharray="{dashes}"' if dashes else ' stroke-linecap="round"'
    return (
        f'<path d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in points)}" stroke="{colour}" stroke-width="{wide:g}" '
        f'fill="none" stroke-linejoin="round"{pattern}/>'
    )


def _written(name: str, start: Point, end: Point) -> str:
    """A name along a line, never upside down."""
    x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    angle = math.degrees(math.atan2(end[1] - start[1], end[0] - start[0]))
    angle = angle - 180 if angle > 90 else angle + 180 if angle < -90 else angle
    return (
        f'<text transform="translate({x:.1f} {y:.1f}) rotate({angle:.1f})" y="5.5" text-anchor="middle" '
        f'font-size="16" font-weight="600" fill="{INK}">{escaped(name)}</text>'
    )
