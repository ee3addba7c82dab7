"""Maps of roads with a trip, weights or flows, drawn from coordinates alone: no tiles, so no server is asked for them.

A road is a line between two points, or a place with one point. Where a trip leaves the true one its
roads are dashed, not only coloured; a small number says in which order they are driven. Flows are arrows that bend to
the right, so that both directions are seen.

The map of a town knows more: both directions of a street are one street on the sheet, a trip keeps to the right of it,
and there are a river, the names of streets and one-way arrows.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from symveil.pictures.bezier import Point
from symveil.pictures.charts import PALETTE
from symveil.pictures.limits import LIMITS
from symveil.pictures.svg import escaped, svg_document
from symveil.pictures.text import BLUE, BORDER, CARD, GREY, GROUND, INK

Road = tuple[Point, Point]
"""Its two ends, x to the right and y upwards; the same point twice for a place."""

CHANGED = PALETTE[1]
_SIZE, _MARGIN = 420.0, 26.0
_SHORTEST_NUMBERED = 26.0
_MOST_OF_A_MAP = 0.5
_WIDEST, _THINNEST, _HEAD, _BEND = 7.0, 0.8, 5.0, 0.18

_WATER, _TRUE, _CASING = "#bcdcf0", "#9cc3ea", "#c9d2db"
_AROUND, _LANE, _STREET, _RIVER, _TRAIL, _STEP = 55.0, 8.0, 22.0, 60.0, 34.0, 30.0
"""Metres of a town: its margin, from the middle of a street to a lane, how wide streets, the river, the trail of a true
trip and twice a trip are drawn.
"""


@dataclass(frozen=True, slots=True)
class TownPlan:
    """What is drawn of a town: its blocks by name, which of them are one-way, its river, and the names of streets.

    Parameters
    ----------
    blocks
        The two ends of each block, from where to where it is driven, in metres; y upwards.
    one_way
        The blocks that have no other direction.
    river
        Points along it.
    names
        The name of each street, and the block it is written on.
    places
        What is where: a name and a point.

    >>> TownPlan({"a": ((0, 0), (100, 0))}).size
    (210.0, 110.0)
    """

    blocks: Mapping[str, Road]
    one_way: frozenset[str] = frozenset()
    river: Sequence[Point] = ()
    names: Sequence[tuple[str, str]] = ()
    places: Sequence[tuple[str, Point]] = ()

    @property
    def size(self) -> Point:
        """How wide and how high the sheet is, in metres."""
        left, right, low, high = _box(self.blocks.values())
        return right - left + 2 * _AROUND, high - low + 2 * _AROUND

    def lane(self, name: str) -> Road:
        """Where a block is driven: in the middle of the street if it is one-way, else on the right of it."""
        (x1, y1), (x2, y2) = self.blocks[name]
        if name in self.one_way:
            return (x1, y1), (x2, y2)
        length = math.dist((x1, y1), (x2, y2)) or 1.0
        right = (y2 - y1) / length * _LANE, -(x2 - x1) / length * _LANE
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

    The `original` trip lies pale below; blocks of the trip that differ from its block at the same position are dashed.
    `named` streets have their names, and one-way streets arrows.

    >>> plan = TownPlan({"a": ((0, 0), (100, 0)), "b": ((100, 0), (200, 0)), "c": ((100, 0), (100, 90))})
    >>> town_svg(plan, ["a", "c"], original=["a", "b"], title="a trip").count(CHANGED)
    1
    """
    (wide, high), (left, _, _, top) = plan.size, _box(plan.blocks.values())
    sheet = _Sheet(left - _AROUND, top + _AROUND, 1.0, high)
    pieces = [f'<rect x="1" y="1" width="{wide - 2:.0f}" height="{high - 2:.0f}" rx="12" fill="{GROUND}"/>']
    if plan.river:
        pieces.append(_river([sheet(point) for point in plan.river]))
    streets = {frozenset(road): road for road in plan.blocks.values()}.values()
    pieces += [_line(sheet, road, _CASING, _STREET + 5) for road in streets]
    pieces += [_line(sheet, road, CARD, _STREET) for road in streets]
    lanes = {name: plan.lane(name) for name in plan.blocks}
    if named:
        written = {block for _, block in plan.names}
        arrows = [lanes[name] for name in plan.blocks if name in plan.one_way and name not in written]
        pieces += [_arrow_head(sheet, lane, GREY, long=17.0, wide=14.0, at=0.55) for lane in arrows]
        pieces += [_text(*_along(sheet, plan.blocks[block]), name, 16.0) for name, block in plan.names]
        pieces += [_text(sheet(point), 0.0, name, 15.0, colour=GREY) for name, point in plan.places]
    if original is not None:
        pieces.append(_line(sheet, [point for name in original for point in lanes[name]], _TRUE, _TRAIL))
    if trip:
        driven = [lanes[name] for name in trip]
        gaps = [(before[1], after[0]) for before, after in pairwise(driven) if before[1] != after[0]]
        pieces += [_line(sheet, gap, BLUE, _STEP / 2) for gap in gaps]  # across the crossings
        pieces += _driven(sheet, lanes, trip, original, _STEP)
        x, y = sheet(driven[0][0])
        pieces.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="17" fill="{CARD}" stroke="{INK}" stroke-width="8"/>')
        pieces.append(_arrow_head(sheet, driven[-1], INK, long=46.0, wide=48.0))
    return svg_document(title, pieces, wide=round(wide), high=round(high))


