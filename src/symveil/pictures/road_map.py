"""A trip on a map of roads, drawn from coordinates alone: no tiles, so no server is asked for them.

A road is a line between two points, or a place with one point. Where a trip leaves the true one its
roads are dashed, not only coloured; a small number says in which order they are driven. Flows are arrows that bend to
the right, so that both directions are seen.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from symveil.pictures.bezier import Point
from symveil.pictures.charts import PALETTE
from symveil.pictures.svg import escaped, svg_document
from symveil.pictures.text import BLUE, BORDER, CARD, GREY, INK

Road = tuple[Point, Point]
"""Its two ends, x to the right and y upwards; the same point twice for a place."""

_SIZE, _MARGIN = 420.0, 26.0
_MOST_NUMBERS, _SHORTEST_NUMBERED = 40, 26.0
_MOST_OF_A_MAP = 0.5
_MOST_FLOWS, _MOST_NAMES = 80, 25
_WIDEST, _THINNEST, _HEAD, _BEND = 7.0, 0.8, 5.0, 0.18


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
    changed: set[str] = set()
    for number, name in enumerate(trip, start=1):
        drawn[name].append(number)
        if original is not None and original[number - 1] != name:
            changed.add(name)
    before: Point | None = None
    for name in trip:  # places with one point are joined by thin lines, which roads that meet do not need
        middle = _middle(sheet, roads[name])
        if before is not None and roads[name][0] == roads[name][1]:
            pieces.append(f'<path d="M{_at(before)}L{_at(middle)}" stroke="{BLUE}" stroke-width="1.5" fill="none"/>')
        before = middle
    for name in sorted(drawn, key=lambda each: each in changed):  # what was changed lies on top
        colour, dashes = (PALETTE[1], f"{1.1 * step:.1f} {0.7 * step:.1f}") if name in changed else (BLUE, "")
        pieces.append(_line(sheet, roads[name], colour, 0.5 * step, dashes=dashes))
    if len(trip) <= _MOST_NUMBERS and typical >= _SHORTEST_NUMBERED:
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
    shown = positive[:_MOST_FLOWS]
    for value, (origin, destination) in reversed(shown):  # the largest lie on top
        share = value / shown[0][0]
        text = f"<title>{escaped(origin)} → {escaped(destination)}: {value:.6g}</title>"
        arrow = _flow(_middle(sheet, roads[origin]), _middle(sheet, roads[destination]), share)
        pieces.append(f'<g opacity="{0.25 + 0.65 * share:.2f}">{text}{arrow}</g>')
    if len(roads) <= _MOST_NAMES:
        middles = {name: _middle(sheet, road) for name, road in roads.items()}
        pieces += [_name((x, y - 9), name) for name, (x, y) in middles.items()]
    if shown:
        more = f"the {len(shown)} largest of {len(positive)}; " if len(shown) < len(positive) else ""
        pieces.append(_name((_SIZE / 2, sheet.high - 10), f"{title}; {more}the widest arrow is {shown[0][0]:.4g}"))
    return svg_document(title, pieces, wide=_SIZE, high=round(sheet.high))


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
    steep = math.dist(control, end)
    along = (end[0] - control[0]) / steep, (end[1] - control[1]) / steep
    head = _HEAD + wide
    neck = end[0] - along[0] * head, end[1] - along[1] * head
    sides = [(neck[0] - turn * along[1] * 0.55 * head, neck[1] + turn * along[0] * 0.55 * head) for turn in (1, -1)]
    return (
        f'<path d="M{_at(begin)}Q{_at(control)} {_at(neck)}" stroke="{BLUE}" stroke-width="{wide:.1f}" fill="none"/>'
        f'<path d="M{_at(end)}L{_at(sides[0])}L{_at(sides[1])}Z" fill="{BLUE}"/>'
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


def _line(sheet: _Sheet, road: Road, colour: str, wide: float, *, dashes: str = "") -> str:
    one, other = sheet(road[0]), sheet(road[1])
    if one == other:
        return f'<circle cx="{one[0]:.1f}" cy="{one[1]:.1f}" r="{wide:.1f}" stroke="{colour}" fill="{colour}"/>'
    pattern = f' stroke-dasharray="{dashes}"' if dashes else ' stroke-linecap="round"'
    return f'<path d="M{_at(one)}L{_at(other)}" stroke="{colour}" stroke-width="{wide:.1f}" fill="none"{pattern}/>'


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