def road_map_svg(
    roads: Mapping[str, Road],
    trip: Sequence[str],
    *,
    title: str,
    original: Sequence[str] | None = None,
    around: Iterable[str] = (),
) -> str:
    """The roads with a trip on them, as SVG. A picture with the true trip is for its holder only.

    Parameters
    ----------
    roads
        The two ends of each road by its name, x to the right and y upwards; the same point twice for a place
        (`sv.read_coordinates` reads them).
    trip
        The names of its roads, in order.
    title
        What the picture is called.
    original
        The true trip, if it is to be compared: what differs from it, road by road, is dashed.
    around
        The roads to look at closely, with some of what surrounds them; without any the whole map is shown.

    >>> roads = {"a": ((0, 0), (1, 0)), "b": ((1, 0), (1, 1)), "c": ((1, 0), (2, 0))}
    >>> picture = road_map_svg(roads, ["a", "c"], title="a trip", original=["a", "b"])
    >>> picture.count('stroke="#d9e0e7"'), picture.count('stroke="#b84a00"')
    (4, 1)
    """
    roads = tame(roads)
    sheet = _Sheet.of(roads, list(around))
    seen = {name: road for name, road in roads.items() if sheet.shows(road)}
    typical = _typical_length(seen, sheet)
    step = _thickness(typical)
    pieces = [_line(sheet, road, BORDER, 0.55 * step) for road in seen.values()]
    drawn: dict[str, list[int]] = defaultdict(list)
    for number, name in enumerate(trip, start=1):
        drawn[name].append(number)
    before: Point | None = None
    for name in trip:  # places with one point are joined by thin lines, which roads that meet do not need
        middle = _middle(sheet, roads[name])
        if before is not None and roads[name][0] == roads[name][1]:
            pieces.append(f'<path d="M{_at(before)}L{_at(middle)}" stroke="{BLUE}" stroke-width="1.5" fill="none"/>')
        before = middle
    pieces += _driven(sheet, roads, trip, original, step)
    if len(trip) <= LIMITS.now.map_numbers and typical >= _SHORTEST_NUMBERED:
        pieces += [_number(sheet, roads[name], numbers, step) for name, numbers in drawn.items()]
    elif trip:  # on small roads numbers would hide them: a ring says where it begins
        x, y = _middle(sheet, roads[trip[0]])
        pieces.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" stroke="{INK}" stroke-width="2" fill="none"/>')
    return svg_document(title, pieces, wide=_SIZE, high=round(sheet.high))


def road_weights_svg(roads: Mapping[str, Road], weights: Mapping[str, float], *, title: str, heaviest: float) -> str:
    """The roads, each as thick and as dark as its weight is large beside the `heaviest`.

    >>> roads = {"a": ((0, 0), (1, 0)), "b": ((1, 0), (1, 1))}
    >>> picture = road_weights_svg(roads, {"a": 2.0}, title="visits", heaviest=2.0)
    >>> picture.count('stroke="#d9e0e7"'), picture.count('stroke="#0b5fb3"')
    (3, 1)
    """
    roads = tame(roads)
    sheet = _Sheet.of(roads, [])
    step = _thickness(_typical_length(roads, sheet))
    pieces = [_line(sheet, road, BORDER, 0.25 * step) for road in roads.values()]
    for name in sorted(roads, key=lambda each: weights.get(each, 0.0)):  # the heaviest lie on top
        share = min(1.0, weights.get(name, 0.0) / (heaviest or 1.0))
        if share > 0:
            line = _line(sheet, roads[name], BLUE, (0.2 + 0.9 * share) * step)
            shade = f'opacity="{0.25 + 0.75 * share:.2f}"'
            pieces.append(f"<g {shade}><title>{escaped(name)}: {weights[name]:.3g}</title>{line}</g>")
    return svg_document(title, pieces, wide=_SIZE, high=round(sheet.high))


def flows_svg(roads: Mapping[str, Road], flows: Mapping[tuple[str, str], float], *, title: str) -> str:
    """The roads in grey, and the largest flows as arrows from the middle of one to that of another.

    An arrow is as wide and as dark as its flow is large beside the largest; a flow from a road to itself is a ring.

    >>> roads = {"a": ((0, 0), (1, 0)), "b": ((1, 0), (1, 1))}
    >>> picture = flows_svg(roads, {("a", "b"): 30.0, ("b", "b"): 10.0, ("b", "a"): 0.0}, title="moves")
    >>> "<title>a → b: 30</title>" in picture, picture.count("<g opacity")
    (True, 2)
    """
    roads = tame(roads)
    sheet = _Sheet.of(roads, [])
    step = _thickness(_typical_length(roads, sheet))
    pieces = [_line(sheet, road, BORDER, 0.25 * step) for road in roads.values()]
    positive = sorted(((value, pair) for pair, value in flows.items() if value > 0), reverse=True)
    shown = positive[: LIMITS.now.map_flows]
    for value, (origin, destination) in reversed(shown):  # the largest lie on top
        share = value / shown[0][0]
        text = f"<title>{escaped(origin)} → {escaped(destination)}: {value:.6g}</title>"
        arrow = _flow(_middle(sheet, roads[origin]), _middle(sheet, roads[destination]), share)
        pieces.append(f'<g opacity="{0.25 + 0.65 * share:.2f}">{text}{arrow}</g>')
    if len(roads) <= LIMITS.now.map_names:
        middles = {name: _middle(sheet, road) for name, road in roads.items()}
        pieces += [_name((x, y - 9), name) for name, (x, y) in middles.items()]
    if shown:
        more = f"the {len(shown)} largest of {len(positive)}; " if len(shown) < len(positive) else ""
        pieces.append(_name((_SIZE / 2, sheet.high - 10), f"{title}; {more}the widest arrow is {shown[0][0]:.4g}"))
    return svg_document(title, pieces, wide=_SIZE, high=round(sheet.high))


def _driven(
    sheet: _Sheet, roads: Mapping[str, Road], trip: Sequence[str], original: Sequence[str] | None, step: float
) -> Iterator[str]:
    """The roads of a trip; those that differ from the true one's at the same position are dashed, and lie on top."""
    changed = {name for index, name in enumerate(trip) if original is not None and original[index] != name}
    for name in sorted(dict.fromkeys(trip), key=lambda each: each in changed):
        colour, dashes = (CHANGED, f"{1.1 * step:.1f} {0.7 * step:.1f}") if name in changed else (BLUE, "")
        yield _line(sheet, roads[name], colour, 0.5 * step, dashes=dashes)


def _flow(begin: Point, end: Point, share: float) -> str:
    """An arrow that bends to the right, or a ring where both ends are one place."""
    wide = _THINNEST + (_WIDEST - _THINNEST) * share
    length = math.dist(begin, end)
    if length < 2 * _HEAD:
        x, y = begin
        ring = f'cx="{x:.1f}" cy="{y:.1f}" r="{_HEAD + wide:.1f}"'
        return f'<circle {ring} stroke="{BLUE}" stroke-width="{wide:.1f}" fill="none"/>'
    across, down = (end[0] - begin[0]) / length, (end[1] - begin[1]) / length
    bend = _BEND * length
    control = (begin[0] + end[0]) / 2 - down * bend, (begin[1] + end[1]) / 2 + across * bend
    head = _HEAD + wide
    neck, shape = _head(control, end, long=head, wide=1.1 * head, colour=BLUE)
    line = f'<path d="M{_at(begin)}Q{_at(control)} {_at(neck)}" stroke="{BLUE}" stroke-width="{wide:.1f}" fill="none"/>'
    return line + shape


def _head(before: Point, tip: Point, *, long: float, wide: float, colour: str) -> tuple[Point, str]:
    """The head of an arrow that comes from a point before its tip: where the line runs into it, and its shape."""
    length = math.dist(before, tip) or 1.0
    across, down = (tip[0] - before[0]) / length, (tip[1] - before[1]) / length
    neck = tip[0] - across * long, tip[1] - down * long
    sides = [(neck[0] - turn * down * wide / 2, neck[1] + turn * across * wide / 2) for turn in (1, -1)]
    return neck, f'<path d="M{_at(tip)}L{_at(sides[0])}L{_at(sides[1])}Z" fill="{colour}"/>'


def _arrow_head(sheet: _Sheet, lane: Road, colour: str, *, long: float, wide: float, at: float = 1.0) -> str:
    """An arrow head on a lane, its tip at a share of the way."""
    (x1, y1), (x2, y2) = map(sheet, lane)
    return _head((x1, y1), (x1 + at * (x2 - x1), y1 + at * (y2 - y1)), long=long, wide=wide, colour=colour)[1]


def _river(points: Sequence[Point]) -> str:
    """Smooth through the middles between points."""
    middles = [((x1 + x2) / 2, (y1 + y2) / 2) for (x1, y1), (x2, y2) in pairwise(points)]
    bends = " ".join(f"Q{_at(point)} {_at(after)}" for point, after in zip(points[1:], middles[1:], strict=False))
    path = f"M{_at(points[0])}L{_at(middles[0])}{bends}L{_at(points[-1])}"
    return f'<path d="{path}" stroke="{_WATER}" stroke-width="{_RIVER:g}" fill="none"/>'


def _along(sheet: _Sheet, road: Road) -> tuple[Point, float]:
    """The middle of a road, and its angle for a text that is never upside down."""
    (x1, y1), (x2, y2) = map(sheet, road)
    angle = math.degrees(math.atan2(y2 - y1, x2 - x1))
    return _middle(sheet, road), angle - 180 if angle > 90 else angle + 180 if angle < -90 else angle


def _text(at: Point, angle: float, text: str, size: float, *, colour: str = INK) -> str:
    """A text around a point."""
    return (
        f'<text transform="translate({_at(at)}) rotate({angle:.1f})" y="{0.35 * size:.1f}" text-anchor="middle" '
        f'font-size="{size:g}" font-weight="600" fill="{colour}">{escaped(text)}</text>'
    )


def _name(at: Point, text: str) -> str:
    return (
        f'<text x="{at[0]:.1f}" y="{at[1] + 3:.1f}" text-anchor="middle" font-size="9.5" fill="{INK}" stroke="{CARD}" '
        f'stroke-width="2.5" paint-order="stroke">{escaped(text)}</text>'
    )


def tame(roads: Mapping[str, Road]) -> Mapping[str, Road]:
    """The same roads, in another unit where the differences of coordinates would leave the floats."""
    largest = max((abs(part) for road in roads.values() for point in road for part in point), default=0.0)
    if largest == 0 or 1e-100 < largest < 1e100:
        return roads
    return {
        name: ((x1 / largest, y1 / largest), (x2 / largest, y2 / largest))
        for name, ((x1, y1), (x2, y2)) in roads.items()
    }


@dataclass(frozen=True, slots=True)
class _Sheet:
    """Coordinates to the sheet: the longer side fills it, y turns downwards."""

    left: float
    top: float
    factor: float
    high: float

    @classmethod
    def of(cls, roads: Mapping[str, Road], around: Sequence[str]) -> _Sheet:
        left, right, low, high_up = _box(roads[name] for name in around) if around else _box(roads.values())
        if around:  # and some of what surrounds them, so that one sees where it is; beyond the map there is nothing
            room = 0.3 * _extent(right - left, high_up - low)
            all_left, all_right, all_low, all_high = _box(roads.values())
            left, right = max(left - room, all_left), min(right + room, all_right)
            low, high_up = max(low - room, all_low), min(high_up + room, all_high)
        wide, tall = right - left, high_up - low
        factor = (_SIZE - 2 * _MARGIN) / _extent(wide, tall)
        high = max(0.6 * _SIZE, tall * factor + 2 * _MARGIN)
        middle_x, middle_y = (left + right) / 2, (low + high_up) / 2
        return cls(middle_x - _SIZE / 2 / factor, middle_y + high / 2 / factor, factor, high)

    def __call__(self, point: Point) -> Point:
        """Where a point lies on the sheet."""
        return (point[0] - self.left) * self.factor, (self.top - point[1]) * self.factor

    def shows(self, road: Road) -> bool:
        """Whether some of a road may lie on the sheet."""
        (x1, y1), (x2, y2) = self(road[0]), self(road[1])
        return max(x1, x2) >= 0 and min(x1, x2) <= _SIZE and max(y1, y2) >= 0 and min(y1, y2) <= self.high


def covers_most(roads: Mapping[str, Road], some: Iterable[str]) -> bool:
    """Whether some roads are spread over so much of a map that looking at them closely shows no more.

    >>> roads = {"a": ((0, 0), (1, 0)), "b": ((1, 0), (2, 0)), "c": ((2, 0), (9, 0))}
    >>> covers_most(roads, ["a", "c"]), covers_most(roads, ["a", "b"])
    (True, False)
    """
    roads = tame(roads)
    (left, right, low, high), (all_left, all_right, all_low, all_high) = (
        _box(each) for each in ([roads[name] for name in some], roads.values())
    )
    return _extent(right - left, high - low) > _MOST_OF_A_MAP * _extent(all_right - all_left, all_high - all_low)


def _box(roads: Iterable[Road]) -> tuple[float, float, float, float]:
    """Left, right, lower and upper end."""
    points = [point for road in roads for point in road]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return min(xs), max(xs), min(ys), max(ys)


def _extent(wide: float, tall: float) -> float:
    """The longer side; one where all is in one place, or as good as."""
    longer = max(wide, tall)
    return longer if longer > 1e-150 else 1.0


def _typical_length(roads: Mapping[str, Road], sheet: _Sheet) -> float:
    """How long a typical road is on the sheet; places have no length, and as much room as a long one."""
    lengths = sorted(math.dist(sheet(one), sheet(other)) for one, other in roads.values())
    return (lengths[len(lengths) // 2] if lengths else 0.0) or 40.0


def _thickness(typical: float) -> float:
    """How thick lines are."""
    return min(14.0, max(4.0, typical / 6))


def _line(sheet: _Sheet, points: Sequence[Point], colour: str, wide: float, *, dashes: str = "") -> str:
    drawn = [sheet(point) for point in points]
    if len(drawn) == 2 and drawn[0] == drawn[1]:
        (x, y), _ = drawn
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{wide:.1f}" stroke="{colour}" fill="{colour}"/>'
    pattern = f' stroke-dasharray="{dashes}"' if dashes else ' stroke-linecap="round"'
    pattern += ' stroke-linejoin="round"' if len(drawn) > 2 else ""
    path = "L".join(map(_at, drawn))
    return f'<path d="M{path}" stroke="{colour}" stroke-width="{wide:.1f}" fill="none"{pattern}/>'


def _middle(sheet: _Sheet, road: Road) -> Point:
    one, other = sheet(road[0]), sheet(road[1])
    return (one[0] + other[0]) / 2, (one[1] + other[1]) / 2


def _number(sheet: _Sheet, road: Road, numbers: Sequence[int], step: float) -> str:
    x, y = _middle(sheet, road)
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
